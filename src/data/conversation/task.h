/* task.h - a question as a JSON object, as data sets of tasks have them: an id, the question, names of files.
 * Both our names and those of GAIA are known; other members (the expected answer, how hard it is) are no
 * business of the model's and are ignored.
 */
#ifndef CONVERSATION_TASK_H
#define CONVERSATION_TASK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/argv.h"

struct error;
struct json;

#define TASK_FILES_MAX 20

struct task {
    char *question;
    struct argv files; /* as they are written: relative to the working directory */
    struct json *id;   /* a string or a number, or NULL */
};

/* Is text a task, and not a question in plain words? */
bool task_is(const char *text, size_t len);
/* -1 with ERROR_USAGE; what names the text. t is then empty. */
int task_read(const char *what, const char *text, size_t len, struct task *t, struct error *err);
void task_release(struct task *t);

#endif
