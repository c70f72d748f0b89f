/* saved_rerun.c - brings the variables of a session back: puts its files into the sandbox and runs its code
 * again. What the code prints is not shown, and files that it makes as before are not written again. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/mem.h"
#include "conversation/language.h"
#include "base/beneath.h"
#include "config/config.h"
#include "saved/private.h"
#include "process/signals.h"
#include "base/gather.h"
#include "sandbox/sandbox.h"
#include "store/sessions.h"
#include "store/store.h"

struct rerun {
    char *own;                                   /* the folder of the session that is continued */
    size_t ran, failed, first_failed, as_before; /* runs; as_before: of those that failed then too */
    char *why;                                   /* the first of them, one line */
    struct argv files;                           /* those that are not as they were then */
};

static char *own_folder(const struct saved *s)
{
    autofree char *sessions = xdg_path(XDG_STATE, "sessions");

    return session_folder(sessions, s->from->id);
}

static void rerun_release(struct rerun *r)
{
    free(r->own);
    free(r->why);
    argv_release(&r->files);
}

/* What is in a folder, of which only its own time was noted; -1: it cannot be read. */
static int64_t folder_size(int fd)
{
    struct gathered found autorelease(gathered_release) = {0};

    return gather(fd, "", &found, NULL) == 0 ? found.total : -1;
}

/* The file as it was then, at path; -1 with err. */
static int open_as_it_was(const struct rerun *r, const struct rerun_file *f, const char *path,
                          struct error *err)
{
    const struct noted_file noted = {path, f->size, f->modified};
    autoclose int fd = noted_open(r->own, &noted, err);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && folder_size(fd) != f->size)
        return error_set(err, ERROR_SYSTEM, ESTALE, "%.200s has changed since", path);
    return fd_steal(&fd);
}

/* Our copy of it, or the file where it was. */
static int open_file(const struct rerun *r, const struct rerun_file *f, struct error *err)
{
    struct error why = {0};
    int fd = f->kept ? open_as_it_was(r, f, f->kept, err) : -1;

    if (fd < 0)
        fd = open_as_it_was(r, f, f->path, *f->path || !f->kept ? err : &why);
    return fd;
}

static int put_back_file(const struct rerun_file *f, struct sandbox *sandbox, struct rerun *r,
                         struct error *err)
{
    struct error missing = {0}, why = {0};
    autoclose int fd = open_file(r, f, &missing);
    int64_t size = fd >= 0 ? sandbox_put(sandbox, f->name, fd, &why) : -1;

    if (size >= 0 && (!f->added || size == f->size))
        return 0;
    argv_pushf(&r->files, "%s %s", f->name,
               size >= 0                ? "has changed since"
               : missing.code == ESTALE ? "has changed since and was left out"
               : !*f->path && !f->kept  ? "was not kept (too large: --max-file)"
               : f->kept                ? "is missing"
                                        : "is missing (too large to be kept: --max-file)");
    if (why.kind != ERROR_CANCELLED && why.kind != ERROR_SANDBOX)
        return 0;
    *err = why;
    return -1;
}

static int put_back_files(const struct store_rerun *again, struct sandbox *sandbox, struct rerun *r,
                          struct error *err)
{
    for (size_t i = 0; i < again->n_put; i++)
        if (put_back_file(&again->put[i], sandbox, r, err) < 0)
            return -1;
    return 0;
}

/* One that is gone, or has changed, is written again. */
static void tell_delivered(const struct rerun_file *f, struct sandbox *sandbox, const struct rerun *r)
{
    autoclose int fd = open_as_it_was(r, f, f->path, NULL);

    if (fd >= 0)
        sandbox_delivered(sandbox, f->name, f->path, fd);
}

void saved_tell_made(struct saved *s, struct sandbox *sandbox)
{
    struct store_rerun again;
    struct rerun r = {.own = own_folder(s), .files = ARGV_INIT};

    store_rerun(s->store, &again);
    for (size_t i = 0; i < again.n_made; i++)
        tell_delivered(&again.made[i], sandbox, &r);
    rerun_release(&r);
    store_rerun_release(&again);
}

static int run_cell(const struct rerun_cell *c, struct sandbox *sandbox, struct rerun *r, struct error *err)
{
    struct cell_result result = {0};
    const struct language *language = *c->language ? language_of_tag(c->language, strlen(c->language)) : NULL;

    if (*c->language && !language)
        return error_set(err, ERROR_USAGE, 0,
                         "code of the session is in %.40s, a language that is not known here", c->language);
    int status = sandbox_run_code(sandbox, &(struct cell_code){c->code, strlen(c->code), language}, NULL,
                                  &result, err);

    r->ran++;
    if (status == 0 && result.status == CELL_INTERRUPTED)
        status = error_set(err, ERROR_CANCELLED, 0, "interrupted");
    /* what failed then may fail again; what it had done before that it has done again */
    r->as_before += status == 0 && !c->worked && !cell_succeeded(&result);
    if (status == 0 && c->worked && !cell_succeeded(&result)) {
        autofree char *what = cell_what(&result);

        if (!r->failed++) {
            r->first_failed = r->ran;
            r->why = xstrdup(result.exception ? result.exception : what ? what : "it failed");
        }
    }
    cell_result_release(&result);
    return status;
}

static char *joined(const struct argv *names)
{
    struct buf b = BUF_INIT(1000);

    for (size_t i = 0; i < names->n; i++)
        buf_addf(&b, "%s%s", i ? ", " : "", names->v[i]);
    return buf_steal(&b, NULL);
}

static char *describe_rerun(const struct rerun *r, size_t cells, bool stopped, char **model)
{
    autofree char *names = joined(&r->files);
    autofree char *files = r->files.n ? xasprintf(" Files: %s.", names) : xstrdup("");

    if (stopped) {
        *model = xasprintf("[This conversation continues in a new interpreter. Its code was run again, but "
                           "stopped after %zu of %zu runs: later variables are missing.]",
                           r->ran ? r->ran - 1 : 0, cells);
        return xasprintf("Stopped after %zu of %zu runs of its code; later variables are missing.",
                         r->ran ? r->ran - 1 : 0, cells);
    }
    if (!r->failed && !r->files.n) {
        *model = xstrdup(
            "[This conversation continues in a new interpreter, in which its code was run again: "
            "the variables are there.]");
        autofree char *fails = r->as_before ? xasprintf(", and %zu that fail%s as before", r->as_before,
                                                        r->as_before == 1 ? "s" : "")
                                            : xstrdup("");
        size_t worked = cells - r->as_before;

        return xasprintf("Its code ran again: %zu run%s%s. Variables are back.", worked,
                         worked == 1 ? "" : "s", fails);
    }
    *model = xasprintf(
        "[This conversation continues in a new interpreter, in which its code was run again. %zu "
        "of %zu runs failed this time%s%s: variables may be missing.%s]",
        r->failed, cells, r->why ? ", first with " : "", r->why ? r->why : "", files);
    return r->failed ? xasprintf("Its code ran again, but %zu of %zu runs failed this time (run %zu: %s).%s",
                                 r->failed, cells, r->first_failed, r->why, files)
                     : xasprintf("Its code ran again.%s", files);
}

/* Ctrl-C: a chat goes on with what is there, a question ends. */
static bool chat_goes_on(struct saved *s, struct error *err)
{
    if (!s->chat || err->kind != ERROR_CANCELLED || loop_fatal(s->loop))
        return false;
    *err = (struct error){0};
    loop_arm(s->loop);
    return true;
}

int saved_put_files(struct saved *s, struct sandbox *sandbox, char **user, char **model, struct error *err)
{
    struct store_rerun again;
    struct rerun r = {.own = own_folder(s), .files = ARGV_INIT};

    store_rerun(s->store, &again);
    loop_arm(s->loop);
    int status = put_back_files(&again, sandbox, &r, err);
    if (status < 0 && chat_goes_on(s, err)) {
        status = 0;
        *user = xstrdup("Stopped: not all of its files are in the new sandbox.");
        *model = xstrdup("[This conversation continues in a new interpreter. Files that were in /mnt/data "
                         "before may be missing.]");
    } else if (status == 0 && again.n_put > 0) {
        autofree char *names = joined(&r.files);

        *user = r.files.n ? xasprintf("Its files are in a new sandbox, but %s.", names)
                          : xstrdup("Its files are in a new sandbox.");
        *model = xasprintf("[This conversation continues in a new interpreter. The files in /mnt/data are "
                           "there, but none of them has been read in it.%s%s]",
                           r.files.n ? " Since then: " : "", names);
    }
    rerun_release(&r);
    store_rerun_release(&again);
    return status;
}

char *saved_rerun(struct saved *s, struct sandbox *sandbox, char **model, struct error *err)
{
    struct store_rerun again;
    struct rerun r = {.own = own_folder(s), .files = ARGV_INIT};
    char *line = NULL;

    store_rerun(s->store, &again);
    loop_arm(s->loop);
    autofree char *doing = xasprintf("Running its code again (%zu run%s)...", again.n_cells,
                                     again.n_cells == 1 ? "" : "s");
    s->notice(s->ctx, NOTICE_INFO, doing);
    int status = put_back_files(&again, sandbox, &r, err);
    for (size_t i = 0; i < again.n_made && status == 0; i++)
        tell_delivered(&again.made[i], sandbox, &r);
    for (size_t i = 0; i < again.n_cells && status == 0; i++)
        status = run_cell(&again.cells[i], sandbox, &r, err);
    bool stopped = status < 0 && chat_goes_on(s, err);
    if (status == 0 || stopped)
        line = describe_rerun(&r, again.n_cells, stopped, model);
    rerun_release(&r);
    store_rerun_release(&again);
    return line;
}
