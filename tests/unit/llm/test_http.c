/* test_http.c - llm_ask over real sockets against a scripted server in a child process: faults, timers,
 * reuse, cancel. The path of the base URL picks what the server does.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "llm/learnt.h"
#include "llm/llm.h"
#include "process/loop.h"
#include "process/signals.h"

/* ---- the server ---- */

struct shared {
    int connections, requests;
    char last[8192];
};
static struct shared *shared;
static int port;
static pid_t server;

static void out(int fd, const char *s)
{
    if (fd_write_all(fd, s, strlen(s)))
        _exit(0);
}

static void chunk(int fd, const char *s)
{
    char head[32];
    snprintf(head, sizeof head, "%zx\r\n", strlen(s));
    out(fd, head);
    out(fd, s);
    out(fd, "\r\n");
}

static void delta(int fd, const char *text)
{
    char b[512];
    snprintf(b, sizeof b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"}}]}\n\n", text);
    chunk(fd, b);
}

static const char sse[] =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

static void finish(int fd)
{
    chunk(fd, "data: "
              "{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,"
              "\"completion_tokens\":3}}\n\ndata: [DONE]\n\n");
    out(fd, "0\r\n\r\n");
}

static void ok(int fd)
{
    out(fd, sse);
    delta(fd, "Hello");
    delta(fd, " you");
    finish(fd);
}

static void plain(int fd, const char *status, const char *headers, const char *body)
{
    char head[512];
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\n%sContent-Length: %zu\r\n\r\n", status, headers,
             strlen(body));
    out(fd, head);
    out(fd, body);
}

static void reset(int fd)
{
    struct linger l = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof l);
    close(fd);
    _exit(0);
}

static void endless(int fd, const char *piece)
{
    out(fd, sse);
    for (;;)
        chunk(fd, piece);
}

/* False: the connection is done. */
static bool serve(int fd, const char *mode, int n)
{
    if (!strcmp(mode, "ok"))
        ok(fd);
    else if (!strcmp(mode, "reset"))
        reset(fd);
    else if (!strcmp(mode, "second")) {
        if (n == 1)
            reset(fd);
        ok(fd);
    } else if (!strcmp(mode, "mid")) {
        out(fd, sse), delta(fd, "par"), usleep(50000), reset(fd);
    } else if (!strcmp(mode, "cut")) {
        out(fd, sse), delta(fd, "par"), out(fd, "40\r\ndata: {\"cho");
        return false;
    } else if (!strcmp(mode, "unshown")) {
        if (!strstr(shared->last, "\"stream\":true")) {
            plain(fd, "200 OK", "",
                  "{\"choices\":[{\"message\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}");
            return true;
        }
        out(fd, sse), chunk(fd, "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n"),
            usleep(30000), reset(fd);
    } else if (!strcmp(mode, "stall"))
        sleep(30);
    else if (!strcmp(mode, "stallmid"))
        out(fd, sse), delta(fd, "par"), sleep(30);
    else if (!strcmp(mode, "open"))
        out(fd, sse), delta(fd, "ok"), chunk(fd, "data: [DONE]\n\n"), sleep(30);
    else if (!strcmp(mode, "quiet")) {
        out(fd, sse);
        for (int i = 0; i < 200; i++)
            chunk(fd, ": ping\n\n"), usleep(20000);
    } else if (!strcmp(mode, "slow")) {
        const char *s = "data: {\"choices\":[{\"delta\":{\"content\":\"\xc3\xa4\"}}]}\n\ndata: [DONE]\n\n";
        out(fd, sse);
        for (; *s; s++) {
            char one[2] = {*s, 0};
            chunk(fd, one), usleep(2000);
        }
        out(fd, "0\r\n\r\n");
    } else if (!strcmp(mode, "line")) {
        /* large pieces: the cap is to be met before the short quiet timer of these tests */
        char big[60001];
        memset(big, 'x', sizeof big - 1);
        memcpy(big, "data: ", 6), big[sizeof big - 1] = 0;
        endless(fd, big);
    } else if (!strcmp(mode, "comments")) {
        char big[60001];
        memset(big, '.', sizeof big - 1);
        big[0] = ':', big[sizeof big - 2] = '\n', big[sizeof big - 1] = 0;
        endless(fd, big);
    } else if (!strcmp(mode, "headers")) {
        out(fd, "HTTP/1.1 200 OK\r\n");
        for (;;)
            out(fd, "X-Long: "
                    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
                    "yyyy\r\n");
    } else if (!strcmp(mode, "nothttp"))
        out(fd, "SSH-2.0-OpenSSH_9.2\r\n"), close(fd), _exit(0);
    else if (!strcmp(mode,
                     "more")) { /* than was announced: broken JSON, and behind it what looks like an answer */
        if (shared->requests > 1)
            return ok(fd), true;
        plain(fd, "200 OK", "Content-Type: application/json\r\n", "{\"choices\":[");
        usleep(20000);
        plain(fd, "200 OK", "",
              "{\"choices\":[{\"message\":{\"content\":\"smuggled\"},\"finish_reason\":\"stop\"}]}");
    } else if (!strcmp(mode, "redirect"))
        plain(fd, "302 Found", "Location: http://127.0.0.1:1/\r\n", "");
    else if (!strcmp(mode, "auth"))
        plain(fd, "401 Unauthorized", "", "{\"error\":{\"message\":\"no\"}}");
    else if (!strcmp(mode, "busy"))
        plain(fd, "429 Too Many Requests", "Retry-After-Ms: 20\r\n",
              "{\"error\":{\"message\":\"slow down\"}}");
    else if (!strcmp(mode, "block"))
        out(fd, sse), delta(fd, "Now:\\n```python\\nprint(1)\\n```\\n"), sleep(30);
    else if (!strcmp(mode, "yes")) /* shows code, then says that it is to be run */
        out(fd, sse),
            delta(fd, strstr(shared->last, "\"content\":\"n\"")
                          ? "\\n```python\\nprint(1)\\n```\\n"
                          : "Now:\\n```python\\nprint(1)\\n```\\nIt is 1."),
            finish(fd);
    else if (!strcmp(mode, "says"))
        out(fd, sse), delta(fd, "Now:\\n```python\\nprint(1)\\n```\\nIt is 1."), finish(fd);
    else if (!strcmp(mode, "calls"))
        out(fd, sse),
            chunk(fd, "data: "
                      "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":"
                      "\"function\",\"function\":"
                      "{\"name\":\"execute_python\",\"arguments\":\"{\\\"code\\\":\\\"1\\\"}\"}}]},\"finish_"
                      "reason\":\"tool_calls\"}]}\n\n"
                      "data: [DONE]\n\n"),
            out(fd, "0\r\n\r\n");
    else if (!strcmp(mode, "noopts")) {
        if (strstr(shared->last, "stream_options"))
            plain(fd, "400 Bad Request", "", "{\"error\":{\"message\":\"Unknown field stream_options\"}}");
        else
            ok(fd);
    }
    return true;
}

static void connection(int fd)
{
    for (int n = 1;; n++) {
        size_t len = 0, want = 0;
        char buf[sizeof shared->last] = {0};
        for (;;) {
            ssize_t k = read(fd, buf + len, sizeof buf - 1 - len);
            if (k <= 0)
                _exit(0);
            len += (size_t)k;
            char *end = strstr(buf, "\r\n\r\n"), *cl = strcasestr(buf, "content-length:");
            if (end && cl)
                want = (size_t)(end - buf) + 4 + strtoul(cl + 15, NULL, 10);
            if (want && len >= want)
                break;
        }
        char mode[32] = "";
        sscanf(buf, "POST /%31[a-z]", mode);
        memcpy(shared->last, buf, sizeof buf);
        shared->requests++;
        if (!serve(fd, mode, shared->requests))
            break;
    }
    _exit(0);
}

static int start_server(void **state)
{
    (void)state;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof a;
    int l = socket(AF_INET, SOCK_STREAM, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bind(l, (struct sockaddr *)&a, sizeof a) || listen(l, 16)
        || getsockname(l, (struct sockaddr *)&a, &n))
        return -1;
    port = ntohs(a.sin_port);
    server = fork();
    if (server) {
        close(l);
        return 0;
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int fd = accept(l, NULL, NULL), one = 1;
        if (fd < 0)
            continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        shared->connections++;
        if (!fork())
            connection(fd);
        close(fd);
    }
}

static int stop_server(void **state)
{
    (void)state;
    kill(-server, SIGKILL);
    waitpid(server, NULL, 0);
    return 0;
}

/* ---- the client ---- */

struct ask {
    struct loop *loop;
    struct llm *m;
    struct conversation c;
    struct buf text, notices;
    struct llm_reply r;
    struct error err;
    int restarted;
    const char *about, *learnt;
    double ms;
};

static void on_text(void *ctx, const char *s, size_t n)
{
    buf_add(&((struct ask *)ctx)->text, s, n);
}
static void on_restarted(void *ctx)
{
    ((struct ask *)ctx)->restarted++;
}
static void on_notice(void *ctx, bool detail, const char *line)
{
    (void)detail;
    buf_addf(&((struct ask *)ctx)->notices, "%s\n", line);
}

/* How long a service may be silent; longer where a busy machine must not be taken for one that is. */
static int idle_ms = 400;

static void begin_learning(struct ask *a, const char *mode, enum dialect dialect, const char *learnt)
{
    char url[128];
    *a = (struct ask){.loop = loop_new(), .text = BUF_INIT(0), .notices = BUF_INIT(0)};
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s/v1", port, mode);
    struct llm_options o = {.base_url = url,
                            .model = "m",
                            .stream = true,
                            .facts.dialect = dialect,
                            .facts.temperature = -1,
                            .api_key = "secret-key-1",
                            .key_name = "TEST_KEY"};
    struct llm_session s = {.idle_ms = idle_ms, .quiet_ms = 2 * idle_ms, .kept = learnt};
    a->m = llm_new(&o, &s, a->loop, &a->err);
    assert_non_null(a->m);
    conversation_init(&a->c);
    conversation_user(&a->c, "q", 1);
    shared->connections = shared->requests = 0;
}

static void begin(struct ask *a, const char *mode, enum dialect dialect)
{
    begin_learning(a, mode, dialect, NULL);
}

static int ask(struct ask *a)
{
    static const struct llm_tool tool = {"execute_python", "d", "{\"type\":\"object\"}", "code"};
    static const struct prompts prompts = {.system_native = "s", .system_blocks = "b", .nudge = "n"};
    struct llm_request q = {
        .conversation = &a->c, .prompts = &prompts, .tools = {&tool, 1}, .about = a->about};
    struct llm_listener l = {.ctx = a, .text = on_text, .restarted = on_restarted, .notice = on_notice};
    int64_t t = clock_us();
    llm_reply_release(&a->r);
    buf_clear(&a->text);
    int rc = llm_ask(a->m, &q, &l, &a->r, &a->err);
    a->ms = (double)(clock_us() - t) / 1000;
    return rc;
}

static void end(struct ask *a)
{
    llm_reply_release(&a->r);
    llm_free(a->m);
    loop_free(a->loop);
    conversation_release(&a->c);
    buf_release(&a->text);
    buf_release(&a->notices);
}

static void answers_and_reuses(void **state)
{
    (void)state;
    struct ask a;
    begin(&a, "ok", DIALECT_NATIVE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(&a), 0);
        assert_string_equal(a.r.text, "Hello you");
        assert_string_equal(buf_str(&a.text), "Hello you");
        assert_int_equal(a.r.usage.input, 7);
        assert_int_equal(a.r.usage.output, 3);
        assert_false(a.r.usage.estimated);
    }
    assert_int_equal(shared->requests, 3);
    assert_int_equal(shared->connections, 1);
    assert_non_null(strstr(shared->last, "Authorization: Bearer secret-key-1\r\n"));
    assert_null(strstr(shared->last, "Expect:"));
    end(&a);
}

/* What stands behind a reply that was no good is not the next answer: the next request has a connection of
 * its own, while the first one goes over that of the client before. */
static void no_connection_is_kept_after_a_failure(void **state)
{
    (void)state;
    struct ask a;
    begin(&a, "ok", DIALECT_NATIVE);
    assert_int_equal(ask(&a), 0);
    end(&a);
    begin(&a, "more", DIALECT_NATIVE);
    ask(&a);
    if (shared->requests == 1)
        assert_int_equal(ask(&a), 0);
    assert_string_equal(a.r.text, "Hello you");
    assert_int_equal(shared->connections, 1);
    end(&a);
}

static void reset_is_retried(void **state)
{
    (void)state;
    struct ask a;
    begin(&a, "second", DIALECT_NATIVE);
    assert_int_equal(ask(&a), 0);
    assert_string_equal(a.r.text, "Hello you");
    assert_int_equal(shared->requests, 2);
    end(&a);
}

static void lost_in_the_middle(void **state)
{
    (void)state;
    static const char *const modes[] = {"mid", "cut", "stallmid"};
    for (size_t i = 0; i < countof(modes); i++) {
        struct ask a;
        begin(&a, modes[i], DIALECT_NATIVE);
        assert_int_equal(ask(&a), 0);
        assert_true(a.r.truncated);
        assert_string_equal(a.r.text, "par");
        assert_int_equal(shared->requests, 1); /* never again silently once text was shown */
        end(&a);
    }
}

static void lost_before_text(void **state)
{
    (void)state;
    struct ask a;
    begin(&a, "unshown", DIALECT_NATIVE);
    assert_int_equal(ask(&a), 0);
    assert_string_equal(a.r.text, "whole");
    assert_int_equal(a.restarted, 1);
    assert_int_equal(shared->requests, 2);
    end(&a);
}

static void timers(void **state)
{
    (void)state;
    struct ask a;
    begin(&a, "stall", DIALECT_NATIVE);
    assert_int_equal(ask(&a), -1);
    assert_int_equal(a.err.kind, ERROR_NETWORK);
    assert_true(a.ms > 750); /* two tries of 400 ms and a wait */
    end(&a);
    begin(&a, "quiet", DIALECT_NATIVE);
    assert_int_equal(ask(&a), -1);
    assert_int_equal(a.err.kind, ERROR_NETWORK);
    assert_non_null(strstr(a.err.text, "no content"));
    assert_true(a.ms > 750);
    end(&a);
    idle_ms = 20000;
    begin(&a, "open", DIALECT_NATIVE);
    assert_int_equal(ask(&a), 0);
    idle_ms = 400;
    assert_true(a.ms < 19000); /* [DONE] is the end, whatever the connection does */
    end(&a);
    begin(&a, "slow", DIALECT_NATIVE);
    assert_int_equal(ask(&a), 0);
    assert_string_equal(a.r.text, "\xc3\xa4");
    end(&a);
    begin(&a, "stall", DIALECT_NATIVE);
    llm_set_deadline(a.m, clock_ms() + 100);
    assert_int_equal(ask(&a), -1);
    assert_int_equal(a.err.kind, ERROR_LIMIT);
    end(&a);
}

static void interrupt(void *ctx)
{
    loop_interrupt(ctx);
}

static void cancelled(void **state)
{
    (void)state;
    static const char *const modes[] = {"stall", "stallmid", "quiet", "busy"};
    for (size_t i = 0; i < countof(modes); i++) {
        struct ask a;
        begin(&a, modes[i], DIALECT_NATIVE);
        loop_timer(a.loop, clock_ms() + 10, interrupt, a.loop);
        assert_int_equal(ask(&a), -1);
        assert_int_equal(a.err.kind, ERROR_CANCELLED);
        end(&a);
    }
}

static void hostile_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *mode, *word;
    } cases[] = {{"line", "8 MiB"}, {"comments", "64 MiB"}, {"headers", ""}, {"nothttp", ""}};
    for (size_t i = 0; i < countof(cases); i++) {
        struct ask a;
        idle_ms = 20000;
        begin(&a, cases[i].mode, DIALECT_NATIVE);
        assert_int_equal(ask(&a), -1);
        idle_ms = 400;
        assert_true(a.err.kind == ERROR_PROTOCOL || a.err.kind == ERROR_NETWORK);
        if (!strstr(a.err.text, cases[i].word))
            fail_msg("%s: %s", cases[i].mode, a.err.text);
        end(&a);
    }
}

static void errors(void **state)
{
    (void)state;
    struct ask a;
    begin(&a, "auth", DIALECT_NATIVE);
    assert_int_equal(ask(&a), -1);
    assert_int_equal(a.err.kind, ERROR_AUTH);
    assert_non_null(strstr(a.err.remedy, "TEST_KEY"));
    assert_int_equal(shared->requests, 1);
    end(&a);
    begin(&a, "redirect", DIALECT_NATIVE);
    assert_int_equal(ask(&a), -1);
    assert_non_null(strstr(a.err.text, "redirect"));
    assert_int_equal(shared->requests, 1);
    end(&a);
    begin(&a, "busy", DIALECT_NATIVE);
    assert_int_equal(ask(&a), -1);
    assert_int_equal(a.err.kind, ERROR_BUSY);
    assert_int_equal(shared->requests, 4);
    end(&a);
    begin(&a, "noopts", DIALECT_NATIVE);
    assert_int_equal(ask(&a), 0);
    assert_int_equal(ask(&a), 0);
    assert_int_equal(shared->requests, 3); /* the downgrade is remembered */
    end(&a);
    begin(&a, "ok", DIALECT_NATIVE);
    struct llm_options o = {.base_url = "http://127.0.0.1:1/v1", .model = "m", .facts.temperature = -1};
    assert_int_equal(llm_reconfigure(a.m, &o, &a.err), 0);
    assert_int_equal(ask(&a), -1);
    assert_int_equal(a.err.kind, ERROR_NETWORK);
    assert_non_null(strstr(a.err.text, "connection refused"));
    o.base_url = "file:///etc/passwd";
    assert_int_equal(llm_reconfigure(a.m, &o, &a.err), -1);
    assert_int_equal(a.err.kind, ERROR_USAGE);
    end(&a);
}

static void block_stops_the_transfer(void **state)
{
    (void)state;
    struct ask a;
    idle_ms = 20000;
    begin(&a, "block", DIALECT_BLOCKS);
    assert_int_equal(ask(&a), 0);
    idle_ms = 400;
    assert_int_equal(a.r.n_calls, 1);
    assert_true(a.ms < 19000); /* silence would end it as well */
    assert_true(a.r.usage.estimated);
    assert_true(a.r.usage.output > 0);
    assert_string_equal(buf_str(&a.text), "Now:\n");
    assert_null(strstr(shared->last, "\"tools\""));
    end(&a);
}

static void auto_finds_the_dialect(void **state)
{
    (void)state;
    struct ask a;
    begin(&a, "yes", DIALECT_AUTO);
    assert_int_equal(ask(&a), 0);
    assert_true(a.r.unsure);
    assert_int_equal(a.r.n_calls, 0);
    assert_int_equal(shared->requests, 1); /* whether it is asked about is the agent's to say */
    a.about = "Now:\n";
    assert_int_equal(ask(&a), 0);
    assert_false(a.r.unsure);
    assert_int_equal(a.r.n_calls, 1);
    assert_int_equal(shared->requests, 2);
    assert_non_null(strstr(shared->last, "\"content\":\"n\"}"));
    a.about = NULL;
    assert_int_equal(ask(&a), 0); /* in blocks from here on: nothing is unsure */
    assert_false(a.r.unsure);
    assert_int_equal(a.r.n_calls, 1);
    assert_null(strstr(shared->last, "\"tools\""));
    end(&a);
    begin(&a, "says", DIALECT_NATIVE);
    assert_int_equal(ask(&a), 0);
    assert_false(a.r.unsure);
    assert_int_equal(a.r.n_calls, 0);
    end(&a);
}

/* A model that repeats its answer, with the block in it, does not want it run: the first answer stands. */
static void a_block_among_words_is_no_call(void **state)
{
    (void)state;
    struct ask a;
    begin(&a, "says", DIALECT_AUTO);
    assert_int_equal(ask(&a), 0);
    assert_true(a.r.unsure);
    autofree char *said = xstrdup(a.r.text);
    a.about = said;
    assert_int_equal(ask(&a), 0);
    assert_int_equal(a.r.n_calls, 0);
    assert_false(a.r.unsure);
    a.about = NULL;
    assert_int_equal(ask(&a), 0);
    assert_true(a.r.unsure); /* nothing was found out */
    end(&a);
}

/* What one session found out the next one knows, for this endpoint and model only. */
static void what_was_found_out_is_kept(void **state)
{
    (void)state;
    char dir[] = "/tmp/sandpiper-learnt-XXXXXX";
    assert_non_null(mkdtemp(dir));
    autofree char *path = xasprintf("%s/a/models", dir);
    struct ask a;
    begin_learning(&a, "yes", DIALECT_AUTO, path);
    a.about = "Now:\n";
    assert_int_equal(ask(&a), 0);
    assert_int_equal(a.r.n_calls, 1);
    end(&a);
    begin_learning(&a, "yes", DIALECT_AUTO, path);
    assert_int_equal(ask(&a), 0);
    assert_int_equal(a.r.n_calls, 1); /* asked in blocks from the start */
    assert_null(strstr(shared->last, "\"tools\""));
    end(&a);
    begin_learning(&a, "says", DIALECT_AUTO, path); /* another endpoint */
    assert_int_equal(ask(&a), 0);
    assert_true(a.r.unsure);
    end(&a);
    begin_learning(&a, "yes", DIALECT_NATIVE, path); /* the user knows better */
    assert_int_equal(ask(&a), 0);
    assert_non_null(strstr(shared->last, "\"tools\""));
    end(&a);
    begin_learning(&a, "calls", DIALECT_AUTO, path);
    assert_int_equal(ask(&a), 0);
    assert_int_equal(a.r.n_calls, 1);
    end(&a);
    begin_learning(&a, "calls", DIALECT_AUTO, path);
    assert_int_equal(ask(&a), 0);
    autofree char *dialect = learnt_load(path, llm_origin(a.m), "dialect");
    assert_string_equal(dialect, "native");
    end(&a);
    assert_int_equal(file_remove_tree(dir), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_and_reuses),
        cmocka_unit_test(no_connection_is_kept_after_a_failure),
        cmocka_unit_test(reset_is_retried),
        cmocka_unit_test(lost_in_the_middle),
        cmocka_unit_test(lost_before_text),
        cmocka_unit_test(timers),
        cmocka_unit_test(cancelled),
        cmocka_unit_test(hostile_sizes),
        cmocka_unit_test(errors),
        cmocka_unit_test(block_stops_the_transfer),
        cmocka_unit_test(auto_finds_the_dialect),
        cmocka_unit_test(a_block_among_words_is_no_call),
        cmocka_unit_test(what_was_found_out_is_kept),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
