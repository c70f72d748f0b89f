/* export_py.c - the code of a session as one Python file, in cells (# %%); all else is comment. Code that
 * failed stands there as comment too, since the file would end at it. */
#include <string.h>

#include "base/mem.h"
#include "conversation/cell_result.h"
#include "store/export.h"

/* A carriage return ends a comment as well, so what follows it gets a line of its own. */
static void comment(struct buf *out, const char *text)
{
    while (*text) {
        size_t n = strcspn(text, "\r\n");

        buf_addf(out, n ? "# %.*s\n" : "#%.*s\n", (int)n, text);
        text += n;
        text += *text == '\r' && text[1] == '\n' ? 2 : *text != '\0';
    }
}

static void py_cell(struct buf *out, const struct item *i)
{
    size_t len = strlen(i->code);

    buf_addf(out, "\n# %%%% cell %d%s\n", (int)i->number, i->own ? ", your own" : "");
    if (*i->language) {
        autofree char *line = xasprintf("This is %s:", i->language);

        comment(out, line);
        comment(out, i->code);
    } else if (i->status == CELL_OK) {
        buf_addf(out, "%s%s", i->code, len && i->code[len - 1] == '\n' ? "" : "\n");
    } else {
        comment(out, "This failed:");
        comment(out, i->code);
        if (i->exception)
            comment(out, i->exception);
    }
    for (size_t k = 0; k < i->n_files; k++) {
        autofree char *line = xasprintf("file: %s", i->files[k].path ? i->files[k].path : "");
        comment(out, line);
    }
}

static void py_item(void *ctx, const struct item *i)
{
    struct buf *out = ctx;
    autofree char *line = NULL;

    switch (i->kind) {
    case ITEM_SESSION:
        line = xasprintf("%s\nsandpiper session %s, %s; the code ran in /mnt/data",
                         i->session->title ? i->session->title : "(no title)", i->session->id,
                         export_time(i->session->begun).text);
        comment(out, line);
        break;
    case ITEM_QUESTION:
        buf_addstr(out, "\n# %% [markdown]\n");
        comment(out, i->text ? i->text : "");
        break;
    case ITEM_TEXT:
        buf_addstr(out, "\n# %% [markdown]\n");
        comment(out, i->text);
        break;
    case ITEM_CELL:
        py_cell(out, i);
        break;
    case ITEM_END:
        break;
    }
}

const struct export_format export_py = {.name = "py", .item = py_item};
