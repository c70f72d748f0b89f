/* ask_chat.c - what a chat has beyond a question: the terminal, and what its commands may change. */
#include <string.h>
#include <unistd.h>

#include "ask/service.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "agent/agent.h"
#include "main/talk.h"
#include "process/signals.h"
#include "sandbox/sandbox.h"
#include "term/term.h"

/* "/model NAME" in the chat. */
static int change_model(void *ctx, const char *name, const char **now, struct error *err)
{
    struct ask *a = &((struct talk *)ctx)->ask;

    if (!name) {
        *now = llm_model(a->llm);
        return 0;
    }
    if (ask_change_model(a, name, err) < 0)
        return -1;
    *now = llm_model(a->llm);
    ask_tell_known(a);
    int listed = known_listed(&a->endpoint, *now);
    return listed < 0 ? TERM_MODEL_UNCHECKED : listed ? TERM_MODEL_LISTED : TERM_MODEL_UNLISTED;
}

/* The first prompt stands, and no line has been taken yet. */
static void at_prompt(void *ctx)
{
    struct ask *a = &((struct talk *)ctx)->ask;
    struct llm_options o;
    struct error err = {0};

    if (!a->known.waits_for_prompt)
        return;
    a->known.waits_for_prompt = false;
    ask_model_options(a, a->model, &o);
    if (llm_reconfigure(a->llm, &o, &err) < 0)
        ask_notice(a, NOTICE_ERROR, err.text);
    ask_tell_known(a);
}

/* Tab after "/model ". The user is waiting for it, so if no list is cached the service is asked. */
static const char *const *model_names(void *ctx)
{
    struct talk *t = ctx;

    argv_release(&t->names);
    known_names(&t->ask.endpoint, &t->names);
    return t->names.n ? (const char *const *)t->names.v : NULL;
}

/* "/timeout TIME" in the chat. */
static int cell_time(void *ctx, const char *text, int64_t *ms, struct error *err)
{
    struct ask *a = &((struct talk *)ctx)->ask;
    const struct setting s = {option_by_flag("timeout", 7), text, "/timeout", {SOURCE_FLAG, 0, "/timeout"}};

    if (text && config_set(a->c, &s, err) < 0)
        return -1;
    *ms = a->c->timeout;
    sandbox_set_cell_time(a->sandbox, (int)*ms);
    agent_set_cell_time(a->agent, *ms);
    return 0;
}

static void on_added_notice(void *ctx, bool detail, const char *line)
{
    ask_notice(ctx, detail ? NOTICE_DETAIL : NOTICE_INFO, line);
}

/* "/with NAMES": into the sandbox as it runs, so that its variables stay. */
static int add_with(void *ctx, const char *names, char **told, struct error *err)
{
    struct talk *t = ctx;
    struct ask *a = &t->ask;
    struct argv wanted autorelease(argv_release) = ARGV_INIT;
    const struct with_ask ask = {
        .c = a->c, .loop = a->loop, .notice = on_added_notice, .ctx = a, .restarts = true};

    if (!names) {
        const char *now = sandbox_options(a->sandbox)->with;

        *told = xstrdup(now ? now : "");
        return 0;
    }
    loop_arm(a->loop);
    if (packages_want(&wanted, "/with", names, err) < 0)
        return -1;
    const struct packages_set *set = with_add(&t->with, &ask, a->sandbox, &wanted, err);
    if (!set)
        return -1;
    autofree char *note = xasprintf("[The user has added packages: code can import %s now.]", set->names);
    agent_tell(a->agent, note);
    *told = xstrdup(set->names);
    return 0;
}

/* "/fork": the sandbox goes with the copy; a live copy of its interpreter stays for the session before. */
static int fork_chat(void *ctx, const char *wanted, char **title, char **was, struct error *err)
{
    struct talk *t = ctx;

    if (saved_fork(&t->saved, wanted, title, was, err) < 0)
        return -1;
    sandbox_set_folders(t->ask.sandbox, t->session.dir, t->session.out_dir);
    return 0;
}

/* "/doctor" in the chat: what was given on the command line, and the model of now. The key is where it was:
 * in the environment or in a file. */
static void doctor_options(void *ctx, struct argv *words)
{
    const struct ask *a = &((const struct talk *)ctx)->ask;

    args_again(&a->c->args, FOR_DOCTOR, words);
    argv_pushf(words, "--model=%s", llm_model(a->llm));
}

int talk_open_chat(struct talk *t, struct error *err)
{
    const struct ask *a = &t->ask;
    const struct config *c = a->c;
    autofree char *history = xdg_path(XDG_STATE, "history");
    if (history && t->session.dir_lost && access(history, W_OK) < 0)
        free(steal(&history)); /* the error was already shown */
    t->place = sandbox_place(a->sandbox);
    struct buf mounted autorelease(buf_release) = BUF_INIT(0);
    const struct mounts *m = sandbox_options(a->sandbox)->run.mounts;
    for (size_t i = 0; m && i < m->n; i++) {
        autofree char *line = mount_line(&m->v[i]), *clean = scrub_line(line, SCRUB_TERMINAL);
        buf_addf(&mounted, "%s.\n", clean);
    }
    if (t->network.text) {
        autofree char *line = network_setup_line(&t->network);
        buf_addf(&mounted, "%s.\n", line);
    }
    autofree char *greeting = xasprintf(
        "sandpiper " VERSION ": %s at %s\n%s%s%s%s/help lists the commands, Ctrl-D ends.", a->model,
        endpoint_title(&a->endpoint), t->place ? "Code runs in " : "", t->place ? t->place : "",
        t->place ? ".\n" : "", buf_str(&mounted));
    struct term_options o = {
        .show = talk_show_options(t),
        .history_path = history,
        .notify = c->notify,
        .keep_history = c->save,
        .greeting = greeting,
        .files = talk_files(c),
        .system = c->system,
        .model = change_model,
        .models = model_names,
        .cell_time = cell_time,
        .with = add_with,
        .fork = fork_chat,
        .at_prompt = at_prompt,
        .doctor = doctor_options,
        .sandbox = a->sandbox,
        .sandbox_name = c->sandbox_name,
        .ctx = t,
    };

    chat_sessions(&t->saved, &o.sessions);
    t->term = term_new(&o, t->loop, err);
    return t->term ? 0 : -1;
}
