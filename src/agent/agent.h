/* agent.h - the loop: ask the model, run its code, append, ask again; budgets; what goes into the
 * conversation.
 *
 * Given a model, a sandbox, a conversation, budgets and one event callback. Does not print, does not speak
 * HTTP, does not know docker, does not know dialects. After every return the conversation is valid
 * (conversation_check).
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chat/conversation.h"
#include "chat/event.h"

struct agent;
struct error;
struct llm;
struct loop;
struct prompts;
struct sandbox;
struct tool;

struct agent_options {             /* strings are copied */
    unsigned max_requests;         /* a question; 25 */
    unsigned max_calls;            /* a reply; 32 */
    unsigned max_malformed;        /* in a row; 3 */
    unsigned max_repairs;          /* in a row; 3 */
    int64_t max_tokens_total;      /* a question, in and out; 0: no limit */
    int64_t max_ms;                /* a question; 0: no limit */
    const char *system;            /* the user's own addition to the system prompt, or NULL */
    const struct prompts *prompts; /* not owned; chat/prompts.h */
    const struct tool *tools;      /* those that prompts may offer; tools.h */
    size_t n_tools;
    int64_t data_size;       /* most bytes of one attachment: the size of /mnt/data */
    int64_t cell_ms, memory; /* the sandbox's limits, to be named in the prompts */
    bool verbose;
    /* errors are read in the chat, which has commands of its own (base/remedy.h) */
    bool chat;
};

void agent_defaults(struct agent_options *o);

/* What an agent works with: all borrowed. event may be called any number of times during each call. */
struct agent_rooms {
    struct llm *llm;
    struct sandbox *sandbox;
    struct conversation *conversation;
    struct loop *loop;
    event_fn *event;
    void *event_ctx;
};
struct agent *agent_new(const struct agent_options *o, const struct agent_rooms *rooms);
void agent_free(struct agent *a);

/* A file for the next question: put into the sandbox as name (an extension is added when the content tells
 * one and name has none), shown to the model with that question, whole when UTF-8 of at most 4 KiB (and of a
 * sixteenth of the window, where that is known to be less), else as a profile. Reads fd to its end. */
int agent_attach(struct agent *a, const char *name, int fd, struct error *err);

/* The caller arms the loop (loop_arm) before each step: an interrupt that came since then ends it.
 *
 * Ask. Every outcome is an EVENT_DONE too; the return value is its status. err is filled for every status but
 * ANSWERED and CODE_FAILED. A failed question with nothing shown leaves the history and is offered to
 * agent_retry. */
enum question_status agent_ask(struct agent *a, const char *question, size_t len, struct error *err);
bool agent_can_retry(const struct agent *a);
/* the last question again, with its attachments */
enum question_status agent_retry(struct agent *a, struct error *err);

/* Run a line of the user's own in the same interpreter; events as for a cell. The model is told with the next
 * question. */
int agent_run(struct agent *a, const char *code, size_t len, struct error *err);

void agent_clear(struct agent *a); /* forget the conversation; variables stay */
/* fresh interpreter; the model is told with the next question */
int agent_reset(struct agent *a, struct error *err);
void agent_set_system(struct agent *a, const char *text);
const char *agent_last_code(const struct agent *a); /* all code of the last question that ran, or NULL */
unsigned agent_question_number(const struct agent *a);

#endif
