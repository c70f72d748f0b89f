/* resume.c - goes on with a saved session, or with a copy of one that another program goes on with. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "conversation/conversation.h"
#include "store/private.h"

int64_t copy_session(struct store *s, int64_t from, int64_t skip)
{
    static const char *const tables[] = {
        "INSERT INTO question SELECT ?2, number, time, text, status, answer, error, input, output, seconds, "
        "state, model, service FROM question WHERE session=?1 AND number<>?3",
        "INSERT INTO turn(session, agent, serial, place, question, role, state, text, sent, aside, calls, "
        "call_id, "
        "result, reasoning, reasoning_field, reasoning_items, origin, images) SELECT ?2, agent, serial, "
        "place, "
        "question, "
        "role, state, text, sent, aside, calls, call_id, result, reasoning, reasoning_field, "
        "reasoning_items, origin, images FROM turn WHERE session=?1 AND question<>?3",
        "INSERT INTO cell(session, n, question, call_id, code, status, exit_code, lost, value, exception, "
        "traceback, what, told, seconds, place, packages, fresh) SELECT ?2, n, question, call_id, code, "
        "status, exit_code, lost, "
        "value, exception, traceback, what, told, seconds, place, packages, fresh FROM cell WHERE session=?1 "
        "AND question<>?3",
        "INSERT INTO output(session, cell, stream, text) SELECT ?2, cell, stream, text FROM output WHERE "
        "session=?1 AND cell IN (SELECT n FROM cell WHERE session=?2) AND ?3>=-1 ORDER BY n",
        "INSERT INTO file(session, cell, name, path, size, figure, kept, modified, after) SELECT ?2, cell, "
        "name, "
        "path, size, figure, kept, modified, after FROM file WHERE session=?1 AND (cell=0 OR cell IN (SELECT "
        "n FROM "
        "cell WHERE session=?2)) AND ?3>=-1 ORDER BY n",
        NULL,
    };
    int64_t now = (int64_t)time(NULL), copy;

    db_run(s->db,
           "INSERT INTO session(id, begun, used, folder, title, model, sandbox, parent, writer) SELECT ?1, "
           "?2, ?2, ?3, title, model, ?4, id, ?5 FROM session WHERE n=?6",
           "sisssi", s->o.id, now, s->o.folder, s->o.sandbox, s->o.writer, from);
    copy = db_last_id(s->db);
    for (size_t i = 0; tables[i]; i++)
        db_run(s->db, tables[i], "iii", from, copy, skip);
    return copy;
}

/* The number of the question that was not closed, or -1. */
static int64_t busy_with(struct store *s, int64_t session)
{
    return db_number(s->db,
                     "SELECT coalesce((SELECT number FROM question WHERE session=?1 AND status IS NULL AND "
                     "number=(SELECT max(number) FROM question WHERE session=?1)), -1)",
                     "i", session);
}

/* In one transaction, so that of two programs that start at the same time one comes too late. */
static int take_over(struct store *s, const struct store_found *from, struct error *err)
{
    int64_t session = session_by_id(s->db, from->id, err);
    bool copy = strcmp(from->id, s->o.id) != 0;
    if (!session)
        return -1;
    bool as_found = db_number(s->db, "SELECT 1 FROM session WHERE n=? AND writer IS ?", "is", session,
                              from->writer);
    if (!copy && !as_found && !s->o.read_only)
        return error_set(err, ERROR_USAGE, EBUSY, "session %s was just taken by another program\nTry again",
                         from->id);
    int64_t skip = copy && !s->o.read_only ? busy_with(s, session) : -1;
    if (load_session(s, session, skip, err) < 0)
        return -1;
    if (s->o.read_only) {
        s->n = session;
        return 0;
    }
    s->n = copy ? copy_session(s, session, skip) : session;
    if (!copy) /* the folder too: -c finds it where it was used last */
        db_run(s->db, "UPDATE session SET writer=?, used=?, folder=? WHERE n=?", "sisi", s->o.writer,
               (int64_t)time(NULL), s->o.folder, s->n);
    s->question = s->first_question;
    sync_turns(s);
    if (s->pieces)
        db_run(s->db, "DELETE FROM piece WHERE session=?", "i", s->n);
    s->pieces = false;
    return 0;
}

int store_resume(struct store *s, const struct store_found *from, struct error *err)
{
    s->db = db_open(s->o.place, false, err);
    if (!s->db)
        return -1;
    db_begin(s->db);
    int status = take_over(s, from, err);
    if (db_commit(s->db) && status == 0)
        return 0;
    if (status == 0)
        db_check(s->db, err);
    store_forget(s);
    return -1;
}
