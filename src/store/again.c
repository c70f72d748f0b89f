/* again.c - which code makes the variables of a session: what ran since they were lost the last time. */
#include "base/mem.h"
#include "chat/cell_result.h"
#include "store/private.h"

static int64_t first_cell(struct store *s)
{
    struct db_rows r = db_query(
        s->db, "SELECT coalesce(max(n + (lost=1)), 1) FROM cell WHERE session=? AND lost>0", "i", s->n);
    int64_t n = db_next(&r) ? db_int(&r, 0) : 1;

    db_done(&r);
    return n;
}

void store_again(struct store *s, struct store_again *a)
{
    *a = (struct store_again){0};
    if (!s->db || !s->n)
        return;
    int64_t first = first_cell(s);
    /* one that was killed or never ran has left nothing */
    struct db_rows r = db_query(
        s->db, "SELECT code, status FROM cell WHERE session=? AND n>=? AND status IN (0, 1) ORDER BY n", "ii",
        s->n, first);
    while (db_next(&r)) {
        a->cells = xreallocarray(a->cells, a->n_cells + 1, sizeof *a->cells);
        a->cells[a->n_cells++] = (struct again_cell){db_copy(&r, 0), db_int(&r, 1) == CELL_OK};
    }
    /* the last copy of each */
    r = db_query(
        s->db, "SELECT name, path, max(cell), min(cell) FROM file WHERE session=? AND figure=0 GROUP BY name",
        "i", s->n);
    while (db_next(&r)) {
        bool added = db_int(&r, 2) == 0;

        a->files = xreallocarray(a->files, a->n_files + 1, sizeof *a->files);
        a->files[a->n_files++] = (struct again_file){db_copy(&r, 0), db_copy(&r, 1),
                                                     added || db_int(&r, 3) < first, added};
    }
}

void store_again_release(struct store_again *a)
{
    for (size_t i = 0; i < a->n_cells; i++)
        free(a->cells[i].code);
    for (size_t i = 0; i < a->n_files; i++) {
        free(a->files[i].name);
        free(a->files[i].path);
    }
    free(a->cells);
    free(a->files);
    *a = (struct store_again){0};
}
