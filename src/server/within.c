/* within.c - see within.h. */
#include "server/within.h"

#include <string.h>

#include "base/mem.h"
#include "json/json.h"
#include "runner/runners.h"

#define WITHIN "within " /* how the name of a conversation begins: then the outer one's id, and a number */

struct all { /* of one sandbox and those within it */
    struct runners *rs;
    const char *outer;
    struct json *inner;
};

static bool is_inner(const struct lease *h, const char *id)
{
    const char *conversation = lease_conversation(h);

    return conversation && strlen(id) == RUNNERS_ID && !strncmp(conversation, WITHIN, strlen(WITHIN))
           && !strncmp(conversation + strlen(WITHIN), id, RUNNERS_ID);
}

bool within_is(const struct lease *h, const char *id)
{
    return !strcmp(lease_id(h), id) || is_inner(h, id);
}

struct lease *within_create(struct runners *rs, const char *client, const char *outer, struct error *err)
{
    for (unsigned n = 1; *outer; n++) {
        autofree char *name = xasprintf(WITHIN "%s %u", outer, n);

        if (!runners_find_conversation(rs, client, name))
            return runners_create(rs, client, name, err);
    }
    return runners_create(rs, client, NULL, err);
}

static void use_one(void *ctx, struct lease *h)
{
    struct all *a = ctx;

    if (is_inner(h, a->outer))
        json_add(a->inner, json_string(lease_id(h)));
    if (within_is(h, a->outer))
        (void)lease_runner(a->rs, h, NULL);
}

struct json *within_use(struct runners *rs, const char *client, const char *outer)
{
    struct all a = {rs, outer, json_array()};

    runners_each(rs, client, use_one, &a);
    return a.inner;
}

static void stop_inner(void *ctx, struct lease *h)
{
    const struct all *a = ctx;

    if (is_inner(h, a->outer))
        runners_stop(a->rs, h);
}

void within_stop(struct runners *rs, struct lease *h)
{
    struct all a = {.rs = rs, .outer = lease_id(h)};

    runners_each(rs, NULL, stop_inner, &a);
    runners_stop(rs, h);
}
