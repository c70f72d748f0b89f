/* discord_rest.c - a queue of requests, and what is known of the buckets that they count against. */
#include "bot/discord_rest.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/random.h"
#include "json/json.h"
#include "net/transfers.h"
#include "process/loop.h"

#define AT_ONCE      8    /* requests under way */
#define LARGE        2    /* of them, those with files */
#define A_SECOND     40   /* requests; Discord allows 50 */
#define TRIES        8    /* of a request that Discord fails to answer */
#define REST_MS      1000 /* before the second of them; then twice as long each time */
#define REST_MAX_MS  60000
#define WAIT_MAX_S   3600 /* that Discord may ask for */
#define OPTIONAL_MS  3000 /* that an optional request waits for its turn */
#define REQUEST_MS   30000
#define LARGE_MS     120000
#define ANSWER_MAX   (4u << 20)
#define BUCKETS_MOST 4000
#define FILE_MOST    (26u << 20)

struct bucket {
    struct bucket *next;
    char *route, *name; /* name: that Discord gave it, with what the route keeps apart; NULL: not known yet */
    int64_t until;      /* clock_ms() before which nothing is sent; 0: none such time is known */
    int remaining;      /* of the requests until then */
    unsigned busy;
};

struct rest_request {
    struct rest_request *next;
    struct rest *r;
    struct rest_call call;
    char *method, *path;
    struct json *files;
    struct bucket *bucket;
    struct net_transfer *transfer; /* NULL: it waits */
    int64_t since, not_before;
    int tries;
};

struct rest {
    struct rest_options o;
    struct argv headers;
    struct rest_request *all; /* in order */
    struct bucket *buckets;
    int64_t until;            /* of the global limit */
    int64_t second;           /* clock_ms() / 1000 */
    unsigned sent, n_buckets; /* sent: in that second */
    bool refused, sending, silence_told;
};

struct rest *rest_new(const struct rest_options *o)
{
    struct rest *r = xcalloc(1, sizeof *r);

    r->o = *o;
    argv_pushf(&r->headers, "Authorization: Bot %s", o->token);
    argv_pushf(&r->headers, "User-Agent: DiscordBot (sandpiper, " VERSION ")");
    return r;
}

static void free_request(struct rest_request *q)
{
    if (q->transfer)
        q->bucket->busy--;
    transfer_drop(q->transfer);
    json_free(q->call.body);
    json_free(q->files);
    free(q->method);
    free(q->path);
    free(q);
}

static void free_bucket(struct bucket *b)
{
    free(b->route);
    free(b->name);
    free(b);
}

void rest_drop(struct rest *r, const void *ctx)
{
    for (struct rest_request **at = &r->all, *q; (q = *at);) {
        if (q->call.ctx != ctx) {
            at = &q->next;
            continue;
        }
        *at = q->next;
        free_request(q);
    }
}

void rest_free(struct rest *r)
{
    struct bucket *b;

    if (!r)
        return;
    loop_timer_stop(r->o.loop, r);
    while (r->all) {
        struct rest_request *q = r->all;

        r->all = q->next;
        free_request(q);
    }
    while ((b = r->buckets)) {
        r->buckets = b->next;
        free_bucket(b);
    }
    for (size_t i = 0; i < r->headers.n; i++)
        explicit_bzero(r->headers.v[i], strlen(r->headers.v[i]));
    argv_release(&r->headers);
    free(r);
}

/* ---- buckets ---- */

char *rest_route(const char *method, const char *path)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    size_t parts = 0;

    buf_addf(&out, "%s ", method);
    for (const char *p = path; *p && *p != '?'; parts++) {
        size_t len = strcspn(p + 1, "/?"), digits = strspn(p + 1, "0123456789");
        bool major = parts == 1
                     && (!strncmp(path, "/channels/", 10) || !strncmp(path, "/guilds/", 8)
                         || !strncmp(path, "/webhooks/", 10));

        if (len && digits == len && !major)
            buf_addstr(&out, "/:id");
        else
            buf_add(&out, p, len + 1);
        p += len + 1;
    }
    return buf_steal(&out, NULL);
}

/* Those that hold nobody up any more are forgotten when there are many. */
static void forget_buckets(struct rest *r)
{
    int64_t now = clock_ms();

    for (struct bucket **at = &r->buckets, *b; (b = *at);) {
        bool used = b->busy || b->until > now;

        for (struct rest_request *q = r->all; q && !used; q = q->next)
            used = q->bucket == b;
        if (used) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        free_bucket(b);
        r->n_buckets--;
    }
}

static struct bucket *bucket_of(struct rest *r, const char *route)
{
    struct bucket *b = r->buckets;

    while (b && strcmp(b->route, route) != 0)
        b = b->next;
    if (b)
        return b;
    if (r->n_buckets >= BUCKETS_MOST)
        forget_buckets(r);
    b = xcalloc(1, sizeof *b);
    *b = (struct bucket){.next = r->buckets, .route = xstrdup(route), .remaining = 1};
    r->buckets = b;
    r->n_buckets++;
    return b;
}

/* What is kept apart in a bucket: the id of the channel or server in the route. */
static const char *major_of(const char *route)
{
    const char *at = strpbrk(route, "0123456789");

    return at ? at : "";
}

/* Several routes may count against one bucket: what is said of it holds for all of them. */
static void set_limit(struct rest *r, struct bucket *b, int remaining, int64_t until)
{
    for (struct bucket *other = r->buckets; other; other = other->next)
        if (other == b || (b->name && other->name && !strcmp(b->name, other->name))) {
            other->remaining = remaining;
            other->until = until;
        }
}

static double seconds_of(const char *text)
{
    char *end;
    double s = text ? strtod(text, &end) : -1;

    return text && end != text && s >= 0 ? s < WAIT_MAX_S ? s : WAIT_MAX_S : -1;
}

static void read_rest_limit(struct rest *r, struct bucket *b, const char *head)
{
    autofree char *name = transfer_header(head, "X-RateLimit-Bucket"),
                  *remaining = transfer_header(head, "X-RateLimit-Remaining"),
                  *after = transfer_header(head, "X-RateLimit-Reset-After");
    double s = seconds_of(after);
    const char *major = major_of(b->route);

    if (name)
        xreplace(&b->name, xasprintf("%.64s %.*s", name, (int)strcspn(major, "/"), major));
    if (remaining && s >= 0)
        set_limit(r, b, *remaining == '0' ? 0 : (int)seconds_of(remaining),
                  clock_ms() + (int64_t)(s * 1000) + 1);
}

/* ---- sending ---- */

static void send_what_may(struct rest *r);

static void on_rest_time(void *ctx)
{
    send_what_may(ctx);
}

/* clock_ms() before which this request may not be sent; 0: now. */
static int64_t rest_wait(const struct rest_request *q, int64_t now)
{
    const struct bucket *b = q->bucket;
    int64_t at = b->remaining > 0 ? 0 : b->until;

    at = q->r->until > at ? q->r->until : at;
    at = q->not_before > at ? q->not_before : at;
    if (q->r->second == now / 1000 && q->r->sent >= A_SECOND && at < (now / 1000 + 1) * 1000)
        at = (now / 1000 + 1) * 1000;
    return at > now ? at : 0;
}

static void add_multipart_file(struct buf *out, const char *boundary, size_t i, const struct json *file)
{
    struct buf bytes autorelease(buf_release) = BUF_INIT(FILE_MOST);
    autofree char *name = name_plain(json_text(json_get(file, "name")));
    struct error err;

    for (char *c = name; *c; c++)
        if (*c == '"' || *c == '\\')
            *c = '_';
    const char *content = json_str(json_get(file, "content"));
    if (content)
        buf_addstr(&bytes, content);
    else if (file_read(json_text(json_get(file, "path")), FILE_MOST, &bytes, &err) < 0)
        return;
    buf_addf(out,
             "--%s\r\nContent-Disposition: form-data; name=\"files[%zu]\"; filename=\"%s\"\r\n"
             "Content-Type: application/octet-stream\r\n\r\n",
             boundary, i, name);
    buf_add(out, buf_str(&bytes), bytes.len);
    buf_addstr(out, "\r\n");
}

/* A file that is gone is left out: the text is what matters. */
static struct buf rest_body(const struct rest_request *q, struct argv *headers)
{
    autofree char *text = q->call.body ? json_print(q->call.body) : NULL;
    struct buf out = BUF_INIT(0);
    char boundary[33];
    size_t i = 0;

    if (!json_size(q->files)) {
        if (text)
            argv_push(headers, "Content-Type: application/json");
        buf_addstr(&out, text ? text : "");
        return out;
    }
    random_hex(boundary, 32);
    argv_pushf(headers, "Content-Type: multipart/form-data; boundary=%s", boundary);
    buf_addf(&out,
             "--%s\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n"
             "Content-Type: application/json\r\n\r\n%s\r\n",
             boundary, text ? text : "{}");
    for (const struct json *f = json_first(q->files); f; f = json_next(f))
        add_multipart_file(&out, boundary, i++, f);
    buf_addf(&out, "--%s--\r\n", boundary);
    return out;
}

static void on_rest_answer(void *ctx, const struct transfer_end *end);

static void end_request(struct rest_request *q, int status, const struct json *answer, const char *why)
{
    struct rest_request **at = &q->r->all;
    const struct rest_call call = q->call;

    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    if (call.done)
        call.done(call.ctx, status, answer, why);
    free_request(q);
}

static void begin_request(struct rest_request *q)
{
    struct rest *r = q->r;
    struct argv headers autorelease(argv_release) = ARGV_INIT;
    autofree char *url = xasprintf("%s%s", r->o.url, q->path);
    struct error err;
    int64_t second = clock_ms() / 1000;

    for (size_t i = 0; i < r->headers.n; i++)
        argv_push(&headers, r->headers.v[i]);
    bool posts = strcmp(q->method, "GET") != 0;
    struct buf body = rest_body(q, &headers);
    const struct transfer_want w = {.method = q->method,
                                    .url = url,
                                    .headers = &headers,
                                    .body = posts ? &body : NULL,
                                    .max = ANSWER_MAX,
                                    .ms = json_size(q->files) ? LARGE_MS : REQUEST_MS,
                                    .done = on_rest_answer,
                                    .ctx = q};
    q->transfer = transfers_begin(r->o.transfers, &w, &err);
    buf_release(&body);
    explicit_bzero(headers.v[0], strlen(headers.v[0]));
    if (!q->transfer) {
        q->not_before = clock_ms() + REST_MS;
        return;
    }
    r->sent = r->second == second ? r->sent + 1 : 1;
    r->second = second;
    q->bucket->busy++;
    q->bucket->remaining--;
}

static void count_requests(const struct rest *r, unsigned *all, unsigned *large)
{
    *all = *large = 0;
    for (const struct rest_request *q = r->all; q; q = q->next)
        if (q->transfer) {
            ++*all;
            *large += json_size(q->files) > 0;
        }
}

/* Does one of the same bucket come before it, or is one under way? */
static bool waits_for_another(const struct rest_request *q)
{
    for (const struct rest_request *p = q->r->all; p; p = p->next) {
        bool same = p->bucket == q->bucket
                    || (p->bucket->name && q->bucket->name && !strcmp(p->bucket->name, q->bucket->name));

        if (p == q)
            return false;
        if (same && !p->call.optional)
            return true;
    }
    return false;
}

static void send_what_may(struct rest *r)
{
    int64_t now = clock_ms(), next = INT64_MAX;
    unsigned all, large;

    count_requests(r, &all, &large);
    for (struct rest_request *q = r->all, *after; q; q = after) {
        after = q->next;
        if (q->transfer)
            continue;
        if (q->call.optional && now - q->since > OPTIONAL_MS) {
            end_request(q, 0, NULL, "it would have had to wait");
            continue;
        }
        int64_t at = rest_wait(q, now);
        if (at && at < next)
            next = at;
        bool is_large = json_size(q->files) > 0;
        if (at || r->refused || all >= AT_ONCE || (is_large && large >= LARGE) || q->bucket->busy
            || waits_for_another(q))
            continue;
        begin_request(q);
        if (!q->transfer && q->not_before < next)
            next = q->not_before;
        all++;
        large += is_large;
    }
    if (next < INT64_MAX)
        loop_timer(r->o.loop, next, on_rest_time, r);
}

/* ---- answers ---- */

/* 429: the bucket waits, or all of them; the request goes out again, first of its bucket. */
static void too_many(struct rest_request *q, const struct json *answer, const char *head)
{
    struct rest *r = q->r;
    autofree char *after = transfer_header(head, "Retry-After"),
                  *global = transfer_header(head, "X-RateLimit-Global");
    double s = json_double(json_get(answer, "retry_after"), -1), said = seconds_of(after);

    if (s < 0 || s > WAIT_MAX_S)
        s = said >= 0 ? said : 5;
    int64_t until = clock_ms() + (int64_t)(s * 1000) + 20;
    /* An answer that is not the API's comes from what stands before it, which blocks an address. */
    if (global || json_bool(json_get(answer, "global"), false) || !answer) {
        autofree char *line = xasprintf("Discord's limit for all requests is reached: waiting %.1f s", s);

        r->until = until;
        r->o.log(line);
    } else {
        set_limit(r, q->bucket, 0, until);
    }
}

/* Once, until it answers again. */
static void tell_silence(struct rest *r, const struct transfer_end *end)
{
    autofree char *line = end->why ? xasprintf("Discord does not answer: %s; trying again", end->why)
                                   : xasprintf("Discord fails (%d); trying again", end->status);

    if (!r->silence_told)
        r->o.log(line);
    r->silence_told = true;
}

/* True: the request is tried again. */
static bool rest_again(struct rest_request *q, const struct transfer_end *end)
{
    int64_t ms = REST_MS;
    bool failed = end->why || end->status >= 500;

    if (!failed)
        q->r->silence_told = false;
    if (!failed || ++q->tries >= TRIES)
        return false;
    for (int i = 1; i < q->tries && ms < REST_MAX_MS; i++)
        ms *= 2;
    q->not_before = clock_ms() + (ms < REST_MAX_MS ? ms : REST_MAX_MS);
    tell_silence(q->r, end);
    return true;
}

static void refuse(struct rest *r)
{
    if (r->refused)
        return;
    r->refused = true;
    r->o.refused(r->o.ctx);
}

/* Those that wait to ask the same have their answer too. */
static void answer_others(struct rest_request *q, int status, const struct json *answer, const char *why)
{
    struct rest_request *other = q->r->all;

    while (other) {
        bool same = other != q && !other->transfer && !strcmp(other->method, q->method)
                    && !strcmp(other->path, q->path);

        if (same)
            end_request(other, status, answer, why);
        other = same ? q->r->all : other->next;
    }
}

static void on_rest_answer(void *ctx, const struct transfer_end *end)
{
    struct rest_request *q = ctx;
    struct rest *r = q->r;
    autojson struct json *answer =
        end->why ? NULL : json_parse(end->body, end->body_len, JSON_FEW | JSON_DUPLICATES, NULL, NULL);

    q->transfer = NULL;
    q->bucket->busy--;
    if (!end->why)
        read_rest_limit(r, q->bucket, end->head);
    if (q->bucket->remaining < 1 && q->bucket->until <= clock_ms())
        q->bucket->remaining = 1; /* its limit is not known, or is over */
    if (end->status == 429 && !end->why)
        too_many(q, answer, end->head);
    else if (end->status == 401 && !end->why)
        refuse(r);
    else if (q->call.optional || !rest_again(q, end)) {
        autofree char *why = end->why ? xstrdup(end->why)
                                      : xasprintf("%.300s (%d)", json_text(json_get(answer, "message")),
                                                  end->status);

        if (!end->why && !strcmp(q->method, "GET"))
            answer_others(q, end->status, answer, why);
        end_request(q, end->why ? 0 : end->status, answer, why);
    }
    send_what_may(r);
}

void rest_send(struct rest *r, const struct rest_call *c)
{
    struct rest_request **end = &r->all, *q = xcalloc(1, sizeof *q);
    autofree char *route = rest_route(c->method, c->path);

    *q = (struct rest_request){.r = r,
                               .call = *c,
                               .method = xstrdup(c->method),
                               .path = xstrdup(c->path),
                               .files = c->files ? json_copy(c->files) : NULL,
                               .bucket = bucket_of(r, route),
                               .since = clock_ms()};
    while (*end)
        end = &(*end)->next;
    *end = q;
    loop_timer(r->o.loop, clock_ms(), on_rest_time, r);
}
