/* processes.h - the processes beside the interpreter that a client has started in a sandbox: any number at
 * once, also while code runs. They end with the sandbox, and with its interpreter. Whoever wants to know what
 * one writes and how it ends watches it; output that nobody watches is dropped. Nothing here waits.
 */
#ifndef FRONT_PROCESSES_H
#define FRONT_PROCESSES_H

#include "front/runners.h"

#define PROCESSES_MOST 64            /* of one sandbox at once */
#define PROCESS_UNREAD (1024 * 1024) /* bytes of stdin that may wait for one to read them */

struct client_process;

struct process_watch { /* owned by the caller, as a part of its own that begins as zeros */
    struct process_watch *next;
    struct client_process *of; /* NULL: none; so after the last event */
    /* {"pid": 7}, the first; {"wrote": 9}, bytes of its stdin; {"stream": "stdout" or "stderr", "data":
     * base64 text}; and the last one, {"status": wait status, "why": text or missing} or {"error": why it
     * could not be started or was lost}. Never called from inside process_start() or process_join(). It may
     * call process_leave(). */
    void (*event)(void *ctx, const struct json *event);
    void *ctx;
};

struct process_want {
    struct json *config; /* given away: {"cmd", "args", "envs", "cwd"}, kept as it is */
    const char *tag;     /* a name for it; NULL: none */
    bool hidden;         /* it is no process that the client knows of */
    bool fed;            /* it has a stdin */
    int64_t timeout_ms;  /* it is killed after so long; 0: never */
};

/* -1 with err: ERROR_BUSY (there are PROCESSES_MOST), or as lease_runner(). */
int process_start(struct lease *h, const struct process_want *want, struct process_watch *w,
                  struct error *err);
/* The one with that pid inside, or, if tag is not NULL, with that tag. NULL: none such runs. */
struct client_process *process_find(const struct lease *h, int64_t pid, const char *tag);
void process_join(struct client_process *p, struct process_watch *w); /* watches one that runs */
void process_leave(struct process_watch *w);                          /* the process goes on */
/* data: base64 of len bytes. -1: ERROR_BUSY, PROCESS_UNREAD wait already; ERROR_USAGE, it has no stdin. */
int process_input(struct client_process *p, const char *data, size_t len, struct error *err);
void process_close(struct client_process *p); /* the end of its stdin */
void process_signal(struct client_process *p, int number);

/* Whoever watches is slow: what it writes waits, until as many have said so with false. */
void process_hold(struct client_process *p, bool hold);

int64_t process_pid(const struct client_process *p);     /* inside; 0: it is just being started */
const char *process_tag(const struct client_process *p); /* NULL: none */
bool process_hidden(const struct client_process *p);
const struct json *process_config(const struct client_process *p);
void process_each(const struct lease *h, void (*fn)(void *ctx, const struct client_process *p), void *ctx);

/* For lease.c and runners.c: what a runner has said; all have ended; does anybody watch one? */
void processes_hear(struct lease *h, const struct json *said);
void processes_end(struct lease *h, const char *why);
bool processes_watched(const struct lease *h);

#endif
