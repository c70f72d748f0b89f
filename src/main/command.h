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

struct db;
struct saved;
struct term_sessions;
/* chat_sessions.c: the chat's commands on sessions. */
void chat_sessions(struct saved *s, struct term_sessions *out);
/* cmd_sessions.c: append "ID\tTIME  TITLE" of the newest, for Tab; not of that with the id but. db may be
 * NULL. */
void sessions_names(struct db *db, int64_t max, const char *but, struct argv *out);
/* Append a table of the newest sessions, at most max (0: all), or of those with these words, unless that is
 * NULL. */
int sessions_table(struct db *db, const char *words, int64_t max, struct buf *out, struct error *err);

#endif
