/* effort.h - how long a model is asked to think: the values that services know, and the nearest one to what
 * the user asked for. */
#ifndef WIRE_EFFORT_H
#define WIRE_EFFORT_H

/* known: the values a model takes, joined by | ("low|medium|high", "none|default"), or NULL: nobody knows,
 * and asked is sent as it is. NULL: nothing is sent, because the model's default is the nearest. asked is an
 * effort or NULL. A literal, or asked. */
const char *effort_nearest(const char *known, const char *asked);
/* The values that the words of a refusal name besides the refused one, joined by |, into out (at least 64
 * bytes). Empty: none. */
void effort_named(const char *message, const char *refused, char *out);

#endif
