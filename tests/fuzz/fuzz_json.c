/* fuzz_json.c - what is accepted prints as text that parses to the same, holds valid UTF-8 without NUL only,
 * and keeps to the depth; a prefix of it is taken for the same value.
 */
#include "tests/fuzz/fuzz.h"

#include <math.h>

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "base/utf8.h"

static struct json_joint joint; /* of all strings, as if they were pieces of one */
static struct buf joined;

static void walk(const struct json *j, unsigned depth)
{
    check(depth <= JSON_DEPTH);
    const char *s = json_str(j);
    check((s != NULL) == (json_type(j) == JSON_STRING));
    check(s == NULL || utf8_valid(s, strlen(s)));
    if (s) {
        json_join(&joint, s, strlen(s), &joined);
        check(utf8_valid(buf_str(&joined), joined.len));
    }
    check(isfinite(json_double(j, 0)));
    json_int(j, 0);
    json_truthy(j);
    for (const struct json *m = json_first(j); m != NULL; m = json_next(m)) {
        if (json_type(j) == JSON_OBJECT) {
            check(utf8_valid(json_key(m), strlen(json_key(m))));
            check(json_get(j, json_key(m)) == m); /* no key is there twice */
        }
        walk(m, depth + 1);
    }
}

static void one(const char *text, size_t len, int flags)
{
    struct error e = {0};
    size_t used = 0, at;
    struct json *j = json_parse(text, len, flags, &used, &e);
    if (!(flags & (JSON_PREFIX | JSON_NAN)) && (j || (flags & JSON_DUPLICATES && e.kind == ERROR_PROTOCOL)))
        check(json_valid(text, len, &at) == (j != NULL));
    if (j == NULL) {
        check((e.kind == ERROR_PROTOCOL || e.kind == ERROR_LIMIT) && e.code >= 0 && (size_t)e.code <= len
              && utf8_valid(e.text, strlen(e.text)));
        return;
    }
    check(used <= len);
    walk(j, 0);
    char *printed = json_print(j);
    struct json *again = json_parse(printed, strlen(printed), 0, NULL, &e);
    check(again != NULL);
    char *reprinted = json_print(again);
    check(strcmp(printed, reprinted) == 0);
    struct json *copy = json_copy(j);
    char *copied = json_print(copy);
    check(strcmp(printed, copied) == 0);
    if (flags & JSON_PREFIX) {
        struct json *exact = json_parse(text, used, flags & ~JSON_PREFIX, NULL, &e);
        check(exact != NULL);
        json_free(exact);
    }
    free(copied);
    free(reprinted);
    free(printed);
    json_free(copy);
    json_free(again);
    json_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_exact(data, size);
    buf_init(&joined, 0);
    for (int flags = 0; flags <= (JSON_DUPLICATES | JSON_PREFIX | JSON_LONG | JSON_FEW); flags++)
        one(text, size, flags);
    joint = (struct json_joint){0};
    buf_clear(&joined);
    one(text, size, JSON_DUPLICATES | JSON_LONG | JSON_NAN | JSON_PIECES);
    json_join_end(&joint, &joined);
    check(utf8_valid(buf_str(&joined), joined.len));
    buf_release(&joined);
    free(text);
    return 0;
}
