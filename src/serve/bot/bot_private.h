/* bot_private.h - what the files behind bot.h share. */
#ifndef BOT_BOT_PRIVATE_H
#define BOT_BOT_PRIVATE_H

#include "bot/bot.h"
#include "front/lease_call.h"

struct journal;
struct net_transfer;

enum bot_state {
    BOT_BEGINNING, /* the service finds where it is answered */
    BOT_WAITING,   /* until the question before it in its conversation is answered */
    BOT_RESTING,   /* until it is tried again */
    BOT_ASKING,    /* its files are fetched, or a runner answers it */
    BOT_ANSWERING  /* the service posts */
};

struct bot_question {
    struct bot_question *next;
    struct bot *b;
    enum bot_state state;
    char id[BOT_ID + 1], conversation[BOT_ID + 1];
    struct json *kept; /* what is on disk of it, see bot.c */
    bool again;        /* it was accepted by another process */
    bool refused;      /* it is over a limit */
    bool shown;        /* that it is being answered */
    int tries;
    int64_t at; /* clock_ms(): since when it is asked; RESTING: until when */
    struct lease_call call;
    struct net_transfer *transfer; /* a file is being fetched */
    struct json *files;            /* those that were fetched, for "ask"; NULL: none are being fetched */
    size_t fetched, bytes;
    void *part;
};

struct bot_timer { /* a second one, since the loop has one for each pointer */
    struct bot *b;
};

struct bot {
    struct bot_options o;
    struct bot_timer busy;
    void *service;
    struct journal *journal;  /* NULL: not open yet */
    struct bot_question *all; /* in the order in which they came */
    bool starting;            /* bot_next() is under way */
};

/* bot.c: begins whatever can begin now. */
void bot_next(struct bot *b);
/* The question has its answer: "text", "files" [{"name", "path", "size"}], and, where the model gave one,
 * "said" and "turn" for its conversation. It is written down, and posted. */
void bot_has_answer(struct bot_question *qn, struct json *answer);
void bot_log(const struct bot *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* bot_ask.c: fetches the files, and asks a runner; in the end bot_has_answer(), or RESTING. */
void bot_begin_asking(struct bot_question *qn);
void bot_stop_asking(struct bot_question *qn);

/* bot_limits.c: what is said to the user in place of an answer; NULL: the question is within the limits.
 * *silent: nothing is said any more. The caller frees. */
char *bot_over_limit(const struct bot *b, const struct chat_message *m, bool *silent);

#endif
