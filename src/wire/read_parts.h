/* read_parts.h - what the readers of all APIs share: a piece of text or reasoning for the sink, content in
 * its shapes, calls, the finish, usage. Each takes a field as it came; what is absent or of a wrong type is
 * passed over. Part of the reader.
 */
#ifndef WIRE_READ_PARTS_H
#define WIRE_READ_PARTS_H

struct json;
struct reader;

void read_text(struct reader *r, const char *s); /* s: or NULL */
/* field: the name under which it goes back to the service, a literal; or NULL */
void read_reasoning(struct reader *r, const char *s, const char *field);
/* a string, or a list of parts: text, thoughts, refusals */
void read_content(struct reader *r, const struct json *content);
void read_tool_calls(struct reader *r, const struct json *calls); /* an array, or one call */
void read_finish(struct reader *r, const struct json *reason);
void read_usage(struct reader *r, const struct json *usage);

#endif
