/* seccomp_program.c - build step: write our table as a BPF program to a file, for seccomp_ready.c. */
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "limits/seccomp.h"

int main(int argc, char **argv)
{
    struct error err = {0};
    char part[4096];
    ssize_t n = -1;
    int fd = seccomp_program(&err);
    FILE *out = argc == 2 && fd >= 0 ? fopen(argv[1], "we") : NULL;

    if (out)
        while ((n = read(fd, part, sizeof part)) > 0)
            if (fwrite(part, 1, (size_t)n, out) != (size_t)n)
                break;
    if (!out || n != 0 || fclose(out) != 0) {
        fprintf(stderr, "seccomp_program: %s\n", fd < 0 ? err.text : "cannot write its file");
        return 1;
    }
    close(fd);
    return 0;
}
