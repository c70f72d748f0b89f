/* seccomp_ready.c - the filter, made when sandpiper was built, because libseccomp takes 3 to 4 ms to make it
 * at each start. The program begins with a check of the machine it is for. Calls that only a newer libseccomp
 * would know get the default, ENOSYS, so an old filter opens nothing.
 */
#include "limits/seccomp.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/embed.h"
#include "base/error.h"
#include "base/file.h"

/* from limits/make; empty if the build machine cannot run what it builds */
EMBED(seccomp_bpf, SECCOMP_BPF)

int seccomp_ready(struct error *err)
{
    if (EMBED_SIZE(seccomp_bpf) == 0)
        return seccomp_program(err);
    autoclose int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (fd < 0 || fd_write_all(fd, seccomp_bpf, EMBED_SIZE(seccomp_bpf)) != 0 || lseek(fd, 0, SEEK_SET) < 0)
        return error_errno(err, "seccomp filter");
    return fd_steal(&fd);
}
