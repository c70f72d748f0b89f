/* fuzz_failure.c - any bytes as a refusal of a service, with headers and status, through the error reader and
 * "debug reply": it has a class, one clean line of message and a bounded wait; the report is one JSON object
 * and never runs a call. Byte 0 picks the status, the lines up to an empty one are headers, the rest is the
 * body.
 */
#include "tests/fuzz/fuzz.h"

#include "json/json.h"
#include "base/utf8.h"
#include "llm/debug.h"
#include "llm/http.h"
#include "wire/failure.h"
#include "llm/retry.h"

static const struct llm_tool tool = {"execute_python", "", "{}", "code"};

#define HEADERS_MAX 16

/* Splits s in place; returns where the body begins. */
static char *headers_of(char *s, char *end, const char **headers, size_t *n)
{
    *n = 0;
    while (s < end) {
        char *eol = memchr(s, '\n', (size_t)(end - s));
        if (eol == NULL)
            return s; /* no line is left: it is the body */
        *eol = '\0';
        if (eol == s)
            return eol + 1;
        if (*n < HEADERS_MAX)
            headers[(*n)++] = s;
        s = eol + 1;
    }
    return s;
}

static void check_failure(int status, const char *body, size_t len, const char *wait, const char *wait_ms)
{
    struct failure f;
    struct failure_head h = {0};
    http_header(&h, wait, strlen(wait), 1800000000);
    http_header(&h, wait_ms, strlen(wait_ms), 1800000000);
    h.status = status;
    failure_from_response(&f, &h, body, len);
    check(f.class != FAILURE_NONE && utf8_valid(f.message, strlen(f.message))
          && strpbrk(f.message, "\n\r\033") == NULL);
    struct retry t = {0};
    struct retry_choice c = retry_decide(&t, &f, (struct retry_now){false, true, 0, 0});
    check(c.wait_ms >= 0 && c.wait_ms <= 120000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *headers[HEADERS_MAX];
    size_t n;

    if (size == 0)
        return 0;
    char *s = malloc(size);
    if (s == NULL)
        abort();
    memcpy(s, data + 1, size - 1);
    s[size - 1] = '\0';
    char *end = s + size - 1, *body = headers_of(s, end, headers, &n);
    int status = 300 + data[0];
    struct debug_reply d = {
        .status = status, .headers = headers, .n_headers = n, .tools = {&tool, 1}, .now = 1800000000};

    check_failure(status, body, (size_t)(end - body), n > 0 ? headers[0] : "", n > 1 ? headers[1] : "");
    char *text = debug_reply(&d, body, (size_t)(end - body));
    struct json *j = json_parse(text, strlen(text), 0, NULL, NULL);
    check(json_type(j) == JSON_OBJECT && json_size(j) == 11 && utf8_valid(text, strlen(text)));
    const char *action = json_str(json_get(j, "action"));
    check(action != NULL);
    if (strcmp(action, "run") == 0) /* Groq quotes a call that it refused */
        check(strcmp(json_str(json_get(json_at(json_get(j, "tool_calls"), 0), "code")), "") != 0);
    else
        check(json_get(json_get(j, "error"), "class") != NULL || strcmp(action, "tool_error") == 0);
    json_free(j);
    free(text);
    free(s);
    return 0;
}
