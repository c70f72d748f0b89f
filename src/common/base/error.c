/* error.c - stores, wraps and prints errors, and has the exit code of each kind. Texts come partly from
 * outside (a server's message, a file's name), so every text is repaired to valid UTF-8 when it is stored,
 * and scrubbed when it is shown.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"

/* Copy text to out as valid UTF-8, as many whole characters as fit. Control bytes are left for scrub.c. */
static void put_text(char *out, size_t size, const char *text, size_t len)
{
    struct buf valid autorelease(buf_release) = BUF_INIT(0);

    utf8_repair(&valid, text, len);
    size_t n = utf8_cut(buf_str(&valid), valid.len, size - 1);
    memcpy(out, buf_str(&valid), n);
    out[n] = '\0';
}

static void set(struct error *err, enum error_kind kind, int code, const char *text)
{
    if (!err)
        return;
    size_t line = strcspn(text, "\n");
    const char *remedy = text + line + (text[line] == '\n');
    *err = (struct error){.kind = kind, .code = code};
    put_text(err->text, sizeof(err->text), text, line);
    put_text(err->remedy, sizeof(err->remedy), remedy, strlen(remedy));
}

int error_set(struct error *err, enum error_kind kind, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = xvasprintf(fmt, ap); /* it may be made of what err holds now */
    va_end(ap);
    set(err, kind, code, text);
    return -1;
}

void *error_null(struct error *err, enum error_kind kind, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *text = xvasprintf(fmt, ap);
    va_end(ap);
    set(err, kind, code, text);
    return NULL;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    autofree char *where = xvasprintf(fmt, ap);
    va_end(ap);
    autofree char *text = xasprintf("%s%s%s", where, *err->text ? ": " : "", err->text);
    err->where += *err->text ? strlen(where) + strlen(": ") : 0;
    put_text(err->text, sizeof(err->text), text, strlen(text));
    if (err->where > strlen(err->text))
        err->where = strlen(err->text);
    return -1;
}

int error_errno(struct error *err, const char *fmt, ...)
{
    static const char ulimit[] = "the limit on the size of files is too low here: raise it (ulimit -f)";
    int code = errno;
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    autofree char *what = xvasprintf(fmt, ap);
    va_end(ap);
    autofree char *text = xasprintf("%s: %s", what, strerror(code));
    *err = (struct error){.kind = ERROR_SYSTEM, .code = code};
    put_text(err->text, sizeof(err->text), text, strlen(text));
    if (code == EFBIG) /* RLIMIT_FSIZE, which holds for files in memory too */
        put_text(err->remedy, sizeof err->remedy, ulimit, strlen(ulimit));
    return -1;
}

char *error_message(const struct error *err)
{
    return xasprintf("%s%s%s", err->text, *err->remedy ? "\n" : "", err->remedy);
}

int error_exit_code(const struct error *err)
{
    static const int codes[] = {
        [ERROR_NONE] = 0,  [ERROR_USAGE] = 2,   [ERROR_NETWORK] = 1,     [ERROR_API] = 1,
        [ERROR_AUTH] = 77, [ERROR_BUSY] = 75,   [ERROR_PROTOCOL] = 1,    [ERROR_SANDBOX] = 3,
        [ERROR_LIMIT] = 5, [ERROR_CONTEXT] = 5, [ERROR_CANCELLED] = 130, [ERROR_SYSTEM] = 1,
    };

    return codes[err->kind];
}
