/* failure_text.c - writes the words for the user: what went wrong, at which endpoint and model, and on a
 * second line the next step. They never hold the key: it is removed when a service quotes it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/url.h"
#include "wire/failure.h"
#include "wire/types.h"
#include "wire/redirect.h"

struct text { /* what the sentences are made from */
    const struct failure *f;
    const struct llm_options *o;
    const char *host, *url, *base;
    char status[24], said[512];
    char step[400]; /* the next step, where no table has it */
    const char *model;
    struct error *err;
};

#define WAIT_MOST (31 * 86400.0) /* seconds; a longer wait is ignored */

static const char *next(const struct text *t, enum remedy r)
{
    return remedy(r, t->o->chat);
}

/* Says whose credentials were used, and what to do about it. */
static int no_access(const struct text *t)
{
    const char *name = t->o->key_name;
    char step[400];
    if (!t->o->api_key && name && t->o->chat)
        snprintf(step, sizeof step, "No API key was sent. Quit, export %.200s=..., start again", name);
    else if (!t->o->api_key && name)
        snprintf(step, sizeof step, "No API key was sent; set %.200s", name);
    else if (!t->o->api_key)
        snprintf(step, sizeof step, "No API key was sent: %s", next(t, REMEDY_KEY_BOUND));
    else
        snprintf(step, sizeof step, "The key came from %.200s; check it%s", name ? name : "the configuration",
                 t->f->status == 403 ? ", and that it may use this model" : ", or make a new one");
    return error_set(t->err, ERROR_AUTH, t->f->status, "%s refused the credentials%s for model %s: %s\n%s",
                     t->host, t->status, t->model, t->said, step);
}

/* Says that the model does not exist, or no longer exists. */
static int gone(const struct text *t)
{
    if (*t->f->advice)
        return error_set(t->err, ERROR_API, t->f->status, "%s has no model \"%s\"%s: %s\n%s", t->host,
                         t->model, t->status, t->said, t->f->advice);
    return error_set(t->err, ERROR_API, t->f->status, "%s has no model \"%s\"%s: %s\n%s (URL used: %s)",
                     t->host, t->model, t->status, t->said, next(t, REMEDY_NAME_MODEL), t->url);
}

static int not_found(const struct text *t)
{
    return error_set(
        t->err, ERROR_API, t->f->status, "%s: not found: %s%s: %s\nCheck the base URL, %s: %s (model %s)",
        t->host, t->url, t->status, t->said, t->base,
        t->o->api == API_CHAT_COMPLETIONS ? "most end in /v1" : next(t, REMEDY_USUAL_API), t->model);
}

static void duration_text(char *out, size_t size, double s)
{
    if (s < 120)
        snprintf(out, size, "%.0f s", s);
    else if (s < 7200)
        snprintf(out, size, "%.0f min", s / 60);
    else if (s < 48 * 3600)
        snprintf(out, size, "%.1f h", s / 3600);
    else
        snprintf(out, size, "%.0f days", s / 86400);
}

static bool has_wait(const struct failure *f)
{
    return f->retry_after > 0 && f->retry_after <= WAIT_MOST;
}

static int quota(const struct text *t)
{
    char when[48] = "";
    const char *name = t->o->key_name;
    if (has_wait(t->f)) {
        snprintf(when, sizeof when, "; it resets in ");
        duration_text(when + strlen(when), sizeof when - strlen(when), t->f->retry_after);
    }
    return error_set(t->err, ERROR_BUSY, EDQUOT,
                     "%s: the quota for model %s is used up%s: %s\n"
                     "Retrying will not help; check the plan and billing of the account%s%.200s%s%s",
                     t->host, t->model, t->status, t->said, name ? " that " : "", name ? name : "",
                     name ? " belongs to" : "", when);
}

static int no_room(const struct text *t)
{
    if (t->f->body_limit)
        return error_set(t->err, ERROR_CONTEXT, t->f->status,
                         "%s refused a request of this size%s for model %s: %s\n%s", t->host, t->status,
                         t->model, t->said, next(t, REMEDY_BODY_LIMIT));
    return error_set(t->err, ERROR_CONTEXT, t->f->status,
                     "the context window of %s at %s is too small%s: %s\n%s", t->model, t->host, t->status,
                     *t->f->message ? t->said : "an empty error, which may mean that the prompt is too long",
                     next(t, REMEDY_LESS_CONTEXT));
}

static int too_large(const struct text *t)
{
    return error_set(t->err, ERROR_LIMIT, t->f->status,
                     "%s: the request is too large for model %s%s: %s\n"
                     "Ask for less at once, start a new session, or use a model with a higher limit",
                     t->host, t->model, t->status, t->said);
}

bool failure_is_busy(int status)
{
    return status == 429 || status == 503 || status == 529 || status == 498;
}

char *failure_wait_text(int ms, unsigned attempt, unsigned most)
{
    return xasprintf("Trying again in %.*g s (%u of %u).", ms < 9950 ? 2 : 6,
                     ms < 9950 ? ms / 1000.0 : (ms + 500) / 1000, attempt, most);
}

static int busy(const struct text *t)
{
    const struct failure *f = t->f;
    char when[48] = "later", tries[48] = "";
    const char *what = failure_is_busy(f->status) ? "is busy" : "failed";
    if (has_wait(f)) {
        snprintf(when, sizeof when, "in ");
        duration_text(when + 3, sizeof when - 3, f->retry_after);
    }
    if (f->tries > 1)
        snprintf(tries, sizeof tries, " after %u tries", f->tries);
    return error_set(t->err, ERROR_BUSY, f->status, "%s %s%s%s, model %s: %s\nTry again %s, or %s", t->host,
                     what, t->status, tries, t->model, t->said, when, next(t, REMEDY_USE_OTHER_MODEL));
}

bool failure_parser_flags(const struct failure *f, const struct llm_options *o, char out[FAILURE_FLAGS])
{
    if (!strcasestr(f->message, "enable-auto-tool-choice") || !strcasestr(f->message, "tool-call-parser"))
        return false;
    if (o->facts.vllm_parser)
        snprintf(out, FAILURE_FLAGS, "--enable-auto-tool-choice --tool-call-parser %.40s",
                 o->facts.vllm_parser);
    else
        snprintf(out, FAILURE_FLAGS,
                 "--enable-auto-tool-choice and the --tool-call-parser named for this model at "
                 "docs.vllm.ai/en/latest/features/tool_calling");
    return true;
}

static const char *redirect_step(struct text *t, const char *url)
{
    autofree char *to = NULL;
    const char *key = t->o->api_key;
    switch (redirect_read(url, t->o->base_url ? t->o->base_url : "", t->f->location, &to)) {
    case REDIRECT_SAME:
        if (key && strstr(to, key)) /* which the service quotes there */
            break;
        snprintf(t->step, sizeof t->step,
                 t->o->chat ? "Quit, set the base URL to %s, start again" : "Set the base URL to %s", to);
        return t->step;
    case REDIRECT_HOST:
        return next(t, REMEDY_REDIRECT_HOST);
    case REDIRECT_SCHEME:
        return next(t, REMEDY_NO_SERVICE);
    case REDIRECT_NOWHERE:
        break;
    }
    return next(t, REMEDY_CHECK_URL);
}

/* Says why the service refuses this request, as far as that is known. */
static const char *refused_step(struct text *t, const char *url)
{
    const struct failure *f = t->f;
    char flags[FAILURE_FLAGS];
    if (f->status == 407)
        return next(t, REMEDY_PROXY_CREDENTIALS);
    if (f->status >= 300 && f->status < 400)
        return redirect_step(t, url);
    if (strcasestr(f->code, "content_filter") || strcasestr(f->code, "content_policy"))
        return "Its content filter did this; rephrase the question";
    if (failure_is_region(f))
        return next(t, REMEDY_OTHER_REGION);
    if (f->status == 403 && f->page)
        return next(t, REMEDY_FIREWALL);
    if (failure_parser_flags(f, t->o, flags)) {
        snprintf(t->step, sizeof t->step,
                 "vLLM was started without a tool parser: restart it with %s, or ask with --dialect blocks",
                 flags);
        return t->step;
    }
    static const enum remedy steps[] = {
        [PARAM_TOOLS] = REMEDY_DIALECT_BLOCKS,
        [PARAM_STREAM] = REMEDY_NO_STREAM,
        [PARAM_TEMPERATURE] = REMEDY_NO_TEMPERATURE,
        [PARAM_SUMMARY] = REMEDY_NO_SUMMARY,
        [PARAM_REASONING_EFFORT] = REMEDY_NO_EFFORT,
        [PARAM_MAX_TOKENS] = REMEDY_ALLOWED_MAX_TOKENS,
        [PARAM_MAX_COMPLETION_TOKENS] = REMEDY_ALLOWED_MAX_TOKENS,
        [PARAM_NO_API] = REMEDY_NONE,
    };
    enum remedy other = f->class == FAILURE_TOOL_USE ? REMEDY_BAD_CALL : REMEDY_TRACE;
    return next(t, steps[f->param] ? steps[f->param] : other);
}

static int refused(struct text *t, const char *url)
{
    return error_set(t->err, ERROR_API, t->f->status,
                     "%s refused the request%s for model %s: %s\n%s (URL used: %s)", t->host, t->status,
                     t->model, t->said, refused_step(t, url), t->url);
}

static int no_api(const struct text *t)
{
    return error_set(t->err, ERROR_PROTOCOL, t->f->status,
                     "not an API reply from %s, model %s: it sent %s\n"
                     "Check the base URL, %s: most end in /v1",
                     t->url, t->model, *t->f->message ? t->said : "nothing", t->base);
}

static int not_understood(const struct text *t)
{
    if (t->f->class == FAILURE_EMPTY_RESULT)
        return error_set(t->err, ERROR_PROTOCOL, t->f->status,
                         "%s gave an empty result for model %s\n%s (now: %s)", t->host, t->model,
                         t->o->api == API_WORKERS_AI ? next(t, REMEDY_API_CHAT)
                                                     : "Use its base URL that ends in /ai/v1",
                         t->base);
    return error_set(t->err, ERROR_PROTOCOL, t->f->status, "%s, model %s, sent an invalid reply: %s\n%s",
                     t->host, t->model, t->said, next(t, t->f->hint ? t->f->hint : REMEDY_NOT_UNDERSTOOD));
}

int failure_error(const struct failure *f, const struct llm_options *o, const char *url, struct error *err)
{
    autofree char *host = url_host(url), *shown = url_show(url),
                  *base = url_show(o->base_url ? o->base_url : "");
    struct text t = {.f = f,
                     .o = o,
                     .host = host,
                     .url = shown,
                     .base = base,
                     .model = o->model && *o->model ? o->model : "(none)",
                     .err = err};
    failure_brief(f, o->api_key, t.said, sizeof t.said);
    if (!*t.said)
        snprintf(t.said, sizeof t.said, "no message");
    if (f->status)
        snprintf(t.status, sizeof t.status, " (%d)", f->status);
    switch (f->class) {
    case FAILURE_AUTH:
        return no_access(&t);
    case FAILURE_NOT_FOUND:
        return not_found(&t);
    case FAILURE_GONE:
        return gone(&t);
    case FAILURE_QUOTA:
        return quota(&t);
    case FAILURE_CONTEXT:
        return no_room(&t);
    case FAILURE_TOO_LARGE:
        return too_large(&t);
    case FAILURE_PARAMETER:
    case FAILURE_TOOL_USE:
    case FAILURE_FATAL:
        return refused(&t, url);
    case FAILURE_BUSY:
        return busy(&t);
    case FAILURE_LOADING:
        return error_set(err, ERROR_BUSY, f->status,
                         "%s is still loading %s after 5 minutes%s: %s\nTry again later, or %s", t.host,
                         t.model, t.status, t.said, next(&t, REMEDY_SMALLER_MODEL));
    case FAILURE_NOT_API:
        return no_api(&t);
    case FAILURE_TRUNCATED:
        if (f->empty)
            return error_set(err, ERROR_NETWORK, f->status, "%s, model %s, sent an empty answer\n%s", t.host,
                             t.model, next(&t, REMEDY_ASK_OR_MODEL));
        return error_set(err, ERROR_NETWORK, f->status,
                         "the reply of %s, model %s, broke off before its end (truncated): %s\n%s", t.host,
                         t.model, t.said, f->hint ? next(&t, f->hint) : "Ask again");
    case FAILURE_NETWORK:
        return error_set(err, ERROR_NETWORK, f->apart ? EHOSTUNREACH : f->status,
                         "%s\n%s (base URL %s, model %s)", t.said,
                         next(&t, f->hint ? f->hint : REMEDY_CHECK_NETWORK), t.base, t.model);
    case FAILURE_EMPTY_RESULT:
    case FAILURE_PROTOCOL:
    case FAILURE_NONE:
        break;
    }
    return not_understood(&t);
}
