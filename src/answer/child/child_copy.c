/* child_copy.c - the operations on live copies, for the front alone: copy_out, copy_in, and prepare, which
 * makes the interpreter that is copied.
 */
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "child/child_private.h"
#include "child/child_copy.h"
#include "config/config.h"
#include "json/json.h"
#include "sandbox/sandbox.h"

static int need_copy(const struct runner_child *c, struct error *err)
{
    return c->put >= 0 ? 0 : error_set(err, ERROR_USAGE, 0, "the file of the live copy is missing");
}

int child_copy_out(struct runner_child *c, const struct json *arguments, struct json **result,
                   struct error *err)
{
    (void)arguments;
    if (need_copy(c, err) < 0 || sandbox_copy_out(c->sandbox, c->put, err) < 0)
        return -1;
    *result = json_object_of({"cells", json_integer(sandbox_cells(c->sandbox))});
    return 0;
}

int child_copy_in(struct runner_child *c, const struct json *arguments, struct json **result,
                  struct error *err)
{
    int64_t cells = json_int(json_get(arguments, "cells"), 0);

    if (need_copy(c, err) < 0 || sandbox_copy_in(c->sandbox, c->put, (unsigned)cells, err) < 0)
        return -1;
    *result = json_object();
    return 0;
}

/* ---- prepare ---- */

/* The files of --add, under their names. */
static int put_given(struct sandbox *s, const struct argv *paths, struct error *err)
{
    struct inputs files autorelease(inputs_release) = {0};
    struct argv names autorelease(argv_release) = ARGV_INIT;

    if (inputs_open(&files, "--add ", (const char *const *)paths->v, err) < 0)
        return -1;
    for (size_t i = 0; i < files.n; i++) {
        autofree char *plain = name_plain(files.v[i].path),
                      *name = name_not_taken(plain, (const char *const *)names.v, names.n);

        argv_push(&names, name);
        if (sandbox_put(s, name, files.v[i].fd, err) < 0)
            return -1;
    }
    return 0;
}

static int name_script(struct sandbox *s, const char *name, struct error *err)
{
    char *words[] = {(char *)(uintptr_t)name};

    return sandbox_set_arguments(s, words, 1, err);
}

static void add_shortened(struct buf *out, const char *text)
{
    size_t len = strlen(text), n = utf8_cut(text, len, PREPARED_TEXT_MAX);

    buf_add(out, text, n);
    if (n < len)
        buf_addf(out, "\n... (%zu more bytes)", len - n);
}

/* What the model is told of it. */
static char *told(const char *name, const char *code, const char *output, const char *variables)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    buf_addf(
        &text,
        "[%s of the user's has already run in this interpreter. What it made is there, so do not load it "
        "again",
        name);
    if (*variables)
        buf_addf(&text, "; variables: %s", variables);
    buf_addf(&text, "\n%s:\n", name);
    add_shortened(&text, code);
    if (*output)
        buf_addstr(&text, "\nIt gave:\n");
    add_shortened(&text, output);
    buf_addstr(&text, "]");
    return buf_steal(&text, NULL);
}

int prepare_run(void *ctx, struct runner_child *c, const struct json *arguments, struct json **result,
                struct error *err)
{
    const struct config *config = ctx;
    struct sandbox *s = runner_child_sandbox(c);
    const char *name = json_text(json_get(arguments, "name"));
    struct buf variables autorelease(buf_release) = BUF_INIT(0);

    if (put_given(s, &config->add, err) < 0 || name_script(s, name, err) < 0
        || child_run_code(c, arguments, result, err) < 0)
        return -1;
    if (strcmp(json_text(json_get(*result, "status")), "ok") != 0)
        return 0;
    if (name_script(s, "", err) < 0 || sandbox_list_variables(s, &variables, err) < 0) {
        json_free(steal(result));
        return -1;
    }
    autofree char *text = told(name, json_text(json_get(arguments, "code")),
                               json_text(json_get(*result, "output")), buf_str(&variables));
    json_set(*result, "told", json_string(text));
    return 0;
}
