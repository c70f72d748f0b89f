/* fuzz_numbers.c - the numbers of an answer, any text as answer and source; overwritten lines, cut anywhere.
 */
#include "tests/fuzz/fuzz.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/overwrite.h"
#include "provenance/agree.h"
#include "provenance/provenance.h"
#include "provenance/why.h"

static void overwritten(const char *text, size_t size)
{
    struct overwrite a = {0}, b = {0};
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);

    overwrite_feed(&a, text, size, &whole);
    overwrite_end(&a, &whole);
    for (size_t i = 0; i < size; i++)
        overwrite_feed(&b, text + i, 1, &cut);
    overwrite_end(&b, &cut);
    check(size > OVERWRITE_MAX
          || (whole.len == cut.len && memcmp(buf_str(&whole), buf_str(&cut), cut.len) == 0));
    overwrite_release(&a);
    overwrite_release(&b);
    buf_release(&whole);
    buf_release(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = xmemdup0((const char *)data, size);
    struct provenance p = {0};

    overwritten(text, size);
    provenance_check(&p, text);
    check(p.unsupported.n <= PROVENANCE_MAX);
    provenance_release(&p);
    struct numeral n;
    if (why_number(text, &n)) {
        struct text_line l = why_line(text, &n, false);
        struct text_line by = why_printed(text, text, l);
        check(l.len <= size && by.len <= size);
    }
    struct differing d autorelease(differing_release) = {0};
    answers_agree(text, text, text, &d);
    free(text);
    return 0;
}
