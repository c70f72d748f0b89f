/* schema.c - the SQL that makes the tables.
 *
 * Turns are never deleted while their session lives: what the conversation no longer holds only changes its
 * state, so that an export still has it. place orders them; there is room between two for turns that are put
 * between them later. words, the index for the search, is brought up to date by each search; upto says how
 * far.
 */
#include "store/schema.h"

#include "base/mem.h"

const struct schema_part schema_parts[] = {
    {"session",
     "CREATE TABLE session(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, begun INTEGER NOT NULL, used "
     "INTEGER NOT NULL, folder TEXT NOT NULL, title TEXT, model TEXT, sandbox TEXT, parent TEXT, writer "
     "TEXT)",
     false},
    {"session_folder", "CREATE INDEX session_folder ON session(folder, used)", false},
    {"question",
     "CREATE TABLE question(session INTEGER NOT NULL, number INTEGER NOT NULL, time INTEGER NOT NULL, text "
     "TEXT NOT NULL, status INTEGER, answer TEXT, error TEXT, input INTEGER, output INTEGER, seconds REAL, "
     "state INTEGER NOT NULL DEFAULT 0, model TEXT, service TEXT, PRIMARY KEY(session, number)) WITHOUT "
     "ROWID",
     false},
    /* agent: whose conversation of a pipeline; '': of the one that answers. Serials are counted in each. */
    {"turn",
     "CREATE TABLE turn(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, agent TEXT NOT NULL DEFAULT '', "
     "serial INTEGER NOT NULL, place INTEGER NOT NULL, question INTEGER NOT NULL, role INTEGER NOT NULL, "
     "state INTEGER NOT NULL DEFAULT 0, text TEXT NOT NULL, sent TEXT, aside INTEGER, calls TEXT, call_id "
     "TEXT, result INTEGER, reasoning TEXT, reasoning_field TEXT, reasoning_items TEXT, origin TEXT, images "
     "TEXT, UNIQUE(session, agent, serial))",
     false},
    /* place: what it ran in, as JSON; packages: those it was the first to import; fresh: in a new sandbox,
     * without the variables of the cells before it */
    {"cell",
     "CREATE TABLE cell(row INTEGER PRIMARY KEY, session INTEGER NOT NULL, n INTEGER NOT NULL, question "
     "INTEGER NOT NULL, call_id TEXT, code TEXT NOT NULL, status INTEGER, exit_code INTEGER, lost INTEGER "
     "NOT NULL DEFAULT 0, "
     "value TEXT, exception TEXT, traceback TEXT, what TEXT, told TEXT, seconds REAL, place TEXT, packages "
     "TEXT, fresh INTEGER NOT NULL DEFAULT 0, UNIQUE(session, n))",
     false},
    {"output",
     "CREATE TABLE output(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, cell INTEGER NOT NULL, stream "
     "INTEGER NOT NULL, text TEXT NOT NULL)",
     false},
    {"output_cell", "CREATE INDEX output_cell ON output(session, cell)", false},
    /* cell 0: what the user added, when as many cells as "after" had run; kept: our copy of it; size and
     * modified: as they were (base/beneath.h) */
    {"file",
     "CREATE TABLE file(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, cell INTEGER NOT NULL, name TEXT "
     "NOT "
     "NULL, path TEXT NOT NULL, size INTEGER NOT NULL, figure INTEGER NOT NULL, kept TEXT, modified INTEGER, "
     "after INTEGER NOT NULL DEFAULT 0)",
     false},
    {"file_session", "CREATE INDEX file_session ON file(session, cell)", false},
    {"piece", "CREATE TABLE piece(n INTEGER PRIMARY KEY, session INTEGER NOT NULL, text TEXT NOT NULL)",
     false},
    {"piece_session", "CREATE INDEX piece_session ON piece(session)", false},
    {"upto", "CREATE TABLE upto(what TEXT PRIMARY KEY, n INTEGER NOT NULL)", false},
    {"words",
     "CREATE VIRTUAL TABLE words USING fts5(text, session UNINDEXED, tokenize='unicode61 remove_diacritics "
     "2')",
     false},
    {"words_data", "CREATE TABLE 'words_data'(id INTEGER PRIMARY KEY, block BLOB)", true},
    {"words_idx", "CREATE TABLE 'words_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
     true},
    {"words_content", "CREATE TABLE 'words_content'(id INTEGER PRIMARY KEY, c0, c1)", true},
    {"words_docsize", "CREATE TABLE 'words_docsize'(id INTEGER PRIMARY KEY, sz BLOB)", true},
    {"words_config", "CREATE TABLE 'words_config'(k PRIMARY KEY, v) WITHOUT ROWID", true},
};
const size_t schema_count = countof(schema_parts);
