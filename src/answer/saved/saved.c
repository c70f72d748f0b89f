/* saved.c - connects the store of sessions with a question or a chat: which session goes on, whether it is
 * saved, and what is said of it. */
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/file.h"
#include "base/mem.h"
#include "ask/ask.h"
#include "config/config.h"
#include "config/folder.h"
#include "saved/private.h"
#include "process/loop.h"
#include "records/owner.h"
#include "sandbox/sandbox.h"
#include "store/sessions.h"
#include "store/store.h"

char *saved_place(void)
{
    return xdg_path(XDG_STATE, "store");
}

static char *present_folder(void)
{
    char *folder = getcwd(NULL, 0);

    return folder ? folder : xstrdup("");
}

/* A writer that cannot be proven dead counts as alive. */
bool saved_busy(const char *writer)
{
    return writer && !owner_dead(writer);
}

int saved_find(struct saved *s, struct error *err)
{
    autofree char *place = saved_place(), *folder = present_folder();
    struct config *c = s->config;

    if (c->go_on && c->resume)
        return error_set(err, ERROR_USAGE, 0, "-c and -r cannot be combined");
    if (!c->go_on && !c->resume)
        return c->rerun ? error_set(err, ERROR_USAGE, 0, "--rerun is for a session continued with -c or -r")
                        : 0;
    if (!place)
        return error_set(err, ERROR_USAGE, 0, "no session: there is no home directory\nSet HOME.");
    s->from = xcalloc(1, sizeof *s->from);
    if (store_find(place, c->resume, folder, s->from, err) < 0)
        return -1;
    autofree char *own = session_folder("", s->from->id);
    if (!own || strlen(s->from->id) >= sizeof s->session->id)
        return error_set(err, ERROR_SYSTEM, 0, "the saved sessions are damaged: a bad id");
    if (s->from->sandbox && !c->sandbox_name && sandbox_name_check(s->from->sandbox, NULL) == 0) {
        c->sandbox_name = config_keep(c, s->from->sandbox);
        s->named = true;
    }
    return 0;
}

static void on_store_notice(void *ctx, const char *line)
{
    struct saved *s = ctx;

    s->notice(s->ctx, NOTICE_WARNING, line);
}

static bool is_saved(const struct saved *s)
{
    return s->config->save && !s->config->replay;
}

int saved_open(struct saved *s, struct error *err)
{
    const struct config *c = s->config;
    bool save = is_saved(s), same = s->from && save && !saved_busy(s->from->writer);
    autofree char *place = saved_place(), *folder = present_folder(), *writer = owner_self();

    if (session_open(s->session, c, same ? s->from->id : NULL, err) < 0)
        return -1;
    s->session->unsaved = !c->save;
    /* where the session has no folder, its line says that nothing is saved */
    if (!place || (!s->from && (!save || s->session->dir_lost)))
        return 0;
    const struct store_options o = {
        .place = place,
        .id = s->session->id,
        .folder = folder,
        .sandbox = c->sandbox_name,
        .writer = writer,
        .read_only = !save,
        .notice = on_store_notice,
        .ctx = s,
    };
    s->store = store_new(&o, s->conversation, s->loop);
    for (size_t i = 0; s->agents && i < s->agents->n; i++)
        store_agent(s->store, s->agents->pipeline.v[i].role, &s->agents->v[i].conversation);
    return s->from ? store_resume(s->store, s->from, err) : 0;
}

#define GONE                                                                                              \
    "[This conversation was interrupted here and continues in a new interpreter: all variables, imports " \
    "and "                                                                                                \
    "files in /mnt/data from before are gone.]"

static bool wants_rerun(const struct saved *s)
{
    autofree char *question = NULL;

    if (s->config->rerun || !s->chat || !s->config->ask)
        return s->config->rerun;
    question = xasprintf("Run its code again (%d run%s) to restore the variables? [y/N] ",
                         (int)s->from->cells, s->from->cells == 1 ? "" : "s");
    return s->config->ask(s->config->ask_ctx, question) == FOLDER_ALLOWED;
}

/* A named sandbox may have ended meanwhile. */
static bool variables_live(const struct saved *s, struct sandbox *sandbox)
{
    return s->config->sandbox_name && sandbox_wait(sandbox, NULL) == 0 && sandbox_cells(sandbox) > 0;
}

int saved_continue(struct saved *s, struct sandbox *sandbox, struct agent *agent, struct error *err)
{
    const struct store_found *from = s->from;
    autofree char *user = NULL, *model = NULL;

    if (!from)
        return 0;
    bool copy = is_saved(s) && strcmp(from->id, s->session->id) != 0 && s->store && store_db(s->store);
    autofree char *line = saved_line(from, copy ? s->session->id : NULL);
    s->notice(s->ctx, NOTICE_INFO, line);
    if (variables_live(s, sandbox) || saved_go_on(s, sandbox))
        return 0;
    if (from->cells == 0) {
        if (saved_put_files(s, sandbox, &user, &model, err) < 0)
            return -1;
        if (!user)
            return 0;
    } else if (!wants_rerun(s)) {
        user = xasprintf("Its variables are gone.%s", s->chat ? "" : " (--rerun runs its code again first.)");
        model = xstrdup(GONE);
        if (s->store)
            store_fresh(s->store);
    } else if (!(user = saved_rerun(s, sandbox, &model, err))) {
        return -1;
    }
    s->notice(s->ctx, NOTICE_INFO, user);
    agent_tell(agent, model);
    for (size_t i = 0; s->agents && i < s->agents->n; i++)
        agent_tell(s->agents->v[i].agent, model);
    return 0;
}

void saved_release(struct saved *s)
{
    store_free(s->store);
    s->store = NULL;
    if (s->from)
        store_found_release(s->from);
    free(s->from);
    s->from = NULL;
}
