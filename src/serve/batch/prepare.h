/* prepare.h - what the rows of a batch begin with: the user's file (--prepare) runs once, in a sandbox of its
 * own, and each row goes on from a live copy of that interpreter (sandbox/sandbox.h). Where there can be no
 * such copy, each row runs the file itself.
 */
#ifndef BATCH_PREPARE_H
#define BATCH_PREPARE_H

#include "batch/batch.h"

struct json;
struct prepared;
struct runner;
struct runner_listener;

/* Runs the file o->prepare. NULL with err: ERROR_USAGE, it cannot be read or has failed, and the notice
 * has its traceback; ERROR_SANDBOX; ERROR_CANCELLED. */
struct prepared *prepare_new(const struct batch_options *o, struct error *err);
void prepare_free(struct prepared *p);

/* What a row's model is told of it. */
const char *prepared_told(const struct prepared *p);
/* The runner of a row is to begin there: it gets a request, of whose end l is told. */
void prepared_begin(const struct prepared *p, struct runner *r, const struct runner_listener *l);
/* How that request has ended. 0, or -1 with err. */
int prepared_began(const struct json *result, const struct error *failed, struct error *err);

#endif
