/* wrap.c - breaks a line at blanks, so that the terminal does not break it inside a word. */
#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "show/show.h"

/* The blank and the unit behind a number that ends at text + at, as in "3 s" and "1.5 GiB", which stay with
 * it; 0: there is none. */
static size_t unit_length(const char *text, size_t at, size_t len)
{
    size_t n = 1;

    if (at + 1 >= len || !isdigit((unsigned char)text[at - 1]))
        return 0;
    while (at + n < len && isalpha((unsigned char)text[at + n]))
        n++;
    if (n == 1 || n > 4)
        return 0;
    while (at + n < len && text[at + n] != ' ')
        n++;
    return n;
}

void show_wrap(struct buf *out, const char *text, size_t len, int column, int width)
{
    int hang = 2, begin = column;
    size_t i = 0;

    while (i < len) {
        size_t blanks = i, word, end;

        while (i < len && text[i] == ' ')
            i++;
        word = i;
        while (i < len && text[i] != ' ')
            i++;
        i += unit_length(text, i, len);
        end = i;
        /* Never make an empty line or break a word: a path or an address stays whole, and the terminal breaks
         * what is wider than itself. */
        if (width > 0 && column > begin
            && column + (int)(word - blanks) + utf8_columns(text + word, end - word) > width && end > word) {
            buf_addf(out, "\n%*s", hang, "");
            column = begin = hang;
        } else {
            buf_add(out, text + blanks, word - blanks);
            column += (int)(word - blanks);
            if (!blanks && word) {
                begin = column; /* its own indentation; continuation lines stand below its text */
                hang = column + 2;
            }
        }
        buf_add(out, text + word, end - word);
        column += utf8_columns(text + word, end - word);
    }
}

void show_wrap_lines(struct buf *out, const char *text, int fd)
{
    int width = show_is_terminal(fd) ? show_width(fd) : 0;

    while (*text) {
        size_t len = strcspn(text, "\n");

        show_wrap(out, text, len, 0, width);
        buf_addch(out, '\n');
        text += len + (text[len] == '\n');
    }
}
