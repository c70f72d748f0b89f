/* journal.h - what a bot has on disk: a file for each question that was accepted and is not answered, with
 * what was posted of its answer; a file for each conversation, with what was said; and a line for each
 * answered message, so that none is answered twice. In STATE/bot/SERVICE-ACCOUNT, where one process writes.
 */
#ifndef BOT_JOURNAL_H
#define BOT_JOURNAL_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct journal;
struct json;

/* -1 with err: there is no such folder, or another process has it. */
struct journal *journal_open(const char *service, const char *account, struct error *err);
void journal_close(struct journal *jl); /* NULL is fine */

/* ---- questions ---- */

int journal_question(struct journal *jl, const char *id, const struct json *question, struct error *err);
/* Those that are not answered, the oldest first; an array, which the caller frees. NULL with err: one cannot
 * be read. */
struct json *journal_questions(struct journal *jl, struct error *err);
char *journal_folder(const struct journal *jl,
                     const char *id); /* of the files of its answer; may not exist */
/* The question is answered: line has "id", "conversation", "user", "server", "posted", "at" (time()). */
int journal_answered(struct journal *jl, const struct json *line, struct error *err);
bool journal_has_answered(const struct journal *jl, const char *id);
/* The conversation of the answer with that id among "posted"; NULL: none. */
const char *journal_conversation_of(const struct journal *jl, const char *posted);
/* Questions in an hour: calls fn for each that was answered since then. */
void journal_since(const struct journal *jl, int64_t time, void (*fn)(void *ctx, const struct json *line),
                   void *ctx);

/* ---- conversations, and what a service keeps ---- */

#define JOURNAL_CONVERSATION "conversation" /* kinds */
#define JOURNAL_SERVICE      "service"

struct json *journal_read(const struct journal *jl, const char *kind, const char *name); /* NULL: none */
int journal_write(const struct journal *jl, const char *kind, const char *name, const struct json *j,
                  struct error *err);

#endif
