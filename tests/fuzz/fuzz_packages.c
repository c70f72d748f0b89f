/* fuzz_packages.c - what comes from an index, a file or from inside, by its first byte: a pylock.toml, the
 * report of pip, what the Python inside says, names. What is accepted looks like names, versions, hashes.
 */
#include "tests/fuzz/fuzz.h"

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "packages/lock.h"
#include "packages/packages.h"

static bool is_printable(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return false;
    return true;
}

static void check_lock(const struct lock *l)
{
    check(l->n > 0 && l->n <= LOCK_MOST);
    for (size_t i = 0; i < l->n; i++) {
        check(l->v[i].name[0] && l->v[i].version[0] && !strpbrk(l->v[i].name, " \n;@/="));
        check(!strpbrk(l->v[i].version, " \n;@/="));
        check(l->v[i].hashes.n > 0 && l->v[i].hashes.n <= LOCK_HASHES && strlen(l->v[i].hashes.v[0]) == 64);
    }
}

static void read_lock(const char *text, size_t len, bool pylock)
{
    struct lock l = {0};
    struct error e = {0};
    int rc = pylock ? lock_read_pylock(&l, text, len, &e) : lock_read_report(&l, text, len, &e);

    if (rc == 0)
        check_lock(&l);
    else
        check(e.kind != ERROR_NONE);
    lock_release(&l);
}

static void read_words(const char *text, bool python)
{
    struct packages_python p = {0};
    struct argv wanted = {0};
    struct error e = {0};

    if (python && packages_python_read(&p, text, &e) == 0)
        for (size_t i = 0; i < p.installed.n; i++)
            check(is_printable(p.installed.v[i]) && strstr(p.installed.v[i], "=="));
    if (!python && packages_want(&wanted, "--with", text, &e) == 0)
        for (size_t i = 0; i < wanted.n; i++)
            check(wanted.v[i][0] != '-' && !strchr(wanted.v[i], '\n') && !strstr(wanted.v[i], "://"));
    argv_release(&wanted);
    packages_python_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *exact = fuzz_exact(data + 1, size - 1);
    autofree char *text = xmemdup0(exact, size - 1);

    if (data[0] % 4 < 2)
        read_lock(exact, size - 1, data[0] % 4 == 0);
    else
        read_words(text, data[0] % 4 == 2);
    free(exact);
    return 0;
}
