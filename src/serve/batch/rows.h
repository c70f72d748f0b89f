/* rows.h - the questions of a batch: a file of JSON lines (tasks as conversation/task.h has them, with
 * system and model beside the question, or OpenAI's batch lines: custom_id, url, body) or a CSV with a
 * header. All rows are checked when the file is opened, so that none is found wrong after an hour; each is
 * read again when it is asked, so that a million of them take little room.
 */
#ifndef BATCH_ROWS_H
#define BATCH_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/argv.h"
#include "base/sha256.h"

struct error;
struct json;

#define ROWS_BYTES_MAX ((size_t)1 << 30) /* of the file */

struct row {
    char *id;                /* as the file has it; else its number, from 1 */
    struct json *ask;        /* arguments of the operation "ask", without files */
    struct argv files;       /* names, relative to the folder of the file of rows */
    bool responses;          /* a line of OpenAI's for /v1/responses */
    char sha256[SHA256_HEX]; /* of the question and all that goes with it */
};

struct rows;

/* path "-" is stdin. what_is_asked: a question with {NAME} where the value of a column belongs, for a CSV
 * or for the members of JSON lines that are strings or numbers; "{{" and "}}" stand for braces. NULL: the
 * question is the column or member "question". NULL with ERROR_USAGE: a row is wrong, two have the same id,
 * or there are none. */
struct rows *rows_open(const char *path, const char *what_is_asked, struct error *err);
void rows_free(struct rows *rs);
size_t rows_count(const struct rows *rs);
/* Reads row i, which was found right. The caller releases it. */
void rows_read(const struct rows *rs, size_t i, struct row *r);
void rows_row_release(struct row *r);
/* A number that no other row of this id and content has: what an answer to the row is known by. */
uint64_t row_key(const char *id, const char *sha256, int64_t epoch);

#endif
