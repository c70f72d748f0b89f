/* test_runner.c - the front's side of runners, with this program itself as the child ("runner" as its first
 * word): requests in order, cancel, death, ids, limits, time to live, pool, what a killed front left.
 */
#include "tests/unit/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/argv.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "json/json.h"
#include "process/loop.h"
#include "records/owner.h"
#include "front/runner.h"
#include "operations/runner_messages.h"
#include "front/runners.h"
#include "front/served.h"
#include "front/starter.h"

/* ---- the child ---- */

static void say(const char *text)
{
    assert_int_equal(fd_write_all(0, text, strlen(text)), 0);
}

static struct json *listen_(struct message_reader *in)
{
    struct json *m;
    struct error err;

    while (!(m = messages_next(in, &err))) {
        struct pollfd p = {0, POLLIN, 0};

        poll(&p, 1, -1);
        if (messages_read(in, 0) == 0)
            _exit(0);
    }
    return m;
}

static int64_t start = INT64_MAX; /* the last request whose sandbox may start */

static void act(struct message_reader *in, const struct json *m)
{
    static bool held; /* a real one would wait for its sandbox */
    const char *op = json_text(json_get(m, "op"));
    int id = (int)json_int(json_get(m, "id"), 0);
    char line[200];

    held = held || id > start;
    if (strcmp(op, "die") == 0)
        _exit(1);
    if (strcmp(op, "lie") == 0)
        id += 100;
    if (strcmp(op, "deaf") == 0)
        for (;;)
            pause();
    if (strcmp(op, "slow") == 0) {
        say("{\"id\":");
        snprintf(line, sizeof line, "%d,\"event\":\"output\"}\n", id);
        say(line);
        autojson struct json *cancel = listen_(in);
        assert_int_equal(json_int(json_get(cancel, "cancel"), 0), id);
        snprintf(line, sizeof line, "{\"id\":%d,\"error\":{\"kind\":\"cancelled\",\"text\":\"it was\"}}\n",
                 id);
    } else if (strcmp(op, "fd") == 0) {
        char text[20] = "";
        autoclose int fd = messages_fd(in);

        assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
        snprintf(line, sizeof line, "{\"id\":%d,\"result\":{\"text\":\"%s\"}}\n", id, text);
    } else {
        autofree char *arguments = json_print(json_get(m, "arguments"));
        snprintf(line, sizeof line, "{\"id\":%d,\"result\":{\"op\":\"%s\",\"arguments\":%.100s}}\n", id,
                 held ? "held" : op, arguments);
    }
    say(line);
}

static _Noreturn void child(int argc, char **argv)
{
    struct message_reader in;
    const char *log = getenv("RUNNER_LOG");

    messages_init(&in);
    if (argc > 2 && strcmp(argv[2], "--dead") == 0)
        _exit(1);
    say(argc > 2 && strcmp(argv[2], "--fail") == 0 ? "{\"failed\":{\"kind\":\"sandbox\",\"text\":\"no\"}}\n"
                                                   : "{\"ready\":true,\"engine\":\"fake\"}\n");
    for (;;) {
        autojson struct json *m = listen_(&in);

        if (json_get(m, "end") && log) {
            autofree char *line = xasprintf("%s\n", argv[argc - 2]);
            autoclose int fd = open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
            assert_int_equal(fd_write_all(fd, line, strlen(line)), 0);
        }
        if (json_get(m, "end"))
            _exit(0);
        start = json_int(json_get(m, "start"), start);
        if (json_get(m, "op"))
            act(&in, m);
    }
}

/* ---- one runner ---- */

struct heard {
    struct loop *loop;
    unsigned events, done, ready, gone, replaced;
    char text[1100]; /* of the last result, or error */
    struct runner *free_in_done;
};

static void on_event(void *ctx, const struct json *event)
{
    struct heard *h = ctx;

    (void)event;
    h->events++;
}

static void on_done(void *ctx, const struct json *result, const struct error *err)
{
    struct heard *h = ctx;
    autofree char *text = result ? json_print(result) : xstrdup(err->text);

    assert_true((result == NULL) == (err != NULL));
    h->done++;
    snprintf(h->text, sizeof h->text, "%s", text);
    if (h->free_in_done)
        runner_free(h->free_in_done);
    h->free_in_done = NULL;
}

static void on_ready(void *ctx, struct runner *r, const struct error *err)
{
    struct heard *h = ctx;

    (void)r;
    h->ready++;
    snprintf(h->text, sizeof h->text, "%s", err ? err->text : "up");
}

static void on_gone(void *ctx, struct runner *r, bool replaced)
{
    struct heard *h = ctx;

    (void)r;
    h->gone += !replaced;
    h->replaced += replaced;
}

/* What starts the runners of a test, in a process of its own as in a front. */
static struct {
    pid_t pid;
    int fd;
} starter;

static void starter_open(const char *const *words)
{
    struct error err = {0};
    int pair[2];

    assert_int_equal(starter_pair(pair, &err), 0);
    starter.pid = fork();
    if (starter.pid == 0) {
        starter_serve(pair[1], words, NULL);
        _exit(0);
    }
    close(pair[1]);
    starter.fd = pair[0];
}

static void starter_close(void)
{
    close(starter.fd);
    assert_int_equal(waitpid(starter.pid, NULL, 0), starter.pid);
    starter.pid = 0;
}

static int before(void **state)
{
    (void)state;
    starter_open(NULL);
    return 0;
}

static int after(void **state)
{
    (void)state;
    if (starter.pid)
        starter_close();
    return 0;
}

static struct runner *begin(struct heard *h)
{
    struct error err = {0};
    *h = (struct heard){.loop = loop_new()};
    struct runner *r = runner_start(
        &(struct runner_options){
            .loop = h->loop, .starter = starter.fd, .ready = on_ready, .gone = on_gone, .ctx = h},
        &err);

    assert_non_null(r);
    return r;
}

static void finish(struct heard *h, struct runner *r)
{
    runner_free(r);
    runner_settle(h->loop, 60000);
    loop_free(h->loop);
    starter_close();
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left, not even as a zombie */
}

static uint64_t ask(struct runner *r, struct heard *h, const char *op)
{
    return runner_ask(r, op, NULL, -1, &(struct runner_listener){h, on_event, on_done});
}

static void await(struct heard *h, const unsigned *what, unsigned n)
{
    int64_t until = clock_ms() + 60000;

    while (*what < n && clock_ms() < until)
        loop_wait(h->loop, 1000);
    assert_int_equal(*what, n);
}

static void in_order(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);

    (void)state;
    for (int i = 0; i < 20; i++)
        ask(r, &h, i < 19 ? "echo" : "last");
    assert_true(runner_busy(r) && runner_waits(r) == 19 && h.done == 0);
    await(&h, &h.done, 20);
    assert_string_equal(h.text, "{\"op\":\"last\",\"arguments\":{}}");
    assert_true(!runner_busy(r) && h.ready == 1 && runner_done_at(r) > 0);
    assert_string_equal(json_text(json_get(runner_facts(r), "engine")), "fake");
    finish(&h, r);
}

static void passes_a_descriptor(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    assert_int_equal(write(fds[1], "hello", 5), 5);
    close(fds[1]);
    ask(r, &h, "echo");
    runner_ask(r, "fd", NULL, fds[0], &(struct runner_listener){&h, on_event, on_done});
    await(&h, &h.done, 2);
    assert_string_equal(h.text, "{\"text\":\"hello\"}");
    assert_int_equal(fcntl(fds[0], F_GETFD), -1);
    finish(&h, r);
}

static void cancels(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);

    (void)state;
    uint64_t slow = ask(r, &h, "slow"), waits = ask(r, &h, "echo"), last = ask(r, &h, "slow");
    runner_cancel(r, waits);
    assert_int_equal(h.done, 0); /* not from inside */
    await(&h, &h.done, 1);
    assert_string_equal(h.text, "cancelled before it began");
    await(&h, &h.events, 1);
    runner_cancel(r, slow);
    await(&h, &h.done, 2);
    assert_string_equal(h.text, "it was");
    runner_cancel(r, slow); /* done: nothing happens */
    await(&h, &h.events, 2);
    runner_forget(r, last); /* its answer comes, and nobody hears it */
    ask(r, &h, "echo");
    await(&h, &h.done, 3);
    assert_string_equal(h.text, "{\"op\":\"echo\",\"arguments\":{}}");
    finish(&h, r);
}

static void dies(void **state)
{
    static const char *const ops[] = {"die", "lie"};

    (void)state;
    for (size_t i = 0; i < countof(ops); i++) {
        struct heard h;

        if (i > 0)
            starter_open(NULL);
        struct runner *r = begin(&h);
        ask(r, &h, ops[i]);
        await(&h, &h.done, 1);
        await(&h, &h.gone, 1);
        assert_non_null(strstr(h.text, "the process that held the sandbox has ended"));
        ask(r, &h, "echo");
        assert_int_equal(h.done, 1);
        await(&h, &h.done, 2);
        finish(&h, r);
    }
}

/* What waited is carried out by the next process. What the first one was carrying out fails, and is not done
 * again. */
static void replaced_while_others_wait(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);

    (void)state;
    ask(r, &h, "die");
    uint64_t number = ask(r, &h, "slow");
    ask(r, &h, "last");
    await(&h, &h.done, 1);
    assert_non_null(strstr(h.text, "the process that held the sandbox has ended"));
    await(&h, &h.events, 1);
    runner_cancel(r, number); /* by the number that it had */
    await(&h, &h.done, 3);
    assert_string_equal(h.text, "{\"op\":\"last\",\"arguments\":{}}");
    assert_true(h.replaced == 1 && h.gone == 0);
    finish(&h, r);
}

/* Our child that is not the starter. */
static pid_t other_child(void)
{
    autofree char *path = xasprintf("/proc/self/task/%d/children", getpid());
    struct buf text autorelease(buf_release) = BUF_INIT(1 << 12);

    assert_int_equal(file_read(path, 1 << 12, &text, NULL), 0);
    for (char *at = text.data; *at; at += strspn(at, " \n")) {
        pid_t pid = (pid_t)strtol(at, &at, 10);
        if (pid != starter.pid)
            return pid;
    }
    fail();
    return 0;
}

/* A process that was killed before it had read a request, whether the request was already in its socket or
 * not. */
static void killed_before_it_read(void **state)
{
    (void)state;
    for (int stopped = 0; stopped < 2; stopped++) {
        struct heard h;

        if (stopped)
            starter_open(NULL);
        struct runner *r = begin(&h);
        await(&h, &h.ready, 1);
        pid_t runner = other_child();
        kill(runner, stopped ? SIGSTOP : SIGKILL);
        if (!stopped) /* it has closed its socket */
            assert_int_equal(waitid(P_PID, (id_t)runner, &(siginfo_t){0}, WNOWAIT | WEXITED), 0);
        struct heard last = {.loop = h.loop}; /* both answers may come in one turn of the loop */
        ask(r, &h, "first");
        kill(runner, SIGKILL);
        ask(r, &last, "last");
        await(&h, &h.done, 1);
        await(&last, &last.done, 1);
        assert_string_equal(h.text, "{\"op\":\"first\",\"arguments\":{}}");
        assert_true(h.replaced == 1 && h.gone == 0);
        finish(&h, r);
    }
}

/* So may the sandbox of the process that takes over what waited. */
static void let_start_before_it_was_replaced(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);

    (void)state;
    await(&h, &h.ready, 1);
    pid_t runner = other_child();
    kill(runner, SIGSTOP);
    ask(r, &h, "first");
    runner_let_start(r);
    kill(runner, SIGKILL);
    await(&h, &h.done, 1);
    assert_string_equal(h.text, "{\"op\":\"first\",\"arguments\":{}}");
    assert_int_equal(h.replaced, 1);
    finish(&h, r);
}

/* Nothing is tried without end: the second process that ends without reading a request ends it too. */
static void each_dies_at_once(void **state)
{
    static const char *const argv[] = {"--dead", NULL};
    struct heard h;

    (void)state;
    starter_close();
    starter_open(argv);
    struct runner *r = begin(&h);
    ask(r, &h, "echo");
    ask(r, &h, "echo");
    await(&h, &h.done, 2);
    await(&h, &h.gone, 1);
    assert_non_null(strstr(h.text, "the process that held the sandbox has ended"));
    assert_in_range(h.replaced, 1, 3);
    finish(&h, r);
}

/* What runs and what waits is answered, and nothing is called after that. */
static void ended(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);

    (void)state;
    ask(r, &h, "echo");
    ask(r, &h, "echo");
    runner_end(r);
    assert_int_equal(h.done, 2);
    assert_string_equal(h.text, "the sandbox was ended");
    finish(&h, NULL);
    assert_true(h.done == 2 && h.gone == 0);
}

static void start_fails(void **state)
{
    static const char *const argv[] = {"--fail", NULL};
    struct heard h;

    (void)state;
    starter_close();
    starter_open(argv);
    struct runner *r = begin(&h);
    await(&h, &h.ready, 1);
    assert_string_equal(h.text, "no");
    assert_null(runner_facts(r));
    finish(&h, r);
}

static void freed_in_a_callback(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);

    (void)state;
    h.free_in_done = r;
    ask(r, &h, "echo");
    ask(r, &h, "echo");
    await(&h, &h.done, 1);
    finish(&h, NULL);
    assert_int_equal(h.done, 1);
}

/* A megabyte in each direction, through a socket that holds less. */
static void much(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);
    size_t n = 1 << 20;
    autofree char *text = xmalloc(n + 1);
    autojson struct json *arguments = json_object();

    (void)state;
    memset(text, 'x', n);
    text[n] = 0;
    json_set_str(arguments, "text", text);
    for (int i = 0; i < 3; i++)
        runner_ask(r, "fly", arguments, -1, &(struct runner_listener){&h, NULL, on_done});
    await(&h, &h.gone, 1); /* the child cuts its answer, which is then no JSON */
    assert_int_equal(h.done, 3);
    finish(&h, r);
}

/* ---- all of them ---- */

static char folder[] = "/tmp/sp-runners-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    autofree char *log = xasprintf("%s/log", folder);
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("XDG_RUNTIME_DIR", folder, 1);
    setenv("RUNNER_LOG", log, 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return file_remove_tree(folder);
}

static const char *log_text(void)
{
    static struct buf text = BUF_INIT(1 << 16);
    autofree char *path = xasprintf("%s/log", folder);

    buf_clear(&text);
    (void)file_read(path, 1 << 16, &text, NULL);
    unlink(path);
    return buf_str(&text);
}

static void limits(void **state)
{
    struct loop *loop = loop_new();
    struct runners *rs = runners_new(&(struct runners_options){
        .loop = loop, .starter = starter.fd, .max = 2, .ttl_ms = 900000, .named = true});
    struct error err = {0};
    enum runners_absent why;
    char id[RUNNERS_ID + 1];

    (void)state;
    struct lease *a = runners_create(rs, "", "talk", &err), *b = runners_create(rs, "", NULL, &err);
    assert_true(a && b && a != b && strcmp(lease_id(a), lease_id(b)) != 0);
    assert_true(served_good_id(lease_id(a)));
    assert_ptr_equal(runners_create(rs, "", "talk", &err), a);
    assert_null(runners_create(rs, "", NULL, &err));
    assert_int_equal(err.kind, ERROR_BUSY);
    assert_ptr_equal(runners_find(rs, "", lease_id(b), NULL), b);
    assert_null(runners_find(rs, "", "00000000000000000000000000000000", &why));
    assert_int_equal(why, RUNNERS_UNKNOWN);
    snprintf(id, sizeof id, "%s", lease_id(a));
    runners_stop(rs, a);
    assert_null(runners_find(rs, "", id, &why));
    assert_int_equal(why, RUNNERS_STOPPED);
    runners_stop(rs, b);
    a = runners_create(rs, "one", "talk", &err);
    b = runners_create(rs, "two", "talk", &err);
    assert_true(a && b && a != b);
    assert_null(runners_find(rs, "one", lease_id(b), &why));
    assert_int_equal(why, RUNNERS_UNKNOWN);
    assert_ptr_equal(runners_find(rs, "two", lease_id(b), NULL), b);
    assert_null(runners_find(rs, "", lease_id(b), NULL));
    assert_ptr_equal(runners_find_conversation(rs, "one", "talk"), a);
    assert_null(runners_find_conversation(rs, "three", "talk"));
    runners_stop(rs, a);
    a = runners_create(rs, "", "another", &err);
    assert_true(a && strcmp(lease_id(a), id) != 0);
    runners_free(rs, true);
    runner_settle(loop, 60000);
    assert_non_null(strstr(log_text(), id)); /* told to end */
    rs = runners_new(&(struct runners_options){.loop = loop, .starter = starter.fd, .max = 2, .named = true});
    assert_null(runners_find(rs, "", id, &why)); /* known to a later front as well */
    assert_int_equal(why, RUNNERS_STOPPED);
    assert_null(runners_find(rs, "one", id, &why)); /* and not even known to another client */
    assert_int_equal(why, RUNNERS_UNKNOWN);
    runners_free(rs, true);
    loop_free(loop);
}

static unsigned at_most_two(void *ctx, const char *client)
{
    (void)ctx;
    return strcmp(client, "free") != 0 ? 2 : 0;
}

/* A client makes room only with what is its own; those within a sandbox end with it. */
static void room(void **state)
{
    struct loop *loop = loop_new();
    struct runners *rs = runners_new(&(struct runners_options){
        .loop = loop, .starter = starter.fd, .max = 4, .ttl_ms = 900000, .named = true, .most = at_most_two});
    struct error err = {0};
    enum runners_absent why;
    char id[RUNNERS_ID + 1], inner_id[RUNNERS_ID + 1];

    (void)state;
    struct lease *a = runners_create(rs, "a", NULL, &err), *b = runners_create(rs, "b", NULL, &err);
    lease_set_spare(a, true);
    for (int64_t until = clock_ms() + 60000; lease_idle_ms(a) == 0 && clock_ms() < until;)
        loop_wait(loop, 100);
    assert_non_null(runners_create(rs, "b", NULL, &err));
    assert_null(runners_create(rs, "b", NULL, &err));
    assert_true(err.kind == ERROR_BUSY && err.code == EDQUOT);
    assert_non_null(runners_create(rs, "free", NULL, &err));
    assert_null(runners_create(rs, "free", NULL, &err)); /* all are in use; that of a is not touched */
    assert_true(err.kind == ERROR_BUSY && err.code == 0);
    assert_ptr_equal(runners_find(rs, "a", lease_id(a), NULL), a);
    snprintf(id, sizeof id, "%s", lease_id(a));
    a = runners_create(rs, "a", NULL, &err);
    assert_non_null(a);
    assert_null(runners_find(rs, "a", id, &why));
    assert_int_equal(why, RUNNERS_GAVE_WAY);
    assert_null(runners_find(rs, "b", id, &why));
    assert_int_equal(why, RUNNERS_UNKNOWN);
    runners_stop(rs, b);
    struct lease *inner = runners_create_within(rs, "a", a, &err);
    assert_string_equal(lease_outer(inner), lease_id(a));
    snprintf(id, sizeof id, "%s", lease_id(a));
    snprintf(inner_id, sizeof inner_id, "%s", lease_id(inner));
    runners_stop(rs, a);
    assert_null(runners_find(rs, "a", inner_id, &why));
    assert_int_equal(why, RUNNERS_STOPPED);
    runners_free(rs, true);
    runner_settle(loop, 60000);
    loop_free(loop);
}

static void time_to_live(void **state)
{
    struct loop *loop = loop_new();
    struct runners *rs = runners_new(
        &(struct runners_options){.loop = loop, .starter = starter.fd, .max = 2, .ttl_ms = 300});
    struct error err = {0};
    struct runners_counts counts = {0};
    enum runners_absent why;
    char id[RUNNERS_ID + 1];

    (void)state;
    struct lease *a = runners_create(rs, "", NULL, &err);
    snprintf(id, sizeof id, "%s", lease_id(a));
    for (int64_t until = clock_ms() + 60000; !counts.expired && clock_ms() < until;
         runners_counts(rs, &counts))
        loop_wait(loop, 1000);
    assert_int_equal(counts.expired, 1);
    assert_int_equal(counts.held, 0);
    assert_null(runners_find(rs, "", id, &why));
    assert_int_equal(why, RUNNERS_EXPIRED);
    runners_free(rs, true);
    runner_settle(loop, 60000);
    loop_free(loop);
}

/* A runner that died is replaced by one that is told so. */
static void replaced(void **state)
{
    struct heard h = {.loop = loop_new()};
    struct runners *rs = runners_new(
        &(struct runners_options){.loop = h.loop, .starter = starter.fd, .max = 2});
    struct error err = {0};
    struct runners_counts counts;

    (void)state;
    struct lease *a = runners_create(rs, "", NULL, &err);
    ask(lease_runner(rs, a, &err), &h, "die");
    await(&h, &h.done, 1);
    runners_counts(rs, &counts);
    assert_int_equal(counts.died, 1);
    ask(lease_runner(rs, a, &err), &h, "echo");
    await(&h, &h.done, 2);
    assert_string_equal(h.text, "{\"op\":\"echo\",\"arguments\":{}}");
    runners_free(rs, true);
    runner_settle(h.loop, 60000);
    loop_free(h.loop);
}

static void pool(void **state)
{
    struct heard h = {.loop = loop_new()};
    struct runners *rs = runners_new(&(struct runners_options){
        .loop = h.loop, .starter = starter.fd, .max = 3, .pool = 2, .ttl_ms = 900000, .named = true});
    struct error err = {0};
    struct runners_counts counts = {0};

    (void)state;
    for (int64_t until = clock_ms() + 60000; counts.pool < 2 && clock_ms() < until;
         runners_counts(rs, &counts))
        loop_wait(h.loop, 1000);
    assert_int_equal(counts.pool, 2);
    struct lease *all[3];
    for (int i = 0; i < 3; i++) {
        all[i] = runners_create(rs, "", NULL, &err);
        assert_non_null(all[i]);
        ask(lease_runner(rs, all[i], &err), &h, "echo");
        for (int k = 0; k < i; k++) /* none twice */
            assert_true(all[k] != all[i] && strcmp(lease_id(all[k]), lease_id(all[i])) != 0);
    }
    await(&h, &h.done, 3);
    runners_counts(rs, &counts);
    assert_true(counts.held == 3 && counts.pool == 0 && counts.from_pool >= 2);
    assert_null(runners_create(rs, "", NULL, &err));
    char id[RUNNERS_ID + 1];
    snprintf(id, sizeof id, "%s", lease_id(all[0]));
    runners_stop(rs, all[0]);
    for (int64_t until = clock_ms() + 60000; counts.pool < 1 && clock_ms() < until;
         runners_counts(rs, &counts))
        loop_wait(h.loop, 1000);
    struct lease *next = runners_create(rs, "", NULL, &err);
    assert_true(next && strcmp(lease_id(next), id) != 0);
    runners_free(rs, true);
    runner_settle(h.loop, 60000);
    loop_free(h.loop);
}

/* Those that run go on; no other can be started, and the error says so. */
static void starter_dies(void **state)
{
    struct heard h;
    struct runner *r = begin(&h);
    struct error err = {0};
    siginfo_t gone;

    (void)state;
    await(&h, &h.ready, 1);
    kill(starter.pid, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)starter.pid, &gone, WNOWAIT | WEXITED), 0);
    assert_null(runner_start(&(struct runner_options){.loop = h.loop, .starter = starter.fd}, &err));
    assert_int_equal(err.kind, ERROR_SYSTEM);
    assert_non_null(strstr(err.text, "the process that starts them has ended"));
    ask(r, &h, "echo");
    await(&h, &h.done, 1);
    assert_string_equal(h.text, "{\"op\":\"echo\",\"arguments\":{}}");
    finish(&h, r);
}

static void notes(void **state)
{
    static const char id[] = "0123456789abcdef0123456789abcdef";
    struct loop *loop = loop_new();
    struct served_sandbox n;
    enum runners_absent why;
    autofree char *self = owner_self();

    (void)state;
    assert_false(served_good_id("0123456789ABCDEF0123456789abcdef") || served_good_id("../x")
                 || served_good_id(""));
    assert_int_equal(served_read("../../etc/passwd", &n), -1);
    assert_int_equal(served_read(id, &n), -1);
    /* of a front that lives: not ours */
    autojson struct json *facts = json_object_of({"metadata", json_object_of({"k", json_string("v")})});
    assert_int_equal(served_write(id,
                                  &(struct served_sandbox){.conversation = (char[]){"c"},
                                                           .owner = self,
                                                           .created = 7,
                                                           .until = 12345678901,
                                                           .paused = true,
                                                           .facts = facts},
                                  NULL),
                     0);
    assert_int_equal(served_read(id, &n), 0);
    assert_true(n.created == 7 && strcmp(n.conversation, "c") == 0 && n.ended == 0);
    assert_true(n.until == 12345678901 && n.paused && json_same(n.facts, facts));
    served_release(&n);
    struct runners *rs = runners_new(
        &(struct runners_options){.loop = loop, .starter = starter.fd, .max = 2, .named = true});
    assert_null(runners_find(rs, "", id, &why));
    assert_int_equal(why, RUNNERS_UNKNOWN);
    runners_free(rs, true);
    /* of one that is dead, and so is its sandbox */
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    autofree char *dead = owner_of(pid);
    waitpid(pid, NULL, 0);
    assert_int_equal(served_write(id, &(struct served_sandbox){.owner = dead, .created = 7}, NULL), 0);
    rs = runners_new(&(struct runners_options){.loop = loop, .starter = starter.fd, .max = 2, .named = true});
    assert_null(runners_find(rs, "", id, &why));
    assert_int_equal(why, RUNNERS_EXPIRED);
    runners_free(rs, true);
    loop_free(loop);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, before, after)

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "runner") == 0)
        child(argc, argv);
    const struct CMUnitTest tests[] = {
        TEST(in_order),
        TEST(passes_a_descriptor),
        TEST(cancels),
        TEST(dies),
        TEST(replaced_while_others_wait),
        TEST(killed_before_it_read),
        TEST(let_start_before_it_was_replaced),
        TEST(each_dies_at_once),
        TEST(ended),
        TEST(start_fails),
        TEST(starter_dies),
        TEST(freed_in_a_callback),
        TEST(much),
        TEST(limits),
        TEST(room),
        TEST(time_to_live),
        TEST(replaced),
        TEST(pool),
        TEST(notes),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
