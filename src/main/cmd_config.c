/* cmd_config.c - "sandpiper config": prints the values in force and where each came from. */
#include "base/buf.h"
#include "base/mem.h"
#include "main/command.h"

int cmd_config(struct config *c, int closed)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};

    (void)closed;
    int status = config_print(c, &out, &err);
    print_notices(c);
    return status < 0 ? print_failure(&err) : print_out(buf_str(&out), out.len);
}
