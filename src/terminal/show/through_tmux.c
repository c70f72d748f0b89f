/* through_tmux.c - asks tmux, and writes the rows of placeholders. */
#include "show/through_tmux.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/child.h"
#include "show/figure.h"
#include "show/kitty.h"

#define ASK_MS 500
#define PLACE  "\U0010EEEE"

/* The marks that number rows (and columns, and the highest byte of an image's number), from 0. */
static const char *const marks[FIGURE_ROWS] = {
    "\u0305", "\u030D", "\u030E", "\u0310", "\u0312", "\u033D", "\u033E", "\u033F",
    "\u0346", "\u034A", "\u034B", "\u034C", "\u0350", "\u0351", "\u0352", "\u0357",
    "\u035B", "\u0363", "\u0364", "\u0365", "\u0366", "\u0367", "\u0368", "\u0369",
};

bool through_tmux_passes(const char *said)
{
    int major = 0, minor = 0;
    const char *terminal = strchr(said, ' ');

    if (!terminal || *said == '0' || *said == ' ' || !strncmp(said, "off", 3))
        return false;
    terminal++;
    if (sscanf(terminal, "kitty(%4d.%4d", &major, &minor) == 2)
        return major > 0 || minor >= 28;
    return !strncmp(terminal, "ghostty ", 8);
}

void through_tmux_ask(struct graphics *g, struct loop *loop)
{
    const char *where = getenv("TMUX"), *pane = getenv("TMUX_PANE");
    struct error err = {0};

    if (g->asked_tmux || !where || !*where)
        return;
    g->asked_tmux = true;
    autofree char *server = xasprintf("TMUX=%s", where), *here = xasprintf("TMUX_PANE=%s", pane ? pane : "");
    char *const env[] = {server, here, NULL}; /* a client hands all of its environment to the server */
    const char *const argv[] = {"tmux", "display-message", "-p", "#{allow-passthrough} #{client_termtype}",
                                NULL};
    const struct child_options o = {.argv = (char *const *)argv,
                                    .env = env,
                                    .watch.loop = loop,
                                    .deadline_ms = ASK_MS,
                                    .in = CHILD_NULL,
                                    .out = CHILD_KEPT,
                                    .err = CHILD_KEPT,
                                    .cap = 200,
                                    .die_with_parent = true};
    struct child *c = child_run(&o, &err);

    g->placeholders = child_ok(c) && through_tmux_passes(buf_str(&c->out_text));
    child_free(c);
}

void through_tmux_draw(const struct kitty_image *i, int columns, int rows, struct buf *out)
{
    unsigned char random[2] = {0};

    /* Another program's image of that number would be replaced. The colour tells its lowest byte: one of the
     * 256, since tmux may know no more, but not of the first 16, which the user chooses. */
    (void)!getrandom(random, sizeof random, 0);
    unsigned colour = 16 + random[0] % 240, high = random[1] % FIGURE_ROWS;

    autofree char *keys = xasprintf("U=1,c=%d,r=%d,i=%u", columns, rows, high << 24 | colour);
    kitty_send(i, keys, true, out);
    for (int y = 0; y < rows; y++) {
        buf_addf(out, "\033[38;5;%um" PLACE "%s%s%s", colour, marks[y], marks[0], marks[high]);
        for (int x = 1; x < columns; x++)
            buf_addstr(out, PLACE); /* the next column of the same row */
        buf_addstr(out, "\033[39m\n");
    }
}
