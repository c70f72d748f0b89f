/* adapt.c - tries what else a refused request could be: without a field, another effort or limit, the other
 * API, blocks instead of tools, without images, the next model. It also tells the user what was not sent.
 */
#include "llm/adapt.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/mem.h"
#include "llm/learnt.h"
#include "llm/private.h"
#include "wire/api.h"
#include "wire/effort.h"
#include "wire/request.h"

/* Takes the nearest of the values that the service names instead; when it names none, no effort is sent.
 * False when the effort was changed before, or was not sent. */
static bool other_effort(struct llm *m, const struct failure *f, char *line, size_t size)
{
    const char *refused = request_effort(&m->o, m->learnt);
    char named[64];

    if (!refused || m->learnt->effort_known)
        return false;
    effort_named(f->message, refused, named);
    m->learnt->effort_known = true;
    m->learnt->effort = *named ? effort_nearest(named, refused) : NULL;
    if (m->learnt->effort)
        snprintf(line, size, "the service does not know the reasoning effort %s; asking again with %s",
                 refused, m->learnt->effort);
    else
        snprintf(line, size, "the service refused reasoning_effort; asking again without it");
    return true;
}

static const char *other_limit(struct llm *m, enum max_tokens_field now, enum max_tokens_field next,
                               const char *name)
{
    bool limit = request_max_tokens(&m->o, m->loopback, m->learnt->context) > 0;

    if (!limit || m->learnt->max_tokens_field != now)
        return NULL;
    m->learnt->max_tokens_field = next;
    return name;
}

/* The service refuses for good the items of turns that this model itself made a moment ago; older ones may
 * only be too old. */
static const char *stale_items(const struct exchange *x)
{
    struct llm *m = x->m;
    struct llm_learnt *k = m->learnt;

    if (k->no_items)
        return NULL;
    k->no_items = m->o.api != API_RESPONSES || k->stale > 0;
    k->stale = x->q->conversation->n;
    return "the reasoning of earlier replies";
}

/* Sets *without, which says that something is not sent. Returns name, or NULL when *without was set before or
 * nothing was sent. */
static const char *leave_out(bool *without, bool sent, const char *name)
{
    bool before = *without;

    *without = true;
    return sent && !before ? name : NULL;
}

/* "use /v1/responses": such models call tools only by that API. Where it does not exist, they call tools by
 * chat completions when they do not think; one that always thinks writes its code as text. */
static int other_api(const struct exchange *x, struct error *err)
{
    struct llm *m = x->m;
    struct llm_learnt *k = m->learnt;

    if (m->o.api == API_CHAT_COMPLETIONS && !k->no_responses) {
        if (llm_use_api(m, API_RESPONSES, err))
            return -1;
        k->tools_found = true;
        exchange_notice(x, false, "%s supports tools only in the Responses API; using that from now on",
                        m->o.model);
        return 0;
    }
    if (k->dialect == DIALECT_BLOCKS || (k->effort_known && k->effort && !strcmp(k->effort, "none")))
        return 1;
    learnt_without_responses(k, &m->o.facts);
    k->told_effort = k->effort_known;
    if (m->o.api == API_RESPONSES && llm_use_api(m, API_CHAT_COMPLETIONS, err))
        return -1;
    k->tools_found = true;
    exchange_notice(
        x, false,
        k->dialect == DIALECT_BLOCKS
            ? "no Responses API here, by which alone %s calls tools; asking it to write code in blocks"
            : "no Responses API here; asking %s to call tools without reasoning (effort none)",
        m->o.model);
    return 0;
}

static int blocks_instead(const struct exchange *x, const struct failure *f)
{
    struct llm *m = x->m;
    char flags[FAILURE_FLAGS];
    if (m->o.facts.dialect != DIALECT_AUTO || m->learnt->dialect == DIALECT_BLOCKS)
        return 1;
    m->learnt->dialect = DIALECT_BLOCKS;
    if (failure_parser_flags(f, &m->o, flags))
        exchange_notice(x, false,
                        "vLLM was started without a tool parser: restart it with %s. Until then %s writes "
                        "its code as text",
                        flags, m->o.model);
    else
        exchange_notice(x, false, "%s does not support tools here; asking it to write code in blocks",
                        m->o.model);
    return 0;
}

static bool with_thoughts(struct llm *m, char *line, size_t size)
{
    if (m->learnt->thoughts_required || m->o.facts.reasoning_back == BACK_REQUIRED)
        return false;
    m->learnt->thoughts_required = true;
    snprintf(line, size, "the service wants reasoning_content in the history; asking again with it");
    return true;
}

static size_t images_sent(const struct exchange *x)
{
    const struct request_shape shape = {.o = &x->m->o, .learnt = x->m->learnt};

    return request_count_images(x->q->conversation, &shape);
}

static int without_images(struct exchange *x)
{
    struct llm *m = x->m;

    if (m->learnt->no_images)
        return 1;
    if (!m->learnt->few_images && images_sent(x) > REQUEST_IMAGES_FEW) {
        m->learnt->few_images = true;
        exchange_notice(x, true, "the service refused so many images; asking again with the newest few");
        return 0;
    }
    m->learnt->no_images = true;
    exchange_notice(x, false, "%s does not accept images here; only text is sent", m->o.model);
    return 0;
}

int adapt(struct exchange *x, const struct failure *f, struct error *err)
{
    struct llm *m = x->m;
    struct llm_learnt *k = m->learnt;
    const char *what = NULL;
    char line[160] = "";

    switch (f->param) {
    case PARAM_STREAM_OPTIONS:
        what = leave_out(&k->no_stream_options, x->stream, "stream_options");
        break;
    case PARAM_REASONING_EFFORT:
        if (!other_effort(m, f, line, sizeof line))
            return 1;
        break;
    case PARAM_TEMPERATURE:
        what = leave_out(&k->no_temperature, m->o.facts.temperature >= 0, "temperature");
        break;
    case PARAM_MAX_TOKENS: /* when the API has no other name for it, neither is sent */
        what = other_limit(m, MAX_TOKENS_OLD, MAX_TOKENS_NEW,
                           m->o.api == API_RESPONSES ? "max_output_tokens" : "max_tokens");
        break;
    case PARAM_MAX_COMPLETION_TOKENS:
        what = other_limit(m, MAX_TOKENS_NEW,
                           m->o.service.max_completion_tokens ? MAX_TOKENS_OLD : MAX_TOKENS_NONE,
                           "max_completion_tokens");
        break;
    case PARAM_STREAM:
        what = leave_out(&k->no_stream, x->stream, "stream");
        x->stream = false;
        break;
    case PARAM_ENCRYPTED:
        what = leave_out(&k->no_encrypted, m->o.api == API_RESPONSES, "include (encrypted reasoning)");
        break;
    case PARAM_SUMMARY:
        what = leave_out(&k->no_summary, m->o.reasoning_summary, "reasoning.summary");
        break;
    case PARAM_ITEMS:
        what = stale_items(x);
        break;
    case PARAM_THOUGHTS:
        if (!with_thoughts(m, line, sizeof line))
            return 1;
        break;
    case PARAM_IMAGES:
        return without_images(x);
    case PARAM_TOOLS:
        return blocks_instead(x, f);
    case PARAM_API:
    case PARAM_NO_API:
        return other_api(x, err);
    case PARAM_NONE:
        break;
    }
    if (what && !*line)
        snprintf(line, sizeof line, "the service refused %s; asking again without it", what);
    if (*line)
        exchange_notice(x, true, "%s", line);
    return *line ? 0 : 1;
}

void adapt_failure(const struct exchange *x, struct failure *f)
{
    const struct llm *m = x->m;

    if (images_sent(x) > 0 && failure_is_images(f)) {
        f->class = FAILURE_PARAMETER;
        f->param = PARAM_IMAGES;
        return;
    }
    if (m->o.api == API_RESPONSES && m->configured != API_RESPONSES
        && (f->class == FAILURE_NOT_FOUND || f->param == PARAM_API || f->status == 405 || f->status == 501)) {
        f->class = FAILURE_PARAMETER;
        f->param = PARAM_NO_API;
    }
}

bool adapt_next_model(const struct exchange *x, struct failure *f)
{
    struct llm *m = x->m;
    struct llm_options next = {0};
    struct error err = {0};
    autofree char *gone = xstrdup(m->o.model), *provider = xstrdup(m->o.provider);

    if (!m->s.gone || !m->s.gone(m->s.gone_ctx, gone, &next, f->advice))
        return false;
    learnt_keep_gone(m->s.kept, m->learnt);
    if (llm_reconfigure(m, &next, &err) || m->learnt->gone) /* a list may name a model twice */
        return false;
    exchange_notice(x, false, "%s no longer has the model %s; using %s instead",
                    provider ? provider : "the service", gone, m->o.model);
    return true;
}

static void tell_temperature(const struct exchange *x)
{
    struct llm *m = x->m;

    if (m->o.facts.temperature >= 0 && m->o.facts.no_temperature && !m->learnt->told_temperature)
        exchange_notice(x, false, "the temperature %g is not sent: %s takes none", m->o.facts.temperature,
                        m->o.model);
    m->learnt->told_temperature = true;
}

static void tell_effort(const struct exchange *x)
{
    struct llm *m = x->m;
    const char *asked = m->o.reasoning_effort, *sent = request_effort(&m->o, m->learnt);
    const char *in_effect = m->o.facts.no_reasoning ? "none" : sent;
    bool switched = sent && strcmp(sent, "none") != 0 && !request_has_levels(&m->o);

    if (!asked || m->learnt->told_effort || (in_effect && !strcmp(asked, in_effect) && !switched))
        return;
    m->learnt->told_effort = true;
    if (sent && m->learnt->no_responses)
        exchange_notice(x, false, "%s calls tools here only without reasoning; sending effort %s, not %s",
                        m->o.model, sent, asked);
    else if (switched)
        exchange_notice(x, false, "the reasoning effort %s is sent as \"on\": %s has only on and off here",
                        asked, m->o.model);
    else if (sent)
        exchange_notice(x, true, "%s does not know the reasoning effort %s; sending %s", m->o.model, asked,
                        sent);
    else
        exchange_notice(x, false, "the reasoning effort %s is not sent: %s has no such setting here", asked,
                        m->o.model);
}

void adapt_tell_unsent(const struct exchange *x)
{
    tell_temperature(x);
    tell_effort(x);
}

/* Copies the part that names a model, without its maker in front and its date, tag or provider at the end. */
static void bare_name(const char *model, char *out, size_t size)
{
    const char *slash = strrchr(model, '/');

    snprintf(out, size, "%s", slash ? slash + 1 : model);
    out[strcspn(out, ":@")] = '\0';
}

/* True for what may follow a model's name without making it another model: a date, a version, "preview". */
static bool is_snapshot(const char *rest)
{
    return !*rest
           || (strchr("-_", *rest)
               && (isdigit((unsigned char)rest[1]) || !strncasecmp(rest + 1, "preview", 7)));
}

void adapt_tell_model(const struct exchange *x, const struct llm_reply *r)
{
    struct llm *m = x->m;
    char asked[128], answered[128];

    if (!r->model || m->learnt->told_model)
        return;
    bare_name(m->o.model, asked, sizeof asked);
    bare_name(r->model, answered, sizeof answered);
    size_t n = strlen(asked) < strlen(answered) ? strlen(asked) : strlen(answered);
    if (!n || strcasestr(asked, "latest")
        || (!strncasecmp(asked, answered, n) && is_snapshot(asked[n] ? asked + n : answered + n)))
        return;
    m->learnt->told_model = true;
    exchange_notice(x, m->o.service.own_names, "The service answered with %.100s, not %.100s.", r->model,
                    m->o.model);
}
