/* incoming.c - what the supervisor says: its greeting, the end of a request, the death of the worker. Every
 * frame is checked here before a request sees it. */
#include "sandbox/sandbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/scrub.h"
#include "mount/mount.h"
#include "process/loop.h"
#include "sandbox/private.h"

#define PACKAGES_MAX     1000
#define MOUNTED_MAX      400
#define REQUEST_TEXT_MAX 4096
#define UNKEPT_MAX       100
#define ERROR_TEXT_MAX   1000
#define LOST_NAME_MAX    1100
#define OLDEST_PYTHON    8 /* 3.8, for which the guest is written */

/* "m50000000 big.bin": reason, size, name. */
static void take_lost(struct request *q, const struct tagged_value *t)
{
    autofree char *text = tagged_text(t, LOST_NAME_MAX);
    char *name = strchr(text, ' ');

    if (q->n_lost == LOST_NAMED || !name)
        return;
    *name++ = '\0';
    q->lost[q->n_lost++] = (struct lost_file){strchr("mcf", text[0]) ? text[0] : 't',
                                              strtoull(text + 1, NULL, 10), scrub_line(name, SCRUB_TERMINAL)};
}

/* The body of FROM_GUEST_END and _DEATH. False: malformed. */
static bool read_end(struct request *q, const char *body, size_t len)
{
    struct tagged_value t = tagged_in(body, len);
    int rc;

    while ((rc = tagged_next(&t)) > 0) {
        int64_t n = tagged_int(&t);
        int count = n > 0 && n < INT32_MAX ? (int)n : 0;

        tagged_take(&t, 'e', &q->error, ERROR_TEXT_MAX);
        tagged_take(&t, 't', &q->text, REQUEST_TEXT_MAX);
        tagged_take(&t, 'u', &q->unkept, UNKEPT_MAX);
        q->sigint_sent |= t.tag == 'i';
        q->closed |= t.tag == 'c';
        q->began_anew |= t.tag == 'b';
        q->files_cut |= t.tag == 'f';
        /* a newer supervisor may add other fields */
        if (t.tag == 'n') {
            q->error_code = count < 4096 ? count : 0;
        } else if (t.tag == 'w') {
            q->wait_status = n;
        } else if (t.tag == 'r') {
            q->restored = true;
            q->behind = (unsigned)count;
        } else if (t.tag == 'o') {
            q->snapshots_killed = count; /* never negative, which would pass for a kill that we counted */
        } else if (t.tag == 'l') {
            take_lost(q, &t);
        } else if (t.tag == 'm') {
            q->lost_unnamed += count;
        }
    }
    return rc == 0;
}

void sandbox_count_kills(struct sandbox *s)
{
    int64_t kills = s->run && s->stage == STAGE_READY ? engine_memory_kills(s->run) : -1;

    if (kills >= 0)
        s->memory_kills = kills;
}

void sandbox_note_death(struct sandbox *s, const struct request *q, const char *when)
{
    if (q->wait_status < 0 || !s->touched || s->lost_state)
        return;
    s->restored = q->restored;
    s->behind = q->behind;
    s->lost_state = !q->restored;
    snprintf(s->lost_why, sizeof s->lost_why, "Python died %s%s%s", when,
             !q->restored && q->unkept ? "; no snapshot to restore: " : "",
             !q->restored && q->unkept ? q->unkept : "");
    s->touched = q->restored;
}

/* The worker ended while no cell ran. */
static const char *on_death(struct sandbox *s, const struct frame *f)
{
    struct request q autorelease(request_end) = {.wait_status = -1};

    if (read_end(&q, f->data, f->len))
        sandbox_note_death(s, &q, "after the last code had ended");
    return NULL;
}

static const char *on_end(struct request *q, const struct frame *f)
{
    q->done = true;
    return read_end(q, f->data, f->len) ? NULL : "it sent a malformed end of a request";
}

struct hello {
    char *version, *python, *packages;
    bool hidden, read_only;
    struct argv mounted; /* for mount.h */
    struct earlier_program earlier;
};

/* The end of a request that no program was there to read: did the worker die, and was a snapshot restored? */
static void read_news(const struct tagged_value *news, struct earlier_program *e)
{
    struct request q autorelease(request_end) = {.wait_status = -1};

    read_end(&q, news->data, news->len);
    e->died |= q.wait_status >= 0;
    e->restored |= q.restored;
    e->behind += q.behind;
}

static int read_hello(const struct frame *f, struct hello *h)
{
    struct tagged_value t = tagged_in(f->data, f->len);
    int rc;

    while ((rc = tagged_next(&t)) > 0) {
        tagged_take(&t, 'v', &h->version, PACKAGES_MAX);
        tagged_take(&t, 'p', &h->python, PACKAGES_MAX);
        tagged_take(&t, 'k', &h->packages, PACKAGES_MAX);
        h->hidden |= t.tag == 'd';
        h->read_only |= t.tag == 'w';
        h->earlier.unfinished |= t.tag == 'u';
        if (t.tag == 'm' && h->mounted.n <= MOUNTS_MAX) {
            autofree char *one = tagged_text(&t, MOUNTED_MAX);
            argv_push(&h->mounted, one);
        }
        if (t.tag == 'z')
            read_news(&t, &h->earlier);
        if (t.tag == 'c' && tagged_int(&t) > 0 && tagged_int(&t) < INT32_MAX)
            h->earlier.cells = (unsigned)tagged_int(&t);
    }
    return rc;
}

/* NULL, or why this supervisor cannot be used. */
static const char *refuse_hello(struct sandbox *s, const struct hello *h, int rc)
{
    unsigned major, minor;

    if (s->taken && h->version && strcmp(h->version, "1") != 0)
        return "another version of sandpiper started it";
    if (rc < 0 || !h->version || strcmp(h->version, "1") != 0 || !h->python)
        return "its greeting cannot be understood";
    if (sscanf(h->python, "%u.%u", &major, &minor) == 2
        && (major < 3 || (major == 3 && minor < OLDEST_PYTHON))) {
        autofree char *shown = scrub_line(h->python, SCRUB_TERMINAL);

        snprintf(s->broken_why, sizeof s->broken_why, "its python3 is %.20s, older than 3.%d", shown,
                 OLDEST_PYTHON);
        return s->broken_why;
    }
    if (h->read_only)
        return "its own /mnt/data is not writable: an image must have none, or one of mode 1777";
    if (!s->taken && engine_refuses(s->run))
        return "it cannot enforce a limit that was asked for";
    return mounts_compare(s->o.run.mounts, &h->mounted, &s->error) < 0 || with_greeted(s, &h->mounted) < 0
               ? "what is mounted is not what was opened"
               : NULL;
}

/* A sandbox that ran before this program has a socket only if it was started with --allow-net. */
static void open_network(struct sandbox *s)
{
    int fd = s->network ? channel_descriptor(s->channel) : -1;

    if (s->network && (fd < 0 || network_listen(s->network, fd) < 0))
        engine_notice(&s->o.run, false, "code reaches no host: %s",
                      s->taken ? "this sandbox was started without --allow-net, or its code holds the port"
                               : "the sandbox sent no socket for it");
}

static void accept_hello(struct sandbox *s, const struct hello *h)
{
    /* These go into a prompt and onto a screen: one line each, without control characters. */
    xreplace(&s->packages, scrub_line(h->packages ? h->packages : "", SCRUB_TERMINAL));
    snprintf(s->python, sizeof s->python, "%.20s", h->python);
    for (char *c = s->python; *c; c++)
        if (!((*c >= '0' && *c <= '9') || *c == '.'))
            *c = '?';
    snprintf(s->engine, sizeof s->engine, "%s", engine_facts(s->run).name);
    xreplace(&s->image, xstrdup(engine_facts(s->run).image));
    loop_timer_stop(s->loop, s);
    s->stage = STAGE_READY;
    with_tell(s);
    with_compare_python(s);
    s->terminal = s->taken ? (struct sandbox_terminal){0} : SANDBOX_TERMINAL_NONE;
    s->memory_kills = engine_memory_kills(s->run);
    if (!s->taken)
        engine_accept(s->run, s->python, s->packages);
    sandbox_tell_lacking(s, &h->mounted);
    open_network(s);
    if (s->hold.name)
        named_greeted(s, &h->earlier);
    if (s->o.up)
        s->o.up(s->o.ctx, s);
    if (!h->hidden)
        engine_notice(&s->o.run, true,
                      "this Python has no ctypes: code can inspect the supervisor in its own sandbox");
}

static const char *on_hello(struct sandbox *s, const struct frame *f)
{
    struct hello h = {0};
    int rc = read_hello(f, &h);
    const char *why = refuse_hello(s, &h, rc);

    if (!why)
        accept_hello(s, &h);
    free(h.version);
    free(h.python);
    free(h.packages);
    argv_release(&h.mounted);
    return why;
}

const char *sandbox_frame(void *ctx, const struct frame *f)
{
    struct sandbox *s = ctx;
    struct request *q = s->request;

    if (s->stage == STAGE_HELLO)
        return f->type == FROM_GUEST_HELLO ? on_hello(s, f) : "it did not begin with a greeting";
    if (f->type == FROM_GUEST_DEATH)
        return on_death(s, f);
    if (f->type == FROM_GUEST_PROCESS)
        return processes_frame(s, f);
    /* Accept only frames of the request under way. Its nonce is made out here for each request, so late or
     * invented frames do not match. */
    if (!q || q->done || memcmp(f->nonce, q->nonce, NONCE_SIZE) != 0)
        return "it sent a frame that nobody asked for";
    q->progress_at = clock_ms();
    if (f->type == FROM_GUEST_END)
        return on_end(q, f);
    return q->frame ? q->frame(q, f) : "it sent a frame of the wrong kind";
}
