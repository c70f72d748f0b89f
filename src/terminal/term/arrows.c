/* arrows.c - Up and Down by the lines of the text that is edited. */
#include "term/arrows.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <readline/readline.h>

#include "base/mem.h"
#include "base/utf8.h"

static void (*when_recalled)(void);
static int wanted; /* the column that several of these keys in a row keep */

static int begin_of_line(int at)
{
    while (at > 0 && rl_line_buffer[at - 1] != '\n')
        at--;
    return at;
}

static int end_of_line(int at)
{
    return at + (int)strcspn(rl_line_buffer + at, "\n");
}

/* Put the cursor into the line that begins there, into that column if the line is long enough. */
static void move_to_column(int begin, int column)
{
    int at = begin, end = end_of_line(begin);

    while (at < end && utf8_columns(rl_line_buffer + begin, (size_t)(at - begin)) < column)
        do
            at++;
        while (at < end && ((unsigned char)rl_line_buffer[at] & 0xc0) == 0x80);
    rl_point = at;
}

static int on_arrow_up(int count, int key);
static int on_arrow_down(int count, int key);

static void note_column(void)
{
    int begin = begin_of_line(rl_point);

    if (rl_last_func != on_arrow_up && rl_last_func != on_arrow_down)
        wanted = utf8_columns(rl_line_buffer + begin, (size_t)(rl_point - begin));
}

static int into_history(rl_command_func_t *move, int count, int key)
{
    int r = move(count, key);

    wanted = utf8_columns(rl_line_buffer + begin_of_line(rl_point),
                          (size_t)(rl_point - begin_of_line(rl_point)));
    when_recalled();
    return r;
}

static int on_arrow_up(int count, int key)
{
    int begin = begin_of_line(rl_point);

    if (!begin)
        return into_history(rl_get_previous_history, count, key);
    note_column();
    move_to_column(begin_of_line(begin - 1), wanted);
    return 0;
}

static int on_arrow_down(int count, int key)
{
    int end = end_of_line(rl_point);

    if (!rl_line_buffer[end])
        return into_history(rl_get_next_history, count, key);
    note_column();
    move_to_column(end + 1, wanted);
    return 0;
}

void arrows_bind(void (*recalled)(void))
{
    static const struct {
        const char *key;
        rl_command_func_t *was, *now;
    } keys[] = {
        {"\033[A", rl_get_previous_history, on_arrow_up},
        {"\033OA", rl_get_previous_history, on_arrow_up},
        {"\033[B", rl_get_next_history, on_arrow_down},
        {"\033OB", rl_get_next_history, on_arrow_down},
    };
    const Keymap maps[] = {emacs_standard_keymap, vi_insertion_keymap, vi_movement_keymap};

    when_recalled = recalled;
    for (size_t i = 0; i < countof(maps); i++)
        for (size_t k = 0; k < countof(keys); k++)
            if (rl_function_of_keyseq(keys[k].key, maps[i], NULL) == keys[k].was) {
                autofree char *sequence = xasprintf("\\e%s", keys[k].key + 1);

                rl_bind_keyseq_in_map(sequence, keys[k].now, maps[i]);
            }
}
