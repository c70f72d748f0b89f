/* test_wire.c - every case under tests/wire, and under $WIRE_CASES/{synthetic,recorded} when set, read by
 * answer.h: whole, byte by byte, cut at each byte, and prefixes as a lost connection. A case is a folder:
 * response.body, status, response.headers, meta.json with "expected" (actions to take, or the plain contents)
 * and "dialect" (native). Rows of the catalogue of quirks have a case named by their id, H1 to P9; R1 to R12
 * are what the Responses API has of its own. What a quirk means for the next request is an action too:
 * "history" tells its messages, "request" its fields.
 */
#include "../unit.h"

#include <dirent.h>
#include <strings.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "conversation/conversation.h"
#include "json/json.h"
#include "llm/http.h"
#include "llm/retry.h"
#include "process/child.h"
#include "wire/reply.h"
#include "wire/request.h"

struct heard {
    struct buf text;
};

struct outcome {
    int rc;
    struct llm_reply r;
    struct failure f;
    char *heard; /* what the listener was given */
    char finish[32];
};

struct wire_case {
    char name[300];
    struct buf body, headers;
    int status;
    struct json *meta;
    const struct json *expected;
    struct llm_tool tools[16];
    size_t n_tools;
    enum reply_mode mode;
};

static void on_text(void *ctx, const char *s, size_t n)
{
    buf_add(&((struct heard *)ctx)->text, s, n);
}

static void on_unsaid(void *ctx)
{
    buf_clear(&((struct heard *)ctx)->text);
}

static void outcome_release(struct outcome *o)
{
    llm_reply_release(&o->r);
    free(o->heard);
    *o = (struct outcome){0};
}

/* Read the first len bytes, in pieces that end at cut (0: none) and then of size step. */
static void run(const struct wire_case *w, size_t len, size_t cut, size_t step, bool lost, struct outcome *o)
{
    *o = (struct outcome){0};
    struct heard heard = {.text = BUF_INIT(0)};
    struct llm_listener l = {.ctx = &heard, .text = on_text, .retracted = on_unsaid};
    struct prompts none = {0};
    struct llm_request q = {.prompts = &none, .tools = {w->tools, w->n_tools}};
    if (w->status >= 300) {
        struct failure_head h = {0};
        for (const char *line = buf_str(&w->headers), *end; *line; line = end) {
            end = strchrnul(line, '\n');
            http_header(&h, line, (size_t)(end - line), 1800000000);
            end += *end == '\n';
        }
        h.status = w->status;
        failure_from_response(&o->f, &h, buf_str(&w->body), len);
        o->rc = o->f.class == FAILURE_TOOL_USE ? reply_failed_generation(&q, buf_str(&w->body), len, &o->r)
                                               : -1;
        if (o->rc)
            o->r.text = xstrdup("");
        o->heard = xstrdup("");
        return;
    }
    struct reply a;
    reply_init(&a, w->mode, &q, &l);
    for (size_t at = 0; at < len;) {
        size_t n = cut && at < cut ? cut - at : step;
        if (n > len - at)
            n = len - at;
        char *piece = xmemdup0(w->body.data + at, n); /* exact size, so that a sanitizer sees an overrun */
        reply_feed(&a, piece, n);
        free(piece);
        at += n;
    }
    o->rc = reply_finish(&a, lost, &o->r, &o->f);
    snprintf(o->finish, sizeof o->finish, "%s", a.reader.finish);
    o->heard = buf_steal(&heard.text, NULL);
    reply_release(&a);
}

static const char *code_of(const struct llm_call *c, struct json **doc)
{
    *doc = json_parse(c->call.arguments, strlen(c->call.arguments), 0, NULL, NULL);
    return json_str(json_get(*doc, "code"));
}

static const char *str(const struct json *j)
{
    return json_str(j) ? json_str(j) : "";
}

static const char *check_calls(const struct json *want, const struct outcome *o)
{
    if (o->rc)
        return "failed instead of calling";
    if (o->r.n_calls != json_size(want))
        return "wrong number of calls";
    for (size_t i = 0; i < o->r.n_calls; i++) {
        const struct json *e = json_at(want, i);
        const struct llm_call *c = &o->r.calls[i];
        struct json *doc;
        const char *code = code_of(c, &doc);
        bool same = !c->problem && code && !strcmp(code, json_str(json_get(e, "code")))
                    && !strcmp(c->call.name, json_str(json_get(e, "name")));
        json_free(doc);
        if (!same)
            return c->problem ? c->problem : "another call";
        for (size_t k = 0; k < i; k++)
            if (!strcmp(o->r.calls[k].call.id, c->call.id))
                return "two calls with one id";
    }
    return NULL;
}

static const char *check_retry(const char *want, const struct outcome *o)
{
    struct retry t = {0};
    if (!o->rc)
        return "a reply instead of a retry";
    struct retry_choice c = retry_decide(&t, &o->f, (struct retry_now){false, true, 0, 0});
    if (!strcmp(want, "nostream"))
        return c.what == RETRY_WITHOUT_STREAM ? NULL : "not retried without stream";
    if (strstr(want, "max_completion_tokens"))
        return c.what == RETRY_DOWNGRADE && o->f.param == PARAM_MAX_TOKENS ? NULL : "no downgrade";
    if (strstr(want, "without ") || strstr(want, "drop "))
        return c.what == RETRY_DOWNGRADE ? NULL : "no downgrade";
    if (strstr(want, "poll"))
        return c.what == RETRY_POLL ? NULL : "not polled";
    if (!strncmp(want, "after ", 6))
        return c.what == RETRY_WAIT && c.wait_ms == (int)(1000 * strtod(want + 6, NULL)) ? NULL
                                                                                         : "another wait";
    if (c.what == RETRY_POLL && strstr(o->f.message, "loading"))
        return NULL;
    return c.what == RETRY_WAIT && c.wait_ms >= 375 && c.wait_ms <= 500 ? NULL : "not retried with backoff";
}

static const char *check_error(const struct json *a, const struct outcome *o)
{
    const char *class = json_str(json_get(a, "class")), *partial = json_str(json_get(a, "partial_text"));
    struct retry t = {0};
    if (!o->rc)
        return "a reply instead of an error";
    enum retry_what what = retry_decide(&t, &o->f, (struct retry_now){false, false, 0, 0}).what;
    if (partial && strcmp(o->r.text, partial))
        return "another partial text";
    if (!class)
        return NULL;
    if (!strcmp(class, "fatal"))
        return what == RETRY_NO && o->f.class != FAILURE_TRUNCATED ? NULL : "not fatal";
    if (!strcmp(class, "context"))
        return o->f.class == FAILURE_CONTEXT ? NULL : "not seen as context";
    if (!strcmp(class, "truncated"))
        return o->f.class == FAILURE_TRUNCATED && !o->r.n_calls ? NULL : "not seen as truncated";
    if (!strcmp(class, "broken"))
        return o->f.class == FAILURE_PROTOCOL && o->f.once ? NULL : "not seen as broken from the start";
    if (!strcmp(class, "retryable"))
        return what == RETRY_WAIT ? NULL : "not retryable";
    if (!strcmp(class, "auth"))
        return o->f.class == FAILURE_AUTH ? NULL : "not seen as auth";
    return "unknown class in the case";
}

/* Every member of want is in got; null: it must not be there; an empty object: anything. */
static bool covers(const struct json *want, const struct json *got)
{
    if (json_type(want) == JSON_NULL)
        return !got;
    if (json_type(want) == JSON_OBJECT) {
        for (const struct json *m = json_first(want); m; m = json_next(m))
            if (!covers(m, json_get(got, json_key(m))))
                return false;
        return got != NULL;
    }
    if (json_type(want) == JSON_ARRAY) {
        if (json_size(want) != json_size(got))
            return false;
        for (size_t i = 0; i < json_size(want); i++)
            if (!covers(json_at(want, i), json_at(got, i)))
                return false;
        return true;
    }
    autofree char *p = json_print(want), *q = got ? json_print(got) : NULL;
    return q && !strcmp(p, q);
}

/* The conversation after this reply: one question, the reply, its results, or an interrupt and another
 * question. */
static void converse(struct conversation *c, const struct json *e, const struct outcome *o)
{
    struct call calls[8];
    size_t n = o->r.n_calls < countof(calls) ? o->r.n_calls : countof(calls);
    conversation_user(c, "first", 5);
    for (size_t i = 0; i < n; i++) {
        const struct call *k = &o->r.calls[i].call;
        calls[i] = (struct call){xstrdup(k->id), xstrdup(k->name), xstrdup(k->arguments), xstrdup(k->extra)};
    }
    struct turn *t = conversation_assistant(c, o->r.text, calls, n);
    if (t) {
        t->reasoning = xstrdup(o->r.reasoning);
        t->reasoning_field = xstrdup(o->r.reasoning_field);
        t->reasoning_items = xstrdup(o->r.reasoning_items);
        t->origin = xstrdup("here");
    }
    const char *result = json_str(json_get(e, "result")) ? json_str(json_get(e, "result")) : "ok";
    for (size_t i = 0; i < n && !json_get(e, "interrupted"); i++) {
        const char *text = o->r.calls[i].problem ? o->r.calls[i].problem : result;
        conversation_result(c, o->r.calls[i].call.id, o->r.calls[i].problem ? RESULT_MALFORMED : RESULT_OK,
                            text, strlen(text));
    }
    if (json_get(e, "interrupted")) {
        conversation_close_open_calls(c, "interrupted by the user");
        conversation_interrupted(c);
    }
    if (json_get(e, "interrupted") || !n)
        conversation_user(c, "second", 6);
}

static enum model_api api_named(const char *name)
{
    return !strcmp(name, "responses")    ? API_RESPONSES
           : !strcmp(name, "workers_ai") ? API_WORKERS_AI
                                         : API_CHAT_COMPLETIONS;
}

/* What was said, behind the system prompt; NULL when that is not where it belongs. */
static struct json *said_in(const struct json *body)
{
    const struct json *list = json_get(body, "input"),
                      *m = json_first(list ? list : json_get(body, "messages"));
    if (list ? strcmp(str(json_get(body, "instructions")), "S") : strcmp(str(json_get(m, "role")), "system"))
        return NULL;
    struct json *rest = json_array();
    for (m = list ? m : json_next(m); m; m = json_next(m))
        json_add(rest, json_copy(m));
    return rest;
}

/* What goes into the next request, to the endpoint that replied ("here") and to another ("there"): messages
 * behind the system prompt. */
static const char *check_history(const struct json *e, const struct wire_case *w, const struct outcome *o)
{
    static const char *const keys[] = {"here", "there"};
    const char *why = NULL;
    struct error err = {0};
    struct conversation c;
    struct prompts prompts = {.system_native = "S", .system_blocks = "S"};
    struct llm_options lo = {.model = "m",
                             .facts.temperature = -1,
                             .service.send_max_tokens = true,
                             .api = api_named(str(json_get(e, "api")))};
    conversation_init(&c);
    converse(&c, e, o);
    if (conversation_check(&c, &err))
        why = "the history breaks a rule";
    for (size_t i = 0; i < 2 && !why; i++) {
        struct llm_request q = {.conversation = &c, .prompts = &prompts, .tools = {w->tools, w->n_tools}};
        struct llm_learnt learnt = {.dialect = w->mode == REPLY_MODE_BLOCKS ? DIALECT_BLOCKS
                                                                            : DIALECT_NATIVE};
        struct request_shape s = {.o = &lo,
                                  .learnt = &learnt,
                                  .origin = keys[i],
                                  .stream = true,
                                  .max_tokens = request_max_tokens(&lo, false, 0)};
        autofree char *body = request_body(&q, &s, NULL);
        autojson struct json *j = json_parse(body, strlen(body), 0, NULL, NULL);
        autojson struct json *rest = said_in(j);
        if (!rest)
            why = "no system message in front";
        else if (json_get(e, keys[i]) && !covers(json_get(e, keys[i]), rest))
            why = "other messages than expected";
        else if (json_get(e, "request") && !covers(json_get(e, "request"), j))
            why = "other fields than expected";
        if (why && getenv("WIRE_VERBOSE"))
            printf("%s\n", body);
    }
    conversation_release(&c);
    return why;
}

static const char *check_action(const struct json *a, const struct wire_case *w, const struct outcome *o)
{
    const char *s;
    if (json_get(a, "history"))
        return check_history(json_get(a, "history"), w, o);
    if (json_get(a, "reasoning"))
        return strcmp(o->r.reasoning ? o->r.reasoning : "", str(json_get(a, "reasoning")))
                   ? "another reasoning"
                   : NULL;
    if (json_get(a, "call"))
        return check_calls(json_get(a, "call"), o);
    if ((s = json_str(json_get(a, "text"))))
        return o->rc                  ? "failed instead of answering"
               : o->r.n_calls         ? "a call instead of text"
               : strcmp(o->r.text, s) ? "another text"
                                      : NULL;
    if ((s = json_str(json_get(a, "tool_error"))))
        return o->rc || o->r.n_calls != 1             ? "no call"
               : !o->r.calls[0].problem               ? "would run"
               : strcasestr(o->r.calls[0].problem, s) ? NULL
                                                      : o->r.calls[0].problem;
    if (json_get(a, "filter"))
        return o->rc                                            ? "failed"
               : *o->r.text || o->r.finish != LLM_FINISH_FILTER ? "not seen as filtered"
                                                                : NULL;
    if (json_get(a, "nudge"))
        return o->rc ? "failed" : *o->r.text || o->r.n_calls ? "not empty" : NULL;
    if ((s = json_str(json_get(a, "retry"))))
        return check_retry(s, o);
    if (json_get(a, "error"))
        return check_error(a, o);
    const struct json *u = json_get(a, "usage");
    if (u)
        return o->r.usage.input == json_int(json_get(u, "input"), -1)
                       && o->r.usage.output == json_int(json_get(u, "output"), -1)
                   ? NULL
                   : "another usage";
    return "an action that this test does not know";
}

static bool same_json(const char *a, const char *b)
{
    autojson struct json *x = json_parse(a, strlen(a), JSON_DUPLICATES, NULL, NULL),
                         *y = json_parse(b, strlen(b), JSON_DUPLICATES, NULL, NULL);
    autofree char *p = json_print(x), *q = json_print(y);
    return x && y && !strcmp(p, q);
}

/* The recorded form: contents as a plain reader has them. */
static const char *check_contents(const struct json *e, const struct outcome *o)
{
    const struct json *error = json_get(e, "error"), *calls = json_get(e, "tool_calls"),
                      *usage = json_get(e, "usage");
    if (json_truthy(error)) {
        const char *m = json_str(json_get(error, "message"));
        return !o->rc                              ? "a reply instead of an error"
               : m && strncmp(o->f.message, m, 60) ? "another message"
                                                   : NULL;
    }
    if (o->rc)
        return "failed";
    const char *text = str(json_get(e, "text")), *refusal = str(json_get(e, "refusal"));
    if (!strncmp(text, "<think>", 7)) {
        /* one was cut while it still thought */
        const char *end = strstr(text, "</think>"), *rest = end ? end + 8 : "";
        if (!end)
            end = text + strlen(text);
        if (!o->r.reasoning || strcmp(o->r.text, rest + strspn(rest, " \n"))
            || strncmp(o->r.reasoning, text + 7, (size_t)(end - text - 7)))
            return "another text after thinking";
    } else if (strcmp(o->r.text, o->r.refusal                                 ? refusal
                                 : o->r.n_calls && !text[strspn(text, " \n")] ? ""
                                                                              : text)) {
        return "another text";
    } else if (strcmp(o->r.reasoning ? o->r.reasoning : "", str(json_get(e, "reasoning")))) {
        return "another reasoning";
    }
    if (o->r.n_calls != json_size(calls))
        return "wrong number of calls";
    for (size_t i = 0; i < o->r.n_calls; i++) {
        const struct json *c = json_at(calls, i);
        if (strcmp(o->r.calls[i].call.name, str(json_get(c, "name")))
            || !same_json(o->r.calls[i].call.arguments, str(json_get(c, "arguments"))))
            return "another call";
        if (strcmp(o->r.calls[i].call.id, str(json_at(json_get(e, "tool_call_ids"), i)))
            && *str(json_at(json_get(e, "tool_call_ids"), i)))
            return "another id";
    }
    if (json_str(json_get(e, "finish_reason")) && strcmp(o->finish, str(json_get(e, "finish_reason"))))
        return "another finish_reason";
    if (json_truthy(usage)
        && (o->r.usage.input != json_int(json_get(usage, "prompt_tokens"), -1)
            || o->r.usage.output != json_int(json_get(usage, "completion_tokens"), -1)))
        return "another usage";
    return NULL;
}

static const char *check(const struct wire_case *w, const struct outcome *o)
{
    const struct json *actions = json_get(w->expected, "actions");
    if (!actions)
        return check_contents(w->expected, o);
    for (const struct json *a = json_first(actions); a; a = json_next(a)) {
        const char *why = check_action(a, w, o);
        if (why)
            return why;
    }
    return NULL;
}

/* Ids that we made are random, so they are left out. */
static bool same(const struct outcome *a, const struct outcome *b)
{
    if (a->rc != b->rc || strcmp(a->r.text, b->r.text) || strcmp(a->heard, b->heard)
        || a->r.n_calls != b->r.n_calls || a->r.finish != b->r.finish
        || a->f.class != b->f.class || strcmp(a->f.message, b->f.message)
        || strcmp(a->r.reasoning ? a->r.reasoning : "", b->r.reasoning ? b->r.reasoning : "")
        || strcmp(a->r.reasoning_items ? a->r.reasoning_items : "",
                  b->r.reasoning_items ? b->r.reasoning_items : ""))
        return false;
    for (size_t i = 0; i < a->r.n_calls; i++)
        if (strcmp(a->r.calls[i].call.name, b->r.calls[i].call.name)
            || strcmp(a->r.calls[i].call.arguments, b->r.calls[i].call.arguments)
            || !a->r.calls[i].problem != !b->r.calls[i].problem)
            return false;
    return true;
}

static void case_release(struct wire_case *w)
{
    buf_release(&w->body);
    buf_release(&w->headers);
    json_free(w->meta);
}

static void read_gzip(struct wire_case *w, const char *path)
{
    struct argv a = ARGV_INIT;
    argv_pushl(&a, "python3", "-c", "import gzip,sys;sys.stdout.buffer.write(gzip.open(sys.argv[1]).read())",
               path, NULL);
    struct child *c = child_run(&(struct child_options){.argv = a.v,
                                                        .deadline_ms = 10000,
                                                        .in = CHILD_NULL,
                                                        .out = CHILD_KEPT,
                                                        .err = CHILD_KEPT,
                                                        .cap = 1u << 20},
                                NULL);
    if (c) {
        buf_clear(&w->body);
        buf_add(&w->body, buf_str(&c->out_text), c->out_text.len);
    }
    child_free(c);
    argv_release(&a);
}

static bool case_read(struct wire_case *w, const char *dir, const char *name)
{
    struct error err = {0};
    struct buf meta = BUF_INIT(0), status = BUF_INIT(0);
    *w = (struct wire_case){.status = 200};
    snprintf(w->name, sizeof w->name, "%s", name);
    autofree char *m = xasprintf("%s/%s/meta.json", dir, name),
                  *b = xasprintf("%s/%s/response.body", dir, name);
    autofree char *h = xasprintf("%s/%s/response.headers", dir, name),
                  *s = xasprintf("%s/%s/status", dir, name);
    bool ok = !file_read(m, 1u << 20, &meta, &err) && !file_read(b, 1u << 22, &w->body, &err);
    if (ok && !file_read(s, 64, &status, &err))
        w->status = (int)strtol(buf_str(&status), NULL, 10);
    if (ok)
        file_read(h, 1u << 16, &w->headers, &err);
    if (w->body.len > 2 && !memcmp(w->body.data, "\x1f\x8b", 2))
        read_gzip(w, b);
    w->meta = json_parse(buf_str(&meta), meta.len, JSON_DUPLICATES, NULL, NULL);
    w->expected = json_get(w->meta, "expected");
    w->mode = strcmp(str(json_get(w->meta, "dialect")), "blocks") ? REPLY_MODE_NATIVE : REPLY_MODE_BLOCKS;
    buf_release(&meta);
    buf_release(&status);
    if (json_get(w->expected, "actions")) {
        w->tools[w->n_tools++] = (struct llm_tool){"execute_python", "", "{}", "code"};
        return ok && w->expected;
    }
    const struct json *calls = json_get(w->expected, "tool_calls");
    for (const struct json *c = json_first(calls); c && w->n_tools < countof(w->tools); c = json_next(c))
        w->tools[w->n_tools++] = (struct llm_tool){str(json_get(c, "name")), "", "{}", NULL};
    return ok && w->expected;
}

#define STRIDE \
    1024 /* cuts of one reading are so far apart: farther than anything that a stage holds back and looks at \
          */
#define EVERY (64u << 10) /* longer bodies are cut at every 31st byte only */
#define PREFIXES \
    8192 /* of a longer body, its last bytes and some before them are tried as the place where it broke off \
          */

/* Cut at each byte: alone in a short body, together with others STRIDE away in a long one, which n readings
 * of n bytes would take minutes. */
static const char *try_cuts(const struct wire_case *w, const struct outcome *whole)
{
    size_t n = w->body.len, stride = n > 2 * STRIDE ? STRIDE : n;
    struct outcome o;
    size_t step = n > EVERY ? 31 : cut_step(n);
    for (size_t cut = 1; cut <= stride && cut < n; cut += step) {
        run(w, n, cut, stride, false, &o);
        bool equal = same(whole, &o);
        outcome_release(&o);
        if (!equal)
            return "cut at a byte gives another result";
    }
    return NULL;
}

static const char *try_prefixes(const struct wire_case *w, const struct outcome *whole)
{
    size_t n = w->body.len, sparse = n > PREFIXES ? n - PREFIXES / 4 : 0;
    size_t step = n > EVERY ? 61 : cut_step(n);
    for (size_t cut = 1; cut < n; cut += cut < sparse ? n / 256 : step) {
        struct outcome o;
        run(w, cut, 0, cut, true, &o);
        bool runs = !o.rc && o.r.n_calls && (whole->rc || o.r.n_calls != whole->r.n_calls);
        outcome_release(&o);
        if (runs)
            return "a prefix would run a call that the whole does not";
    }
    return NULL;
}

/* NULL, or why it failed. */
static const char *try_case(const struct wire_case *w)
{
    struct outcome whole, o;
    size_t n = w->body.len;
    run(w, n, 0, n ? n : 1, false, &whole);
    const char *why = check(w, &whole);
    run(w, n, 0, 1, false, &o);
    if (!why && !same(&whole, &o))
        why = "byte by byte gives another result";
    outcome_release(&o);
    if (!why)
        why = try_cuts(w, &whole);
    if (!why)
        why = try_prefixes(w, &whole);
    static char text[512];
    if (why)
        snprintf(text, sizeof text, "%s [rc %d class %d \"%.100s\" text \"%.100s\" calls %zu]", why, whole.rc,
                 whole.f.class, whole.f.message, whole.r.text, whole.r.n_calls);
    outcome_release(&whole);
    return why ? text : NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}
static int no_dot(const struct dirent *d)
{
    return d->d_name[0] != '.';
}

static unsigned run_folder(const char *dir, unsigned *total)
{
    struct dirent **list;
    int n = scandir(dir, &list, no_dot, by_name);
    unsigned failed = 0;
    *total = 0;
    if (n < 0)
        fail_msg("no folder %s", dir);
    for (int i = 0; i < n; i++) {
        struct wire_case w;
        if (case_read(&w, dir, list[i]->d_name)) {
            ++*total;
            const char *why = try_case(&w);
            if (why) {
                failed++;
                printf("FAIL %s/%s: %s\n", dir, w.name, why);
            }
        }
        case_release(&w);
        free(list[i]);
    }
    free(list);
    return failed;
}

static void own_cases(void **state)
{
    (void)state;
    unsigned total, failed = run_folder("tests/wire", &total);
    print_message("tests/wire: %u of %u cases\n", total - failed, total);
    assert_true(total >= 30);
    assert_int_equal(failed, 0);
}

/* A row of the catalogue without a case is a quirk that nothing holds. */
static void every_row_has_a_case(void **state)
{
    static const struct {
        char letter;
        int rows;
    } catalogue[] = {
        {'H', 14}, {'W', 12}, {'T', 20}, {'A', 7}, {'F', 14}, {'S', 16}, {'E', 13}, {'P', 9}, {'R', 12},
    };
    (void)state;
    struct dirent **list;
    int n = scandir("tests/wire", &list, no_dot, by_name), missing = 0;
    for (size_t c = 0; c < countof(catalogue); c++)
        for (int row = 1; row <= catalogue[c].rows; row++) {
            char prefix[16];
            bool there = false;
            snprintf(prefix, sizeof prefix, "%c%d-", catalogue[c].letter, row);
            for (int i = 0; i < n; i++)
                there = there || !strncmp(list[i]->d_name, prefix, strlen(prefix));
            if (!there)
                printf("no case for %c%d\n", catalogue[c].letter, row);
            missing += !there;
        }
    for (int i = 0; i < n; i++)
        free(list[i]);
    free(list);
    assert_int_equal(missing, 0);
}

/* Code in text is the hardest to cut: enough of it in every shape. */
static void enough_blocks(void **state)
{
    (void)state;
    struct dirent **list;
    int n = scandir("tests/wire", &list, no_dot, by_name), blocks = 0;
    for (int i = 0; i < n; i++) {
        struct wire_case w;
        blocks += case_read(&w, "tests/wire", list[i]->d_name) && w.mode == REPLY_MODE_BLOCKS;
        case_release(&w);
        free(list[i]);
    }
    free(list);
    assert_true(blocks >= 20);
}

static void shared_cases(void **state)
{
    (void)state;
    const char *root = getenv("WIRE_CASES"), *const kinds[] = {"synthetic", "recorded"};
    if (!root || !*root)
        skip();
    unsigned bad = 0;
    for (size_t i = 0; i < 2; i++) {
        autofree char *dir = xasprintf("%s/%s", root, kinds[i]);
        unsigned total, failed = run_folder(dir, &total);
        print_message("%s: %u of %u cases\n", dir, total - failed, total);
        bad += failed;
    }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(own_cases), cmocka_unit_test(every_row_has_a_case),
                                       cmocka_unit_test(enough_blocks), cmocka_unit_test(shared_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
