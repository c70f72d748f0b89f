/* served.h - the notes on named sandboxes that a front has created: STATE/served/ID. By these the next
 * front finds what a killed one left, and can tell an id whose sandbox has ended from one that never
 * existed.
 */
#ifndef FRONT_SERVED_H
#define FRONT_SERVED_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct json;

struct served_sandbox {
    char *conversation; /* owned; NULL: none */
    char *client;       /* owned; never NULL where served_read() returned 0 */
    char *outer;        /* owned; the id of the outer one; NULL: none */
    char *owner;        /* owned; the front, in the form of owner.h */
    int64_t created;    /* time() */
    int64_t ended;      /* time(); 0: as far as its front knew, it lives */
    bool expired;       /* it ended because nobody used it; if not, it was stopped */
    int64_t until;      /* time() at which it ends; 0: when nobody uses it */
    bool paused;
    struct json *facts; /* of lease_set_facts(); owned; NULL: none */
};

bool served_good_id(const char *id); /* 32 hex digits */
/* -1 with err: the next front will not find the sandbox. */
int served_write(const char *id, const struct served_sandbox *n, struct error *err);
int served_read(const char *id, struct served_sandbox *out); /* -1: there is none */
void served_remove(const char *id);
void served_each(void (*fn)(void *ctx, const char *id), void *ctx);
void served_release(struct served_sandbox *n);

#endif
