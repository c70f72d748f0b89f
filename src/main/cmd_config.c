/* cmd_config.c - "sandpiper config": prints the values in force and where each came from. */
#include "base/buf.h"
#include "main/command.h"

int cmd_config(struct config *c, int closed)
{
    struct buf out = BUF_INIT(0);
    struct error err = {0};
    int status;

    (void)closed;
    status = config_print(c, &out, &err);
    print_notices(c);
    if (status < 0) {
        print_error(&err);
        status = error_exit_code(&err);
    } else {
        status = print_out(buf_str(&out), out.len);
    }
    buf_release(&out);
    return status;
}
