/* command.h - what main and the commands share. Only here do struct config and the other rooms meet: each
 * room gets its own option struct. */
#ifndef MAIN_COMMAND_H
#define MAIN_COMMAND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "conversation/event.h"
#include "config/config.h"
#include "pipe/pipe.h"

struct buf;
struct loop;

/* Each command returns the exit code. closed is the mask from fd_open_standard(). */
int run_command(int argc, char *const *argv, int closed); /* main.c: the one that the command line names */
int cmd_ask(struct config *c, int closed);
int cmd_exec(struct config *c, int closed);
/* The exit code of exec where not the code but we failed, with that status: 125, as of docker run and
 * timeout, or that of a signal. */
int exec_failed(int status);
int cmd_config(struct config *c, int closed);
int cmd_doctor(struct config *c, int closed);
int cmd_fork(struct config *c, int closed);
int cmd_gc(struct config *c, int closed);
int cmd_models(struct config *c, int closed);
int cmd_packages(struct config *c, int closed);
int cmd_ps(struct config *c, int closed);
int cmd_receipt(struct config *c, int closed);
int cmd_rerun(struct config *c, int closed);
int cmd_rm(struct config *c, int closed);
int cmd_runner(struct config *c, int closed);
int cmd_sessions(struct config *c, int closed);
int cmd_debug_reply(struct config *c, int closed);
/* words: those behind the program's name, the last unfinished */
int cmd_complete(char *const *words, size_t n);
int cmd_debug_request(struct config *c, int closed); /* in cmd_ask.c: all of ask except the sending */

/* print.c: the only place where main writes to stderr. Everything may be untrusted and is scrubbed. */
void print_error(const struct error *err);
/* Print why the command failed, unless the user interrupted it. Returns the exit code. */
int print_failure(const struct error *err);
void print_line(const char *text);  /* prints "sandpiper: text" */
void print_plain(const char *text); /* prints the text alone with a newline */
/* Notice about a runtime folder that was skipped in the search for named sandboxes. */
void tell_runtime_dir(struct config *c);
void print_notices(struct config *c); /* each once; what a folder's .env decides is shown even when quiet */
/* Write to stdout unchanged; to a terminal, scrubbed, or for JSON with equivalent escapes. Returns the
 * exit code: 0, 1, or 141 if there is no reader. */
int print_out(const char *text, size_t len);
int print_json(const char *text, size_t len);

/* confirm.c: asks on stderr and reads the answer from the terminal on stdin. NOBODY: one of the two is
 * not a terminal. */
enum confirm { CONFIRM_NOBODY, CONFIRM_INTERRUPTED, CONFIRM_NO, CONFIRM_YES, CONFIRM_ALWAYS };
/* loop may be NULL: then an interrupt ends the program. */
enum confirm confirm(const char *question, struct loop *loop);
enum confirm confirm_or_always(const char *question, struct loop *loop); /* "always" is an answer, too */
enum folder_answer ask_about_folder(void *loop, const char *question);   /* a callback for struct config */

/* cmd_doctor.c: a line of doctor's, printed at once: what was looked at, "ok", "no" or "" (more about the
 * line above), and the finding. Untrusted text is scrubbed. */
void doctor_line(const char *label, const char *state, const char *text);
/* A line for each line of the text, the first with label and state. */
void doctor_lines(const char *label, const char *state, const char *text);

/* check_model.c: doctor's first half, one small question to the model. Returns 0 or the exit code of what
 * is wrong. */
int check_model(struct config *c, struct loop *loop);

/* session.c: the folder of this session, mode 0700, named by a fresh id. */
struct session {
    char id[40];
    char *dir; /* or NULL */
    /* Without dir: what is wrong with that disk, and what it means; one line for the user, or NULL. */
    char *dir_lost;
    char *out_dir; /* the folder of --out, created; or NULL */
    bool keep;     /* session_keep() was called */
    bool unsaved;  /* nothing of it stays (--no-save): session_keep() does nothing */
};
/* id: of an earlier session, whose folder goes on if it is still there; or NULL. Returns -1 if the folder
 * of --out cannot be made, or no descriptors are left; if only dir fails, the session goes on. */
int session_open(struct session *s, const struct config *c, const char *id, struct error *err);
/* The same for the cache, if only that is lost; or NULL. The caller frees it. */
char *session_cache_lost(const struct session *s);
/* The user was told of something in the folder: keep it, whatever happens to us. */
void session_keep(struct session *s);
void session_close(struct session *s); /* removes the folder unless it is kept */

/* saved.c: a question or a chat and the store of sessions. The members up to ctx are borrowed. */
struct agent;
struct agents;
struct conversation;
struct db;
struct sandbox;
struct term_sessions;
#define KEPT_COPIES_MAX 8
/* The sessions between which a chat goes to and fro (/fork, /resume), the oldest first. */
struct kept_copies {
    struct kept_copy {
        char id[40];
        int fd; /* the live copy of its interpreter; -1: none */
        unsigned cells;
        int64_t questions, ran; /* its length then, to see whether another program went on with it */
    } v[KEPT_COPIES_MAX];
    size_t n;
};
struct saved {
    struct config *config;
    struct loop *loop;
    struct session *session;
    struct conversation *conversation;
    void (*notice)(void *ctx, enum notice_level level, const char *line);
    void *ctx;
    struct store_found *from; /* the session that is continued; NULL: a new one */
    struct store *store;      /* NULL: nothing is saved */
    bool chat;                /* not a question or a script of them */
    bool named;               /* the name of the sandbox is that of the session */
    struct agents *agents;    /* those of a pipeline before the one that answers; borrowed; or NULL */
    struct sandbox *sandbox;  /* borrowed */
    struct kept_copies *copies;
    uint64_t kept; /* bytes of the user's files that were copied into the session's folder */
};
char *saved_place(void); /* the folder of the database; NULL: there is no home. The caller frees */
bool saved_busy(const char *writer); /* does another program write to that session? */
/* What -c or -r mean, if they were given. It may set the name of the sandbox in config. */
int saved_find(struct saved *s, struct error *err);
/* Open the session, which is that of before where one is continued, and its store. */
int saved_open(struct saved *s, struct error *err);
/* Tell the user and the model that a session continues, and bring its variables back, where that is wanted.
 * -1: it was interrupted. */
int saved_continue(struct saved *s, struct sandbox *sandbox, struct agent *agent, struct error *err);
void saved_release(struct saved *s);
/* saved_copies.c: that session has become one of two by a fork. More than KEPT_COPIES_MAX: the oldest is
 * forgotten. */
void saved_branch(struct saved *s, const char *id);
/* The chat is about to leave its session: if that is a branch keep its interpreter, or tell the user why it
 * cannot be kept. -1: interrupted. */
int saved_leave(struct saved *s, struct error *err);
/* Go on from the copy that was kept of s->from. False: there is none that does. */
bool saved_go_on(struct saved *s, struct sandbox *sandbox);
void saved_copies_release(struct kept_copies *all);
/* saved_line.c: what is said of a session that goes on. copy: the id of the copy of it that does; or NULL.
 * The caller frees. */
struct store_found;
char *saved_line(const struct store_found *from, const char *copy);
/* saved_data.c: save an event, and a copy of the user's file that it is about, if that is not too large. */
void saved_event(struct saved *s, const struct event *e);

/* saved_chat.c: go on with a copy of the session, under a new id and with a folder of its own; title "":
 * that of the session and "(fork)". *title is then that of the copy, *was the short id of the session; the
 * caller frees both. The interpreter goes with the copy; that of the session is kept (saved_leave). -1 with
 * err: nothing was changed. */
int saved_fork(struct saved *s, const char *wanted, char **title, char **was, struct error *err);
/* saved_chat.c: the chat's commands on sessions. */
void saved_chat(struct saved *s, struct term_sessions *out);
/* cmd_sessions.c: append "ID\tTIME  TITLE" of the newest, for Tab; not of that with the id but. db may be
 * NULL. */
void sessions_names(struct db *db, int64_t max, const char *but, struct argv *out);
/* Append a table of the newest sessions, at most max (0: all), or of those with these words, unless that is
 * NULL. */
int sessions_table(struct db *db, const char *words, int64_t max, struct buf *out, struct error *err);

/* saved_rerun.c: run the code that made the variables of a session again. Returns what to tell the user;
 * *model is what the model is told. NULL with err: interrupted, or no sandbox. The caller frees both.
 */
char *saved_rerun(struct saved *s, struct sandbox *sandbox, char **model, struct error *err);
/* The sandbox has the files that the code of a session made: they are not copied out again unchanged. */
void saved_tell_made(struct saved *s, struct sandbox *sandbox);
/* Put the files of a session back in which no code ran. *user is what saved_rerun returns; both stay as
 * they are if it has no files. */
int saved_put_files(struct saved *s, struct sandbox *sandbox, char **user, char **model, struct error *err);

#endif
