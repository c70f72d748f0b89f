/* mentions.c - finds each @word of a question, opens what it names, and writes the question with the names
 * as they are in the sandbox.
 */
#include "base/mentions.h"

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/quoting.h"

#define LEFT_MAX 3

static bool is_blank_char(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A regular file or a folder: a device or a pipe cannot be meant. */
static bool is_there(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

/* Does a part of it begin with a dot, besides "." and ".."? */
static bool is_hidden(const char *path)
{
    for (const char *at = path; *at; at += strspn(at, "/")) {
        size_t len = strcspn(at, "/");

        if (at[0] == '.' && !(len <= 2 && !strncmp(at, "..", len)))
            return true;
        at += len;
    }
    return false;
}

/* The end of the word at at: a blank that no quote or backslash protects. */
static const char *word_end(const char *at, const char *stop)
{
    for (; at < stop && !is_blank_char(*at); at++) {
        const char *end = *at == '"' || *at == '\'' ? memchr(at + 1, *at, (size_t)(stop - at - 1)) : NULL;

        if (end)
            at = end;
        else if (*at == '\\' && at + 1 < stop)
            at++;
    }
    return at;
}

/* The path behind an @, or NULL; *end: where it ends. Signs at its end may belong to the sentence. */
static char *find_path(const char *at, const char *stop, const char **end)
{
    *end = word_end(at, stop);
    if (*end - at > PATH_MAX)
        return NULL;
    for (; *end > at; --*end) {
        autofree char *word = xmemdup0(at, (size_t)(*end - at)), *path = name_path(word);

        if (is_there(path))
            return steal(&path);
        if (!strchr(".,;:!?)]}'\"", (*end)[-1]))
            break;
    }
    return NULL;
}

static int add_mention(struct mentions *m, struct mention *one, struct inputs *in, struct error *err)
{
    size_t i = 0;

    while (i < in->n && strcmp(in->v[i].path, one->path) != 0)
        i++;
    bool open = i < in->n;
    m->v[m->n++] = *one;
    if (!open && inputs_open(in, "@", (const char *const[]){one->path, NULL}, err) < 0)
        return -1;
    m->v[m->n - 1].file = open ? i : in->n - 1;
    return 0;
}

/* Told only if it looks like a file: a decorator or the name of a person seldom ends in an extension. */
static void leave_missing(struct mentions *m, const char *at, const char *end, const char *stop)
{
    if (end < stop && *end == *at) /* a quote */
        end++;
    autofree char *word = xmemdup0(at, (size_t)(end - at)), *path = name_path(word);
    const char *extension = name_extension(path);

    if (*extension && isalpha((unsigned char)extension[1]) && m->left.n < LEFT_MAX)
        argv_pushf(&m->left, "@%s was not added: there is no such file", word);
}

int mentions_open(struct mentions *m, const char *text, size_t len, struct inputs *in, struct error *err)
{
    const char *stop = text + len, *end;

    for (const char *at = text; at < stop && m->n < MENTIONS_MAX; at++) {
        if (*at != '@' || (at > text && !is_blank_char(at[-1])))
            continue;
        autofree char *path = find_path(at + 1, stop, &end);

        if (!path) {
            leave_missing(m, at + 1, end, stop);
            continue;
        }
        if (is_hidden(path)) {
            if (m->left.n < LEFT_MAX)
                argv_pushf(&m->left, "@%s was not added, since it is hidden; --add or /put adds it", path);
            continue;
        }
        struct mention one = {.at = (size_t)(at - text), .len = (size_t)(end - at), .path = steal(&path)};

        if (add_mention(m, &one, in, err) < 0)
            return -1;
        at = end - 1;
    }
    return 0;
}

void mentions_name(struct mentions *m, size_t file, const char *inside)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->v[i].file == file && !m->v[i].inside)
            m->v[i].inside = xstrdup(inside);
}

void mentions_write(const struct mentions *m, const char *text, size_t len, struct buf *out)
{
    size_t from = 0;

    for (size_t i = 0; i < m->n; i++) {
        const struct mention *one = &m->v[i];

        if (!one->inside)
            continue;
        buf_add(out, text + from, one->at - from);
        buf_addf(out, "/mnt/data/%s", one->inside);
        from = one->at + one->len;
    }
    buf_add(out, text + from, len - from);
}

void mentions_release(struct mentions *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->v[i].path);
        free(m->v[i].inside);
    }
    m->n = 0;
    argv_release(&m->left);
}
