/* seccomp_program.c - build step: write our table as a BPF program to a file, for seccomp_ready.c, and as a
 * JSON profile to another, for engine/inside_apptainer.c. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "json/json.h"
#include "limits/seccomp.h"

static int copy_program(const char *path, struct error *err)
{
    char part[4096];
    ssize_t n = -1;
    int fd = seccomp_program(err);
    FILE *out = fd >= 0 ? fopen(path, "we") : NULL;

    if (out)
        while ((n = read(fd, part, sizeof part)) > 0)
            if (fwrite(part, 1, (size_t)n, out) != (size_t)n)
                break;
    if (fd >= 0)
        close(fd);
    return !out || fclose(out) != 0 || n != 0 ? -1 : 0;
}

static int print_profile(const char *path)
{
    struct json *profile = seccomp_profile_apptainer();
    char *text = json_print(profile);
    FILE *out = fopen(path, "we");
    bool good = out && fputs(text, out) >= 0;

    free(text);
    json_free(profile);
    return !out || fclose(out) != 0 || !good ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct error err = {0};

    if (argc == 3 && copy_program(argv[1], &err) == 0 && print_profile(argv[2]) == 0)
        return 0;
    fprintf(stderr, "seccomp_program: %s\n", err.kind ? err.text : "cannot write its files");
    return 1;
}
