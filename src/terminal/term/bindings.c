/* bindings.c - Enter and Ctrl-X Ctrl-E. */
#include "term/bindings.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <readline/readline.h>

#include "base/mem.h"
#include "term/message.h"

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

void bind_keys(int (*edit_externally)(int count, int key))
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

void set_locale(void)
{
    setlocale(LC_CTYPE, "");
    if (!strcmp(nl_langinfo(CODESET), "UTF-8"))
        return;
    if (setlocale(LC_CTYPE, "C.UTF-8"))
        setenv("LC_ALL", "C.UTF-8", 1);
}
