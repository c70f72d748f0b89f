/* external.c - lends the terminal to $EDITOR, $PAGER and others. */
#include "term/external.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/draft.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "conversation/conversation.h"
#include "process/child.h"
#include "process/loop.h"
#include "process/signals.h"
#include "term/modes.h"

#define ADVICE "Set VISUAL or EDITOR to the editor of your choice."

/* The words of the first of these variables that has any, cut at blanks, or the first program that this
 * machine has. */
static void find_program(const char *const *variables, const char *const *usual, struct argv *a)
{
    for (; *variables && !a->n; variables++) {
        const char *words = getenv(*variables);

        for (words = words ? words : ""; *(words += strspn(words, " ")); words += strcspn(words, " "))
            argv_pushf(a, "%.*s", (int)strcspn(words, " "), words);
    }
    for (; *usual && !a->n; usual++) {
        autofree char *path = child_find_program(*usual);

        if (path)
            argv_push(a, path);
    }
}

/* keep: descriptors that it inherits, ended by -1; or NULL. */
static int lend(struct loop *loop, const struct argv *words, const int *keep, struct error *err)
{
    struct child_options o = {.argv = words->v,
                              .in = STDIN_FILENO,
                              .out = STDOUT_FILENO,
                              .err = STDERR_FILENO,
                              .keep = keep,
                              .our_group = true,
                              .watch = {.loop = loop}};

    modes_set(MODES_LENT);
    struct child *c = child_start(&o, err);
    while (c && !c->ended && !loop_fatal(loop)) {
        loop_arm(loop); /* Ctrl-C is for the program that has the terminal */
        loop_wait(loop, -1);
    }
    child_kill(c, SIGTERM);
    int status = c && child_wait(c, 1000) ? c->status : -1;
    child_abandon(c);
    modes_set(MODES_WAITING);
    return status;
}

int external_run(struct loop *loop, const struct argv *words, struct error *err)
{
    return lend(loop, words, NULL, err);
}

/* Run the words with the file behind them. */
static int run_on(struct loop *loop, struct argv *words, const struct draft *d, const char *advice,
                  struct error *err)
{
    const int keep[] = {d->hold, -1};
    struct error why = {0};

    argv_push(words, d->path);
    int status = lend(loop, words, keep, &why);
    if (status == 0)
        return 0;
    if (*why.text)
        return error_set(err, ERROR_SYSTEM, why.code, "%s\n%s", why.text, advice);
    return error_set(err, ERROR_SYSTEM, 0, "%s failed (%s); the text is unchanged", words->v[0],
                     child_status_text(status).text);
}

/* 1: it is another text than before. */
static int read_back(const char *path, struct buf *text, struct error *err)
{
    struct buf raw autorelease(buf_release) = BUF_INIT(0), clean autorelease(buf_release) = BUF_INIT(0);

    if (file_read(path, QUESTION_MAX, &raw, err) < 0)
        return -1;
    scrub_text(buf_str(&raw), raw.len, SCRUB_PIPE, &clean);
    while (clean.len && clean.data[clean.len - 1] == '\n')
        clean.len--;
    if (clean.len == text->len && !memcmp(buf_str(&clean), buf_str(text), text->len))
        return 0;
    buf_clear(text);
    buf_add(text, buf_str(&clean), clean.len);
    return 1;
}

int external_edit(struct loop *loop, const char *suffix, struct buf *text, struct error *err)
{
    static const char *const variables[] = {"VISUAL", "EDITOR", NULL};
    static const char *const usual[] = {"editor", "nano", "vi", NULL};
    struct argv words autorelease(argv_release) = ARGV_INIT;
    struct draft d autorelease(draft_remove) = DRAFT_INIT;
    autofree char *name = xasprintf("text%s", suffix);

    find_program(variables, usual, &words);
    if (!words.n)
        return error_set(err, ERROR_SYSTEM, ENOENT, "no editor was found\n" ADVICE);
    int r = draft_make(&d, name, text, err);
    if (r == 0)
        r = run_on(loop, &words, &d, ADVICE, err);
    return r < 0 ? r : read_back(d.path, text, err);
}

int external_view(struct loop *loop, const struct buf *text, struct error *err)
{
    static const char *const variables[] = {"PAGER", NULL}, *const usual[] = {"less", "more", NULL};
    struct argv words autorelease(argv_release) = ARGV_INIT;
    struct draft d autorelease(draft_remove) = DRAFT_INIT;

    find_program(variables, usual, &words);
    if (!words.n)
        return error_set(err, ERROR_SYSTEM, ENOENT, "no pager was found");
    return draft_make(&d, "text.txt", text, err) < 0
               ? -1
               : run_on(loop, &words, &d, "Set PAGER to the pager of your choice.", err);
}
