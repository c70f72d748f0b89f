/* show_phase.c - the words of the status line: what is waited for, and how to stop it. */
#include <stdlib.h>

#include "base/mem.h"
#include "show/private.h"

static const struct {
    const char *before, *after; /* of the model's name; after NULL: it is not named */
    const char *hint;
} words[] = {
    [PHASE_ASKING] = {"Waiting for ", "...", NULL},
    [PHASE_LOADING] = {"The server is loading ", "...", NULL},
    [PHASE_RETRYING] = {"Retrying in", NULL, NULL},
    [PHASE_THINKING] = {"", " is thinking...", NULL},
    [PHASE_WRITING] = {"", " is writing...", NULL},
    [PHASE_CODING] = {"", " is writing code...", NULL},
    [PHASE_STARTING] = {"Starting the sandbox...", NULL, NULL},
    [PHASE_COPYING] = {"Copying data into the sandbox...", NULL, NULL},
    [PHASE_RUNNING] = {"Running...", NULL, NULL},
    [PHASE_STOPPING] = {"Stopping the code...", NULL, "Ctrl-C again kills it"},
    [PHASE_RESTORING] = {"Restoring the variables...", NULL, "the code was killed"},
    [PHASE_SAVING] = {"Saving files...", NULL, NULL},
    [PHASE_UPLOADING] = {"Uploading files...", NULL, NULL},
};

static void set_status(struct show *s, const struct status *status)
{
    if (!s->o.quiet)
        screen_status(&s->screen, status);
}

void show_status(struct show *s, const char *text)
{
    set_status(s, text ? &(struct status){.text = text} : NULL);
}

void show_draft(struct show *s, const char *draft, const char *queued)
{
    screen_draft(&s->screen, draft, queued);
}

void show_phase(struct show *s, const struct event *e)
{
    if (e->phase.phase == PHASE_NONE) {
        set_status(s, NULL);
        return;
    }
    const char *before = words[e->phase.phase].before, *after = words[e->phase.phase].after;
    autofree char *text = xasprintf("%s%s%s", before,
                                    !after     ? ""
                                    : s->model ? s->model
                                    : *before  ? "the model"
                                               : "The model",
                                    after ? after : "");

    set_status(s, &(struct status){.text = text,
                                   .hint = words[e->phase.phase].hint,
                                   .lines = e->phase.lines,
                                   .until = e->phase.until,
                                   .done = e->phase.done,
                                   .total = e->phase.total});
}

void show_asking(struct show *s, const char *model)
{
    const struct event e = {.type = EVENT_PHASE, .phase = {.phase = PHASE_ASKING}};

    if (model)
        xreplace(&s->model, xstrdup(model));
    show_phase(s, &e);
}
