/* size.c - writes 1.4 MiB and 20,000. */
#include "base/size.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

struct short_text size_text(int64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    struct short_text out;
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 1024 && u + 1 < countof(units)) {
        v /= 1024;
        u++;
    }
    snprintf(out.text, sizeof out.text, v == (double)(int64_t)v ? "%.0f %s" : "%.1f %s", v, units[u]);
    return out;
}

struct short_text count_text(int64_t n)
{
    struct short_text out = {""};
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
            out.text[at++] = ',';
        out.text[at++] = digits[i];
    }
    return out;
}
