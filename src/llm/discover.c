/* discover.c - look for a model server on this machine: GET {base}/models at a few known places, all at once,
 * within a fraction of a second. What answers there may be anything; only a list of models counts.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/certificates.h"
#include "llm/curl_load.h"
#include "llm/models.h"

#define PROBES_MAX 8

struct probe {
    CURL *easy;
    struct buf body;
    bool done;
    char *model; /* the first of the list, once done */
    enum llm_place place;
};

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    struct probe *pr = ctx;
    return buf_add(&pr->body, p, size * n) ? size * n : 0;
}

/* The first that is not for embeddings, which LM Studio always lists one of and which cannot talk. */
static void read_list(struct probe *p)
{
    struct llm_models list;
    const char *first = NULL;
    bool is_list = llm_models_parse(buf_str(&p->body), p->body.len, &list, NULL) == 0;
    for (size_t i = 0; i < list.n; i++) {
        bool embeds = strstr(list.v[i].id, "embed");
        if (!first || !embeds)
            first = list.v[i].id;
        if (!embeds)
            break;
    }
    p->model = xstrdup(first);
    p->place = first ? LLM_MODEL : is_list ? LLM_NO_MODEL : LLM_OTHER;
    llm_models_release(&list);
}

static void start(const struct curl_api *c, CURLM *multi, struct probe *p, const char *base,
                  const char *ca_cert, int connect_ms, int answer_ms)
{
    autofree char *url = url_endpoint(base, "/models", NULL);
    buf_init(&p->body, MODELS_BYTES_LOCAL);
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
    c->easy_setopt(p->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)connect_ms);
    c->easy_setopt(p->easy, CURLOPT_TIMEOUT_MS, (long)answer_ms);
    certificates_use(c, p->easy, ca_cert);
    c->easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_body);
    c->easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
    c->multi_add_handle(multi, p->easy);
}

static bool connected(const struct curl_api *c, const struct probe *p)
{
    double seconds = 0;
    return p->easy && c->easy_getinfo(p->easy, CURLINFO_CONNECT_TIME, &seconds) == CURLE_OK && seconds > 0;
}

static void finish(const struct curl_api *c, struct probe *v, size_t n, const CURLMsg *m)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].easy != m->easy_handle)
            continue;
        long status = 0;
        c->easy_getinfo(v[i].easy, CURLINFO_RESPONSE_CODE, &status);
        v[i].done = true;
        if (m->data.result == CURLE_OK && status == 200)
            read_list(&v[i]);
        else if (certificates_refused(m->data.result))
            v[i].place = LLM_UNTRUSTED;
        else if (connected(c, &v[i]))
            v[i].place = m->data.result == CURLE_OPERATION_TIMEDOUT ? LLM_SILENT : LLM_OTHER;
    }
}

/* The first in the caller's order that has a model, all before it being done unless it is late; n while it is
 * not known yet. */
static size_t winner(const struct probe *v, size_t n, bool late)
{
    for (size_t i = 0; i < n; i++) {
        if (v[i].model)
            return i;
        if (!v[i].done && !late)
            return n;
    }
    return n;
}

/* Is there one worth waiting for after the time of those that nobody asked for? */
static bool somebody_listens(const struct curl_api *c, const struct probe *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!v[i].done && connected(c, &v[i]))
            return true;
    return false;
}

static void wait_some(const struct curl_api *c, CURLM *multi, struct loop *loop, int ms)
{
    size_t n = 0;
    struct pollfd *fds = loop ? loop_fds(loop, 0, &n) : NULL;
    struct curl_waitfd *extra = xcalloc(n + 1, sizeof *extra);
    for (size_t i = 0; i < n; i++)
        extra[i] = (struct curl_waitfd){.fd = fds[i].fd, .events = CURL_WAIT_POLLIN};
    c->multi_poll(multi, extra, (unsigned)n, loop ? loop_timeout(loop, ms) : ms, NULL);
    if (loop && (!n || poll(fds, n, 0) >= 0))
        loop_serve(loop, fds, n);
    free(fds);
    free(extra);
}

static size_t wait_for_one(const struct curl_api *c, CURLM *multi, struct probe *v, size_t n, int connect_ms,
                           int answer_ms, struct loop *loop)
{
    int64_t began = clock_ms();
    for (;;) {
        int running = 0, left = 0;
        c->multi_perform(multi, &running);
        for (CURLMsg *m; (m = c->multi_info_read(multi, &left));)
            if (m->msg == CURLMSG_DONE)
                finish(c, v, n, m);
        int64_t passed = clock_ms() - began;
        bool late = passed >= connect_ms;
        size_t won = winner(v, n, !running || late);
        if (won < n || !running || passed >= answer_ms || (late && !somebody_listens(c, v, n))
            || (loop && loop_cancelled(loop)))
            return won;
        wait_some(c, multi, loop, (int)((late ? answer_ms : connect_ms) - passed));
    }
}

int llm_discover(const char *const *base_urls, size_t n, const char *ca_cert, int connect_ms, int answer_ms,
                 struct loop *loop, char **model, enum llm_place *places)
{
    const struct curl_api *c = curl_load(NULL);
    CURLM *multi = c ? c->multi_init() : NULL;
    struct probe v[PROBES_MAX] = {0};
    *model = NULL;
    for (size_t i = 0; places && i < n; i++)
        places[i] = LLM_NOBODY;
    if (!multi)
        return -1;
    if (n > PROBES_MAX)
        n = PROBES_MAX;
    for (size_t i = 0; i < n; i++)
        start(c, multi, &v[i], base_urls[i], ca_cert, connect_ms, answer_ms);
    size_t won = wait_for_one(c, multi, v, n, connect_ms, answer_ms, loop);
    if (won < n)
        *model = steal(&v[won].model);
    for (size_t i = 0; i < n; i++) {
        if (places)
            places[i] = !v[i].done && connected(c, &v[i]) ? LLM_SILENT : v[i].place;
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
