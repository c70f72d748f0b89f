/* parked.h - what was asked in the sandbox of a conversation, so that the conversation can go on in another
 * one where that has given way (RUNNERS_GAVE_WAY): the questions with their answers, the files that came with
 * them, and the code that ran. Long ones are kept on the disk (base/spill.h), and none longer than
 * PARKED_BYTES. A client has at most so many; the oldest of its own make room.
 */
#ifndef SERVER_PARKED_H
#define SERVER_PARKED_H

#include "base/owned.h"

struct json;
struct parked;
struct runners;

#define PARKED_BYTES (4u << 20) /* of one conversation */
#define PARKED_FILES (1u << 20) /* of the files of one question, as JSON */

struct parked *parked_new(size_t max); /* of one client */
void parked_free(struct parked *p);

/* What is to be kept of the arguments of a question, as a line. The caller frees it. */
char *parked_question(const struct json *arguments);
/* A question, from parked_question(), was answered in that sandbox; result: of "ask". steps: what the code
 * did, with "code" and "status". */
void parked_note(struct parked *p, struct runners *rs, const char *client, const char *sandbox,
                 const char *question, const struct json *result, const struct json *steps)
    __attribute__((nonnull));
/* A conversation goes on in another sandbox, and is found by the id of either from now on. */
void parked_moved(struct parked *p, const char *client, const char *from, const char *to)
    __attribute__((nonnull));
/* Returns the sandbox in which the conversation of that one is now, or id itself. Valid until the next call
 * of another function here. */
const char *parked_now(const struct parked *p, const char *client, const char *id) __attribute__((nonnull));
void parked_forget(struct parked *p, const char *client, const char *id) __attribute__((nonnull));
/* Returns what "ask" is to be told of it: {"history", "earlier_files", "goes_on": {"code", "whole"}}, whole:
 * nothing that came or ran was left out. The caller frees it. NULL: nothing is known of it, or it was too
 * long. */
struct json *parked_story(const struct parked *p, const char *client, const char *id)
    __attribute__((nonnull));

#endif
