/* read_responses.h - the Responses API as an answer: a list of items, whole or as the events of a stream.
 * Part of the reader.
 *
 * Facts: openai/openai-python, src/openai/types/responses (events, items); what goes back in a request is in
 * request_responses.c. A stream ends with response.completed, .incomplete or .failed, not with [DONE]. Calls
 * are told apart by output_index: some gateways give each event another item_id. Events that are not known
 * are passed over, as the API's description asks for.
 */
#ifndef WIRE_READ_RESPONSES_H
#define WIRE_READ_RESPONSES_H

#include <stdbool.h>

struct json;
struct reader;

bool read_responses_is_event(const struct json *o);
void read_responses_event(struct reader *r, const struct json *o);
void read_responses_document(struct reader *r, const struct json *o); /* an object with "output" */

#endif
