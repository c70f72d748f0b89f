/* cmd_debug.c - "sandpiper debug reply": reads a raw reply of a service on stdin and prints what was
 * understood of it. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "llm/debug.h"
#include "main/command.h"

static int read_body(int closed, struct buf *body, struct error *err)
{
    char piece[65536];
    ssize_t n;

    if ((closed & 1) || isatty(0))
        return error_set(
            err, ERROR_USAGE, 0,
            "debug reply reads the raw body from stdin: sandpiper debug reply --status 429 < body");
    while ((n = read(0, piece, sizeof piece)) != 0) {
        if (n < 0 && errno != EINTR)
            return error_set(err, ERROR_USAGE, errno, "stdin: %s", strerror(errno));
        if (n > 0 && !buf_add(body, piece, (size_t)n))
            break;
    }
    return 0;
}

static int check_headers(const struct argv *headers, struct error *err)
{
    for (size_t i = 0; i < headers->n; i++) {
        const char *colon = strchr(headers->v[i], ':');

        if (!colon || colon == headers->v[i])
            return error_set(err, ERROR_USAGE, 0,
                             "--header %.60s: the colon is missing\n"
                             "Write it as --header 'Retry-After: 2'.",
                             headers->v[i]);
    }
    return 0;
}

int cmd_debug_reply(struct config *c, int closed)
{
    static const struct llm_tool python = {"execute_python", "", "{}", "code"}; /* the agent's only tool */
    struct buf body autorelease(buf_release) = BUF_INIT(DEBUG_BODY_MAX);
    struct error err = {0};
    struct debug_reply d = {
        .status = c->status,
        .headers = (const char *const *)c->headers.v,
        .n_headers = c->headers.n,
        .dialect = c->dialect && !strcmp(c->dialect, "blocks") ? DIALECT_BLOCKS : DIALECT_NATIVE,
        .tools = {&python, 1},
        .now = time(NULL),
    };

    print_notices(c);
    if (check_headers(&c->headers, &err) < 0 || read_body(closed, &body, &err) < 0) {
        return print_failure(&err);
    }
    autofree char *text = debug_reply(&d, buf_str(&body), body.len);
    autofree char *line = xasprintf("%s\n", text);
    return print_json(line, strlen(line));
}
