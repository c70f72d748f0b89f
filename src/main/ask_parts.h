/* ask_parts.h - a question, a script of questions or a chat while it runs, and what the files that make it
 * (cmd_ask.c, ask_model.c, ask_chat.c) share. struct ask owns what it points at; cmd_ask.c releases it.
 */
#ifndef MAIN_ASK_PARTS_H
#define MAIN_ASK_PARTS_H

#include "agent/agent.h"
#include "base/argv.h"
#include "chat/conversation.h"
#include "config/prompt_file.h"
#include "engine/mount.h"
#include "llm/llm.h"
#include "main/command.h"
#include "show/show.h"

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

struct ask {
    struct config *c;
    struct loop *loop;
    struct endpoint endpoint;
    struct service service; /* points at members of this struct; for model.c and known.c */
    struct known known;
    struct argv names;   /* of models, for Tab in the chat */
    char *model, *found; /* found: one line if the model was found rather than named */
    struct agents agents;
    const struct prompts *prompts; /* of the agent that answers */
    struct session session;
    struct mounts mounts;
    struct sandbox *sandbox;
    struct llm *llm;
    struct conversation conversation;
    struct saved saved; /* points at members of this struct */
    struct agent *agent;
    bool chat;
    struct pipe *pipe; /* either this or the chat below */
    struct term *term;
    bool begun;              /* the session event was sent: later errors are sent as events too */
    enum llm_api replay_api; /* the API that the replayed session used */
    bool replay_blocks;
    char *place; /* where code runs, as shown to the user; or NULL */
    struct show_decoder decoder;
    struct uploads *uploads; /* of files; or NULL */
    struct buf *unsent;      /* for debug request: receives the body; nothing is sent or shown; or NULL */
};

/* cmd_ask.c */
void ask_notice(void *ask, enum notice_level level, const char *line); /* one line for the user */
const char *const *ask_files(const struct config *c);                  /* --add; NULL: none */
const struct show_decoder *ask_decoder(struct ask *a);                 /* NULL: no figures are wanted */

/* ask_model.c */
/* Settle model and endpoint. -1 with err: usage, network, cancelled. */
int ask_choose_model(struct ask *a, struct error *err);
/* All options for one model at our endpoint. o points into a. */
void ask_model_options(struct ask *a, const char *model, struct llm_options *o);
/* Skip a default model that was found to be gone earlier today; kept: where that is remembered. */
void ask_skip_gone(struct ask *a, struct llm_options *o, const char *kept);
/* For struct llm_session: the service does not have the model. */
bool ask_model_gone(void *ask, const char *model, struct llm_options *next, char advice[LLM_ADVICE]);
void ask_learn_window(struct ask *a);
/* Show once what the service said of its model that the user should know. */
void ask_tell_known(struct ask *a);

/* agents.c */
/* Load the definitions. ERROR_USAGE: one is wrong, or an option does not go with them. */
int agents_load(struct agents *g, const struct config *c, struct error *err);
const struct prompts *agents_last(const struct agents *g);
/* What the one that answers works with; the others get the same, but for what is their own. */
struct agents_work {
    const struct agent_options *options;
    const struct llm_session *session;
    const struct agent_rooms *rooms;
};
/* The one that answers, which the caller frees before agents_end(). NULL with err. */
struct agent *agents_open(struct ask *a, const struct agents_work *w, struct error *err);
void agents_end(struct agents *g); /* free the others; their sandbox may go now */
void agents_release(struct agents *g);

/* uploads.c */
/* Files go to artifacts.upload, if that is set. next gets every event, with their URLs. ERROR_USAGE. */
int uploads_new(struct ask *a, event_fn *next, struct error *err);
void uploads_event(struct uploads *u, const struct event *e);
bool uploads_failed(const struct uploads *u);
void uploads_free(struct uploads *u);

/* ask_chat.c */
int ask_open_chat(struct ask *a, struct error *err);

#endif
