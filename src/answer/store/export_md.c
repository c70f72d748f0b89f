/* export_md.c - a session as Markdown, to be read: questions as headings, code and output fenced. */
#include <string.h>

#include "base/mem.h"
#include "store/export.h"

static void fenced(struct buf *out, const char *tag, const char *text)
{
    autofree char *fence = export_fence(text);
    size_t len = strlen(text);

    buf_addf(out, "%s%s\n%s%s%s\n\n", fence, tag, text, len && text[len - 1] == '\n' ? "" : "\n", fence);
}

static void quoted(struct buf *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\n");

        buf_addf(out, n ? "> %.*s\n" : ">%.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
    buf_addch(out, '\n');
}

static void md_cell(struct buf *out, const struct item *i)
{
    const char *trouble = export_trouble(i);
    struct buf output autorelease(buf_release) = BUF_INIT(0);

    fenced(out, *i->language ? i->language : "python", i->code);
    for (size_t k = 0; k < i->n_outputs; k++)
        buf_addstr(&output, i->outputs[k].text);
    if (i->value) {
        if (output.len && buf_last(&output) != '\n')
            buf_addch(&output, '\n');
        buf_addstr(&output, i->value);
    }
    if (output.len)
        fenced(out, "text", buf_str(&output));
    if (trouble)
        fenced(out, "text", trouble);
    for (size_t k = 0; k < i->n_files; k++)
        buf_addf(out,
                 i->files[k].kind == FILE_FIGURE || i->files[k].kind == FILE_VALUE_PNG ? "![%s](<%s>)\n\n"
                                                                                       : "[%s](<%s>)\n\n",
                 i->files[k].name ? i->files[k].name : "", i->files[k].path ? i->files[k].path : "");
}

static void md_item(void *ctx, const struct item *i)
{
    struct buf *out = ctx;

    switch (i->kind) {
    case ITEM_SESSION:
        buf_addf(out, "# %s\n\nsandpiper session %s, %s, %s, in %s\n\n",
                 i->session->title ? i->session->title : "(no title)", i->session->id,
                 export_time(i->session->begun).text, i->session->model ? i->session->model : "model unknown",
                 i->session->folder ? i->session->folder : "?");
        break;
    case ITEM_QUESTION:
        buf_addf(out, "## Question %d\n\n", (int)i->number);
        quoted(out, i->text ? i->text : "");
        break;
    case ITEM_TEXT:
        buf_addf(out, "%s\n\n", i->text);
        break;
    case ITEM_CELL:
        md_cell(out, i);
        break;
    case ITEM_END:
        if (i->text && *i->text)
            buf_addf(out, "*%s*\n\n", i->text);
        break;
    }
}

const struct export_format export_md = {.name = "md", .item = md_item};
