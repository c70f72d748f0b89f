/* fuzz_models.c - any bytes as a service's list of models: names have no control characters and a bounded
 * length, numbers are sensible or not told, dates are dates, and what is found is in the list. The first
 * line is the name of a model that is gone.
 */
#include "tests/fuzz/fuzz.h"

#include "base/utf8.h"
#include "llm/models.h"

static void check_name(const char *s)
{
    check(*s != '\0' && strlen(s) <= MODELS_ID_MAX && utf8_valid(s, strlen(s)));
    for (; *s; s++)
        check((unsigned char)*s >= 0x20 && *s != 0x7f);
}

static void check_model(const struct llm_model *m)
{
    int days;
    check_name(m->id);
    if (m->replaced_by)
        check_name(m->replaced_by);
    check(m->context >= 0 && m->max_output >= 0 && m->tools >= -1 && m->tools <= 1);
    check(m->price_input >= -1 && m->price_input <= 1e6 && m->price_cached <= 1e6 && m->price_output <= 1e6);
    check(*m->ends == '\0' || strlen(m->ends) == 10);
    llm_model_days_left(m, 1800000000, &days);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct llm_models m;
    const uint8_t *eol = size ? memchr(data, '\n', size) : NULL;
    size_t n = eol ? (size_t)(eol - data) : 0, skip = eol ? n + 1 : 0;
    char *gone = malloc(n + 1), *text = fuzz_exact(data + skip, size - skip);

    if (gone == NULL)
        abort();
    memcpy(gone, data, n);
    gone[n] = '\0';
    if (llm_models_parse(text, size - skip, &m, NULL) == 0) {
        check(m.n <= MODELS_MAX);
        for (size_t i = 0; i < m.n; i++)
            check_model(&m.v[i]);
        const struct llm_model *near = llm_models_nearest(&m, gone);
        check(!near || (near >= m.v && near < m.v + m.n));
        if (m.n)
            check(llm_models_find(&m, m.v[m.n - 1].id) != NULL);
    } else {
        check(m.n == 0);
    }
    llm_models_release(&m);
    free(text);
    free(gone);
    return 0;
}
