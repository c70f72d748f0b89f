/* failure_text.c - the words for the user: what was wrong, at which endpoint and model, and the next step. Never holds the key:
 * services that quote it back are cleaned.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "llm/failure.h"
#include "llm/llm.h"
#include "llm/url.h"

static void without_key(struct buf *out, const char *text, const char *key) {
    size_t n = key ? strlen(key) : 0;
    while (*text) {
        const char *at = n >= 8 ? strstr(text, key) : NULL;
        buf_add(out, text, at ? (size_t)(at - text) : strlen(text));
        if (!at)
            break;
        buf_addstr(out, "[key]");
        text = at + n;
    }
}

static const char *auth_hint(const struct llm_options *o, char *out, size_t size) {
    if (!o->api_key && o->key_name)
        snprintf(out, size, "no key was sent; set %s", o->key_name);
    else if (!o->api_key)
        snprintf(out, size, "no key was sent: none is bound to this base URL");
    else if (o->key_name)
        snprintf(out, size, "the key came from %s", o->key_name);
    else
        snprintf(out, size, "a key was sent");
    return out;
}

static void duration(char *out, size_t size, double s) {
    if (s < 120)
        snprintf(out, size, "%.0f s", s);
    else if (s < 7200)
        snprintf(out, size, "%.0f min", s / 60);
    else
        snprintf(out, size, "%.1f h", s / 3600);
}

int failure_error(const struct failure *f, const struct llm_options *o, const char *url, struct error *err) {
    struct buf m = BUF_INIT(1024);
    char host[256], where[512], hint[256], wait[48];
    without_key(&m, f->message, o->api_key);
    url_host(url, host, sizeof host);
    url_show(url, where, sizeof where);
    const char *said = m.len ? buf_str(&m) : "no further message", *model = o->model ? o->model : "";
    int s = f->status, rc = -1;
    switch (f->class) {
    case FAILURE_AUTH:
        error_set(err, ERROR_AUTH, s, "%s refused the credentials (%d): %s; %s", host, s, said, auth_hint(o, hint, sizeof hint));
        break;
    case FAILURE_NOT_FOUND:
        error_set(err, ERROR_API, s, "%s answered 404: %s\nURL used: %s, model %s; check the model's name, and that the base URL "
                  "ends in /v1", host, said, where, model);
        break;
    case FAILURE_QUOTA:
        error_set(err, ERROR_BUSY, s, "%s: quota used up (%d): %s; no retry helps, see the account's plan", host, s, said);
        break;
    case FAILURE_CONTEXT:
        if (!m.len)
            said = "an empty error, which may mean that the prompt is too long";
        error_set(err, ERROR_LIMIT, s, "the context window of %s is too small: %s", model, said);
        break;
    case FAILURE_PARAMETER:
    case FAILURE_TOOL_USE:
    case FAILURE_FATAL:
        error_set(err, ERROR_API, s, "%s refused the request%s%s: %s (model %s, %s)", host, s ? " with status " : "",
                  s ? (snprintf(hint, sizeof hint, "%d", s), hint) : "", said, model, where);
        break;
    case FAILURE_BUSY:
        if (f->retry_after > 0) {
            duration(wait, sizeof wait, f->retry_after);
            error_set(err, ERROR_BUSY, s, "%s is busy (%d): %s; try again in %s", host, s, said, wait);
        } else {
            error_set(err, ERROR_BUSY, s, "%s is busy or broken (%d): %s; several tries failed, try again later", host, s, said);
        }
        break;
    case FAILURE_LOADING:
        error_set(err, ERROR_BUSY, s, "%s is still loading %s after 5 minutes: %s; try again later", host, model, said);
        break;
    case FAILURE_EMPTY_RESULT:
        error_set(err, ERROR_PROTOCOL, s, "%s gave an empty result for model %s; use the /ai/v1 base URL", host, model);
        break;
    case FAILURE_NOT_API:
        error_set(err, ERROR_PROTOCOL, s, "no API answer from %s: it sent %s; the base URL probably lacks /v1", where,
                  m.len ? said : "nothing");
        break;
    case FAILURE_TRUNCATED:
        error_set(err, ERROR_NETWORK, s, "the reply of %s broke off before its end (truncated): %s", host, said);
        break;
    case FAILURE_NETWORK:
        error_set(err, ERROR_NETWORK, s, "%s\nbase URL: %s", said, o->base_url ? (url_show(o->base_url, where, sizeof where), where) : "");
        break;
    case FAILURE_PROTOCOL:
    case FAILURE_NONE:
        error_set(err, ERROR_PROTOCOL, s, "%s sent what cannot be understood: %s", host, said);
        break;
    }
    buf_release(&m);
    return rc;
}
