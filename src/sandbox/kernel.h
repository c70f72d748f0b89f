/* kernel.h - the connection to one supervisor: frames over the loop, neither side ever waiting for the other.
 *
 * Whatever is wrong with the peer (end, garbage, a length over the cap, a frame its listener refuses) ends
 * the connection, once, through broken(), with a line that says what. It never ends the program.
 */
#ifndef SANDBOX_KERNEL_H
#define SANDBOX_KERNEL_H

#include <stdbool.h>
#include <stddef.h>

#include "sandbox/frame.h"

struct kernel;
struct loop;

struct kernel_listener {
    void *ctx;
    /* NULL: fine; else what is wrong with it: the connection ends */
    const char *(*frame)(void *ctx, const struct frame *f);
    void (*broken)(void *ctx, const char *why); /* may free the kernel */
};

/* in and out are borrowed, non-blocking, perhaps the same. */
struct kernel *kernel_new(struct loop *loop, int in, int out, const struct kernel_listener *l);
void kernel_free(struct kernel *k); /* also from within its callbacks */
void kernel_send(struct kernel *k, char type, const unsigned char *nonce, const void *a, size_t a_len,
                 const void *b, size_t b_len);
/* bytes not taken by the channel yet; who sends much looks at it */
size_t kernel_pending(const struct kernel *k);

#endif
