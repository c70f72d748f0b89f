/* cmd_copy.c - /raw and /copy: the last answer as the model wrote it, on the screen or on the clipboard.
 *
 * The clipboard is the terminal's, by OSC 52: it works over ssh as well, but a terminal does not say
 * whether it obeys.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/size.h"
#include "process/out.h"
#include "show/show.h"
#include "term/commands.h"
#include "term/private.h"

#define CLIPBOARD_MAX 74994 /* bytes; xterm, and others after it, take no longer sequence */

static void slash_raw(struct term *t)
{
    const char *answer = past_answer(&t->past);

    if (answer)
        term_print(t, answer, strlen(answer));
    else
        term_say(t, NOTICE_INFO, "No answer yet.");
}

const struct chat_command command_raw = {
    .name = "/raw",
    .argument = "",
    .help = "the last answer as the model wrote it",
    .act = slash_raw,
};

/* Does what stands at the beginning of a line close or open a fence? */
static size_t fence_at(const char *line)
{
    size_t blanks = strspn(line, " "), n = strspn(line + blanks, "`");

    if (n < 3)
        n = strspn(line + blanks, "~");
    return n >= 3 ? n : 0;
}

static const char *next_line(const char *s)
{
    s += strcspn(s, "\n");
    return *s ? s + 1 : s;
}

/* The last fenced block of text; NULL: none. The caller frees. */
static char *last_block(const char *text)
{
    const char *begin = NULL, *last = NULL;
    size_t open = 0, len = 0;

    for (const char *line = text; *line; line = next_line(line)) {
        size_t n = fence_at(line);

        if (!open && n) {
            open = n;
            begin = next_line(line);
        } else if (open && n >= open) {
            last = begin;
            len = (size_t)(line - begin);
            open = 0;
        }
    }
    return last ? xmemdup0(last, len) : NULL;
}

/* Ask the terminal to put text on its clipboard; tmux keeps the sequence unless it is wrapped, or obeys it
 * itself. */
static int to_clipboard(struct term *t, const char *text, size_t len)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    buf_addstr(&out, "\033]52;c;");
    base64_add(&out, (const unsigned char *)text, len);
    buf_addstr(&out, "\033\\");
    if (getenv("TMUX")) {
        autofree char *plain = xstrdup(out.data);

        buf_addf(&out, "\033Ptmux;\033%.*s\033\033\\\033\\", (int)(strlen(plain) - 2), plain);
    }
    return out_write(1, out.data, out.len, t->loop);
}

static void copy_text(struct term *t, const char *what, const char *source)
{
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    scrub_text(source, strlen(source), SCRUB_PIPE,
               &text); /* what is pasted into a shell must not act on it */
    buf_trim(&text, "\n");
    const struct short_text count = count_text(text.len);
    if (text.len > CLIPBOARD_MAX) {
        term_sayf(t, NOTICE_ERROR,
                  "The %s has %s bytes; a terminal's clipboard takes at most %s. /raw prints it.", what,
                  count.text, count_text(CLIPBOARD_MAX).text);
        return;
    }
    show_clear(t->show);
    if (to_clipboard(t, buf_str(&text), text.len) < 0)
        return; /* the terminal is gone, which the next read tells too */
    term_sayf(t, NOTICE_INFO, "Sent the %s to the clipboard: %s bytes.%s", what, count.text,
              getenv("TMUX")         ? " (tmux passes it on with: set -g set-clipboard on)"
              : show_has_clipboard() ? ""
                                     : " (OSC 52; this terminal may not support it)");
}

static void slash_copy(struct term *t, const char *argument)
{
    const char *term = getenv("TERM"), *answer = past_answer(&t->past);
    autofree char *block = NULL;

    if (!show_is_terminal(1) || !strcmp(term, "linux")) {
        term_sayf(t, NOTICE_ERROR,
                  "This terminal has no clipboard that programs can reach (TERM=%s). /raw prints the answer.",
                  term ? term : "");
    } else if (*argument && strcmp(argument, "code") != 0) {
        term_sayf(t, NOTICE_ERROR, "/copy: expected code, or nothing for the answer, found \"%s\"", argument);
    } else if (!*argument) {
        if (answer)
            copy_text(t, "answer", answer);
        else
            term_say(t, NOTICE_INFO, "No answer yet.");
    } else {
        const char *code = past_code(&t->past);

        if (!code)
            code = block = answer ? last_block(answer) : NULL;
        if (code)
            copy_text(t, "code", code);
        else
            term_say(t, NOTICE_INFO, "No code ran for the last question, and its answer has none.");
    }
}

static const char *const copy_words[] = {"code", NULL};

const struct chat_command command_copy = {
    .name = "/copy",
    .argument = "[code]",
    .help = "copy the last answer, or code, to the clipboard",
    .run = slash_copy,
    .words = copy_words,
    .more = "Uses the terminal's clipboard (OSC 52), over ssh too. In tmux it needs\n"
            "set -g set-clipboard on, or allow-passthrough on.\n",
};
