/* saved_line.c - the line that says which session goes on: its title, its size, and where it was left. */
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "config/config.h"
#include "saved/private.h"
#include "store/sessions.h"
#include "store/store.h"

#define SHOWN_BYTES 80

/* "26 November", with its year if that is another than now. The caller frees. */
static char *day_last_used(int64_t seconds)
{
    time_t then = (time_t)seconds, today = time(NULL);
    struct tm day = {0}, now = {0};
    char text[64] = "";

    localtime_r(&then, &day);
    localtime_r(&today, &now);
    strftime(text, sizeof text, day.tm_year == now.tm_year ? "%-d %B" : "%-d %B %Y", &day);
    return xstrdup(text);
}

static void add_short_word(struct buf *out, const char *word, size_t len)
{
    buf_addf(out, "%s%.*s", out->len ? " " : "", (int)len, word);
}

/* The words of a line, without the marks of headings, lists and emphasis. */
static void add_short_line(struct buf *out, const char *line, size_t len)
{
    for (size_t i = 0, n; i < len && out->len <= SHOWN_BYTES; i += n) {
        n = strcspn(line + i, " \t");
        n = n < len - i ? n : len - i;
        size_t from = strspn(line + i, "#*_`>"), to = n;

        while (to > from && strchr("*_`", line[i + to - 1]))
            to--;
        if (to > from)
            add_short_word(out, line + i + from, to - from);
        n += n < len - i;
    }
}

/* How text in Markdown begins, in one line: "[table] four". The caller frees. */
static char *beginning(const char *text)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    const char *fence = NULL, *block = NULL;

    for (size_t len; *text && out.len <= SHOWN_BYTES; text += len + (text[len] == '\n')) {
        const char *line = text + strspn(text, " \t"), *kind;

        len = strcspn(text, "\n");
        bool mark = !strncmp(line, "```", 3) || !strncmp(line, "~~~", 3);
        kind = mark || fence             ? "[code]"
               : *line == '|'            ? "[table]"
               : !strncmp(line, "![", 2) ? "[figure]"
                                         : NULL;
        if (mark)
            fence = fence ? NULL : line;
        if (kind && kind != block)
            add_short_word(&out, kind, strlen(kind));
        block = kind;
        if (!kind && line < text + len)
            add_short_line(&out, line, (size_t)(text + len - line));
    }
    if (out.len > SHOWN_BYTES || *text) {
        size_t at = utf8_cut(out.data, out.len, out.len < SHOWN_BYTES ? out.len : SHOWN_BYTES);

        while (at > SHOWN_BYTES / 2 && out.data[at] != ' ' && out.data[at])
            at--;
        buf_cut(&out, at);
        buf_addstr(&out, "...");
    }
    return buf_steal(&out, NULL);
}

char *saved_line(const struct store_found *from, const char *copy)
{
    struct buf line autorelease(buf_release) = BUF_INIT(0);
    autofree char *day = day_last_used(from->used), *answer = beginning(from->answer ? from->answer : ""),
                  *question = beginning(from->question ? from->question : "");
    const char *title = from->title ? from->title : "";

    buf_addf(&line, "Continuing \"%s\" (%lld question%s, %s)", title, (long long)from->questions,
             from->questions == 1 ? "" : "s", day);
    if (copy)
        buf_addf(&line, ", in a copy, since another program uses it (%s)", session_short(copy));
    buf_addstr(&line, ".");
    if (*answer)
        buf_addf(&line, " Last: \"%s\"", answer);
    if (*question && strcmp(question, title) != 0)
        buf_addf(&line, "\nYou asked: \"%s\"", question);
    return buf_steal(&line, NULL);
}
