/* failure_body.c - decides whether a body with status 200 is an error, and which, for services that report
 * errors in their own way. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "json/json.h"
#include "base/mem.h"
#include "wire/failure.h"

/* {"code": 500, "msg": "..."} without an answer; 0 and 200 mean that all went well. */
static bool is_bare_message(const struct json *j)
{
    static const char *const answers[] = {"choices", "output", "response", "result", "message", "data"};
    const struct json *code = json_get(j, "code");
    int64_t n = json_str(code) ? strtol(json_str(code), NULL, 10) : json_int(code, 0);
    bool other = (n && n != 200) || (json_str(code) && isalpha((unsigned char)*json_str(code)));
    for (size_t i = 0; i < countof(answers); i++)
        other = other && !json_get(j, answers[i]);
    return other && json_str(json_get(j, "msg")) && *json_str(json_get(j, "msg"));
}

bool failure_is(const struct json *j)
{
    const char *object = json_str(json_get(j, "object"));
    const struct json *success = json_get(j, "success");
    return json_truthy(json_get(j, "error")) || (object && !strcmp(object, "error"))
           || (json_type(success) == JSON_BOOL && !json_bool(success, true))
           || json_int(json_get(json_get(j, "base_resp"), "status_code"), 0) /* MiniMax */
           || json_truthy(json_get(j, "error_code"))                         /* Baidu */
           || is_bare_message(j);
}

/* Classifies numbers that only their own service uses. */
enum failure_class failure_by_number(const struct json *j)
{
    static const struct {
        int code;
        enum failure_class class;
    } minimax[] =
        {
            {1000, FAILURE_BUSY},  {1001, FAILURE_BUSY}, {1002, FAILURE_BUSY}, {1004, FAILURE_AUTH},
            {1008, FAILURE_QUOTA}, {1013, FAILURE_BUSY}, {1024, FAILURE_BUSY}, {1033, FAILURE_BUSY},
            {1039, FAILURE_BUSY},  {1041, FAILURE_BUSY}, {2049, FAILURE_AUTH}, {2056, FAILURE_QUOTA},
        },
      baidu[] = {
          {2, FAILURE_BUSY},      {4, FAILURE_BUSY},      {17, FAILURE_QUOTA}, {18, FAILURE_BUSY},
          {19, FAILURE_QUOTA},    {110, FAILURE_AUTH},    {111, FAILURE_AUTH}, {336100, FAILURE_BUSY},
          {336501, FAILURE_BUSY}, {336502, FAILURE_BUSY},
      };
    int64_t m = json_int(json_get(json_get(j, "base_resp"), "status_code"), 0);
    int64_t b = json_int(json_get(j, "error_code"), 0);
    for (size_t i = 0; m && i < countof(minimax); i++)
        if (minimax[i].code == m)
            return minimax[i].class;
    for (size_t i = 0; b && i < countof(baidu); i++)
        if (baidu[i].code == b)
            return baidu[i].class;
    return FAILURE_NONE;
}

/* True when s is only the standard phrase for an HTTP status. */
static bool is_phrase(const char *s)
{
    static const char *const phrases[] = {
        "Bad Request",
        "Unauthorized",
        "Payment Required",
        "Forbidden",
        "Not Found",
        "Method Not Allowed",
        "Not Acceptable",
        "Request Timeout",
        "Conflict",
        "Gone",
        "Payload Too Large",
        "Content Too Large",
        "Unsupported Media Type",
        "Unprocessable Entity",
        "Unprocessable Content",
        "Too Many Requests",
        "Internal Server Error",
        "Not Implemented",
        "Bad Gateway",
        "Service Unavailable",
        "Gateway Timeout",
        "Error",
    };
    for (size_t i = 0; i < countof(phrases); i++)
        if (!strcasecmp(s, phrases[i]))
            return true;
    return false;
}

const struct json *failure_telling(const struct json *error, const struct json *message)
{
    const char *e = json_str(error), *m = json_str(message);
    return e && m && is_phrase(e) && strlen(m) > strlen(e) ? message : error;
}

struct json *failure_event(const char *body, size_t len)
{
    static const char *const fields[] = {"data:", "error:"};
    for (const char *s = body, *end = body + len, *lf; s < end; s = lf + 1) {
        lf = memchr(s, '\n', (size_t)(end - s));
        lf = lf ? lf : end;
        for (size_t i = 0; i < countof(fields); i++) {
            size_t n = strlen(fields[i]);
            if ((size_t)(lf - s) <= n || memcmp(s, fields[i], n))
                continue;
            autojson struct json *j = json_parse(s + n, (size_t)(lf - s) - n, JSON_DUPLICATES, NULL, NULL);
            if (json_type(j) == JSON_OBJECT)
                return steal(&j);
        }
    }
    return NULL;
}
