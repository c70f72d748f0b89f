/* read_responses.h - reads the Responses API's answers: a list of items, whole or as the events of a stream.
 * Part of the reader.
 *
 * The facts are from openai/openai-python, src/openai/types/responses (events, items); request_responses.c
 * says what goes back in a request. A stream ends with response.completed, .incomplete or .failed, not with
 * [DONE]. Calls are told apart by output_index, because some gateways give each event a different item_id.
 * Unknown events are ignored, as the API's description demands.
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
