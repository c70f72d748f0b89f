/* token.c - makes and reads tokens, and finds the client of one without leaving the loop early. */
#include "server/token.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

int token_make(char out[TOKEN_TEXT], struct error *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t raw[33] = {0}; /* 256 bits, and eight of zero so that it divides by three */

    if (getrandom(raw, 32, 0) != 32)
        return error_errno(err, "no random bytes for a token");
    for (size_t i = 0; i + 1 < TOKEN_TEXT; i++) {
        size_t bit = i * 6, at = bit / 8;
        unsigned two = (unsigned)raw[at] << 8 | (at + 1 < sizeof raw ? raw[at + 1] : 0);

        out[i] = digits[two >> (10 - bit % 8) & 63];
    }
    out[TOKEN_TEXT - 1] = '\0';
    explicit_bzero(raw, sizeof raw);
    return 0;
}

void tokens_add(struct tokens *t, const char *text, size_t len)
{
    if (t->n < TOKENS_EVER)
        sha256_hex(text, len, t->hash[t->n++]);
}

/* Open first and look afterwards, so that what was looked at is what is read. */
static int open_private(const char *path, struct error *err)
{
    autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0)
        return error_set(err, ERROR_USAGE, errno, "token file %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, ERROR_USAGE, 0, "token file %s is not an ordinary file", path);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return error_set(err, ERROR_USAGE, 0, "token file %s belongs to another user", path);
    if (st.st_mode & 077)
        return error_set(err, ERROR_USAGE, 0,
                         "token file %s can be read by others\nchmod 600 it, and put a new token into it",
                         path);
    if (st.st_size > TOKEN_FILE_MAX)
        return error_set(err, ERROR_USAGE, 0, "token file %s is longer than %u bytes", path, TOKEN_FILE_MAX);
    return fd_steal(&fd);
}

/* What follows a token on its line. */
static int read_most(const char *path, const char *text, size_t len, unsigned *most, struct error *err)
{
    autofree char *digits = xmemdup0(text, len);
    size_t blank = strspn(digits, " \t");

    *most = (unsigned)strtoul(digits + blank, NULL, 10);
    if (len == blank
        || (len - blank <= 4 && strspn(digits + blank, "0123456789") == len - blank && *most > 0))
        return 0;
    return error_set(
        err, ERROR_USAGE, 0,
        "token file %s: after a token only its maximum number of sandboxes may follow, 1 to 9999", path);
}

static int add_token_line(struct tokens *t, const char *path, const char *line, size_t all, struct error *err)
{
    size_t len = 0;
    unsigned most;

    if (all == 0 || line[0] == '#')
        return 0;
    while (len < all && line[len] != ' ' && line[len] != '\t')
        len++;
    if (len < TOKEN_MIN)
        return error_set(err, ERROR_USAGE, 0,
                         "token file %s: a token must have at least %d characters\n"
                         "Make one: openssl rand -hex 32",
                         path, TOKEN_MIN);
    for (size_t i = 0; i < len; i++)
        if (line[i] <= ' ' || line[i] > '~')
            return error_set(err, ERROR_USAGE, 0,
                             "token file %s: a token may contain only letters, digits and punctuation", path);
    if (t->n == TOKENS_MAX)
        return error_set(err, ERROR_USAGE, 0, "token file %s has more than %d tokens", path, TOKENS_MAX);
    if (read_most(path, line + len, all - len, &most, err) < 0)
        return -1;
    t->most[t->n] = most;
    tokens_add(t, line, len);
    return 0;
}

int tokens_read(struct tokens *t, const char *path, struct error *err)
{
    char text[TOKEN_FILE_MAX];
    autoclose int fd = open_private(path, err);
    size_t len = 0, from = 0;
    ssize_t n;
    int rc = 0;

    if (fd < 0)
        return -1;
    while (len < sizeof text && (n = read(fd, text + len, sizeof text - len)) > 0)
        len += (size_t)n;
    while (rc == 0 && from < len) {
        const char *line = text + from, *end = memchr(line, '\n', len - from);
        size_t size = end ? (size_t)(end - line) : len - from;

        from += size + 1;
        while (size > 0 && (line[size - 1] == '\r' || line[size - 1] == ' '))
            size--;
        rc = add_token_line(t, path, line, size, err);
    }
    explicit_bzero(text, sizeof text);
    if (rc == 0 && t->n == 0)
        return error_set(err, ERROR_USAGE, 0,
                         "token file %s contains no token\nMake one: openssl rand -hex 32 > FILE", path);
    t->lasting = true;
    return rc;
}

static size_t place_of_token(const struct tokens *t, const char *hash)
{
    size_t i = 0;

    while (i < t->n && strcmp(t->hash[i], hash) != 0)
        i++;
    return i;
}

int tokens_update(struct tokens *t, const struct tokens *new, struct error *err)
{
    size_t more = 0;

    for (size_t i = 0; i < new->n; i++)
        more += place_of_token(t, new->hash[i]) == t->n;
    if (t->n + more > TOKENS_EVER)
        return error_set(err, ERROR_USAGE, 0,
                         "the token file has had more than %d tokens since the start\nRestart the server.",
                         TOKENS_EVER);
    for (size_t i = 0; i < t->n; i++)
        t->gone[i] = true;
    for (size_t i = 0; i < new->n; i++) {
        size_t at = place_of_token(t, new->hash[i]);

        memcpy(t->hash[at], new->hash[i], sizeof t->hash[at]);
        t->most[at] = new->most[i];
        t->gone[at] = false;
        t->n += at == t->n;
    }
    return 0;
}

unsigned tokens_most(void *tokens, const char *hash)
{
    const struct tokens *t = tokens;

    for (size_t i = 0; i < t->n && hash; i++)
        if (!strcmp(t->hash[i], hash))
            return t->most[i];
    return 0;
}

void tokens_share(struct tokens *t, unsigned all)
{
    unsigned sharers = 0, share;

    for (size_t i = 0; i < t->n; i++) {
        sharers += t->most[i] == 0;
        all -= t->most[i] < all ? t->most[i] : all;
    }
    share = sharers ? all / sharers : 0;
    for (size_t i = 0; i < t->n && t->n > 1; i++)
        if (t->most[i] == 0)
            t->most[i] = share ? share : 1;
}

const char *tokens_client(const struct tokens *t, size_t i)
{
    return t->lasting ? t->hash[i] : "";
}

int tokens_find(const struct tokens *t, const char *given)
{
    char hash[SHA256_HEX];
    int found = -1;

    if (!given)
        return -1;
    sha256_hex(given, strlen(given), hash);
    for (size_t i = 0; i < t->n; i++) {
        unsigned differ = 0;

        for (size_t k = 0; k < SHA256_HEX; k++)
            differ |= (unsigned)(hash[k] ^ t->hash[i][k]);
        found = differ || t->gone[i] ? found : (int)i;
    }
    return found;
}

const char *token_given(const char *authorization, char **kept)
{
    struct buf plain = BUF_INIT(TOKEN_FILE_MAX);

    *kept = NULL;
    if (authorization && !strncasecmp(authorization, "Bearer ", 7))
        return authorization + 7 + strspn(authorization + 7, " ");
    if (!authorization || strncasecmp(authorization, "Basic ", 6) != 0)
        return NULL;
    authorization += 6 + strspn(authorization + 6, " ");
    bool good = base64_read(authorization, strlen(authorization), &plain) == 0
                && (plain.len == 0 || !memchr(plain.data, '\0', plain.len));
    *kept = buf_steal(&plain, NULL);
    const char *colon = good ? strchr(*kept, ':') : NULL;
    return colon ? colon + 1 : NULL;
}
