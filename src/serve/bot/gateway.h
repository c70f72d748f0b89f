/* gateway.h - the connection over which Discord tells what happens: hello, heartbeats, identify or resume,
 * reconnects, and which closes are final. Whoever has it hears of dispatches only.
 */
#ifndef BOT_GATEWAY_H
#define BOT_GATEWAY_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct gateway;
struct json;
struct loop;
struct transfers;

struct gateway_options { /* borrowed */
    struct loop *loop;
    struct transfers *transfers;
    const char *token;
    int intents;
    bool verbose;
    void (*log)(const char *line);
    /* Ask Discord where the gateway is, and call gateway_connect(). */
    void (*wanted)(void *ctx);
    void (*dispatch)(void *ctx, const char *type, const struct json *data);
    /* The state that a later process can resume from has changed. soon: it need not be kept at once. */
    void (*changed)(void *ctx);
    void (*fatal)(void *ctx, const struct error *err);
    void *ctx;
};

struct gateway *gateway_new(const struct gateway_options *o);
/* Closes without a word, so that the session can be resumed. */
void gateway_free(struct gateway *g);
/* Connects to the gateway, which is there (wss://...). A session that is resumed later may go to other names
 * of the same domain only. */
void gateway_connect(struct gateway *g, const char *url);
/* {"session", "url", "resume_url", "seq"}, for another process to go on from. The caller frees. */
struct json *gateway_state(const struct gateway *g);
/* Goes on from such a state; false: there is nothing to go on from. */
bool gateway_resume(struct gateway *g, const struct json *state);

#endif
