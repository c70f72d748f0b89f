/* debug.c - reads the recorded answer, runs reader and error classes over it, and prints what they found. */
#include "llm/debug.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "json/json.h"
#include "base/library.h"
#include "base/mem.h"
#include "wire/reply.h"
#include "llm/http.h"
#include "llm/retry.h"

/* bytes per piece, as libcurl delivers them: the caps are on what is not yet understood, not on a whole
 * stream */
#define PIECE 16384

struct debug_reading {
    const struct debug_reply *d;
    struct llm_request q;
    const char *body;
    size_t len;
    int rc, status;
    bool finished, shown, sse, enough, done;
    char finish[32];
    char *refusal;
    struct llm_reply r;
    struct failure f;
};

/* Unpacks a body that a proxy recorded. zlib comes with libcurl and, like libcurl, is loaded only when it is
 * needed; its file functions need no header. */
static bool unpack(const char *body, size_t len, struct buf *out)
{
    static const char *const names[] = {"gzdopen", "gzread", "gzclose"};
    const struct library zlib = {"zlib", "zlib1g", "1.2", {"libz.so.1"}, names, countof(names)};
    struct {
        void *(*dopen)(int, const char *);
        int (*read)(void *, void *, unsigned);
        int (*close)(void *);
    } gz;
    autoclose int fd = memfd_create("body", MFD_CLOEXEC);
    int n = -1;
    if (library_open(&zlib, &gz, NULL) == 0 && fd >= 0 && !fd_write_all(fd, body, len)
        && !lseek(fd, 0, SEEK_SET)) {
        void *file = gz.dopen(fd, "rb");
        char piece[16384];
        while (file && (n = gz.read(file, piece, sizeof piece)) > 0 && buf_add(out, piece, (size_t)n))
            ;
        if (file) {
            gz.close(file); /* closes fd as well */
            fd = -1;
        }
    }
    return n >= 0; /* also at the cap, which the reader reports */
}

static void read_error(struct debug_reading *o)
{
    const struct debug_reply *d = o->d;
    struct failure_head h = {.status = o->status};
    for (size_t i = 0; i < d->n_headers; i++)
        http_header(&h, d->headers[i], strlen(d->headers[i]), d->now);
    failure_from_response(&o->f, &h, o->body, o->len);
    o->rc = -1;
    if (o->f.class == FAILURE_TOOL_USE)
        o->rc = reply_failed_generation(&o->q, o->body, o->len, &o->r);
}

static void read_body(struct debug_reading *o)
{
    size_t len = o->len;
    struct reply a;
    reply_init(&a, o->d->dialect == DIALECT_BLOCKS ? REPLY_MODE_BLOCKS : REPLY_MODE_NATIVE, &o->q, NULL);
    bool more = true;
    for (size_t at = 0; at < len && (more || (a.reader.failed && !a.reader.done)); at += PIECE)
        more = reply_feed(&a, o->body + at, len - at < PIECE ? len - at : PIECE);
    o->rc = reply_finish(&a, false, &o->r, &o->f);
    o->shown = a.shown;
    o->enough = a.enough;
    o->sse = a.reader.mode == READ_SSE;
    o->done = a.reader.done;
    snprintf(o->finish, sizeof o->finish, "%s", a.reader.finish);
    o->finished = a.reader.finished;
    /* the text as it was sent, even when a call followed */
    if (a.mode == REPLY_MODE_NATIVE && a.text.len && !a.from_text)
        xreplace(&o->r.text, xmemdup0(a.text.data, a.text.len));
    if (a.reader.refusal.len)
        o->refusal = xmemdup0(a.reader.refusal.data, a.reader.refusal.len);
    reply_release(&a);
}

static const char *busy_class(const struct failure *f)
{
    if (!strcmp(f->code, "3040") || strcasestr(f->code, "overloaded") || strcasestr(f->message, "overloaded"))
        return "overloaded";
    if (f->status == 429 || strcasestr(f->code, "rate_limit"))
        return "rate_limit";
    return f->status == 503 || f->status == 529 || f->status == 498 ? "overloaded" : "server";
}

static const char *class_of(const struct failure *f)
{
    static const char *const names[] = {
        [FAILURE_AUTH] = "auth",           [FAILURE_QUOTA] = "quota",
        [FAILURE_CONTEXT] = "context",     [FAILURE_LOADING] = "overloaded",
        [FAILURE_NETWORK] = "server",      [FAILURE_EMPTY_RESULT] = "server",
        [FAILURE_NOT_API] = "not_an_api",  [FAILURE_PROTOCOL] = "not_an_api",
        [FAILURE_TRUNCATED] = "truncated",
    };
    if (f->class == FAILURE_TOO_LARGE || f->class == FAILURE_BUSY)
        return busy_class(f);
    if (f->class < countof(names) && names[f->class])
        return names[f->class];
    return strcasestr(f->code, "content_filter") || strcasestr(f->code, "content_policy") ? "content_filter"
                                                                                          : "bad_request";
}

static struct json *text_or_null(const char *s)
{
    return s && *s ? json_string(s) : json_null();
}

static struct json *code_of(const struct llm_call *c, const struct llm_toolset *tools)
{
    autojson struct json *args = json_parse(c->call.arguments, strlen(c->call.arguments), JSON_DUPLICATES,
                                            NULL, NULL);
    for (size_t i = 0; i < tools->n && !c->problem; i++)
        if (!strcmp(tools->v[i].name, c->call.name) && tools->v[i].code_key
            && json_str(json_get(args, tools->v[i].code_key)))
            return json_string(json_str(json_get(args, tools->v[i].code_key)));
    return json_null();
}

static struct json *calls_json(const struct debug_reply *d, const struct llm_reply *r)
{
    struct json *list = json_array();
    for (size_t i = 0; i < r->n_calls; i++) {
        const struct llm_call *c = &r->calls[i];
        struct json *j = json_object();
        json_set_str(j, "id", c->call.id);
        json_set_str(j, "name", c->sent_name);
        json_set_str(j, "arguments", c->sent_arguments);
        json_set(j, "code", code_of(c, &d->tools));
        json_set_bool(j, "runnable", !c->problem);
        json_add(list, j);
    }
    return list;
}

/* Uses the names that services give to usage. */
static struct json *usage_json(const struct llm_usage *u)
{
    if (u->input < 0 && u->output < 0)
        return json_null();
    struct json *j = json_object();
    json_set(j, "prompt_tokens", u->input < 0 ? json_null() : json_integer(u->input));
    json_set(j, "completion_tokens", u->output < 0 ? json_null() : json_integer(u->output));
    json_set(j, "reasoning_tokens", u->reasoning < 0 ? json_null() : json_integer(u->reasoning));
    return j;
}

/* Returns the field that is left out, or NULL for none. "stream": false reports PARAM_STREAM. */
static const char *param_name(enum failure_param p)
{
    static const char *const names[] = {
        [PARAM_STREAM_OPTIONS] = "stream_options",
        [PARAM_REASONING_EFFORT] = "reasoning_effort",
        [PARAM_MAX_TOKENS] = "max_tokens",
        [PARAM_MAX_COMPLETION_TOKENS] = "max_completion_tokens",
        [PARAM_TEMPERATURE] = "temperature",
        [PARAM_TOOLS] = "tools",
        [PARAM_ENCRYPTED] = "include",
        [PARAM_SUMMARY] = "reasoning.summary",
        [PARAM_ITEMS] = "reasoning items",
    };
    return p < countof(names) ? names[p] : NULL;
}

static struct json *retry_json(const struct retry_choice *c, const struct failure *f)
{
    if (c->what == RETRY_NO)
        return json_null();
    struct json *j = json_object();
    json_set_int(j, "after_ms", c->wait_ms);
    json_set_str(j, "without", c->what == RETRY_DOWNGRADE ? param_name(f->param) : NULL);
    bool unstreamed = c->what == RETRY_WITHOUT_STREAM
                      || (c->what == RETRY_DOWNGRADE && f->param == PARAM_STREAM);
    json_set(j, "stream", unstreamed ? json_boolean(false) : json_null());
    return j;
}

/* Returns what the loop does with a reply that was read, and sets *error when it is not a reply after all. */
static const char *action_of(const struct llm_reply *r, const char **error)
{
    if (r->n_calls) {
        for (size_t i = 0; i < r->n_calls; i++)
            if (!r->calls[i].problem)
                return "run";
        return "tool_error";
    }
    if (!text_is_blank(r->text))
        return "answer";
    if (r->finish != LLM_FINISH_FILTER && r->finish != LLM_FINISH_LENGTH)
        return "nudge";
    if (r->finish == LLM_FINISH_FILTER)
        *error = "content_filter";
    return "fail"; /* when the length ended it, finish_reason says so */
}

static char *print(const struct debug_reply *d, const struct debug_reading *o)
{
    autojson struct json *j = json_object();
    struct json *error = json_null();
    struct retry retry = {0};
    struct retry_choice choice = {RETRY_NO, 0};
    const char *class = NULL, *message = "the content filter withheld the answer", *action;
    if (!o->rc) {
        action = action_of(&o->r, &class);
    } else {
        choice = retry_decide(&retry, &o->f, (struct retry_now){o->shown, true, 0, 0});
        /* An answer that began and then reported an error, or broke off, has failed. retry shows that the
         * loop asks once more when nothing of it was shown. */
        bool began = o->status < 300 && o->f.class != FAILURE_EMPTY_RESULT && o->f.class != FAILURE_TOOL_USE;
        action = choice.what == RETRY_NO || began ? "fail" : "retry";
        class = class_of(&o->f);
        message = o->f.message;
    }
    if (class) {
        json_free(error);
        error = json_object();
        json_set_str(error, "class", class);
        json_set(error, "message", text_or_null(message));
    }
    json_set(j, "text", text_or_null(o->r.text));
    json_set(j, "reasoning", text_or_null(o->r.reasoning));
    json_set(j, "refusal", text_or_null(o->refusal));
    json_set(j, "tool_calls", calls_json(d, &o->r));
    json_set(j, "finish_reason", o->finished ? json_string(o->finish) : text_or_null(o->finish));
    json_set(j, "usage", usage_json(&o->r.usage));
    json_set(j, "done", o->sse && !o->enough ? json_boolean(o->done) : json_null());
    json_set_bool(j, "truncated", class && !strcmp(class, "truncated"));
    json_set(j, "error", error);
    json_set_str(j, "action", action);
    json_set(j, "retry", retry_json(&choice, &o->f));
    return json_print(j);
}

char *debug_reply(const struct debug_reply *d, const char *body, size_t len)
{
    struct prompts none = {0};
    struct debug_reading o = {.d = d,
                              .q = {.prompts = &none, .tools = d->tools},
                              .body = body,
                              .len = len,
                              .status = d->status ? d->status : 200,
                              .r.usage = LLM_USAGE_UNKNOWN};
    struct buf plain autorelease(buf_release) = BUF_INIT(DEBUG_BODY_MAX);
    if (len > 2 && !memcmp(body, "\x1f\x8b", 2) && unpack(body, len, &plain)) {
        o.body = buf_str(&plain);
        o.len = plain.len;
    }
    if (o.status < 200 || o.status >= 300)
        read_error(&o);
    else
        read_body(&o);
    char *text = print(d, &o);
    llm_reply_release(&o.r);
    free(o.refusal);
    return text;
}
