/* agent.h - the loop: ask the model, run its code, append the result, ask again. The agent keeps the
 * budgets and decides what goes into the conversation. It is given a model, a sandbox, a conversation,
 * budgets and one event callback. It does not print or speak HTTP, and knows nothing of docker or
 * dialects. After every return the conversation is valid (conversation_check).
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/conversation.h"
#include "conversation/event.h"
#include "conversation/usage.h"

struct agent;
struct error;
struct host_files;
struct json;
struct language;
struct llm;
struct loop;
struct prompts;
struct sandbox;
struct tool;

struct agent_options {             /* the agent copies the strings */
    unsigned max_requests;         /* per question; 25 */
    unsigned max_calls;            /* per reply; 32 */
    unsigned max_malformed;        /* in a row; 3 */
    unsigned max_repairs;          /* in a row; 3 */
    int64_t max_tokens_total;      /* per question, input and output together; 0: no limit */
    int64_t max_ms;                /* per question; 0: no limit */
    double max_cost;               /* dollars per session; 0: no limit */
    const char *system;            /* the user's addition to the system prompt, or NULL */
    const struct prompts *prompts; /* not owned; see conversation/prompts.h */
    const struct tool *tools;      /* the tools that prompts may offer; see tools.h */
    size_t n_tools;
    int64_t data_size;       /* maximum bytes of one attachment: the size of /mnt/data */
    int64_t cell_ms, memory; /* the sandbox's limits (ms, bytes), named in the prompts */
    bool verify;             /* compute each answer a second time, independently, and compare */
    /* errors are shown in the chat, which has its own commands (base/remedy.h) */
    bool chat;
};

void agent_defaults(struct agent_options *o);

/* What an agent works with; everything is borrowed. event may be called any number of times during each
 * call.
 */
struct agent_deps {
    struct llm *llm;
    struct sandbox *sandbox;
    struct conversation *conversation;
    struct loop *loop;
    event_fn *event;
    void *event_ctx;
    /* Makes a sandbox for a second computation (verify), which the agent frees. May be NULL. */
    struct sandbox *(*new_sandbox)(void *event_ctx);
    struct host_files *host; /* what its tools may see of this machine (host_files.h); or NULL */
    /* Give the sandbox packages that the model asks for, written as for --with, if the user allows it. *told:
     * "emoji 2.16.0"; the agent frees it. NULL: there are none to be had, and no tool for it. */
    int (*install)(void *event_ctx, const char *names, char **told, struct error *err);
};
struct agent *agent_new(const struct agent_options *o, const struct agent_deps *deps);
void agent_free(struct agent *a);
/* A pipeline: before is asked every question first, in a conversation of its own. What it says, and the files
 * that it puts into the sandbox, are handed on; its events go to a's listener. Borrowed. */
void agent_put_before(struct agent *a, struct agent *before);

/* Add a file or a folder to the next question. It is put into the sandbox as name; an extension is added
 * when name has none and the content tells one. The model sees it with that question: whole if it is UTF-8
 * of at most 4 KiB (and at most a sixteenth of the window, if that is known and smaller), otherwise as a file
 * profile. Reads fd to its end. A path that was added before keeps its name; others never share one. */
int agent_attach(struct agent *a, const char *name, int fd, struct error *err);
/* Forget what waits for the next question: the model hears neither of files that were added nor of what else
 * it was to be told. The files stay in the sandbox. */
void agent_unattach(struct agent *a);
/* The name below /mnt/data of the one added last, until the next is added. */
const char *agent_attached(const struct agent *a);

/* The caller arms the loop (loop_arm) before each step; an interrupt that arrives after that ends the
 * step. Ask a question. Every outcome also sends an EVENT_DONE; the return value is its status. err is
 * set for every status except ANSWERED and CODE_FAILED. A failed question that showed nothing is removed
 * from the history; agent_retry can ask it again. */
enum question_status agent_ask(struct agent *a, const char *question, size_t len, struct error *err);
bool agent_can_retry(const struct agent *a);
/* Ask the last question again, with its attachments. */
enum question_status agent_retry(struct agent *a, struct error *err);

/* Offers the model the caller's own tools beside the agent's: an array of {name, description, parameters,
 * strict}, which is copied; NULL: none. A question in which it calls one ends as QUESTION_CALLS, with the
 * calls open in the conversation (conversation_open_call). must: an answer in words is none, and is asked for
 * once more as a call. one: not more than one of these calls at a time. -1: ERROR_USAGE. */
int agent_set_callers(struct agent *a, const struct json *tools, struct error *err);
void agent_want_call(struct agent *a, bool must, bool one);
/* Goes on with that question. All its calls must have their results. As agent_ask(). */
enum question_status agent_go_on(struct agent *a, struct error *err);

/* Was the last answer computed by code? */
bool agent_computed(const struct agent *a);
/* Compute it a second time, in a sandbox of its own. What comes of it is a notice (it agrees, or cannot be
 * compared: ANSWERED) or err (they disagree, or there is no second answer: UNVERIFIED); the model is told
 * with the next question. USAGE: there is nothing to check. It sends no EVENT_DONE. */
enum question_status agent_check(struct agent *a, struct error *err);

/* Run one line of the user's in the same interpreter, with the events of a cell. The model is told with
 * the next question. language: NULL is Python. */
int agent_run(struct agent *a, const struct language *language, const char *code, struct error *err);

/* Replace the conversation by the model's summary of it; variables stay. -1: it is as it was. */
int agent_compact(struct agent *a, struct error *err);
void agent_clear(struct agent *a); /* forget the conversation; variables stay */
/* Start a fresh interpreter. The model is told with the next question. */
int agent_reset(struct agent *a, struct error *err);
/* Queue a note that the model gets with the next question. */
void agent_tell(struct agent *a, const char *note);
void agent_set_cell_time(struct agent *a, int64_t ms); /* what the model is told of it */
void agent_set_system(struct agent *a, const char *text);
/* The answers must be JSON that fits this schema, which is copied; NULL: they are any text. An answer that
 * does not fit is asked for once more, and is no answer if that does not help. */
void agent_set_form(struct agent *a, const struct json *schema);
const char *agent_last_code(const struct agent *a);     /* all the code that the last question ran, or NULL */
const struct usage *agent_usage(const struct agent *a); /* of the session so far */
int agent_context(const struct agent *a);               /* the model's window in tokens; 0: unknown */
int64_t agent_conversation_tokens(const struct agent *a); /* an estimate */
unsigned agent_question_number(const struct agent *a);
/* Of the last question in the conversation: a later one has a larger serial, whatever was taken out in
 * between. 0: there is none. */
uint64_t agent_question_serial(const struct agent *a);

#endif
