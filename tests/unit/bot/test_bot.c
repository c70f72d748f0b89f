/* The pure parts of a bot: the pieces of an answer, routes of Discord's API, messages that are for us, what
 * close codes mean. */
#include "tests/unit/unit.h"

#include "base/argv.h"
#include "base/buf.h"
#include "base/mem.h"
#include "bot/discord_read.h"
#include "bot/discord_rest.h"
#include "bot/pieces.h"
#include "json/json.h"

static void pieces(void **state)
{
    struct argv out autorelease(argv_release) = ARGV_INIT;
    char text[400];

    (void)state;
    pieces_cut("short", 64, &out);
    pieces_cut(" \n", 64, &out);
    assert_int_equal(out.n, 1);
    assert_string_equal(out.v[0], "short");

    snprintf(text, sizeof text, "%.50s\n\n%.50s", "a b c d e f g h i j k l m n o p q r s t u v w x y z",
             "A B C D E F G H I J K L M N O P Q R S T U V W X Y Z");
    pieces_cut(text, 100, &out);
    assert_int_equal(out.n, 3);
    assert_int_equal(out.v[1][0], 'a');
    assert_int_equal(out.v[2][0], 'A');
}

static void fences_stay_whole(void **state)
{
    struct argv out autorelease(argv_release) = ARGV_INIT;
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    (void)state;
    buf_addstr(&text, "Look:\n````py\n");
    for (int i = 0; i < 40; i++)
        buf_addf(&text, "line %d\n", i);
    buf_addstr(&text, "```\n````\nend");
    pieces_cut(buf_str(&text), 120, &out);
    assert_true(out.n > 3);
    for (size_t i = 0; i < out.n; i++) {
        assert_int_equal(out.v[i][pieces_fit(out.v[i], 120)], 0);
        if (i > 0)
            assert_memory_equal(out.v[i], "````py\n", 7);
        if (i + 1 < out.n)
            assert_string_equal(out.v[i] + strlen(out.v[i]) - 5, "\n````");
    }
}

static void routes(void **state)
{
    static const char *const rows[][2] = {
        {"/channels/12/messages", "POST /channels/12/messages"},
        {"/channels/12/messages/34/threads", "POST /channels/12/messages/:id/threads"},
        {"/channels/12/messages?after=5", "POST /channels/12/messages"},
        {"/users/77", "POST /users/:id"},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        autofree char *route = rest_route("POST", rows[i][0]);

        assert_string_equal(route, rows[i][1]);
    }
}

static void no_more_is_read_than_fits(void **state)
{
    size_t len = 4 * 64 + 4;
    char *text = xmalloc(len); /* with no end: ASan sees who looks for it */

    (void)state;
    memset(text, 'x', len);
    assert_int_equal(pieces_fit(text, 64), 64);
    free(text);
}

#define BY_A_PERSON "\"id\":\"7\",\"channel_id\":\"8\",\"author\":{\"id\":\"9\"}"
#define OF_A_SERVER BY_A_PERSON ",\"guild_id\":\"3\""
#define MENTIONED   ",\"mentions\":[{\"id\":\"1\",\"username\":\"bot\"},{\"id\":\"2\",\"username\":\"ann\"}]"

static void messages(void **state)
{
    static const struct {
        const char *text, *taken; /* taken: the text; NULL: it is not for us */
    } rows[] = {
        {"{" BY_A_PERSON ",\"content\":\" hi \"}", "hi"},
        {"{" OF_A_SERVER ",\"content\":\"hi\"}", NULL},
        {"{" OF_A_SERVER MENTIONED ",\"content\":\"<@1> ask <@!2> <@5> <@x\"}", "ask @ann <@5> <@x"},
        {"{" OF_A_SERVER ",\"content\":\"\",\"referenced_message\":{\"id\":\"4\",\"author\":{\"id\":\"1\"}}}",
         ""},
        {"{" OF_A_SERVER MENTIONED ",\"content\":\"x\",\"type\":6}", NULL},
        {"{" BY_A_PERSON ",\"content\":\"x\",\"webhook_id\":\"1\"}", NULL},
        {"{\"id\":\"7\",\"channel_id\":\"8\",\"author\":{\"id\":\"9\",\"bot\":true},\"content\":\"x\"}",
         NULL},
        {"{\"id\":\"7\",\"channel_id\":\"8\",\"author\":{\"id\":\"1\"},\"content\":\"x\"}", NULL},
        {"{\"id\":\"../7\",\"channel_id\":\"8\",\"author\":{\"id\":\"9\"},\"content\":\"x\"}", NULL},
        {"{\"id\":\"7\",\"channel_id\":\"8/../9\",\"author\":{\"id\":\"9\"},\"content\":\"x\"}", NULL},
        {"{\"id\":7,\"channel_id\":8,\"author\":[],\"content\":\"x\"}", NULL},
        {"[]", NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        autojson struct json *j = json_parse(rows[i].text, strlen(rows[i].text), 0, NULL, NULL);
        struct discord_message m;

        assert_non_null(j);
        if (discord_message_read(j, "1", &m) != (rows[i].taken != NULL))
            fail_msg("row %zu", i);
        if (rows[i].taken)
            assert_string_equal(m.text, rows[i].taken);
        assert_null(m.quoted);
        assert_false(m.hidden);
        discord_message_release(&m);
    }
}

static void close_codes(void **state)
{
    const char *why;

    (void)state;
    for (int code = 4000; code < 4020; code++)
        assert_int_equal(discord_close(code, &why),
                         code == 4004 || (code >= 4010 && code <= 4014) ? DISCORD_FATAL
                         : code == 4003 || code == 4007 || code == 4009 ? DISCORD_IDENTIFIES
                                                                        : DISCORD_RESUMES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces),      cmocka_unit_test(fences_stay_whole),
        cmocka_unit_test(routes),      cmocka_unit_test(messages),
        cmocka_unit_test(close_codes), cmocka_unit_test(no_more_is_read_than_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
