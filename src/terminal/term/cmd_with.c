/* cmd_with.c - /with: packages that code can import. */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "term/commands.h"
#include "term/private.h"

static void slash_with(struct term *t, const char *text)
{
    struct error err = {0};
    autofree char *told = NULL;

    if (t->o.with(t->o.ctx, *text ? text : NULL, &told, &err) < 0)
        term_say_error(t, &err);
    else if (*text)
        term_sayf(t, NOTICE_INFO, "Code can import %s.", told);
    else if (told && *told)
        term_sayf(t, NOTICE_INFO, "Packages that you asked for: %s.", told);
    else
        term_say(t, NOTICE_INFO, "You asked for no packages. /with NAME fetches one.");
}

const struct chat_command command_with = {
    .name = "/with",
    .argument = "[NAMES]",
    .help = "packages that code can import: /with seaborn,polars>=1",
    .run = slash_with,
};
