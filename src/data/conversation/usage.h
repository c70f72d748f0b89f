/* usage.h - what requests to a model cost: tokens, time, money. Plain data.
 */
#ifndef CHAT_USAGE_H
#define CHAT_USAGE_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* Dollars per million tokens. known: somebody has said so: the user, the service's list, or what is built
 * in. */
struct price {
    bool known;
    double input, cached, output;
};

struct usage {
    int64_t input, output;     /* tokens */
    int64_t cached, reasoning; /* of the input, of the output; -1: the service did not say */
    bool estimated;            /* tokens were counted by us, at least in part */
    double cost;               /* dollars; < 0: at least one request had no known price */
    unsigned requests;
    double seconds; /* spent waiting for the model */
};

#define USAGE_NONE                    \
    {                                 \
        .cached = -1, .reasoning = -1 \
    }

/* What so many tokens cost; < 0 if the price is not known. cached -1 counts as none. */
double price_cost(const struct price *p, int64_t input, int64_t cached, int64_t output);
void usage_add(struct usage *sum, const struct usage *u);
/* "1,234 tokens in (1,000 cached), 56 out (20 reasoning), 2 requests, 3.4 s, $0.0012" */
void usage_text(const struct usage *u, struct buf *out);

#endif
