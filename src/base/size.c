/* size.c - see size.h. */
#include "base/size.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"

char *size_text(int64_t bytes, char *out, size_t size)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 1024 && u + 1 < countof(units)) {
        v /= 1024;
        u++;
    }
    snprintf(out, size, v == (double)(int64_t)v ? "%.0f %s" : "%.1f %s", v, units[u]);
    return out;
}

void count_text(int64_t n, char out[32])
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, n), at = 0;

    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
}
