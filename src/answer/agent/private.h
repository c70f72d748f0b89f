/* private.h - what the files of agent share: the agent, one question, and the small steps between
 * them.
 */
#ifndef AGENT_PRIVATE_H
#define AGENT_PRIVATE_H

#include "agent/agent.h"
#include "agent/budget.h"
#include "agent/images.h"
#include "agent/tools.h"
#include "base/buf.h"
#include "base/error.h"
#include "conversation/prompts.h"
#include "llm/llm.h"
#include "provenance/provenance.h"
#include "sandbox/sandbox.h"

#define ATTACH_WHOLE \
    4096 /* text of at most so many bytes is shown to the model whole, less where the window is small */
#define TOLD_MAX    (64 * 1024)  /* maximum bytes of a cell's output given to the model */
#define PENDING_MAX (128 * 1024) /* maximum bytes of data blocks and notes before a question */

#define BYTES_A_TOKEN 3.5 /* an estimate, where the service does not count */

struct question {
    unsigned number;
    size_t start;            /* index of its user turn in the conversation */
    int64_t began, deadline; /* clock_ms(); deadline 0: none */
    bool late;               /* the deadline passed: the loop's interrupt is our own */
    unsigned reply;          /* number of the reply being streamed, from 1 */
    unsigned cells;          /* cells that ran */
    unsigned failed;         /* those of them that failed */
    double run_seconds;      /* of all of them */
    struct budget budget;
    struct prompts texts; /* with their placeholders filled in */
    struct usage usage;
    /* the same failing code or error came again: ask for varied sampling, since greedy sampling would
     * repeat it */
    bool vary;
    bool compacted; /* a summary of the older turns was tried */
    bool told_no_output;
    bool thought_told; /* the error already quotes the thoughts */
    char *answer;      /* or NULL */
    char *last_text;   /* text of the latest reply that had any, answer or not; or NULL */
    char *thought;     /* reasoning of the latest reply that had nothing else; or NULL */
    char *good;        /* the last output of code that worked; or NULL */
    /* why a file that its code wrote could not be delivered, and what would help; or NULL */
    char *undelivered;
    char *undelivered_name; /* name of that file */
    /* a reply that was no answer, which is in no conversation, and what is said to it; or NULL */
    char *objected, *objection;
    bool resumed;           /* it goes on after calls of the caller's tools */
    unsigned handed;        /* such calls, which its present reply has made */
    bool asked_for_form;    /* an objection was made, which is done once */
    enum verified verified; /* what a second computation came to */
    char *second;           /* its answer; or NULL */
};

/* An attached file and its profile. */
struct known_file {
    char *name, *profile;
    bool read; /* code that ran has named it, or it was read for it */
    bool ran;  /* the lines of the profile were run, and no code has replaced what they read since */
};

/* A file that was attached, to attach it again. */
struct kept_file {
    char *name;
    int fd;
    int64_t at; /* where it begins in fd */
};

struct agent {
    struct agent_options o; /* the strings are owned by the members below */
    char *system;
    struct llm *llm;
    struct sandbox *sandbox;
    struct conversation *c;
    struct loop *loop;
    event_fn *event;
    void *event_ctx;
    struct sandbox *(*new_sandbox)(void *event_ctx);
    struct host_files *host;
    int (*install)(void *event_ctx, const char *names, char **told, struct error *err); /* or NULL */
    struct agent *before, *next; /* in a pipeline; or NULL */
    struct buf heard;            /* what the one before said, for the question */
    struct usage usage;          /* of the session */
    unsigned number;             /* questions asked */
    unsigned cells;              /* cells run in this session */
    bool told_earlier;           /* the model was told what earlier programs left in the sandbox */
    struct {
        /* in the instructions of this conversation; NULL: not yet */
        char *date, *packages, *limits;
        char *day; /* the latest that it was told of */
    } told;
    uint64_t summary;         /* serial of the turn with a summary that /compact made; 0: none */
    bool told_compact;        /* the user was told, once a session, of a summary made by itself */
    bool data;                /* the conversation has attached data, or output of the user's own code */
    bool told_full;           /* the user was told, once a session, that the window is full */
    enum phase phase;         /* the last one told of the model */
    struct question *qn;      /* the question being asked, or NULL */
    struct added_file *added; /* files and folders for the next question (attach.c) */
    size_t n_added;
    struct buf pending;       /* notes for the next question */
    struct image_list images; /* for the next question */
    bool told_images;         /* the user was told, once a session, that the model is shown images */
    struct known_file *known; /* files of this conversation that have a profile */
    size_t n_known;
    struct attached_file {
        char *name, *path;          /* in /mnt/data; on this machine, or what it is called */
    } * attached;                   /* of the session, the latest last */
    size_t n_attached, attachments; /* how many; how often one was added */
    struct kept_file *kept;         /* those of this conversation, if an answer may be computed again */
    size_t n_kept;
    bool unkept; /* one could not be kept */
    char *retry; /* the last question if it failed, or NULL */
    size_t retry_len;
    struct buf code;         /* all code of the last question that ran any */
    unsigned code_question;  /* number of that question */
    struct error no_sandbox; /* why the sandbox cannot start, if known */
    bool sandbox_warned;     /* the user was told this */
    char *lacking;           /* programs of its languages that the sandbox lacks; NULL: not looked yet */
    struct json *form;       /* the schema that answers must fit, or NULL */
    struct callers_tools {   /* that the caller has beside ours */
        struct callers_tool {
            char *name, *description, *parameters;
            struct json *strict; /* the schema of the arguments, if they are to be checked; or NULL */
        } * v;
        size_t n;
        bool must, one;
    } callers;
};

/* The files call each other in one direction only. From the highest: pipeline.c, verify.c, agent.c, rounds.c,
 * then compact.c, ask.c, tools.c and what they use. */

/* agent.c */
/* agent_ask(), where steps is what is done for the answer of a->qn once its turn is the last of the
 * conversation: as rounds_run(). question NULL: agent_go_on(). */
enum question_status agent_answer(struct agent *a, const char *question, size_t len,
                                  enum question_status (*steps)(struct agent *a, const char *question,
                                                                struct error *err),
                                  struct error *err);
/* The user turn of the question anew: what was heard, the profiles, what is pending, the user's words. */
void question_fill(struct agent *a, const char *question, size_t len);

/* rounds.c */
/* Ask the model, run its code, append the result, ask again, until there is an answer, which goes into
 * a->qn->answer, or a reason why there is none. err is set for every status but ANSWERED (for CODE_FAILED it
 * says what failed). The conversation may end in open calls or results. */
enum question_status rounds_run(struct agent *a, const char *question, struct error *err);

/* question.c */
void question_init(struct agent *a, struct question *qn);
void question_release(struct agent *a, struct question *qn);
/* The question's time is over, so the loop's interrupt is our own. */
bool agent_out_of_time(const struct agent *a);
/* The status that an error ends the question with; err is made clearer. */
enum question_status question_failed(const struct agent *a, struct error *err);

/* ask.c */
/* Do the limits of the question allow another request, and does --max-cost? */
int ask_allowed(const struct agent *a, struct error *err);
/* One request with the present texts. Nothing is shown of the reply if c is not the agent's conversation.
 * about: NULL, or as in ask_about(). */
int ask_once(struct agent *a, const struct conversation *c, const char *about, struct llm_reply *r,
             struct error *err);
/* Ask an unsure model whether the code in text is meant to run. A call in r means yes. Its text goes to no
 * listener. */
int ask_about(struct agent *a, const char *text, struct llm_reply *r, struct error *err);

/* events.c */
void agent_send(struct agent *a, struct event *e); /* fills in the question's number */
void agent_notice(struct agent *a, enum notice_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void agent_listener(struct agent *a, struct llm_listener *l);
/* Tell the phase, unless it was the last one told. */
void agent_turn_to(struct agent *a, enum phase phase);
void agent_reply_end(struct agent *a, enum reply_kind kind);
/* Text that no listener has heard in pieces; nothing if it is blank. */
void agent_send_whole(struct agent *a, enum event_type type, const char *text);

/* texts.c */
/* May wait for the sandbox. -1: cancelled, or the prompts lack a text that this question needs. */
int texts_make(struct agent *a, struct prompts *t, struct error *err);
/* A note for the next question, if it is asked on another day than the one that the model knows of. */
void texts_tell_day(struct agent *a);
void texts_forget(struct agent *a); /* another conversation begins */

/* tools.c */
/* The tool of that name if the model is offered it, or NULL. */
const struct tool *tool_find(const struct agent *a, const char *name);
/* Decide on one call and carry it out. Fills in use->tool and use->args; otherwise as struct tool.run. */
int tool_call(struct agent *a, struct tool_use *use, struct error *err);

/* form.c */
/* Is the text an answer that a program can read? -1: err says what is wrong with it. */
int form_check(const struct agent *a, const char *text, struct error *err);
/* The same, and leaves only the JSON of it. */
int form_take(const struct agent *a, char **answer, struct error *err);
/* What the model is told of the form; and of an answer that does not have it. The caller frees both. */
char *form_told(const struct agent *a, const struct prompts *t);
char *form_objection(const struct prompts *t, const struct error *why);

/* callers.c */
void callers_set(struct agent *a, const struct json *tools); /* agent_set_callers() has checked them */
void callers_release(struct agent *a);
void callers_offer(const struct agent *a, struct llm_tool *out); /* out has room for callers.n */
/* Can this model be offered them? -1: ERROR_USAGE. */
int callers_possible(const struct agent *a, struct error *err);
bool callers_has(const struct agent *a, const char *name);
bool callers_called(const struct agent *a, const struct llm_reply *r);
/* As struct tool.run, for a call of one of them: without a text it stays open. */
int callers_call(struct agent *a, struct tool_use *use, struct error *err);
char *callers_told(const struct agent *a, const char *text); /* with {tools} filled in; the caller frees */

/* offered.c */
bool tool_offered(const struct agent *a, const struct tool *tool); /* to the model, by its prompts */
/* Before the first request: languages that the sandbox cannot run are not offered. */
void tools_look_inside(struct agent *a);
bool tools_install(const struct agent *a); /* is it offered one that gets packages? */

/* install.c */
/* Runs install_packages. */
int install_run(struct agent *a, struct tool_use *use, struct error *err);
void install_hint(const struct agent *a, struct cell_result *r); /* of code that lacks a module */

/* access.c: runs access_file */
int access_run(struct agent *a, struct tool_use *use, struct error *err);

/* execute.c */
/* Code that is run or refused, and its result. */
struct code_run {
    const char *id, *tool;           /* of the call */
    const struct language *language; /* NULL: it is no code, but the argument of another tool */
    const char *code;
    unsigned cell; /* the cell's number; 0: it does not run */
    struct cell_result r;
    struct buf told; /* for the model */
    char *output;    /* what it printed, as the model sees it; or NULL */
};
/* Run it and send all its events. -1: there is no sandbox, or it was interrupted before the code ran. */
int cell_run(struct agent *a, struct code_run *c, struct error *err);
void code_run_release(struct code_run *c);
/* The exception of a result, or else its cause, in one line. The caller frees. */
char *cell_failure(const struct cell_result *r);
/* Append the description of one result for the model; out already holds the output. */
void cell_tell(const struct cell_result *r, const char *code, struct buf *out);
/* The two events of a call. c->cell 0: it is no cell. */
void cell_send_call(struct agent *a, const struct code_run *c);
void cell_send_result(struct agent *a, const struct code_run *c, const char *told);
/* The second of them for a call that was not run: shown goes to the user, why to the model. */
void cell_send_not_run(struct agent *a, const struct code_run *c, const char *shown, const char *why);
/* Both, for a call that is not run. */
void cell_refused(struct agent *a, const struct code_run *c, const char *why);
/* Refuse a call that cannot be understood. -1: there were too many of them. */
int cell_malformed(struct agent *a, struct tool_use *use, const char *problem, struct error *err);

/* attach.c */
/* Add a file to the question, or to the next one; also appends the block that shows it to out, unless that is
 * NULL. */
int attach_file(struct agent *a, const char *name, int fd, struct buf *out, struct error *err);
void attached_file_release(struct attached_file *f);
/* The blocks of those for the next question: of those that are shown whole, or of the others. */
void attached_blocks(const struct agent *a, bool in_full, struct buf *out);
void attached_forget(struct agent *a); /* none is for the next question any more */
void attached_close(struct agent *a);  /* what was kept for a second computation */

/* facts.c */
void data_block(struct buf *out, const char *text); /* text between tags that it cannot close */
/* Length of the name to which a statement gives a value; 0: it does not. */
size_t assigned_name(const char *statement);
void facts_add(struct agent *a, const char *name, const char *profile);
/* Does a profile begin with lines that read the file? */
bool facts_have_code(const char *profile);
void facts_clear(struct agent *a);
/* Do the lines that read the latest attached file contain these words? */
bool facts_last(const struct agent *a, const char *words);
/* Append the profiles again, for a model that is stuck. */
void facts_show(const struct agent *a, struct buf *out);
/* The code, preceded by the lines that read any file it uses and nothing has read yet, and without those
 * of them that have run. The caller frees it.
 */
char *facts_with_reading(struct agent *a, const char *code);
/* The interpreter has lost its variables: what was read is read again. */
void facts_forget_variables(struct agent *a);

/* context.c: shorten the conversation by one step; *start is moved along. False: nothing is left to
 * shorten.
 */
bool context_shrink(struct conversation *c, size_t *start);
/* Only the old outputs before turn end. */
bool context_shorten(struct conversation *c, size_t end);
/* Put a user turn and an assistant turn in the place of the first n, which end a question. */
void context_replace(struct conversation *c, size_t n, const char *user, const char *assistant);

/* compact.c */
/* Get the next reply. When the window is full, shorten the conversation one step at a time and ask again. */
int ask_model(struct agent *a, struct llm_reply *r, struct error *err);

/* verify.c */
/* Compute the answer of a->qn a second time. Returns ANSWERED, UNVERIFIED, or what stopped the question. */
enum question_status verify_answer(struct agent *a, const char *question, struct error *err);

/* computed.c */
/* Where the answer comes from. p, which must be empty, holds what the result points to; the caller releases
 * it. */
struct computation computed_make(const struct agent *a, const struct question *qn, struct provenance *p);
/* Is there something in the answer that a second computation can confirm? */
bool computed_worth_checking(const struct question *qn);

#endif
