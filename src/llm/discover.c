/* discover.c - look for a model server on this machine: GET {base}/models at a few known places, all at once, within a fraction of
 * a second. What answers there may be anything; only a list of models counts.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/loop.h"
#include "base/mem.h"
#include "llm/curl_load.h"
#include "llm/llm.h"
#include "llm/url.h"

#define PROBES_MAX 8
#define LIST_MAX (1u << 20)

struct probe {
    CURL *easy;
    struct buf body;
    bool done;
    char *model;                /* the first of the list, once done */
};

static size_t on_body(char *p, size_t size, size_t n, void *ctx) {
    struct probe *pr = ctx;
    return buf_add(&pr->body, p, size * n) ? size * n : 0;
}

/* {"data":[{"id":...}]} as OpenAI has it, or {"models":[{"name":...}]}. */
static char *first_model(const struct buf *body) {
    autojson struct json *j = json_parse(buf_str(body), body->len, JSON_DUPLICATES, NULL, NULL);
    const struct json *list = json_get(j, "data");
    if (json_type(list) != JSON_ARRAY)
        list = json_get(j, "models");
    const struct json *m = json_at(list, 0);
    const char *name = json_str(json_get(m, "id"));
    if (!name)
        name = json_str(json_get(m, "name"));
    return name && *name ? xstrdup(name) : NULL;
}

static void start(const struct curl_api *c, CURLM *multi, struct probe *p, const char *base, int timeout_ms) {
    autofree char *url = url_endpoint(base, "/models", NULL);
    buf_init(&p->body, LIST_MAX);
    p->easy = url ? c->easy_init() : NULL;
    if (!p->easy) {
        p->done = true;
        return;
    }
    c->easy_setopt(p->easy, CURLOPT_URL, url);
    c->easy_setopt(p->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    c->easy_setopt(p->easy, CURLOPT_PROXY, "");
    c->easy_setopt(p->easy, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(p->easy, CURLOPT_QUICK_EXIT, 1L);
    c->easy_setopt(p->easy, CURLOPT_USERAGENT, "sandpiper/" VERSION);
    c->easy_setopt(p->easy, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
    c->easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_body);
    c->easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
    c->multi_add_handle(multi, p->easy);
}

static void finish(const struct curl_api *c, struct probe *v, size_t n, const CURLMsg *m) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].easy != m->easy_handle)
            continue;
        long status = 0;
        c->easy_getinfo(v[i].easy, CURLINFO_RESPONSE_CODE, &status);
        v[i].done = true;
        if (m->data.result == CURLE_OK && status == 200)
            v[i].model = first_model(&v[i].body);
    }
}

/* The first in the caller's order that has a model, all before it being done; n while it is not known yet. */
static size_t winner(const struct probe *v, size_t n, bool late) {
    for (size_t i = 0; i < n; i++) {
        if (v[i].model)
            return i;
        if (!v[i].done && !late)
            return n;
    }
    return n;
}

static void wait_some(const struct curl_api *c, CURLM *multi, struct loop *loop, int ms) {
    struct pollfd fds[72];
    struct curl_waitfd extra[72];
    size_t n = loop ? loop_fds(loop, fds, countof(fds)) : 0;
    for (size_t i = 0; i < n; i++)
        extra[i] = (struct curl_waitfd){.fd = fds[i].fd, .events = CURL_WAIT_POLLIN};
    c->multi_poll(multi, extra, (unsigned)n, loop ? loop_timeout(loop, ms) : ms, NULL);
    if (loop && (!n || poll(fds, n, 0) >= 0))
        loop_serve(loop, fds, n);
}

int llm_discover(const char *const *base_urls, size_t n, int timeout_ms, struct loop *loop, char **model) {
    const struct curl_api *c = curl_load(NULL);
    CURLM *multi = c ? c->multi_init() : NULL;
    struct probe v[PROBES_MAX] = {0};
    *model = NULL;
    if (!multi)
        return -1;
    if (n > PROBES_MAX)
        n = PROBES_MAX;
    for (size_t i = 0; i < n; i++)
        start(c, multi, &v[i], base_urls[i], timeout_ms);
    int64_t until = clock_ms() + timeout_ms;
    size_t won = n;
    for (;;) {
        int running = 0, left = 0;
        c->multi_perform(multi, &running);
        for (CURLMsg *m; (m = c->multi_info_read(multi, &left)); )
            if (m->msg == CURLMSG_DONE)
                finish(c, v, n, m);
        int64_t now = clock_ms();
        won = winner(v, n, !running || now >= until);
        if (won < n || !running || now >= until || (loop && loop_cancelled(loop)))
            break;
        wait_some(c, multi, loop, (int)(until - now));
    }
    if (won < n)
        *model = steal(&v[won].model);
    for (size_t i = 0; i < n; i++) {
        if (v[i].easy) {
            c->multi_remove_handle(multi, v[i].easy);
            c->easy_cleanup(v[i].easy);
        }
        free(v[i].model);
        buf_release(&v[i].body);
    }
    c->multi_cleanup(multi);
    return won < n ? (int)won : -1;
}
