/* usage.c - adds up tokens, and multiplies them by prices. */
#include "conversation/usage.h"

#include "base/buf.h"
#include "base/size.h"

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

static void add_part(struct buf *out, int64_t n, const char *name)
{
    if (n > 0)
        buf_addf(out, " (%s %s)", count_text(n).text, name);
}

void usage_text(const struct usage *u, struct buf *out)
{
    buf_addf(out, "%s tokens in", count_text(u->input).text);
    add_part(out, u->cached, "cached");
    buf_addf(out, ", %s out", count_text(u->output).text);
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
