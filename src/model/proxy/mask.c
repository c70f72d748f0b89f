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

static char *as_base64(const char *value)
{
    struct buf out = BUF_INIT(0);

    base64_add(&out, (const unsigned char *)value, strlen(value));
    buf_trim(&out, "=");
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
    mask_add_form(m, as_base64(value));
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

void mask_feed(struct mask *m, const char *piece, size_t len, struct buf *out)
{
    size_t keep = m->longest ? m->longest - 1 : 0;

    buf_add(&m->held, piece, len);
    if (m->held.len)
        mask_text(m, m->held.data, m->held.len);
    if (m->held.len > keep) {
        size_t told = m->held.len - keep;

        buf_add(out, m->held.data, told);
        buf_drop(&m->held, told);
    }
}

void mask_end(struct mask *m, struct buf *out)
{
    buf_add(out, m->held.data, m->held.len);
    buf_clear(&m->held);
}
