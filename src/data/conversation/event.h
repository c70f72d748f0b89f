/* event.h - what happens while a question is answered, as plain data for listeners (terminal, pipe,
 * --json, tests). Pointers in an event are valid only during the callback. Text is untrusted and not
 * scrubbed.
 */
#ifndef CHAT_EVENT_H
#define CHAT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conversation/cell_result.h"
#include "conversation/network.h"
#include "conversation/phase.h"
#include "conversation/usage.h"

struct language;

enum event_type {
    EVENT_SESSION,     /* first: model, endpoint, version */
    EVENT_PHASE,       /* what is waited for now; for people only */
    EVENT_SANDBOX,     /* the sandbox is running, or was replaced: engine, image, Python */
    EVENT_QUESTION,    /* a question begins; the conversation has it already */
    EVENT_TEXT,        /* a piece of a reply's text, as it streams */
    EVENT_REASONING,   /* a piece of a reply's reasoning */
    EVENT_REPLY_END,   /* the reply is complete; now it is known what its text was */
    EVENT_TOOL_CALL,   /* code about to run */
    EVENT_TOOL_OUTPUT, /* a piece of its output, live */
    EVENT_TOOL_RESULT, /* it ended */
    EVENT_ADDED,       /* a file of the user's was put into the sandbox; in event.file */
    EVENT_FILE,        /* a file it made or changed was copied out */
    EVENT_NETWORK,     /* a request of the code's to a host */
    EVENT_NOTICE,      /* one line for the user */
    EVENT_USAGE,       /* tokens and times of one request */
    EVENT_DONE,        /* the question is closed */
    EVENT_RESET,       /* the user had the interpreter restarted: variables are gone */
    EVENT_SESSION_END, /* last */
};

enum reply_kind {
    REPLY_ANSWER, /* no call: this text is the answer */
    REPLY_CALLS,  /* it made calls: the text only accompanies them */
    /* not an answer: it was empty, it showed code that had to be run, or its code left out a number of the
     * question; the next reply replaces it */
    REPLY_NUDGED,
    REPLY_THOUGHTS, /* the text so far was reasoning, as its end showed; the reply itself follows */
    /* ended early (interrupted, connection lost): its text was shown, its calls are not run */
    REPLY_CUT,
};

enum notice_level { NOTICE_INFO, NOTICE_WARNING, NOTICE_ERROR, NOTICE_DETAIL /* only with --verbose */ };

/* How a question ended. Behind each: its exit code. */
enum question_status {
    QUESTION_ANSWERED,    /*   0 */
    QUESTION_NO_ANSWER,   /*   1 */
    QUESTION_NO_SANDBOX,  /*   3 */
    QUESTION_CODE_FAILED, /*   4: answered, but the code still failed after the last repair round */
    QUESTION_UNDELIVERED, /*   1: answered, but a file that the code made could not be written here */
    QUESTION_UNVERIFIED,  /*   6: answered, but a second computation disagrees or failed */
    QUESTION_CALLS,       /*   0: it goes on once calls of the caller's own tools have their results */
    QUESTION_LIMIT,       /*   5: rounds, tokens, time, or cut by length (what there is was given) */
    QUESTION_TRY_LATER,   /*  75 */
    QUESTION_REFUSED,     /*  77: credentials */
    QUESTION_USAGE,       /*   2 */
    QUESTION_INTERRUPTED, /* 130 */
    QUESTION_TERMINATED,  /* 143 */
};

/* What a second, independent computation came to. */
enum verified {
    VERIFIED_NONE, /* there was none */
    VERIFIED_AGREES,
    VERIFIED_DISAGREES,
    VERIFIED_UNCLEAR, /* both are words that cannot be compared */
    VERIFIED_FAILED,  /* it gave no answer */
};

/* Where an answer comes from. */
struct computation {
    unsigned runs, failed; /* of code, for this question; how many of them failed */
    double seconds;        /* of all runs */
    /* no code ran for it, nor for an earlier one, and no data was attached */
    bool memory_only;
    /* numbers of the answer that are in no output of code, not in the question, its data or the code; as they
     * are written there */
    const char *const *unsupported;
    size_t n_unsupported;
    enum verified verified;
    const char *second; /* the second answer; or NULL */
    const char *again;  /* it is a small model's: what computes it again, for people; or NULL */
};

struct event_mount { /* a folder of this machine: its path here and in the sandbox */
    const char *path, *inside;
    bool write;
};

struct event {
    enum event_type type;
    unsigned question; /* from 1; 0 before the first */
    const char *agent; /* which agent of a pipeline it comes from; NULL: there is only one, or from none */
    union {
        /* sandbox: the engine that was asked for, or "auto"; EVENT_SANDBOX tells which it became */
        struct {
            const char *id, *model, *provider, *endpoint, *sandbox, *version;
        } session;
        /* image, runtime, name: or NULL. lock: of packages that the user asked for; hosts: that code may
         * reach; or NULL */
        struct {
            const char *engine, *image, *runtime, *python, *name, *lock, *hosts;
            const struct event_mount *mounts;
            size_t n_mounts;
        } sandbox;
        /* QUESTION: the user's words alone */
        struct {
            const char *text;
            size_t len;
        } asked;
        struct phase_now phase;
        /* TEXT and REASONING; replies count from 1 in a question */
        struct {
            unsigned reply;
            const char *text;
            size_t len;
        } text;
        struct {
            unsigned reply;
            enum reply_kind kind;
        } reply_end;
        /* cells count from 1 in a session; 0: it will not run, or is no code (language NULL): what another
         * tool is given */
        struct {
            const char *id, *tool, *code;
            const struct language *language; /* of code; or NULL */
            unsigned cell;
        } call;
        /* stream 1 stdout, 2 stderr; raw bytes */
        struct {
            unsigned cell;
            int stream;
            const char *text;
            size_t len;
        } output;
        struct {
            const char *id;
            unsigned cell;
            const struct cell_result *r;
            /* INTERRUPTED by Ctrl-C, and not by a time limit or the program's own end */
            bool by_user;
            const char *model_text; /* what the model is told */
        } result;
        /* name in the sandbox, path on the host (ADDED: as the user wrote it; NULL: it has none, such as data
         * of a pipe: then fd, valid during the event, has it from position at on); index from 0, of
         * total files that this cell delivered, the HTML of a value not counted */
        struct {
            unsigned cell;
            const char *name, *path;
            const char *url; /* where it was uploaded to; or NULL */
            uint64_t size;
            enum file_kind kind;
            size_t index, total;
            uint64_t before,
                bytes; /* the sizes of the files before it, and of all that this cell delivered */
            int fd;
            int64_t at;
            const char *kept; /* our copy of what the user added; or NULL */
            int64_t modified; /* microseconds since the epoch: when it changed last, as it was added */
        } file;
        struct {
            enum notice_level level;
            const char *text;
        } notice;
        struct network_request network;
        struct usage usage; /* of one request */
        struct {
            enum question_status status;
            const char *answer;    /* "" when there is none */
            const char *error;     /* why there is none, or what limit; or NULL */
            const char *reasoning; /* what was thought, where nothing was said; or NULL */
            /* last good output of code, when no number of it stands in the answer; or NULL */
            const char *last_output;
            struct computation computed; /* of the answer; all zero where there is none */
            struct usage usage;          /* of the whole question */
            unsigned cells;
            double seconds; /* from the question to its end */
        } done;
        struct {
            int exit_code;
        } session_end;
    };
};

typedef void event_fn(void *ctx, const struct event *e);

bool event_ends_text(const struct event *e); /* the text of the present reply is whole */
int question_exit_code(enum question_status s);
bool question_has_answer(enum question_status s); /* there is an answer: nothing to ask again */
/* Of two exit codes of a script, the one that counts: 2, 3, 77, 75, 5, 1, 6, 4, 0 from worst to best. */
int exit_code_worse(int a, int b);

#endif
