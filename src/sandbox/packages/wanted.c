/* wanted.c - reads what is wanted: names on a command line, a file of requirements, a pylock.toml. What a
 * name can be is written out here, so that nothing of it is an option, a path or an address to uv or pip.
 */
#include "packages/packages.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "packages/lock.h"

#define WANT_BYTES 2000 /* of one requirement, without its hashes */
#define FILE_BYTES (4u << 20)

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

/* Behind blanks. */
static const char *past_blanks(const char *p)
{
    return p + strspn(p, " \t");
}

/* Behind "[extra,extra]"; NULL: it has no end. */
static const char *past_extras(const char *p)
{
    if (*p != '[')
        return p;
    p += 1 + strspn(p + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-, ");
    return *p == ']' ? past_blanks(p + 1) : NULL;
}

/* Behind ">=1,<2"; what stands there if there is none. */
static const char *past_versions(const char *p)
{
    for (;;) {
        size_t op = strspn(p, "<>=!~");
        const char *v = past_blanks(p + op);
        size_t n = strspn(v, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.*+!_-");

        if (!op || op > 3 || !n)
            return p;
        p = past_blanks(v + n);
        if (*p != ',')
            return p;
        p = past_blanks(p + 1);
    }
}

/* Behind " --hash=sha256:..." ; only a file has them. */
static const char *past_hashes(const char *p)
{
    static const char word[] = "--hash=sha256:";

    while (!strncmp(p, word, strlen(word))) {
        const char *hex = p + strlen(word);

        if (strspn(hex, "0123456789abcdef") != 64)
            break;
        p = past_blanks(hex + 64);
    }
    return p;
}

/* Behind "sys_platform == 'linux'": a few words in quotes. Hashes may follow. */
static const char *past_condition(const char *p)
{
    const char *hash = strstr(p, " --hash=");
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+ \t'\"()<>=!~,");

    return hash && hash < p + n ? hash : p + n;
}

/* NULL, or what is wrong with it. */
static const char *fault_of(const char *text, bool hashes)
{
    const char *p = text;

    if (*p == '-')
        return "that is an option, not a package";
    while (is_name(*p))
        p++;
    if (p == text || !isalnum((unsigned char)*text))
        return "that is no name of a package";
    if (!hashes && !strcmp(text, "none"))
        return "none stands alone; a package of that name is none>=0";
    p = past_extras(past_blanks(p));
    if (p && *p == '@')
        return "packages have a name here, not an address";
    if (strstr(text, "://") || (p && (*p == '/' || *p == ':' || *p == '\\')))
        return "that is a path or an address; packages have a name here";
    p = p ? past_versions(p) : text;
    if (*p == ';')
        p = past_condition(p + 1);
    if (hashes)
        p = past_hashes(past_blanks(p));
    return *p ? "that cannot be understood; as in: polars>=1,<2" : NULL;
}

static bool is_wanted_already(const struct argv *wanted, const char *one)
{
    for (size_t i = 0; i < wanted->n; i++)
        if (!strcmp(wanted->v[i], one))
            return true;
    return false;
}

static int want_one(struct argv *wanted, const char *where, const char *text, bool hashes, struct error *err)
{
    size_t hash = strcspn(text, "#"), len = trimmed_length(text, strlen(text), " \t\r");
    autofree char *one = xmemdup0(text, len), *shown = scrub_line(one, SCRUB_TERMINAL);
    const char *fault = strlen(one) > WANT_BYTES && !hashes ? "that is too long"
                        : text[hash]                        ? "that has a #"
                                                            : fault_of(one, hashes);

    if (!*one)
        return error_set(err, ERROR_USAGE, 0, "%s: the name of a package is missing", where);
    if (fault)
        return error_set(err, ERROR_USAGE, 0, "%s: %.100s: %s", where, shown, fault);
    if (wanted->n >= PACKAGES_WANTED && !hashes)
        return error_set(err, ERROR_USAGE, 0, "%s: more than %d packages", where, PACKAGES_WANTED);
    if (!is_wanted_already(wanted, one))
        argv_push(wanted, one);
    return 0;
}

/* The end of the first one: the comma before a name, which is none between versions or in brackets. */
static const char *end_of_one(const char *p)
{
    bool inside = false;

    for (; *p; p++) {
        inside = *p == '[' || (inside && *p != ']');
        if (*p == ',' && !inside && !strchr("<>=!~", *past_blanks(p + 1)))
            break;
    }
    return p;
}

int packages_want(struct argv *wanted, const char *where, const char *text, struct error *err)
{
    do {
        const char *begin = past_blanks(text), *end = end_of_one(begin);
        autofree char *one = xmemdup0(begin, (size_t)(end - begin));

        if (want_one(wanted, where, one, false, err) < 0)
            return -1;
        text = end + (*end == ',');
    } while (*text);
    return 0;
}

/* ---- files ---- */

/* The next line without its comment, and with those that a backslash joins to it; false: there is none. */
static bool next_requirement(const char **at, struct buf *line)
{
    buf_clear(line);
    if (!**at)
        return false;
    for (bool more = true; more && **at;) {
        const char *p = *at;
        size_t len = strcspn(p, "\n"), use = len;

        *at = p + len + (p[len] == '\n');
        for (size_t i = 0; i < use; i++)
            if (p[i] == '#' && (i == 0 || p[i - 1] == ' ' || p[i - 1] == '\t'))
                use = i;
        use = trimmed_length(p, use, " \t\r");
        more = use && p[use - 1] == '\\';
        buf_add(line, p, more ? use - 1 : use);
    }
    return true;
}

static int want_lines(struct argv *wanted, const char *path, const char *text, struct error *err)
{
    struct buf line autorelease(buf_release) = BUF_INIT(64 * 1024);

    for (unsigned n = 1; next_requirement(&text, &line); n++) {
        const char *one = past_blanks(buf_str(&line));
        autofree char *where = xasprintf("%s:%u", path, n);

        if (*one == '-')
            return error_set(
                err, ERROR_USAGE, 0,
                "%s: %.60s: a file of requirements cannot set options here\n"
                "An index of your own is set where uv or pip look for it: UV_DEFAULT_INDEX, pip.conf",
                where, one);
        if (*one && want_one(wanted, where, one, true, err) < 0)
            return -1;
    }
    return 0;
}

static int want_pylock(struct argv *wanted, const char *path, const struct buf *text, struct error *err)
{
    struct lock lock autorelease(lock_release) = {0};
    struct buf lines autorelease(buf_release) = BUF_INIT(0);

    if (lock_read_pylock(&lock, buf_str(text), text->len, err) < 0) {
        err->kind = ERROR_USAGE;
        return error_wrap(err, "%s", path);
    }
    lock_write(&lock, &lines);
    return want_lines(wanted, path, buf_str(&lines), err);
}

int packages_want_file(struct argv *wanted, const char *path, struct error *err)
{
    struct buf text autorelease(buf_release) = BUF_INIT(FILE_BYTES);
    size_t len = strlen(path);

    if (file_read(path, FILE_BYTES, &text, err) < 0) {
        err->kind = ERROR_USAGE;
        return -1;
    }
    if (memchr(buf_str(&text), 0, text.len))
        return error_set(err, ERROR_USAGE, 0, "%s: not a file of requirements: it contains a NUL byte", path);
    return len > 5 && !strcmp(path + len - 5, ".toml") ? want_pylock(wanted, path, &text, err)
                                                       : want_lines(wanted, path, buf_str(&text), err);
}

/* ---- a script (PEP 723) ---- */

/* The text between "# /// script" and "# ///" without the marks, or NULL. The caller frees. */
static char *script_block(const char *code)
{
    static const char begin[] = "# /// script", end[] = "# ///";
    struct buf text = BUF_INIT(64 * 1024);
    bool inside = false, whole = false;

    for (const char *p = code; *p && !whole; p += strcspn(p, "\n"), p += *p == '\n') {
        size_t len = trimmed_length(p, strcspn(p, "\n"), " \t\r");
        bool is_end = len == strlen(end) && !memcmp(p, end, len);

        if (!inside) {
            inside = len == strlen(begin) && !memcmp(p, begin, len);
        } else if (is_end) {
            whole = true;
        } else if (*p == '#' && (len == 1 || p[1] == ' ')) {
            buf_add(&text, p + (len > 1 ? 2 : 1), len > 1 ? len - 2 : 0);
            buf_addch(&text, '\n');
        } else {
            break;
        }
    }
    if (whole)
        return buf_steal(&text, NULL);
    buf_release(&text);
    return NULL;
}

/* Behind "KEY = " before the first table; NULL: there is none. */
static const char *script_value(const char *block, const char *key)
{
    for (const char *p = block; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        const char *at = past_blanks(p);

        if (*at == '[')
            return NULL;
        if (strncmp(at, key, strlen(key)) != 0)
            continue;
        at = past_blanks(at + strlen(key));
        if (*at == '=')
            return past_blanks(at + 1);
    }
    return NULL;
}

int packages_want_script(struct argv *wanted, const char *name, const char *code, struct error *err)
{
    autofree char *block = script_block(code);
    const char *p = block ? script_value(block, "dependencies") : NULL;

    p = p && *p == '[' ? p + 1 : NULL;
    while (p && *(p += strspn(p, " \t\r\n,")) != ']') {
        const char *end = *p == '"' || *p == '\'' ? strchr(p + 1, *p) : NULL;

        if (*p == '#') {
            p += strcspn(p, "\n");
            continue;
        }
        if (!end)
            return error_set(err, ERROR_USAGE, 0,
                             "%s: the dependencies in its script block must be a list of strings\n"
                             "As in: # dependencies = [\"polars>=1\", \"rich\"]",
                             name);
        autofree char *one = xmemdup0(p + 1, (size_t)(end - p - 1));
        if (want_one(wanted, name, one, false, err) < 0)
            return -1;
        p = end + 1;
    }
    return 0;
}

/* "3.11" as 311, "4" as 400; *rest: behind it. -1: it is no version. */
static int minor_version(const char *text, const char **rest)
{
    unsigned major = 0, minor = 0;
    int n = 0;

    if (sscanf(text, "%3u%n.%3u%n", &major, &n, &minor, &n) < 1)
        return -1;
    *rest = text + n;
    return (int)(major * 100 + minor);
}

/* One of the parts between the commas, ">=3.9". Two numbers are compared; a third one never decides. */
static bool part_allows(const char *part, int have)
{
    size_t n = strspn(part, "<>=!~");
    const char *rest = "";
    int than = minor_version(past_blanks(part + n), &rest);
    bool third = *rest == '.' && rest[1] != '*';

    if (than < 0)
        return true;
    if (!strncmp(rest, ".*", 2) && than % 100 == 0) { /* "==3.*" */
        than /= 100;
        have /= 100;
    }
    if (n == 1)
        return *part == '>' ? have >= than : *part == '<' ? have < than || (third && have == than) : true;
    if (n != 2 || part[1] != '=')
        return true;
    switch (*part) {
    case '>':
        return have >= than;
    case '<':
        return have <= than;
    case '=':
        return have == than;
    case '!':
        return third || have != than;
    default: /* ~=3.9: any later 3; ~=3.9.2: any 3.9 */
        return third ? have == than : have >= than && have / 100 == than / 100;
    }
}

int packages_script_fits(const char *name, const char *code, const char *python, struct error *err)
{
    autofree char *block = script_block(code);
    const char *p = block ? script_value(block, "requires-python") : NULL, *rest;
    int have = minor_version(python, &rest);

    if (!p || have < 0 || (*p != '"' && *p != '\''))
        return 0;
    autofree char *wants = xmemdup0(p + 1, strcspn(p + 1, "\"'\n"));
    for (const char *part = wants; *part; part += strcspn(part, ","), part += *part == ',')
        if (!part_allows(part = past_blanks(part), have))
            return error_set(err, ERROR_USAGE, 0,
                             "%s: its script block requires Python %.60s, and the sandbox has %s\n"
                             "Name an image that has it (--image), or change requires-python.",
                             name, wants, python);
    return 0;
}

int packages_want_lock(struct argv *wanted, const char *where, const char *lines, struct error *err)
{
    return want_lines(wanted, where, lines, err);
}

/* ---- what a client may ask for ---- */

static char *plain_of(const char *one)
{
    size_t n = 0;

    while (is_name(one[n]))
        n++;
    return package_name_plain(one, n);
}

static bool is_among(const struct argv *names, const char *one)
{
    autofree char *plain = plain_of(one);

    for (size_t i = 0; i < names->n; i++) {
        autofree char *its = plain_of(names->v[i]);

        if (!strcmp(its, plain))
            return true;
    }
    return false;
}

int packages_allowed(const struct argv *allowed, const struct argv *wanted, struct error *err)
{
    struct argv names autorelease(argv_release) = ARGV_INIT;

    for (size_t i = 0; i < allowed->n; i++)
        if (packages_want(&names, "--allow-packages", allowed->v[i], err) < 0)
            return -1;
    for (size_t i = 0; i < names.n; i++)
        for (const char *p = names.v[i]; *p; p++)
            if (!is_name(*p))
                return error_set(err, ERROR_USAGE, 0,
                                 "--allow-packages: %.100s: expected a name alone, without versions",
                                 names.v[i]);
    for (size_t i = 0; wanted && i < wanted->n; i++)
        if (!is_among(&names, wanted->v[i]))
            return error_set(err, ERROR_USAGE, EPERM,
                             names.n ? "%.100s is not among the packages that this server allows"
                                     : "%.100s: this server adds no packages (--allow-packages allows some)",
                             wanted->v[i]);
    return 0;
}
