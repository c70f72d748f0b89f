/* fuzz_yaml.c - config.yaml and prompts/python.yaml as hostile text: read or refused with ERROR_USAGE in
 * valid UTF-8, never a crash, a hang, or a value outside its range; and what was read once reads the same
 * again.
 */
#include "tests/fuzz/fuzz.h"

#include "base/error.h"
#include "base/utf8.h"
#include "config/config.h"
#include "config/prompt_file.h"
#include "yaml/ydoc.h"

static void walk(const struct ydoc *y, unsigned depth)
{
    check(depth <= 17);
    check(y->type != YDOC_TEXT || (y->text != NULL && utf8_valid(y->text, strlen(y->text))));
    check(y->type == YDOC_TEXT || y->text == NULL);
    for (size_t i = 0; i < y->n; i++) {
        check((y->v[i].key != NULL) == (y->type == YDOC_MAP));
        check(y->v[i].key == NULL || ydoc_get(y, y->v[i].key) == &y->v[i]); /* no key is there twice */
        walk(&y->v[i], depth + 1);
    }
}

static void refused(const struct error *e)
{
    check(e->kind == ERROR_USAGE && e->text[0] && utf8_valid(e->text, strlen(e->text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_exact(data, size);
    struct error e = {0};
    struct ydoc *root;
    struct config c = {0};
    struct prompts p = {0};

    root = ydoc_parse(text, size, "f", &e);
    if (root)
        walk(root, 0);
    else
        refused(&e);
    ydoc_free(root);

    check(providers_builtin(&c.providers, NULL) == 0);
    e = (struct error){0};
    c.temperature = -1;
    if (config_apply_yaml(&c, ydoc_parse(text, size, "f", &e), &e) < 0)
        refused(&e);
    check(c.pids == 0 || (c.pids >= 8 && c.pids <= 32768));
    check(c.timeout == 0 || (c.timeout >= 100 && c.timeout <= 86400000));
    check(c.memory == 0 || c.memory >= 32 << 20);
    check(c.temperature <= 2);
    check(!c.json && !c.dry_run && c.prompt == NULL && c.front.out_dir == NULL); /* not the file's to say */
    for (size_t i = 0; i < c.providers.n; i++)
        check(c.providers.v[i].name != NULL);
    config_release(&c);

    e = (struct error){0};
    if (prompts_apply(&p, ydoc_parse(text, size, "f", &e), &e) < 0)
        refused(&e);
    prompts_release(&p);
    free(text);
    return 0;
}
