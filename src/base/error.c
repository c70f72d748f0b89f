/* error.c - see error.h. Texts come partly from outside (a server's message, a file's name), so every text is
 * repaired to valid UTF-8 when it is stored, and scrubbed when it is shown.
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"

enum { RAW_MAX = 2048 }; /* larger than error.text, so that any cut is made by put_text */

/* Copy raw to out as valid UTF-8, whole characters only. Control bytes are left for scrub.c. */
static void put_text(char *out, size_t size, const char *raw, size_t len)
{
    size_t n = 0, i = 0;
    while (i < len) {
        uint32_t cp;
        int k = utf8_decode(raw + i, len - i, &cp);
        const char *from = raw + i;
        size_t want = (size_t)k;
        if (k <= 0) {
            from = "\xef\xbf\xbd";
            want = 3;
            k = 1;
        }
        if (n + want + 1 > size)
            break;
        memcpy(out + n, from, want);
        n += want;
        i += (size_t)k;
    }
    out[n] = '\0';
}

static size_t format(char *raw, size_t size, const char *fmt, va_list ap)
    __attribute__((format(printf, 3, 0)));
static size_t format(char *raw, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(raw, size, fmt, ap);
    if (n < 0)
        return 0;
    if ((size_t)n < size)
        return (size_t)n;
    /* vsnprintf may cut inside a character: drop what is left of it, so that it does not show as U+FFFD. */
    size_t len = size - 1, back = 0;
    uint32_t cp;
    while (back < 3 && back < len && ((unsigned char)raw[len - 1 - back] & 0xc0) == 0x80)
        back++;
    if (back < len && utf8_decode(raw + len - 1 - back, back + 1, &cp) == 0)
        len -= back + 1;
    return len;
}

int error_set(struct error *err, enum error_kind kind, int code, const char *fmt, ...)
{
    if (err == NULL)
        return -1;
    char raw[RAW_MAX];
    va_list ap;
    va_start(ap, fmt);
    size_t len = format(raw, sizeof(raw), fmt, ap);
    va_end(ap);
    size_t line = strcspn(raw, "\n"), rest = line < len ? line + 1 : len;
    *err = (struct error){.kind = kind, .code = code};
    put_text(err->text, sizeof(err->text), raw, line);
    put_text(err->remedy, sizeof(err->remedy), raw + rest, len - rest);
    return -1;
}

int error_wrap(struct error *err, const char *fmt, ...)
{
    if (err == NULL)
        return -1;
    char raw[RAW_MAX];
    va_list ap;
    va_start(ap, fmt);
    size_t len = format(raw, sizeof(raw) - sizeof(err->text) - 2, fmt, ap);
    va_end(ap);
    if (err->text[0] != '\0') {
        size_t old = strnlen(err->text, sizeof(err->text) - 1);
        memcpy(raw + len, ": ", 2);
        memcpy(raw + len + 2, err->text, old);
        err->where += len + 2;
        len += 2 + old;
    }
    put_text(err->text, sizeof(err->text), raw, len);
    if (err->where > strlen(err->text))
        err->where = strlen(err->text);
    return -1;
}

int error_errno(struct error *err, const char *fmt, ...)
{
    int code = errno;
    if (err == NULL)
        return -1;
    char raw[RAW_MAX], why[128];
    va_list ap;
    va_start(ap, fmt);
    size_t len = format(raw, sizeof(raw) - sizeof(why) - 2, fmt, ap);
    va_end(ap);
    const char *text = strerror_r(code, why, sizeof(why));
    size_t n = strnlen(text, sizeof(why) - 1);
    memcpy(raw + len, ": ", 2);
    memcpy(raw + len + 2, text, n);
    *err = (struct error){.kind = ERROR_SYSTEM, .code = code};
    put_text(err->text, sizeof(err->text), raw, len + 2 + n);
    return -1;
}

char *error_message(const struct error *err)
{
    return xasprintf("%s%s%s", err->text, *err->remedy ? "\n" : "", err->remedy);
}

int error_exit_code(const struct error *err)
{
    if (err == NULL)
        return 1;
    switch (err->kind) {
    case ERROR_NONE:
        return 0;
    case ERROR_USAGE:
        return 2;
    case ERROR_AUTH:
        return 77;
    case ERROR_BUSY:
        return 75;
    case ERROR_SANDBOX:
        return 3;
    case ERROR_LIMIT:
    case ERROR_CONTEXT:
        return 5;
    case ERROR_CANCELLED:
        return 130;
    case ERROR_NETWORK:
    case ERROR_API:
    case ERROR_PROTOCOL:
    case ERROR_SYSTEM:
        return 1;
    }
    return 1;
}
