/* export.h - the formats in which a session leaves the database. Each is fed the items of session_walk(). */
#ifndef STORE_EXPORT_H
#define STORE_EXPORT_H

#include "base/buf.h"
#include "base/size.h"
#include "store/sessions.h"

struct export_format {
    const char *name; /* also the extension of its files */
    bool json;        /* its text is JSON */
    /* NULL: the context of item is out itself. sessions: of struct session_export */
    void *(*begin)(struct buf *out, const char *sessions);
    item_fn *item;          /* its context is what begin returned */
    void (*end)(void *ctx); /* frees that; NULL: there is nothing to do */
};
extern const struct export_format export_md, export_json, export_py, export_ipynb;

bool export_is_format(const char *name);
/* Is it a format whose text is JSON? */
bool export_is_json(const char *name);
/* What the extension of a path says, which need not be a format; "md" for a path without one. */
const char *export_format_of(const char *path);
/* A fence that text cannot close. The caller frees. */
char *export_fence(const char *text);
/* The words for a cell that did not end well, or NULL. */
const char *export_trouble(const struct item *cell);
/* "2026-11-23 03:36", local time. */
struct short_text export_time(int64_t seconds);

#endif
