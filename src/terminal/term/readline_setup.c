/* readline_setup.c - the functions and variables of readline that we replace. */
#include "term/readline_setup.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <readline/readline.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "process/out.h"
#include "show/show.h"
#include "term/message.h"
#include "term/modes.h"

#define COLUMNS_MIN 24
#define ROWS_MIN    2

static bool fancy; /* readline's callbacks have no context argument */

/* readline's output is written like all other output: a terminal that stalls does not keep us from signals.
 */
static ssize_t to_terminal(void *unused, const char *text, size_t n)
{
    (void)unused;
    return out_write(STDOUT_FILENO, text, n, NULL) == 0 ? (ssize_t)n : 0;
}

void readline_put(const char *s)
{
    fflush(rl_outstream);
    out_write(STDOUT_FILENO, s, strlen(s), NULL);
}

/* readline assumes that a terminal without ECHO must not show what is typed, so set ECHO first. */
void readline_prep(int meta)
{
    if (modes_belong_to_another())
        return;
    modes_set(MODES_EDITING);
    rl_prep_terminal(meta);
    modes_note();
    fflush(rl_outstream);
    if (fancy)
        modes_mark_pastes(true);
}

void readline_deprep(void)
{
    fflush(rl_outstream);
    if (modes_belong_to_another())
        return;
    rl_deprep_terminal();
    modes_set(MODES_WAITING);
}

/* readline divides by the columns left beside its prompt, and is not tested on very narrow screens. A
 * narrower screen is reported as this wide. */
void readline_tell_size(void)
{
    struct winsize w = {0};

    if (ioctl(STDIN_FILENO, TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
        w.ws_col = 80;
    if (w.ws_row == 0)
        w.ws_row = 24;
    rl_set_screen_size(w.ws_row < ROWS_MIN ? ROWS_MIN : w.ws_row,
                       w.ws_col < COLUMNS_MIN ? COLUMNS_MIN : w.ws_col);
}

/* How many rows of a terminal of that width are above the one where the cursor stands. */
static int rows_above(const char *prompt, const char *line, int point, int width)
{
    autofree char *before = xasprintf("%s%.*s", prompt, point, line);
    int rows = 0, column = 0;

    for (const char *s = before, *end = before + strlen(before); s < end;) {
        uint32_t cp = 0;
        int n = utf8_decode(s, (size_t)(end - s), &cp),
            columns = cp == '\t' ? 8 - column % 8 : utf8_width(cp);

        if (*s == '\001') { /* what stands between these marks takes no column */
            s += strcspn(s, "\002");
            continue;
        }
        if (*s == '\n' || column + columns > width) {
            rows++;
            column = 0;
        }
        column += *s == '\n' ? 0 : columns;
        s += n > 0 ? n : 1;
    }
    return rows + (column == width && line[point] && line[point] != '\n');
}

void readline_clear_resized(void)
{
    if (!fancy || !show_reflows()) {
        rl_clear_visible_line();
        fflush(rl_outstream);
        return;
    }
    int rows = rows_above(rl_display_prompt, rl_line_buffer, rl_point, show_width(STDOUT_FILENO));
    autofree char *up = rows ? xasprintf("\033[%dA", rows) : xstrdup("");
    autofree char *all = xasprintf("\r%s\033[J", up);

    readline_put(all);
}

void readline_set_up(bool understands_sequences)
{
    fancy = understands_sequences;
    rl_catch_signals = 0;
    rl_catch_sigwinch = 0;
    rl_instream = stdin;
    rl_outstream = fopencookie(NULL, "w", (cookie_io_functions_t){.write = to_terminal});
    if (!rl_outstream)
        rl_outstream = stdout;
    rl_prep_term_function = readline_prep;
    rl_deprep_term_function = readline_deprep;
}

static int on_enter(int count, int key)
{
    bool backslash = message_ends_in_backslash(rl_line_buffer);

    if (!backslash && !message_is_open(rl_line_buffer))
        return rl_newline(count, key);
    rl_begin_undo_group();
    if (backslash) {
        rl_delete_text(rl_end - 1, rl_end);
        rl_point = rl_end;
    }
    rl_insert_text("\n");
    rl_end_undo_group();
    return 0;
}

void readline_bind(int (*edit_externally)(int count, int key))
{
    const Keymap maps[] = {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap};

    for (size_t i = 0; i < countof(maps); i++) {
        for (const char *c = "\r\n"; *c; c++)
            if (maps[i][(int)*c].type == ISFUNC && maps[i][(int)*c].function == rl_newline)
                maps[i][(int)*c].function = on_enter;
        rl_bind_keyseq_if_unbound_in_map("\\C-x\\C-e", edit_externally, maps[i]);
    }
    rl_bind_keyseq_if_unbound_in_map("v", edit_externally, vi_movement_keymap); /* as in bash */
}

void readline_set_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (!strcmp(nl_langinfo(CODESET), "UTF-8"))
        return;
    if (setlocale(LC_CTYPE, "C.UTF-8"))
        setenv("LC_ALL", "C.UTF-8", 1);
}
