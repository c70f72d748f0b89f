/* pattern.c - walks pattern and path together, and takes out what stands for {name}. */
#include "server/pattern.h"

#include <string.h>

#include "base/mem.h"
#include "base/percent.h"
#include "base/utf8.h"

/* Is it a name that a file may have: nothing that leads elsewhere, nothing that a terminal would obey? */
static bool plain_segment(const char *s, size_t len)
{
    if (len == 0 || (len <= 2 && !strncmp(s, "..", len)))
        return false;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f || s[i] == '/')
            return false;
    return utf8_valid(s, len);
}

static bool plain_path(const char *s)
{
    for (size_t n;; s += n + 1) {
        n = strcspn(s, "/");
        if (!plain_segment(s, n))
            return false;
        if (!s[n])
            return true;
    }
}

/* One {name}, whose closing brace is at pattern[n - 1], against len bytes of path. */
static bool take_parameter(struct pattern_params *out, const char *pattern, size_t n, const char *path,
                           size_t len)
{
    bool rest = n > 5 && !memcmp(pattern + n - 4, "...}", 4);
    autofree char *value = out->n < PATTERN_PARAMS ? percent_decode(path, len, false) : NULL;

    if (!value || !(rest ? plain_path(value) : plain_segment(value, strlen(value))))
        return false;
    out->at[out->n].name = pattern + 1;
    out->at[out->n].name_len = n - (rest ? 5 : 2);
    out->at[out->n++].value = steal(&value);
    return true;
}

static bool match(const char *pattern, const char *path, struct pattern_params *out)
{
    while (*pattern == '/' && *path == '/') {
        size_t n = strcspn(++pattern, "/"), len = strcspn(++path, "/");

        if (n > 1 && pattern[0] == '{') {
            if (pattern[n - 2] == '.')
                len = strlen(path);
            if (!take_parameter(out, pattern, n, path, len))
                return false;
        } else if (n != len || memcmp(pattern, path, n) != 0) {
            return false;
        }
        pattern += n;
        path += len;
    }
    return *pattern == '\0' && *path == '\0';
}

bool pattern_match(const char *pattern, const char *path, struct pattern_params *out)
{
    *out = (struct pattern_params){0};
    if (strlen(path) <= PATTERN_PATH_MAX && match(pattern, path, out))
        return true;
    pattern_release(out);
    return false;
}

void pattern_release(struct pattern_params *p)
{
    while (p->n > 0)
        free(p->at[--p->n].value);
}
