/* frame.h - the bytes between the program and the supervisor inside a sandbox: frames and, in some bodies,
 * tagged values.
 *
 *     frame:         u32 length of the body | u8 type | 16 bytes nonce | body
 *     tagged value:  u8 tag | u32 length | bytes
 *
 * Numbers are little-endian. The peer is hostile: bytes may arrive in pieces of any size, and the same bytes
 * give the same frames however they are cut; a length over the cap is refused before anything is allocated
 * for it. What the types and their bodies mean: docs/sandbox-protocol.md; src/guest/protocol.py has the same
 * names.
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

enum to_guest {
    TO_GUEST_PARTS = 'B', /* the rest of the guest's source */
    TO_GUEST_RUN = 'R',
    TO_GUEST_INTERRUPT = 'I',
    TO_GUEST_KILL = 'K',
    TO_GUEST_RESET = 'S',
    TO_GUEST_PUT = 'P', /* a file comes: its name */
    TO_GUEST_DATA = 'D',
    TO_GUEST_COMMIT = 'C',
    TO_GUEST_ABORT = 'A',
    TO_GUEST_PROFILE = 'F',
    TO_GUEST_ARGUMENTS = 'G', /* sys.argv of the cells that follow */
    TO_GUEST_INVENTORY = 'V', /* which variables and files there are */
    TO_GUEST_KEEP = 'W',      /* this sandbox has a name, and outlives its client */
};

enum from_guest {
    FROM_GUEST_HELLO = 'H',
    FROM_GUEST_STDOUT = 'O',
    FROM_GUEST_STDERR = 'E',
    FROM_GUEST_RESULT = 'R',
    FROM_GUEST_FILE = 'F', /* a file goes out: its name and size */
    FROM_GUEST_DATA = 'D',
    FROM_GUEST_FILE_END = 'G',
    FROM_GUEST_NOTE = 'N',
    FROM_GUEST_END = 'Z',   /* of a request */
    FROM_GUEST_DEATH = 'X', /* of the interpreter, with no request under way */
};

struct frame {
    enum from_guest type; /* any byte: the peer's word */
    unsigned char nonce[NONCE_SIZE];
    const char *data; /* valid during the callback */
    size_t len;
};

/* Return non-zero to stop: nothing after this frame is looked at. */
typedef int frame_fn(void *ctx, const struct frame *f);

struct frame_reader {
    frame_fn *fn;
    void *ctx;
    struct buf part; /* of a frame that is not whole yet */
    bool bad;        /* a length over the cap was seen; nothing more is read */
};

void frame_reader_init(struct frame_reader *r, frame_fn *fn, void *ctx);
void frame_reader_release(struct frame_reader *r);
/* Feed bytes; fn is called for every frame that is whole now. 0; 1 when fn stopped; -1 when the bytes are no
 * frames. */
int frame_feed(struct frame_reader *r, const char *data, size_t len);

/* A frame to be sent: its body is two pieces in a row, either of which may be empty. Borrows everything. */
struct frame_out {
    enum to_guest type;
    const unsigned char *nonce; /* NULL: all zero, for what belongs to no request */
    struct {
        const void *data;
        size_t len;
    } head, body;
};

void frame_add(struct buf *out, const struct frame_out *f);

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
/* the same, in place of the text in *to, which is freed */
void tagged_take(char **to, const struct tagged *t, size_t max);

void put_u32(unsigned char *p, uint32_t v);
uint32_t get_u32(const char *p);

#endif
