/* effort.h - how long a model is asked to think: the values that services know, and which of them is nearest
 * to what the user asked for. */
#ifndef WIRE_EFFORT_H
#define WIRE_EFFORT_H

/* known holds the values that the model takes, joined by | ("low|medium|high", "none|default"); NULL means
 * that nobody knows them, and then asked is returned as it is. asked is an effort or NULL. Returns a literal
 * or asked itself; NULL means that nothing is to be sent, because the model's default is the nearest. */
const char *effort_nearest(const char *known, const char *asked);
/* Writes to out (at least 64 bytes) the values that a refusal's message names besides the refused one, joined
 * by |. Empty: it names none. */
void effort_named(const char *message, const char *refused, char *out);

#endif
