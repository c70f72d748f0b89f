/* token.h - the secrets by which clients are let in. Only their SHA-256 is kept, so that a comparison takes
 * the same time whatever was sent, and the secrets themselves are not in our memory.
 */
#ifndef SERVER_TOKEN_H
#define SERVER_TOKEN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

struct error;

#define TOKENS_MAX     64  /* of a file */
#define TOKENS_EVER    256 /* in all files that are read until the program ends */
#define TOKEN_TEXT     44  /* bytes of a new one, with its NUL: 256 bits in base64url */
#define TOKEN_MIN      16  /* characters; a shorter one can be guessed */
#define TOKEN_FILE_MAX (16u << 10)

struct tokens {
    size_t n;     /* those that are in the file, and those that were: each keeps its place */
    bool lasting; /* from a file: the same client has the same token after a restart */
    char hash[TOKENS_EVER][SHA256_HEX];
    bool gone[TOKENS_EVER];     /* it is no longer in the file: it lets nobody in */
    unsigned most[TOKENS_EVER]; /* the most sandboxes that its client may have; 0: no limit of its own */
};

/* Makes a new random token. -1 with ERROR_SYSTEM. */
int token_make(char out[TOKEN_TEXT], struct error *err);
void tokens_add(struct tokens *t, const char *text, size_t len);
/* Reads a file with one token a line, each perhaps followed by how many sandboxes it may have. Empty lines
 * and those that begin with # are ignored. The file must belong to us or to root, and nobody else may read
 * it. -1 with ERROR_USAGE. */
int tokens_read(struct tokens *t, const char *path, struct error *err);
/* Takes over what a later reading of the file found. -1 with ERROR_USAGE: there have
 * been too many, and nothing was changed. */
int tokens_update(struct tokens *t, const struct tokens *new, struct error *err);
/* Returns the most sandboxes for the token with this hash, which may be NULL; 0: no limit of its own. */
unsigned tokens_most(void *t, const char *hash);
/* Gives the tokens without a number equal shares of what the numbers leave of all sandboxes, at least one
 * each. A single token keeps no limit of its own. */
void tokens_share(struct tokens *t, unsigned all);
/* Returns the index of a token, or -1. given may be NULL. */
int tokens_find(const struct tokens *t, const char *given);
/* Returns the client (front/runners.h) that the token with this index stands for. */
const char *tokens_client(const struct tokens *t, size_t i);

/* Returns the token in the header Authorization, which may be NULL. It is "Bearer T", or "Basic " with the
 * base64 of ANY:T, which clients send for http://ANY:T@host. NULL: there is none. The caller frees *kept,
 * which may be NULL. */
const char *token_given(const char *authorization, char **kept);

#endif
