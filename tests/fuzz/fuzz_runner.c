/* fuzz_runner.c - what a front reads from a runner: messages in lines, however they are cut, and what the
 * checker of arguments makes of them. The first byte seeds the pieces.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/error.h"
#include "json/json.h"
#include "json/json_schema.h"
#include "operations/operations.h"
#include "operations/runner_messages.h"

/* Feed it all; out gets each message printed, and '!' where one was refused. */
static void read_all(const char *text, size_t len, uint32_t seed, bool cut, struct buf *out)
{
    struct message_reader in;
    struct error err = {0};

    messages_init(&in);
    for (size_t i = 0; i < len;) {
        size_t n = cut ? fuzz_piece(&seed, len - i) : len - i;

        check(messages_feed(&in, text + i, n));
        i += n;
        for (struct json *m; (m = messages_next(&in, &err)) || err.kind; json_free(m)) {
            char *printed = m ? json_print(m) : NULL;

            check(!m || json_type(m) == JSON_OBJECT);
            buf_addf(out, "%s\n", printed ? printed : "!");
            free(printed);
        }
    }
    messages_release(&in);
}

static void check_arguments(const char *text, size_t len)
{
    struct json *j = json_parse(text, len, 0, NULL, NULL);

    for (size_t i = 0; j && operation_at(i); i++) {
        struct error err = {0};
        int rc = operation_check(operation_at(i), j, &err);

        check(rc == 0 ? err.kind == ERROR_NONE : err.kind == ERROR_USAGE && *err.text);
        check(rc < 0 || json_type(j) == JSON_OBJECT);
    }
    /* any schema may come of it, too: one that we do not understand only passes more */
    schema_check(j, j, "", NULL);
    json_free(schema_survey(j, NULL));
    json_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *text = fuzz_exact(data + 1, size - 1);
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);

    read_all(text, size - 1, 0, false, &whole);
    read_all(text, size - 1, data[0], true, &cut);
    check(cut.len == whole.len && !memcmp(buf_str(&cut), buf_str(&whole), whole.len));
    check_arguments(text, size - 1);
    free(text);
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
