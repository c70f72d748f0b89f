/* guest.c - put the guest's text together: what "python3 -c" is given, and what it then takes from the
 * channel. */
#include "sandbox/guest.h"

#include <string.h>

#include "base/buf.h"
#include "base/embed.h"
#include "base/mem.h"
#include "sandbox/frame.h"

EMBED(guest_boot_py, "src/guest/boot.py")
EMBED(guest_start_py, "src/guest/start.py")
EMBED(guest_supervisor_py, "src/guest/supervisor.py")
EMBED(guest_deaths_py, "src/guest/deaths.py")
EMBED(guest_parked_py, "src/guest/parked.py")
EMBED(guest_park_py, "src/guest/park.py")
EMBED(guest_flood_py, "src/guest/flood.py")
EMBED(guest_files_py, "src/guest/files.py")
EMBED(guest_requests_py, "src/guest/requests.py")
EMBED(guest_packages_py, "src/guest/packages.py")
EMBED(guest_named_py, "src/guest/named.py")
EMBED(guest_worker_py, "src/guest/worker.py")
EMBED(guest_rare_py, "src/guest/rare.py")
EMBED(guest_profile_py, GUEST_PROFILE) /* profile*.py, one text */
EMBED(guest_walls_py, "src/guest/walls.py")
EMBED(guest_code, GUEST_CODE) /* all but boot and profile, compiled: guest_code.py. May be empty */

char *guest_text(void)
{
    return xasprintf("%s\nboot()\n", guest_boot_py);
}

void guest_parts(struct buf *out)
{
    static const struct {
        const char *name, *text;
    } parts[] = {
        {"start", guest_start_py},       {"supervisor", guest_supervisor_py},
        {"deaths", guest_deaths_py},     {"parked", guest_parked_py},
        {"park", guest_park_py},         {"flood", guest_flood_py},
        {"files", guest_files_py},       {"requests", guest_requests_py},
        {"packages", guest_packages_py}, {"named", guest_named_py},
        {"worker", guest_worker_py},     {"rare", guest_rare_py},
    };

    if (EMBED_SIZE(guest_code) > 0) {
        unsigned char head[5] = {'c'};

        put_u32(head + 1, (uint32_t)EMBED_SIZE(guest_code));
        buf_add(out, head, sizeof head);
        buf_add(out, guest_code, EMBED_SIZE(guest_code));
    }
    for (size_t i = 0; i < countof(parts); i++) {
        unsigned char head[5] = {'m'};

        put_u32(head + 1, (uint32_t)(strlen(parts[i].name) + 1 + strlen(parts[i].text)));
        buf_add(out, head, sizeof head);
        buf_addf(out, "%s\n", parts[i].name);
        buf_addstr(out, parts[i].text);
    }
}

const char *guest_profile(void)
{
    return guest_profile_py;
}

const char *guest_walls(void)
{
    return guest_walls_py;
}
