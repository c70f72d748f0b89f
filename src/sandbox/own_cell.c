/* own_cell.c - code of the program's own in the interpreter, between the cells of others: what was lost stays
 * for those to be told, and it has no number of theirs.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/private.h"
#include "sandbox/sandbox.h"

int sandbox_run_own(struct sandbox *s, const struct own_cell *o, struct cell_result *r, struct error *err)
{
    int cell_ms = s->o.cell_ms;
    bool lost = s->lost_state, revived = s->revived;

    s->lost_state = s->revived = false;
    s->o.cell_ms = o->ms;
    int status = sandbox_run(s, o->code, strlen(o->code), NULL, r, err);
    s->o.cell_ms = cell_ms;
    if (s->cells > 0 && s->stage == STAGE_READY)
        s->cells--; /* it was not one of anybody's */
    if (status == 0 && (r->state_lost || r->files_lost)) {
        s->lost_files |= r->files_lost;
        snprintf(s->lost_why, sizeof s->lost_why, "the interpreter ended when %s", o->doing);
    }
    s->lost_state |= lost || (status == 0 && r->state_lost);
    s->revived |= revived && !s->lost_state;
    return status;
}

/* b'...' with every byte that is not plainly itself as \xNN. */
static void add_bytes(struct buf *out, const char *text)
{
    buf_addstr(out, "b'");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if (*p < 0x20 || *p > 0x7e || *p == '\'' || *p == '\\')
            buf_addf(out, "\\x%02x", *p);
        else
            buf_addch(out, (char)*p);
    }
    buf_addstr(out, "'");
}

int sandbox_set_arguments(struct sandbox *s, char *const *argv, size_t n, struct error *err)
{
    struct buf code autorelease(buf_release) = BUF_INIT(0);
    struct cell_result r autorelease(cell_result_release) = {0};

    sandbox_start(s);
    if (sandbox_wait(s, err) < 0)
        return -1;
    /* Nothing is added to the namespace, and no name in it is used: earlier code may have set one like it. */
    buf_addstr(&code, "__builtins__.__import__('sys').argv[:] = "
                      "[a.decode('utf-8', 'surrogateescape') for a in (");
    for (size_t i = 0; i < n; i++) {
        add_bytes(&code, argv[i]);
        buf_addstr(&code, ", ");
    }
    buf_addstr(&code, ")]");
    struct own_cell o = {
        .code = buf_str(&code),
        .ms = s->o.cell_ms,
        .doing = "it was given the arguments",
    };
    if (sandbox_run_own(s, &o, &r, err) < 0)
        return err && err->kind == ERROR_USAGE ? error_wrap(err, "the arguments, as code") : -1;
    if (r.status == CELL_INTERRUPTED)
        return error_set(err, ERROR_CANCELLED, 0, "interrupted");
    if (r.status != CELL_OK)
        return error_set(err, ERROR_SANDBOX, 0, "the arguments could not be passed: %.300s",
                         r.exception ? r.exception
                         : r.what    ? r.what
                                     : "the interpreter refused them");
    return 0;
}
