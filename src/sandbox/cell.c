/* cell.c - collect what comes back from a cell. Every value is the code's: cut to a size and repaired to valid UTF-8 here. */
#include "sandbox/cell.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/scrub.h"

enum { VALUE_MAX = 20000, LINE_MAX_ = 4000, TRACE_MAX = 20000, HINT_MAX = 4000, NOTES_MAX = 8192, NAME_MAX_ = 1024 };

static const char *on_output(struct cell *c, int stream, const struct frame *f)
{
    int64_t began;

    *(stream == 1 ? &c->r->out_bytes : &c->r->err_bytes) += f->len;
    output_add(&c->sandbox->output, f->data, f->len);
    if (c->listener && c->listener->output) {
        began = clock_ms();
        c->listener->output(c->listener->ctx, stream, f->data, f->len);
        c->blocked_ms += clock_ms() - began;
    }
    return NULL;
}

static enum cell_status status_of(const struct tagged *t)
{
    static const struct { const char *name; enum cell_status status; } names[] = {
        {"ok", CELL_OK}, {"exit", CELL_EXIT}, {"interrupted", CELL_INTERRUPTED},
    };

    for (size_t i = 0; i < countof(names); i++)
        if (t->len == strlen(names[i].name) && memcmp(t->data, names[i].name, t->len) == 0)
            return names[i].status;
    return CELL_EXCEPTION;
}

static void take_text(char **to, const struct tagged *t, size_t max)
{
    free(*to);
    *to = tagged_text(t, max);
}

static const char *on_result(struct cell *c, const struct frame *f)
{
    const char *p = f->data;
    size_t left = f->len;
    struct tagged t;

    if (c->answered)
        return "it sent two results for one cell";
    c->answered = true;
    c->answered_at = clock_ms();
    c->claimed = CELL_EXCEPTION;
    /* A body that ends in the middle of a value comes from code that writes to the worker's socket: what was read stands. */
    while (tagged_next(&p, &left, &t) > 0) {
        int64_t n = tagged_int(&t);

        switch (t.tag) {
        case 's': c->claimed = status_of(&t); break;
        case 'v': take_text(&c->r->value, &t, VALUE_MAX); break;
        case 'e': take_text(&c->r->exception, &t, LINE_MAX_); break;
        case 't': take_text(&c->r->traceback, &t, TRACE_MAX); break;
        case 'h': take_text(&c->r->hint, &t, HINT_MAX); break;
        case 'l': c->r->line = n > 0 && n < 10000000 ? (int)n : 0; break;
        case 'x': c->r->exit_code = n > INT_MIN && n <= INT_MAX ? (int)n : -1; break;
        default: break;
        }
    }
    return NULL;
}

static void note(struct cell *c, const char *name, const char *why)
{
    buf_addf(&c->notes, "%s%s%s%s", c->notes.len ? "\n" : "", name, *name ? ": " : "", why);
}

static const char *on_file(struct cell *c, const struct frame *f)
{
    const char *p = f->data;
    size_t left = f->len;
    struct tagged t;
    char *scrubbed;
    int64_t size = -1;
    int rc;

    if (c->delivering)
        return "it began a file inside a file";
    free(steal(&c->file_name));
    c->figure = false;
    while ((rc = tagged_next(&p, &left, &t)) > 0) {
        if (t.tag == 'n')
            take_text(&c->file_name, &t, NAME_MAX_);
        else if (t.tag == 's')
            size = tagged_int(&t);
        else if (t.tag == 'g')
            c->figure = true;
    }
    if (rc < 0 || !c->file_name || size < 0)
        return "it sent a malformed file";
    scrubbed = scrub_line(c->file_name, SCRUB_TERMINAL);    /* it goes into lines that people and models read */
    free(c->file_name);
    c->file_name = scrubbed;
    c->file_count++;
    c->file_bytes += (uint64_t)size;
    if (c->file_count > FILES_CELL_COUNT || c->file_bytes > FILES_CELL_BYTES)
        return "it sent more files than allowed";
    delivery_begin(&c->delivery, c->sandbox->o.out_dir ? c->sandbox->o.out_dir : ".", c->file_name, (uint64_t)size);
    c->delivering = true;
    return NULL;
}

static const char *on_file_end(struct cell *c)
{
    struct cell_result *r = c->r;
    char *path;

    if (!c->delivering)
        return "it ended a file that it had not begun";
    c->delivering = false;
    path = delivery_end(&c->delivery);
    if (!path) {
        note(c, c->file_name, c->delivery.why);
        if (!r->undelivered)
            r->undelivered = xasprintf("%s: %s", c->file_name, c->delivery.why);
    } else {
        r->files = xreallocarray(r->files, r->n_files + 1, sizeof *r->files);
        r->files[r->n_files++] =
            (struct cell_file){.name = steal(&c->file_name), .path = path, .size = c->delivery.got, .figure = c->figure};
    }
    delivery_release(&c->delivery);
    return NULL;
}

static const char *on_frame(struct request *q, const struct frame *f)
{
    struct cell *c = (struct cell *)q;
    struct tagged t = {.data = f->data, .len = f->len};

    switch (f->type) {
    case 'O': return on_output(c, 1, f);
    case 'E': return on_output(c, 2, f);
    case 'R': return on_result(c, f);
    case 'F': return on_file(c, f);
    case 'D':
        if (!c->delivering || !delivery_add(&c->delivery, f->data, f->len))
            return "it sent more of a file than it had announced";
        return NULL;
    case 'G': return on_file_end(c);
    case 'N': {
        autofree char *text = tagged_text(&t, NOTES_MAX);

        note(c, "", text);
        return NULL;
    }
    default: return "it sent a frame of an unknown kind";
    }
}

void cell_begin(struct cell *c, struct sandbox *s, const struct cell_listener *l, struct cell_result *r)
{
    *c = (struct cell){.sandbox = s, .r = r, .listener = l, .notes = BUF_INIT(NOTES_MAX)};
    delivery_init(&c->delivery);
    output_begin(&s->output, s->output_dir, s->cells, &s->disk);
    free(steal(&s->last_value));
    request_begin(s, &c->request, on_frame);
}

void cell_end(struct cell *c)
{
    struct sandbox *s = c->sandbox;

    output_end(&s->output);
    if (s->output.disk_errno && s->o.notice) {
        autofree char *line = xasprintf("the full output could not be kept on disk: %s", strerror(s->output.disk_errno));
        s->o.notice(s->o.notice_ctx, false, line);
    }
    c->r->output_path = xstrdup(s->output.path);
    s->last_value = xstrdup(c->r->value);
    if (c->delivering && c->file_name)
        note(c, c->file_name, "was not copied out to its end");
    if (c->request.files_cut)
        note(c, "", "interrupted: the other files were not copied out");
    if (c->notes.len)
        c->r->files_note = buf_steal(&c->notes, NULL);
    delivery_release(&c->delivery);
    buf_release(&c->notes);
    free(c->file_name);
    request_end(s, &c->request);
}
