/* bot_limits.c - how many questions a user, and a server, may ask in an hour. What was asked is counted from
 * what is on disk, so a restart forgets nothing.
 */
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "bot/bot_private.h"
#include "bot/journal.h"
#include "json/json.h"

#define HOUR 3600

struct asked {
    const struct chat_message *m;
    int by_user, on_server;
    bool told; /* the user was told of a limit in this hour */
    int64_t first_of_user, first_on_server;
};

static bool same_text(const struct json *a, const char *b)
{
    return b && json_str(a) && !strcmp(json_str(a), b);
}

static void count_asked(void *ctx, const struct json *line)
{
    struct asked *a = ctx;
    int64_t at = json_int(json_get(line, "at"), 0);
    bool same_user = same_text(json_get(line, "user"), a->m->user);

    if (json_bool(json_get(line, "refused"), false)) {
        a->told |= same_user;
        return;
    }
    if (same_user && (!a->by_user++ || at < a->first_of_user))
        a->first_of_user = at;
    if (same_text(json_get(line, "server"), a->m->server) && (!a->on_server++ || at < a->first_on_server))
        a->first_on_server = at;
}

char *bot_over_limit(const struct bot *b, const struct chat_message *m, bool *silent)
{
    struct asked a = {.m = m};
    int64_t now = time(NULL);
    const int *most = NULL;
    int64_t first = 0;

    journal_since(b->journal, now - HOUR, count_asked, &a);
    for (const struct bot_question *qn = b->all; qn; qn = qn->next)
        count_asked(&a, qn->kept);
    if (b->o.per_user && a.by_user >= b->o.per_user) {
        most = &b->o.per_user;
        first = a.first_of_user;
    } else if (b->o.per_server && a.on_server >= b->o.per_server) {
        most = &b->o.per_server;
        first = a.first_on_server;
    }
    *silent = most && a.told;
    if (!most || *silent)
        return NULL;
    int64_t minutes = (first + HOUR - now + 59) / 60;
    return xasprintf("%s %d question%s in an hour, and %s used up. Ask again in %d minute%s.",
                     most == &b->o.per_user ? "You have" : "This server has", *most, *most == 1 ? "" : "s",
                     *most == 1 ? "it is" : "they are", (int)minutes, minutes == 1 ? "" : "s");
}
