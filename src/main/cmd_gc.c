/* cmd_gc.c - "sandpiper gc": removes at once what killed programs left behind. Every start also does this, in
 * the background. */
#include <stdio.h>
#include <string.h>

#include "base/draft.h"
#include "base/mem.h"
#include "main/command.h"
#include "process/loop.h"
#include "sandbox/sandbox.h"

int cmd_gc(struct config *c, int closed)
{
    /* Ctrl-C simply ends this program: there is nothing to clean up. */
    struct loop *loop = loop_new();
    struct sweep_result swept;
    char line[200];

    (void)closed;
    print_notices(c);
    sandbox_gc(loop, &swept);
    unsigned drafts = draft_sweep();
    loop_free(loop);
    if (swept.sandboxes > 0)
        snprintf(line, sizeof line, "removed %u sandbox%s left behind by killed programs\n", swept.sandboxes,
                 swept.sandboxes == 1 ? "" : "es");
    else if (swept.ended > 0)
        snprintf(line, sizeof line, "removed the remains of %u named sandbox%s\n", swept.ended,
                 swept.ended == 1 ? "" : "es");
    else if (swept.groups > 0)
        snprintf(line, sizeof line, "removed %u control group%s left behind by killed programs\n",
                 swept.groups, swept.groups == 1 ? "" : "s");
    else if (drafts > 0)
        snprintf(line, sizeof line, "removed %u unfinished draft%s of killed programs\n", drafts,
                 drafts == 1 ? "" : "s");
    else
        snprintf(line, sizeof line, "nothing to remove\n");
    if (swept.failed > 0) {
        autofree char *more = swept.failed > 1 ? xasprintf(" and %u more", swept.failed - 1) : xstrdup("");
        autofree char *failed = xasprintf(
            "could not be removed: %s%s; is the engine running? (sandpiper doctor)", swept.left, more);
        print_line(failed);
    }
    int status = print_out(line, strlen(line));
    return status ? status : swept.failed > 0 ? 1 : 0;
}
