/* usage.c - see usage.h. */
#include "chat/usage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

double price_cost(const struct price *p, int64_t input, int64_t cached, int64_t output)
{
    double kept = cached > 0 ? (double)(cached < input ? cached : input) : 0;

    if (!p->known)
        return -1;
    return (((double)input - kept) * p->input + kept * p->cached + (double)output * p->output) / 1e6;
}

static int64_t add_told(int64_t a, int64_t b)
{
    return a < 0 ? b : b < 0 ? a : a + b;
}

void usage_add(struct usage *sum, const struct usage *u)
{
    sum->input += u->input;
    sum->output += u->output;
    sum->cached = add_told(sum->cached, u->cached);
    sum->reasoning = add_told(sum->reasoning, u->reasoning);
    sum->estimated |= u->estimated;
    sum->cost = sum->cost < 0 || u->cost < 0 ? -1 : sum->cost + u->cost;
    sum->requests += u->requests;
    sum->seconds += u->seconds;
}

static void add_count(struct buf *out, int64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRId64, n);

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0 && digits[i - 1] != '-')
            buf_addch(out, ',');
        buf_addch(out, digits[i]);
    }
}

static void add_part(struct buf *out, int64_t n, const char *name)
{
    if (n <= 0)
        return;
    buf_addstr(out, " (");
    add_count(out, n);
    buf_addf(out, " %s)", name);
}

void usage_text(const struct usage *u, struct buf *out)
{
    add_count(out, u->input);
    buf_addstr(out, " tokens in");
    add_part(out, u->cached, "cached");
    buf_addstr(out, ", ");
    add_count(out, u->output);
    buf_addstr(out, " out");
    add_part(out, u->reasoning, "reasoning");
    buf_addf(out, "%s, %u request%s, %.1f s, ", u->estimated ? ", estimated" : "", u->requests,
             u->requests == 1 ? "" : "s", u->seconds);
    /* two digits that mean something, however little it was */
    if (u->cost < 0)
        buf_addstr(out, "price unknown");
    else
        buf_addf(out,
                 u->cost >= 1      ? "$%.2f"
                 : u->cost >= 0.01 ? "$%.3f"
                 : u->cost > 0     ? "$%.5f"
                                   : "$%.0f",
                 u->cost);
}
