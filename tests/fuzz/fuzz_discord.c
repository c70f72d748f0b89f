/* fuzz_discord.c - what a gateway sends, from the bytes of the connection to a message for us, and what cuts
 * a long answer. Messages are the same however the bytes are cut, and none is longer than it may be. A
 * message that is taken has ids of digits alone, since they become parts of paths. No piece is longer than
 * it may be.
 */
#include "tests/fuzz/fuzz.h"

#include "base/argv.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "bot/discord_read.h"
#include "bot/discord_rest.h"
#include "bot/pieces.h"
#include "json/json.h"
#include "net/websocket.h"

#define MOST 4096

static void check_message(const struct json *data)
{
    struct discord_message m;

    if (!discord_message_read(data, "100", &m))
        return;
    check(discord_is_id(m.id) && discord_is_id(m.channel) && discord_is_id(m.user));
    check(!m.server || discord_is_id(m.server));
    check(!m.replied || discord_is_id(m.replied));
    check(m.text && m.files && json_size(m.files) <= 100);
    discord_message_release(&m);
}

static void check_payload(const char *text, size_t len)
{
    struct discord_payload p;
    struct error err = {0};

    if (discord_payload_read(text, len, &p, &err) < 0) {
        check(err.kind != ERROR_NONE);
        return;
    }
    check(p.op >= 0 && p.op <= 255 && p.type);
    check_message(p.data);
    discord_payload_release(&p);
}

/* All messages behind each other; step 0: at once. Returns what ended it. */
static enum websocket_kind read_all(const char *s, size_t size, uint32_t seed, struct buf *out)
{
    enum websocket_kind kind = WEBSOCKET_MORE;
    struct websocket w;
    struct error err = {0};
    int code;

    websocket_init(&w, MOST);
    w.open = true;
    for (size_t at = 0, n; at < size && kind != WEBSOCKET_BROKEN && kind != WEBSOCKET_CLOSE; at += n) {
        n = seed ? fuzz_piece(&seed, size - at) : size - at;
        n = n < 1000 ? n : 1000;
        check(websocket_feed(&w, s + at, n));
        while ((kind = websocket_next(&w, &code, &err)) == WEBSOCKET_TEXT) {
            check(w.message.len <= MOST);
            buf_addf(out, "%zu:", w.message.len);
            buf_add(out, buf_str(&w.message), w.message.len);
        }
    }
    check(kind != WEBSOCKET_BROKEN || err.kind != ERROR_NONE);
    websocket_release(&w);
    return kind;
}

static void check_pieces(const char *s)
{
    struct argv pieces autorelease(argv_release) = ARGV_INIT;
    struct buf text autorelease(buf_release) = BUF_INIT(0);

    utf8_repair(&text, s, strlen(s));
    pieces_cut(buf_str(&text), 100, &pieces);
    for (size_t i = 0; i < pieces.n; i++) {
        check(!pieces.v[i][pieces_fit(pieces.v[i], 100)]);
        check(utf8_valid(pieces.v[i], strlen(pieces.v[i])));
    }
    check(pieces.n > 0 || text_is_blank(buf_str(&text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *s = fuzz_exact(data, size), *text = xmemdup0(data, size);
    struct buf whole = BUF_INIT(0), cut = BUF_INIT(0);
    struct websocket w;
    struct error err = {0};
    int code;

    check(read_all(s, size, 0, &whole) == read_all(s, size, (uint32_t)size * 2 + 1, &cut));
    check(whole.len == cut.len && memcmp(buf_str(&whole), buf_str(&cut), whole.len) == 0);
    websocket_init(&w, MOST);
    websocket_ask(&w, "localhost", "/");
    websocket_feed(&w, s, size);
    check(websocket_next(&w, &code, &err) != WEBSOCKET_OPEN);
    websocket_release(&w);
    check_payload(s, size);
    check_pieces(text);
    free(rest_route("GET", text));
    buf_release(&whole);
    buf_release(&cut);
    free(text);
    free(s);
    return 0;
}
