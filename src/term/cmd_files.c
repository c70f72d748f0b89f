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
#include "process/loop.h"
#include "show/show.h"
#include "term/private.h"

/* "  2  figure-1.png  9.1 kB  ~/.local/state/.../figure-1.png" */
static void add_row(struct term *t, struct buf *out, size_t number, const struct show_saved *f)
{
    autofree char *path = show_path(t->show, f->path);
    char size[32];

    show_size(f->size, size);
    if (number)
        buf_addf(out, "%3zu  ", number);
    buf_addf(out, "%s  %s  %s\n", f->name, size, path);
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
            add_row(t, &out, ++n, f);
    term_print(t, buf_str(&out), out.len);
}

void obey_plots(struct term *t, const char *argument)
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

void obey_files(struct term *t, const char *argument)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0), inside autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};
    const struct show_saved *f;

    (void)argument;
    loop_arm(t->loop);
    show_status(t->show, "Asking the sandbox...");
    int r = agent_list_files(t->agent, &inside, &err);
    show_status(t->show, NULL);
    if (r < 0)
        term_say_error(t, &err);
    else
        buf_addf(&out, "In /mnt/data: %s\n", inside.len ? buf_str(&inside) : "nothing");
    for (size_t i = 0; (f = show_saved(t->show, i)); i++) {
        if (!i)
            buf_addstr(&out, "Saved on this machine:\n");
        add_row(t, &out, 0, f);
    }
    term_print(t, buf_str(&out), out.len);
}

const char *const *names_of_saved(struct term *t)
{
    const struct show_saved *f;

    argv_release(&t->names);
    for (size_t i = 0; (f = show_saved(t->show, i)); i++)
        argv_push(&t->names, f->name);
    return t->names.n ? (const char *const *)t->names.v : NULL;
}

/* The file whose name the argument begins with; *rest is what follows it. A name may have blanks, as they are
 * or as Tab writes them. */
static const struct show_saved *named(struct term *t, const char *argument, const char **rest)
{
    const struct show_saved *f, *best = NULL;
    size_t longest = 0;

    if (!strncmp(argument, "/mnt/data/", 10))
        argument += 10;
    for (size_t i = 0; (f = show_saved(t->show, i)); i++) {
        autofree char *quoted = name_quote(f->name, 0), *between = xasprintf("\"%s\"", f->name);
        const char *const ways[] = {f->name, quoted, between};

        for (size_t k = 0; k < countof(ways); k++) {
            size_t n = strlen(ways[k]);

            if (strncmp(argument, ways[k], n) != 0 || (argument[n] && argument[n] != ' ') || n <= longest)
                continue;
            best = f;
            longest = n;
            *rest = argument + n + strspn(argument + n, " ");
        }
    }
    return best;
}

/* Copy the file from to folder/name, which must not exist. */
static int copy(const char *from, const char *folder, const char *name, struct error *err)
{
    autoclose int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct newfile out = NEWFILE_INIT;
    char piece[65536];
    ssize_t n = -1;
    int r = -1;

    if (in < 0)
        return error_errno(err, "%s", from);
    if (newfile_open(&out, folder, 0644) < 0)
        return error_errno(err, "%s", folder);
    while ((n = read(in, piece, sizeof piece)) > 0 && fd_write_all(out.fd, piece, (size_t)n) == 0)
        ;
    if (n == 0)
        r = newfile_name(&out, name);
    if (r < 0)
        error_errno(err, "%s/%s", folder, name);
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

void obey_get(struct term *t, const char *argument)
{
    const char *rest = "";
    const struct show_saved *f = named(t, argument, &rest);
    struct error err = {0};

    if (!f) {
        term_sayf(t, NOTICE_ERROR,
                  "No saved file %s. /files lists them; one that was too large needs --max-file SIZE at the "
                  "start.",
                  argument);
        return;
    }
    autofree char *to = target(rest, f->name), *name = xstrdup(strrchr(to, '/') + 1);
    autofree char *folder = xmemdup0(to, (size_t)(strrchr(to, '/') - to));
    if (copy(f->path, *folder ? folder : "/", name, &err) < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO, "Copied to %s", !strncmp(to, "./", 2) ? to + 2 : to);
}

void obey_put(struct term *t, const char *argument)
{
    autofree char *path = name_path(argument);
    struct inputs in = {0};
    struct error err = {0};
    int r = inputs_open(&in, "", (const char *const[]){path, NULL}, &err);

    loop_arm(t->loop);
    show_status(t->show, "Copying data into the sandbox...");
    if (r == 0)
        r = agent_attach(t->agent, path, in.v[0].fd, &err);
    show_status(t->show, NULL);
    if (r < 0)
        term_say_error(t, &err);
    inputs_release(&in);
}
