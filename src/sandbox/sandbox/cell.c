/* cell.c - collect the frames of a cell. Every value comes from the code, so it is cut to a size limit and
 * made valid UTF-8 here. */
#include "sandbox/cell.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"

enum {
    VALUE_MAX = 20000,
    LINE_MAX_ = 4000,
    TRACE_MAX = 20000,
    HINT_MAX = 4000,
    PACKAGES_MAX = 8000,
    NOTES_MAX = 8192,
    NAME_MAX_ = 1024
};

/* Of a progress bar only its last state is kept. data NULL: the stream has ended. */
static void keep_settled(struct cell *c, int stream, const char *data, size_t len)
{
    struct overwrite *o = &c->settled[stream == 2];
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    overwrite_settle(&c->settled[stream != 2], &out);
    if (data)
        overwrite_feed(o, data, len, &out);
    else
        overwrite_end(o, &out);
    if (out.len)
        output_add(&c->request.sandbox->output, out.data, out.len);
}

static void on_cell_output(struct cell *c, int stream, const struct frame *f)
{
    uint64_t most = (uint64_t)c->request.sandbox->o.max_output, left = most - c->output;
    size_t len = f->len;

    if (most && len > left) {
        len = (size_t)left;
        c->flooded = true;
    }
    if (len == 0)
        return;
    c->output += len;
    *(stream == 1 ? &c->r->out_bytes : &c->r->err_bytes) += len;
    keep_settled(c, stream, f->data, len);
    if (c->listener && c->listener->output)
        c->listener->output(c->listener->ctx, stream, f->data, len);
}

static bool says(const struct tagged_value *t, const char *text)
{
    return t->len == strlen(text) && !memcmp(t->data, text, t->len);
}

static enum cell_status status_of(const struct tagged_value *t)
{
    return says(t, "ok")            ? CELL_OK
           : says(t, "exit")        ? CELL_EXIT
           : says(t, "interrupted") ? CELL_INTERRUPTED
                                    : CELL_EXCEPTION;
}

static const char *on_result(struct cell *c, const struct frame *f)
{
    struct tagged_value t = tagged_in(f->data, f->len);
    struct cell_result *r = c->r;

    if (c->command)
        return "it sent the result of a cell for a command";
    if (c->answered)
        return "it sent two results for one cell";
    c->answered = true;
    sandbox_tell_phase(c->request.sandbox, PHASE_SAVING);
    c->claimed = CELL_EXCEPTION;
    /* If a body ends in the middle of a value, code has written to the worker's socket; keep what was
     * read. */
    while (tagged_next(&t) > 0) {
        int64_t n = tagged_int(&t);

        tagged_take(&t, 'v', &r->value, VALUE_MAX);
        tagged_take(&t, 'e', &r->exception, LINE_MAX_);
        tagged_take(&t, 't', &r->traceback, TRACE_MAX);
        tagged_take(&t, 'h', &r->hint, HINT_MAX);
        tagged_take(&t, 'p', &r->packages, PACKAGES_MAX);
        if (t.tag == 's')
            c->claimed = status_of(&t);
        else if (t.tag == 'l')
            r->line = n > 0 && n < 10000000 ? (int)n : 0;
        else if (t.tag == 'x')
            r->exit_code = n > INT_MIN && n <= INT_MAX ? (int)n : -1;
    }
    return NULL;
}

static void note(struct cell *c, const char *name, const char *why)
{
    buf_addf(&c->notes, "%s%s%s%s", c->notes.len ? "\n" : "", name, *name ? ": " : "", why);
}

/* Figures have no names of their own. The n-th figure of a cell is taken to be the same as last time. */
static void begin_delivery(struct cell *c, uint64_t size)
{
    autofree char *safe = file_safe_name(c->file_name), *figure = NULL;

    if (c->kind != FILE_MADE)
        figure = xasprintf("\n%u", ++c->figures); /* no file can be called this: names are one line */
    delivery_begin(&c->delivery, figure ? figure : c->file_name, safe, size);
    c->delivering = true;
}

/* Anything else is a figure in PNG; nothing but the name of its file depends on this. */
static enum file_kind kind_of_form(const struct tagged_value *t)
{
    static const struct {
        const char *form;
        enum file_kind kind;
    } forms[] = {{"=png", FILE_VALUE_PNG},
                 {"=html", FILE_VALUE_HTML},
                 {"=svg", FILE_VALUE_SVG},
                 {"+svg", FILE_FIGURE_FORM},
                 {"+pdf", FILE_FIGURE_FORM}};

    for (size_t i = 0; i < countof(forms); i++)
        if (says(t, forms[i].form))
            return forms[i].kind;
    return FILE_FIGURE;
}

static const char *on_file(struct cell *c, const struct frame *f)
{
    struct tagged_value t = tagged_in(f->data, f->len);
    autofree char *name = NULL;
    int64_t size = -1;
    int rc;

    if (c->delivering)
        return "it began a file inside a file";
    c->kind = FILE_MADE;
    while ((rc = tagged_next(&t)) > 0) {
        tagged_take(&t, 'n', &name, NAME_MAX_);
        if (t.tag == 's')
            size = tagged_int(&t);
        else if (t.tag == 'g')
            c->kind = kind_of_form(&t);
    }
    if (rc < 0 || !name || size < 0)
        return "it sent a malformed file";
    /* It appears in lines that people and models read. */
    xreplace(&c->file_name, scrub_line(name, SCRUB_TERMINAL));
    c->file_count++;
    c->file_bytes += (uint64_t)size;
    if (c->file_count > FILES_CELL_COUNT
        || c->file_bytes > (uint64_t)sandbox_most_delivered(&c->request.sandbox->o) + FILES_CELL_SLACK)
        return "it sent more files than allowed";
    c->request.sandbox->copying = (struct copy_progress){.total = size};
    begin_delivery(c, (uint64_t)size);
    return NULL;
}

/* Only the first failure is reported. */
static void undelivered(struct cell_result *r, const char *name, char *line, const char *remedy)
{
    if (!r->undelivered) {
        r->undelivered = steal(&line);
        r->undelivered_name = xstrdup(name);
        r->undelivered_remedy = xstrdup(remedy);
    }
    free(line);
}

/* Left to tell_lost(), like the files that were not even sent. */
static void lose(struct request *q, char why, unsigned long long size, const char *name)
{
    if (q->n_lost < LOST_NAMED)
        q->lost[q->n_lost++] = (struct lost_file){why, size, xstrdup(name)};
    else
        q->lost_unnamed++;
}

/* Only once, and early enough to still do something about it. */
static void warn_of_quota(struct sandbox *s)
{
    if (ledger_warns(&s->ledger))
        engine_notice(
            &s->o.run, false,
            "80 %% of the %s that one session may save in files are used; --max-files-total SIZE allows more",
            size_text(s->o.max_files_total).text);
}

static const char *on_file_end(struct cell *c)
{
    struct cell_result *r = c->r;

    if (!c->delivering)
        return "it ended a file that it had not begun";
    c->delivering = false;
    char *path = delivery_end(&c->delivery);
    if (c->delivery.over) {
        lose(&c->request, 'q', c->delivery.size, c->file_name);
    } else if (!path) {
        note(c, c->file_name, c->delivery.why);
        undelivered(
            r, c->file_name,
            xasprintf("a file created by the code could not be saved: %s: %s", c->file_name, c->delivery.why),
            c->request.sandbox->o.out_dir ? "Make room there, or choose another folder: --out DIR"
                                          : "Choose a folder: --out DIR");
    } else {
        r->files = xreallocarray(r->files, r->n_files + 1, sizeof *r->files);
        r->files[r->n_files++] = (struct cell_file){
            .name = steal(&c->file_name), .path = path, .size = c->delivery.got, .kind = c->kind};
        warn_of_quota(c->request.sandbox);
    }
    delivery_release(&c->delivery);
    return NULL;
}

static const char *on_frame(struct request *q, const struct frame *f)
{
    struct cell *c = (struct cell *)q;
    struct tagged_value t = {.data = f->data, .len = f->len};

    switch (f->type) {
    case FROM_GUEST_STDOUT:
    case FROM_GUEST_STDERR:
        on_cell_output(c, f->type == FROM_GUEST_STDOUT ? 1 : 2, f);
        return NULL;
    case FROM_GUEST_RESULT:
        return on_result(c, f);
    case FROM_GUEST_FILE:
        return on_file(c, f);
    case FROM_GUEST_DATA:
        if (!c->delivering || !delivery_add(&c->delivery, f->data, f->len))
            return "it sent more of a file than it had announced";
        sandbox_tell_copied(c->request.sandbox, PHASE_SAVING, f->len);
        return NULL;
    case FROM_GUEST_FILE_END:
        return on_file_end(c);
    case FROM_GUEST_NOTE: {
        autofree char *text = tagged_text(&t, NOTES_MAX);

        note(c, "", text);
        return NULL;
    }
    case FROM_GUEST_HELLO:
    case FROM_GUEST_END:
    case FROM_GUEST_DEATH:
    default:
        return "it sent a frame of an unknown kind";
    }
}

/* "50 MB", "24.2 kB": the form in which files are listed everywhere. */
static char *decimal_size(unsigned long long bytes)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    double v = (double)bytes;
    size_t u = 0;

    for (; v >= 999.5 && u + 1 < countof(units); u++)
        v /= 1000;
    return bytes == 1 ? xstrdup("1 byte") : xasprintf("%.3g %s", v, units[u]);
}

/* More files than are copied after one cell. */
static char *lost_many(const struct sandbox_options *o, const struct lost_file *f)
{
    bool one = f->size == 1;
    autofree char *which = one ? xstrdup(f->name) : xasprintf("%llu files (%s and others)", f->size, f->name);
    const char *were = one ? "was" : "were", *they = one ? "It is" : "They are";

    return o->run.name
               ? xasprintf("%s %s not saved: at most 100 files are saved per run of code. %s still in "
                           "the sandbox \"%s\".",
                           which, were, they, o->run.name)
               : xasprintf("%s %s NOT saved: at most 100 files are saved per run of code. %s lost when "
                           "sandpiper ends.",
                           which, were, they);
}

/* A file that is too large, or one too many, is lost with the sandbox; a named sandbox still has it. */
static char *lost_line(const struct sandbox_options *o, const struct lost_file *f)
{
    autofree char *size = decimal_size(f->size);
    char most[128];

    if (f->why == 'c')
        return lost_many(o, f);
    if (f->why == 'm')
        snprintf(most, sizeof most, "files over %s are not saved (--max-file)", size_text(o->max_file).text);
    else if (f->why == 'f')
        snprintf(most, sizeof most, "the files in the sandbox fill its memory (--memory)");
    else if (f->why == 'q')
        snprintf(most, sizeof most, "one session saves at most %s of files (--max-files-total)",
                 size_text(o->max_files_total).text);
    else
        snprintf(most, sizeof most, "at most %s are saved per run of code",
                 size_text(sandbox_most_delivered(o)).text);
    return o->run.name
               ? xasprintf("%s (%s) was not saved: %s. It is still in the sandbox \"%s\".", f->name, size,
                           most, o->run.name)
               : xasprintf("%s (%s) was NOT saved: %s. It is lost when sandpiper ends.", f->name, size, most);
}

static char *lost_remedy(const struct sandbox *s, const struct lost_file *f)
{
    const struct sandbox_options *o = &s->o;
    unsigned long long mib = (f->size >> 20) + 1,
                       over = (unsigned long long)sandbox_most_delivered(o) / 4 >> 20;

    if (f->why == 'c')
        return xstrdup("Have the code pack them into one archive");
    if (f->why == 'f')
        return xasprintf("--memory %lldm would save it", (long long)(o->run.memory >> 20) * 2);
    if (f->why == 'q')
        return xasprintf("--max-files-total %llum would save it",
                         (unsigned long long)((s->ledger.written + f->size) >> 20) + 1);
    return xasprintf("--max-file %llum would save it", f->why == 'm' || mib > 2 * over ? mib : 2 * over);
}

static void tell_lost(struct cell *c)
{
    const struct sandbox_options *o = &c->request.sandbox->o;
    const struct request *q = &c->request;

    for (size_t i = 0; i < q->n_lost; i++) {
        char *line = lost_line(o, &q->lost[i]);
        autofree char *remedy = lost_remedy(c->request.sandbox, &q->lost[i]);

        note(c, "", line);
        undelivered(c->r, q->lost[i].name, line, remedy);
    }
    if (q->lost_unnamed > 0) {
        autofree char *more = xasprintf("%lld more files were %s for the same reasons",
                                        (long long)q->lost_unnamed, o->run.name ? "not saved" : "NOT saved");
        note(c, "", more);
    }
}

void cell_begin(struct cell *c, struct sandbox *s, const struct cell_listener *l, struct cell_result *r)
{
    *c = (struct cell){
        .command = c->command, .language = c->language, .r = r, .listener = l, .notes = BUF_INIT(NOTES_MAX)};
    delivery_init(&c->delivery, &s->ledger, s->o.out_dir);
    output_begin(&s->output, c->command ? NULL : s->output_dir, s->cells, &s->ledger);
    free(steal(&s->last_value));
    c->request.frame = on_frame;
    request_begin(s, &c->request);
}

void cell_end(struct cell *c)
{
    struct sandbox *s = c->request.sandbox;

    for (int stream = 1; stream <= 2; stream++) {
        keep_settled(c, stream, NULL, 0);
        overwrite_release(&c->settled[stream == 2]);
    }
    output_end(&s->output);
    if (s->output.disk_errno)
        engine_notice(&s->o.run, false, "the full output could not be saved: %s",
                      strerror(s->output.disk_errno));
    c->r->output_path = xstrdup(s->output.path);
    c->r->output_kept = s->output.cut ? s->output.cell_disk : 0;
    s->last_value = xstrdup(c->r->value);
    if (c->delivering && c->file_name)
        note(c, c->file_name, "was not saved completely");
    tell_lost(c);
    if (c->request.files_cut)
        note(c, "", "interrupted: the other files were not saved");
    if (c->notes.len)
        c->r->files_note = buf_steal(&c->notes, NULL);
    delivery_release(&c->delivery);
    buf_release(&c->notes);
    free(c->file_name);
    request_end(&c->request);
}
