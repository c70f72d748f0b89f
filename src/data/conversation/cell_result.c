/* cell_result.c - says in words how a cell ended: whether it worked, and the error that it ended with. */
#include "conversation/cell_result.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

void cell_result_release(struct cell_result *r)
{
    char *owned[] = {r->value,      r->exception,   r->traceback,        r->hint,
                     r->what,       r->left,        r->before,           r->output_path,
                     r->files_note, r->undelivered, r->undelivered_name, r->undelivered_remedy,
                     r->packages};

    for (size_t i = 0; i < countof(owned); i++)
        free(owned[i]);
    for (size_t i = 0; i < r->n_files; i++) {
        free(r->files[i].name);
        free(r->files[i].path);
    }
    free(r->files);
    *r = (struct cell_result){0};
}

bool cell_succeeded(const struct cell_result *r)
{
    return r->status == CELL_OK || (r->status == CELL_EXIT && r->exit_code == 0);
}

int cell_exit_code(const struct cell_result *r)
{
    switch (r->status) {
    case CELL_OK:
        return 0;
    case CELL_EXCEPTION:
        return 1;
    case CELL_TIMEOUT:
        return 124;
    case CELL_INTERRUPTED:
        return 130;
    case CELL_MEMORY:
    case CELL_OUTPUT:
        return 137;
    case CELL_NOT_RUN:
        return r->exit_code ? r->exit_code : 125;
    case CELL_EXIT:
    case CELL_DIED:
        break;
    }
    return r->exit_code & 255;
}

char *cell_what(const struct cell_result *r)
{
    const char *const all[] = {r->what, r->left, r->before};
    const char *parts[countof(all)];
    struct buf out = BUF_INIT(0);
    size_t n = 0;

    for (size_t i = 0; i < countof(all); i++)
        if (all[i] && *all[i])
            parts[n++] = all[i];
    if (n < 2)
        return n ? xstrdup(parts[0]) : NULL;
    for (size_t i = 0; i < n; i++)
        buf_addf(&out, "%s%c%s.", i ? " " : "", toupper((unsigned char)*parts[i]), parts[i] + 1);
    return buf_steal(&out, NULL);
}

char *cell_error(const struct cell_result *r)
{
    if (r->status == CELL_OK)
        return NULL;
    char *what = r->status == CELL_EXCEPTION && r->traceback ? NULL : cell_what(r);
    return what ? what : xstrdup(r->traceback ? r->traceback : r->exception);
}

const char *cell_status_name(enum cell_status s)
{
    static const char *const names[] = {
        [CELL_OK] = "ok",
        [CELL_EXCEPTION] = "exception",
        [CELL_EXIT] = "exit",
        [CELL_TIMEOUT] = "timeout",
        [CELL_INTERRUPTED] = "interrupted",
        [CELL_MEMORY] = "memory",
        [CELL_OUTPUT] = "output",
        [CELL_DIED] = "died",
        [CELL_NOT_RUN] = "not_run",
    };

    return names[s];
}
