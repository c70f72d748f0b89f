/* inside_send.c - sends our part to another machine and waits for its greeting. It goes through the
 * start's own stdin into a file in memory, so that it needs no place there, leaves nothing behind, and is
 * always of this version. All that has to be there is Python, which the sandbox needs anyway. /
 */
#include "engine/inside_send.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/embed.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/inside.h"
#include "engine/plan.h"
#include "engine/recipe.h"

EMBED(inside_program, INSIDE_PROGRAM)

#define LINE_MAX_ 256         /* bytes of the greeting */
#define NOISE_MAX (64 * 1024) /* bytes before it: a login shell's files may print something */

/* Without a quote or an exclamation mark, so that every shell leaves it as it is within single quotes. */
static const char loader[] = "import os, sys\n"
                             "n = int(sys.argv[1])\n"
                             "f = os.memfd_create(\"sandpiper\")\n"
                             "while n > 0:\n"
                             "    b = os.read(0, min(n, 1 << 20))\n"
                             "    if not b:\n"
                             "        sys.exit(\"" INSIDE_FAILED "it did not arrive whole\")\n"
                             "    n -= len(b)\n"
                             "    os.write(f, b)\n"
                             "os.execve(f, [\"sandpiper\", \"inside\"] + sys.argv[2:], os.environ)\n";

bool inside_carried(void)
{
    return EMBED_SIZE(inside_program) > 0;
}

void inside_words(const struct engine_plan *p, const struct engine_recipe *r, const char *nonce,
                  struct argv *out)
{
    if (r->program) {
        argv_pushl(out, r->program, "inside", NULL);
    } else {
        argv_pushl(out, "/usr/bin/python3", "-I", "-S", "-c", loader, NULL);
        argv_pushf(out, "%zu", EMBED_SIZE(inside_program));
    }
    inside_keys(p->o, VERSION, nonce, r->walls ? r->walls : "auto", r->image, out);
    argv_push(out, "--");
}

bool inside_read_greeting(const char *line, const char *nonce, struct inside_holds *out)
{
    char word[INSIDE_NONCE], held[40];

    *out = (struct inside_holds){0};
    if (strncmp(line, INSIDE_GREETING, strlen(INSIDE_GREETING)) != 0
        || sscanf(line + strlen(INSIDE_GREETING), "%16s %15s %39s", word, out->walls, held) != 3
        || strcmp(word, nonce) != 0)
        return false;
    out->memory = strstr(held, "memory,");
    out->pids = strstr(held, "pids,");
    out->cpus = strstr(held, "cpus,");
    return true;
}

/* The next line, without its newline, cut at size. False: there is no more, or too much came. */
static bool line_of_there(int fd, char *line, size_t size, size_t *total)
{
    size_t len = 0;
    char c;
    ssize_t n;

    while ((n = read(fd, &c, 1)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0)
            continue;
        if (++*total > NOISE_MAX)
            return false;
        if (c == '\n') {
            line[len] = '\0';
            return true;
        }
        if (len + 1 < size)
            line[len++] = c;
    }
    return false;
}

int inside_begin(void *talk)
{
    const struct inside_talk *t = talk;
    struct inside_holds holds;
    char line[LINE_MAX_];
    size_t total = 0;

    /* In one go: what follows an answer may be held back for 40 ms on its way through srun, which sends it in
     * small pieces that wait for each other's receipt. */
    if ((t->sent && fd_write_all(t->in, inside_program, EMBED_SIZE(inside_program)) != 0)
        || fd_write_all(t->in, t->first, strlen(t->first)) != 0)
        return 1;
    do
        if (!line_of_there(t->out, line, sizeof line, &total))
            return 1;
    while (!inside_read_greeting(line, t->nonce, &holds));
    dprintf(STDOUT_FILENO, "%s\n", line);
    return 0;
}
