/* saved.c - connects the store of sessions with a question or a chat: which session goes on, whether it is
 * saved, and what is said of it. */
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "chat/conversation.h"
#include "main/command.h"
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

/* Where nothing can be proven it may be alive. */
bool saved_busy(const char *writer)
{
    enum owner_state state = writer ? owner_check(writer) : OWNER_DEAD;

    return state == OWNER_ALIVE || state == OWNER_ELSEWHERE;
}

/* Ids become names of folders: they must look as session.c makes them. */
bool saved_good_id(const char *id)
{
    return strlen(id) < sizeof((struct session *)0)->id && strspn(id, "0123456789abcdef-") == strlen(id);
}

int saved_find(struct config *c, struct store_found *from, struct error *err)
{
    autofree char *place = saved_place(), *folder = present_folder();

    *from = (struct store_found){0};
    if (c->go_on && c->resume)
        return error_set(err, ERROR_USAGE, 0, "-c and -r exclude each other");
    if (!c->go_on && !c->resume)
        return c->replay_cells
                   ? error_set(err, ERROR_USAGE, 0, "--replay-cells is for a session continued with -c or -r")
                   : 0;
    if (!place)
        return error_set(err, ERROR_USAGE, 0, "no session: there is no home directory\nSet HOME.");
    if (store_find(place, c->resume, folder, from, err) < 0)
        return -1;
    if (!saved_good_id(from->id))
        return error_set(err, ERROR_SYSTEM, 0, "the saved sessions are damaged: a bad id");
    if (from->sandbox && !c->sandbox_name && sandbox_name_check(from->sandbox, NULL) == 0)
        c->sandbox_name = config_keep(c, from->sandbox);
    return 0;
}

int saved_open(const struct saved_options *o, struct store **store, struct error *err)
{
    const struct config *c = o->config;
    autofree char *place = saved_place(), *folder = present_folder(), *writer = owner_self();
    struct store_options so = {
        .place = place,
        .id = o->session->id,
        .folder = folder,
        .sandbox = c->sandbox_name,
        .writer = writer,
        .read_only = !c->save || c->replay,
        .notice = o->notice,
        .ctx = o->ctx,
    };

    *store = NULL;
    /* where the session has no folder, its line says that nothing is saved */
    if (!place || (!o->from->id && (so.read_only || o->session->dir_lost)))
        return 0;
    *store = store_new(&so, o->conversation, o->loop);
    return o->from->id ? store_resume(*store, o->from, err) : 0;
}

void saved_lines(const struct saved_options *o, char **user, char **model)
{
    const struct store_found *from = o->from;
    bool copy = strcmp(from->id, o->session->id) != 0 && o->config->save;
    bool gone = from->cells > 0 && !o->config->sandbox_name;
    autofree char *of = copy ? xasprintf(", in a copy, since another program uses it (%s)",
                                         session_short(o->session->id))
                             : xstrdup("");

    *user = xasprintf("Continuing \"%s\" (%s)%s.%s", from->title ? from->title : "", session_short(from->id),
                      of, gone ? " Its variables are gone." : "");
    *model = gone ? xstrdup("[This conversation was interrupted here and continues in a new interpreter: all "
                            "variables, imports and files in /mnt/data of before are gone.]")
                  : NULL;
}
