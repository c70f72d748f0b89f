/* frame.h - the bytes between the program and the supervisor inside a sandbox: frames and, in some bodies,
 * tagged values.
 *
 *     frame:         u32 length of the body | u8 type | 16 bytes nonce | body
 *     tagged value:  u8 tag | u32 length | bytes
 *
 * Numbers are little-endian. The peer is hostile: bytes may arrive in pieces of any size, and the same bytes
 * give the same frames however they are cut; a length over the cap is refused before anything is allocated
 * for it. What types mean: docs/sandbox-protocol.md.
 */
#ifndef SANDBOX_FRAME_H
#define SANDBOX_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FRAME_HEAD   21
#define FRAME_IN_MAX (256u << 10) /* body of a frame from inside */
#define FRAME_OUT_MAX \
    ((1u << 20)       \
     + 4096) /* body of a frame from us: a cell's code and a little more; the supervisor refuses more */
#define NONCE_SIZE 16

struct frame {
    char type;
    unsigned char nonce[NONCE_SIZE];
    const char *data; /* valid during the callback */
    size_t len;
};

struct frame_reader {
    struct buf part; /* of a frame that is not whole yet */
    bool bad;        /* a length over the cap was seen; nothing more is read */
};

/* Return non-zero to stop: nothing after this frame is looked at. */
typedef int frame_fn(void *ctx, const struct frame *f);

void frame_reader_init(struct frame_reader *r);
void frame_reader_release(struct frame_reader *r);
/* Feed bytes; fn is called for every frame that is whole now. 0; 1 when fn stopped; -1 when the bytes are no
 * frames. */
int frame_feed(struct frame_reader *r, const char *data, size_t len, frame_fn *fn, void *ctx);

/* Append a frame whose body is a followed by b (b may be NULL). */
void frame_add(struct buf *out, char type, const unsigned char *nonce, const void *a, size_t a_len,
               const void *b, size_t b_len);

struct tagged {
    char tag;
    const char *data;
    size_t len;
};

/* Take the next value off the front of *data. 1: one; 0: the end; -1: malformed. */
int tagged_next(const char **data, size_t *left, struct tagged *t);
/* decimal digits, perhaps a minus; -1 when it is none or too big */
int64_t tagged_int(const struct tagged *t);
/* repaired UTF-8 without NUL, cut at max bytes; the caller frees */
char *tagged_text(const struct tagged *t, size_t max);

void put_u32(unsigned char *p, uint32_t v);
uint32_t get_u32(const char *p);

#endif
