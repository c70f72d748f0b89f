/* rerun.c - which code makes the variables of a session: what ran since they were lost the last time. */
#include "base/mem.h"
#include "conversation/cell_result.h"
#include "store/private.h"

static size_t files(struct db_rows r, struct rerun_file **list)
{
    size_t n = 0;

    for (; db_next(&r); n++) {
        struct rerun_file f = {.name = db_copy(&r, 0),
                               .path = db_copy(&r, 1),
                               .kept = db_copy(&r, 4),
                               .size = db_int(&r, 2),
                               .modified = db_int(&r, 5),
                               .added = db_int(&r, 3) == 0};

        *list = xreallocarray(*list, n + 1, sizeof **list);
        f.name = f.name ? f.name : xstrdup("");
        f.path = f.path ? f.path : xstrdup("");
        (*list)[n] = f;
    }
    return n;
}

void store_rerun(struct store *s, struct store_rerun *a)
{
    *a = (struct store_rerun){0};
    if (!s->db || !s->n)
        return;
    int64_t first = db_number(
        s->db, "SELECT coalesce(max(n + (lost=1)), 1) FROM cell WHERE session=? AND lost>0", "i", s->n);
    /* a cell that was killed or never ran has left no variables */
    struct db_rows r = db_query(
        s->db,
        "SELECT code, status, place FROM cell WHERE session=? AND n>=? AND status IN (0, 1) ORDER BY n", "ii",
        s->n, first);
    while (db_next(&r)) {
        char *code = db_copy(&r, 0);

        a->cells = xreallocarray(a->cells, a->n_cells + 1, sizeof *a->cells);
        a->cells[a->n_cells++] = (struct rerun_cell){
            code ? code : xstrdup(""), store_language(db_text(&r, 2, NULL)), db_int(&r, 1) == CELL_OK};
    }
    /* the last copy of each: cell 0 is the user */
    a->n_put = files(
        db_query(
            s->db,
            "SELECT name, path, size, cell, kept, modified FROM file WHERE n IN (SELECT max(n) FROM file "
            "WHERE session=? AND figure=0 AND cell<? GROUP BY name) ORDER BY n",
            "ii", s->n, first),
        &a->put);
    a->n_made = files(
        db_query(
            s->db,
            "SELECT name, path, size, cell, kept, modified FROM file WHERE n IN (SELECT max(n) FROM file "
            "WHERE session=? AND figure=0 AND cell>0 GROUP BY name) ORDER BY n",
            "i", s->n),
        &a->made);
}

static void free_files(struct rerun_file *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(f[i].name);
        free(f[i].path);
        free(f[i].kept);
    }
    free(f);
}

void store_rerun_release(struct store_rerun *a)
{
    for (size_t i = 0; i < a->n_cells; i++) {
        free(a->cells[i].code);
        free(a->cells[i].language);
    }
    free(a->cells);
    free_files(a->put, a->n_put);
    free_files(a->made, a->n_made);
    *a = (struct store_rerun){0};
}
