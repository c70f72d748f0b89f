/* cmd_model.c - /model, /models and /system: whom the questions go to, and with which words before them. */
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "show/show.h"
#include "term/commands.h"
#include "term/private.h"

#define MODELS_SHOWN 60

static void slash_model(struct term *t, const char *name)
{
    struct error err = {0};
    const char *now = NULL;

    if (!t->o.model)
        return;
    int known = t->o.model(t->o.ctx, *name ? name : NULL, &now, &err);
    if (known < 0) {
        term_say_error(t, &err);
        return;
    }
    term_sayf(t, NOTICE_INFO, !*name ? "The model is \"%s\".%s" : "Model set to \"%s\"%s.", now,
              !*name || known == TERM_MODEL_LISTED ? ""
              : known == TERM_MODEL_UNLISTED       ? ", which is not in the service's list"
                                                   : " (not checked)");
    show_asking(t->show, now);
    show_status(t->show, NULL);
}

static const char *const *names_of_models(struct term *t)
{
    return t->o.models ? t->o.models(t->o.ctx) : NULL;
}

const struct chat_command command_model = {
    .name = "/model",
    .argument = "[NAME]",
    .help = "change the model; without NAME: show it",
    .run = slash_model,
    .names = names_of_models,
    .usual = true,
    .more = "The conversation goes on with the new model. Tab completes names.\n",
};

/* All of a long list would be of no use on a screen. */
static void slash_models(struct term *t, const char *text)
{
    const char *const *names = names_of_models(t);
    struct buf list autorelease(buf_release) = BUF_INIT(0);
    size_t shown = 0, more = 0;

    for (; names && *names; names++)
        if (!strcasestr(*names, text))
            continue;
        else if (shown++ < MODELS_SHOWN)
            buf_addf(&list, "%s\n", *names);
        else
            more++;
    if (more)
        buf_addf(&list, "... and %zu more: /models TEXT\n", more);
    if (shown)
        term_print(t, list.data, list.len);
    else
        term_say(t, NOTICE_INFO,
                 *text ? "No model of the service has that in its name."
                       : "The service does not list its models.");
}

const struct chat_command command_models = {
    .name = "/models",
    .argument = "[TEXT]",
    .help = "the models of the service whose names contain TEXT",
    .run = slash_models,
};

static void slash_system(struct term *t, const char *text)
{
    bool off = !strcmp(text, "off"), removed = off && t->system;

    if (*text) {
        xreplace(&t->system, off ? NULL : xstrdup(text));
        agent_set_system(t->agent, off ? NULL : text);
    }
    autofree char *line = t->system ? xasprintf("Custom instructions: %s", t->system) : NULL;
    term_say(t, NOTICE_INFO,
             line      ? line
             : removed ? "Custom instructions removed."
                       : "No custom instructions set. /system TEXT sets them.");
}

static const char *const system_words[] = {"off", NULL};

const struct chat_command command_system = {
    .name = "/system",
    .argument = "[TEXT|off]",
    .help = "set custom instructions; without TEXT: show them",
    .run = slash_system,
    .words = system_words,
    .usual = true,
    .more = "TEXT is added to what the model is told before every question.\n",
};
