/* saved_copies.c - a chat that goes to and fro between sessions that began as one (/fork, then /resume): the
 * interpreter of each that it leaves is kept as a live copy (sandbox/sandbox.h), until the program ends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"
#include "saved/private.h"
#include "sandbox/sandbox.h"
#include "store/sessions.h"
#include "store/store.h"

static struct kept_copy *branch_of(const struct saved *s, const char *id)
{
    for (size_t i = 0; i < s->copies->n; i++)
        if (!strcmp(s->copies->v[i].id, id))
            return &s->copies->v[i];
    return NULL;
}

static void drop_branch(struct kept_copies *all, size_t i)
{
    fd_close(&all->v[i].fd);
    memmove(all->v + i, all->v + i + 1, (--all->n - i) * sizeof *all->v);
}

/* The oldest gives way. */
static struct kept_copy *add_branch(struct kept_copies *all, const char *id)
{
    if (all->n == KEPT_COPIES_MAX)
        drop_branch(all, 0);
    struct kept_copy *k = &all->v[all->n++];
    *k = (struct kept_copy){.fd = -1};
    snprintf(k->id, sizeof k->id, "%s", id);
    return k;
}

static void note_kept_length(void *ctx, const struct session_row *row)
{
    struct kept_copy *k = ctx;

    k->questions = row->questions;
    k->ran = row->cells;
}

void saved_branch(struct saved *s, const char *id)
{
    if (!branch_of(s, id))
        add_branch(s->copies, id);
}

static int write_branch(struct saved *s, struct kept_copy *k, struct error *err)
{
    fd_close(&k->fd);
    k->fd = fd_sealable("live copy");
    k->cells = sandbox_cells(s->sandbox);
    if (k->fd < 0)
        return error_errno(err, "no memory file can be made for a live copy");
    return sandbox_copy_out(s->sandbox, k->fd, err) < 0
                   || session_row(store_db(s->store), k->id, (struct session_taker){note_kept_length, k}, err)
                          < 0
               ? -1
               : 0;
}

int saved_leave(struct saved *s, struct error *err)
{
    struct kept_copy *k = branch_of(s, s->session->id);
    struct error why = {0};

    if (!k || sandbox_cells(s->sandbox) == 0 || sandbox_failed(s->sandbox, &why)
        || write_branch(s, k, &why) == 0)
        return 0;
    fd_close(&k->fd);
    if (why.kind == ERROR_CANCELLED)
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    autofree char *line = xasprintf("%s\nSo /resume %s has to run its code again for its variables.",
                                    why.text, session_short(k->id));
    s->notice(s->ctx, NOTICE_WARNING, line);
    return 0;
}

bool saved_go_on(struct saved *s, struct sandbox *sandbox)
{
    struct kept_copy *k = branch_of(s, s->from->id);
    struct error err = {0};

    if (!k || k->fd < 0)
        return false;
    autoclose int fd = fd_steal(&k->fd);
    if (k->questions != s->from->questions || k->ran != s->from->cells) /* another program went on with it */
        return false;
    if (sandbox_copy_in(sandbox, fd, k->cells, &err) == 0) {
        saved_tell_made(s, sandbox);
        s->notice(s->ctx, NOTICE_INFO, "Its variables and files are as you left them.");
        return true;
    }
    s->notice(s->ctx, NOTICE_WARNING, err.text);
    return false;
}

void saved_copies_release(struct kept_copies *all)
{
    while (all->n)
        drop_branch(all, 0);
}
