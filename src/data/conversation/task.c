/* task.c - reads the members of a task, under either of their names. */
#include "conversation/task.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"

bool task_is(const char *text, size_t len)
{
    while (len && strchr(" \t\r\n", *text)) {
        text++;
        len--;
    }
    return len && *text == '{';
}

/* The first of these members that there is. */
static const struct json *member(const struct json *o, const char *const *names)
{
    const struct json *found = NULL;

    for (; !found && *names; names++)
        found = json_get(o, *names);
    return found;
}

static int add_task_file(struct task *t, const struct json *name)
{
    const char *path = json_str(name);

    if (!path || t->files.n == TASK_FILES_MAX)
        return -1;
    if (*path)
        argv_push(&t->files, path);
    return 0;
}

/* One name, or a list of them; an empty name is none, as GAIA has it. */
static int take_files(struct task *t, const struct json *files)
{
    if (json_type(files) == JSON_NULL)
        return 0;
    if (json_type(files) != JSON_ARRAY)
        return add_task_file(t, files);
    for (const struct json *f = json_first(files); f; f = json_next(f))
        if (add_task_file(t, f) < 0)
            return -1;
    return 0;
}

int task_read(const char *what, const char *text, size_t len, struct task *t, struct error *err)
{
    static const char *const questions[] = {"question", "Question", NULL},
                             *const files[] = {"files", "file_path", "file_name", NULL},
                             *const ids[] = {"id", "task_id", NULL};
    struct error why = {0};
    autojson struct json *o = json_parse(text, len, 0, NULL, &why);
    const char *question = json_str(member(o, questions));
    const struct json *id = member(o, ids);

    *t = (struct task){0};
    if (!o)
        return error_set(err, ERROR_USAGE, 0, "%s is not valid JSON: %s", what, why.text);
    if (text_is_blank(question))
        return error_set(err, ERROR_USAGE, 0,
                         "%s has no \"question\"\n"
                         "A task is {\"question\": \"...\", \"files\": [\"FILE\"], \"id\": \"...\"}",
                         what);
    if (take_files(t, member(o, files)) < 0) {
        task_release(t);
        return error_set(err, ERROR_USAGE, 0, "%s: \"files\" must be a list of at most %d file names", what,
                         TASK_FILES_MAX);
    }
    t->question = xstrdup(question);
    if (json_type(id) == JSON_STRING || json_type(id) == JSON_NUMBER)
        t->id = json_copy(id);
    return 0;
}

void task_release(struct task *t)
{
    free(t->question);
    argv_release(&t->files);
    json_free(t->id);
    *t = (struct task){0};
}
