/* inputs.c - the files that the user named for reading. */
#include "base/inputs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"

#define NAME_MAX_BYTES 150

static bool is_socket(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static int open_one(const char *word, const char *path, struct error *err)
{
    /* A named pipe that nobody writes to would be waited for here, where no Ctrl-C is heard. Who reads it
     * waits for its data. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK), code = errno;
    const char *scheme = strstr(path, "://");
    autofree char *shown = scrub_line(path, SCRUB_TERMINAL);

    if (fd >= 0) {
        fcntl(fd, F_SETFL, O_RDONLY);
        return fd;
    }
    if (!*path)
        return error_set(err, ERROR_USAGE, code, "%sexpected a file, found an empty name", word);
    if (code == ENOENT && scheme && scheme - path <= 5)
        return error_set(err, ERROR_USAGE, code,
                         "%s%s is a URL, and sandpiper downloads nothing.\nDownload it first: curl -O '%s'",
                         word, shown, shown);
    return error_set(err, ERROR_USAGE, code, "%s%s: %s", word, shown,
                     is_socket(path) ? "it is a socket, which holds no data" : strerror(code));
}

static void push(struct inputs *in, struct input one)
{
    in->v = xreallocarray(in->v, in->n + 1, sizeof *in->v);
    in->v[in->n++] = one;
}

/* What was last written to a SQLite database may be only in the file beside it. */
static void push_log(struct inputs *in, const char *path, int fd)
{
    char head[20];
    struct stat st;

    if (pread(fd, head, sizeof head, 0) != (ssize_t)sizeof head || memcmp(head, "SQLite format 3", 16) != 0
        || head[18] != 2)
        return;
    autofree char *name = xasprintf("%s-wal", path);
    autoclose int log = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (log >= 0 && fstat(log, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        push(in, (struct input){.fd = log, .path = name, .owned = name});
        name = NULL;
        log = -1;
    }
}

int inputs_open(struct inputs *in, const char *word, const char *const *paths, struct error *err)
{
    for (; paths && *paths; paths++) {
        int fd = open_one(word, *paths, err);

        if (fd < 0) {
            inputs_release(in);
            return -1;
        }
        push_log(in, *paths, fd);
        push(in, (struct input){.fd = fd, .path = *paths});
    }
    return 0;
}

void inputs_release(struct inputs *in)
{
    if (!in)
        return;
    for (size_t i = 0; i < in->n; i++) {
        fd_close(&in->v[i].fd);
        free(in->v[i].owned);
    }
    free(in->v);
    memset(in, 0, sizeof *in);
}

/* "/data/" is /data, and "." has a name too. The caller frees. */
static char *last_part(const char *path)
{
    size_t len = strlen(path);

    while (len > 1 && path[len - 1] == '/')
        len--;
    autofree char *whole = xmemdup0(path, len);
    const char *slash = strrchr(whole, '/'), *name = slash ? slash + 1 : whole;
    bool unnamed = !*name || !strcmp(name, ".") || !strcmp(name, "..");
    autofree char *real = unnamed ? realpath(path, NULL) : NULL;

    return xstrdup(real && strrchr(real, '/') ? strrchr(real, '/') + 1 : name);
}

char *name_plain(const char *path)
{
    struct buf plain = BUF_INIT(0);
    autofree char *name = last_part(path);

    utf8_repair(&plain, name, strlen(name));
    if (plain.len > NAME_MAX_BYTES)
        /* Cut from the front: the end of a name tells more, since it has the extension. */
        buf_drop(&plain, utf8_cut(plain.data, plain.len, plain.len - NAME_MAX_BYTES));
    for (size_t i = 0; i < plain.len; i++)
        if ((unsigned char)plain.data[i] < 0x20 || plain.data[i] == 0x7f)
            plain.data[i] = '_';
    if (!*buf_str(&plain) || strspn(buf_str(&plain), ".") == plain.len) {
        buf_clear(&plain);
        buf_addstr(&plain, "data");
    }
    return buf_steal(&plain, NULL);
}

const char *name_extension(const char *name)
{
    const char *end = name + strlen(name), *dot = strrchr(name, '.');
    size_t len = dot ? (size_t)(end - dot) - 1 : 0;

    if (!dot || dot == name || len < 1 || len > 8)
        return end;
    for (size_t i = 1; i <= len; i++)
        if (!isalnum((unsigned char)dot[i]))
            return end;
    return dot;
}

static bool is_taken(const char *name, const char *const *taken, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(taken[i], name))
            return true;
    return false;
}

char *name_not_taken(const char *name, const char *const *taken, size_t n)
{
    const char *extension = name_extension(name);
    char *free_one = xstrdup(name);

    for (unsigned k = 2; is_taken(free_one, taken, n); k++)
        xreplace(&free_one, xasprintf("%.*s-%u%s", (int)(extension - name), name, k, extension));
    return free_one;
}
