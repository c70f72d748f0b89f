/* trace.c - writes a line for each request and each reply, with every secret taken out. */
#include "llm/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"
#include "llm/http.h"

#define KEY_LEAST 4 /* bytes; a shorter key is no secret, and would remove every "a" from the texts */

struct trace {
    int fd;
    unsigned number;
    char *name; /* option and file, for the user */
    const char *agent;
    int trouble; /* errno of the first write that failed */
    bool told;
};

struct trace *trace_open(const char *path, bool fresh, struct error *err)
{
    const char *option = fresh ? "--record" : "--trace";
    struct stat st;
    autoclose int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (fd < 0 || fstat(fd, &st) < 0)
        return error_null(err, ERROR_USAGE, errno, "%s %.200s: %s", option, path, strerror(errno));
    /* Questions and answers are for this user alone, whatever the file was before. */
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || fchmod(fd, 0600) < 0
        || (fresh && ftruncate(fd, 0) < 0))
        return error_null(err, ERROR_USAGE, 0, "%s %.200s: not a regular file of your own", option, path);
    struct trace *t = xcalloc(1, sizeof *t);
    t->fd = fd;
    t->name = xasprintf("%s %s", option, path);
    fd = -1;
    return t;
}

void trace_of(struct trace *t, const char *agent)
{
    if (t)
        t->agent = agent;
}

void trace_close(struct trace *t)
{
    if (!t)
        return;
    fd_close(&t->fd);
    free(t->name);
    free(t);
}

char *trace_trouble(struct trace *t)
{
    if (!t || !t->trouble || t->told)
        return NULL;
    t->told = true;
    return xasprintf("%s: %s; some requests or replies are missing", t->name, strerror(t->trouble));
}

static void take_out(struct buf *out, const char *s, size_t len, const char *secret)
{
    size_t n = strlen(secret);
    while (len) {
        const char *at = memmem(s, len, secret, n);
        size_t plain = at ? (size_t)(at - s) : len;
        buf_add(out, s, plain);
        if (!at)
            return;
        buf_addstr(out, "[key]");
        s += plain + n;
        len -= plain + n;
    }
}

/* Removes the key as it is, and as JSON may write it: "\/" is a slash too. */
static struct json *clean(const char *s, size_t len, const char *key)
{
    struct buf one autorelease(buf_release) = BUF_INIT(0), two autorelease(buf_release) = BUF_INIT(0),
                   escaped autorelease(buf_release) = BUF_INIT(0);
    bool secret = key && strlen(key) >= KEY_LEAST;
    for (const char *p = secret ? key : ""; *p; p++)
        buf_addf(&escaped, "%s%c", *p == '/' ? "\\" : "", *p);
    if (secret) {
        take_out(&one, s, len, key);
        take_out(&two, buf_str(&one), one.len, buf_str(&escaped));
    }
    return secret ? json_string_n(buf_str(&two), two.len) : json_string_n(s, len);
}

/* True for headers of which only the names are written: an id of the user's session at the service is as good
 * as a key. */
static bool is_secret(const char *line, size_t len)
{
    static const char *const names[] = {
        "authorization", "proxy-authorization", "api-key",      "x-api-key",
        "cookie",        "set-cookie",          "x-auth-token", "x-goog-api-key"};
    for (size_t i = 0; i < countof(names); i++) {
        size_t n = strlen(names[i]);
        if (len > n && line[n] == ':' && !strncasecmp(line, names[i], n))
            return true;
    }
    return false;
}

static void add_header(struct json *list, const char *line, size_t len, const char *key)
{
    while (len && (unsigned char)line[len - 1] <= ' ')
        len--;
    if (!len)
        return;
    if (is_secret(line, len)) {
        struct buf b autorelease(buf_release) = BUF_INIT(0);
        buf_add(&b, line, (size_t)((const char *)memchr(line, ':', len) - line));
        buf_addstr(&b, ": [removed]");
        json_add(list, json_string(buf_str(&b)));
    } else {
        json_add(list, clean(line, len, key));
    }
}

static struct json *line_new(const struct trace *t, const char *type)
{
    char when[32] = "";
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &tm))
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &tm);
    struct json *line = json_object();
    json_set_str(line, "type", type);
    json_set_int(line, "number", t->number);
    json_set_str(line, "time", when);
    if (t->agent)
        json_set_str(line, "agent", t->agent);
    return line;
}

/* Makes one write per line, so that two programs may share a file. A full disk is no reason to lose the
 * answer; trace_trouble reports it. A body may be long, and six times as long in JSON, so neither is copied
 * again. */
static void put_line(struct trace *t, struct json *line)
{
    char *text = json_print(line);
    json_free(line);
    size_t len = strlen(text);
    text = xreallocarray(text, len + 2, 1);
    text[len] = '\n';
    if (fd_write_all(t->fd, text, len + 1) < 0 && !t->trouble)
        t->trouble = errno;
    free(text);
}

void trace_request(struct trace *t, const char *key, const char *url, const struct http_transfer *q)
{
    if (!t)
        return;
    t->number++;
    struct json *o = line_new(t, "request"), *list = json_array();
    for (size_t i = 0; i < q->n_headers; i++)
        add_header(list, q->headers[i], strlen(q->headers[i]), key);
    json_set_str(o, "method", "POST");
    json_set(o, "url", clean(url, strlen(url), key));
    json_set(o, "headers", list);
    json_set(o, "body", clean(q->body, q->len < TRACE_BODY_MAX ? q->len : TRACE_BODY_MAX, key));
    json_set_bool(o, "cut", q->len > TRACE_BODY_MAX);
    put_line(t, o);
}

void trace_reply(struct trace *t, const char *key, const struct trace_reply *r)
{
    if (!t)
        return;
    struct json *o = line_new(t, "reply"), *list = json_array();
    const char *s = buf_str(r->headers);
    for (size_t left = r->headers->len; left;) {
        const char *eol = memchr(s, '\n', left);
        size_t n = eol ? (size_t)(eol - s) + 1 : left;
        add_header(list, s, n, key);
        s += n;
        left -= n;
    }
    json_set_int(o, "status", r->status);
    json_set(o, "headers", list);
    json_set(o, "body", clean(buf_str(r->body), r->body->len, key));
    json_set_bool(o, "cut", r->body->full);
    json_set_str(o, "end", r->end);
    put_line(t, o);
}
