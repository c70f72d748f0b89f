/* inputs.c - the files that the user named for reading. */
#include "base/inputs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"

static int open_one(const char *path, struct error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return error_set(err, ERROR_USAGE, errno, "--add %s: %s", path, strerror(errno));
    if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        close(fd);
        return error_set(err, ERROR_USAGE, EISDIR, "--add %s: is a directory; name the files in it", path);
    }
    return fd;
}

int inputs_open(struct inputs *in, const char *const *paths, struct error *err)
{
    memset(in, 0, sizeof *in);
    for (; paths && *paths; paths++) {
        int fd = open_one(*paths, err);

        if (fd < 0) {
            inputs_release(in);
            return -1;
        }
        in->v = xreallocarray(in->v, in->n + 1, sizeof *in->v);
        in->v[in->n] = (struct input){.fd = fd, .path = *paths};
        in->n++;
    }
    return 0;
}

void inputs_release(struct inputs *in)
{
    if (!in)
        return;
    for (size_t i = 0; i < in->n; i++)
        fd_close(&in->v[i].fd);
    free(in->v);
    memset(in, 0, sizeof *in);
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

    for (unsigned k = 2; is_taken(free_one, taken, n); k++) {
        free(free_one);
        free_one = xasprintf("%.*s-%u%s", (int)(extension - name), name, k, extension);
    }
    return free_one;
}
