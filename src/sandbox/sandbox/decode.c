/* decode.c - images decoded inside the sandbox: to pixels for the terminal, or to a smaller PNG for a model.
 * Never in this process, which holds the keys.
 *
 * RULE: An image is never decoded in our process, but in the sandbox (guest/pixels.py).
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/size.h"
#include "sandbox/put_file.h"

#define DECODE_MS 25000 /* the supervisor itself ends the helper after 20 s */

struct decode_request {
    struct put put; /* must be the first member, and the request its first */
    const struct pixels_ask *ask;
    struct pixels *out; /* or */
    struct buf *png;    /* at most so many bytes: */
    size_t most;
    size_t got, size; /* bytes of the pixels or of the PNG; size 0: not announced yet */
};

static const char *announce_file(struct decode_request *d, const struct frame *f)
{
    struct tagged_value t = tagged_in(f->data, f->len);
    struct tagged_value texts = {0};
    int64_t width = 0, height = 0, size = 0;

    while (tagged_next(&t) > 0) {
        if (t.tag == 'w')
            width = tagged_int(&t);
        else if (t.tag == 'h')
            height = tagged_int(&t);
        else if (t.tag == 's')
            size = tagged_int(&t);
        else if (t.tag == 't' && d->ask->texts)
            texts = t;
    }
    if (d->size || width < 1 || height < 1 || width > (texts.len ? PIXELS_WIDTH_MAX : d->ask->width)
        || height > (texts.len ? PIXELS_HEIGHT_MAX : d->ask->height) || texts.len > PIXELS_TEXTS_MAX
        || (d->png && (size < 1 || size > (int64_t)d->most)))
        return "it sent an image of another size than it was asked for";
    if (d->png) {
        d->size = (size_t)size;
        return NULL;
    }
    d->size = (size_t)width * (size_t)height * 3;
    *d->out = (struct pixels){.width = (unsigned)width,
                              .height = (unsigned)height,
                              .rgb = xmalloc(d->size),
                              .texts = xmemdup0(texts.data, texts.len),
                              .texts_len = texts.len};
    return NULL;
}

static const char *on_pixels(struct request *q, const struct frame *f)
{
    struct decode_request *d = (struct decode_request *)q;

    if (f->type == FROM_GUEST_FILE)
        return announce_file(d, f);
    if (f->type == FROM_GUEST_FILE_END)
        return NULL;
    if (f->type != FROM_GUEST_DATA || f->len > d->size - d->got)
        return "it sent more of an image than it had announced";
    if (d->png)
        buf_add(d->png, f->data, f->len);
    else
        memcpy(d->out->rgb + d->got, f->data, f->len);
    d->got += f->len;
    return NULL;
}

/* Send the image, wait for the pixels. */
static int decode(struct decode_request *d, struct sandbox *s, struct error *err)
{
    struct put *u = &d->put;
    struct request *q = &u->request;
    struct buf body autorelease(buf_release) = BUF_INIT(0);

    request_begin(s, q);
    tagged_add_int(&body, 'w', d->ask->width);
    tagged_add_int(&body, 'h', d->ask->height);
    tagged_add_int(&body, 'b', d->ask->background);
    if (d->ask->texts)
        tagged_add_int(&body, 't', 1);
    if (d->png)
        tagged_add_int(&body, 'p', (int64_t)d->most);
    put_send(u, TO_GUEST_PIXELS, body.data, body.len);
    put_pump(u);
    if (put_finish(u, err) < 0)
        return -1;
    sandbox_count_kills(s);
    if (u->over)
        return error_set(err, ERROR_USAGE, 0, "%s is too large to show: more than %s", q->what,
                         size_text(s->o.run.data_size).text);
    if (u->read_errno) {
        errno = u->read_errno;
        return error_errno(err, "cannot read %s", q->what);
    }
    if (q->error || d->got < d->size || d->size == 0)
        return error_set(err, ERROR_SYSTEM, 0, "%s could not be decoded: %s", q->what,
                         q->error ? q->error : "the sandbox sent only a part of it");
    return 0;
}

static int decoding_run(struct decode_request *d, struct sandbox *s, struct error *err)
{
    const struct pixels_ask *ask = d->ask;

    assert(ask->width > 0 && ask->width <= PIXELS_WIDTH_MAX && ask->height > 0
           && ask->height <= PIXELS_HEIGHT_MAX);
    d->put = (struct put){.fd = ask->fd,
                          .request = {.what = ask->name,
                                      .frame = on_pixels,
                                      .idle_ms = DECODE_MS,
                                      .when = "while an image was decoded"}};
    int rc = sandbox_wait(s, err) == 0 ? decode(d, s, err) : -1;
    request_end(&d->put.request);
    return rc;
}

int sandbox_pixels(struct sandbox *s, const struct pixels_ask *ask, struct pixels *out, struct error *err)
{
    struct decode_request d = {.ask = ask, .out = out};

    *out = (struct pixels){0};
    int rc = decoding_run(&d, s, err);
    if (rc < 0)
        pixels_release(out);
    return rc;
}

int sandbox_picture(struct sandbox *s, const struct picture_ask *ask, struct buf *out, struct error *err)
{
    const struct pixels_ask size = {
        .width = ask->edge, .height = ask->edge, .background = 0xffffff, .name = ask->name, .fd = ask->fd};
    struct decode_request d = {.ask = &size, .png = out, .most = ask->most};

    return decoding_run(&d, s, err);
}
