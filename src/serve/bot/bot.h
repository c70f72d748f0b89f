/* bot.h - the part of a bot that is the same for every chat service: which questions were accepted, on disk
 * (journal.h), how many a user may ask, whose turn it is, which sandbox answers, and what came of it.
 *
 *     a message -> bot_ask -> begin (the service finds where it is answered) -> bot_begun -> the runner
 *                                                   bot_answered <- answer (the service posts) <-'
 *
 * A chat service is a row of chat_services: one file that turns its own messages into struct chat_message
 * and texts and files into its own messages. Nothing here waits.
 */
#ifndef BOT_BOT_H
#define BOT_BOT_H

#include <stdbool.h>
#include <stdint.h>

struct bot;
struct chat_options;
struct error;
struct json;
struct loop;
struct runners;
struct transfers;

/* ---- what a chat service hands in ---- */

#define BOT_FILES      10          /* of one message */
#define BOT_FILES_SIZE (24u << 20) /* bytes of all files of a message */
#define BOT_TEXT       (16u << 10) /* bytes of a question */
#define BOT_ID         64          /* the longest id of a message, a user, a conversation */

struct chat_message {         /* strings are borrowed */
    const char *id;           /* no other message of the service has it; letters, digits, dashes */
    const char *conversation; /* what is said there goes on in one sandbox; letters, digits, dashes */
    const char *user;
    const char *server; /* a community with a limit of its own; NULL: none */
    const char *text;
    const char *answer; /* what is answered without asking anybody; NULL: it is a question */
    struct json *files; /* [{"name", "url", "size"}]; given away; NULL: none */
    struct json *where; /* what the service needs to answer; given away; kept on disk */
};

/* The message is accepted: it is on disk, and will be answered, also after kill -9. One that is known is left
 * out. False: it could not be written, or too many wait, which was logged. */
bool bot_ask(struct bot *b, const struct chat_message *m);
/* The conversation in which a message of ours was posted, by what bot_answered() was told; NULL: unknown. */
const char *bot_conversation_of(const struct bot *b, const char *posted);

/* ---- a question that was accepted, as the service sees it ---- */

struct bot_question;
const char *bot_id(const struct bot_question *qn);
const char *bot_server(const struct bot_question *qn); /* or NULL */
const struct json *bot_where(const struct bot_question *qn);
const char *bot_where_of(const struct bot_question *qn, const char *member); /* a text of it, or NULL */
const struct json *bot_posted(const struct bot_question *qn); /* ids of what was posted of its answer */
bool bot_is_asked(const struct bot_question *qn);      /* a model is to answer it; or the answer is there */
bool bot_started_again(const struct bot_question *qn); /* perhaps some of the answer was posted before */
void *bot_service_part(const struct bot_question *qn); /* what bot_keep_part() was told */
/* The service's own, which it frees when it answers, or in drop(). */
void bot_keep_part(struct bot_question *qn, void *part);
/* begin() is done. where: what is known now; given away; NULL: as before. */
void bot_begun(struct bot_question *qn, const char *conversation, struct json *where);
/* A part of the answer was posted, under this id. */
void bot_has_posted(struct bot_question *qn, const char *id);
/* The answer could not be posted now; answer() is called again in a while. */
void bot_failed(struct bot_question *qn, const char *why);
/* All of the answer was posted, and qn is gone. failed: the service does not take it, for good. */
void bot_answered(struct bot_question *qn, const char *failed);

/* ---- what a chat service is ---- */

struct chat_service {
    const char *name;     /* on the command line */
    const char *variable; /* of the environment, with its token */
    const char *url;      /* where its API is, unless the user says otherwise */
    int64_t file_max;     /* bytes of a file that it takes */
    /* Connects, and calls bot_open() once it knows who it is. NULL with err. */
    void *(*start)(const struct chat_options *o, struct error *err);
    void (*free)(void *service);
    /* Finds where the answer goes, as by making a thread, and then calls bot_begun(). */
    void (*begin)(void *service, struct bot_question *qn);
    void (*busy)(void *service,
                 struct bot_question *qn);             /* shows, for BOT_BUSY_MS, that it is being answered */
    bool (*may_fetch)(void *service, const char *url); /* are files of messages there? */
    /* Posts the text and the files [{"name", "path", "size"}], then calls bot_answered(). Both are borrowed
     * until then. What bot_posted() has is left out. */
    void (*answer)(void *service, struct bot_question *qn, const char *text, const struct json *files);
    void (*drop)(void *service, struct bot_question *qn); /* qn goes without an answer: we end */
};
#define BOT_BUSY_MS 8000

struct chat_options { /* borrowed for as long as the service lives */
    struct loop *loop;
    struct transfers *transfers;
    const char *token, *url;
    struct bot *bot;
    bool verbose;
    void (*log)(const char *line);
    /* The service does not go on; called once, and free() follows. */
    void (*fatal)(void *ctx, const struct error *err);
    void *ctx;
};

extern const struct chat_service *const chat_services[]; /* ends with NULL */
const struct chat_service *chat_service_find(const char *name);

/* ---- the bot ---- */

struct bot_options { /* borrowed */
    struct loop *loop;
    struct runners *runners;
    struct transfers *transfers;
    const struct chat_service *service;
    int per_user, per_server; /* questions in an hour; 0: no limit */
    bool verbose;
    void (*log)(const char *line);
};

struct bot *bot_new(const struct bot_options *o);
void bot_free(struct bot *b); /* what was not answered stays on disk */
/* The service has been started; it is freed with the bot. */
void bot_attach(struct bot *b, void *service);
/* The service knows as whom it speaks: opens what is on disk of that one, and asks what was left. Called
 * again, it does nothing. -1 with err. */
int bot_open(struct bot *b, const char *account, struct error *err);
/* What the service keeps there of its own, small: it outlives kill -9. NULL: nothing. The caller frees. */
struct json *bot_recall(const struct bot *b);
void bot_remember(const struct bot *b, const struct json *what);

#endif
