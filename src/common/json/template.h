/* template.h - makes JSON from JSON by a template, which is JSON too: how a shape of somebody else's API is
 * written down as data. Pure, and never fails: what is not there is null.
 *
 *     "text"            itself; so are numbers, true, false and null
 *     "$body.code"      a value of the scope; "$list.0" an element; "$$" begins a text with $
 *     ["a", "$b"]       each element
 *     {"a": "$b"}       each member; one whose key ends in "?" is left out where its value is null
 *     {"$word": ...}    one of these words, alone in its object:
 *         "$case": [VALUE, {"ok": A, ...}, ELSE]   the member that VALUE (a text) names, else ELSE
 *         "$if": [VALUE, A, B]                     A if VALUE is truthy (as in Python), else B
 *         "$or": [A, B, ...]                       the first that is truthy, else the last
 *         "$each": [LIST, A]                       A for each one: $item, $key, $index
 *         "$object": [LIST, KEY, A]                the same, as an object; without what is null
 *         "$list": [A, B, ...]                     one list: lists are opened, nulls left out
 *         "$text": [A, B, ...]                     one text: numbers printed, others left out
 *         "$lines": [A, B, ...]                    the same, what is not empty on its own line
 *         "$seconds": A                            of "5s", "250ms", "2m" or a number; null if it is neither
 *         "$over": [A, B]                          A / B
 *
 * A template is ours, not the client's: only its scope comes from outside.
 */
#ifndef JSON_TEMPLATE_H
#define JSON_TEMPLATE_H

struct json;

/* A word of the caller's own: its argument, filled in, to its value (NULL: null). */
struct template_word {
    const char *name; /* "$file" */
    struct json *(*fill)(void *ctx, const struct json *argument);
};

struct template_words { /* v ends with a row without a name */
    const struct template_word *v;
    void *ctx;
};

/* A new value, the caller's. words may be NULL. */
struct json *template_fill(const struct json *template, const struct json *scope,
                           const struct template_words *words);

#endif
