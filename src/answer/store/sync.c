/* sync.c - compares the conversation with what was saved of it. Serials only grow, and turns keep their
 * order, so one walk over both finds what is new, what changed and what is gone.
 */
#include <string.h>

#include "json/json.h"
#include "base/mem.h"
#include "conversation/conversation.h"
#include "store/private.h"

static char *calls_text(const struct turn *t)
{
    if (t->n_calls == 0)
        return NULL;
    autojson struct json *list = json_array();
    for (size_t i = 0; i < t->n_calls; i++) {
        const struct call *c = &t->calls[i];

        json_add(list, json_object_of({"id", json_string(c->id)}, {"name", json_string(c->name)},
                                      {"arguments", json_string(c->arguments)},
                                      {"extra", c->extra ? json_string(c->extra) : NULL}));
    }
    return json_print(list);
}

/* By reference alone. One without a path would not be found again. */
static char *images_text(const struct turn *t)
{
    autojson struct json *list = json_array();

    for (size_t i = 0; i < t->n_images; i++)
        json_add(list, json_object_of({"name", json_string(t->images[i].name)},
                                      {"path", json_string(t->images[i].path)},
                                      {"size", json_integer(t->images[i].size)},
                                      {"modified", json_integer(t->images[i].modified)}));
    return t->n_images ? json_print(list) : NULL;
}

static void insert(struct saved_thread *h, size_t at, struct saved_turn turn)
{
    if (h->n_turns == h->alloc) {
        h->alloc = h->alloc ? h->alloc * 2 : 64;
        h->turns = xreallocarray(h->turns, h->alloc, sizeof *h->turns);
    }
    memmove(h->turns + at + 1, h->turns + at, (h->n_turns - at) * sizeof *h->turns);
    h->turns[at] = turn;
    h->n_turns++;
}

static int64_t place_at(struct saved_thread *h, size_t at)
{
    int64_t before = at ? h->turns[at - 1].place : 0;

    return at < h->n_turns ? before + (h->turns[at].place - before) / 2 : (h->place += TURN_GAP);
}

/* Add it in front of the saved turn number at. With question 0 it belongs to no question, so exports leave it
 * out. */
static void add_turn(struct store *s, struct saved_thread *h, const struct turn *t, size_t at)
{
    /* one in front of others is a summary of what was before, or closes an open call */
    bool older = h == s->v && t->serial < s->asked;
    int64_t place = place_at(h, at), question = at < h->n_turns ? 0 : s->question - older;
    autofree char *calls = calls_text(t), *images = images_text(t);

    db_run(s->db,
           "INSERT INTO turn(session, agent, serial, place, question, role, text, aside, calls, call_id, "
           "result, "
           "reasoning, reasoning_field, reasoning_items, origin, images) "
           "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
           "isiiiisississsss", s->n, h->agent, (int64_t)t->serial, place, question, (int64_t)t->role, t->text,
           (int64_t)t->aside, calls, t->call_id, (int64_t)t->result, t->reasoning, t->reasoning_field,
           t->reasoning_items, t->origin, images);
    insert(h, at, (struct saved_turn){t->serial, t->version, place, strlen(t->text)});
}

/* What became longer is the turn; what became shorter is only what the model still gets of it. */
static void change_turn(struct store *s, const char *agent, const struct turn *t, struct saved_turn *old)
{
    size_t length = strlen(t->text);

    db_run(
        s->db,
        length < old->length
            ? "UPDATE turn SET sent=?, aside=?, result=?, reasoning=?, reasoning_field=?, reasoning_items=?, "
              "origin=? WHERE session=? AND agent=? AND serial=?"
            : "UPDATE turn SET text=?, sent=NULL, aside=?, result=?, reasoning=?, reasoning_field=?, "
              "reasoning_items=?, origin=? WHERE session=? AND agent=? AND serial=?",
        "siissssisi", t->text, (int64_t)t->aside, (int64_t)t->result, t->reasoning, t->reasoning_field,
        t->reasoning_items, t->origin, s->n, agent, (int64_t)t->serial);
    if (length > old->length)
        old->length = length;
    old->version = t->version;
}

static void mark_turns(struct store *s, struct saved_thread *h, size_t from, size_t to,
                       enum saved_state state)
{
    if (from == to)
        return;
    for (size_t i = from; i < to; i++)
        db_run(s->db, "UPDATE turn SET state=? WHERE session=? AND agent=? AND serial=?", "iisi",
               (int64_t)state, s->n, h->agent, (int64_t)h->turns[i].serial);
    memmove(h->turns + from, h->turns + to, (h->n_turns - to) * sizeof *h->turns);
    h->n_turns -= to - from;
}

void sync_loaded(struct saved_thread *h, int64_t place, size_t length)
{
    const struct turn *t = &h->c->v[h->c->n - 1];

    insert(h, h->n_turns, (struct saved_turn){t->serial, t->version, place, length});
    h->serial = h->c->serial;
    h->revision = h->c->revision;
}

static void save_turns(struct store *s, struct saved_thread *h, enum saved_state vanished)
{
    const struct conversation *c = h->c;
    size_t at = 0;

    for (size_t i = 0; i < c->n; i++, at++) {
        const struct turn *t = &c->v[i];
        size_t end = at;

        if (t->serial > h->serial) {
            add_turn(s, h, t, at);
            continue;
        }
        while (end < h->n_turns && h->turns[end].serial != t->serial)
            end++;
        mark_turns(s, h, at, end, vanished);
        if (at < h->n_turns && h->turns[at].version != t->version)
            change_turn(s, h->agent, t, &h->turns[at]);
    }
    mark_turns(s, h, at, h->n_turns, vanished);
    h->serial = c->serial;
    h->revision = c->revision;
}

bool sync_needed(const struct store *s)
{
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->v[i].revision != s->v[i].c->revision)
            return true;
    return false;
}

void sync_turns(struct store *s)
{
    sync_vanished(s, SAVED_LEFT);
}

void sync_vanished(struct store *s, enum saved_state state)
{
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->v[i].revision != s->v[i].c->revision)
            save_turns(s, &s->v[i], state);
}
