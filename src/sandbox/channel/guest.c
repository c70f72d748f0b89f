/* guest.c - assemble the guest's source: what "python3 -c" is given, and what it then reads from the
 * channel. */
#include "channel/guest.h"

#include <string.h>

#include "base/buf.h"
#include "base/embed.h"
#include "base/mem.h"
#include "channel/frame.h"

/* Everything except boot.py and the profile, in order of first use. */
/* clang-format off */
#define PARTS(X) \
    X(start) X(protocol) X(worker) X(supervisor) X(collect) X(installed) X(recover) X(snapshot) X(reap) \
    X(copy_out) X(requests) X(commands) X(pixels) X(named) X(explain) X(hints) X(value_hints) X(extras) \
    X(rich) X(arrow) X(terminal) X(mapped) X(open_files) X(mounted) X(lock_code) X(huge_pages) \
    X(near_python) X(notebook) X(elsewhere)
/* clang-format on */
#define EMBED_PART(name) EMBED(guest_##name##_py, "src/sandbox/guest/" #name ".py")
#define PART_ROW(name)   {#name, guest_##name##_py},

EMBED(guest_boot_py, "src/sandbox/guest/boot.py")
PARTS(EMBED_PART)
EMBED(guest_profile_py, GUEST_PROFILE) /* all of file_profile as one text */
EMBED(guest_walls_py, "src/sandbox/guest/walls.py")
/* all except boot.py and the profile, compiled by guest_code.py; may be empty */
EMBED(guest_code, GUEST_CODE)

char *guest_text(void)
{
    return xasprintf("%s\nboot()\n", guest_boot_py);
}

void guest_parts(struct buf *out)
{
    static const struct {
        const char *name, *text;
    } parts[] = {PARTS(PART_ROW)};

    tagged_head(out, 'c', EMBED_SIZE(guest_code));
    buf_add(out, guest_code, EMBED_SIZE(guest_code));
    for (size_t i = 0; i < countof(parts); i++) {
        tagged_head(out, 'm', strlen(parts[i].name) + 1 + strlen(parts[i].text));
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
