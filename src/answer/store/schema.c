/* schema.c - see schema.h.
 *
 * Turns are never deleted while their session lives: what the conversation no longer holds only changes its
 * state, so that an export still has it. place orders them; there is room between two for turns that are put
 * between them later. words, the index for the search, is made and brought up to date by the first search.
 */
#include "store/schema.h"

#include <stddef.h>

const char *const schema_steps[] = {
    "CREATE TABLE session(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, begun INTEGER NOT "
    "NULL, used INTEGER NOT NULL, folder TEXT NOT NULL, title TEXT, model TEXT, sandbox TEXT, parent TEXT, "
    "writer TEXT);"
    "CREATE INDEX session_folder ON session(folder, used);"
    "CREATE TABLE question(session INTEGER NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, text "
    "TEXT NOT NULL, status INTEGER, answer TEXT, error TEXT, input INTEGER, output INTEGER, seconds REAL, "
    "state INTEGER NOT NULL DEFAULT 0, PRIMARY KEY(session, number)) WITHOUT ROWID;"
    "CREATE TABLE turn(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, serial INTEGER NOT NULL, "
    "place INTEGER NOT NULL, question INTEGER NOT NULL, role INTEGER NOT NULL, state INTEGER NOT NULL "
    "DEFAULT "
    "0, text TEXT NOT NULL, sent TEXT, aside INTEGER, calls TEXT, call_id TEXT, result INTEGER, reasoning "
    "TEXT, reasoning_field TEXT, reasoning_items TEXT, origin TEXT, UNIQUE(session, serial));"
    "CREATE TABLE cell(row INTEGER PRIMARY KEY, session INTEGER NOT NULL, n INTEGER NOT NULL, question "
    "INTEGER "
    "NOT NULL, call_id TEXT, code TEXT NOT NULL, status INTEGER, lost INTEGER NOT NULL DEFAULT 0, value "
    "TEXT, "
    "exception TEXT, traceback TEXT, what TEXT, told TEXT, seconds REAL, UNIQUE(session, n));"
    "CREATE TABLE output(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, cell INTEGER NOT NULL, stream "
    "INTEGER NOT NULL, text TEXT NOT NULL);"
    "CREATE INDEX output_cell ON output(session, cell);"
    "CREATE TABLE file(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, cell INTEGER NOT NULL, name TEXT NOT "
    "NULL, path TEXT NOT NULL, size INTEGER NOT NULL, figure INTEGER NOT NULL);"
    "CREATE INDEX file_session ON file(session, cell);"
    "CREATE TABLE piece(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, text TEXT NOT NULL);"
    "CREATE INDEX piece_session ON piece(session);",
    "ALTER TABLE turn ADD COLUMN images TEXT;",
    /* agent: whose conversation of a pipeline; '': of the one that answers. Serials are counted in each. */
    "CREATE TABLE turn_of(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, agent TEXT NOT NULL DEFAULT '', "
    "serial INTEGER NOT NULL, place INTEGER NOT NULL, question INTEGER NOT NULL, role INTEGER NOT NULL, "
    "state INTEGER NOT NULL DEFAULT 0, text TEXT NOT NULL, sent TEXT, aside INTEGER, calls TEXT, call_id "
    "TEXT, result INTEGER, reasoning TEXT, reasoning_field TEXT, reasoning_items TEXT, origin TEXT, images "
    "TEXT, UNIQUE(session, agent, serial));"
    "INSERT INTO turn_of(n, session, serial, place, question, role, state, text, sent, aside, calls, "
    "call_id, result, reasoning, reasoning_field, reasoning_items, origin, images) SELECT n, session, "
    "serial, place, question, role, state, text, sent, aside, calls, call_id, result, reasoning, "
    "reasoning_field, reasoning_items, origin, images FROM turn;"
    "DROP TABLE turn;"
    "ALTER TABLE turn_of RENAME TO turn;"
    /* kept: our copy of a file that the user added; modified: when it had changed last, in microseconds */
    "ALTER TABLE file ADD COLUMN kept TEXT;"
    "ALTER TABLE file ADD COLUMN modified INTEGER;",
    /* which an earlier first step made, and nothing read */
    "DROP TABLE IF EXISTS usage;",
    NULL,
};
