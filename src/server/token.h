/* token.h - the secrets by which clients are let in. Only their SHA-256 is kept, so that a comparison takes
 * the same time whatever was sent, and our memory does not hold what a client has to know.
 */
#ifndef SERVER_TOKEN_H
#define SERVER_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

struct error;

#define TOKENS_MAX     64
#define TOKEN_TEXT     44 /* of a fresh one, with its NUL: 256 bits in base64url */
#define TOKEN_MIN      16 /* characters; a shorter one can be guessed */
#define TOKEN_FILE_MAX (16u << 10)

struct tokens {
    size_t n;
    bool lasting; /* from a file: the same client has the same token after a restart */
    char hash[TOKENS_MAX][SHA256_HEX];
    unsigned most[TOKENS_MAX]; /* sandboxes that its client may have; 0: as many as there may be */
};

/* One that nobody has seen. -1 with ERROR_SYSTEM. */
int token_make(char out[TOKEN_TEXT], struct error *err);
void tokens_add(struct tokens *t, const char *text, size_t len);
/* A token a line, and behind it, if wanted, how many sandboxes it may have; empty lines and those that begin
 * with # do not count. The file must be ours or root's and nobody else's to read. ERROR_USAGE. */
int tokens_read(struct tokens *t, const char *path, struct error *err);
/* tokens_most(t, hash): see most. hash may be NULL: that of no token. */
unsigned tokens_most(void *t, const char *hash);
/* Which token it is, or -1. given may be NULL. */
int tokens_find(const struct tokens *t, const char *given);

/* The token in the header Authorization, which may be NULL: "Bearer T", or "Basic " and the base64 of
 * ANY:T, as clients send it that have only http://ANY:T@host. *kept: what the caller frees, or NULL. NULL:
 * none. */
const char *token_given(const char *authorization, char **kept);

#endif
