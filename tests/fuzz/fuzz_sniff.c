/* fuzz_sniff.c - the kind of a file by its first bytes: any bytes, whole or cut, give one of the known kinds;
 * whether they are data where questions should be; and the numbers of an answer, and code that is checked. */
#include "tests/fuzz/fuzz.h"

#include "provenance/numbers.h"
#include "sniff/sniff.h"

static bool known(const char *kind)
{
    static const char *const kinds[] = {"",        "csv", "tsv", "json", "jsonl", "xlsx",
                                        "parquet", "png", "jpg", "pdf",  "zip",   "txt"};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return true;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1); /* sniff_content is promised a NUL at its end, and reads no further */

    check(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    check(known(sniff_content(text, size, true)));
    check(known(sniff_content(text, size, false)));
    const char *kind = sniff_data(text, size, true);
    check(!kind || *kind);
    kind = sniff_data(text, size, false);
    check(!kind || *kind);
    size_t half = strnlen(text, size / 2);
    char *left = strndup(text, half);
    numbers_shared(left, text + half);
    check(numbers_shared(left, ""));
    free(left);
    free(text);
    return 0;
}
