/* transfer.c - requests to a sandbox of one frame: the profile of a file, a new worker, sys.argv,
 * what a named sandbox holds. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "process/loop.h"
#include "process/signals.h"
#include "channel/guest.h"
#include "sandbox/private.h"

#define PROFILE_MS    25000 /* the supervisor itself ends the helper after 20 s */
#define INVENTORY_MS  2000
#define GRACE_MS      2000
#define VARIABLES_MAX 200
#define FILES_MAX     80

void request_progress(struct request *q)
{
    size_t pending = channel_pending(q->sandbox->channel);

    if (pending != q->pending)
        q->progress_at = clock_ms();
    q->pending = pending;
}

int request_finish(struct request *q, struct error *err)
{
    struct sandbox *s = q->sandbox;
    bool cancelled = false, asked = false;
    int64_t until = 0;

    q->progress_at = clock_ms();
    while (!q->done && s->stage == STAGE_READY) {
        int64_t now = clock_ms();

        request_progress(q);
        cancelled |= loop_cancelled(s->loop);
        if (!asked)
            until = q->progress_at + q->idle_ms;
        if (!asked && (cancelled || now >= until)) {
            asked = true;
            channel_order(s->channel, TO_GUEST_INTERRUPT);
            until = now + (q->idle_ms < GRACE_MS ? q->idle_ms : GRACE_MS);
        } else if (now >= until) {
            break;
        }
        loop_wait(s->loop, (int)(until - now));
    }
    if (!q->done) {
        sandbox_break(s, "the supervisor in the sandbox did not answer");
        sandbox_start(s);
        return error_set(err, cancelled ? ERROR_CANCELLED : ERROR_SANDBOX, 0,
                         "%s: the sandbox was lost and is restarting (%s)", q->what, s->broken_why);
    }
    if (q->when)
        sandbox_note_death(s, q, q->when);
    return cancelled ? error_set(err, ERROR_CANCELLED, 0, "%s: interrupted", q->what) : 0;
}

int request_ask(struct sandbox *s, struct request *q, struct frame_out f, struct error *err)
{
    request_begin(s, q);
    f.nonce = q->nonce;
    channel_send(s->channel, &f);
    return request_finish(q, err);
}

int sandbox_help(struct sandbox *s, const struct helper *h, struct buf *out, struct error *err)
{
    struct request q autorelease(request_end) = {.what = h->name, .idle_ms = PROFILE_MS};
    struct buf head autorelease(buf_release) = BUF_INIT(0);
    unsigned char size[4];

    if (sandbox_wait(s, err) < 0)
        return -1;
    put_u32(size, (uint32_t)strlen(h->name));
    buf_add(&head, size, sizeof size);
    buf_addstr(&head, h->name);
    buf_add(&head, &h->flags, 1);
    int rc = request_ask(s, &q,
                         (struct frame_out){.type = TO_GUEST_PROFILE,
                                            .head = {head.data, head.len},
                                            .body = {h->module->data, h->module->len}},
                         err);
    sandbox_count_kills(s);
    if (rc < 0)
        return -1;
    if (q.error || !q.text) /* the sandbox itself is fine */
        return error_set(err, ERROR_SYSTEM, 0, "%s could not be examined in the sandbox: %s", h->name,
                         q.error ? q.error : "no answer");
    buf_addstr(out, q.text); /* at most REQUEST_TEXT_MAX */
    return 0;
}

int sandbox_profile(struct sandbox *s, const char *name, bool rows, struct buf *out, struct error *err)
{
    struct buf module autorelease(buf_release) = BUF_INIT(0);
    const struct helper h = {name, EXAMINE_IN_COPY | (rows ? EXAMINE_ROWS : 0), &module};

    if (sandbox_check_name(name, err) < 0)
        return -1;
    guest_profile(&module);
    return sandbox_help(s, &h, out, err);
}

int sandbox_reset(struct sandbox *s, struct error *err)
{
    struct request q autorelease(request_end) = {.what = "the new interpreter"};

    if (sandbox_wait(s, err) < 0 || request_ask(s, &q, (struct frame_out){.type = TO_GUEST_RESET}, err) < 0)
        return -1;
    s->touched = s->lost_state = false; /* the user asked for it, so there is no loss to report */
    free(steal(&s->last_value));
    return 0;
}

int sandbox_set_arguments(struct sandbox *s, char *const *argv, size_t n, struct error *err)
{
    struct buf words autorelease(buf_release) = BUF_INIT(0);

    for (size_t i = 0; i < n; i++)
        buf_add(&words, argv[i], strlen(argv[i]) + 1);
    if (words.len > SANDBOX_CODE_MAX)
        return error_set(err, ERROR_USAGE, 0, "the arguments are too long: %zu bytes, the limit is %u",
                         words.len, SANDBOX_CODE_MAX);
    if (sandbox_wait(s, err) < 0)
        return -1;
    channel_send(s->channel,
                 &(struct frame_out){.type = TO_GUEST_ARGUMENTS, .body = {words.data, words.len}});
    return 0;
}

int sandbox_set_stdin(struct sandbox *s, const char *name, struct error *err)
{
    if (sandbox_wait(s, err) < 0)
        return -1;
    channel_send(s->channel, &(struct frame_out){.type = TO_GUEST_STDIN,
                                                 .body = {name ? name : "", name ? strlen(name) : 0}});
    return 0;
}

/* Append one line of at most max bytes, cut between two entries, without control characters. */
static void add_list(struct buf *out, const char *before, const char *list, size_t max)
{
    autofree char *clean = scrub_line(list, SCRUB_TERMINAL);
    size_t n = strlen(clean);

    if (n == 0)
        return;
    buf_addf(out, "%s%s ", out->len ? "; " : "", before);
    if (n > max) {
        n = utf8_cut(clean, n, max);
        while (n > 0 && clean[n] != ',')
            n--;
        buf_add(out, clean, n ? n : utf8_cut(clean, strlen(clean), max));
        buf_addstr(out, n ? ", ..." : "...");
    } else {
        buf_add(out, clean, n);
    }
}

/* The two lines of an inventory: the variables, the files. The caller frees; NULL with err. */
static char *inventory(struct sandbox *s, const char *what, struct error *err)
{
    struct request q autorelease(request_end) = {
        .what = what, .idle_ms = INVENTORY_MS, .when = "when it was asked for its contents"};

    if (sandbox_wait(s, err) < 0
        || request_ask(s, &q, (struct frame_out){.type = TO_GUEST_INVENTORY}, err) < 0)
        return NULL;
    return q.text ? steal(&q.text) : xstrdup("");
}

/* Behind the first line, which is cut off. */
static const char *second_line(char *text)
{
    char *end = text + strcspn(text, "\n");

    return *end ? (*end = '\0', end + 1) : end;
}

int sandbox_list_files(struct sandbox *s, struct buf *out, struct error *err)
{
    autofree char *text = inventory(s, "the list of files", err);

    buf_addstr(out, text ? second_line(text) : "");
    return text ? 0 : -1;
}

int sandbox_list_variables(struct sandbox *s, struct buf *out, struct error *err)
{
    autofree char *text = inventory(s, "the list of variables", err);

    if (text)
        buf_add(out, text, strcspn(text, "\n"));
    return text ? 0 : -1;
}

void sandbox_inventory(struct sandbox *s, struct buf *out)
{
    struct error err = {0};

    if (!s->o.run.name)
        return;
    sandbox_start(s);
    autofree char *text = s->taken ? inventory(s, "the inventory", &err) : NULL;
    if (text) {
        const char *files = second_line(text);

        add_list(out, "variables", text, VARIABLES_MAX);
        add_list(out, "files in /mnt/data:", files, FILES_MAX);
    }
}

void sandbox_delivered(struct sandbox *s, const char *name, const char *path, int fd)
{
    ledger_note(&s->ledger, name, path, fd);
}
