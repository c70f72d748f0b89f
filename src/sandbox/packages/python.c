/* python.c - what is to be known of the Python inside before packages can be fetched for it. Code of ours
 * tells it in a sandbox of that kind, in which nothing else has run; it is kept for a day.
 */
#include "packages/packages.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/place.h"
#include "packages/kept.h"
#include "packages/lock.h"

#define DAY           (24 * 3600)
#define INSTALLED_MAX 2000
#define NEWEST_GLIBC  40 /* 2.40, the newest that uv knows as a platform */

const char *packages_python_code(void)
{
    return "import os, sys\n"
           "print('python', sys.implementation.name, '%d.%d' % sys.version_info[:2], os.uname().machine)\n"
           "try: print('libc', os.confstr('CS_GNU_LIBC_VERSION') or '-')\n"
           "except (ValueError, OSError): print('libc -')\n"
           "for folder in sys.path:\n"
           "    if folder.endswith('-packages') and os.path.isdir(folder):\n"
           "        for name in sorted(os.listdir(folder)):\n"
           "            if name.endswith(('.dist-info', '.egg-info')): print('has', name)\n";
}

static bool has_name(const struct argv *installed, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < installed->n; i++)
        if (!strncmp(installed->v[i], name, n) && installed->v[i][n] == '=')
            return true;
    return false;
}

/* "Pillow-9.4.0.egg-info", "PyYAML-6.0-py3.11.egg-info": as "pillow==9.4.0". Of two, the first is
 * imported. Some that a distribution made have no version. */
static void add_installed(struct packages_python *p, const char *file)
{
    const char *end = strrchr(file, '.'), *dash = strchr(file, '-');

    if (!end || !dash || dash > end || p->installed.n >= INSTALLED_MAX)
        return;
    size_t n = strcspn(dash + 1, "-");
    if (dash + 1 + n > end)
        n = (size_t)(end - dash - 1);
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)dash[1 + i]) && !strchr(".+!_", dash[1 + i]))
            return;
    autofree char *plain = package_name_plain(file, (size_t)(dash - file));
    if (n && n < 60 && !(n == 5 && !strncmp(dash + 1, "0.0.0", 5)) && !has_name(&p->installed, plain)
        && strspn(plain, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(plain) && isalnum(*plain))
        argv_pushf(&p->installed, "%s==%.*s", plain, (int)n, dash + 1);
}

/* The platform as uv calls it; false: wheels are not made for it. */
static bool take_libc(struct packages_python *p, const char *machine, const char *libc)
{
    static const unsigned known[] = {17, 28, 31, 32, 33, 34, 35, 36, 37, 38, 39, NEWEST_GLIBC};
    unsigned minor = 0, best = 0;

    if (strcmp(machine, "x86_64") != 0 && strcmp(machine, "aarch64") != 0)
        return false;
    if (!strcmp(libc, "-")) {
        snprintf(p->platform, sizeof p->platform, "%s-unknown-linux-musl", machine);
        return true;
    }
    if (sscanf(libc, "glibc 2.%u", &minor) != 1)
        return false;
    for (size_t i = 0; i < countof(known); i++)
        best = known[i] <= minor ? known[i] : best;
    snprintf(p->platform, sizeof p->platform, "%s-manylinux_2_%u", machine, best);
    return best > 0;
}

int packages_python_read(struct packages_python *p, const char *text, struct error *err)
{
    char kind[24] = "", machine[16] = "", libc[24] = "-";
    unsigned major = 0, minor = 0;

    *p = (struct packages_python){0};
    for (const char *at = text; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        autofree char *line = xmemdup0(at, strcspn(at, "\n"));

        if (!strncmp(line, "python ", 7))
            sscanf(line, "python %23s %1u.%3u %15s", kind, &major, &minor, machine);
        else if (!strncmp(line, "libc ", 5))
            snprintf(libc, sizeof libc, "%s", line + 5);
        else if (!strncmp(line, "has ", 4))
            add_installed(p, line + 4);
    }
    argv_sort(&p->installed);
    snprintf(p->version, sizeof p->version, "%u.%u", major, minor);
    if (strcmp(kind, "cpython") != 0 || major != 3 || !take_libc(p, machine, libc)) {
        packages_python_release(p);
        return error_set(err, ERROR_SANDBOX, 0,
                         "no packages for the Python of this sandbox: %.20s %u.%u, %.15s, %.20s\n"
                         "Use an image with the packages: --image",
                         *kind ? kind : "unknown", major, minor, *machine ? machine : "unknown", libc);
    }
    return 0;
}

static void add_from_lock(struct packages_python *p, const char *line, size_t len)
{
    size_t n = strcspn(line, "=");

    if (n > len)
        return;
    autofree char *plain = package_name_plain(line, n);
    autofree char *one = xasprintf("%s%.*s", plain, (int)(len - n), line + n);
    for (size_t i = 0; i < p->installed.n; i++)
        if (!strncmp(p->installed.v[i], plain, strlen(plain)) && p->installed.v[i][strlen(plain)] == '=') {
            xreplace(&p->installed.v[i], steal(&one));
            return;
        }
    argv_push(&p->installed, one);
}

void packages_python_add(struct packages_python *p, const char *lock)
{
    for (const char *at = lock ? lock : ""; *at; at += strcspn(at, "\n"), at += *at == '\n')
        add_from_lock(p, at, strcspn(at, " \n"));
    argv_sort(&p->installed);
}

void packages_python_release(struct packages_python *p)
{
    argv_release(&p->installed);
}

bool packages_python_recall(const char *key, struct packages_python *p)
{
    int64_t since = 0;
    autofree char *text = kept_read("pythons", key, &since);

    return text && time(NULL) - since < DAY && since <= time(NULL)
           && packages_python_read(p, text, NULL) == 0;
}

void packages_python_keep(const char *key, const char *text)
{
    kept_write("pythons", key, text);
}
