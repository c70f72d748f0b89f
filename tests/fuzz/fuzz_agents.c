/* fuzz_agents.c - the user's own prompts/pipelines.yaml and the files of agents beside it as hostile text: a
 * pipeline is read or refused with ERROR_USAGE in valid UTF-8; no agent has both code and this machine,
 * whatever its file says. The input is pipelines.yaml, then a line "%%" and one.yaml, then another and
 * code.yaml, which lies over the built-in one.
 */
#include "tests/fuzz/fuzz.h"

#include <sys/stat.h>
#include <unistd.h>

#include "agent/tools.h"
#include "base/error.h"
#include "base/utf8.h"
#include "config/prompt_file.h"

#define CUT "\n%%\n"

static const char *const files[] = {"pipelines", "one", "code"};
static char folder[] = "/tmp/fuzz-agents.XXXXXX";

static void remove_folder(void)
{
    static const char *const left[] = {"sandpiper/prompts", "sandpiper", ""};
    char path[256];

    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/sandpiper/prompts/%s.yaml", folder, files[i]);
        unlink(path);
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, left[i]);
        rmdir(path);
    }
}

static void make_folder(void)
{
    char path[256];

    check(mkdtemp(folder) != NULL);
    atexit(remove_folder);
    snprintf(path, sizeof path, "%s/sandpiper", folder);
    check(mkdir(path, 0700) == 0);
    snprintf(path, sizeof path, "%s/sandpiper/prompts", folder);
    check(mkdir(path, 0700) == 0);
    setenv("XDG_CONFIG_HOME", folder, 1);
}

/* A part that is not there is a file that is not there. */
static void write_file(const char *name, const char *text, size_t n)
{
    char path[256];

    snprintf(path, sizeof path, "%s/sandpiper/prompts/%s.yaml", folder, name);
    unlink(path);
    if (!text)
        return;
    FILE *f = fopen(path, "w");
    check(f && fwrite(text, 1, n, f) == n);
    check(fclose(f) == 0);
}

static void refused(const struct error *e)
{
    check(e->kind == ERROR_USAGE && e->text[0] && utf8_valid(e->text, strlen(e->text)));
}

static void check_agent(const struct prompts *p)
{
    struct error e = {0};
    bool code = false, host = false;

    for (size_t i = 0; i < p->n_tools; i++) {
        check(p->tools[i].name && utf8_valid(p->tools[i].name, strlen(p->tools[i].name)));
        code |= strcmp(p->tools[i].name, "execute_python") == 0;
        host |= strcmp(p->tools[i].name, "access_file") == 0;
    }
    if (tools_check(p, &e) < 0)
        refused(&e);
    else
        check(!(code && host));
}

static void load(const char *name)
{
    struct pipeline p;
    struct error e = {0};

    if (pipeline_load(&p, name, &e) < 0) {
        refused(&e);
    } else {
        check(p.n >= 1 && p.n <= PIPELINE_MAX);
        for (size_t i = 0; i < p.n; i++)
            check_agent(&p.v[i]);
    }
    pipeline_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static bool made;
    const char *at = (const char *)data, *end = at + size;

    if (!made)
        make_folder();
    made = true;
    for (size_t i = 0; i < 3; i++) {
        const char *cut = at ? memmem(at, (size_t)(end - at), CUT, strlen(CUT)) : NULL;

        write_file(files[i], at, at ? (size_t)((cut ? cut : end) - at) : 0);
        at = cut ? cut + strlen(CUT) : NULL;
    }
    load("mine");
    load("files+code");
    load(NULL);
    return 0;
}
