/* receipt.h - what an answer rests on, written down so that another can repeat it: questions and answers,
 * data by name, size and SHA-256, the code that ran, what came of each piece of it, and what it ran in.
 * Plain data; as JSON it is described by docs/receipt.schema.json.
 *
 * A receipt that is read is a stranger's file. receipt_read() checks all of it, so that whoever holds a
 * struct receipt need not: names of files stay below /mnt/data, pieces are in the order in which they ran,
 * every text is valid UTF-8 without NUL. None of it is scrubbed. */
#ifndef RECEIPT_RECEIPT_H
#define RECEIPT_RECEIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"
#include "base/sha256.h"
#include "conversation/cell_result.h"

struct error;
struct json;
struct language;

#define RECEIPT_VERSION    1
#define RECEIPT_BYTES      (64u << 20) /* of a receipt */
#define RECEIPT_PIECES     2000
#define RECEIPT_QUESTIONS  2000
#define RECEIPT_DATA       10000
#define RECEIPT_FILES      1000 /* of one piece */
#define RECEIPT_PLACES     100
#define RECEIPT_PACKAGES   1000       /* of one place */
#define RECEIPT_LOCK       (1u << 20) /* bytes of one */
#define RECEIPT_CODE_BYTES (1u << 20) /* of one piece: no more can run */

struct receipt_file {
    char *name; /* below /mnt/data */
    int64_t size;
    char sha256[SHA256_HEX]; /* "": it was not there any more when the receipt was made */
    enum file_kind kind;     /* of one that code made */
    size_t piece;            /* data: the first piece that ran with it, from 1 */
};

struct receipt_question {
    char *text, *model, *service, *answer; /* the last three: NULL where not known */
    int64_t time;                          /* seconds since the epoch */
};

struct receipt_piece {
    char *code;
    const struct language *language; /* NULL: Python */
    size_t question; /* from 1, in the list of questions; 0: none of them, as what the user ran first */
    bool own;        /* the user's code, not the model's */
    bool restart;    /* before it the variables of all pieces before were gone */
    enum cell_status status;
    char *out[2];            /* stdout and stderr, at most CELL_TEXT_MAX of each */
    char *value, *exception; /* or NULL */
    struct receipt_file *files;
    size_t n_files;
};

/* What the pieces from that one on ran in, up to the next place. */
struct receipt_place {
    size_t piece;                                        /* from 1 */
    char *engine, *image, *runtime, *python, *sandpiper; /* NULL: not known, or it has none */
    struct argv packages;                                /* "numpy 1.24.2": those that the code imported */
    char *lock; /* of packages that were asked for: "emoji==2.16.0 --hash=...", a line each; NULL: none */
};

struct receipt {
    char *session, *sandpiper; /* its id; the version that made the receipt */
    int64_t made;              /* seconds since the epoch */
    struct receipt_question *questions;
    struct receipt_file *data;
    struct receipt_piece *pieces;
    struct receipt_place *places;
    size_t n_questions, n_data, n_pieces, n_places;
};

void receipt_release(struct receipt *r);
/* Grow the list by a zeroed element, which is returned. */
struct receipt_question *receipt_add_question(struct receipt *r);
struct receipt_file *receipt_add_data(struct receipt *r);
struct receipt_piece *receipt_add_piece(struct receipt *r);
struct receipt_file *receipt_add_file(struct receipt_piece *p);
struct receipt_place *receipt_add_place(struct receipt *r);

/* Are they one engine, image, runtime and sandpiper? */
bool receipt_same_place(const struct receipt_place *a, const struct receipt_place *b);
/* Lines of cell_result.packages (NULL: none). */
void receipt_add_packages(struct receipt_place *p, const char *lines);

/* The caller frees. */
struct json *receipt_json(const struct receipt *r);
/* Into an empty *r, which the caller releases, after an error too. ERROR_USAGE: one line that says what is
 * wrong with it and where. */
int receipt_read(const char *text, size_t len, struct receipt *r, struct error *err);

#endif
