/* lock.c - reads pylock.toml, of which it knows the few forms that uv writes, and pip's report. */
#include "packages/lock.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "packages/packages.h"

#define NAME_MAX_BYTES 200

char *package_name_plain(const char *name, size_t len)
{
    struct buf out = BUF_INIT(0);

    for (size_t i = 0; i < len; i++) {
        bool dash = strchr("._-", name[i]) && name[i];

        if (!dash)
            buf_addch(&out, (char)tolower((unsigned char)name[i]));
        else if (buf_last(&out) != '-')
            buf_addch(&out, '-');
    }
    return buf_steal(&out, NULL);
}

static void locked_release(struct locked *one)
{
    free(one->name);
    free(one->version);
    free(one->marker);
    argv_release(&one->hashes);
}

void lock_release(struct lock *l)
{
    for (size_t i = 0; i < l->n; i++)
        locked_release(&l->v[i]);
    free(l->v);
    *l = (struct lock){0};
}

static bool looks_right(const char *text, size_t len)
{
    if (!len || len > NAME_MAX_BYTES || !isalnum((unsigned char)*text))
        return false;
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && !(text[i] && strchr("._-+!", text[i])))
            return false;
    return true;
}

/* What a condition may be made of, here and in a file of requirements (wanted.c). */
static bool marker_is_plain(const char *text)
{
    size_t len = 0;

    while (isalnum((unsigned char)text[len]) || (text[len] && strchr("._-+ '()<>=!~,", text[len])))
        len++;
    return !text[len] && len > 0 && len < 1000;
}

/* A new one at the end; NULL: there are too many. */
static struct locked *add_locked(struct lock *l, struct error *err)
{
    if (l->n >= LOCK_MOST)
        return error_null(err, ERROR_PROTOCOL, 0, "more than %d packages", LOCK_MOST);
    l->v = xreallocarray(l->v, l->n + 1, sizeof *l->v);
    l->v[l->n] = (struct locked){0};
    return &l->v[l->n++];
}

static int check_locked(const struct locked *one, struct error *err)
{
    if (!one->name || !one->version)
        return error_set(err, ERROR_PROTOCOL, 0, "a package without a name or a version");
    if (one->marker && !marker_is_plain(one->marker))
        return error_set(err, ERROR_PROTOCOL, 0, "%s has a marker that cannot be understood", one->name);
    if (!one->hashes.n)
        return error_set(err, ERROR_PROTOCOL, 0, "no wheel with a hash for %s %s", one->name, one->version);
    return 0;
}

static void add_hash(struct locked *one, const char *hex)
{
    if (one->hashes.n < LOCK_HASHES && strspn(hex, "0123456789abcdef") == 64) {
        autofree char *hash = xmemdup0(hex, 64);

        argv_push(&one->hashes, hash);
    }
}

/* ---- pylock.toml ---- */

/* The text between the quotes behind KEY = at the beginning of the line; NULL: it is another line. *len: its
 * length. */
static const char *quoted_value(const char *line, const char *end, const char *key, size_t *len)
{
    size_t n = strlen(key);

    if ((size_t)(end - line) < n + 5 || memcmp(line, key, n) != 0 || memcmp(line + n, " = \"", 4) != 0)
        return NULL;
    const char *begin = line + n + 4, *quote = memchr(begin, '"', (size_t)(end - begin));
    *len = quote ? (size_t)(quote - begin) : 0;
    return quote ? begin : NULL;
}

static void set_locked_text(char **at, const char *value, size_t len)
{
    if (!*at && looks_right(value, len))
        *at = xmemdup0(value, len);
}

static int64_t read_time(const char *text)
{
    struct tm tm = {0};

    return sscanf(text, "%4d-%2d-%2d%*1[Tt ]%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
                  &tm.tm_min, &tm.tm_sec)
                   == 6
               ? (tm.tm_year -= 1900, tm.tm_mon--, (int64_t)timegm(&tm))
               : 0;
}

/* The wheels of a line: hashes of all, size and time of the first. */
static void take_wheels(struct locked *one, const char *line, const char *end)
{
    static const char sha[] = "sha256 = \"", size[] = "size = ", time_key[] = "upload-time = ";
    autofree char *text = xmemdup0(line, (size_t)(end - line));
    const char *p;

    if (!one->size && (p = strstr(text, size)))
        one->size = strtoll(p + strlen(size), NULL, 10);
    if (!one->uploaded && (p = strstr(text, time_key)))
        one->uploaded = read_time(p + strlen(time_key));
    for (p = text; (p = strstr(p, sha)); p += strlen(sha))
        add_hash(one, p + strlen(sha));
}

static void take_pylock_line(struct locked *one, const char *line, const char *end, bool *wheels)
{
    size_t len;
    const char *value;

    if ((value = quoted_value(line, end, "name", &len))) {
        set_locked_text(&one->name, value, len);
    } else if ((value = quoted_value(line, end, "version", &len))) {
        set_locked_text(&one->version, value, len);
    } else if ((value = quoted_value(line, end, "marker", &len))) {
        xreplace(&one->marker, xmemdup0(value, len));
    } else if (end - line > 7 && !memcmp(line, "wheels ", 7)) {
        *wheels = true;
        take_wheels(one, line, end);
    } else if (*wheels && strchr(" \t{", *line) && line < end) {
        take_wheels(one, line, end);
    } else {
        *wheels = false;
    }
}

int lock_read_pylock(struct lock *l, const char *text, size_t len, struct error *err)
{
    static const char head[] = "[[packages]]";
    struct locked *one = NULL;
    bool wheels = false;

    if (len > LOCK_BYTES || memchr(text, 0, len))
        return error_set(err, ERROR_PROTOCOL, 0, "that is no pylock.toml");
    for (const char *p = text, *stop = text + len, *end; p < stop; p = end + 1) {
        end = memchr(p, '\n', (size_t)(stop - p));
        end = end ? end : stop;
        if (*p == '[') {
            bool begins = (size_t)(end - p) >= strlen(head) && !memcmp(p, head, strlen(head));

            if (one && check_locked(one, err) < 0)
                return -1;
            one = begins ? add_locked(l, err) : NULL;
            if (begins && !one)
                return -1;
            wheels = false;
        } else if (one) {
            take_pylock_line(one, p, end, &wheels);
        }
    }
    if (one && check_locked(one, err) < 0)
        return -1;
    return l->n ? 0 : error_set(err, ERROR_PROTOCOL, 0, "it names no packages");
}

/* ---- pip's report ---- */

static int take_report(struct locked *one, const struct json *item, struct error *err)
{
    const struct json *about = json_get(item, "metadata");
    const char *name = json_text(json_get(about, "name")), *version = json_text(json_get(about, "version"));
    const struct json *archive = json_get(json_get(item, "download_info"), "archive_info");

    set_locked_text(&one->name, name, strlen(name));
    set_locked_text(&one->version, version, strlen(version));
    add_hash(one, json_text(json_get(json_get(archive, "hashes"), "sha256")));
    return check_locked(one, err);
}

int lock_read_report(struct lock *l, const char *text, size_t len, struct error *err)
{
    autojson struct json *report = json_parse(text, len, 0, NULL, err);

    if (!report)
        return -1;
    for (const struct json *item = json_first(json_get(report, "install")); item; item = json_next(item)) {
        struct locked *one = add_locked(l, err);

        if (!one || take_report(one, item, err) < 0)
            return -1;
    }
    return l->n ? 0 : error_set(err, ERROR_PROTOCOL, 0, "it names no packages");
}

/* ---- what is done with it ---- */

void lock_leave_out(struct lock *l, const struct argv *installed)
{
    size_t kept = 0;

    for (size_t i = 0; i < l->n; i++) {
        autofree char *plain = package_name_plain(l->v[i].name, strlen(l->v[i].name));
        autofree char *line = xasprintf("%s==%s", plain, l->v[i].version);
        bool there = false;

        for (size_t k = 0; k < installed->n && !there; k++)
            there = !strcmp(installed->v[k], line);
        if (there)
            locked_release(&l->v[i]);
        else
            l->v[kept++] = l->v[i];
    }
    l->n = kept;
}

void lock_write(const struct lock *l, struct buf *out)
{
    struct argv lines autorelease(argv_release) = ARGV_INIT;

    for (size_t i = 0; i < l->n; i++) {
        struct argv hashes autorelease(argv_release) = ARGV_INIT;
        struct buf line autorelease(buf_release) = BUF_INIT(0);

        for (size_t k = 0; k < l->v[i].hashes.n; k++)
            argv_push(&hashes, l->v[i].hashes.v[k]);
        argv_sort(&hashes);
        buf_addf(&line, "%s==%s%s%s", l->v[i].name, l->v[i].version, l->v[i].marker ? " ; " : "",
                 l->v[i].marker ? l->v[i].marker : "");
        for (size_t k = 0; k < hashes.n; k++)
            buf_addf(&line, " --hash=sha256:%s", hashes.v[k]);
        argv_push(&lines, buf_str(&line));
    }
    argv_sort(&lines);
    for (size_t i = 0; i < lines.n; i++)
        buf_addf(out, "%s\n", lines.v[i]);
}

/* Is a part of the list of that name? Names end at a blank or at "==". */
static bool names_it(const char *list, const char *between, const char *part)
{
    size_t n = strcspn(part, " =");

    for (const char *at = list; at; at = strstr(at, between), at = at ? at + strlen(between) : NULL)
        if (strcspn(at, " =") == n && !strncmp(at, part, n))
            return true;
    return false;
}

/* Those of list that over does not name. */
static void take_parts(struct argv *parts, const char *list, const char *over, const char *between)
{
    for (const char *at = list ? list : ""; *at;) {
        const char *end = strstr(at, between);
        size_t len = end ? (size_t)(end - at) : strlen(at);

        if (len && !names_it(over, between, at))
            argv_pushf(parts, "%.*s", (int)len, at);
        at += len + (end ? strlen(between) : 0);
    }
}

char *packages_names_join(const char *had, const char *more)
{
    struct argv parts autorelease(argv_release) = ARGV_INIT;
    struct buf out = BUF_INIT(0);

    take_parts(&parts, had, more, ", ");
    for (size_t i = 0; i < parts.n; i++)
        buf_addf(&out, "%s%s", parts.v[i], *more || i + 1 < parts.n ? ", " : "");
    buf_addstr(&out, more);
    return buf_steal(&out, NULL);
}

char *packages_lock_join(const char *had, const char *more)
{
    struct argv lines autorelease(argv_release) = ARGV_INIT;
    struct buf out = BUF_INIT(0);

    take_parts(&lines, had, more, "\n");
    take_parts(&lines, more, "", "\n");
    argv_sort(&lines); /* as lock_write() */
    for (size_t i = 0; i < lines.n; i++)
        buf_addf(&out, "%s\n", lines.v[i]);
    return buf_steal(&out, NULL);
}

const struct locked *lock_youngest(const struct lock *l, int64_t now, int64_t seconds)
{
    const struct locked *best = NULL;

    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].uploaded > now - seconds && (!best || l->v[i].uploaded > best->uploaded))
            best = &l->v[i];
    return best;
}
