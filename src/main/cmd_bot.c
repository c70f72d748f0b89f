/* cmd_bot.c - "sandpiper bot SERVICE": answers questions on a chat service until a signal ends it. The
 * process that speaks with the service has its token, which no other process has, and no key of a model
 * service.
 */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "bot/bot.h"
#include "front/runner.h"
#include "front/runners.h"
#include "main/command.h"
#include "main/front.h"
#include "net/transfers.h"
#include "packages/packages.h"
#include "process/loop.h"
#include "process/signals.h"

#define QUEUE_MS 3600000 /* that a question waits for a sandbox */
#define END_MS   5000    /* for the sandboxes to end */

struct running {
    struct loop *loop;
    struct transfers *transfers;
    struct runners *runners;
    struct bot *bot;
    struct error fatal; /* kind 0: nothing is wrong */
};

static void on_bot_fatal(void *ctx, const struct error *err)
{
    ((struct running *)ctx)->fatal = *err;
}

static void on_bot_starter_gone(void *ctx)
{
    error_set(&((struct running *)ctx)->fatal, ERROR_SYSTEM, 0,
              "the process that starts sandboxes has ended (was it killed?), so the bot ends too\n"
              "Start it again: it answers what is left.");
}

static const struct chat_service *service_of(const struct front *f, struct error *err)
{
    const struct argv *names = f->names;
    const struct chat_service *service = names->n == 1 ? chat_service_find(names->v[0]) : NULL;
    struct buf known autorelease(buf_release) = BUF_INIT(0);

    if (service && f->token && *f->token)
        return service;
    if (service)
        return error_null(err, ERROR_USAGE, 0,
                          "%s is not set: the token of the bot\nexport %s=..., then start it again.",
                          service->variable, service->variable);
    for (size_t i = 0; chat_services[i]; i++)
        buf_addf(&known, "%s%s", i ? ", " : "", chat_services[i]->name);
    return names->n == 1
               ? error_null(err, ERROR_USAGE, 0, "bot knows no service \"%.40s\"; there is: %s", names->v[0],
                            buf_str(&known))
               : error_null(err, ERROR_USAGE, 0, "bot needs one service: sandpiper bot %s", buf_str(&known));
}

/* The token goes into a header as it is. */
static int check_token(const struct front *f, const struct chat_service *service, struct error *err)
{
    for (const char *p = f->token; *p; p++)
        if (*p <= ' ' || *p > '~')
            return error_set(err, ERROR_USAGE, 0,
                             "%s: a token has no blanks and no other characters than ASCII",
                             service->variable);
    return 0;
}

static int open_bot(struct running *r, const struct front *f, struct error *err)
{
    const struct front_settings *set = &f->set;
    const struct chat_service *service = service_of(f, err);

    if (!service || check_token(f, service, err) < 0 || packages_allowed(&set->allow_packages, NULL, err) < 0
        || !(r->transfers = transfers_new(r->loop, set->ca_cert, err)))
        return -1;
    const struct runners_options ro = {.loop = r->loop,
                                       .starter = f->starter,
                                       .max = (unsigned)set->max_sandboxes,
                                       .ttl_ms = set->ttl,
                                       .queue_ms = QUEUE_MS,
                                       .pool = (unsigned)set->pool_size,
                                       .named = true,
                                       .weaker = print_line};
    r->runners = runners_new(&ro);
    const struct bot_options bo = {.loop = r->loop,
                                   .runners = r->runners,
                                   .transfers = r->transfers,
                                   .service = service,
                                   .per_user = set->per_user,
                                   .per_server = set->per_server,
                                   .verbose = set->verbose,
                                   .log = print_line};
    r->bot = bot_new(&bo);
    const struct chat_options co = {.loop = r->loop,
                                    .transfers = r->transfers,
                                    .token = f->token,
                                    .url = set->api_url ? set->api_url : service->url,
                                    .bot = r->bot,
                                    .verbose = set->verbose,
                                    .log = print_line,
                                    .fatal = on_bot_fatal,
                                    .ctx = r};
    void *started = service->start(&co, err);
    bot_attach(r->bot, started);
    return started ? 0 : -1;
}

int cmd_bot(const struct front *f)
{
    struct running r = {.loop = loop_new()};
    struct error err = {0};

    if (loop_signals(r.loop, &err) == 0 && open_bot(&r, f, &err) == 0) {
        loop_watch(r.loop, f->starter, 0, on_bot_starter_gone, &r);
        while (!loop_cancelled(r.loop) && !r.fatal.kind)
            transfers_wait(r.transfers, 60000);
        loop_unwatch(r.loop, f->starter);
        err = r.fatal;
    }
    int status = err.kind ? print_failure(&err) : 0;
    bot_free(r.bot);
    if (r.runners)
        runners_free(r.runners, true);
    transfers_free(r.transfers);
    runner_settle(r.loop, END_MS);
    runner_let_go();
    loop_free(r.loop);
    return status;
}
