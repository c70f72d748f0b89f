/* sessions.h - what is saved: lists, the search, one whole session from beginning to end, removal.
 * Everything that is handed out is untrusted and not scrubbed; strings live as long as the callback. */
#ifndef STORE_SESSIONS_H
#define STORE_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/cell_result.h"

struct buf;
struct db;
struct error;
struct json;

struct session_row {
    const char *id, *title, *folder, *model, *parent, *writer; /* NULL: not known */
    int64_t begun, used;                                       /* seconds since the epoch */
    int64_t questions, cells;
    const char *found; /* by the search: the words around; else NULL */
};
/* Gets the rows, one call each. */
struct session_taker {
    void (*row)(void *ctx, const struct session_row *row);
    void *ctx;
};

/* What every JSON says of a session. */
struct json *session_json(const struct session_row *row);
/* The last part of an id, which is enough to name it and is what lists show. */
const char *session_short(const char *id);
/* The folder of the session's files, which has that part as its name, since its path is often printed;
 * sessions is the folder that has all of them. NULL: no session of ours has such an id. The caller frees. */
char *session_folder(const char *sessions, const char *id);

/* Newest first. max 0: all. */
int sessions_list(struct db *db, int64_t max, struct session_taker to, struct error *err);
int session_row(struct db *db, const char *id, struct session_taker to, struct error *err);
/* Those not used since that time, oldest first. */
int sessions_before(struct db *db, int64_t time, struct session_taker to, struct error *err);
/* Those that hold all these words, in questions, answers, code or output; best first. */
int sessions_search(struct db *db, const char *words, struct session_taker to, struct error *err);
/* From the database; its folder of files is the caller's. id: the whole of it. */
int session_remove(struct db *db, const char *id, struct error *err);

/* A session in the order in which it happened. */
enum item_kind { ITEM_SESSION, ITEM_QUESTION, ITEM_TEXT, ITEM_CELL, ITEM_END };
struct item_output {
    int stream; /* 1 stdout, 2 stderr */
    char *text;
};
struct item_file {
    char *name, *path;
    int64_t size, modified; /* base/beneath.h */
    enum file_kind kind;
};
struct item {
    enum item_kind kind;
    const struct session_row *session; /* SESSION */
    int64_t number, time;              /* QUESTION, CELL: its number */
    const char *text;                  /* QUESTION, TEXT; END: why there is no answer, or NULL */
    bool answer;                       /* TEXT: not followed by code */
    /* CELL */
    const char *code, *value, *exception, *traceback, *what;
    const char *language; /* of a cell: as its fence has it; "": Python */
    int status;           /* enum cell_status; -1: not known (killed meanwhile) */
    int exit_code;
    double seconds;
    bool lost; /* the variables were lost with it, or before it */
    bool own;  /* the user's own code */
    struct item_output *outputs;
    size_t n_outputs;
    struct item_file *files;
    size_t n_files;
};
typedef void item_fn(void *ctx, const struct item *item);
struct item_taker {
    item_fn *item;
    void *ctx;
};
int session_walk(struct db *db, const char *id, struct item_taker to, struct error *err);

/* export.c: "md", "json", "py" or "ipynb". A figure that is gone or has changed is named, no error. */
struct session_export {
    const char *id, *format;
    const char *sessions; /* as for session_folder(); NULL: no file lies there */
};
int session_export(struct db *db, const struct session_export *e, struct buf *out, struct error *err);

/* export_receipt.c: the same as a receipt (receipt/receipt.h), into an empty *r. id: the whole of it;
 * format does not count. lacking gets a line for each thing that a whole receipt would have. */
struct argv;
struct receipt;
int session_receipt(struct db *db, const struct session_export *e, struct receipt *r, struct argv *lacking,
                    struct error *err);

#endif
