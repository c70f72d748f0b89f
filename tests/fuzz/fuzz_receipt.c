/* fuzz_receipt.c - a stranger's receipt: it is read, and then written as it was read and the same as
 * itself, or refused with ERROR_USAGE in one line of valid UTF-8; no name of a file in it leads out of
 * /mnt/data. */
#include "tests/fuzz/fuzz.h"

#include "base/error.h"
#include "base/utf8.h"
#include "json/json.h"
#include "receipt/compare.h"
#include "receipt/receipt.h"

static void check_name(const char *name)
{
    char text[1100];

    check(*name && *name != '/' && strlen(name) < 1001);
    snprintf(text, sizeof text, "/%s/", name);
    check(!strstr(text, "/../") && !strstr(text, "//") && !strstr(text, "/./"));
}

static void check_receipt(const struct receipt *r)
{
    struct json *o = receipt_json(r);
    char *text = json_print(o);
    struct receipt again = {0};
    struct comparison c = {0};

    for (size_t i = 0; i < r->n_data; i++)
        check_name(r->data[i].name);
    for (size_t i = 0; i < r->n_pieces; i++)
        for (size_t k = 0; k < r->pieces[i].n_files; k++)
            check_name(r->pieces[i].files[k].name);
    check(receipt_read(text, strlen(text), &again, NULL) == 0);
    receipt_compare(r, &again, NULL, &c);
    check(c.differences == 0 && c.pieces == r->n_pieces);
    comparison_release(&c);
    receipt_release(&again);
    free(text);
    json_free(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_exact(data, size);
    struct receipt r = {0};
    struct error err = {0};

    if (receipt_read(text, size, &r, &err) == 0)
        check_receipt(&r);
    else
        check(err.kind == ERROR_USAGE && utf8_valid(err.text, strlen(err.text)) && !strchr(err.text, '\n'));
    receipt_release(&r);
    free(text);
    return 0;
}
