/* cmd_sessions.c - "sandpiper sessions": lists, shows, searches, removes and exports what was saved. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/file.h"
#include "json/json.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "base/scrub.h"
#include "base/utf8.h"
#include "main/command.h"
#include "saved/saved.h"
#include "show/show.h"
#include "store/db.h"
#include "store/export.h"
#include "store/sessions.h"

#define ID_COLUMNS    10 /* with the gap */
#define ID_TO_TURNS   37 /* columns of what never changes, with the gaps */
#define TITLE_COLUMNS 40 /* in a pipe, where the folder is whole */
#define TITLE_LEAST   12
#define FOLDER_LEAST  8

struct list {
    bool json, any;
    int64_t max;       /* rows, if all sessions are listed; 0: all */
    int title, folder; /* columns; folder 0: whole */
    bool narrow;       /* there is no room for more than ID and title */
    struct buf *out;
};

static void print_session_json(struct list *l, const struct session_row *r)
{
    autojson struct json *o = json_set_all(
        session_json(r), {"questions", json_integer(r->questions)}, {"cells", json_integer(r->cells)},
        {"in_use", json_boolean(saved_busy(r->writer))}, {"found", r->found ? json_string(r->found) : NULL});
    json_line(o, l->out);
}

static void measure_title(struct list *l)
{
    int room = isatty(1) ? show_width(1) - ID_TO_TURNS : 0;

    l->title = TITLE_COLUMNS;
    if (!room)
        return;
    l->narrow = room < TITLE_LEAST + FOLDER_LEAST;
    if (l->narrow) {
        l->title = room + ID_TO_TURNS - ID_COLUMNS;
        return;
    }
    l->folder = room / 3 > FOLDER_LEAST ? room / 3 : FOLDER_LEAST;
    l->title = room - l->folder;
}

/* As many characters as fit into so many columns. */
static char *fitting(const char *text, int columns)
{
    autofree char *line = scrub_line(text ? text : "", SCRUB_TERMINAL);
    size_t len = strlen(line);

    if (utf8_columns(line, len) <= columns)
        return steal(&line);
    while (len && utf8_columns(line, len) > columns - 3)
        while (len && ((unsigned char)line[--len] & 0xc0) == 0x80)
            ;
    return xasprintf("%.*s...", (int)len, line);
}

/* Its end tells one folder from another, so what is left out is the beginning. */
static char *folder_shown(const struct list *l, const char *path)
{
    const char *below = file_below_home(path);
    autofree char *whole = xasprintf("%s%s", below ? "~" : "", below ? below : path);
    autofree char *line = scrub_line(whole, SCRUB_TERMINAL);
    const char *end = line;

    if (!l->folder || utf8_columns(line, strlen(line)) <= l->folder)
        return steal(&line);
    while (*end && utf8_columns(end, strlen(end)) > l->folder - 3)
        while ((*++end & 0xc0) == 0x80)
            ;
    return xasprintf("...%s", end);
}

static void add_row(void *ctx, const struct session_row *r)
{
    struct list *l = ctx;

    l->any = true;
    if (l->json) {
        print_session_json(l, r);
        return;
    }
    if (!l->out->len) {
        measure_title(l);
        if (l->narrow)
            buf_addf(l->out, "%-8s  %s\n", "ID", "TITLE");
        else
            buf_addf(l->out, "%-8s  %-16s  %5s  %-*s  %s\n", "ID", "LAST USED", "TURNS", l->title, "TITLE",
                     "FOLDER");
    }
    autofree char *title = fitting(r->title, l->title);
    autofree char *folder = folder_shown(l, r->folder ? r->folder : "");
    autofree char *id = scrub_line(session_short(r->id), SCRUB_TERMINAL);
    int pad = l->title - utf8_columns(title, strlen(title));
    if (l->narrow)
        buf_addf(l->out, "%-8s  %s\n", id, title);
    else
        buf_addf(l->out, "%-8s  %-16s  %5d  %s%*s  %s\n", id, export_time(r->used).text, (int)r->questions,
                 title, pad > 0 ? pad : 0, "", folder);
    if (r->found) {
        autofree char *found = scrub_line(r->found, SCRUB_TERMINAL);
        buf_addf(l->out, "          %s\n", found);
    }
}

struct names {
    struct argv *out;
    const char *but;
};

static void add_session_name(void *ctx, const struct session_row *r)
{
    const struct names *names = ctx;
    autofree char *id = scrub_line(session_short(r->id), SCRUB_TERMINAL);
    autofree char *title = scrub_line(r->title ? r->title : "", SCRUB_TERMINAL);

    if (strcmp(r->id, names->but) != 0)
        argv_pushf(names->out, "%s\t%s  %s", id, export_time(r->used).text, title);
}

void sessions_names(struct db *db, int64_t max, const char *but, struct argv *out)
{
    struct names names = {out, but};
    struct error err = {0};

    sessions_list(db, max, (struct session_taker){add_session_name, &names}, &err);
}

/* words NULL: all sessions, the newest first. */
static int fill_list(struct list *l, struct db *db, const char *words, struct error *err)
{
    const struct session_taker to = {add_row, l};
    int status = words ? sessions_search(db, words, to, err) : sessions_list(db, l->max, to, err);

    if (!l->any && !l->json)
        buf_addstr(l->out, words ? "no session contains these words\n" : "no saved sessions yet\n");
    return status;
}

int sessions_table(struct db *db, const char *words, int64_t max, struct buf *out, struct error *err)
{
    struct list l = {.max = max, .out = out};

    return fill_list(&l, db, words, err);
}

/* One command of "sandpiper sessions" with its words. */
struct sessions {
    struct config *c;
    struct db *db;      /* NULL: nothing was saved yet */
    char *const *words; /* behind the name of the command */
    size_t n;
};

/* Each command returns the exit code, or -1 with err. */
static int print_list(const struct sessions *s, const char *words, struct error *err)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct list l = {.json = s->c->json, .out = &out};

    if (fill_list(&l, s->db, words, err) < 0)
        return -1;
    int status = !out.len ? 0 : (l.json ? print_json : print_out)(buf_str(&out), out.len);
    return !status && words && !l.any ? 1 : status;
}

static int list_sessions(const struct sessions *s, struct error *err)
{
    return print_list(s, NULL, err);
}

static int search(const struct sessions *s, struct error *err)
{
    struct buf words autorelease(buf_release) = BUF_INIT(4096);

    for (size_t i = 0; i < s->n; i++)
        buf_addf(&words, "%s%s", i ? " " : "", s->words[i]);
    return print_list(s, buf_str(&words), err);
}

static int export(const struct sessions *s, const char *format, struct error *err)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    autofree char *sessions = xdg_path(XDG_STATE, "sessions");
    const struct session_export e = {s->words[0], format, sessions};

    if (session_export(s->db, &e, &out, err) < 0)
        return -1;
    if (s->c->front.output)
        return newfile_write(s->c->front.output, buf_str(&out), out.len, err);
    return (export_is_json(format) ? print_json : print_out)(buf_str(&out), out.len);
}

static int export_any(const struct sessions *s, struct error *err)
{
    return export(s,
                  s->c->front.format ? s->c->front.format
                                     : export_format_of(s->c->front.output ? s->c->front.output : ""),
                  err);
}

static int show(const struct sessions *s, struct error *err)
{
    return export(s, s->c->json ? "json" : "md", err);
}

struct chosen_sessions {
    struct argv *ids;
    bool busy; /* the last one is: what another program is going on with is not removed */
};

static void choose_session(void *ctx, const struct session_row *r)
{
    struct chosen_sessions *chosen = ctx;

    chosen->busy = saved_busy(r->writer);
    if (!chosen->busy)
        argv_push(chosen->ids, r->id);
}

static int remove_one(const struct sessions *s, const char *id, struct error *err)
{
    autofree char *sessions = xdg_path(XDG_STATE, "sessions");
    autofree char *dir = session_folder(sessions, id);

    if (session_remove(s->db, id, err) < 0)
        return -1;
    if (dir && file_remove_tree(dir) < 0)
        return error_errno(err, "%s", dir);
    return 0;
}

/* One that cannot be removed is reported, and the others are removed all the same. */
static int remove_sessions(const struct sessions *s, const struct argv *ids)
{
    size_t removed = 0;
    int status = 0;

    for (size_t i = 0; i < ids->n; i++) {
        struct error err = {0};

        if (remove_one(s, ids->v[i], &err) == 0)
            removed++;
        else
            status = print_failure(&err);
    }
    autofree char *line = xasprintf("removed %zu session%s\n", removed, removed == 1 ? "" : "s");
    int told = print_out(line, strlen(line));
    return status ? status : told;
}

static int remove_named(const struct sessions *s, struct error *err)
{
    struct argv ids autorelease(argv_release) = ARGV_INIT;
    struct chosen_sessions chosen = {.ids = &ids};

    for (size_t i = 0; i < s->n; i++) {
        if (session_row(s->db, s->words[i], (struct session_taker){choose_session, &chosen}, err) < 0)
            return -1;
        if (chosen.busy)
            return error_set(err, ERROR_SYSTEM, EBUSY, "session %.60s is in use by another program",
                             s->words[i]);
    }
    return remove_sessions(s, &ids);
}

static int remove_old(const struct sessions *s, struct error *err)
{
    struct argv ids autorelease(argv_release) = ARGV_INIT;
    struct chosen_sessions chosen = {.ids = &ids};
    int64_t before = (int64_t)time(NULL) - s->c->older / 1000;

    if (sessions_before(s->db, before, (struct session_taker){choose_session, &chosen}, err) < 0)
        return -1;
    if (ids.n == 0)
        return print_out("nothing to remove\n", strlen("nothing to remove\n"));
    autofree char *line = xasprintf("Remove %zu session%s with the files in their folders? [y/N] ", ids.n,
                                    ids.n == 1 ? "" : "s");
    if (s->c->force || confirm(line, NULL) != CONFIRM_NO)
        return remove_sessions(s, &ids);
    print_line("nothing was removed");
    return 1;
}

static int remove_any(const struct sessions *s, struct error *err)
{
    if ((s->n > 0) == (s->c->older > 0))
        return error_set(
            err, ERROR_USAGE, 0,
            "sessions rm needs the IDs of sessions, or --older TIME alone: sandpiper sessions rm ID...");
    return s->n ? remove_named(s, err) : remove_old(s, err);
}

static const struct session_command {
    const char *name;
    int (*run)(const struct sessions *s, struct error *err);
    size_t min, max; /* words behind the name */
    const char *usage;
} commands[] = {
    {"list", list_sessions, 0, 0, "list"},     {"show", show, 1, 1, "show ID"},
    {"search", search, 1, 100, "search TEXT"}, {"rm", remove_any, 0, 1000, "rm ID..."},
    {"export", export_any, 1, 1, "export ID"}, {0},
};

static int run_session_command(struct sessions *s, const char *name, struct error *err)
{
    const struct session_command *command = commands;
    autofree char *place = saved_place();

    while (command->name && strcmp(command->name, name) != 0)
        command++;
    if (!command->name)
        return error_set(err, ERROR_USAGE, 0,
                         "unknown command \"sessions %.40s\"; there are list, show, search, rm and export\n"
                         "To ask a question: sandpiper -p \"sessions ...\"",
                         name);
    if (s->n < command->min || s->n > command->max)
        return error_set(err, ERROR_USAGE, 0, "usage: sandpiper sessions %s", command->usage);
    struct db *db autorelease(db_closep) = place ? db_open(place, false, err) : NULL;
    if (place && !db && err->code != ENOENT)
        return -1;
    s->db = db;
    return command->run(s, err);
}

int cmd_sessions(struct config *c, int closed)
{
    struct sessions s = {
        .c = c, .words = c->args.names.v + 1, .n = c->args.names.n ? c->args.names.n - 1 : 0};
    struct error err = {0};

    (void)closed;
    print_notices(c);
    int status = run_session_command(&s, c->args.names.n ? c->args.names.v[0] : "list", &err);
    return status < 0 ? print_failure(&err) : status;
}
