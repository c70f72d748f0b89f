/* cmd_gc.c - "sandpiper gc": removes at once what killed programs left behind. Every start also does this, in
 * the background. */
#include "base/buf.h"
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
    struct buf removed autorelease(buf_release) = BUF_INIT(0);

    (void)closed;
    print_notices(c);
    sandbox_gc(loop, &swept);
    unsigned drafts = draft_sweep();
    loop_free(loop);
    const struct {
        unsigned n;
        const char *before, *one, *more, *after;
    } kinds[] = {
        {swept.sandboxes, "", "sandbox", "sandboxes", " left behind by killed programs"},
        {swept.ended, "the remains of ", "named sandbox", "named sandboxes", ""},
        {swept.groups, "", "control group", "control groups", " left behind by killed programs"},
        {drafts, "", "unfinished draft", "unfinished drafts", " of killed programs"},
    };

    for (size_t i = 0; i < countof(kinds); i++)
        if (kinds[i].n > 0)
            buf_addf(&removed, "removed %s%u %s%s\n", kinds[i].before, kinds[i].n,
                     kinds[i].n == 1 ? kinds[i].one : kinds[i].more, kinds[i].after);
    if (!removed.len && !*swept.silent && !swept.failed)
        buf_addstr(&removed, "nothing to remove\n");
    if (*swept.silent) {
        autofree char *silent = xasprintf(
            "no answer from %s: containers of killed programs may be left there\n"
            "Start the engine, then run sandpiper gc again",
            swept.silent);
        print_line(silent);
    }
    if (swept.failed > 0) {
        autofree char *more = swept.failed > 1 ? xasprintf(" and %u more", swept.failed - 1) : xstrdup("");
        autofree char *failed = xasprintf(
            "could not be removed: %s%s; is the engine running? (sandpiper doctor)", swept.left, more);
        print_line(failed);
    }
    int status = print_out(buf_str(&removed), removed.len);
    return status ? status : swept.failed > 0 || *swept.silent ? 1 : 0;
}
