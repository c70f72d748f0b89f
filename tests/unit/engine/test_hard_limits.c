/* test_hard_limits.c - what a sandbox can be given under hard limits of our own: every engine, every edge.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "tests/unit/unit.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "engine/hard_limits.h"
#include "engine/engines.h"
#include "engine/options.h"

struct edge {
    struct hard_limits limits;
    int asked;       /* --pids; 0: the default */
    int pids, files; /* what comes of it; -1: refused */
    const char *says;
};

static const struct edge edges[] = {
    {{&engine_bwrap, -1, -1, 0, false}, 0, 128, 256, ""},
    {{&engine_bwrap, 1000, 256, 500, false}, 0, 128, 256, ""},
    /* its copy, and what we need ourselves */
    {{&engine_bwrap, 237, 256, 100, false}, 0, 128, 256, ""},
    {{&engine_bwrap, 236, 256, 100, false}, 0, 127, 256, "127 processes instead of 128"},
    {{&engine_bwrap, 100, 256, 83, false}, 0, 8, 256, "8 processes instead of 128"},
    {{&engine_bwrap, 100, 256, 84, false}, 0, -1, 0, "too few processes"},
    {{&engine_bwrap, 100, 256, 200, false}, 0, -1, 0, "200 in use"},
    {{&engine_bwrap, 0, 256, 0, false}, 0, -1, 0, "too few processes"},
    {{&engine_bwrap, 100, 256, 10, false}, 50, 50, 256, ""},
    {{&engine_bwrap, 100, 256, 10, false}, 82, -1, 0, "--pids 81"},
    /* who names more is not given less either */
    {{&engine_bwrap, 300, 256, 10, false}, 400, -1, 0, "--pids 400 is not possible"},
    {{&engine_bwrap, 100, 256, 1, true}, 0, 98, 256, "98 processes"},
    {{&engine_podman, 100, 256, 0, true}, 0, 99, 256, "99 processes"},
    {{&engine_podman, 200, 256, 40, false}, 0, 119, 256, "119 processes"},
    {{&engine_podman, -1, 255, 0, false},
     0,
     128,
     255,
     "255 open files instead of 256, because the hard limit (ulimit -Hn) is 255"},
    {{&engine_podman, -1, 32, 0, true}, 0, 128, 32, "32 open files"},
    {{&engine_podman, -1, 31, 0, true}, 0, -1, 0, "too few open files"},
    {{&engine_podman, 50, 40, 0, true}, 0, 49, 40, "limits.conf raises it\ncode may have 40 open files"},
};

static void test_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(edges); i++) {
        const struct edge *e = &edges[i];
        struct buf told autorelease(buf_release) = BUF_INIT(0);
        struct engine_options o;
        struct error err = {0};

        engine_defaults(&o);
        if (e->asked) {
            o.pids = e->asked;
            o.asked = ENGINE_ASKED_PIDS;
        }
        int rc = hard_limits_fit(&e->limits, &o, &told, &err);
        if (rc != (e->pids < 0 ? -1 : 0) || (rc == 0 && (o.pids != e->pids || o.open_files != e->files)))
            fail_msg("edge %zu: %d, %d processes, %d files, %s%s", i, rc, o.pids, o.open_files,
                     buf_str(&told), err.text);
        const char *said = rc == 0 ? buf_str(&told) : message_of(&err);
        if (*e->says ? !strstr(said, e->says) : *said != '\0')
            fail_msg("edge %zu says: %s", i, said);
    }
}

/* docker's daemon starts its containers, whatever our limits are. */
static void test_docker_has_its_own(void **state)
{
    (void)state;
    struct hard_limits limits;

    hard_limits_read(&engine_docker, &limits);
    assert_true(limits.processes == -1 && limits.files == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_edges),
                                       cmocka_unit_test(test_docker_has_its_own)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
