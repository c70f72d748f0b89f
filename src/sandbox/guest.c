/* guest.c - put the guest's text together. A part must not hold three single quotes in a row (tests/unit/sandbox/test_guest.c). */
#include "sandbox/guest.h"

#include "base/buf.h"
#include "base/embed.h"
#include "base/mem.h"

EMBED(guest_supervisor, "src/guest/supervisor.py")
EMBED(guest_worker, "src/guest/worker.py")
EMBED(guest_rare, "src/guest/rare.py")
EMBED(guest_files, "src/guest/files.py")
EMBED(guest_requests, "src/guest/requests.py")
EMBED(guest_profile_py, "src/guest/profile.py")

static void add_part(struct buf *b, const char *name, const char *text)
{
    buf_addf(b, "PARTS['%s'] = r'''", name);
    buf_addstr(b, text);
    buf_addstr(b, "'''\n");
}

char *guest_text(void)
{
    struct buf b = {0};

    buf_addstr(&b, guest_supervisor);
    add_part(&b, "worker", guest_worker);
    add_part(&b, "rare", guest_rare);
    add_part(&b, "files", guest_files);
    add_part(&b, "requests", guest_requests);
    buf_addstr(&b, "main()\n");
    return buf_steal(&b, NULL);
}

const char *guest_profile(void)
{
    return guest_profile_py;
}
