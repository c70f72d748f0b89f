/* saved_fork.c - goes on with a copy of a session. */
#include <string.h>

#include "base/mem.h"
#include "config/config.h"
#include "saved/private.h"
#include "store/sessions.h"
#include "store/store.h"

struct db *saved_db(const struct saved *s, struct error *err)
{
    struct db *db = s->store ? store_db(s->store) : NULL;

    if (!db)
        error_set(err, ERROR_USAGE, 0,
                  s->store && !store_lost(s->store) ? "nothing is saved yet: no question was asked"
                                                    : "this session is not saved");
    return db;
}

static void keep_title(void *ctx, const struct session_row *row)
{
    *(char **)ctx = xstrdup(row->title ? row->title : "");
}

int saved_fork(struct saved *s, const char *wanted, char **title, char **was, struct error *err)
{
    struct session now, before = *s->session;

    if (!saved_db(s, err))
        return -1;
    if (s->config->sandbox_name)
        return error_set(err, ERROR_USAGE, 0,
                         "sandbox \"%s\" has a name, and its copy needs one too\n"
                         "Leave this chat, then: sandpiper fork %s NEW, sandpiper --sandbox-name NEW",
                         s->config->sandbox_name, s->config->sandbox_name);
    saved_branch(s, before.id);
    if (saved_leave(s, err) < 0 || session_open(&now, s->config, NULL, err) < 0)
        return -1;
    if (store_fork(s->store, now.id, *wanted ? wanted : NULL, err) < 0) {
        session_close(&now);
        return -1;
    }
    session_row(store_db(s->store), now.id, (struct session_taker){keep_title, title}, err);
    *was = xstrdup(session_short(before.id));
    *s->session = now;
    saved_branch(s, now.id);
    s->kept = 0;
    if (now.dir_lost)
        s->notice(s->ctx, NOTICE_WARNING, now.dir_lost);
    session_close(&before);
    return 0;
}
