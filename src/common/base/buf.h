/* buf.h - a growing byte buffer with a maximum size. NUL-terminated after the first add; may contain NULs.
 * A buf that receives bytes from outside the program must have a max that was chosen on purpose.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
    char *data; /* NULL until something was added; use buf_str() where "" is wanted */
    size_t len, alloc;
    size_t max; /* maximum of len; 0: none (only for bytes that we make ourselves) */
    bool full;  /* something did not fit and was dropped */
};

#define BUF_INIT(cap) \
    {                 \
        .max = (cap)  \
    }

void buf_init(struct buf *b, size_t max);
void buf_release(struct buf *b); /* frees, keeps max */
void buf_clear(struct buf *b);   /* len 0, full false, memory kept */
/* Append what fits; false, with .full set, if not everything did. */
bool buf_add(struct buf *b, const void *data, size_t len);
bool buf_addstr(struct buf *b, const char *s);
bool buf_addch(struct buf *b, char c);
bool buf_addf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool buf_vaddf(struct buf *b, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Room for want bytes at the end, or NULL if that exceeds max. The caller then adds to b->len and calls
 * buf_end(). */
char *buf_space(struct buf *b, size_t want);
void buf_end(struct buf *b);                   /* write the NUL after data that the caller put there */
void buf_drop(struct buf *b, size_t n);        /* remove n bytes from the front */
void buf_cut(struct buf *b, size_t len);       /* keep the first len bytes */
void buf_trim(struct buf *b, const char *set); /* remove the bytes at the end that are characters of set */
char buf_last(const struct buf *b);            /* the last byte, or NUL if there is none */
const char *buf_str(const struct buf *b);      /* never NULL */
/* Take the bytes (never NULL; the caller frees) and leave the buf empty. len may be NULL. */
char *buf_steal(struct buf *b, size_t *len);
/* The length of text without the bytes at its end that are characters of set. */
size_t trimmed_length(const char *text, size_t len, const char *set);
bool text_is_blank(const char *text); /* NULL, or nothing but ASCII white space */

#endif
