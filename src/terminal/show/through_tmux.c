/* through_tmux.c - wraps the image for tmux, and writes the rows of placeholders. */
#include "show/through_tmux.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/child.h"
#include "show/figure.h"

#define ASK_MS     500
#define CHUNK      4096 /* bytes of base64 in one sequence, as the protocol has it */
#define PLACE      "\U0010EEEE"
#define PASS_BEGIN "\033Ptmux;\033\033_G" /* ESC is doubled in what is passed on */
#define PASS_END   "\033\033\\\033\\"

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

static void send_image(const struct pixels *p, int columns, int rows, uint32_t id, struct buf *out)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    base64_add(&text, p->rgb, (size_t)3 * p->width * p->height);
    for (size_t at = 0, n; at < text.len; at += n) {
        n = text.len - at < CHUNK ? text.len - at : CHUNK;
        buf_addstr(out, PASS_BEGIN);
        if (at == 0)
            buf_addf(out, "a=T,U=1,q=2,f=24,s=%u,v=%u,c=%d,r=%d,i=%u,", p->width, p->height, columns, rows,
                     (unsigned)id);
        buf_addf(out, "m=%d;", at + n < text.len);
        buf_add(out, text.data + at, n);
        buf_addstr(out, PASS_END);
    }
}

void through_tmux_draw(const struct pixels *p, int columns, int rows, struct buf *out)
{
    unsigned char random[2] = {0};

    /* Another program's image of that number would be replaced. The colour tells its lowest byte: one of the
     * 256, since tmux may know no more, but not of the first 16, which the user chooses. */
    (void)!getrandom(random, sizeof random, 0);
    unsigned colour = 16 + random[0] % 240, high = random[1] % FIGURE_ROWS;

    send_image(p, columns, rows, (uint32_t)high << 24 | colour, out);
    for (int y = 0; y < rows; y++) {
        buf_addf(out, "\033[38;5;%um" PLACE "%s%s%s", colour, marks[y], marks[0], marks[high]);
        for (int x = 1; x < columns; x++)
            buf_addstr(out, PLACE); /* the next column of the same row */
        buf_addstr(out, "\033[39m\n");
    }
}
