/* command.h - what main and the commands share. Only here do struct config and the rooms meet: each room is handed its own option struct. */
#ifndef MAIN_COMMAND_H
#define MAIN_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "config/config.h"
#include "config/endpoint.h"

struct agent_options;
struct llm_options;
struct loop;
struct sandbox_options;

/* Each returns the exit code. closed: fd_open_standard()'s mask. */
int cmd_ask(struct config *c, int closed);
int cmd_exec(struct config *c, int closed);
int cmd_config(struct config *c, int closed);
int cmd_doctor(struct config *c, int closed);
int cmd_gc(struct config *c, int closed);
int cmd_ps(struct config *c, int closed);
int cmd_rm(struct config *c, int closed);
int cmd_debug_reply(struct config *c, int closed);
int cmd_debug_request(struct config *c, int closed);    /* in cmd_ask.c: all of ask but the sending */

/* print.c: the only place where main writes to stderr. Everything may be untrusted and is scrubbed. */
void print_error(const struct error *err);
void print_line(const char *text);                      /* "sandpiper: text" */
void print_plain(const char *text);                     /* the text alone, ended by a newline */
void print_notices(const struct config *c);
int print_out(const char *text, size_t len);            /* to stdout; the exit code: 0, 1, or 141 when nobody reads */

/* setup.c */
void setup_sandbox(const struct config *c, struct sandbox_options *o);
void setup_agent(const struct config *c, struct agent_options *o);
/* Points into c and e; model decides the profile. */
void setup_llm(const struct config *c, const struct endpoint *e, const char *model, struct llm_options *o);

/* model.c: settle which model at which endpoint; may ask local servers for their list. *model is owned by the caller; notice gets one line
 * when something was found that nobody named. */
int model_settle(struct config *c, struct endpoint *e, struct loop *loop, char **model, char **notice, struct error *err);

/* The service has a model no longer: what to ask instead, from the provider's list, or NULL with advice for the user (or an empty one). chat: the user
 * can change the model by /model. */
const char *model_after(const struct config *c, const struct endpoint *e, const char *model, bool chat, char *advice, size_t size);

/* session.c: the folder of this session, 0700, with a fresh id as its name. */
struct session {
    char id[40];
    char *dir;
    char *out_dir;          /* --out, made; or NULL */
    bool keep;              /* session_keep() was called */
};
int session_open(struct session *s, const struct config *c, struct error *err);
void session_keep(struct session *s);                   /* something in it is named to the user now: it stays, whatever happens to us */
void session_close(struct session *s);                  /* removes the folder unless keep */

#endif
