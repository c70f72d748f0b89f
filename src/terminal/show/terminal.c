/* terminal.c - what a stream supports, as NO_COLOR, TERM and COLORTERM say, and sizes in a readable form.
 * What the terminal says of itself: graphics.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/mem.h"
#include "show/lines.h"
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

int show_colours(void)
{
    const char *term = getenv("TERM"), *deep = getenv("COLORTERM");

    term = term ? term : "";
    deep = deep ? deep : "";
    if (!strcmp(deep, "truecolor") || !strcmp(deep, "24bit") || strstr(term, "direct"))
        return 1 << 24;
    return *deep || strstr(term, "256color") || strstr(term, "kitty") ? 256 : 16;
}

/* What a terminal can do beyond the usual cannot be asked, so it must be known. */
static const struct terminal {
    const char *variable, *value; /* NULL: whatever it is */
    bool hyperlinks, clipboard, pixels, notices;
} terminals[] = {
    {"KITTY_WINDOW_ID", NULL, true, true, true, true},
    {"WEZTERM_PANE", NULL, true, true, true, true},
    {"GHOSTTY_BIN_DIR", NULL, true, true, true, true},
    {"ALACRITTY_WINDOW_ID", NULL, true, true, false, false},
    {"WT_SESSION", NULL, true, true, false, false},
    {"TERM", "xterm-kitty", true, true, true, true},
    {"TERM", "xterm-ghostty", true, true, true, true},
    {"TERM", "foot", true, true, true, true},
    {"TERM", "foot-extra", true, true, true, true},
    {"TERM", "contour", true, true, true, false},
    {"TERM_PROGRAM", "WezTerm", true, true, true, true},
    {"TERM_PROGRAM", "ghostty", true, true, true, true},
    {"TERM_PROGRAM", "vscode", true, true, false, false},
    {"TERM_PROGRAM", "iTerm.app", true, false, true, true},
    {"KONSOLE_VERSION", NULL, true, false, true, false},
    {"VTE_VERSION", NULL, true, false, false, false},
};

bool show_is_multiplexed(void)
{
    const char *term = getenv("TERM");

    return getenv("TMUX") || getenv("STY") || !term || !strncmp(term, "screen", 6)
           || !strncmp(term, "tmux", 4);
}

/* NULL: unknown, or multiplexed. */
static const struct terminal *known_terminal(void)
{
    if (show_is_multiplexed())
        return NULL;
    for (size_t i = 0; i < countof(terminals); i++) {
        const char *value = getenv(terminals[i].variable);

        if (value && *value && (!terminals[i].value || !strcmp(value, terminals[i].value)))
            return &terminals[i];
    }
    return NULL;
}

bool show_has_hyperlinks(void)
{
    const struct terminal *t = known_terminal();

    return t && t->hyperlinks;
}

bool show_has_pixels(void)
{
    const struct terminal *t = known_terminal();

    return t && t->pixels;
}

bool show_has_clipboard(void)
{
    const struct terminal *t = known_terminal();

    return t && t->clipboard;
}

bool show_has_notices(void)
{
    const struct terminal *t = known_terminal();

    return t && t->notices;
}

bool show_reflows(void)
{
    const char *term = getenv("TERM");

    return getenv("TMUX")
           || (!getenv("STY") && !getenv("XTERM_VERSION") && term && strcmp(term, "linux") != 0);
}

int show_rows(int columns, int width)
{
    return columns > width && width > 0 ? (columns + width - 1) / width : 1;
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

struct short_text show_size(unsigned long long bytes)
{
    static const char *const unit[] = {"kB", "MB", "GB", "TB"};
    struct short_text out;
    double v = (double)bytes;
    int u = -1;

    while (v >= 999.95 && u < 3) {
        v /= 1000;
        u++;
    }
    if (bytes < 1000)
        snprintf(out.text, sizeof out.text, "%llu byte%s", bytes, bytes == 1 ? "" : "s");
    else
        snprintf(out.text, sizeof out.text, "%.1f %s", v, unit[u]);
    return out;
}
