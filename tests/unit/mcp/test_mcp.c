/* test_mcp.c - messages in, messages out, with a host that has no sandbox: both families of revisions,
 * headers, cancelling, progress, sessions, and what a hostile client sends.
 */
#include "tests/unit/unit.h"

#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "json/json.h"
#include "front/lease_call.h"
#include "mcp/mcp.h"
#include "mcp/mcp_lines.h"
#include "front/runner.h"

#define HANDLE "0123456789abcdef0123456789abcdef"
#define META                                                                 \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

struct fake { /* the host, and what was sent */
    struct runner_listener asked[8];
    size_t n_asked, n_forgotten, n_dropped, n_ended;
    char operation[40], arguments[400], sandbox[40], conversation[80];
    struct buf out; /* one message a line */
    struct mcp_delivery delivery;
    char session[40], handed_out[40];
    bool named; /* of what was asked last */
    struct mcp *mcp;
    struct mcp_link *link;
};

static int fake_ask(void *ctx, const struct mcp_invocation *q, struct lease_call *c, struct error *err)
{
    struct fake *f = ctx;
    autofree char *arguments = q->arguments ? json_print(q->arguments) : xstrdup("null");

    if (q->sandbox && strcmp(q->sandbox, HANDLE) != 0 && strcmp(q->sandbox, "new") != 0)
        return error_set(err, ERROR_USAGE, 0, "There is no sandbox with that handle.");
    snprintf(f->operation, sizeof f->operation, "%s", q->operation);
    snprintf(f->arguments, sizeof f->arguments, "%s", arguments);
    snprintf(f->conversation, sizeof f->conversation, "%s", q->conversation ? q->conversation : "-");
    f->named = q->named;
    memcpy(c->sandbox, HANDLE, MCP_ID + 1);
    c->made = q->sandbox && !strcmp(q->sandbox, "new");
    assert_true(f->n_asked < countof(f->asked));
    f->asked[f->n_asked++] = *q->listener;
    c->number = f->n_asked;
    return 0;
}

static void fake_leave(void *ctx, struct lease_call *c)
{
    struct fake *f = ctx;

    assert_string_equal(c->sandbox, HANDLE);
    assert_in_range(c->number, 1, f->n_asked);
    f->n_forgotten++;
    f->n_dropped += c->made;
}

static bool fake_has(void *ctx, const char *client, const char *conversation)
{
    (void)client;
    (void)conversation;
    return ((struct fake *)ctx)->n_asked > 0;
}

static void fake_end(void *ctx, const char *client, const char *conversation)
{
    (void)client;
    assert_memory_equal(conversation, "mcp-", 4);
    ((struct fake *)ctx)->n_ended++;
}

static void on_send(void *ctx, const char *text, size_t len, const struct mcp_delivery *delivery)
{
    struct fake *f = ctx;

    if (text) {
        assert_null(memchr(text, '\n', len));
        buf_add(&f->out, text, len);
        buf_addch(&f->out, '\n');
    }
    f->delivery = *delivery;
    if (delivery->session)
        snprintf(f->session, sizeof f->session, "%s", delivery->session);
    if (delivery->conversation)
        snprintf(f->handed_out, sizeof f->handed_out, "%s", delivery->conversation);
}

static void start(struct fake *f, const struct mcp_headers *headers)
{
    const struct mcp_host host = {f, fake_ask, fake_leave, fake_has, fake_end};
    const struct mcp_options o = {.host = &host, .separate = headers != NULL};
    const struct mcp_link_options l = {
        .client = "a", .headers = headers, .conversation = "mcp", .send = on_send, .ctx = f};

    *f = (struct fake){.out = BUF_INIT(0)};
    f->mcp = mcp_new(&o);
    f->link = mcp_open(f->mcp, &l);
}

static void finish(struct fake *f)
{
    mcp_close(f->link);
    mcp_free(f->mcp);
    buf_release(&f->out);
}

/* What came back; valid until the next. */
static const char *say(struct fake *f, const char *text)
{
    buf_clear(&f->out);
    f->delivery = (struct mcp_delivery){0};
    mcp_receive(f->link, text, strlen(text));
    return buf_str(&f->out);
}

static struct json *say_json(struct fake *f, const char *text)
{
    const char *out = say(f, text);

    return json_parse(out, strlen(out), 0, NULL, NULL);
}

static void has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("no %s in %s", part, text);
}

static void hostile_messages_get_an_error(void **state)
{
    (void)state;
    static const struct {
        const char *text, *id, *code;
    } rows[] = {
        {"", "null", "-32700"},
        {"{", "null", "-32700"},
        {"nonsense", "null", "-32700"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", "null", "-32700"},
        {"[]", "null", "-32600"},
        {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", "null", "-32600"},
        {"null", "null", "-32600"},
        {"7", "null", "-32600"},
        {"\"ping\"", "null", "-32600"},
        {"{}", "null", "-32600"},
        {"{\"id\":1,\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null,\"result\":{}}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1e300,\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":7}", "null", "-32600"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}", "1", "-32601"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", "1", "-32601"},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"tools/call\"}", "\"a\"", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":7}}", "1", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"rm\"}}", "1",
         "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
         "call\",\"params\":{\"name\":\"list_files\",\"arguments\":[]}}",
         "1", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{}}", "1", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///etc/"
         "passwd\"}}",
         "1", "-32002"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\"}", "1", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"loud\"}}",
         "1", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\"}", "1", "-32602"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":{" META "}}", "1", "-32601"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{" META "}}", "1", "-32601"},
    };
    struct fake f;

    start(&f, NULL);
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *id = xasprintf("\"id\":%s,", rows[i].id);
        autofree char *code = xasprintf("\"code\":%s,", rows[i].code);
        const char *out = say(&f, rows[i].text);

        has(out, id);
        has(out, code);
        assert_ptr_equal(strchr(out, '\n'), out + strlen(out) - 1);
        assert_true(f.delivery.last);
    }
    assert_string_equal(say(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"), "");
    assert_string_equal(say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unknown\",\"params\":{}}"),
                        "");
    assert_string_equal(say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}"), "");
    assert_int_equal(f.n_asked, 0);
    finish(&f);
}

static void deep_and_long_messages(void **state)
{
    (void)state;
    struct fake f;
    struct buf b autorelease(buf_release) = BUF_INIT(0);

    start(&f, NULL);
    for (int i = 0; i < 100000; i++)
        buf_addch(&b, '[');
    has(say(&f, buf_str(&b)), "-32700");
    buf_clear(&f.out);
    mcp_receive_too_long(f.link);
    has(buf_str(&f.out), "longer than 16 MiB");
    finish(&f);
}

static void initialize_agrees_on_a_revision(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *agreed;
    } rows[] = {{"2025-11-25", "2025-11-25"},
                {"2025-06-18", "2025-06-18"},
                {"2024-11-05", "2024-11-05"},
                {"1999-01-01", "2025-11-25"},
                {"2026-07-28", "2025-11-25"}};
    struct fake f;

    start(&f, NULL);
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                                        "\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{}}}",
                                        rows[i].asked);
        autofree char *part = xasprintf("\"protocolVersion\":\"%s\"", rows[i].agreed);

        has(say(&f, text), part);
        assert_null(strstr(buf_str(&f.out), "resultType"));
    }
    has(say(&f, "{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"ping\"}"),
        "\"id\":9007199254740993,\"result\":{}}");
    finish(&f);
}

static void the_new_revision_needs_no_beginning(void **state)
{
    (void)state;
    struct fake f;

    start(&f, NULL);
    struct json *d autojson = say_json(
        &f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}");
    const struct json *r = json_get(d, "result");
    assert_string_equal(json_text(json_get(r, "resultType")), "complete");
    assert_string_equal(json_text(json_at(json_get(r, "supportedVersions"), 0)), "2026-07-28");
    assert_string_equal(
        json_text(json_get(json_get(json_get(r, "_meta"), "io.modelcontextprotocol/serverInfo"), "name")),
        "sandpiper");
    assert_true(json_int(json_get(r, "ttlMs"), -1) > 0);
    has(say(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                "\"io.modelcontextprotocol/protocolVersion\":\"2030-01-01\","
                "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"),
        "\"requested\":\"2030-01-01\"");
    has(buf_str(&f.out), "-32022");
    has(say(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                "\"io.modelcontextprotocol/protocolVersion\":7,"
                "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"),
        "-32602");
    has(say(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}"),
        "\"cacheScope\":\"public\"");
    finish(&f);
}

static void every_tool_takes_a_sandbox(void **state)
{
    (void)state;
    static const char *const names[] = {"execute_python", "execute_command", "put_file",    "get_file",
                                        "list_files",     "reset_sandbox",   "fork_sandbox"};
    struct fake f;
    size_t i = 0;

    start(&f, NULL);
    struct json *d autojson = say_json(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
    const struct json *tools = json_get(json_get(d, "result"), "tools");
    for (const struct json *t = json_first(tools); t; t = json_next(t), i++) {
        const struct json *in = json_get(t, "inputSchema"), *out = json_get(t, "outputSchema");

        assert_string_equal(json_text(json_get(t, "name")), names[i]);
        assert_true(strlen(json_text(json_get(t, "description"))) > 20);
        assert_true(json_is(in, "object") && json_is(out, "object"));
        assert_non_null(json_get(json_get(in, "properties"), "sandbox"));
        assert_null(json_get(json_get(in, "properties"), "language"));
        assert_non_null(json_get(json_get(out, "properties"), "sandbox"));
        assert_null(json_get(json_get(out, "properties"), "path"));
        assert_false(json_bool(json_get(json_get(t, "annotations"), "openWorldHint"), true));
    }
    assert_int_equal(i, countof(names));
    assert_null(strstr(buf_str(&f.out), "$ref"));
    assert_null(strstr(buf_str(&f.out), "x-mcp-header"));
    finish(&f);
}

#define CALL(id, name, arguments, more)                                                         \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" name \
    "\",\"arguments\":" arguments more "}}"

static void done(struct fake *f, size_t i, const char *result)
{
    struct json *r autojson = json_parse(result, strlen(result), 0, NULL, NULL);

    assert_non_null(r);
    buf_clear(&f->out);
    f->asked[i].done(f->asked[i].ctx, r, NULL);
}

#define OK                                                                                                 \
    "{\"status\":\"ok\",\"output\":\"1\\n\",\"stdout\":\"1\\n\",\"stderr\":\"\",\"value\":null,\"error\":" \
    "null,"                                                                                                \
    "\"exit_code\":0,\"files\":[],\"data\":null,\"seconds\":0.5,\"state_lost\":false,\"state_restored\":"  \
    "false,\"notices\":[]}"

static void a_call_is_answered_when_it_is_done(void **state)
{
    (void)state;
    struct fake f;

    start(&f, NULL);
    assert_string_equal(say(&f, CALL("1", "execute_python", "{\"code\":\"print(1)\"}", "")), "");
    assert_string_equal(f.operation, "run_code");
    assert_string_equal(f.arguments, "{\"code\":\"print(1)\"}");
    assert_string_equal(f.conversation, "mcp");
    assert_null(f.asked[0].event);                             /* nobody wants to know */
    has(say(&f, CALL("1", "list_files", "{}", "")), "-32600"); /* the id is in use */
    done(&f, 0, OK);
    struct json *m autojson = json_parse(buf_str(&f.out), f.out.len, 0, NULL, NULL);
    const struct json *r = json_get(m, "result");
    assert_string_equal(json_text(json_get(json_at(json_get(r, "content"), 0), "text")), "1\n");
    assert_string_equal(json_text(json_get(json_get(r, "structuredContent"), "sandbox")), HANDLE);
    assert_false(json_bool(json_get(r, "isError"), true));
    finish(&f);
}

static void a_mistake_in_the_arguments_is_for_the_model(void **state)
{
    (void)state;
    static const struct {
        const char *text, *part;
    } rows[] = {
        {CALL("1", "execute_python", "{}", ""), "code"},
        {CALL("1", "execute_python", "{\"code\":7}", ""), "code"},
        {CALL("1", "execute_python", "{\"code\":\"1\",\"cod\":1}", ""), "cod"},
        {CALL("1", "execute_python", "{\"code\":\"1\",\"sandbox\":7}", ""), "sandbox"},
        {CALL("1", "execute_python", "{\"code\":\"1\",\"sandbox\":\"../x\"}", ""),
         "no sandbox with that handle"},
        {CALL("1", "put_file", "{\"name\":\"a\"}", ""), "content"},
        {CALL("1", "get_file", "{\"name\":\"\"}", ""), "name"},
    };
    struct fake f;

    start(&f, NULL);
    for (size_t i = 0; i < countof(rows); i++) {
        struct json *m autojson = say_json(&f, rows[i].text);
        const struct json *r = json_get(m, "result");

        assert_true(json_bool(json_get(r, "isError"), false));
        has(json_text(json_get(json_at(json_get(r, "content"), 0), "text")), rows[i].part);
    }
    assert_int_equal(f.n_asked, 0);
    finish(&f);
}

/* Read in one pass: if each were looked for among the others, they would keep a server from all its clients
 * for a quarter of a minute. */
static void many_arguments(void **state)
{
    (void)state;
    struct fake f;
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    start(&f, NULL);
    buf_addstr(&text, "{\"code\":\"1\"");
    for (unsigned i = 0; i < 40000; i++)
        buf_addf(&text, ",\"%x\":1", i);
    autofree char *call = xasprintf(CALL("1", "execute_python", "%s}", ""), buf_str(&text));
    clock_t began = clock();
    has(say(&f, call), "0: there is no such field");
    assert_true(clock() - began < 4 * CLOCKS_PER_SEC);
    finish(&f);
}

static void a_failing_cell_is_an_error_with_its_traceback(void **state)
{
    (void)state;
    struct fake f;

    start(&f, NULL);
    say(&f, CALL("1", "execute_python", "{\"code\":\"1/0\",\"sandbox\":\"" HANDLE "\"}", ""));
    done(&f, 0,
         "{\"status\":\"exception\",\"output\":\"before\",\"stdout\":\"before\",\"stderr\":\"\",\"value\":"
         "null,"
         "\"error\":{\"name\":\"ZeroDivisionError\",\"text\":\"division by "
         "zero\",\"traceback\":\"Traceback: division by zero\","
         "\"hint\":\"a "
         "hint\"},\"exit_code\":1,\"files\":[],\"data\":null,\"seconds\":1,\"state_lost\":false,\"state_"
         "restored\":false,"
         "\"notices\":[\"a notice\"]}");
    has(buf_str(&f.out), "\"text\":\"before\\nTraceback: division by zero\\na hint\\na notice\"");
    has(buf_str(&f.out), "\"isError\":true");
    finish(&f);
}

static void progress_and_notices_only_where_asked(void **state)
{
    (void)state;
    struct json *output autojson = json_object(), *notice autojson = json_object();
    struct fake f;

    json_set_str(output, "event", "output");
    json_set_str(output, "text", "tick\n");
    json_set_str(notice, "event", "notice");
    json_set_str(notice, "text", "careful");
    start(&f, NULL);
    say(&f, CALL("1", "execute_python", "{\"code\":\"1\"}", ",\"_meta\":{\"progressToken\":\"p\"}"));
    f.asked[0].event(f.asked[0].ctx, output);
    f.asked[0].event(f.asked[0].ctx, output);
    f.asked[0].event(f.asked[0].ctx, notice);
    assert_string_equal(
        buf_str(&f.out),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"p\","
        "\"progress\":5,\"message\":\"tick\\n\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"p\","
        "\"progress\":10,\"message\":\"tick\\n\"}}\n");
    assert_false(f.delivery.last);
    say(&f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"info\"}}");
    buf_clear(&f.out);
    f.asked[0].event(f.asked[0].ctx, notice);
    has(buf_str(&f.out), "notifications/message");
    /* the new revision asks with each request */
    say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/"
            "call\",\"params\":{\"name\":\"list_files\",\"_meta\":{"
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"progressToken\":7,"
            "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    buf_clear(&f.out);
    f.asked[1].event(f.asked[1].ctx, notice);
    assert_string_equal(buf_str(&f.out), "");
    f.asked[1].event(f.asked[1].ctx, output);
    has(buf_str(&f.out), "\"progressToken\":7");
    finish(&f);
    assert_int_equal(f.n_forgotten, 2); /* the client went away from both */
}

static void a_cancel_interrupts_and_is_not_answered(void **state)
{
    (void)state;
    struct fake f;

    start(&f, NULL);
    say(&f, CALL("\"x\"", "execute_python", "{\"code\":\"1\"}", ""));
    say(&f, CALL("2", "execute_python", "{\"code\":\"2\"}", ""));
    say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"2\"}}");
    assert_int_equal(f.n_forgotten, 0); /* "2" is not 2 */
    assert_string_equal(
        say(&f,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"x\"}}"),
        "");
    assert_int_equal(f.n_forgotten, 1);
    done(&f, 1, OK);
    has(buf_str(&f.out), "\"id\":2,");
    finish(&f);
    assert_int_equal(f.n_forgotten, 1);
}

/* Only the answer would have told the client of the new sandbox. */
static void a_sandbox_that_nobody_was_told_of_is_ended(void **state)
{
    (void)state;
    struct fake f;

    start(&f, NULL);
    say(&f, CALL("1", "execute_python", "{\"code\":\"1\",\"sandbox\":\"new\"}", ""));
    say(&f, CALL("2", "execute_python", "{\"code\":\"1\",\"sandbox\":\"new\"}", ""));
    say(&f, CALL("3", "execute_python", "{\"code\":\"1\",\"sandbox\":\"" HANDLE "\"}", ""));
    say(&f, CALL("4", "execute_python", "{\"code\":\"1\"}", ""));
    done(&f, 0, OK);
    say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}");
    assert_int_equal(f.n_dropped, 1);
    finish(&f); /* the client leaves */
    assert_int_equal(f.n_forgotten, 3);
    assert_int_equal(f.n_dropped, 1);
}

static void figures_are_images_and_files_are_links(void **state)
{
    (void)state;
    char path[] = "/tmp/test_mcp.XXXXXX";
    int fd = mkstemp(path);
    struct fake f;

    assert_int_equal(write(fd, "\x89PNG", 4), 4);
    close(fd);
    autofree char *result = xasprintf(
        "{\"status\":\"ok\",\"output\":\"\",\"stdout\":\"\",\"stderr\":\"\",\"value\":null,\"error\":null,"
        "\"exit_code\":0,"
        "\"files\":[{\"name\":\"figure-1.png\",\"size\":4,\"type\":\"image/"
        "png\",\"kind\":\"figure\",\"path\":\"%s\"},"
        "{\"name\":\"a b/\xc3\xa4.csv\",\"size\":9,\"type\":\"text/csv\",\"kind\":\"file\",\"path\":\"%s\"}],"
        "\"data\":null,\"seconds\":1,\"state_lost\":false,\"state_restored\":false,\"notices\":[]}",
        path, path);
    start(&f, NULL);
    say(&f, CALL("1", "execute_python", "{\"code\":\"1\"}", ""));
    done(&f, 0, result);
    has(buf_str(&f.out), "{\"type\":\"image\",\"data\":\"iVBORw==\",\"mimeType\":\"image/png\"}");
    has(buf_str(&f.out), "{\"type\":\"resource_link\",\"uri\":\"sandpiper://" HANDLE "/a%20b/%C3%A4.csv\"");
    assert_null(strstr(buf_str(&f.out), path));
    say(&f, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/read\",\"params\":{\"uri\":"
            "\"sandpiper://" HANDLE "/a%20b/%C3%A4.csv\"}}");
    assert_string_equal(f.operation, "get_file");
    assert_string_equal(f.arguments, "{\"name\":\"a b/\xc3\xa4.csv\"}");
    autofree char *got = xasprintf("{\"name\":\"x\",\"size\":4,\"type\":\"image/png\",\"path\":\"%s\"}",
                                   path);
    done(&f, 1, got);
    has(buf_str(&f.out), "\"blob\":\"iVBORw==\"");
    /* a client of before resource links gets a line */
    say(&f, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2024-"
            "11-05\"}}");
    say(&f, CALL("3", "execute_python", "{\"code\":\"1\"}", ""));
    done(&f, 2, result);
    assert_null(strstr(buf_str(&f.out), "resource_link"));
    has(buf_str(&f.out), "file: a b/");
    finish(&f);
    unlink(path);
}

static void addresses_of_files(void **state)
{
    (void)state;
    static const char *const none[] = {
        "sandpiper://",
        "sandpiper://x/y",
        "sandpiper://" HANDLE,
        "sandpiper://" HANDLE "/",
        "sandpiper://" HANDLE "/%",
        "sandpiper://" HANDLE "/%0",
        "sandpiper://" HANDLE "/a%00",
        "sandpiper://" HANDLE "/%ff",
        "http://" HANDLE "/a",
        "sandpiper://../../etc/passwd",
    };
    struct fake f;

    start(&f, NULL);
    for (size_t i = 0; i < countof(none); i++) {
        autofree char *text = xasprintf(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"%s\"," META
            "}}",
            none[i]);

        has(say(&f, text), "-32602");
        has(buf_str(&f.out), none[i]);
    }
    assert_int_equal(f.n_asked, 0);
    finish(&f);
}

static void headers_must_agree(void **state)
{
    (void)state;
    static const struct {
        struct mcp_headers h;
        const char *message, *part;
        int status;
    } rows[] = {
        {{.version = "2026-07-28", .method = "tools/list"},
         "tools/list\",\"params\":{" META "}",
         "\"tools\"",
         200},
        {{.version = "2026-07-28", .method = " tools/list\t"},
         "tools/list\",\"params\":{" META "}",
         "\"tools\"",
         200},
        {{.version = "2026-07-28", .method = "prompts/list"},
         "tools/list\",\"params\":{" META "}",
         "-32020",
         400},
        {{.version = "2026-07-28", .method = "TOOLS/LIST"},
         "tools/list\",\"params\":{" META "}",
         "-32020",
         400},
        {{.version = "2026-07-28"}, "tools/list\",\"params\":{" META "}", "-32020", 400},
        {{.method = "tools/list"}, "tools/list\",\"params\":{" META "}", "-32020", 400},
        {{.version = "2025-11-25", .method = "tools/list"},
         "tools/list\",\"params\":{" META "}",
         "-32020",
         400},
        {{.version = "2026-07-28", .method = "tools/list"}, "tools/list\",\"params\":{}", "-32602", 400},
        {{.version = "v999", .method = "tools/list"}, "tools/list\"", "-32022", 400},
        {{.version = "2026-07-28", .method = "nope"}, "nope\",\"params\":{" META "}", "-32601", 404},
        {{.version = "2026-07-28", .method = "ping"}, "ping\",\"params\":{" META "}", "-32601", 404},
        {{.version = "2025-11-25"}, "nope\"", "-32601", 200},
        {{.version = "2025-11-25"}, "ping\"", "\"result\":{}", 200},
        {{.version = NULL}, "ping\"", "\"result\":{}", 200},
        {{.version = "2025-11-25", .session = "gone"}, "ping\"", "", 404},
        {{.version = "2026-07-28", .method = "tools/call"},
         "tools/call\",\"params\":{\"name\":\"list_files\"," META "}",
         "Mcp-Name",
         400},
        {{.version = "2026-07-28", .method = "tools/call", .name = "get_file"},
         "tools/call\",\"params\":{\"name\":\"list_files\"," META "}",
         "Mcp-Name",
         400},
        {{.version = "2026-07-28", .method = "tools/call", .name = "list_files", .sandbox = "a"},
         "tools/call\",\"params\":{\"name\":\"list_files\"," META "}",
         "Mcp-Param-Sandbox",
         400},
        {{.version = "2026-07-28", .method = "tools/call", .name = "list_files"},
         "tools/call\",\"params\":{\"name\":\"list_files\",\"arguments\":{\"sandbox\":\"a\"}," META "}",
         "Mcp-Param-Sandbox",
         400},
        {{.version = "2026-07-28",
          .method = "tools/call",
          .name = "=?base64?bGlzdF9maWxlcw==?=",
          .sandbox = "=?base64?YQ=="},
         "tools/"
         "call\",\"params\":{\"name\":\"list_files\",\"arguments\":{\"sandbox\":\"=?base64?YQ==\"}," META "}",
         "no sandbox with that handle",
         200},
        {{.version = "2026-07-28", .method = "tools/call", .name = "=?base64?bGlzdF9maWxlcw?="},
         "tools/call\",\"params\":{\"name\":\"list_files\"," META "}",
         "Mcp-Name",
         400},
    };

    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *text = xasprintf("{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s}", rows[i].message);
        struct fake f;

        start(&f, &rows[i].h);
        has(say(&f, text), rows[i].part);
        assert_int_equal(f.delivery.status, rows[i].status);
        assert_true(f.delivery.last);
        finish(&f);
    }
}

static struct mcp_link *post_of(struct fake *f, const char *client, const struct mcp_headers *h)
{
    const struct mcp_link_options l = {.client = client, .headers = h, .send = on_send, .ctx = f};

    return mcp_open(f->mcp, &l);
}

/* Another POST of the same client. */
static struct mcp_link *post(struct fake *f, const struct mcp_headers *h)
{
    return post_of(f, "a", h);
}

static void a_session_over_posts(void **state)
{
    (void)state;
    const struct mcp_headers none = {0};
    struct fake f;

    start(&f, &none);
    has(say(&f, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
                "\"2025-11-25\"}}"),
        "2025-11-25");
    assert_int_equal(strlen(f.session), MCP_ID);
    const struct mcp_headers h = {.version = "2025-11-25", .session = f.session};
    mcp_close(f.link);
    f.link = post(&f, &h);
    assert_string_equal(say(&f, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), "");
    assert_int_equal(f.delivery.status, 202);
    assert_string_equal(say(&f, CALL("1", "execute_python", "{\"code\":\"1\"}", "")), "");
    autofree char *conversation = xasprintf("mcp-%s", f.session);
    assert_string_equal(f.conversation, conversation);
    assert_string_equal(f.handed_out, "");
    struct mcp_link *other = post(&f, &h);
    const char *cancel =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":1}}";
    const char *cancel2 =
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}";
    const char *list = "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/list\"}";
    mcp_receive(other, cancel, strlen(cancel));
    assert_int_equal(f.n_forgotten, 1);
    mcp_close(other);
    say(&f, CALL("2", "execute_python", "{\"code\":\"1\"}", ""));
    other = post_of(&f, "b",
                    &h); /* another client, whatever id it sends, has no such session and no such call */
    mcp_receive(other, cancel2, strlen(cancel2));
    assert_int_equal(f.n_forgotten, 1);
    mcp_receive(other, list, strlen(list));
    assert_int_equal(f.delivery.status, 404);
    mcp_close(other);
    assert_false(mcp_end_session(f.mcp, "b", f.session));
    assert_true(mcp_end_session(f.mcp, "a", f.session));
    assert_int_equal(f.n_forgotten, 2);
    assert_int_equal(f.n_ended, 1);
    assert_false(mcp_end_session(f.mcp, "a", f.session));
    mcp_close(f.link);
    f.link = post(&f, &h);
    say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}");
    assert_int_equal(f.delivery.status, 404);
    finish(&f);
}

static void a_post_without_session_tells_the_model_its_handle(void **state)
{
    (void)state;
    const struct mcp_headers h = {.version = "2026-07-28", .method = "tools/call", .name = "execute_python"};
    struct fake f;

    start(&f, &h);
    say(&f, CALL("1", "execute_python", "{\"code\":\"1\"}", "," META));
    assert_false(f.named);
    done(&f, 0, OK);
    has(buf_str(&f.out), "New sandbox " HANDLE);
    has(buf_str(&f.out), "pass \\\"sandbox\\\": \\\"" HANDLE);

    /* What was handed out names the same conversation the next time, and the model need not be told. */
    autofree char *conversation = xasprintf("mcp-%s", f.handed_out);
    assert_string_equal(f.conversation, conversation);
    autofree char *brought = xstrdup(f.handed_out);
    const struct mcp_headers known = {
        .version = h.version, .method = h.method, .name = h.name, .conversation = brought};
    mcp_close(f.link);
    f.link = post(&f, &known);
    f.handed_out[0] = 0;
    say(&f, CALL("2", "execute_python", "{\"code\":\"1\"}", "," META));
    assert_true(f.named);
    assert_string_equal(f.conversation, conversation);
    done(&f, 1, OK);
    assert_null(strstr(buf_str(&f.out), "New sandbox"));
    assert_string_equal(f.handed_out, "");
    finish(&f);
}

/* What is no id of ours is not taken as one; a chat that the client names is kept as its hash. */
static void what_a_post_is_known_by(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "x", HANDLE "0", "0123456789ABCDEF0123456789ABCDEF",
                                      "../../../etc/passwd"};
    struct mcp_headers h = {.version = "2026-07-28", .method = "tools/call", .name = "execute_python"};
    struct fake f;

    for (size_t i = 0; i < countof(bad); i++) {
        h.conversation = bad[i];
        start(&f, &h);
        say(&f, CALL("1", "execute_python", "{\"code\":\"1\"}", "," META));
        assert_false(f.named);
        done(&f, 0, OK);
        assert_int_equal(strlen(f.handed_out), MCP_ID);
        assert_string_not_equal(f.handed_out, bad[i]);
        finish(&f);
    }
    h.conversation = NULL;
    start(&f, &h);
    say(&f, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"execute_python\","
            "\"arguments\":{\"code\":\"1\"},\"_meta\":{\"openai/session\":\"v1/abc\","
            "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
            "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");
    assert_true(f.named);
    assert_memory_equal(f.conversation, "mcp-chat-", 9);
    assert_null(strstr(f.conversation, "abc"));
    finish(&f);
}

/* The oldest of too many sessions is dropped, with its sandbox; nothing grows. */
static void sessions_are_bounded(void **state)
{
    (void)state;
    const struct mcp_headers none = {0};
    struct fake f;

    start(&f, &none);
    char session[MCP_ID + 1];
    for (int i = 0; i < 300; i++) {
        struct mcp_link *l = post(&f, &none);
        const char *hello = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                            "\"protocolVersion\":\"2025-11-25\"}}";

        mcp_receive(l, hello, strlen(hello));
        mcp_close(l);
    }
    assert_int_equal(f.n_ended, 300 - 256);
    memcpy(session, f.session, sizeof session);
    const struct mcp_headers last = {.version = "2025-11-25", .session = session};
    for (int i = 0; i < 300; i++) { /* those of another client push out none of them */
        struct mcp_link *l = post_of(&f, "b", &none);
        const char *hello = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                            "\"protocolVersion\":\"2025-11-25\"}}";

        mcp_receive(l, hello, strlen(hello));
        mcp_close(l);
    }
    assert_int_equal(f.n_ended, 2 * (300 - 256));
    mcp_close(f.link);
    f.link = post(&f, &last);
    say(&f, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}");
    assert_int_equal(f.delivery.status, 200);
    finish(&f);
}

static void add_line(void *ctx, const char *text, size_t len)
{
    if (text)
        buf_add(ctx, text, len);
    else
        buf_addstr(ctx, "<long>");
    buf_addch(ctx, '|');
}

static void lines_however_they_are_cut(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":1}\n\n \r\n{\"b\":\"\xc3\xa4\"}\r\nlast";

    for (size_t cut = 0; cut < sizeof text; cut++) {
        struct buf out autorelease(buf_release) = BUF_INIT(0);
        struct mcp_lines l autorelease(mcp_lines_release) = {0};

        mcp_lines_init(&l, add_line, &out);
        mcp_lines_feed(&l, text, cut);
        mcp_lines_feed(&l, text + cut, sizeof text - 1 - cut);
        mcp_lines_end(&l);
        assert_string_equal(buf_str(&out), "{\"a\":1}|{\"b\":\"\xc3\xa4\"}\r|last|");
    }
}

static void a_long_line_is_not_kept(void **state)
{
    (void)state;
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct mcp_lines l autorelease(mcp_lines_release) = {0};
    char piece[65536];

    memset(piece, 'x', sizeof piece);
    mcp_lines_init(&l, add_line, &out);
    for (int i = 0; i < 1600; i++) { /* 100 MB */
        mcp_lines_feed(&l, piece, sizeof piece);
        assert_true(l.line.alloc <= 2 * MCP_MESSAGE_MAX);
    }
    mcp_lines_feed(&l, "\n{}\n", 4);
    assert_string_equal(buf_str(&out), "<long>|{}|");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hostile_messages_get_an_error),
        cmocka_unit_test(deep_and_long_messages),
        cmocka_unit_test(initialize_agrees_on_a_revision),
        cmocka_unit_test(the_new_revision_needs_no_beginning),
        cmocka_unit_test(every_tool_takes_a_sandbox),
        cmocka_unit_test(a_call_is_answered_when_it_is_done),
        cmocka_unit_test(a_mistake_in_the_arguments_is_for_the_model),
        cmocka_unit_test(many_arguments),
        cmocka_unit_test(a_failing_cell_is_an_error_with_its_traceback),
        cmocka_unit_test(progress_and_notices_only_where_asked),
        cmocka_unit_test(a_cancel_interrupts_and_is_not_answered),
        cmocka_unit_test(a_sandbox_that_nobody_was_told_of_is_ended),
        cmocka_unit_test(figures_are_images_and_files_are_links),
        cmocka_unit_test(addresses_of_files),
        cmocka_unit_test(headers_must_agree),
        cmocka_unit_test(a_session_over_posts),
        cmocka_unit_test(a_post_without_session_tells_the_model_its_handle),
        cmocka_unit_test(what_a_post_is_known_by),
        cmocka_unit_test(sessions_are_bounded),
        cmocka_unit_test(lines_however_they_are_cut),
        cmocka_unit_test(a_long_line_is_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
