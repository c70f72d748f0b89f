/* read_parts.h - what the readers of all APIs share: passing text or reasoning to the sink, content in all
 * its shapes, calls, the finish, usage. Each function takes a field as it came, and ignores it when it is
 * absent or of a wrong type. Part of the reader.
 */
#ifndef WIRE_READ_PARTS_H
#define WIRE_READ_PARTS_H

struct json;
struct reader;

void read_text(struct reader *r, const char *s); /* s may be NULL */
/* field is the name under which the reasoning goes back to the service, a literal; or NULL. */
void read_reasoning(struct reader *r, const char *s, const char *field);
/* Reads a string, or a list of parts: text, thoughts, refusals. */
void read_content(struct reader *r, const struct json *content);
void read_tool_calls(struct reader *r, const struct json *calls); /* an array, or one call */
void read_finish(struct reader *r, const struct json *reason);
void read_usage(struct reader *r, const struct json *usage);

#endif
