/* parked.c - keeps two lines for each question: what was asked, and what came of it. */
#include "server/parked.h"

#include <stdlib.h>
#include <string.h>

#include "base/argv.h"
#include "base/mem.h"
#include "base/spill.h"
#include "front/runners.h"
#include "json/json.h"

struct conversation_kept {
    struct owned_row row;
    struct argv ids; /* of the sandboxes that it was in, the latest last */
    struct spill lines;
    bool cut; /* it was too long */
};

struct parked {
    struct owned kept;
    size_t max;
};

static struct conversation_kept *kept_at(const struct owned_row *row)
{
    return (struct conversation_kept *)(uintptr_t)row;
}

static const char *latest(const struct conversation_kept *k)
{
    return k->ids.v[k->ids.n - 1];
}

static bool was_in(const struct owned_row *row, const void *id)
{
    const struct conversation_kept *k = kept_at(row);

    for (size_t i = 0; i < k->ids.n; i++)
        if (!strcmp(k->ids.v[i], id))
            return true;
    return false;
}

static struct conversation_kept *find_kept(const struct parked *p, const char *client, const char *id)
{
    struct owned_row *row = owned_find(&p->kept, client, was_in, id);

    return row ? kept_at(row) : NULL;
}

static void drop_kept(struct parked *p, struct conversation_kept *k)
{
    owned_take(&p->kept, &k->row);
    argv_release(&k->ids);
    spill_release(&k->lines);
    free(k);
}

static bool every(const struct owned_row *row, const void *key)
{
    (void)row;
    (void)key;
    return true;
}

struct parked *parked_new(size_t max)
{
    struct parked *p = xcalloc(1, sizeof *p);

    p->max = max;
    return p;
}

void parked_free(struct parked *p)
{
    struct owned_row *row;

    if (!p)
        return;
    while ((row = owned_find_of_all(&p->kept, every, NULL)))
        drop_kept(p, kept_at(row));
    owned_release(&p->kept);
    free(p);
}

/* ---- what is kept ---- */

char *parked_question(const struct json *arguments)
{
    autojson struct json *files = json_copy(json_get(arguments, "files"));
    autofree char *text = files ? json_print(files) : NULL;
    bool whole = !text || strlen(text) <= PARKED_FILES;
    autojson struct json *line = json_object_of({"input", json_copy(json_get(arguments, "input"))},
                                                {"results", json_copy(json_get(arguments, "results"))},
                                                {"files", whole && text ? steal(&files) : NULL},
                                                {"whole", json_boolean(whole)});

    return json_print(line);
}

/* Code that failed has done something before. */
static struct json *ran_code(const struct json *steps)
{
    struct json *out = json_array();

    for (const struct json *step = json_first(steps); step; step = json_next(step)) {
        const char *status = json_text(json_get(step, "status"));
        bool worked = !strcmp(status, "ok");

        if (json_str(json_get(step, "code")) && (worked || !strcmp(status, "exception")))
            json_add(out, json_object_of({"code", json_copy(json_get(step, "code"))},
                                         {"worked", json_boolean(worked)}));
    }
    return out;
}

static void add_lines(struct conversation_kept *k, const char *question, const struct json *result,
                      const struct json *steps)
{
    autojson struct json *came = json_object_of({"answer", json_copy(json_get(result, "answer"))},
                                                {"calls", json_copy(json_get(result, "calls"))},
                                                {"code", ran_code(steps)});
    autofree char *text = json_print(came);
    autofree char *both = xasprintf("%s\n%s\n", question, text);

    if (k->cut || k->lines.len + strlen(both) > PARKED_BYTES
        || spill_add(&k->lines, both, strlen(both), NULL) < 0) {
        k->cut = true;
        spill_release(&k->lines);
    }
}

struct gone_of {
    struct runners *rs;
    const char *client;
};

/* Its sandbox has ended for another reason than that it gave way, so nobody goes on with it. */
static bool has_ended(const struct owned_row *row, const void *key)
{
    const struct gone_of *g = key;
    enum runners_absent why;

    return !runners_find(g->rs, g->client, latest(kept_at(row)), &why) && why != RUNNERS_GAVE_WAY;
}

static int64_t in_turn(const struct owned_row *row)
{
    (void)row;
    return 0;
}

void parked_note(struct parked *p, struct runners *rs, const char *client, const char *sandbox,
                 const char *question, const struct json *result, const struct json *steps)
{
    struct conversation_kept *k = find_kept(p, client, sandbox);
    const struct gone_of gone = {rs, client};
    struct owned_row *row;

    if (!k) {
        while ((row = owned_find(&p->kept, client, has_ended, &gone)))
            drop_kept(p, kept_at(row));
        if (owned_count(&p->kept, client) == p->max)
            drop_kept(p, kept_at(owned_oldest(&p->kept, client, in_turn)));
        k = xmalloc(sizeof *k);
        *k = (struct conversation_kept){.ids = ARGV_INIT, .lines = SPILL_INIT(0)};
        argv_push(&k->ids, sandbox);
        owned_add(&p->kept, client, &k->row);
    }
    add_lines(k, question, result, steps);
}

void parked_moved(struct parked *p, const char *client, const char *from, const char *to)
{
    struct conversation_kept *k = find_kept(p, client, from);

    if (k)
        argv_push(&k->ids, to);
}

const char *parked_now(const struct parked *p, const char *client, const char *id)
{
    const struct conversation_kept *k = find_kept(p, client, id);

    return k ? latest(k) : id;
}

void parked_forget(struct parked *p, const char *client, const char *id)
{
    struct conversation_kept *k = find_kept(p, client, id);

    if (k)
        drop_kept(p, k);
}

/* ---- what is told ---- */

/* As in "history" (chat_request.h). */
static void tell_question(struct json *history, const struct json *asked)
{
    const struct json *input = json_get(asked, "input");

    for (const struct json *r = json_first(json_get(asked, "results")); r; r = json_next(r))
        json_add(history,
                 json_object_of({"role", json_string("result")}, {"id", json_copy(json_get(r, "id"))},
                                {"text", json_copy(json_get(r, "text"))}));
    if (*json_text(input))
        json_add(history, json_object_of({"role", json_string("user")}, {"text", json_copy(input)}));
}

static void tell_answer(struct json *history, const struct json *came)
{
    json_add(history, json_object_of({"role", json_string("assistant")},
                                     {"text", json_string(json_text(json_get(came, "answer")))},
                                     {"calls", json_copy(json_get(came, "calls"))}));
}

static struct json *line_at(const char **at)
{
    size_t len = strcspn(*at, "\n");
    struct json *out = len ? json_parse(*at, len, JSON_LONG, NULL, NULL) : NULL;

    *at += len + ((*at)[len] == '\n');
    return out;
}

static void copy_all(struct json *to, const struct json *from)
{
    for (const struct json *v = json_first(from); v; v = json_next(v))
        json_add(to, json_copy(v));
}

struct json *parked_story(const struct parked *p, const char *client, const char *id)
{
    const struct conversation_kept *k = find_kept(p, client, id);
    struct spill lines autorelease(spill_release) = SPILL_INIT(0);

    if (!k || k->cut)
        return NULL;
    lines = spill_copy(&k->lines);
    if (spill_load(&lines, NULL) < 0)
        return NULL;
    struct json *history = json_array(), *files = json_array(), *code = json_array();
    bool whole = true;
    for (const char *at = buf_str(&lines.memory); *at;) {
        autojson struct json *asked = line_at(&at), *came = line_at(&at);

        tell_question(history, asked);
        tell_answer(history, came);
        copy_all(files, json_get(asked, "files"));
        copy_all(code, json_get(came, "code"));
        whole = whole && json_bool(json_get(asked, "whole"), false);
    }
    return json_object_of({"history", history}, {"earlier_files", files},
                          {"goes_on", json_object_of({"code", code}, {"whole", json_boolean(whole)})});
}
