/* execute.c - runs one cell with all its events, and describes the result to the model: short, facts only,
 * with exact counts. The traceback is for the user; the model gets the exception's line, the location and the
 * hint (measured: it repairs better with less).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "process/signals.h"

#define EXCEPTION_MAX     2048 /* bytes of one exception's line; a message may be a whole data frame */
#define HINT_MAX          1024
#define FAILED_OUTPUT_MAX 4096 /* what failing code printed matters less than why it failed */
#define FILES_NAMED       20

/* The most output, in bytes, that this model's window allows. */
static size_t told_max(const struct agent *a)
{
    int window = llm_context(a->llm);
    size_t eighth = window > 0 ? (size_t)window / 8 * 3 : TOLD_MAX;

    return eighth < 512 ? 512 : eighth < TOLD_MAX ? eighth : TOLD_MAX;
}

static void new_line(struct buf *out)
{
    if (out->len && out->data[out->len - 1] != '\n')
        buf_addch(out, '\n');
}

/* On a line of its own, cut to max bytes. */
static void add_result_line(struct buf *out, const char *text, size_t max)
{
    size_t len = strlen(text);

    new_line(out);
    if (len <= max) {
        buf_add(out, text, len);
        return;
    }
    size_t cut = utf8_cut(text, len, max);
    buf_add(out, text, cut);
    buf_addf(out, " [%zu bytes more]", len - cut);
}

/* Source line n of code without its indentation, or NULL. */
static const char *source_line(const char *code, int n, size_t *len)
{
    while (--n > 0) {
        code = strchr(code, '\n');
        if (!code)
            return NULL;
        code++;
    }
    code += strspn(code, " \t");
    *len = strcspn(code, "\n");
    return *len ? code : NULL;
}

char *cell_failure(const struct cell_result *r)
{
    char *what = r->exception ? NULL : cell_what(r);

    return what ? what : xstrdup(r->exception ? r->exception : "it failed");
}

static void add_error(const struct cell_result *r, const char *code, struct buf *out)
{
    autofree char *failure = cell_failure(r), *what = r->exception ? cell_what(r) : NULL;

    add_result_line(out, failure, EXCEPTION_MAX);
    if (what)
        add_result_line(out, what, EXCEPTION_MAX);
    if (r->line > 0) {
        size_t len;
        const char *line = source_line(code, r->line, &len);

        new_line(out);
        buf_addf(out, "line %d", r->line);
        if (line)
            buf_addf(out, ": %.*s", (int)utf8_cut(line, len, len < 200 ? len : 200), line);
    }
    if (!text_is_blank(r->hint))
        add_result_line(out, r->hint, HINT_MAX);
}

/* The model gets the value as text, so its HTML tells it nothing new. */
static bool is_told(const struct cell_file *f)
{
    return f->kind != FILE_VALUE_HTML;
}

static size_t count_told(const struct cell_result *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_files; i++)
        n += is_told(&r->files[i]);
    return n;
}

static void add_files(const struct cell_result *r, struct buf *out)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_files && n < FILES_NAMED; i++) {
        const struct cell_file *f = &r->files[i];

        if (!is_told(f))
            continue;
        if (n == 0)
            new_line(out);
        buf_addf(out, "%s%.*s (%" PRIu64 " bytes)", n++ ? ", " : "Files made, and given to the user: ",
                 (int)utf8_cut(f->name, strlen(f->name), 200), f->name, f->size);
    }
    if (count_told(r) > n)
        buf_addf(out, " and %zu more", count_told(r) - n);
    if (!text_is_blank(r->files_note))
        add_result_line(out, r->files_note, HINT_MAX);
}

void cell_tell(const struct cell_result *r, const char *code, struct buf *out)
{
    autofree char *failure = r->ended ? cell_failure(r) : NULL;

    while (out->len && strchr("\n ", out->data[out->len - 1]))
        out->data[--out->len] = '\0';
    if (!cell_succeeded(r))
        add_error(r, code, out);
    else if (r->status == CELL_OK && r->before)
        add_result_line(out, r->before, EXCEPTION_MAX);
    else if (r->ended)
        add_result_line(out, failure, EXCEPTION_MAX);
    add_files(r, out);
    if (r->state_lost || r->files_lost) {
        new_line(out);
        buf_addstr(
            out, r->files_lost && r->files_back
                     ? "The sandbox was replaced: all variables, imports and the files in /mnt/data that are "
                       "not named here are lost."
                 : r->files_lost
                     ? "The sandbox was replaced: all variables, imports and the files in /mnt/data are lost."
                     : "The interpreter was restarted: all variables and imports are lost; the files in "
                       "/mnt/data are still there.");
    } else if (r->state_restored) {
        new_line(out);
        buf_addstr(out, r->earlier || r->status == CELL_OK || r->status == CELL_EXCEPTION
                            ? "The interpreter was replaced by a copy made after the last cell: variables "
                              "and imports are as they were then."
                            : "The interpreter was replaced by a copy made before this cell: variables and "
                              "imports are as they were then, and nothing "
                              "this cell defined exists; files it wrote in /mnt/data are still there.");
    }
}

void cell_send_call(struct agent *a, const struct code_run *c)
{
    struct event e = {.type = EVENT_TOOL_CALL, .call = {c->id, c->tool, c->code, c->language, c->cell}};

    agent_send(a, &e);
}

void cell_send_result(struct agent *a, const struct code_run *c, const char *told)
{
    bool by_user = c->r.status == CELL_INTERRUPTED && !agent_out_of_time(a) && !loop_fatal(a->loop);
    struct event e = {.type = EVENT_TOOL_RESULT, .result = {c->id, c->cell, &c->r, by_user, told}};

    agent_send(a, &e);
}

void cell_send_not_run(struct agent *a, const struct code_run *c, const char *shown, const char *why)
{
    autofree char *what = xstrdup(shown);
    struct code_run not_run = *c;

    not_run.r = (struct cell_result){.status = CELL_NOT_RUN, .what = what};
    cell_send_result(a, &not_run, why);
}

void cell_refused(struct agent *a, const struct code_run *c, const char *why)
{
    cell_send_call(a, c);
    cell_send_not_run(a, c, why, why);
}

static void send_outcome(struct agent *a, const struct code_run *c)
{
    const struct cell_result *r = &c->r;

    /* In these cases the cell's own error does not say it. */
    if (r->before && (r->status == CELL_OK || r->status == CELL_EXCEPTION || r->status == CELL_EXIT))
        agent_notice(a, NOTICE_WARNING, "%s", r->before);
    cell_send_result(a, c, c->told.len ? buf_str(&c->told) : "(no output)");
    uint64_t before = 0, bytes = 0;
    for (size_t i = 0; i < r->n_files; i++)
        bytes += r->files[i].size;
    for (size_t i = 0, n = 0; i < r->n_files; i++) {
        const struct cell_file *f = &r->files[i];
        struct event e = {.type = EVENT_FILE,
                          .file = {.cell = a->cells,
                                   .name = f->name,
                                   .path = f->path,
                                   .size = f->size,
                                   .kind = f->kind,
                                   .index = n,
                                   .total = count_told(r),
                                   .before = before,
                                   .bytes = bytes}};

        before += f->size;
        n += is_told(f);
        agent_send(a, &e);
    }
    if (!text_is_blank(r->files_note)) {
        const char *remedy = r->undelivered && !a->o.chat ? r->undelivered_remedy : ""; /* an option */

        agent_notice(a, NOTICE_WARNING, "%s%s%s", r->files_note, *remedy ? "\n" : "", remedy);
    }
}

static void on_code_output(void *ctx, int stream, const char *text, size_t len)
{
    struct agent *a = ctx;

    agent_send(a, &(struct event){.type = EVENT_TOOL_OUTPUT, .output = {a->cells, stream, text, len}});
}

static const char *interrupter(void *ctx)
{
    return agent_out_of_time(ctx) ? "the time limit of the question" : "the user";
}

/* Keep all code of a question for /code. The first cell of a new question drops the old question's code. */
static void keep_code(struct agent *a, const char *code)
{
    size_t len = strlen(code);

    if (!a->qn)
        return;
    if (a->code_question != a->qn->number)
        buf_clear(&a->code);
    a->code_question = a->qn->number;
    if (a->code.len)
        buf_addstr(&a->code, "\n\n");
    while (len && code[len - 1] == '\n')
        len--;
    buf_add(&a->code, code, len);
}

/* Remember the first file that could not be delivered, to report it at the end, unless a later cell writes it
 * again and that copy is delivered. */
static void note_undelivered(struct question *qn, const struct cell_result *r)
{
    for (size_t i = 0; qn->undelivered && i < r->n_files; i++)
        if (!strcmp(r->files[i].name, qn->undelivered_name)) {
            free(steal(&qn->undelivered));
            free(steal(&qn->undelivered_name));
        }
    if (qn->undelivered || !r->undelivered)
        return;
    qn->undelivered = xasprintf("%s\n%s", r->undelivered, r->undelivered_remedy);
    qn->undelivered_name = xstrdup(r->undelivered_name);
}

int cell_run(struct agent *a, struct code_run *c, struct error *err)
{
    struct cell_listener listener = {.ctx = a, .output = on_code_output, .interrupter = interrupter};
    struct error e = {0};

    buf_init(&c->told, TOLD_MAX + 16 * 1024);
    c->cell = ++a->cells;
    cell_send_call(a, c);
    /* If the sandbox could not start a moment ago, do not try again in the same question. */
    if (a->qn && a->no_sandbox.kind != ERROR_NONE)
        e = a->no_sandbox;
    const struct cell_code code = {c->code, strlen(c->code), c->language};

    if (e.kind != ERROR_NONE || sandbox_run_code(a->sandbox, &code, &listener, &c->r, &e)) {
        /* The model can mend code that is too long, but not an image that the user named for an engine that
         * has none. */
        bool unfit = e.kind == ERROR_USAGE && e.code == EFBIG;
        /* the question ends with this cause, so do not say it twice here */
        bool nowhere = e.kind == ERROR_SANDBOX || (e.kind == ERROR_USAGE && !unfit);
        cell_send_not_run(a, c, nowhere ? "not run" : e.text,
                          nowhere ? "not run: there is no sandbox" : e.text);
        c->r.status = CELL_NOT_RUN;
        if (unfit) {
            buf_addstr(&c->told, e.text);
            return 0;
        }
        if (err)
            *err = e;
        return -1;
    }
    keep_code(a, c->code);

    bool good = cell_succeeded(&c->r);
    size_t max = told_max(a);
    sandbox_output_text(a->sandbox, good || max < FAILED_OUTPUT_MAX ? max : FAILED_OUTPUT_MAX, &c->told);
    if (c->told.len)
        c->output = xmemdup0(c->told.data, c->told.len);
    install_hint(a, &c->r);
    cell_tell(&c->r, c->code, &c->told);
    if (a->qn)
        note_undelivered(a->qn, &c->r);
    send_outcome(a, c);
    return 0;
}

void code_run_release(struct code_run *c)
{
    cell_result_release(&c->r);
    buf_release(&c->told);
    free(c->output);
}

int cell_malformed(struct agent *a, struct tool_use *use, const char *problem, struct error *err)
{
    const struct code_run c = {.id = use->call->id, .tool = use->call->name, .code = ""};

    use->kind = RESULT_MALFORMED;
    buf_addstr(&use->text, problem);
    cell_refused(a, &c, problem);
    return budget_bad_call(&a->qn->budget, problem, err);
}
