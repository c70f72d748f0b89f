/* conversation.c - turns as plain data, and the rules that every service enforces. */
#include "conversation/conversation.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/utf8.h"

void conversation_init(struct conversation *c)
{
    *c = (struct conversation){0};
}

/* Where the texts of a call and of a turn are. */
static const size_t call_texts[] = {offsetof(struct call, id), offsetof(struct call, name),
                                    offsetof(struct call, arguments), offsetof(struct call, extra)};
static const size_t turn_texts[] = {
    offsetof(struct turn, text),
    offsetof(struct turn, call_id),
    offsetof(struct turn, reasoning),
    offsetof(struct turn, reasoning_field),
    offsetof(struct turn, reasoning_items),
    offsetof(struct turn, origin),
};

static char **text_at(void *object, size_t offset)
{
    return (char **)(void *)((char *)object + offset);
}

void call_release(struct call *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < countof(call_texts); i++)
        free(*text_at(c, call_texts[i]));
    *c = (struct call){0};
}

void turn_image_release(struct turn_image *image)
{
    free(image->name);
    free(image->path);
    free(image->png);
    *image = (struct turn_image){0};
}

static void turn_release(struct turn *t)
{
    for (size_t i = 0; i < t->n_images; i++)
        turn_image_release(&t->images[i]);
    free(t->images);
    for (size_t i = 0; i < t->n_calls; i++)
        call_release(&t->calls[i]);
    free(t->calls);
    for (size_t i = 0; i < countof(turn_texts); i++)
        free(*text_at(t, turn_texts[i]));
}

void conversation_truncate(struct conversation *c, size_t n)
{
    c->revision += c->n > n;
    while (c->n > n)
        turn_release(&c->v[--c->n]);
}

size_t conversation_last_question(const struct conversation *c)
{
    size_t at = c->n;

    while (at > 0 && c->v[at - 1].role != TURN_USER)
        at--;
    return at > 0 ? at - 1 : c->n;
}

bool conversation_undo(struct conversation *c)
{
    size_t at = conversation_last_question(c), n = c->n;

    conversation_truncate(c, at);
    return at < n;
}

void conversation_changed(struct conversation *c, struct turn *t)
{
    t->version = ++c->revision;
}

void conversation_release(struct conversation *c)
{
    if (!c)
        return;
    conversation_truncate(c, 0);
    free(c->v);
    conversation_init(c);
}

/* Insert a new empty turn at index at. */
static struct turn *insert(struct conversation *c, size_t at, enum turn_role role)
{
    if (c->n == c->alloc) {
        c->alloc = c->alloc != 0 ? c->alloc * 2 : 16;
        c->v = xreallocarray(c->v, c->alloc, sizeof(*c->v));
    }
    struct turn *t = &c->v[at];
    memmove(t + 1, t, (c->n - at) * sizeof(*t));
    c->n++;
    *t = (struct turn){.role = role, .serial = ++c->serial, .version = ++c->revision};
    return t;
}

/* before and text joined, repaired. */
static char *good_text(const char *before, const char *text, size_t len)
{
    struct buf b = BUF_INIT(0);
    buf_addstr(&b, before);
    utf8_repair(&b, text, len);
    return buf_steal(&b, NULL);
}

static void repair(char **text)
{
    if (!*text || utf8_valid(*text, strlen(*text)))
        return;
    xreplace(text, good_text("", *text, strlen(*text)));
}

void conversation_user(struct conversation *c, const char *text, size_t len)
{
    struct turn *last = c->n > 0 ? &c->v[c->n - 1] : NULL;
    if (!last || last->role != TURN_USER) {
        insert(c, c->n, TURN_USER)->text = good_text("", text, len);
        return;
    }
    autofree char *before = last->text[0] != '\0' ? xasprintf("%s\n\n", last->text) : xstrdup("");
    xreplace(&last->text, good_text(before, text, len));
    conversation_changed(c, last);
}

/* Nine letters and digits: Mistral accepts nothing else. */
static char *make_id(void)
{
    static const char set[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static uint64_t count;
    unsigned char r[9];
    if (getrandom(r, sizeof(r), GRND_NONBLOCK) != (ssize_t)sizeof(r)) {
        /* it only has to be unique, not hard to guess */
        uint64_t v = (uint64_t)clock_us() * 1000 + ++count;
        for (size_t i = 0; i < sizeof(r); i++, v /= 62)
            r[i] = (unsigned char)(v % 62);
    }
    char id[10] = {0};
    for (size_t i = 0; i < sizeof(r); i++)
        id[i] = set[r[i] % 62];
    return xstrdup(id);
}

static bool is_object(const char *text)
{
    if (!text)
        return false;
    autojson struct json *j = json_parse(text, strlen(text), 0, NULL, NULL);
    return json_type(j) == JSON_OBJECT;
}

/* Once an id is missing or repeated, or arguments are not an object, services refuse the history for ever.
 * Such a call is made acceptable here; calls has already told the model about it. */
static void make_sendable(struct call *calls, size_t i)
{
    struct call *call = &calls[i];
    for (size_t k = 0; k < countof(call_texts); k++)
        repair(text_at(call, call_texts[k]));
    bool fresh = call->id != NULL && call->id[0] != '\0';
    for (size_t k = 0; k < i && fresh; k++)
        fresh = strcmp(calls[k].id, call->id) != 0;
    if (!fresh)
        xreplace(&call->id, make_id());
    if (!call->name)
        call->name = xstrdup("unknown");
    if (!is_object(call->arguments))
        xreplace(&call->arguments, xstrdup("{}"));
}

struct turn *conversation_assistant(struct conversation *c, const char *text, struct call *calls,
                                    size_t n_calls)
{
    if (!text)
        text = "";
    if (text[0] == '\0' && n_calls == 0)
        return NULL;
    struct turn *t = insert(c, c->n, TURN_ASSISTANT);
    t->text = good_text("", text, strlen(text));
    if (n_calls == 0)
        return t;
    t->calls = xcalloc(n_calls, sizeof(*t->calls));
    t->n_calls = n_calls;
    for (size_t i = 0; i < n_calls; i++) {
        t->calls[i] = calls[i];
        calls[i] = (struct call){0};
        make_sendable(t->calls, i);
    }
    return t;
}

void conversation_restore(struct conversation *c, struct turn *t)
{
    struct turn *into = insert(c, c->n, t->role), fresh = *into;

    *into = *t;
    *t = (struct turn){0};
    into->serial = into->serial ? into->serial : fresh.serial;
    into->version = fresh.version;
    c->serial = into->serial > c->serial ? into->serial : c->serial;
    for (size_t i = 0; i < countof(turn_texts); i++)
        repair(text_at(into, turn_texts[i]));
    if (!into->text)
        into->text = xstrdup("");
    for (size_t i = 0; i < into->n_calls; i++)
        make_sendable(into->calls, i);
}

static void insert_result(struct conversation *c, size_t at, const char *call_id, enum result_kind kind,
                          const char *text, size_t len)
{
    struct turn *t = insert(c, at, TURN_RESULT);
    t->call_id = xstrdup(call_id);
    t->result = kind;
    t->text = len > 0 ? good_text("", text, len) : xstrdup("(no output)");
}

void conversation_result(struct conversation *c, const char *call_id, enum result_kind kind, const char *text,
                         size_t len)
{
    insert_result(c, c->n, call_id, kind, text, len);
}

/* The index of the last assistant turn if only results follow it; n: there is none. */
static size_t last_calls(const struct conversation *c)
{
    size_t i = c->n;

    while (i > 0 && c->v[i - 1].role == TURN_RESULT)
        i--;
    return i > 0 && c->v[i - 1].role == TURN_ASSISTANT ? i - 1 : c->n;
}

/* Where the result of the k-th call of turn i is, or belongs: behind those of the calls before it. */
static size_t result_place(const struct conversation *c, size_t i, size_t k, bool *there)
{
    size_t at = i + 1;

    for (size_t n = 0; n <= k; n++) {
        *there = at < c->n && c->v[at].role == TURN_RESULT && !strcmp(c->v[at].call_id, c->v[i].calls[n].id);
        at += *there && n < k;
    }
    return at;
}

const struct call *conversation_open_call(const struct conversation *c, size_t i)
{
    size_t turn = last_calls(c);
    bool there;

    for (size_t k = 0; turn < c->n && k < c->v[turn].n_calls; k++) {
        result_place(c, turn, k, &there);
        if (!there && !i--)
            return &c->v[turn].calls[k];
    }
    return NULL;
}

bool conversation_answer_call(struct conversation *c, const char *call_id, const char *text)
{
    size_t turn = last_calls(c), k = 0;
    bool there;

    if (turn == c->n)
        return false;
    while (k < c->v[turn].n_calls && strcmp(c->v[turn].calls[k].id, call_id) != 0)
        k++;
    if (k == c->v[turn].n_calls)
        return false;
    size_t at = result_place(c, turn, k, &there);
    if (!there)
        insert_result(c, at, call_id, RESULT_OK, text, strlen(text));
    else
        xreplace(&c->v[at].text, *text ? good_text("", text, strlen(text)) : xstrdup("(no output)"));
    conversation_changed(c, &c->v[at]);
    return true;
}

void conversation_image(struct conversation *c, struct turn_image *image)
{
    struct turn *t = &c->v[c->n - 1];
    repair(&image->name);
    t->images = xreallocarray(t->images, t->n_images + 1, sizeof(*t->images));
    t->images[t->n_images++] = *image;
    *image = (struct turn_image){0};
    conversation_changed(c, t);
}

/* Stands between a result and the user's next words: Mistral refuses a user turn right behind a result. */
#define INTERRUPTED "Interrupted."

void conversation_close_open_calls(struct conversation *c, const char *why)
{
    for (size_t i = 0; i < c->n; i++) {
        for (size_t k = 0; k < c->v[i].n_calls; k++) {
            const char *id = c->v[i].calls[k].id;
            size_t at = i + 1 + k;
            bool there = at < c->n && c->v[at].role == TURN_RESULT && !strcmp(c->v[at].call_id, id);
            if (!there)
                insert_result(c, at, id, RESULT_INTERRUPTED, why, strlen(why));
        }
        size_t behind = i + 1 + c->v[i].n_calls;
        if (c->v[i].n_calls > 0 && behind < c->n && c->v[behind].role == TURN_USER)
            insert(c, behind, TURN_ASSISTANT)->text = xstrdup(INTERRUPTED);
    }
}

void conversation_interrupted(struct conversation *c)
{
    if (c->n > 0 && c->v[c->n - 1].role == TURN_RESULT)
        conversation_assistant(c, INTERRUPTED, NULL, 0);
}

static size_t length(const char *s)
{
    return s != NULL ? strlen(s) : 0;
}

size_t conversation_bytes(const struct conversation *c)
{
    size_t n = c->n * sizeof(*c->v);
    for (size_t i = 0; i < c->n; i++) {
        const struct turn *t = &c->v[i];
        n += length(t->text) + length(t->reasoning) + length(t->reasoning_items) + length(t->call_id);
        for (size_t k = 0; k < t->n_calls; k++)
            n += sizeof(*t->calls) + length(t->calls[k].id) + length(t->calls[k].name)
                 + length(t->calls[k].arguments) + length(t->calls[k].extra);
        for (size_t k = 0; k < t->n_images; k++)
            n += t->images[k].png != NULL ? IMAGE_AS_BYTES : 0;
    }
    return n;
}

/* ---- the invariants ---- */

static int broken(struct error *err, size_t turn, const char *rule)
{
    return error_set(err, ERROR_PROTOCOL, (int)turn, "conversation, turn %zu: %s", turn + 1, rule);
}

static bool good(const char *text)
{
    return !text || utf8_valid(text, strlen(text));
}

static int check_calls(const struct turn *t, size_t i, struct error *err)
{
    for (size_t k = 0; k < t->n_calls; k++) {
        const struct call *c = &t->calls[k];
        if (!c->id || c->id[0] == '\0')
            return broken(err, i, "a call has no id");
        for (size_t m = 0; m < k; m++) {
            if (!strcmp(t->calls[m].id, c->id))
                return broken(err, i, "two calls have the same id");
        }
        if (!c->name || c->name[0] == '\0')
            return broken(err, i, "a call has no name");
        if (!good(c->id) || !good(c->name) || !good(c->extra))
            return broken(err, i, "text that is not valid UTF-8");
        if (!is_object(c->arguments))
            return broken(err, i, "the arguments of a call are not a JSON object");
    }
    return 0;
}

/* Check the results directly after assistant turn i. */
static int check_results(const struct conversation *c, size_t i, struct error *err)
{
    const struct turn *t = &c->v[i];
    for (size_t k = 0; k < t->n_calls; k++) {
        size_t at = i + 1 + k;
        if (at >= c->n || c->v[at].role != TURN_RESULT)
            return broken(err, i, "a call has no result");
        if (!c->v[at].call_id || strcmp(c->v[at].call_id, t->calls[k].id) != 0)
            return broken(err, at, "the result is not the one of the call in its place");
    }
    return 0;
}

static bool has_extra(const struct turn *t)
{
    for (size_t k = 0; k < t->n_calls; k++)
        if (t->calls[k].extra != NULL)
            return true;
    return false;
}

static bool has_nameless_image(const struct turn *t)
{
    for (size_t k = 0; k < t->n_images; k++)
        if (!t->images[k].name || !good(t->images[k].name))
            return true;
    return false;
}

/* A rule, and whether it is broken. */
struct rule {
    bool broken;
    const char *text;
};

static int check_rules(const struct rule *rules, size_t n, size_t turn, struct error *err)
{
    for (size_t i = 0; i < n; i++)
        if (rules[i].broken)
            return broken(err, turn, rules[i].text);
    return 0;
}

static int check_turn(const struct conversation *c, size_t i, struct error *err)
{
    const struct turn *t = &c->v[i];
    bool assistant = t->role == TURN_ASSISTANT;
    const struct rule rules[] = {
        {!t->text || (t->text[0] == '\0' && t->n_calls == 0), "empty turn"},
        {!good(t->text) || !good(t->reasoning) || !good(t->reasoning_items) || !good(t->call_id),
         "text that is not valid UTF-8"},
        {assistant && t->n_images > 0, "an image of the assistant's"},
        {has_nameless_image(t), "an image without a valid name"},
        {!assistant && t->n_calls > 0, "calls outside of an assistant turn"},
        {!assistant && (t->reasoning != NULL || t->reasoning_field != NULL),
         "reasoning outside of an assistant turn"},
        {(t->reasoning_field != NULL || has_extra(t)) && !t->origin,
         "reasoning or extra content of no known model"},
    };

    return check_rules(rules, countof(rules), i, err);
}

/* Strict chat templates alternate: user, assistant with its results, and so on. */
static int check_order(const struct conversation *c, size_t i, struct error *err)
{
    const struct turn *t = &c->v[i], *before = i > 0 ? t - 1 : NULL;
    bool user = t->role == TURN_USER, assistant = t->role == TURN_ASSISTANT;
    const struct rule rules[] = {
        {!before && t->role == TURN_RESULT, "a result without a call"},
        {!before && assistant, "the first turn is not the user's"},
        {before && user && before->role == TURN_USER, "two user turns in a row"},
        {before && user && before->role == TURN_RESULT, "a user turn right behind a result"},
        {before && assistant && before->role == TURN_ASSISTANT && before->n_calls == 0,
         "two assistant turns in a row"},
    };

    return check_rules(rules, countof(rules), i, err);
}

int conversation_check(const struct conversation *c, struct error *err)
{
    if (c->n == 0)
        return error_set(err, ERROR_PROTOCOL, 0, "conversation: no turn");
    for (size_t i = 0, results = 0; i < c->n; i++) {
        const struct turn *t = &c->v[i];
        if (check_turn(c, i, err) < 0 || check_order(c, i, err) < 0)
            return -1;
        if (t->role == TURN_RESULT) {
            if (results == 0)
                return broken(err, i, "a result without a call");
            results--;
        } else if (t->role == TURN_ASSISTANT) {
            if (check_calls(t, i, err) < 0 || check_results(c, i, err) < 0)
                return -1;
            results = t->n_calls;
        }
    }
    if (c->v[c->n - 1].role == TURN_ASSISTANT)
        return broken(err, c->n - 1, "the last turn is the assistant's");
    return 0;
}
