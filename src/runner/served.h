/* served.h - the note of each named sandbox that a front created: STATE/served/ID. By it the next front finds
 * what one left that was killed, and tells an id that ended from one that never was.
 */
#ifndef RUNNER_SERVED_H
#define RUNNER_SERVED_H

#include <stdbool.h>
#include <stdint.h>

struct served {
    char *conversation; /* or NULL; owned */
    char *client;       /* whose it is; NULL: everybody's; owned */
    char *owner;        /* the front, as owner.h writes it; owned */
    int64_t created;    /* time() */
    int64_t ended;      /* time(); 0: it lives, as far as its front knew */
    bool expired;       /* ended: nobody had asked anything of it; else it was stopped */
};

bool served_good_id(const char *id); /* 32 hex digits */
/* A failure of the disk is no reason to refuse a sandbox: then it is not found again. */
void served_write(const char *id, const struct served *n);
int served_read(const char *id, struct served *out); /* -1: there is none */
void served_remove(const char *id);
void served_each(void (*fn)(void *ctx, const char *id), void *ctx);
void served_release(struct served *n);

#endif
