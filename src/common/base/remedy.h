/* remedy.h - what the user can do about an error, in two wordings: flags and variables for the command line,
 * commands for the chat (and a restart for what no chat command can change).
 *
 * All advice that names a flag, a command or a variable is in this table. Phrases in lower case are used
 * inside a sentence, the others on a line of their own.
 */
#ifndef BASE_REMEDY_H
#define BASE_REMEDY_H

#include <stdbool.h>

enum remedy {
    REMEDY_NONE,
    /* another model or another question */
    REMEDY_USE_OTHER_MODEL,
    REMEDY_NAME_MODEL,
    REMEDY_SMALLER_MODEL,
    REMEDY_REPHRASE,
    REMEDY_LESS_CONTEXT,
    REMEDY_BODY_LIMIT,
    REMEDY_OTHER_REGION,
    REMEDY_FIREWALL,
    REMEDY_ASK_OR_MODEL,
    REMEDY_COMPUTE_AGAIN,
    /* what is sent */
    REMEDY_DIALECT_BLOCKS,
    REMEDY_BAD_CALL,
    REMEDY_NO_STREAM,
    REMEDY_NO_TEMPERATURE,
    REMEDY_NO_SUMMARY,
    REMEDY_NO_EFFORT,
    REMEDY_ALLOWED_MAX_TOKENS,
    REMEDY_API_CHAT,
    REMEDY_USUAL_API,
    REMEDY_TRACE,
    REMEDY_NOT_UNDERSTOOD,
    /* limits */
    REMEDY_MAX_TOKENS,
    REMEDY_MAX_TOKENS_TOTAL,
    REMEDY_MAX_ROUNDS,
    REMEDY_MAX_TIME,
    REMEDY_IDLE_TIMEOUT,
    /* the network and the place of the endpoint */
    REMEDY_CHECK_NETWORK,
    REMEDY_CHECK_URL,
    REMEDY_HTTP_URL,
    REMEDY_REDIRECT_HOST,
    REMEDY_SERVER_RUNNING,
    REMEDY_NO_SERVICE,
    REMEDY_PROXY_CREDENTIALS,
    REMEDY_PROXY_REFUSES,
    REMEDY_PROXY_UNREACHABLE,
    REMEDY_PROXY_DOWN,
    REMEDY_CERTIFICATE,
    REMEDY_CERTIFICATE_FILE,
    REMEDY_CERTIFICATE_OLD,
    REMEDY_CERTIFICATE_HOST,
    REMEDY_TLS_OLD,
    REMEDY_CLOCK,
    REMEDY_KEY_BOUND,
    /* this machine */
    REMEDY_ADD_FILE,
    REMEDY_END /* how many there are */
};

const char *remedy(enum remedy r, bool chat); /* never NULL */

#endif
