/* request_blocks.c - writes a conversation in the blocks dialect: calls as fenced Python in the assistant's
 * text, results as headed user turns. Consecutive user turns are joined, because strict templates refuse
 * them. It is the same for every API: a list of roles with texts.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/fill.h"
#include "json/json.h"
#include "base/mem.h"
#include "conversation/language.h"
#include "wire/request_parts.h"

static void flush_user(struct request_out *o)
{
    if (o->user.len)
        request_user(o, buf_str(&o->user));
    buf_clear(&o->user);
}

static void add_user(struct request_out *o, const char *text)
{
    if (o->user.len)
        buf_addstr(&o->user, "\n\n");
    buf_addstr(&o->user, text);
}

static void add_question(struct request_out *o, const struct turn *t)
{
    autofree char *text = request_text(o, t);

    add_user(o, text);
    request_images(o, t);
}

/* Wraps result i in its template, where {output} marks the place of the text. What follows that place asks
 * for the next reply. It is sent only while the question is open: a small model goes on to do as an earlier
 * instruction says, and answers the next question without code.
 */
static void add_result_block(struct request_out *o, size_t i)
{
    static const char place[] = "{output}";
    const struct turn *t = &o->q->conversation->v[i];
    const struct prompts *p = o->q->prompts;
    const char *const templates[] = {
        [RESULT_OK] = p->blocks_ok,
        [RESULT_FAILED] = p->blocks_failed,
        [RESULT_MALFORMED] = p->blocks_malformed,
        [RESULT_INTERRUPTED] = p->blocks_interrupted,
        [RESULT_NO_MORE] = p->blocks_no_more,
    };
    autofree char *text = request_text(o, t);
    const char *template = templates[t->result] ? templates[t->result] : "[Output of the code]\n{output}";
    const char *at = i < o->question ? strstr(template, place) : NULL;
    autofree char *used = at ? xmemdup0(template, (size_t)(at - template) + strlen(place))
                             : xstrdup(template);
    autofree char *filled = text_fill(used, &(struct text_vars){&(struct text_var){"output", text}, 1});
    add_user(o, filled);
    request_images(o, t);
}

static const struct llm_tool *tool_of(const struct request_out *o, const char *name)
{
    for (size_t i = 0; i < o->q->tools.n; i++)
        if (!strcmp(o->q->tools.v[i].name, name))
            return &o->q->tools.v[i];
    return NULL;
}

/* The fence is longer than any run of backticks in the code. */
static void add_fenced(struct buf *b, const char *code)
{
    size_t longest = 2, run = 0, n = strlen(code);
    for (size_t i = 0; i < n; i++) {
        run = code[i] == '`' ? run + 1 : 0;
        if (run > longest)
            longest = run;
    }
    for (size_t i = 0; i <= longest; i++)
        buf_addch(b, '`');
    buf_addf(b, "%s\n%s%s", languages[0].tags[0], code, n && code[n - 1] == '\n' ? "" : "\n");
    for (size_t i = 0; i <= longest; i++)
        buf_addch(b, '`');
}

static void blocks_call(struct buf *b, const struct request_out *o, const struct call *k)
{
    const struct llm_tool *tool = tool_of(o, k->name);
    bool takes_code = tool && tool->code_key;
    autojson struct json *args = request_parsed(k->arguments);
    const char *code = takes_code ? json_str(json_get(args, tool->code_key)) : NULL;
    if (b->len)
        buf_addstr(b, "\n\n");
    if (code)
        add_fenced(b, code);
    else if (tool && !takes_code && args) /* as such a model was told to write it */
        buf_addf(b, "{\"name\": \"%s\", \"arguments\": %s}", k->name, k->arguments);
    else
        buf_addf(b, "(a call of %s that could not be run)", k->name);
}

/* A turn with several calls becomes pairs: text and first call, its result, second call, its result. */
static size_t blocks_assistant(struct request_out *o, size_t i)
{
    const struct conversation *c = o->q->conversation;
    const struct turn *t = &c->v[i];
    struct buf b autorelease(buf_release) = BUF_INIT(0);
    flush_user(o);
    buf_addstr(&b, t->text);
    if (!t->n_calls)
        request_message(o, "assistant", buf_str(&b));
    size_t used = 0;
    for (size_t k = 0; k < t->n_calls; k++) {
        blocks_call(&b, o, &t->calls[k]);
        request_message(o, "assistant", buf_str(&b));
        buf_clear(&b);
        if (i + 1 + k < c->n && c->v[i + 1 + k].role == TURN_RESULT) {
            add_result_block(o, i + 1 + k);
            used++;
            if (k + 1 < t->n_calls)
                flush_user(o);
        }
    }
    return used;
}

/* Returns how many results follow turn i when every one of them failed; 0 otherwise. */
static size_t failures(const struct conversation *c, size_t i)
{
    size_t n = 0;
    while (i + 1 + n < c->n && c->v[i + 1 + n].role == TURN_RESULT) {
        if (c->v[i + 1 + n].result != RESULT_FAILED)
            return 0;
        n++;
    }
    return n;
}

/* True when the call of turn i was made before for the same question. */
static bool repeats(const struct conversation *c, size_t i)
{
    for (size_t k = i; k-- > 0 && c->v[k].role != TURN_USER;)
        if (c->v[k].role == TURN_ASSISTANT && c->v[k].n_calls == 1 && c->v[i].n_calls == 1
            && !strcmp(c->v[k].calls[0].arguments, c->v[i].calls[0].arguments))
            return true;
    return false;
}

/* A small model copies what it reads. So a failed try that was followed by another is not sent again, and of
 * a try that repeats an earlier one only the failure is sent, after the question. This also keeps the prompt
 * short, since every round pays for it again. */
static size_t blocks_failed(struct request_out *o, size_t i)
{
    const struct conversation *c = o->q->conversation;
    size_t n = failures(c, i);
    bool tried_again = n && i + 1 + n < c->n && c->v[i + 1 + n].role == TURN_ASSISTANT;
    if (!n || (!tried_again && !repeats(c, i)))
        return 0;
    for (size_t k = 0; !tried_again && k < n; k++)
        add_result_block(o, i + 1 + k);
    return n;
}

/* Adds questions with their blocks as if they had been asked and answered: a small model does what was done
 * before, not what it is told. */
static void add_examples(struct request_out *o, const char *text)
{
    autofree char *open = xasprintf("```%s\n", languages[0].tags[0]);
    static const char close[] = "\n```";
    const char *code, *end;

    while (text && (code = strstr(text, open)) && (end = strstr(code, close))) {
        autofree char *question = xmemdup0(text, (size_t)(code - text));
        autofree char *block = xmemdup0(code, (size_t)(end + strlen(close) - code));
        size_t len = strlen(question);

        while (len && question[len - 1] == '\n')
            question[--len] = '\0';
        request_message(o, "user", question);
        request_message(o, "assistant", block);
        text = end + strlen(close);
        text += strspn(text, "\n");
    }
}

void request_blocks(struct request_out *o)
{
    const struct conversation *c = o->q->conversation;

    add_examples(o, o->q->examples);
    for (size_t i = 0; i < c->n; i++) {
        size_t failed = c->v[i].role == TURN_ASSISTANT ? blocks_failed(o, i) : 0;
        if (failed)
            i += failed;
        else if (c->v[i].role == TURN_USER)
            add_question(o, &c->v[i]);
        else if (c->v[i].role == TURN_ASSISTANT)
            i += blocks_assistant(o, i);
        else
            add_result_block(o, i);
    }
    flush_user(o);
}
