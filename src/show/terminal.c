/* terminal.c - what a stream supports, and numbers in a readable form. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "show/lines.h"
#include "base/mem.h"
#include "show/show.h"

static bool term_is_dumb(void)
{
    const char *term = getenv("TERM");

    return !term || !*term || !strcmp(term, "dumb");
}

bool show_is_terminal(int fd)
{
    return isatty(fd) && !term_is_dumb();
}

bool show_is_dumb(int fd)
{
    return isatty(fd) && term_is_dumb();
}

bool show_wants_colour(int fd, const char *when)
{
    const char *no = getenv("NO_COLOR");

    if (when && !strcmp(when, "always"))
        return true;
    if ((when && !strcmp(when, "never")) || (no && *no))
        return false;
    return show_is_terminal(fd);
}

bool show_many_colours(void)
{
    const char *term = getenv("TERM"), *color = getenv("COLORTERM");

    return (color && *color)
           || (term && (strstr(term, "256color") || strstr(term, "kitty") || strstr(term, "direct")));
}

/* Which terminals make links of OSC 8 cannot be asked. One that does not would hide the address, so it
 * must be known; tmux and screen pass them on only where they are told to. */
bool show_has_hyperlinks(void)
{
    static const struct {
        const char *variable, *has; /* NULL: whatever it is */
    } known[] = {{"KITTY_WINDOW_ID", NULL},
                 {"WEZTERM_PANE", NULL},
                 {"KONSOLE_VERSION", NULL},
                 {"WT_SESSION", NULL},
                 {"GHOSTTY_BIN_DIR", NULL},
                 {"VTE_VERSION", NULL},
                 {"ALACRITTY_WINDOW_ID", NULL},
                 {"TERM_PROGRAM", "iTerm.app"},
                 {"TERM_PROGRAM", "WezTerm"},
                 {"TERM_PROGRAM", "vscode"},
                 {"TERM_PROGRAM", "ghostty"},
                 {"TERM", "xterm-kitty"},
                 {"TERM", "foot"},
                 {"TERM", "foot-extra"},
                 {"TERM", "xterm-ghostty"},
                 {"TERM", "contour"}};
    const char *term = getenv("TERM");

    if (getenv("TMUX") || getenv("STY") || !term || !strncmp(term, "screen", 6) || !strncmp(term, "tmux", 4))
        return false;
    for (size_t i = 0; i < countof(known); i++) {
        const char *value = getenv(known[i].variable);

        if (value && *value && (!known[i].has || !strcmp(value, known[i].has)))
            return true;
    }
    return false;
}

int show_width_or(int fd, int width)
{
    struct winsize w;

    if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    return width;
}

void show_screen_size(int fd, int *rows, int *pixel_width, int *pixel_height)
{
    struct winsize w = {0};

    if (ioctl(fd, TIOCGWINSZ, &w) < 0)
        w = (struct winsize){0};
    *rows = w.ws_row ? w.ws_row : 24;
    *pixel_width = w.ws_xpixel;
    *pixel_height = w.ws_ypixel;
}

int show_width(int fd)
{
    return show_width_or(fd, 80);
}

int show_output_width(int fd)
{
    return show_width(fd) - (int)strlen(OUTPUT_GUTTER);
}

void show_count(unsigned long long n, char out[32])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%llu", n), o = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            out[o++] = ',';
        out[o++] = digits[i];
    }
    out[o] = '\0';
}

void show_size(unsigned long long bytes, char out[32])
{
    static const char *const unit[] = {"kB", "MB", "GB", "TB"};
    double v = (double)bytes;
    int u = -1;

    if (bytes < 1000) {
        snprintf(out, 32, "%llu byte%s", bytes, bytes == 1 ? "" : "s");
        return;
    }
    while (v >= 999.95 && u < 3) {
        v /= 1000;
        u++;
    }
    snprintf(out, 32, "%.1f %s", v, unit[u]);
}
