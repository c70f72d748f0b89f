/* fake.h - a model and a sandbox that follow a script, in place of llm and sandbox: the linker takes
 * these. Each request checks the conversation it is given, so no test can pass with a history that a service
 * would refuse.
 */
#ifndef FAKE_H
#define FAKE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/agent.h"
#include "agent/tools.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "json/json.h"
#include "llm/llm.h"
#include "process/loop.h"
#include "process/signals.h"
#include "sandbox/sandbox.h"

#define FAIL                                                               \
    {                                                                      \
        .status = CELL_EXCEPTION, .exception = "ValueError: no", .line = 1 \
    }
#define OK(text)       \
    {                  \
        .output = text \
    }
#define CALL(c)       \
    {                 \
        .code = { c } \
    }
#define SAY(t)    \
    {             \
        .text = t \
    }

#define REPLIES(...) .replies = {__VA_ARGS__}, .n_replies = countof(((struct fake_reply[]){__VA_ARGS__}))
#define CELLS(...)   .cells = {__VA_ARGS__}, .n_cells = countof(((struct fake_cell[]){__VA_ARGS__}))

#define INPUT_TOKENS  100
#define OUTPUT_TOKENS 10

struct fake_reply {
    const char *text;
    const char *code[40];  /* calls of execute_python */
    const char *tool;      /* another tool's name for the first call */
    const char *arguments; /* of the first call, in the place of its code */
    const char *problem;   /* of the first call */
    enum error_kind fail;  /* llm_ask gives -1; text was shown before */
    const char *error;
    enum llm_finish finish;
    bool truncated, interrupt, terminate, unknown_usage;
    int wait_ms;       /* serve the loop for so long, until cancelled */
    unsigned requests; /* 0: one */
    const char *reasoning;
    bool unsure; /* it shows code, and is asked about it */
};

struct fake_cell {
    const char *output;
    enum cell_status status;
    const char *exception, *hint, *what, *file;
    int line, exit_code;
    bool state_lost, state_restored, files_lost, interrupt;
    enum error_kind fail; /* sandbox_run gives -1 */
    int wait_ms;
};

static struct fake {
    const struct fake_reply *replies;
    size_t n_replies, asked;
    const struct fake_cell *cells;
    size_t n_cells, ran, started;
    struct loop *loop;
    struct buf seen;  /* the last turn's text of each request, "role: text\n---\n" */
    struct buf code;  /* what ran */
    struct buf tools; /* that the latest request offers, a line each */
    struct buf events;
    char *system, *system_blocks;
    char *blocks_ok;
    struct buf examples; /* the examples of each request, "[...]" */
    int context, learns;
    struct model_facts facts;
    bool no_sandbox, failed_behind, output_answers;
    const char *packages;
    const char *earlier; /* what earlier programs left in the sandbox */
    char *put_name, *put_data;
    size_t put_len;
    const char *profile, *rows;
    struct buf last_output;
    struct error err;
    int64_t deadline;
    const char *last_answer_output;
    enum question_status done;
    unsigned done_count;
    char *done_answer, *done_output, *done_error, *done_reasoning;
    int64_t done_input, done_tokens;
    bool done_estimated;
    unsigned done_cells, done_requests;
} fake;

static const struct prompts fake_prompts = {
    .system_native = "native {python} [{packages}] ({names}) {limits} {tool} {date} {output}\n",
    .system_blocks = "blocks {packages}",
    .system_output = "OUTPUT ALONE",
    .examples_table = "TABLE {python}",
    .examples_json = "JSON",
    .nudge = "call {tool}",
    .blocks_ok = "ok {output}",
    .blocks_failed = "failed {output}",
    .blocks_malformed = "malformed {output}",
    .blocks_interrupted = "int {output}",
    .blocks_no_more = "nomore {output}",
    .empty = "SAY SOMETHING",
    .no_more_code = "NO MORE CODE",
    .same_code = "SAME CODE",
    .same_output = "SAME OUTPUT",
    .tools = {{"execute_python", "run {python}"}},
    .n_tools = 1,
};

/* ---- the model ---- */

static void fake_serve(int ms)
{
    int64_t until = clock_ms() + ms;

    while (ms && clock_ms() < until && !loop_cancelled(fake.loop))
        loop_wait(fake.loop, (int)(until - clock_ms()));
}

static void fake_check(const struct llm_request *q)
{
    const struct conversation *c = q->conversation;
    struct error err = {0};

    if (conversation_check(c, &err))
        fail_msg("the conversation is not valid: %s", err.text);
    if (q->about)
        buf_addf(&fake.seen, "about: %s\n---\n", q->about);
    else
        buf_addf(&fake.seen, "%s: %s\n---\n", c->v[c->n - 1].role == TURN_USER ? "user" : "result",
                 c->v[c->n - 1].text);
    if (q->vary)
        buf_addstr(&fake.seen, "(varied)\n");
    free(fake.system);
    fake.system = xstrdup(q->prompts->system_native);
    free(fake.system_blocks);
    fake.system_blocks = xstrdup(q->prompts->system_blocks);
    buf_addf(&fake.examples, "[%s]", q->examples ? q->examples : "");
    free(fake.blocks_ok);
    fake.blocks_ok = xstrdup(q->prompts->blocks_ok);
    buf_clear(&fake.tools);
    for (size_t i = 0; i < q->tools.n; i++)
        buf_addf(&fake.tools, "%s: %s %s\n", q->tools.v[i].name, q->tools.v[i].description,
                 q->tools.v[i].parameters);
    assert_string_equal(q->tools.v[0].name, "execute_python");
    struct json *schema = json_parse(q->tools.v[0].parameters, strlen(q->tools.v[0].parameters), 0, NULL,
                                     NULL);
    assert_string_equal(
        json_str(json_get(json_get(schema, "properties"), "code") ? json_get(schema, "type") : NULL),
        "object");
    json_free(schema);
}

static void fake_calls(const struct fake_reply *s, struct llm_reply *r)
{
    for (; r->n_calls < 40 && s->code[r->n_calls]; r->n_calls++)
        ;
    r->calls = xcalloc(r->n_calls + 1, sizeof *r->calls);
    for (size_t i = 0; i < r->n_calls; i++) {
        struct json *args = json_object();

        json_set_str(args, "code", s->code[i]);
        r->calls[i].call.id = xasprintf("call%zu_%zu", fake.asked, i);
        r->calls[i].call.name = xstrdup(i == 0 && s->tool ? s->tool : "execute_python");
        r->calls[i].call.arguments = i == 0 && s->arguments ? xstrdup(s->arguments) : json_print(args);
        json_free(args);
        if (i == 0 && s->problem)
            r->calls[i].problem = xstrdup(s->problem);
    }
}

int llm_ask(struct llm *m, const struct llm_request *q, const struct llm_listener *l, struct llm_reply *r,
            struct error *err)
{
    const struct fake_reply *s;

    (void)m;
    assert_non_null(fake.started ? "" : NULL); /* the sandbox comes up beside the first request */
    fake_check(q);
    if (fake.asked >= fake.n_replies)
        fail_msg("request %zu was not expected; so far: %s", fake.asked + 1, buf_str(&fake.seen));
    s = &fake.replies[fake.asked++];
    r->unsure = s->unsure;
    r->text = xstrdup(s->text ? s->text : "");
    if (s->reasoning) {
        r->reasoning = xstrdup(s->reasoning);
        if (l->reasoning)
            l->reasoning(l->ctx, r->reasoning, strlen(r->reasoning));
    }
    /* what answers that is heard only when it runs code */
    assert_true(!q->about || !l->text);
    if (*r->text && l->text)
        l->text(l->ctx, r->text, strlen(r->text));
    fake_serve(s->wait_ms);
    if (s->interrupt)
        loop_interrupt(fake.loop);
    r->requests = s->requests ? s->requests : 1;
    r->usage.input = s->unknown_usage ? -1 : INPUT_TOKENS;
    r->usage.output = s->unknown_usage ? -1 : OUTPUT_TOKENS;
    r->usage.reasoning = -1;
    r->finish = s->finish;
    r->truncated = s->truncated;
    if (loop_cancelled(fake.loop))
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (s->fail) {
        r->requests = 0;
        if (fake.learns)
            fake.context = fake.learns;
        return error_set(err, s->fail, 0, "%s", s->error ? s->error : "the service failed");
    }
    fake_calls(s, r);
    return 0;
}

void llm_reply_release(struct llm_reply *r)
{
    free(r->text);
    free(r->reasoning);
    free(r->reasoning_field);
    for (size_t i = 0; i < r->n_calls; i++) {
        call_release(&r->calls[i].call);
        free(r->calls[i].problem);
    }
    free(r->calls);
    memset(r, 0, sizeof *r);
}

const struct model_facts *llm_facts(const struct llm *m)
{
    (void)m;
    return &fake.facts;
}

int llm_context(const struct llm *m)
{
    (void)m;
    return fake.context;
}

bool llm_output_answers(const struct llm *m)
{
    (void)m;
    return fake.output_answers;
}

size_t llm_first_image(const struct llm *m, const struct conversation *c)
{
    (void)m, (void)c;
    return 0;
}
bool llm_in_blocks(const struct llm *m)
{
    (void)m;
    return false;
}

bool llm_sees(const struct llm *m)
{
    (void)m;
    return false;
}

const char *llm_model(const struct llm *m)
{
    (void)m;
    return "fake-model";
}

const char *llm_origin(const struct llm *m)
{
    (void)m;
    return "fake";
}

void llm_set_deadline(struct llm *m, int64_t deadline)
{
    (void)m;
    fake.deadline = deadline;
}

/* ---- the sandbox ---- */

void sandbox_free(struct sandbox *s)
{
    (void)s;
}

void sandbox_start(struct sandbox *s)
{
    (void)s;
    fake.started++;
}

void sandbox_inventory(struct sandbox *s, struct buf *out)
{
    (void)s;
    if (fake.earlier)
        buf_addstr(out, fake.earlier);
}

int64_t sandbox_each_file(struct sandbox *s, sandbox_file_fn *fn, void *ctx, struct error *err)
{
    (void)s, (void)fn, (void)ctx, (void)err;
    return 0;
}

int64_t sandbox_get(struct sandbox *s, const char *name, int fd, struct error *err)
{
    (void)s, (void)name, (void)fd, (void)err;
    return -1;
}

int sandbox_look_for(struct sandbox *s, const struct argv *programs, char **lacking, struct error *err)
{
    (void)s, (void)programs, (void)err;
    *lacking = xstrdup("");
    return 0;
}

int sandbox_list_files(struct sandbox *s, struct buf *out, struct error *err)
{
    (void)s;
    (void)out;
    (void)err;
    return 0;
}

void sandbox_mounts(const struct sandbox *s, struct buf *out)
{
    (void)s;
    (void)out;
}

const struct sandbox_options *sandbox_options(const struct sandbox *s)
{
    static const struct sandbox_options none = {0};

    (void)s;
    return &none;
}

unsigned sandbox_cells(const struct sandbox *s)
{
    (void)s;
    return fake.earlier ? 7 : 0;
}

static int fake_no_sandbox(struct error *err)
{
    return error_set(err, ERROR_SANDBOX, 0, "no engine can be used\ninstall docker");
}

bool sandbox_failed(const struct sandbox *s, struct error *err)
{
    (void)s;
    if (fake.failed_behind)
        fake_no_sandbox(err);
    return fake.failed_behind;
}

const char *sandbox_packages(struct sandbox *s, struct error *err)
{
    (void)s;
    if (fake.no_sandbox) {
        fake_no_sandbox(err);
        return NULL;
    }
    return fake.packages;
}

const char *sandbox_python(struct sandbox *s)
{
    (void)s;
    return fake.no_sandbox ? "" : "3.11";
}

int sandbox_run_code(struct sandbox *s, const struct cell_code *cell, const struct cell_listener *l,
                     struct cell_result *r, struct error *err)
{
    const struct fake_cell *f;
    const char *code = cell->text;
    size_t len = cell->len;

    (void)s;
    if (fake.no_sandbox)
        return fake_no_sandbox(err);
    if (fake.ran >= fake.n_cells)
        fail_msg("cell %zu was not expected: %.*s", fake.ran + 1, (int)len, code);
    f = &fake.cells[fake.ran++];
    buf_addf(&fake.code, "%.*s;", (int)len, code);
    buf_clear(&fake.last_output);
    fake_serve(f->wait_ms);
    if (f->interrupt)
        loop_interrupt(fake.loop);
    if (f->fail == ERROR_SANDBOX)
        return fake_no_sandbox(err);
    if (f->fail)
        return error_set(err, f->fail, f->fail == ERROR_USAGE ? EFBIG : 0, "interrupted");
    if (f->output) {
        l->output(l->ctx, 1, f->output, strlen(f->output));
        buf_addstr(&fake.last_output, f->output);
        r->out_bytes = strlen(f->output);
    }
    r->status = f->wait_ms && loop_cancelled(fake.loop) ? CELL_INTERRUPTED : f->status;
    r->exception = xstrdup(f->exception);
    r->traceback = f->exception ? xasprintf("Traceback\n%s", f->exception) : NULL;
    r->hint = xstrdup(f->hint);
    *(f->status == CELL_OK || f->status == CELL_EXCEPTION ? &r->before : &r->what) = xstrdup(f->what);
    r->line = f->line;
    r->exit_code = f->exit_code;
    r->state_lost = f->state_lost;
    r->state_restored = f->state_restored;
    r->files_lost = f->files_lost;
    if (f->file) {
        r->files = xcalloc(1, sizeof *r->files);
        r->files[0] = (struct cell_file){xstrdup(f->file), xasprintf("/host/%s", f->file), 1234, true};
        r->n_files = 1;
    }
    return 0;
}

void sandbox_output_text(struct sandbox *s, size_t max, struct buf *out)
{
    (void)s;
    buf_add(out, fake.last_output.data, fake.last_output.len < max ? fake.last_output.len : max);
}

int64_t sandbox_put(struct sandbox *s, const char *name, int fd, struct error *err)
{
    struct buf b = BUF_INIT(64 << 20);
    char piece[4096];
    ssize_t n;

    (void)s;
    if (fake.no_sandbox)
        return fake_no_sandbox(err);
    while ((n = read(fd, piece, sizeof piece)) > 0)
        buf_add(&b, piece, (size_t)n);
    free(fake.put_name);
    free(fake.put_data);
    fake.put_name = xstrdup(name);
    fake.put_data = buf_steal(&b, &fake.put_len);
    return (int64_t)fake.put_len;
}

int64_t sandbox_put_each(struct sandbox *s, const struct put_ask *ask, struct error *err)
{
    return sandbox_put(s, ask->name, ask->fd, err);
}

int sandbox_profile(struct sandbox *s, const char *name, bool rows, struct buf *out, struct error *err)
{
    (void)s;
    (void)name;
    if (!fake.profile)
        return error_set(err, ERROR_PROTOCOL, 0, "the helper ended");
    buf_addstr(out, fake.profile);
    buf_addstr(out, rows && fake.rows ? fake.rows : "");
    return 0;
}

int sandbox_picture(struct sandbox *s, const struct picture_ask *ask, struct buf *out, struct error *err)
{
    (void)s, (void)out;
    return error_set(err, ERROR_SYSTEM, 0, "%s is not decoded here", ask->name);
}

int sandbox_reset(struct sandbox *s, struct error *err)
{
    (void)s;
    return fake.no_sandbox ? fake_no_sandbox(err) : 0;
}

/* ---- what a listener hears, in a few letters ---- */

static void fake_event(void *ctx, const struct event *e)
{
    static const char *const kinds[] = {"answer", "calls", "nudged", "thoughts", "cut"};
    struct buf *b = &fake.events;

    (void)ctx;
    switch (e->type) {
    case EVENT_TEXT:
        buf_addf(b, "text%u ", e->text.reply);
        break;
    case EVENT_REPLY_END:
        buf_addf(b, "%s%u ", kinds[e->reply_end.kind], e->reply_end.reply);
        break;
    case EVENT_TOOL_CALL:
        buf_addf(b, "call:%u ", e->call.cell);
        break;
    case EVENT_TOOL_OUTPUT:
        buf_addf(b, "out:%u ", e->output.cell);
        break;
    case EVENT_TOOL_RESULT:
        buf_addf(b, "result:%u:%d%s ", e->result.cell, (int)e->result.r->status,
                 e->result.r->state_lost       ? ":lost"
                 : e->result.r->state_restored ? ":restored"
                                               : "");
        break;
    case EVENT_FILE:
        buf_addf(b, "file:%s ", e->file.name);
        break;
    case EVENT_NOTICE:
        buf_addf(b, "notice(%s) ", e->notice.text);
        break;
    case EVENT_DONE:
        fake.done = e->done.status;
        fake.done_count++;
        free(fake.done_answer);
        free(fake.done_output);
        free(fake.done_error);
        free(fake.done_reasoning);
        fake.done_reasoning = xstrdup(e->done.reasoning);
        fake.done_answer = xstrdup(e->done.answer);
        fake.done_output = xstrdup(e->done.last_output);
        fake.done_error = xstrdup(e->done.error);
        fake.done_input = e->done.usage.input;
        fake.done_tokens = e->done.usage.input + e->done.usage.output;
        fake.done_estimated = e->done.usage.estimated;
        fake.done_cells = e->done.cells;
        fake.done_requests = e->done.usage.requests;
        break;
    default:
        break;
    }
}

/* ---- one session ---- */

struct session {
    struct conversation c;
    struct loop *loop;
    struct agent *a;
    struct agent_options o;
};

__attribute__((unused)) static void fake_script(const struct fake_reply *replies, size_t n_replies,
                                                const struct fake_cell *cells, size_t n_cells)
{
    fake.replies = replies;
    fake.n_replies = n_replies;
    fake.cells = cells;
    fake.n_cells = n_cells;
    fake.asked = fake.ran = 0;
    buf_clear(&fake.seen);
    buf_clear(&fake.code);
    buf_clear(&fake.events);
    buf_clear(&fake.examples);
}

__attribute__((unused)) static void session_open(struct session *s)
{
    memset(&fake, 0, sizeof fake);
    fake.packages = "numpy 1.24, scikit-learn 1.2, pillow 9.4";
    s->loop = fake.loop = loop_new();
    conversation_init(&s->c);
    if (!s->o.prompts)
        s->o.prompts = &fake_prompts;
    const struct agent_deps deps = {.conversation = &s->c, .loop = s->loop, .event = fake_event};
    s->a = agent_new(&s->o, &deps);
}

__attribute__((unused)) static void session_begin(struct session *s)
{
    agent_defaults(&s->o);
    session_open(s);
}

__attribute__((unused)) static void session_end(struct session *s)
{
    agent_free(s->a);
    conversation_release(&s->c);
    loop_free(s->loop);
    buf_release(&fake.seen);
    buf_release(&fake.code);
    buf_release(&fake.tools);
    buf_release(&fake.events);
    buf_release(&fake.examples);
    buf_release(&fake.last_output);
    free(fake.system);
    free(fake.system_blocks);
    free(fake.blocks_ok);
    free(fake.put_name);
    free(fake.put_data);
    free(fake.done_answer);
    free(fake.done_output);
    free(fake.done_error);
    free(fake.done_reasoning);
}

/* At rest a conversation must take another question and be sendable with it. */
__attribute__((unused)) static void session_check(struct session *s)
{
    struct error err = {0};
    size_t n = s->c.n;

    if (n)
        assert_int_equal(s->c.v[n - 1].role, TURN_ASSISTANT);
    conversation_user(&s->c, "next", 4);
    assert_int_equal(s->c.n, n + 1);
    if (conversation_check(&s->c, &err))
        fail_msg("not sendable afterwards: %s", err.text);
    conversation_truncate(&s->c, n);
}

__attribute__((unused)) static enum question_status session_ask(struct session *s, const char *question)
{
    unsigned before = fake.done_count;

    memset(&fake.err, 0, sizeof fake.err);
    enum question_status status = agent_ask(s->a, question, strlen(question), &fake.err);
    assert_int_equal(fake.done_count, before + 1);
    assert_int_equal(fake.done, status);
    if (status != QUESTION_ANSWERED && status != QUESTION_CODE_FAILED)
        assert_true(fake.err.kind != ERROR_NONE && *fake.err.text);
    session_check(s);
    return status;
}

#define SCRIPT(r, c) fake_script(r, countof(r), c, countof(c))
#define assert_contains(text, part)                   \
    do {                                              \
        if (!strstr(text, part))                      \
            fail_msg("no \"%s\" in: %s", part, text); \
    } while (0)
#define assert_lacks(text, part)                      \
    do {                                              \
        if (strstr(text, part))                       \
            fail_msg("\"%s\" is in: %s", part, text); \
    } while (0)

#endif
