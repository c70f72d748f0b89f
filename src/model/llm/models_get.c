/* models_get.c - asks for a list of models. A service is asked once, at /models, or at Cloudflare's own place
 * for it. Servers that people run themselves tell the window that a model really has in answer to calls of
 * their own, each of which is skipped when it gets no answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/percent.h"
#include "base/remedy.h"
#include "base/url.h"
#include "llm/http.h"
#include "llm/models_private.h"

#define TIMEOUT_MS 15000
#define SHOWN_MAX  64 /* the most models of an Ollama server that are asked about one by one */
#define MEMORY_MAX 64 /* the most that it has in memory */
/* Seconds. Asking a local server about one model keeps its list too, for completion, but not more often than
 * this. */
#define KEPT_LOCAL_S 3600

struct list_request {
    const struct llm_models_query *q;
    struct http *http;
    struct loop *loop;
    char *auth, *root;   /* root: the base URL without /v1, below which a local server has its own calls */
    const char *version; /* one more header, or NULL */
    int64_t until;
    struct buf body;         /* body of the latest answer */
    struct http_reply reply; /* head of the latest answer */
};

/* Anthropic's list belongs to its own API, which has another header for the key, and not to its
 * OpenAI-compatible API. */
static bool is_anthropic(const char *base_url)
{
    static const char name[] = "api.anthropic.com";
    autofree char *host = url_host(base_url);
    return !strncasecmp(host, name, sizeof name - 1);
}

static int timeout(const struct llm_models_query *q)
{
    return q->timeout_ms > 0 ? q->timeout_ms : TIMEOUT_MS;
}

/* q and loop are already set. max: bytes of a body. */
static int asking_init(struct list_request *a, size_t max, struct error *err)
{
    const struct llm_models_query *q = a->q;
    size_t n = strcspn(q->base_url, "?#");
    while (n && q->base_url[n - 1] == '/')
        n--;
    if (n > 3 && !strncmp(q->base_url + n - 3, "/v1", 3))
        n -= 3;
    a->until = clock_ms() + timeout(q);
    a->root = xmemdup0(q->base_url, n);
    a->version = is_anthropic(q->base_url) ? "anthropic-version: 2023-06-01" : NULL;
    if (q->api_key && *q->api_key)
        a->auth = xasprintf("%s%s",
                            a->version      ? "x-api-key: "
                            : q->key_header ? "api-key: "
                                            : "Authorization: Bearer ",
                            q->api_key);
    buf_init(&a->body, max);
    a->http = http_take(err);
    return a->http ? 0 : -1;
}

static void asking_release(struct list_request *a)
{
    http_keep(a->http);
    free_secret(a->auth);
    free(a->root);
    buf_release(&a->body);
}

static bool on_list_data(void *ctx, struct http_reply *reply, const char *p, size_t n)
{
    (void)reply;
    return buf_add(&((struct list_request *)ctx)->body, p, n);
}

/* body NULL: GET. The answer is put into a. */
static enum http_end get_list(struct list_request *a, const char *url, const char *body, struct error *err)
{
    const char *headers[4] = {"Accept: application/json"};
    size_t n = 1;
    int64_t left = a->until - clock_ms();
    if (body)
        headers[n++] = "Content-Type: application/json";
    if (a->auth)
        headers[n++] = a->auth;
    if (a->version)
        headers[n++] = a->version;
    buf_clear(&a->body);
    struct http_transfer q = {
        .url = url,
        .body = body,
        .len = body ? strlen(body) : 0,
        .headers = headers,
        .n_headers = n,
        .ca_cert = a->q->ca_cert,
        .connect_ms = left > 1 ? (int)left : 1,
        .idle_ms = 3600000,
        .quiet_ms = 3600000,
        .deadline = a->until,
        .loop = a->loop,
        .ctx = a,
        .data = on_list_data,
    };
    return http_post(a->http, &q, &a->reply, err);
}

/* Makes one of a local server's own calls, below its root. NULL: the server has no such call. The caller
 * frees it. */
static struct json *ask_json(struct list_request *a, const char *path, const char *body)
{
    autofree char *url = url_endpoint(a->root, path, NULL);
    if (!url || get_list(a, url, body, NULL) != HTTP_WHOLE || a->reply.head.status != 200)
        return NULL;
    return json_parse(buf_str(&a->body), a->body.len, JSON_DUPLICATES, NULL, NULL);
}

static struct llm_model *find_model(struct llm_models *m, const char *id)
{
    return (struct llm_model *)llm_models_find(m, id);
}

/* Finds "num_ctx    8192" in the text of what a Modelfile sets. */
static int num_ctx(const char *parameters)
{
    for (const char *p = parameters; p && *p; p += strcspn(p, "\n"), p += *p == '\n') {
        p += strspn(p, " \t");
        if (!strncmp(p, "num_ctx", 7) && strspn(p + 7, " \t")) {
            long n = strtol(p + 7, NULL, 10);
            return n > 0 && n <= 100000000 ? (int)n : 0;
        }
    }
    return 0;
}

/* Asks Ollama about a model that may not be in memory: whether it takes tools, and the window if its file
 * sets one. */
static void show_ollama(struct list_request *a, struct llm_model *m)
{
    autojson struct json *body = json_object();
    json_set_str(body, "model", m->id);
    autofree char *text = json_print(body);
    autojson struct json *j = ask_json(a, "/api/show", text);
    const struct json *said = json_get(j, "capabilities");
    for (const struct json *e = json_first(said); e; e = json_next(e))
        if (json_str(e) && !strcmp(json_str(e), "tools"))
            m->tools = 1;
    if (json_type(said) == JSON_ARRAY && m->tools < 0)
        m->tools = 0;
    if (m->unloaded && (m->context = num_ctx(json_str(json_get(j, "parameters")))) > 0)
        m->unloaded = false;
}

/* /api/ps has the windows of models in memory. Any other model gets its window when it is loaded, depending
 * on the memory that is free then. */
static void ask_ollama(struct list_request *a, struct llm_models *m, struct llm_model *only)
{
    autojson struct json *running = ask_json(a, "/api/ps", NULL);
    const struct json *list = json_get(running, "models");
    size_t shown = 0, in_memory = 0;
    if (json_type(list) != JSON_ARRAY)
        return;
    for (size_t i = 0; i < m->n; i++)
        m->v[i].unloaded = true;
    for (const struct json *e = json_first(list); e && in_memory < MEMORY_MAX;
         e = json_next(e), in_memory++) {
        const char *id = json_str(json_get(e, "name"));
        int64_t window = json_int(json_get(e, "context_length"), 0);
        struct llm_model *one = id ? find_model(m, id) : NULL;
        if (!one)
            continue;
        one->unloaded = false;
        one->context = window > 0 && window <= 100000000 ? (int)window : 0;
    }
    for (size_t i = 0; i < m->n && shown < SHOWN_MAX && clock_ms() < a->until; i++)
        if (!only || &m->v[i] == only) {
            show_ollama(a, &m->v[i]);
            shown++;
        }
}

/* autoload: on a server with many models, asking must not load one. */
static void ask_llama_cpp(struct list_request *a, struct llm_model *one)
{
    struct buf path autorelease(buf_release) = BUF_INIT(4096);
    if (!one || one->context > 0)
        return;
    buf_addstr(&path, "/props?autoload=false&model=");
    percent_encode(&path, one->id, "");
    autojson struct json *j = ask_json(a, buf_str(&path), NULL);
    int64_t n = json_int(json_get(json_get(j, "default_generation_settings"), "n_ctx"), 0);
    one->context = n > 0 && n <= 100000000 ? (int)n : 0;
}

static void ask_lm_studio(struct list_request *a, struct llm_models *m)
{
    static const char *const paths[] = {"/api/v1/models", "/api/v0/models"};
    for (size_t i = 0; i < countof(paths); i++) {
        struct llm_models own = {0};
        autofree char *url = url_endpoint(a->root, paths[i], NULL);
        bool came = url && get_list(a, url, NULL, NULL) == HTTP_WHOLE && a->reply.head.status == 200;
        if (came && llm_models_parse(buf_str(&a->body), a->body.len, &own, NULL) == 0 && own.n) {
            for (size_t k = 0; k < own.n; k++) {
                struct llm_model *one = find_model(m, own.v[k].id);
                if (!one)
                    continue;
                one->context = own.v[k].context;
                one->tools = own.v[k].tools;
                one->unloaded = own.v[k].unloaded;
            }
            i = countof(paths);
        }
        llm_models_release(&own);
    }
}

static bool has_port(const char *url, const char *port)
{
    autofree char *host = url_host(url);
    const char *colon = strrchr(host, ':');
    return colon && !strcmp(colon + 1, port);
}

/* only: the one model that matters, or NULL for all. */
static void ask_more(struct list_request *a, struct llm_models *m, struct llm_model *only)
{
    if (m->server == LLM_SERVER_OTHER && has_port(a->root, "11434"))
        m->server = LLM_SERVER_OLLAMA;
    else if (m->server == LLM_SERVER_OTHER && has_port(a->root, "1234"))
        m->server = LLM_SERVER_LM_STUDIO;
    if (m->server == LLM_SERVER_OLLAMA)
        ask_ollama(a, m, only);
    else if (m->server == LLM_SERVER_LM_STUDIO)
        ask_lm_studio(a, m);
    else if (m->server == LLM_SERVER_LLAMA_CPP)
        ask_llama_cpp(a, only ? only : m->n == 1 ? m->v : NULL);
}

/* Cloudflare lists its models beside the API that answers questions; all others list them where OpenAI
 * does. */
static char *list_url(const char *base, struct error *err)
{
    const char *account = strstr(base, "/client/v4/accounts/");
    if (account) {
        size_t n = (size_t)(account - base) + strlen("/client/v4/accounts/");
        n += strcspn(base + n, "/?#");
        autofree char *root = xmemdup0(base, n);
        return url_endpoint(root, "/ai/models/search?per_page=100&task=Text%20Generation", err);
    }
    return url_endpoint(base, is_anthropic(base) ? "/models?limit=1000" : "/models", err);
}

static int refused(const struct llm_models_query *q, const char *host, const struct failure *f,
                   struct error *err)
{
    char said[300];
    const char *name = q->key_name ? q->key_name : "the configuration";
    failure_brief(f, q->api_key, said, sizeof said);
    if (f->class == FAILURE_AUTH && !q->api_key)
        return error_set(err, ERROR_AUTH, f->status,
                         "%s needs an API key to list its models (%d)\nSet %.200s.", host, f->status, name);
    if (f->class == FAILURE_AUTH)
        return error_set(err, ERROR_AUTH, f->status,
                         "%s refused the key from %.200s (%d): %s\nCheck it, or "
                         "make a new one.",
                         host, name, f->status, said);
    if (f->status == 404 || f->status == 405 || f->status == 501)
        return error_set(err, ERROR_API, f->status,
                         "%s has no list of models (%d)\nName a model with -m MODEL.", host, f->status);
    if (f->class == FAILURE_BUSY || f->class == FAILURE_QUOTA || f->class == FAILURE_LOADING)
        return error_set(err, ERROR_BUSY, f->class == FAILURE_QUOTA ? EDQUOT : f->status,
                         "%s is busy (%d): %s\nTry again later.", host, f->status, said);
    return error_set(err, ERROR_API, f->status,
                     "%s did not list its models (%d): %s\nCheck the base URL; "
                     "most end in /v1.",
                     host, f->status, said);
}

/* Gets the list itself. 0, or -1 with err. */
static int ask_list(struct list_request *a, struct llm_models *out, struct error *err)
{
    struct failure f;
    autofree char *url = list_url(a->q->base_url, err);
    if (!url)
        return -1;
    autofree char *host = url_host(url);
    enum http_end end = get_list(a, url, NULL, err);
    if (end == HTTP_ABORTED && !(a->loop && clock_ms() < a->until))
        return error_set(err, ERROR_NETWORK, 0,
                         "%s did not answer within %g s\nCheck the network, then try "
                         "again.",
                         host, timeout(a->q) / 1000.0);
    if (end == HTTP_ABORTED)
        return -1;
    if (end == HTTP_STOPPED && a->body.full)
        return error_set(err, ERROR_PROTOCOL, 0, "%s sent a list of models larger than %u MiB", host,
                         MODELS_BYTES >> 20);
    if (end == HTTP_LOST)
        return error_set(err, ERROR_NETWORK, a->reply.failure.apart ? EHOSTUNREACH : 0, "%s\n%s",
                         a->reply.failure.message,
                         remedy(a->reply.failure.hint ? a->reply.failure.hint : REMEDY_CHECK_NETWORK, false));
    if (a->reply.head.status != 200) {
        failure_from_response(&f, &a->reply.head, buf_str(&a->body), a->body.len);
        return refused(a->q, host, &f, err);
    }
    if (llm_models_parse(buf_str(&a->body), a->body.len, out, NULL) < 0)
        return error_set(err, ERROR_PROTOCOL, 0,
                         "%s did not send a list of models\n"
                         "Check the base URL; most end in /v1.",
                         host);
    return 0;
}

int llm_models_get(const struct llm_models_query *q, struct loop *loop, struct llm_models *out,
                   struct error *err)
{
    struct list_request a = {.q = q, .loop = loop};
    *out = (struct llm_models){0};
    if (q->max_age_s > 0 && llm_models_cached(q->base_url, q->max_age_s, out) == 0)
        return 0;
    llm_models_release(out);
    int rc = asking_init(&a, MODELS_BYTES, err);
    if (rc == 0 && (rc = ask_list(&a, out, err)) == 0) {
        if (url_is_loopback(q->base_url) || out->server != LLM_SERVER_OTHER)
            ask_more(&a, out, NULL);
        models_keep(q->base_url, out);
    }
    asking_release(&a);
    return rc;
}

static void keep_now_and_then(const char *base_url, const struct llm_models *m)
{
    struct llm_models kept;
    if (llm_models_cached(base_url, KEPT_LOCAL_S, &kept) < 0)
        models_keep(base_url, m);
    llm_models_release(&kept);
}

int llm_models_ask_local(const struct llm_models_query *q, const char *id, struct loop *loop,
                         struct llm_model *out)
{
    struct list_request a = {.q = q, .loop = loop};
    struct llm_models m = {0};
    struct llm_model *one = NULL;
    *out = models_unknown();
    if (asking_init(&a, MODELS_BYTES_LOCAL, NULL) == 0 && ask_list(&a, &m, NULL) == 0
        && (one = find_model(&m, id)) != NULL) {
        ask_more(&a, &m, one);
        keep_now_and_then(q->base_url, &m);
        *out = *one;
        *one = models_unknown(); /* out owns its strings now */
        out->server = m.server;
    }
    asking_release(&a);
    llm_models_release(&m);
    return one ? 0 : -1;
}
