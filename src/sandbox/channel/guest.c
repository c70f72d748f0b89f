/* guest.c - assemble the guest's source: what "python3 -c" is given, and what it then reads from the
 * channel. */
#include "channel/guest.h"

#include <string.h>

#include "base/buf.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "channel/frame.h"

/* Everything except boot.py and the profile, in order of first use. */
/* clang-format off */
#define PARTS(X) \
    X(start) X(protocol) X(worker) X(supervisor) X(collect) X(installed) X(recover) X(snapshot) X(reap) \
    X(copy_out) X(helper) X(requests) X(commands) X(pixels) X(named) X(explain) X(hints) X(value_hints) \
    X(extras) X(texts_apart) X(rich) X(arrow) X(terminal) X(mapped) X(open_files) X(mounted) X(lock_code) \
    X(huge_pages) X(copies) X(live_copy) X(go_on) X(near_python) X(notebook) X(elsewhere) X(children) \
    X(hide) X(versions) X(network) X(processes) X(languages) X(shell) X(sql) X(javascript)
/* clang-format on */
#define EMBED_PART(name) EMBED(guest_##name##_py, "src/sandbox/guest/" #name ".py")
#define PART_ROW(name)   {#name, guest_##name##_py},

EMBED(guest_boot_py, "src/sandbox/guest/boot.py")
PARTS(EMBED_PART)
EMBED(guest_profile_py, GUEST_PROFILE) /* all of file_profile as one text */
EMBED(guest_walls_py, "src/sandbox/guest/walls.py")
/* all except boot.py and the profile, and the profile, compiled by guest_code.py; may be empty */
EMBED(guest_code, GUEST_CODE)
EMBED(guest_profile_code, GUEST_PROFILE_CODE)

char *guest_text(void)
{
    return xasprintf("%s\nboot()\n", guest_boot_py);
}

static void add_source(struct buf *out, const char *name, const char *text)
{
    tagged_head(out, 'm', strlen(name) + 1 + strlen(text));
    buf_addf(out, "%s\n", name);
    buf_addstr(out, text);
}

void guest_parts(struct buf *out)
{
    static const struct {
        const char *name, *text;
    } parts[] = {PARTS(PART_ROW)};

    tagged_head(out, 'c', EMBED_SIZE(guest_code));
    buf_add(out, guest_code, EMBED_SIZE(guest_code));
    for (size_t i = 0; i < countof(parts); i++)
        add_source(out, parts[i].name, parts[i].text);
}

/* Made once, for all sandboxes of this process: nobody can change it, and the code of none ever has it. */
int guest_parts_file(void)
{
    static int made = -1;
    struct buf parts autorelease(buf_release) = {0};
    autoclose int fd = made < 0 ? fd_sealable("guest") : -1;

    if (fd >= 0) {
        guest_parts(&parts);
        if (fd_write_all(fd, parts.data, parts.len) == 0 && fd_seal(fd) == 0)
            made = fd_steal(&fd);
    }
    return made;
}

void guest_profile(struct buf *out)
{
    tagged_head(out, 'c', EMBED_SIZE(guest_profile_code));
    buf_add(out, guest_profile_code, EMBED_SIZE(guest_profile_code));
    add_source(out, "file_profile", guest_profile_py);
}

void guest_walls(const char *here, struct buf *out)
{
    autofree char *source = xasprintf("%s%s", here, guest_walls_py);

    tagged_head(out, 'c', 0);
    add_source(out, "walls", source);
}
