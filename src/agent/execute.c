/* execute.c - run one cell with all its events, and put what came of it into words for the model: short,
 * facts only, with exact counts. A traceback is for the user; the model gets the exception's line, the place
 * and the hint (measured: it repairs better with less).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/private.h"
#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/utf8.h"

#define EXCEPTION_MAX     2048 /* of one exception's line; a message may be a whole data frame */
#define HINT_MAX          1024
#define FAILED_OUTPUT_MAX 4096 /* what failing code printed matters less than why it failed */
#define FILES_NAMED       20

size_t told_max(const struct agent *a)
{
    int window = llm_context(a->llm);
    size_t eighth = window > 0 ? (size_t)window / 8 * 3 : TOLD_MAX;

    return eighth < 512 ? 512 : eighth < TOLD_MAX ? eighth : TOLD_MAX;
}

static void add_cut(struct buf *out, const char *text, size_t max)
{
    size_t len = strlen(text);

    if (len <= max) {
        buf_add(out, text, len);
        return;
    }
    size_t cut = utf8_cut(text, len, max);
    buf_add(out, text, cut);
    buf_addf(out, " [%zu bytes more]", len - cut);
}

static void new_line(struct buf *out)
{
    if (out->len && out->data[out->len - 1] != '\n')
        buf_addch(out, '\n');
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

static void add_error(const struct cell_result *r, const char *code, struct buf *out)
{
    const char *line;
    size_t len;

    new_line(out);
    add_cut(out, r->exception ? r->exception : r->what ? r->what : "it failed", EXCEPTION_MAX);
    if (r->line > 0 && !(r->hint && strstr(r->hint, "line "))) {
        line = source_line(code, r->line, &len);
        if (line)
            buf_addf(out, " (line %d: %.*s)", r->line, (int)utf8_cut(line, len, len < 160 ? len : 160), line);
        else
            buf_addf(out, " (line %d)", r->line);
    }
    if (r->exception && r->what) {
        new_line(out);
        add_cut(out, r->what, EXCEPTION_MAX);
    }
    if (!text_blank(r->hint)) {
        new_line(out);
        add_cut(out, r->hint, HINT_MAX);
    }
}

static void add_files(const struct cell_result *r, struct buf *out)
{
    for (size_t i = 0; i < r->n_files && i < FILES_NAMED; i++) {
        if (i == 0)
            new_line(out);
        buf_addf(out, "%s%.*s (%" PRIu64 " bytes)", i ? ", " : "Files made, and given to the user: ",
                 (int)utf8_cut(r->files[i].name, strlen(r->files[i].name), 200), r->files[i].name,
                 r->files[i].size);
    }
    if (r->n_files > FILES_NAMED)
        buf_addf(out, " and %zu more", r->n_files - FILES_NAMED);
    if (!text_blank(r->files_note)) {
        new_line(out);
        add_cut(out, r->files_note, HINT_MAX);
    }
}

void cell_tell(const struct cell_result *r, const char *code, const char *output, size_t len, struct buf *out)
{
    while (len && (output[len - 1] == '\n' || output[len - 1] == ' '))
        len--;
    buf_add(out, output, len);
    if (r->status != CELL_OK && !(r->status == CELL_EXIT && r->exit_code == 0))
        add_error(r, code, out);
    else if (r->what && r->status == CELL_OK) {
        new_line(out);
        add_cut(out, r->what, EXCEPTION_MAX);
    }
    add_files(r, out);
    if (r->state_lost || r->files_lost) {
        new_line(out);
        buf_addstr(
            out, r->files_lost
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

static void send_call(struct agent *a, const char *id, const char *tool, const char *code, unsigned cell)
{
    struct event e = {.type = EVENT_TOOL_CALL};

    e.call.id = id;
    e.call.tool = tool;
    e.call.code = code;
    e.call.cell = cell;
    agent_send(a, &e);
}

/* A call that does not run: cell 0. */
static void send_not_run(struct agent *a, const char *id, unsigned cell, const char *shown, const char *why)
{
    struct event e = {.type = EVENT_TOOL_RESULT};

    e.result.id = id;
    e.result.cell = cell;
    e.result.status = CELL_NOT_RUN;
    e.result.error = shown;
    e.result.model_text = why;
    agent_send(a, &e);
}

void cell_refused(struct agent *a, const char *id, const char *tool, const char *code, const char *why)
{
    send_call(a, id, tool, code, 0);
    send_not_run(a, id, 0, why, why);
}

static void send_result(struct agent *a, const char *id, const struct cell_result *r, const char *told)
{
    struct event e = {.type = EVENT_TOOL_RESULT};

    /* Lost before this cell ran: its own error does not say so. */
    if ((r->state_lost || r->state_restored) && r->what
        && (r->status == CELL_OK || r->status == CELL_EXCEPTION))
        agent_notice(a, NOTICE_WARNING, "%s", r->what);
    e.result.id = id;
    e.result.cell = a->cells;
    e.result.status = r->status;
    e.result.by_user = r->status == CELL_INTERRUPTED && !agent_out_of_time(a) && !loop_fatal(a->loop);
    e.result.value = r->value;
    /* Where a limit or the user ended it, that says more than the KeyboardInterrupt it raised. */
    if (r->status != CELL_OK)
        e.result.error = r->status != CELL_EXCEPTION && r->what ? r->what
                         : r->traceback                         ? r->traceback
                         : r->what                              ? r->what
                                                                : r->exception;
    e.result.state_lost = r->state_lost || r->files_lost;
    e.result.state_restored = r->state_restored && !e.result.state_lost;
    e.result.seconds = r->seconds;
    e.result.out_bytes = r->out_bytes + r->err_bytes;
    e.result.output_path = r->output_path;
    e.result.model_text = told;
    agent_send(a, &e);
    for (size_t i = 0; i < r->n_files; i++) {
        struct event f = {.type = EVENT_FILE};

        f.file.cell = a->cells;
        f.file.name = r->files[i].name;
        f.file.path = r->files[i].path;
        f.file.size = r->files[i].size;
        agent_send(a, &f);
    }
    if (!text_blank(r->files_note))
        agent_notice(a, NOTICE_WARNING, "%s", r->files_note);
}

static void on_output(void *ctx, int stream, const char *text, size_t len)
{
    struct agent *a = ctx;
    struct event e = {.type = EVENT_TOOL_OUTPUT};

    e.output.cell = a->cells;
    e.output.stream = stream;
    e.output.text = text;
    e.output.len = len;
    agent_send(a, &e);
}

static const char *interrupter(void *ctx)
{
    return agent_out_of_time(ctx) ? "the time limit of the question" : "the user";
}

/* All code of a question, for /code. Another question's is forgotten when the first cell of this one runs. */
static void keep_code(struct agent *a, const char *code, size_t len)
{
    if (!a->q)
        return;
    if (a->code_question != a->q->number)
        buf_clear(&a->code);
    a->code_question = a->q->number;
    if (a->code.len)
        buf_addstr(&a->code, "\n\n");
    while (len && code[len - 1] == '\n')
        len--;
    buf_add(&a->code, code, len);
}

/* The first loss of a question is told at its end, unless a later cell has made that file anew and it came
 * out. */
static void note_undelivered(struct question *q, const struct cell_result *r)
{
    for (size_t i = 0; q->undelivered && i < r->n_files; i++)
        if (strcmp(r->files[i].name, q->undelivered_name) == 0) {
            free(steal(&q->undelivered));
            free(steal(&q->undelivered_name));
        }
    if (q->undelivered || !r->undelivered)
        return;
    q->undelivered = xasprintf("%s\n%s", r->undelivered, r->undelivered_remedy);
    q->undelivered_name = xstrdup(r->undelivered_name);
}

int cell_run(struct agent *a, const char *id, const char *tool, const char *code, size_t len,
             struct cell_told *told, struct error *err)
{
    autorelease(cell_result_release) struct cell_result r = {0};
    struct cell_listener listener = {.ctx = a, .output = on_output, .interrupter = interrupter};
    struct error e = {0};

    buf_init(&told->text, TOLD_MAX + 16 * 1024);
    a->cells++;
    send_call(a, id, tool, code, a->cells);
    /* What could not start a moment ago is not tried again in the same question. */
    if (a->q && a->no_sandbox.kind != ERROR_NONE)
        e = a->no_sandbox;
    if (e.kind != ERROR_NONE || sandbox_run(a->sandbox, code, len, &listener, &r, &e)) {
        /* the question ends with the cause; it need not be said twice */
        bool nowhere = e.kind == ERROR_SANDBOX;
        send_not_run(a, id, a->cells, nowhere ? "not run" : e.text,
                     nowhere ? "not run: there is no sandbox" : e.text);
        if (e.kind == ERROR_USAGE) { /* the code itself cannot be taken: for the model to mend */
            told->status = CELL_NOT_RUN;
            buf_addstr(&told->text, e.text);
            return 0;
        }
        if (err)
            *err = e;
        return -1;
    }
    keep_code(a, code, len);

    struct buf output = BUF_INIT(TOLD_MAX + 4096);
    size_t max = told_max(a);
    sandbox_output_text(a->sandbox, r.status == CELL_OK || max < FAILED_OUTPUT_MAX ? max : FAILED_OUTPUT_MAX,
                        &output);
    cell_tell(&r, code, buf_str(&output), output.len, &told->text);
    told->status = r.status == CELL_EXIT && r.exit_code == 0 ? CELL_OK : r.status;
    if (output.len)
        told->output = xmemdup0(output.data, output.len);
    buf_release(&output);
    if (a->q)
        note_undelivered(a->q, &r);
    send_result(a, id, &r, told->text.len ? buf_str(&told->text) : "(no output)");
    return 0;
}

void cell_told_release(struct cell_told *told)
{
    if (!told)
        return;
    buf_release(&told->text);
    free(told->output);
    told->output = NULL;
}
