/* test_discover.c - looking for a model server: fast, slow, silent, something else, none. A child process
 * serves; the path of the base URL picks what it does.
 */
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "llm/llm.h"
#include "process/loop.h"
#include "process/signals.h"

#define CONNECT_MS 150
#define ANSWER_MS  2000

static int port, closed_port;
static pid_t server;

static void say(int fd, const char *status, const char *body)
{
    char head[200];

    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n", status, strlen(body));
    if (fd_write_all(fd, head, strlen(head)) < 0 || fd_write_all(fd, body, strlen(body)) < 0)
        _exit(0);
}

#define CROWD 40000

/* A list of so many elements, only the last of which is a model. */
static void say_crowd(int fd)
{
    struct buf b = BUF_INIT(0);

    buf_addstr(&b, "{\"data\":[");
    for (int i = 1; i < CROWD; i++)
        buf_addstr(&b, "{},");
    buf_addstr(&b, "{\"id\":\"last\"}]}");
    say(fd, "200 OK", buf_str(&b));
    buf_release(&b);
}

/* One of them each millisecond. */
static void trickle(int fd)
{
    if (write(fd, "HTTP/1.1 200 OK\r\n\r\n{\"data\":[", 28) > 0)
        while (write(fd, "{},", 3) > 0)
            usleep(1000);
}

static void serve(int fd, const char *mode)
{
    static const struct {
        const char *mode;
        int ms;
        const char *status, *body;
    } rows[] = {
        {"fast", 0, "200 OK", "{\"object\":\"list\",\"data\":[{\"id\":\"fast-model\"},{\"id\":\"second\"}]}"},
        {"ollama", 0, "200 OK", "{\"models\":[{\"name\":\"tags-model\"}]}"},
        {"slow", 500, "200 OK", "{\"data\":[{\"id\":\"slow-model\"}]}"},
        {"embed", 0, "200 OK", "{\"data\":[{\"id\":\"text-embedding-x\"},{\"id\":\"talker\"}]}"},
        {"embedonly", 0, "200 OK", "{\"data\":[{\"id\":\"text-embedding-x\"}]}"},
        {"empty", 0, "200 OK", "{\"object\":\"list\",\"data\":[]}"},
        {"null", 0, "200 OK", "{\"object\":\"list\",\"data\":null}"},
        {"html", 0, "200 OK", "<!doctype html><title>It works</title>"},
        {"names", 0, "200 OK", "{\"data\":[{\"id\":7},{\"id\":\"\"},\"x\"]}"},
        {"loading", 0, "503 Service Unavailable", "{\"error\":{\"code\":503,\"message\":\"Loading model\"}}"},
        {"missing", 0, "404 Not Found", "{\"data\":[{\"id\":\"never\"}]}"},
    };

    for (size_t i = 0; i < countof(rows); i++)
        if (!strcmp(rows[i].mode, mode)) {
            usleep((useconds_t)rows[i].ms * 1000);
            say(fd, rows[i].status, rows[i].body);
        }
    if (!strcmp(mode, "garbage") && write(fd, "SSH-2.0-OpenSSH_9.2\r\n", 21) < 0)
        _exit(0);
    if (!strcmp(mode, "crowd"))
        say_crowd(fd);
    if (!strcmp(mode, "trickle"))
        trickle(fd);
    if (!strcmp(mode, "silent"))
        sleep(30);
    if (!strcmp(mode, "endless") && write(fd, "HTTP/1.1 200 OK\r\n\r\n", 19) > 0)
        while (write(fd, "                ", 16) > 0)
            ;
}

static int listen_on(int *at)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 64) < 0
        || getsockname(fd, (struct sockaddr *)&a, &len) < 0)
        return -1;
    *at = ntohs(a.sin_port);
    return fd;
}

static void serve_all(int listener)
{
    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd >= 0 && fork() == 0) {
            char request[4096] = "", mode[32] = "";

            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (read(fd, request, sizeof request - 1) > 0
                && sscanf(request, "GET /%31[a-z]/models", mode) == 1)
                serve(fd, mode);
            _exit(0);
        }
        close(fd);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

static int enter(void **state)
{
    int listener = listen_on(&port), closed = listen_on(&closed_port);

    (void)state;
    if (listener < 0 || closed < 0)
        return -1;
    close(closed); /* now nobody listens there */
    server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve_all(listener);
    }
    close(listener);
    return server > 0 ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    kill(server, SIGKILL);
    return waitpid(server, NULL, 0) == server ? 0 : -1;
}

struct found_version {
    int index;
    char *model;
    enum llm_place places[4];
    int64_t ms;
};

/* modes: what each server does, "-" for a port where nobody listens. */
static struct found_version look(const char *const *modes, size_t n)
{
    struct found_version f = {0};
    char text[4][80];
    const char *urls[4];
    struct loop *loop = loop_new();
    int64_t began;

    for (size_t i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "http://127.0.0.1:%d/%s", modes[i][0] == '-' ? closed_port : port,
                 modes[i]);
        urls[i] = text[i];
    }
    began = clock_ms();
    struct llm_search search = {urls, n, NULL, CONNECT_MS, ANSWER_MS};
    f.index = llm_discover(&search, loop, &f.model, f.places);
    f.ms = clock_ms() - began;
    loop_free(loop);
    return f;
}

static void one_server(void **state)
{
    static const struct {
        const char *mode, *model;
        enum llm_place place;
    } rows[] = {
        {"fast", "fast-model", LLM_MODEL}, {"ollama", "tags-model", LLM_MODEL},
        {"embed", "talker", LLM_MODEL},    {"embedonly", "text-embedding-x", LLM_MODEL},
        {"slow", "slow-model", LLM_MODEL}, {"empty", NULL, LLM_NO_MODEL},
        {"null", NULL, LLM_NO_MODEL},      {"names", NULL, LLM_NO_MODEL},
        {"html", NULL, LLM_OTHER},         {"missing", NULL, LLM_OTHER},
        {"garbage", NULL, LLM_OTHER},      {"hangup", NULL, LLM_OTHER},
        {"loading", NULL, LLM_LOADING},    {"silent", NULL, LLM_SILENT},
        {"-", NULL, LLM_NOBODY},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct found_version f = look(&rows[i].mode, 1);

        if (f.places[0] != rows[i].place || f.index != (rows[i].model ? 0 : -1))
            fail_msg("%s: place %d, index %d", rows[i].mode, f.places[0], f.index);
        if (rows[i].model)
            assert_string_equal(f.model, rows[i].model);
        else
            assert_null(f.model);
        if (!strcmp(rows[i].mode, "silent"))
            assert_in_range(f.ms, ANSWER_MS - 100, ANSWER_MS + 3000);
        if (!strcmp(rows[i].mode, "-"))
            assert_in_range(f.ms, 0, 100 + CONNECT_MS);
        free(f.model);
    }
}

static void several(void **state)
{
    static const struct {
        const char *modes[3];
        int index;
        int64_t most_ms;
    } rows[] = {
        {{"-", "-", "fast"}, 2, 1000},
        /* the order counts, and nobody waits for those behind it */
        {{"fast", "silent", "ollama"}, 0, 1000},
        /* one that has answered is taken when the first time is over */
        {{"slow", "fast", "-"}, 1, 450},
        {{"html", "slow", "silent"}, 1, 1500}, /* busy, but it is the one */
        {{"garbage", "missing", "empty"}, -1, 1000},
        {{"-", "-", "-"}, -1, 1000},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct found_version f = look(rows[i].modes, 3);

        if (f.index != rows[i].index || f.ms > rows[i].most_ms)
            fail_msg("row %zu: index %d after %lld ms", i, f.index, (long long)f.ms);
        free(f.model);
    }
}

static void an_endless_list_is_no_list(void **state)
{
    static const char *const mode = "endless";
    struct found_version f = look(&mode, 1);

    (void)state;
    assert_int_equal(f.index, -1);
    assert_int_equal(f.places[0], LLM_OTHER);
}

static void on_timer(void *ctx)
{
    loop_interrupt(ctx);
}

/* Nobody asked for this list, so reading it may cost 150 ms: linear, where 40,000 elements once took 4 s. */
static void a_crowd_is_read_at_once(void **state)
{
    static const char *const mode = "crowd";
    struct found_version f = look(&mode, 1);

    (void)state;
    assert_int_equal(f.index, 0);
    assert_string_equal(f.model, "last");
    assert_in_range(f.ms, 0, 1500); /* ten times as much, for machines with other things to do */
    free(f.model);
}

static void ctrl_c_ends_it(void **state)
{
    static const char *const modes[] = {"silent", "trickle"};

    (void)state;
    for (size_t i = 0; i < countof(modes); i++) {
        struct loop *loop = loop_new();
        char url[80], *model = NULL;
        const char *urls[] = {url};
        struct llm_search search = {urls, 1, NULL, 20000, 20000};
        int64_t began = clock_ms();

        snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", port, modes[i]);
        loop_timer(loop, began + 200, on_timer, loop);
        assert_int_equal(llm_discover(&search, loop, &model, NULL), -1);
        assert_in_range(clock_ms() - began, 100, 3000);
        assert_null(model);
        loop_free(loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_server),
        cmocka_unit_test(several),
        cmocka_unit_test(an_endless_list_is_no_list),
        cmocka_unit_test(a_crowd_is_read_at_once),
        cmocka_unit_test(ctrl_c_ends_it),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
