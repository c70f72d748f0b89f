/* discover.c - looks for a model server on this machine: GET {base}/models at a few known places, all at
 * once, within a fraction of a second. Anything may answer there; only a list of models counts.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "llm/certificates.h"
#include "llm/curl_load.h"
#include "llm/llm.h"
#include "llm/models.h"
#include "process/signals.h"

#define PROBES_MAX 8

struct probe {
    CURL *easy;
    struct buf body;
    bool done;
    char *model; /* the chosen one of its list, once done */
    enum llm_place place;
};

static size_t on_probe_body(char *p, size_t size, size_t n, void *ctx)
{
    struct probe *pr = ctx;
    return buf_add(&pr->body, p, size * n) ? size * n : 0;
}

static void read_list(struct probe *p)
{
    struct llm_models list;
    bool is_list = llm_models_parse(buf_str(&p->body), p->body.len, &list, NULL) == 0;
    const char *first = llm_models_first(&list);
    p->model = xstrdup(first);
    p->place = first ? LLM_MODEL : is_list ? LLM_NO_MODEL : LLM_OTHER;
    llm_models_release(&list);
}

struct search {
    const struct llm_search *what;
    const struct curl_api *c;
    CURLM *multi;
    struct loop *loop;
    struct probe v[PROBES_MAX];
    size_t n;
};

static void start(struct search *s, struct probe *p, const char *base)
{
    const struct curl_api *c = s->c;
    autofree char *url = url_endpoint(base, "/models", NULL);
    buf_init(&p->body, MODELS_BYTES_LOCAL);
    p->easy = url ? c->easy_init() : NULL;
    CURLcode rc = p->easy ? curl_common(c, p->easy, url, s->what->ca_cert, s->what->connect_ms)
                          : CURLE_FAILED_INIT;
    rc = rc ? rc : c->easy_setopt(p->easy, CURLOPT_PROXY, ""); /* the server is local, so no proxy is used */
    rc = rc ? rc : c->easy_setopt(p->easy, CURLOPT_TIMEOUT_MS, (long)s->what->answer_ms);
    rc = rc ? rc : c->easy_setopt(p->easy, CURLOPT_WRITEFUNCTION, on_probe_body);
    rc = rc ? rc : c->easy_setopt(p->easy, CURLOPT_WRITEDATA, p);
    p->done = rc || c->multi_add_handle(s->multi, p->easy) != CURLM_OK;
}

static bool connected(const struct curl_api *c, const struct probe *p)
{
    double seconds = 0;
    return p->easy && c->easy_getinfo(p->easy, CURLINFO_CONNECT_TIME, &seconds) == CURLE_OK && seconds > 0;
}

static void finish_probe(struct search *s, const CURLMsg *m)
{
    struct probe *p = s->v;
    while (p < s->v + s->n && p->easy != m->easy_handle)
        p++;
    if (p == s->v + s->n)
        return;
    long status = 0;
    s->c->easy_getinfo(p->easy, CURLINFO_RESPONSE_CODE, &status);
    p->done = true;
    if (m->data.result == CURLE_OK && status == 200)
        read_list(p);
    else if (certificates_refused(m->data.result))
        p->place = LLM_UNTRUSTED;
    else if (status == 503)
        p->place = LLM_LOADING;
    else if (connected(s->c, p))
        p->place = m->data.result == CURLE_OPERATION_TIMEDOUT ? LLM_SILENT : LLM_OTHER;
}

/* Returns the first in the caller's order that has a model. Before the time is late, all before it must be
 * done. n while there is none yet. */
static size_t winner(const struct search *s, bool late)
{
    for (size_t i = 0; i < s->n && (s->v[i].model || s->v[i].done || late); i++)
        if (s->v[i].model)
            return i;
    return s->n;
}

/* True when a connected server is worth waiting for after the time for connecting is over. */
static bool somebody_listens(const struct search *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (!s->v[i].done && connected(s->c, &s->v[i]))
            return true;
    return false;
}

static size_t wait_for_one(struct search *s)
{
    int64_t began = clock_ms();
    int connect_ms = s->what->connect_ms, answer_ms = s->what->answer_ms;
    for (;;) {
        int running = 0, left = 0;
        s->c->multi_perform(s->multi, &running);
        for (CURLMsg *m; (m = s->c->multi_info_read(s->multi, &left));)
            if (m->msg == CURLMSG_DONE)
                finish_probe(s, m);
        int64_t passed = clock_ms() - began;
        bool late = passed >= connect_ms;
        size_t won = winner(s, !running || late);
        if (won < s->n || !running || passed >= answer_ms || (late && !somebody_listens(s))
            || (s->loop && loop_cancelled(s->loop)))
            return won;
        curl_wait(s->c, s->multi, s->loop, (int)((late ? answer_ms : connect_ms) - passed));
    }
}

int llm_discover(const struct llm_search *what, struct loop *loop, char **model, enum llm_place *places)
{
    struct search s = {.what = what, .c = curl_load(NULL), .loop = loop};
    s.multi = s.c ? s.c->multi_init() : NULL;
    *model = NULL;
    for (size_t i = 0; places && i < what->n; i++)
        places[i] = LLM_NOBODY;
    if (!s.multi)
        return -1;
    s.n = what->n < PROBES_MAX ? what->n : PROBES_MAX;
    for (size_t i = 0; i < s.n; i++)
        start(&s, &s.v[i], what->base_urls[i]);
    size_t won = wait_for_one(&s);
    if (won < s.n)
        *model = steal(&s.v[won].model);
    for (size_t i = 0; i < s.n; i++) {
        struct probe *p = &s.v[i];
        if (places)
            places[i] = !p->done && connected(s.c, p) ? LLM_SILENT : p->place;
        if (p->easy) {
            s.c->multi_remove_handle(s.multi, p->easy);
            s.c->easy_cleanup(p->easy);
        }
        free(p->model);
        buf_release(&p->body);
    }
    s.c->multi_cleanup(s.multi);
    return won < s.n ? (int)won : -1;
}
