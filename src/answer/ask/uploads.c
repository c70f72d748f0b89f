/* uploads.c - artifacts.upload: each file that code made is put on the storage before anybody is told of it,
 * and in the text that follows its path becomes its URL. After the first failure nothing more is uploaded:
 * the files are here all the same.
 */
#include <string.h>

#include "agent/agent.h"
#include "base/error.h"
#include "base/mem.h"
#include "ask/ask.h"
#include "config/config.h"
#include "upload/links.h"
#include "upload/upload.h"

struct uploads {
    struct upload *upload;
    struct links links;
    struct ask *ask;
    unsigned reply;           /* of the text that is held back */
    const struct event *file; /* that is uploaded now */
    bool failed;
};

static void pass(const struct uploads *u, const struct event *e)
{
    u->ask->listener.event(u->ask->listener.ctx, e);
}

/* The progress of one file becomes the progress of all files of the cell. */
static void on_phase(void *ctx, const struct phase_now *now, const char *why)
{
    const struct uploads *u = ctx;
    struct event e = {.type = EVENT_PHASE, .question = u->file->question, .phase = *now};

    if (why) {
        autofree char *line = xasprintf("%s: %s", u->file->file.name, why);
        ask_notice(u->ask, NOTICE_INFO, line);
    } else if (u->file->file.bytes < PHASE_TOLD_FROM) {
        e.phase.done = e.phase.total = 0;
    } else {
        e.phase.done += u->file->file.before;
        e.phase.total = u->file->file.bytes;
    }
    pass(u, &e);
}

static struct upload *open_upload(const struct config *c, struct upload_options o, struct error *err)
{
    o.to = c->upload;
    o.ca_cert = c->front.ca_cert;
    o.connect_ms = (int)c->connect_timeout;
    o.idle_ms = (int)c->idle_timeout;
    o.insecure = c->allow_insecure;
    return upload_new(&o, err);
}

int uploads_check(const struct config *c, struct error *err)
{
    struct upload *u = c->upload ? open_upload(c, (struct upload_options){.session = ""}, err) : NULL;
    bool usable = u || !c->upload;

    upload_free(u);
    return usable ? 0 : -1;
}

int uploads_new(struct ask *a, struct error *err)
{
    if (!a->c->upload || a->unsent)
        return 0;
    struct uploads *u = xcalloc(1, sizeof *u);
    const struct upload_options o = {.session = a->session, .loop = a->loop, .phase = on_phase, .ctx = u};

    u->ask = a;
    u->upload = open_upload(a->c, o, err);
    a->uploads = u;
    return u->upload ? 0 : -1;
}

bool uploads_failed(const struct uploads *u)
{
    return u && u->failed;
}

void uploads_free(struct uploads *u)
{
    if (!u)
        return;
    upload_free(u->upload);
    links_release(&u->links);
    free(u);
}

/* Its name here is unique in the session, the one in the sandbox is not. */
static char *put_upload(struct uploads *u, const struct event *e)
{
    const char *slash = strrchr(e->file.path, '/'), *name = slash ? slash + 1 : e->file.path;
    struct error err = {0};
    char *url = NULL;

    if (u->failed)
        return NULL;
    u->file = e;
    if (upload_file(u->upload, e->file.path, name, &url, &err) == 0) {
        links_add(&u->links, e->file.name, url);
        return url;
    }
    if (err.kind == ERROR_CANCELLED) /* who pressed Ctrl-C knows it */
        return NULL;
    u->failed = true;
    autofree char *line = xasprintf("%s; no more files are uploaded. It is here: %s", err.text, e->file.path);
    ask_notice(u->ask, NOTICE_ERROR, line);
    return NULL;
}

static void pass_file(struct uploads *u, const struct event *e)
{
    struct event own = *e;
    autofree char *url = put_upload(u, e);
    autofree char *line = url ? xasprintf("%s: %s", e->file.name, url) : NULL;

    own.file.url = url;
    pass(u, &own);
    if (line && !u->ask->c->json)
        ask_notice(u->ask, NOTICE_INFO, line);
}

static void pass_text(struct uploads *u, const struct event *e, bool end)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    if (end) {
        links_end(&u->links, &out);
    } else {
        u->reply = e->text.reply;
        links_feed(&u->links, e->text.text, e->text.len, &out);
    }
    struct event own = {.type = EVENT_TEXT,
                        .question = e->question,
                        .agent = e->agent,
                        .text = {u->reply, buf_str(&out), out.len}};
    if (out.len)
        pass(u, &own);
}

static void pass_done(struct uploads *u, const struct event *e)
{
    struct event own = *e;
    struct buf answer autorelease(buf_release) = BUF_INIT(0);
    const char *text = e->done.answer ? e->done.answer : "";

    links_feed(&u->links, text, strlen(text), &answer);
    links_end(&u->links, &answer);
    own.done.answer = buf_str(&answer);
    pass(u, &own);
}

void uploads_event(struct uploads *u, const struct event *e)
{
    if (event_ends_text(e))
        pass_text(u, e, true);
    if (e->type == EVENT_FILE && e->file.path)
        pass_file(u, e);
    else if (e->type == EVENT_TEXT)
        pass_text(u, e, false);
    else if (e->type == EVENT_DONE)
        pass_done(u, e);
    else
        pass(u, e);
}
