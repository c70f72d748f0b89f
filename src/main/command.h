/* command.h - what main and the commands share. Only here do struct config and the rooms meet: each room is
 * handed its own option struct. */
#ifndef MAIN_COMMAND_H
#define MAIN_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "config/config.h"
#include "config/endpoint.h"
#include "pipe/pipe.h"

struct agent_options;
struct buf;
struct llm_model;
struct llm_models_query;
struct llm_options;
struct llm_session;
struct loop;
struct sandbox_options;

/* Each returns the exit code. closed: fd_open_standard()'s mask. */
int cmd_ask(struct config *c, int closed);
int cmd_exec(struct config *c, int closed);
int cmd_config(struct config *c, int closed);
int cmd_doctor(struct config *c, int closed);
int cmd_gc(struct config *c, int closed);
int cmd_models(struct config *c, int closed);
int cmd_ps(struct config *c, int closed);
int cmd_rm(struct config *c, int closed);
int cmd_debug_reply(struct config *c, int closed);
int cmd_debug_request(struct config *c, int closed); /* in cmd_ask.c: all of ask but the sending */

/* print.c: the only place where main writes to stderr. Everything may be untrusted and is scrubbed. */
void print_error(const struct error *err);
void print_line(const char *text);  /* "sandpiper: text" */
void print_plain(const char *text); /* the text alone, ended by a newline */
/* one that is passed over, where sandboxes with a name are looked for: a notice */
void tell_runtime_dir(struct config *c);
void print_notices(struct config *c); /* each once; what a folder decides also when quiet */
/* To stdout, as it is; scrubbed for a terminal, or for JSON with escapes, which mean the same. The exit code:
 * 0, 1, or 141 when nobody reads. */
int print_out(const char *text, size_t len);
int print_json(const char *text, size_t len);

/* confirm.c: on stderr, answered at the terminal on stdin. NOBODY: one of them is no terminal. */
enum confirm { CONFIRM_NOBODY, CONFIRM_INTERRUPTED, CONFIRM_NO, CONFIRM_YES };
/* loop NULL: an interrupt ends the program */
enum confirm confirm(const char *question, struct loop *loop);
enum folder_answer ask_about_folder(void *loop, const char *question); /* for struct config */

/* setup.c */
enum stdin_mode setup_stdin(const struct config *c);
void setup_sandbox(const struct config *c, struct sandbox_options *o);
/* Let src/engine know those that config.yaml defines: once, before any is looked for. c must live on. */
void setup_engines(const struct config *c);
/* Can the sandbox have the name it is given? ERROR_USAGE, one line. */
int setup_name_check(const struct config *c, struct error *err);
void setup_agent(const struct config *c, struct agent_options *o);
/* Points into c and e; model decides the profile. */
void setup_llm(const struct config *c, const struct endpoint *e, const char *model, struct llm_options *o);
void setup_llm_session(const struct config *c, struct llm_session *s);

/* Whom a question goes to, for known.c and model.c. Everything is borrowed. */
struct service {
    struct config *config;
    struct endpoint *endpoint;
    struct loop *loop;
    bool chat; /* the user can change the model by /model */
};

/* known.c: what the service itself says of the model goes over what is built in, and under what the user
 * said. */
struct known {
    bool waits_for_window; /* the model is not in memory yet: known_window() after its first reply */
    struct argv notices;   /* warnings, one line each, to be shown and dropped */
};
void known_apply(const struct service *s, struct llm_options *o, struct known *k);
/* false: the window is the user's own */
bool known_merge(const struct config *c, const struct llm_model *m, struct llm_options *o);
/* 0: it is still not told */
int known_window(const struct endpoint *e, const char *model, struct known *k);
/* in the list that is kept: 1, 0; -1: none is kept */
int known_listed(const struct endpoint *e, const char *model);
/* of the models there are, those that can be shown as they are */
void known_names(const struct endpoint *e, struct argv *out);
/* A model that is gone: the service's list is asked for the one that is nearest to it. */
bool known_nearest(const struct service *s, const char *model, char *id, size_t size);
/* points into e */
void models_query(const struct endpoint *e, int timeout_ms, int max_age_s, struct llm_models_query *q);

/* model.c: settle which model at which endpoint; may ask local servers for their list. *model is owned by the
 * caller; notice gets one line when something was found that nobody named. */
int model_settle(const struct service *s, char **model, char **notice, struct error *err);

/* check_model.c: doctor's second half, one small question to the model. Lines for doctor into out; 0 or the
 * exit code of what is wrong. */
int check_model(struct config *c, struct loop *loop, struct buf *out);

/* The rest of model.c, for commands that need an endpoint and no model. */
#define LOCAL_MAX 16
struct local_place {
    const struct provider *provider;
    const char *url;
};
/* where model servers are looked for on this machine */
size_t local_places(const struct config *c, struct local_place v[LOCAL_MAX]);
/* its key is fetched, its server found */
int endpoint_ready(struct endpoint *e, struct loop *loop, struct error *err);
/* how to get a model; looked: "" or where it was looked */
int none_configured(const char *looked, struct error *err);

/* The service has a model no longer: what to ask instead, from the provider's list, or NULL with advice for
 * the user (or an empty one). */
const char *model_after(const struct service *s, const char *model, char *advice, size_t size);

/* session.c: the folder of this session, 0700, with a fresh id as its name. */
struct session {
    char id[40];
    char *dir; /* or NULL */
    /* there is no dir: what is wrong with that disk, and what that means. One line for the user; or NULL */
    char *dir_lost;
    char *out_dir; /* --out, made; or NULL */
    bool keep;     /* session_keep() was called */
};
/* -1: --out; without a dir it goes on */
int session_open(struct session *s, const struct config *c, struct error *err);
/* the same of the cache, where that alone is lost; or NULL. The caller frees */
char *session_cache_lost(const struct session *s);
/* something in it is named to the user now: it stays, whatever happens to us */
void session_keep(struct session *s);
void session_close(struct session *s); /* removes the folder unless keep */

#endif
