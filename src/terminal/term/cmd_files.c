/* cmd_files.c - /plots, /files, /get and /put: the files that code made, and those that it is given. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/newfile.h"
#include "base/quoting.h"
#include "process/signals.h"
#include "sandbox/sandbox.h"
#include "show/show.h"
#include "term/commands.h"
#include "term/private.h"

/* "  2  figure-1.png  9.1 kB  ~/.local/state/.../figure-1.png" */
static void add_file_row(struct term *t, struct buf *out, size_t number, const struct show_saved *f)
{
    autofree char *path = show_path(t->show, f->path);

    if (number)
        buf_addf(out, "%3zu  ", number);
    buf_addf(out, "%s  %s  %s\n", f->name, show_size(f->size).text, path);
}

/* The index of the n-th figure, from 1; SIZE_MAX: there is none. *count: how many there are. */
static size_t find_figure(struct term *t, size_t n, size_t *count)
{
    const struct show_saved *f;
    size_t at = SIZE_MAX;

    *count = 0;
    for (size_t i = 0; (f = show_saved(t->show, i)); i++)
        if (f->image && ++*count == n)
            at = i;
    return at;
}

static void list_figures(struct term *t)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    const struct show_saved *f;
    size_t n = 0;

    for (size_t i = 0; (f = show_saved(t->show, i)); i++)
        if (f->image)
            add_file_row(t, &out, ++n, f);
    term_print(t, buf_str(&out), out.len);
}

static void slash_plots(struct term *t, const char *argument)
{
    struct error err = {0};
    size_t count, at = find_figure(t, *argument ? strtoul(argument, NULL, 10) : 1, &count);

    if (!count)
        term_say(t, NOTICE_INFO, "No figure has been saved in this session.");
    else if (!*argument && count > 1)
        list_figures(t);
    else if (at == SIZE_MAX)
        term_sayf(t, NOTICE_ERROR, "No figure %s: /plots lists %zu.", argument, count);
    else {
        loop_arm(t->loop);
        if (show_figure(t->show, at, &err) < 0)
            term_say_error(t, &err);
    }
}

const struct chat_command command_plots = {
    .name = "/plots",
    .argument = "[N]",
    .help = "list the figures of this session; show figure N again",
    .run = slash_plots,
    .usual = true,
};

static void slash_files(struct term *t)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0), inside autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};
    const struct show_saved *f;

    loop_arm(t->loop);
    show_status(t->show, "Asking the sandbox...");
    int r = sandbox_list_files(t->o.sandbox, &inside, &err);
    show_status(t->show, NULL);
    if (r < 0)
        term_say_error(t, &err);
    else if (!inside.len)
        buf_addstr(&out, "/mnt/data is empty.\n");
    else
        buf_addf(&out, "In /mnt/data: %s\n", buf_str(&inside));
    for (size_t i = 0; (f = show_saved(t->show, i)); i++) {
        if (!i)
            buf_addstr(&out, "Saved on this machine:\n");
        add_file_row(t, &out, 0, f);
    }
    term_print(t, buf_str(&out), out.len);
}

const struct chat_command command_files = {
    .name = "/files",
    .argument = "",
    .help = "what is in /mnt/data, and what was saved where",
    .act = slash_files,
    .usual = true,
};

static const char *const *names_of_saved(struct term *t)
{
    const struct show_saved *f;

    argv_release(&t->names);
    for (size_t i = 0; (f = show_saved(t->show, i)); i++)
        argv_push(&t->names, f->name);
    return t->names.n ? (const char *const *)t->names.v : NULL;
}

/* What /get is to copy. */
struct get_argument {
    const char *argument;
    char *name;       /* in the sandbox */
    const char *path; /* of its copy here; NULL: there is none */
    const char *rest; /* of the argument, behind the name */
    size_t longest;
};

/* The argument begins with the name of a file: the longest that fits is meant. A name may have blanks, as
 * they are or as Tab writes them. */
static void consider(struct get_argument *w, const char *name, const char *path)
{
    autofree char *quoted = name_quote(name, 0), *between = xasprintf("\"%s\"", name);
    const char *const ways[] = {name, quoted, between};

    for (size_t k = 0; k < countof(ways); k++) {
        size_t n = strlen(ways[k]);
        const char *rest = w->argument + n;

        if (strncmp(w->argument, ways[k], n) != 0 || (*rest && *rest != ' ') || n <= w->longest)
            continue;
        xreplace(&w->name, xstrdup(name));
        w->path = path;
        w->longest = n;
        w->rest = rest + strspn(rest, " ");
    }
}

static void on_file(void *ctx, const char *name, int64_t size)
{
    (void)size;
    consider(ctx, name, NULL);
}

/* Among the saved files, then in the sandbox, where also those are that are not saved. */
static int find_wanted(struct term *t, struct get_argument *w, struct error *err)
{
    const struct show_saved *f;

    if (!strncmp(w->argument, "/mnt/data/", 10))
        w->argument += 10;
    for (size_t i = 0; (f = show_saved(t->show, i)); i++)
        consider(w, f->name, f->path);
    if (!w->name && sandbox_each_file(t->o.sandbox, on_file, w, err) < 0)
        return -1;
    return w->name ? 0
                   : error_set(err, ERROR_USAGE, ENOENT,
                               "there is no file %s, neither saved nor in /mnt/data\n/files lists them",
                               w->argument);
}

static int fill_copy(struct term *t, const struct get_argument *w, int fd, struct error *err)
{
    if (!w->path)
        return sandbox_get(t->o.sandbox, w->name, fd, err) < 0 ? -1 : 0;
    autoclose int in = open(w->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char piece[65536];
    ssize_t n = -1;

    if (in < 0)
        return error_errno(err, "%s", w->path);
    while ((n = read(in, piece, sizeof piece)) > 0 && fd_write_all(fd, piece, (size_t)n) == 0)
        ;
    return n ? error_errno(err, "cannot copy %s", w->name) : 0;
}

/* To a file that must not exist. */
static int copy_to(struct term *t, const struct get_argument *w, const char *to, struct error *err)
{
    const char *name = strrchr(to, '/') + 1;
    autofree char *folder = xmemdup0(to, (size_t)(name - to));
    struct newfile out = NEWFILE_INIT;
    int r = newfile_open(&out, folder, 0644) < 0 ? error_errno(err, "%s", folder)
                                                 : fill_copy(t, w, out.fd, err);

    if (r == 0 && newfile_name(&out, name) < 0)
        r = error_errno(err, "%s", to);
    newfile_release(&out);
    return r;
}

/* Where PATH leads to: "" is this folder, a folder keeps the name, "~/" is the home folder. */
static char *target(const char *path, const char *name)
{
    autofree char *whole = name_path(*path ? path : ".");
    const char *base = strrchr(name, '/');
    struct stat st;

    if (stat(whole, &st) == 0 && S_ISDIR(st.st_mode))
        return xasprintf("%s/%s", whole, base ? base + 1 : name);
    return strchr(whole, '/') ? steal(&whole) : xasprintf("./%s", whole);
}

static void slash_get(struct term *t, const char *argument)
{
    struct get_argument w = {.argument = argument};
    struct error err = {0};

    loop_arm(t->loop);
    show_status(t->show, "Asking the sandbox...");
    int r = find_wanted(t, &w, &err);
    autofree char *to = r < 0 ? NULL : target(w.rest, w.name);
    if (r == 0)
        r = copy_to(t, &w, to, &err);
    show_status(t->show, NULL);
    if (r < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO, "Copied to %s", !strncmp(to, "./", 2) ? to + 2 : to);
    free(w.name);
}

const struct chat_command command_get = {
    .name = "/get",
    .argument = "NAME [PATH]",
    .help = "copy a file out to this folder, or to PATH",
    .run = slash_get,
    .names = names_of_saved,
    .files = true,
    .more = "NAME is as in /files. No file is ever replaced. Files that code makes in\n"
            "/mnt/data are saved automatically after each run; /get also copies your own,\n"
            "and those that were not saved (too large: --max-file, or the disk was full).\n",
};

static void slash_put(struct term *t, const char *argument)
{
    autofree char *path = name_path(argument);
    struct inputs in = {0};
    struct error err = {0};
    int r = inputs_open(&in, "", (const char *const[]){path, NULL}, &err);

    loop_arm(t->loop);
    show_status(t->show, "Copying data into the sandbox...");
    for (size_t i = 0; r == 0 && i < in.n; i++)
        r = agent_attach(t->agent, in.v[i].path, in.v[i].fd, &err);
    show_status(t->show, NULL);
    if (r < 0)
        term_say_error(t, &err);
    inputs_release(&in);
}

const struct chat_command command_put = {
    .name = "/put",
    .aliases = "/add",
    .argument = "FILE",
    .help = "add a file or folder of yours to the next question",
    .run = slash_put,
    .files = true,
    .more = "It is copied into /mnt/data, and the model is told with the next question.\n"
            "The same as --add on the command line, and as @FILE in a question.\n",
};
