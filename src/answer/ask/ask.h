/* ask.h - what asks questions: a model, a sandbox, an agent with its conversation, made from the
 * configuration. Who listens is the caller's affair: the pipe and the chat (talk.h), or the runner of a
 * server (runner_ask.c). struct ask owns what it points at, but for what is said to be borrowed.
 */
#ifndef ASK_ASK_H
#define ASK_ASK_H

#include "agent/agent.h"
#include "agent/host_files.h"
#include "ask/service.h"
#include "base/argv.h"
#include "conversation/conversation.h"
#include "config/prompt_file.h"
#include "llm/llm.h"
#include "llm/replay.h"

struct sandbox_options;
struct sandbox_terminal;

/* The agents of --agents, or the only one. */
struct agents {
    struct pipeline pipeline;
    struct host_files *host;
    struct agents_one { /* those before the last */
        struct conversation conversation;
        struct llm *llm;
        struct agent *agent;
    } v[PIPELINE_MAX];
    size_t n;
};

struct ask_listener {
    event_fn *event;
    /* May an agent look at this folder? NULL: there is nobody who could be asked. */
    enum host_answer (*folder)(void *ctx, const char *folder);
    /* As in struct agent_deps. NULL: the model gets no packages. */
    int (*install)(void *ctx, const char *names, char **told, struct error *err);
    /* What code prints for: only asked with ask_sandbox_options(). */
    void (*terminal)(void *ctx, struct sandbox_terminal *terminal);
    void *ctx;
};

struct ask {
    struct config *c;             /* borrowed */
    struct loop *loop;            /* borrowed */
    struct ask_listener listener; /* set it before the first event */
    const char *session;          /* its id; borrowed */
    bool chat;                    /* errors are shown in the chat, which has commands of its own */
    const char *effort;           /* instead of the configured one; borrowed; or NULL */
    struct endpoint endpoint;
    struct service service; /* points at members of this struct; for model.c and known.c */
    struct known_model known;
    char *model, *found; /* found: one line if the model was found rather than named */
    struct agents agents;
    const struct prompts *prompts; /* of the agent that answers */
    struct sandbox *sandbox;       /* the caller makes it, with the callbacks below, and frees it */
    struct llm *llm;
    struct conversation conversation;
    struct agent *agent;
    struct replay_head replayed;   /* with --replay; its model is in model */
    struct uploads *uploads;       /* of files; or NULL */
    struct network_count requests; /* of the code's, to hosts */
    struct buf *unsent; /* for debug request: receives the body; nothing is sent or shown; or NULL */
};

/* ask_open.c */
void ask_init(struct ask *a, struct config *c, struct loop *loop);
/* With the model chosen and the sandbox made: open the model and the agents. -1 with err. */
int ask_open(struct ask *a, struct error *err);
void ask_begin(struct ask *a);       /* the first event, and what there is to say of the configuration */
void ask_tell_model(struct ask *a);  /* and of the model */
void ask_tell_mounts(struct ask *a); /* of the folders in the sandbox */
void ask_end(struct ask *a);         /* the agents go, so that the sandbox may */
void ask_release(struct ask *a);
void ask_event(void *ask, const struct event *e);                      /* every event passes through here */
void ask_notice(void *ask, enum notice_level level, const char *line); /* one line for the user */
/* Options for the sandbox, by the configuration, whose events go to the listener. */
void ask_sandbox_options(struct ask *a, struct sandbox_options *o);
/* ask_model.c */
/* Settle model and endpoint. -1 with err: usage, network, cancelled. */
int ask_choose_model(struct ask *a, struct error *err);
/* All options for one model at our endpoint. o points into a. */
void ask_model_options(struct ask *a, const char *model, struct llm_options *o);
/* Skip a default model that was found to be gone earlier today; kept: where that is remembered. */
void ask_skip_gone(struct ask *a, struct llm_options *o, const char *kept);
/* For struct llm_session: the service does not have the model. */
bool ask_model_gone(void *ask, const char *model, struct llm_options *next, char advice[LLM_ADVICE]);
/* Another model, by the user's word, so there is no fallback. -1 with err: it is as it was. */
int ask_change_model(struct ask *a, const char *name, struct error *err);
void ask_learn_window(struct ask *a);
/* Show once what the service said of its model that the user should know. */
void ask_tell_known(struct ask *a);

/* agents.c */
/* Load the definitions. ERROR_USAGE: one is wrong, or an option does not go with them. */
int agents_load(struct agents *g, const struct config *c, struct error *err);
/* Is there each language of --languages? Otherwise ERROR_USAGE. */
int languages_check(const struct config *c, struct error *err);
const struct prompts *agents_last(const struct agents *g);
/* What the one that answers works with; the others get the same, but for what is their own. */
struct agents_work {
    const struct agent_options *options;
    const struct llm_session *session;
    const struct agent_deps *deps;
};
/* The one that answers, which the caller frees before agents_end(). NULL with err. */
struct agent *agents_open(struct ask *a, const struct agents_work *w, struct error *err);
void agents_end(struct agents *g); /* free the others; their sandbox may go now */
void agents_release(struct agents *g);

/* uploads.c */
/* Files go to artifacts.upload, if that is set; the listener gets every event, with their URLs. ERROR_USAGE.
 */
int uploads_new(struct ask *a, struct error *err);
/* Could a question upload as configured? Otherwise ERROR_USAGE; nothing is sent. */
int uploads_check(const struct config *c, struct error *err);
void uploads_event(struct uploads *u, const struct event *e);
bool uploads_failed(const struct uploads *u);
void uploads_free(struct uploads *u);

#endif
