/* cmd_receipt.c - "sandpiper receipt": what the answers of a session rest on, as a file that can be
 * repeated. */
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "json/json.h"
#include "main/command.h"
#include "saved/saved.h"
#include "receipt/receipt.h"
#include "store/db.h"
#include "store/sessions.h"
#include "store/store.h"

static int write_receipt(const struct config *c, const struct receipt *r, struct error *err)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    autojson struct json *o = receipt_json(r);

    json_line(o, &out);
    if (c->front.output)
        return newfile_write(c->front.output, buf_str(&out), out.len, err);
    return print_json(buf_str(&out), out.len);
}

/* Returns the exit code, or -1 with err. */
static int make_receipt(const struct config *c, const char *place, const struct store_found *found,
                        struct error *err)
{
    struct db *db autorelease(db_closep) = db_open(place, false, err);
    struct argv lacking autorelease(argv_release) = ARGV_INIT;
    struct receipt r autorelease(receipt_release) = {0};
    autofree char *sessions = xdg_path(XDG_STATE, "sessions");
    const struct session_export e = {.id = found->id, .sessions = sessions};

    if (!db || session_receipt(db, &e, &r, &lacking, err) < 0)
        return -1;
    if (r.n_pieces == 0)
        print_line("no code ran in this session, so there is nothing that a rerun could repeat");
    for (size_t i = 0; i < lacking.n; i++)
        print_line(lacking.v[i]);
    return write_receipt(c, &r, err);
}

int cmd_receipt(struct config *c, int closed)
{
    struct store_found found = {0};
    struct error err = {0};
    autofree char *place = saved_place(), *folder = getcwd(NULL, 0);
    int status = -1;

    (void)closed;
    print_notices(c);
    if (c->args.names.n > 1)
        error_set(&err, ERROR_USAGE, 0, "receipt takes the ID of one session: sandpiper receipt [ID]");
    else if (!place)
        error_set(&err, ERROR_USAGE, 0, "no session: there is no home directory\nSet HOME.");
    else if (store_find(place, c->args.names.n ? c->args.names.v[0] : NULL, folder ? folder : "", &found,
                        &err)
             == 0)
        status = make_receipt(c, place, &found, &err);
    store_found_release(&found);
    return status < 0 ? print_failure(&err) : status;
}
