/* mask.c - finds each form of a secret and puts asterisks over it, piece by piece.
 */
#include "proxy/mask.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/percent.h"

static void mask_add_form(struct mask *m, char *form)
{
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->forms[i], form)) {
            free_secret(form);
            return;
        }
    if (strlen(form) > m->longest)
        m->longest = strlen(form);
    m->forms[m->n++] = form;
}

/* JSON, as PHP and others write it. */
static char *with_slashes(const char *value)
{
    struct buf out = BUF_INIT(0);

    for (; *value; value++) {
        if (*value == '/' || *value == '"' || *value == '\\')
            buf_addch(&out, '\\');
        buf_addch(&out, *value);
    }
    return buf_steal(&out, NULL);
}

/* Behind so many bytes of something else (0 to 2), as after "user:": the characters that hold bits of the
 * value alone. */
static char *as_base64(const char *value, size_t before)
{
    autofree char *text = xasprintf("%.*s%s", (int)before, "--", value);
    size_t bits = before * 8, first = (bits + 5) / 6, whole = (bits + strlen(value) * 8) / 6;
    struct buf out = BUF_INIT(0);

    base64_add(&out, (const unsigned char *)text, strlen(text));
    buf_cut(&out, whole);
    buf_drop(&out, first);
    explicit_bzero(text, strlen(text));
    return buf_steal(&out, NULL);
}

void mask_init(struct mask *m, const char *value)
{
    struct buf escaped = BUF_INIT(0);

    *m = (struct mask){0};
    percent_encode(&escaped, value, "");
    mask_add_form(m, xstrdup(value));
    mask_add_form(m, with_slashes(value));
    mask_add_form(m, buf_steal(&escaped, NULL));
    for (size_t before = 0; before < 3; before++)
        mask_add_form(m, as_base64(value, before));
}

void mask_release(struct mask *m)
{
    for (size_t i = 0; i < m->n; i++)
        free_secret(m->forms[i]);
    buf_release(&m->held);
    *m = (struct mask){0};
}

void mask_text(const struct mask *m, char *text, size_t len)
{
    for (size_t i = 0; i < m->n; i++) {
        size_t size = strlen(m->forms[i]);
        char *at = text, *end = text + len;

        while ((at = memmem(at, (size_t)(end - at), m->forms[i], size))) {
            memset(at, '*', size);
            at += size;
        }
    }
}

/* How much at the end of text may be the beginning of a form. What cannot be is not kept back: an answer may
 * come word by word. */
static size_t begins_at_end(const struct mask *m, const char *text, size_t len)
{
    for (size_t n = len < m->longest ? len : m->longest - 1; n; n--)
        for (size_t i = 0; i < m->n; i++)
            if (strlen(m->forms[i]) > n && !memcmp(text + len - n, m->forms[i], n))
                return n;
    return 0;
}

void mask_feed(struct mask *m, const char *piece, size_t len, struct buf *out)
{
    buf_add(&m->held, piece, len);
    if (!m->held.len)
        return;
    mask_text(m, m->held.data, m->held.len);
    size_t told = m->held.len - begins_at_end(m, m->held.data, m->held.len);
    buf_add(out, m->held.data, told);
    buf_drop(&m->held, told);
}

void mask_end(struct mask *m, struct buf *out)
{
    buf_add(out, m->held.data, m->held.len);
    buf_clear(&m->held);
}
