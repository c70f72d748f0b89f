/* beside.c - processes beside the interpreter: what is asked of the supervisor, and what it says of them. */
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "sandbox/private.h"

#define HEAD 5 /* bytes in front of each body: u32 number, u8 what */

void sandbox_set_process_listener(struct sandbox *s, process_event_fn *fn, void *ctx)
{
    s->process_fn = fn;
    s->process_ctx = ctx;
}

static void process_send(struct sandbox *s, uint32_t number, char what, const void *data, size_t len)
{
    unsigned char head[HEAD];

    if (s->stage != STAGE_READY)
        return;
    put_u32(head, number);
    head[4] = (unsigned char)what;
    channel_send(s->channel, &(struct frame_out){
                                 .type = TO_GUEST_PROCESS, .head = {head, sizeof head}, .body = {data, len}});
}

static void add_tagged_words(struct buf *out, char tag, const struct argv *words)
{
    size_t len = 0;

    for (size_t i = 0; words && i < words->n; i++)
        len += strlen(words->v[i]) + 1;
    tagged_head(out, tag, len);
    for (size_t i = 0; words && i < words->n; i++)
        buf_add(out, words->v[i], strlen(words->v[i]) + 1);
}

int sandbox_process_start(struct sandbox *s, const struct process_start *p, struct error *err)
{
    struct buf body autorelease(buf_release) = BUF_INIT(0);

    if (s->stage != STAGE_READY)
        return error_set(err, ERROR_SANDBOX, 0, "the sandbox is not up at present");
    add_tagged_words(&body, 'w', p->words);
    add_tagged_words(&body, 'e', p->env);
    if (p->folder) {
        tagged_head(&body, 'd', strlen(p->folder));
        buf_addstr(&body, p->folder);
    }
    if (p->fed)
        tagged_head(&body, 'i', 0);
    if (body.len > FRAME_OUT_MAX - HEAD)
        return error_set(err, ERROR_USAGE, EFBIG, "the command and its environment are too long");
    process_send(s, p->number, 's', body.data, body.len);
    return 0;
}

void sandbox_process_input(struct sandbox *s, uint32_t number, const char *data, size_t len)
{
    process_send(s, number, 'i', data, len < PROCESS_INPUT_MAX ? len : PROCESS_INPUT_MAX);
}

void sandbox_process_close(struct sandbox *s, uint32_t number)
{
    process_send(s, number, 'c', NULL, 0);
}

void sandbox_process_hold(struct sandbox *s, uint32_t number, bool hold)
{
    process_send(s, number, hold ? 'h' : 'r', NULL, 0);
}

void sandbox_freeze(struct sandbox *s, bool freeze)
{
    process_send(s, 0, freeze ? 't' : 'g', NULL, 0);
}

void sandbox_process_signal(struct sandbox *s, uint32_t number, int signal)
{
    const unsigned char byte = (unsigned char)signal;

    process_send(s, number, 'k', &byte, 1);
}

static void tell_process(const struct sandbox *s, const struct process_event *e)
{
    if (s->process_fn)
        s->process_fn(s->process_ctx, e);
}

const char *processes_frame(struct sandbox *s, const struct frame *f)
{
    static const struct {
        char letter;
        int what;
    } kinds[] = {{'p', PROCESS_STARTED}, {'o', PROCESS_STDOUT}, {'e', PROCESS_STDERR},
                 {'w', PROCESS_WROTE},   {'z', PROCESS_ENDED},  {'f', PROCESS_FAILED}};
    const unsigned char *head = (const unsigned char *)f->data;
    struct process_event e;
    size_t i = 0;

    if (f->len < HEAD)
        return "it sent a frame that is too short";
    while (i < countof(kinds) && kinds[i].letter != (char)head[4])
        i++;
    e = (struct process_event){.number = head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16
                                         | (uint32_t)head[3] << 24,
                               .data = f->data + HEAD,
                               .len = f->len - HEAD};
    if (i == countof(kinds) || e.number == 0)
        return "it sent a frame of an unknown kind";
    e.what = kinds[i].what;
    const struct tagged_value number = {.data = e.data, .len = e.len};
    if (e.what == PROCESS_STARTED || e.what == PROCESS_WROTE || e.what == PROCESS_ENDED)
        e.value = tagged_int(&number);
    tell_process(s, &e);
    return NULL;
}

void processes_lost(struct sandbox *s)
{
    tell_process(s, &(struct process_event){.what = PROCESS_ENDED, .value = 9});
}
