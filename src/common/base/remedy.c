/* remedy.c - the table of advice: for each remedy its words for the command line and for the chat.
 *
 * RULE: An error's remedy is said in the words of the command line or of the chat, and nowhere but here.
 */
#include "base/remedy.h"

#include <stddef.h>

#define START   "Start sandpiper again with "
#define RESTART "start sandpiper again with "
#define MODEL   "choose another model: /model NAME"

struct words {
    const char *shell, *chat;
}; /* chat NULL: the same text in the chat */

static const struct words table[REMEDY_END] = {
    [REMEDY_NONE] = {"", NULL},

    [REMEDY_USE_OTHER_MODEL] = {"use another model", MODEL},
    [REMEDY_NAME_MODEL] = {"Name another with -m MODEL", "Choose another: /model NAME"},
    [REMEDY_SMALLER_MODEL] = {"use a smaller model", "choose a smaller one: /model NAME"},
    [REMEDY_REPHRASE] = {"Rephrase the question, or choose another model with -m MODEL",
                         "Rephrase, or " MODEL},
    [REMEDY_LESS_CONTEXT] =
        {"Ask for less at once, start a new session, or use a model with a larger context window",
         "Ask for less at once, clear the conversation with /clear, or choose a model with a larger context "
         "window: /model NAME"},
    [REMEDY_BODY_LIMIT] =
        {"Attach less, or start a new session; the limit may be a proxy's (nginx: client_max_body_size)",
         "Attach less, or clear the conversation with /clear; the limit may be a proxy's (nginx: "
         "client_max_body_size)"},
    [REMEDY_OTHER_REGION] =
        {"It is not available in the country or region of this machine; --provider NAME uses another service",
         "It is not available in the country or region of this machine; " RESTART
         "--provider NAME for another service"},
    [REMEDY_FIREWALL] = {"A proxy or firewall may have sent this page; check the base URL and the network",
                         NULL},
    [REMEDY_COMPUTE_AGAIN] = {"--verify computes it again", "/check computes it again"},
    [REMEDY_ASK_OR_MODEL] = {"Ask again, or use another model", "Ask again, or " MODEL},

    [REMEDY_DIALECT_BLOCKS] =
        {"It does not support tools for this model; --dialect blocks asks for code as text",
         "It does not support tools for this model; choose another (/model NAME), or " RESTART
         "--dialect blocks"},
    [REMEDY_BAD_CALL] =
        {"The server could not read the model's tool call; ask again, or try --dialect blocks",
         "The server could not read the model's tool call; ask again, or " RESTART "--dialect blocks"},
    [REMEDY_NO_STREAM] = {"Use --no-stream", START "--no-stream"},
    [REMEDY_NO_TEMPERATURE] = {"Leave --temperature out, or use another model",
                               "Start sandpiper again without --temperature, or " MODEL},
    [REMEDY_NO_SUMMARY] = {"Leave --show-reasoning out, or use another model",
                           "Start sandpiper again without --show-reasoning, or " MODEL},
    [REMEDY_NO_EFFORT] = {"Leave --reasoning-effort out, or use another model",
                          "Start sandpiper again without --reasoning-effort, or " MODEL},
    [REMEDY_ALLOWED_MAX_TOKENS] = {"Set --max-tokens to what it allows",
                                   START "a --max-tokens that it allows"},
    [REMEDY_API_CHAT] = {"Ask with --api chat_completions", START "--api chat_completions"},
    [REMEDY_USUAL_API] = {"it may not have this API; --api chat_completions is the usual one",
                          "it may not have this API; " RESTART "--api chat_completions, the usual one"},
    [REMEDY_TRACE] = {"--trace FILE shows what was sent", START "--trace FILE to see what is sent"},
    [REMEDY_NOT_UNDERSTOOD] =
        {"Ask again, perhaps with --no-stream; --trace FILE records it for a bug report",
         "Ask again, or " RESTART "--no-stream; --trace FILE records it for a bug report"},

    [REMEDY_MAX_TOKENS] = {"--max-tokens allows more", RESTART "more --max-tokens"},
    [REMEDY_MAX_TOKENS_TOTAL] = {"--max-tokens-total allows more", RESTART "more --max-tokens-total"},
    [REMEDY_MAX_ROUNDS] = {"--max-rounds allows more", RESTART "more --max-rounds"},
    [REMEDY_MAX_TIME] = {"--max-time allows more", RESTART "a longer --max-time"},
    [REMEDY_IDLE_TIMEOUT] = {"Is it still working? --idle-timeout TIME waits longer",
                             "Is it still working? " START "a longer --idle-timeout"},

    [REMEDY_CHECK_NETWORK] = {"Check the network, then ask again", NULL},
    [REMEDY_CHECK_URL] = {"Check the base URL and the network", NULL},
    [REMEDY_HTTP_URL] = {"Should the base URL start with http:// ?", NULL},
    [REMEDY_REDIRECT_HOST] = {"That is another host, so your key was not sent there. Check the base URL",
                              NULL},
    [REMEDY_SERVER_RUNNING] = {"Is the server running?", NULL},
    [REMEDY_NO_SERVICE] = {"Is it a model service? check the base URL", NULL},
    [REMEDY_PROXY_CREDENTIALS] =
        {"The proxy wants credentials: http://USER:PASSWORD@HOST:PORT in HTTPS_PROXY or http_proxy",
         "The proxy wants credentials. Quit, export HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT, start again"},
    [REMEDY_PROXY_REFUSES] = {"It is set by HTTPS_PROXY; NO_PROXY lists hosts that need no proxy",
                              "It is set by HTTPS_PROXY; NO_PROXY lists hosts that need no proxy. Quit, "
                              "export either, start again"},
    [REMEDY_PROXY_UNREACHABLE] =
        {"It is set by HTTPS_PROXY, http_proxy or ALL_PROXY; NO_PROXY lists hosts that need no proxy",
         "It is set by HTTPS_PROXY, http_proxy or ALL_PROXY. Quit, correct it, start again"},
    [REMEDY_PROXY_DOWN] = {"The proxy is set by HTTPS_PROXY, http_proxy or ALL_PROXY; is it running?", NULL},
    [REMEDY_CERTIFICATE] = {"Trust the certificate of its issuer: --ca-cert FILE",
                            "Quit, start again with the certificate of its issuer: --ca-cert FILE"},
    [REMEDY_CERTIFICATE_FILE] = {"Give a readable file in PEM format: --ca-cert FILE",
                                 "Quit, start again with a readable file in PEM format: --ca-cert FILE"},
    [REMEDY_CERTIFICATE_OLD] =
        {"The server's operator must renew it, unless this machine's clock is wrong (see date)", NULL},
    [REMEDY_CERTIFICATE_HOST] =
        {"Check the host in the base URL: another server answers there (a proxy, a login page?)", NULL},
    [REMEDY_TLS_OLD] = {"The server must offer TLS 1.2 or newer; its operator can turn that on", NULL},
    [REMEDY_CLOCK] = {"Most likely this machine's clock is wrong (see date)", NULL},
    [REMEDY_KEY_BOUND] = {"no key belongs to this base URL ('sandpiper config' says why)",
                          "no key belongs to this base URL. Quit; 'sandpiper config' says why"},

    [REMEDY_ADD_FILE] = {"--add FILE gives long text as data",
                         RESTART "--add FILE to give long text as data"},
};

const char *remedy(enum remedy r, bool chat)
{
    const struct words *w = &table[r];

    return chat && w->chat ? w->chat : w->shell ? w->shell : "";
}
