/* cmd_saved.c - /sessions, /resume, /rename, /export, /undo: what is saved. */
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "term/private.h"

void slash_sessions(struct term *t, const char *argument)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};

    if (t->o.sessions.list(t->o.sessions.ctx, argument, &out, &err) < 0)
        term_say_error(t, &err);
    else
        term_print(t, buf_str(&out), out.len);
}

const char *const *names_of_sessions(struct term *t)
{
    argv_release(&t->names);
    t->o.sessions.names(t->o.sessions.ctx, &t->names);
    return t->names.n ? (const char *const *)t->names.v : NULL;
}

void slash_resume(struct term *t, const char *argument)
{
    struct error err = {0};

    if (!*argument) {
        slash_sessions(t, "");
        term_say(t, NOTICE_INFO, "/resume ID continues one of them.");
    } else if (t->o.sessions.go_to(t->o.sessions.ctx, argument, &err) < 0) {
        term_say_error(t, &err);
    } else {
        t->leaving = true;
    }
}

void slash_rename(struct term *t, const char *argument)
{
    struct error err = {0};

    if (t->o.sessions.rename(t->o.sessions.ctx, argument, &err) < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO, "This session is now \"%s\".", argument);
}

void slash_export(struct term *t, const char *argument)
{
    struct buf saved autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};

    if (t->o.sessions.export(t->o.sessions.ctx, argument, &saved, &err) < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO, "saved: %s", buf_str(&saved));
}

void slash_undo(struct term *t)
{
    struct error err = {0};

    if (t->o.sessions.undo(t->o.sessions.ctx, &err) < 0)
        term_say_error(t, &err);
    else
        term_say(t, NOTICE_INFO, "Removed the last question and its answer. Variables and files are kept.");
}
