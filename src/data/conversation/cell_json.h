/* cell_json.h - how code or a command ended, as JSON: the same members, with the same meaning, in --json,
 * exec --json-result, serve and MCP (operations/operations.json and docs/events.schema.json describe them).
 */
#ifndef CHAT_CELL_JSON_H
#define CHAT_CELL_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "conversation/cell_result.h"

struct json;

/* Sets status, value, data, error, exit_code, seconds, state_lost, state_restored and notices in o. */
void cell_json(struct json *o, const struct cell_result *r);
/* Sets files: what the code made or changed, but for the forms of its value that data has. After
 * cell_json(). */
void cell_json_files(struct json *o, const struct cell_result *r);
/* Seconds to the microsecond, as all figures of time are written. */
struct json *seconds_json(double seconds);

#define CELL_TEXT_MAX (1u << 20) /* bytes of stdout in a result, and of stderr */

/* What it writes, for a result that has all of it. */
struct cell_text {
    struct buf out[2], both; /* stdout and stderr, and the two in the order in which they came */
    uint64_t bytes[2];       /* that were written */
};

void cell_text_init(struct cell_text *t);
void cell_text_release(struct cell_text *t);
/* stream: 1 stdout, 2 stderr. Returns how many of the bytes are kept. */
size_t cell_text_add(struct cell_text *t, int stream, const char *text, size_t len);
/* A line that says how much of that stream was left out, or NULL; the caller frees. */
char *cell_text_cut(const struct cell_text *t, int stream);
/* Sets output (with the value behind it; NULL: none), stdout and stderr in o. */
void cell_text_json(struct json *o, struct cell_text *t, const char *value);

#endif
