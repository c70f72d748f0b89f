/* frame.h - the bytes between the program and the supervisor inside a sandbox: frames and, in some bodies,
 * tagged values.
 *
 *     frame:         u32 length of the body | u8 type | 16 bytes nonce | body
 *     tagged value:  u8 tag | u32 length | bytes
 *
 * Numbers are little-endian. The peer is hostile. Bytes may arrive in pieces of any size, and however they
 * are cut, the same bytes give the same frames. A length over the cap is refused before anything is allocated
 * for it. docs/sandbox-protocol.md explains the types and their bodies; guest/protocol.py uses the same
 * names.
 */
#ifndef CHANNEL_FRAME_H
#define CHANNEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define FRAME_HEAD   21
#define FRAME_IN_MAX (256u << 10) /* bytes in the body of a frame from inside */
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
    TO_GUEST_PUT = 'P', /* a file follows; the body is its name */
    TO_GUEST_DATA = 'D',
    TO_GUEST_COMMIT = 'C',
    TO_GUEST_ABORT = 'A',
    TO_GUEST_PROFILE = 'F',
    TO_GUEST_ARGUMENTS = 'G', /* sys.argv of the cells that follow */
    TO_GUEST_STDIN = 'N',     /* the file that the cells that follow read as stdin */
    TO_GUEST_PATH = 'Y',      /* folders of packages that the cells that follow import from */
    TO_GUEST_INVENTORY = 'V', /* asks which variables and files there are */
    TO_GUEST_KEEP = 'W',      /* this sandbox is named and outlives its client */
    TO_GUEST_PIXELS = 'M',    /* an image follows, to be decoded */
    TO_GUEST_COMMAND = 'E',   /* words; a process beside the worker */
    TO_GUEST_LANGUAGE = 'O',  /* a cell in another language than Python */
    TO_GUEST_GET = 'Q',       /* asks for a file */
    TO_GUEST_LIST = 'L',      /* asks for the names and sizes of all files */
    TO_GUEST_COPY = 'U',      /* a live copy of the interpreter: write one, or go on from one */
    TO_GUEST_PROCESS = 'J',   /* processes beside the worker that no request waits for */
    TO_GUEST_TERMINAL = 'T',  /* what the output of the cells that follow has to fit */
    TO_GUEST_HEARD = 'H',     /* says nothing: see channel.h */
};

/* Of TO_GUEST_PROFILE: it shows rows; a copy of the worker may make it, if no cell has run. */
enum examine_flag { EXAMINE_ROWS = 1, EXAMINE_IN_COPY = 2 };

enum from_guest {
    FROM_GUEST_HELLO = 'H',
    FROM_GUEST_STDOUT = 'O',
    FROM_GUEST_STDERR = 'E',
    FROM_GUEST_RESULT = 'R',
    FROM_GUEST_FILE = 'F', /* a file follows; the body is its name and size */
    FROM_GUEST_DATA = 'D',
    FROM_GUEST_FILE_END = 'G',
    FROM_GUEST_NOTE = 'N',
    FROM_GUEST_END = 'Z',   /* the end of a request */
    FROM_GUEST_DEATH = 'X', /* the worker died while no request was under way */
    FROM_GUEST_COPY = 'U',  /* the supervisor waits for the descriptor of the copy */
    FROM_GUEST_PROCESS = 'J',
    FROM_GUEST_HEARD = 'A', /* says nothing: see channel.h */
};

/* Exit statuses of a worker, as in guest/protocol.py: it could not be put right; it never began. */
enum guest_exit { GUEST_EXIT_GAVE_UP = 70, GUEST_EXIT_NOT_STARTED = 71 };

struct frame {
    enum from_guest type; /* any byte, as the peer sent it */
    unsigned char nonce[NONCE_SIZE];
    const char *data; /* valid during the callback */
    size_t len;
};

/* Return non-zero to stop; nothing after this frame is then read. */
typedef int frame_fn(void *ctx, const struct frame *f);

struct frame_reader {
    frame_fn *fn;
    void *ctx;
    struct buf part; /* the beginning of an incomplete frame */
    bool bad;        /* a length over the cap was seen; nothing more is read */
};

void frame_reader_init(struct frame_reader *r, frame_fn *fn, void *ctx);
void frame_reader_release(struct frame_reader *r);
/* Feed bytes; fn is called for every frame that they complete. 0; 1 when fn stopped it; -1 when the bytes
 * are not frames. */
int frame_feed(struct frame_reader *r, const char *data, size_t len);

/* A frame to be sent. Its body is head followed by body; either may be empty. Everything is borrowed. */
struct frame_out {
    enum to_guest type;
    const unsigned char *nonce; /* NULL: all zero, for frames that belong to no request */
    struct {
        const void *data;
        size_t len;
    } head, body;
};

void frame_add(struct buf *out, const struct frame_out *f);

struct tagged_value { /* one value of a body; the body is borrowed */
    char tag;
    const char *data;
    size_t len;
    const char *rest; /* what follows it in the body */
    size_t left;
};

struct tagged_value tagged_in(const char *body, size_t len); /* before its first value */
/* Go on to the next value. 1: there is one; 0: the end; -1: malformed. */
int tagged_next(struct tagged_value *t);
/* Decimal digits with an optional minus; -1 when it is not a number or too large. */
int64_t tagged_int(const struct tagged_value *t);
/* Append the tag and the length of a value, whose bytes the caller appends. */
void tagged_head(struct buf *out, char tag, size_t len);
/* Append a value of decimal digits. */
void tagged_add_int(struct buf *out, char tag, int64_t value);
/* As valid UTF-8 without NUL, cut to max bytes. The caller frees. */
char *tagged_text(const struct tagged_value *t, size_t max);
/* If the value has that tag, its text replaces the one in *to, which is freed. */
void tagged_take(const struct tagged_value *t, char tag, char **to, size_t max);

void put_u32(unsigned char *p, uint32_t v);

#endif
