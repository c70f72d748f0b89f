/* chat_sessions.c - what the chat's commands on sessions do. While a session is saved its database is open
 * already, and it must not be opened a second time: closing any descriptor of a file drops its locks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "base/quoting.h"
#include "conversation/conversation.h"
#include "main/command.h"
#include "store/db.h"
#include "store/export.h"
#include "store/sessions.h"
#include "saved/saved.h"
#include "store/store.h"
#include "term/term.h"

#define LISTED 20

struct open_database {
    struct db *db, *own; /* own: to be closed */
};

static void close_own(struct open_database *o)
{
    db_close(o->own);
}

/* db NULL: there is none yet, or with err it cannot be opened. */
static struct open_database open_sessions(const struct saved *s, struct error *err)
{
    autofree char *place = saved_place();
    struct open_database o = {.db = s->store ? store_db(s->store) : NULL};

    if (!o.db && place)
        o.db = o.own = db_open(place, false, err);
    if (err->code == ENOENT)
        *err = (struct error){0};
    return o;
}

static int list_for_chat(void *ctx, const char *words, struct buf *out, struct error *err)
{
    struct open_database o autorelease(close_own) = open_sessions(ctx, err);

    return err->kind != ERROR_NONE ? -1 : sessions_table(o.db, *words ? words : NULL, LISTED, out, err);
}

static void names(void *ctx, struct argv *out)
{
    const struct saved *s = ctx;
    struct error err = {0};
    struct open_database o autorelease(close_own) = open_sessions(ctx, &err);

    sessions_names(o.db, LISTED, s->session->id, out);
}

static void keep_id(void *ctx, const struct session_row *row)
{
    struct config *c = ctx;

    c->resume = config_keep(c, row->id);
}

static int go_to(void *ctx, const char *id, struct error *err)
{
    struct saved *s = ctx;
    struct config *c = s->config;
    struct open_database o autorelease(close_own) = open_sessions(s, err);

    if (err->kind != ERROR_NONE)
        return -1;
    if (session_row(o.db, id, (struct session_taker){keep_id, c}, err) < 0) {
        if (err->kind == ERROR_USAGE)
            snprintf(err->remedy, sizeof err->remedy, "/sessions lists them");
        return -1;
    }
    if (!strcmp(c->resume, s->session->id))
        return error_set(err, ERROR_USAGE, 0, "this is that session");
    if (saved_leave(s, err) < 0)
        return -1;
    c->go_on = false;
    c->again = true;
    argv_release(&c->add);
    if (s->named)
        c->sandbox_name = NULL;
    return 0;
}

static int rename_session(void *ctx, const char *title, struct error *err)
{
    struct saved *s = ctx;

    if (!saved_db(s, err))
        return -1;
    store_rename(s->store, title);
    return 0;
}

static int export_session(void *ctx, const char *argument, struct buf *saved, struct error *err)
{
    const struct saved *s = ctx;
    struct buf text autorelease(buf_release) = BUF_INIT(0), path autorelease(buf_release) = BUF_INIT(0);
    size_t n = strcspn(argument, " \t");
    autofree char *format = xmemdup0(argument, n);
    const char *file = argument + n + strspn(argument + n, " \t");
    struct db *db = saved_db(s, err);

    if (!db)
        return -1;
    if (!export_is_format(format)) { /* it is the file */
        file = argument;
        xreplace(&format, xstrdup(export_format_of(file)));
    }
    autofree char *where = *file ? name_path(file) : NULL;
    if (where)
        buf_addstr(&path, where);
    else
        buf_addf(&path, "sandpiper-%s.%s", session_short(s->session->id), format);
    autofree char *sessions = xdg_path(XDG_STATE, "sessions");
    const struct session_export e = {s->session->id, format, sessions};
    if (session_export(db, &e, &text, err) < 0
        || newfile_write(buf_str(&path), buf_str(&text), text.len, err) < 0)
        return -1;
    const char *dot = strrchr(buf_str(&path), '.');
    buf_addstr(saved, buf_str(&path));
    if (!dot || strcmp(dot + 1, format) != 0)
        buf_addf(saved, " (format: %s)", format);
    return 0;
}

static int undo(void *ctx, struct error *err)
{
    struct saved *s = ctx;

    if (!conversation_undo(s->conversation))
        return error_set(err, ERROR_USAGE, 0, "Nothing to undo.");
    if (s->store)
        store_undone(s->store);
    return 0;
}

void chat_sessions(struct saved *s, struct term_sessions *out)
{
    *out = (struct term_sessions){list_for_chat, names, go_to, rename_session, export_session, undo, s};
}
