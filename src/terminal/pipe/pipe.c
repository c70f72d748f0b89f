/* pipe.c - one-shot and script: finds the question, asks it, delivers the answer. */
#include "pipe/pipe.h"

#include <signal.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/error.h"
#include "base/inputs.h"
#include "base/mem.h"
#include "base/mentions.h"
#include "pipe/answer.h"
#include "pipe/script.h"
#include "pipe/stdin.h"
#include "conversation/task.h"
#include "process/signals.h"
#include "show/show.h"

#define DATA_MAX (256LL * 1024 * 1024)

struct pipe {
    struct pipe_options o;
    struct loop *loop;
    struct show *show;
    struct answer *answer;
    struct stdin_data data;
    struct inputs files;
    struct task task; /* that the question came as, if it did */
    struct inputs task_files;
    struct mentions mentions; /* in the question; they point at files */
    struct script script;
    bool scripted;
    unsigned asked, total; /* questions of the script; total 0: not known yet */
    struct buf question;   /* the first one, or the next of a script */
    bool was_error;        /* the cause of the present question's failure was shown */
};

struct pipe *pipe_new(const struct pipe_options *o, struct loop *loop)
{
    struct pipe *p = xmalloc(sizeof *p);
    *p = (struct pipe){.o = *o, .loop = loop, .data = {.fd = -1}};
    show_on_stderr(&p->o.show);
    if (!isatty(1) || o->json)
        p->o.show.decoder = NULL;
    p->show = show_new(&p->o.show);
    if (p->o.data_size <= 0)
        p->o.data_size = DATA_MAX;
    p->answer = answer_new(p->show, o, loop);
    return p;
}

void pipe_free(struct pipe *p)
{
    if (!p)
        return;
    answer_free(p->answer);
    show_free(p->show);
    stdin_data_release(&p->data);
    inputs_release(&p->files);
    inputs_release(&p->task_files);
    task_release(&p->task);
    mentions_release(&p->mentions);
    script_release(&p->script);
    buf_release(&p->question);
    free(p);
}

/* Remove what is not news about an interrupted cell. Whoever pressed Ctrl-C is told so once, at the end; and
 * the state of variables does not matter after a one-shot question. */
static void leave_out(const struct pipe *p, const struct event *e, struct cell_result *r)
{
    if (e->result.by_user)
        r->status = CELL_OK;
    else if (!p->scripted && !r->files_lost)
        r->left = NULL;
}

void pipe_event(void *ctx, const struct event *e)
{
    struct pipe *p = ctx;
    struct event shown = *e;
    struct cell_result r;

    if (e->type == EVENT_TOOL_RESULT && e->result.r->status == CELL_INTERRUPTED && !p->o.json) {
        r = *e->result.r;
        leave_out(p, e, &r);
        shown.result.r = &r;
        e = &shown;
    }
    if (e->type == EVENT_DONE || (e->type == EVENT_NOTICE && e->notice.level == NOTICE_ERROR))
        p->was_error = p->was_error || e->type == EVENT_NOTICE || (e->done.error && *e->done.error);
    answer_event(p->answer, e);
    if (p->o.json && p->o.show.reasoning && (e->type == EVENT_REASONING || e->type == EVENT_REPLY_END))
        show_event(p->show, e); /* the JSON lines are for a program, this is for a person */
}

struct show_figures pipe_figures(const struct pipe *p)
{
    return show_figures(p->show);
}

static void say_line(void *ctx, enum notice_level level, const char *line)
{
    struct pipe *p = ctx;

    show_line(p->show, level, line);
}

/* Without a prompt, stdin holds the questions; these modes say otherwise. */
static int check_mode(const struct pipe *p, struct error *err)
{
    if (p->o.stdin_mode == STDIN_DATA)
        return error_set(err, ERROR_USAGE, 0,
                         "no question: with --stdin data, stdin is data\n"
                         "Try: sandpiper --stdin data \"how many rows?\" < FILE");
    if (p->o.stdin_mode == STDIN_IGNORE)
        return error_set(err, ERROR_USAGE, 0,
                         "no question: with --stdin ignore, stdin is not read\n"
                         "Try: sandpiper \"how many primes below a million?\"");
    return 0;
}

/* Wait for data before each question, since it may come as slowly as the questions. */
static int check_script(struct pipe *p, struct error *err)
{
    return p->scripted ? script_check(&p->script, p->o.stdin_mode == STDIN_AUTO && !p->o.results, err) : 0;
}

/* A question on stdin may be a task. Its files are opened now, so that a wrong name costs nothing. */
static int take_task(struct pipe *p, struct error *err)
{
    autofree char *what = p->scripted ? xasprintf("line %lu of the questions", p->script.line)
                                      : xstrdup("the task on stdin");

    inputs_release(&p->task_files);
    task_release(&p->task);
    answer_task(p->answer, NULL);
    if (!p->o.results || !task_is(buf_str(&p->question), p->question.len))
        return 0;
    if (task_read(what, buf_str(&p->question), p->question.len, &p->task, err) < 0)
        return -1;
    answer_task(p->answer, p->task.id);
    if (inputs_open(&p->task_files, "", (const char *const *)p->task.files.v, err) < 0)
        return -1;
    buf_clear(&p->question);
    buf_addstr(&p->question, p->task.question);
    return 0;
}

static int next_question(struct pipe *p, struct error *err)
{
    int r = script_next(&p->script, &p->question, err);

    return r > 0 && (check_script(p, err) < 0 || take_task(p, err) < 0) ? -1 : r;
}

static int prepare_script(struct pipe *p, struct error *err)
{
    if (p->o.closed & 1)
        return error_set(
            err, ERROR_USAGE, 0,
            "no question: stdin is closed.\nTry: sandpiper \"how many primes below a million?\"");
    if (isatty(0))
        return error_set(err, ERROR_USAGE, 0,
                         "no question given, and no chat can start: stdout is not a terminal%s.\n"
                         "Try: sandpiper \"how many primes below a million?\"",
                         p->o.json ? ", or --json was given" : "");
    if (check_mode(p, err) < 0)
        return -1;
    script_init(&p->script, 0, p->loop);
    p->scripted = true;
    if (script_begin(&p->script, err) < 0 || check_script(p, err) < 0)
        return -1;
    int r = next_question(p, err);
    if (r == 0)
        return error_set(err, ERROR_USAGE, 0,
                         "no question: stdin is empty.\nTry: sandpiper \"how many primes below a million?\"");
    return r < 0 ? -1 : 0;
}

int pipe_prepare(struct pipe *p, struct error *err)
{
    struct stdin_rules rules = {
        .fd = 0,
        .mode = p->o.stdin_mode,
        .closed = p->o.closed & 1,
        .max = (uint64_t)p->o.data_size,
        .loop = p->loop,
        .say = say_line,
        .ctx = p,
    };

    if (inputs_open(&p->files, "--add ", p->o.files, err) < 0)
        return -1;
    if (p->o.prompt_is_stdin)
        return prompt_read(0, p->loop, &p->question, err) < 0 ? -1 : take_task(p, err);
    if (!p->o.prompt)
        return prepare_script(p, err);
    if (prompt_check(p->o.prompt, strlen(p->o.prompt), err) < 0)
        return -1;
    buf_addstr(&p->question, p->o.prompt);
    if (mentions_open(&p->mentions, p->o.prompt, p->question.len, &p->files, err) < 0)
        return -1;
    return stdin_take(&rules, &p->data, err);
}

static int attach_files(struct agent *a, const struct inputs *files, struct error *err)
{
    for (size_t i = 0; i < files->n; i++)
        if (agent_attach(a, files->v[i].path, files->v[i].fd, err) < 0)
            return -1;
    return 0;
}

static bool pipe_has_data(const struct pipe *p)
{
    return p->data.any || p->files.n > 0;
}

/* The question says where the files that it names are now. */
static void name_mentioned(struct pipe *p)
{
    struct buf named = BUF_INIT(0);

    for (size_t i = 0; i < p->mentions.left.n; i++)
        show_line(p->show, NOTICE_INFO, p->mentions.left.v[i]);
    mentions_write(&p->mentions, buf_str(&p->question), p->question.len, &named);
    buf_release(&p->question);
    p->question = named;
}

static int attach(struct pipe *p, struct agent *a, struct error *err)
{
    if (pipe_has_data(p))
        show_status(p->show, "Copying data into the sandbox...");
    if (p->data.any && agent_attach(a, "stdin", p->data.fd, err) < 0)
        return -1;
    for (size_t i = 0; i < p->files.n; i++) {
        if (agent_attach(a, p->files.v[i].path, p->files.v[i].fd, err) < 0)
            return -1;
        mentions_name(&p->mentions, i, agent_attached(a));
    }
    name_mentioned(p);
    stdin_data_release(&p->data);
    inputs_release(&p->files);
    return 0;
}

/* Report an error that belongs to no question: as an event, if events are what is printed. */
static int report_failure(struct pipe *p, const struct error *err)
{
    autofree char *message = error_message(err);
    struct event e = {.type = EVENT_NOTICE, .notice = {.level = NOTICE_ERROR, .text = message}};
    int fatal = loop_fatal(p->loop);

    show_status(p->show, NULL);
    show_question(p->show, 0, 0, NULL);
    if (err->kind == ERROR_CANCELLED) /* worded as for a question that was under way */
        e.notice.text = fatal == SIGHUP ? "hung up" : fatal ? "terminated" : "interrupted";
    answer_event(p->answer, &e);
    if (err->kind == ERROR_CANCELLED)
        return loop_exit_code(p->loop);
    return error_exit_code(err);
}

/* Print which question the answer belongs to. In JSON each line says so already. */
static void announce(struct pipe *p)
{
    long left = p->total ? 0 : script_left(&p->script);

    p->asked++;
    if (!p->total && left >= 0)
        p->total = p->asked + (unsigned)left;
    show_question(p->show, p->asked, p->total, p->o.json ? NULL : buf_str(&p->question));
}

static int ask_agent(struct pipe *p, struct agent *a)
{
    struct error err = {0};

    if (loop_cancelled(p->loop))
        return loop_exit_code(p->loop);
    if (p->scripted)
        announce(p);
    p->was_error = false;
    if (attach_files(a, &p->task_files, &err) < 0)
        return report_failure(p, &err);
    show_asking(p->show, NULL);
    enum question_status status = agent_ask(a, buf_str(&p->question), p->question.len, &err);
    show_status(p->show, NULL);
    if (status != QUESTION_ANSWERED && !p->was_error && err.kind != ERROR_NONE && err.kind != ERROR_CANCELLED)
        show_line(p->show, NOTICE_ERROR, err.text);
    return question_exit_code(status);
}

static bool ends_script(int code)
{
    return code == 2 || code == 3 || code == 77 || code == 130 || code == 143;
}

int pipe_run(struct pipe *p, struct agent *a)
{
    struct error err = {0};
    int code = 0, r = 1;

    answer_watch(p->answer); /* ends the question if the reader of stdout goes away */
    if (attach(p, a, &err) < 0 || check_script(p, &err) < 0)
        code = report_failure(p, &err);
    while (!ends_script(code) && r > 0 && !answer_broken(p->answer) && err.kind == ERROR_NONE) {
        int one = ask_agent(p, a);

        code = ends_script(one) ? one : exit_code_worse(code, one);
        if (ends_script(one) || !p->scripted || answer_broken(p->answer))
            break;
        r = next_question(p, &err);
        if (r < 0)
            code = report_failure(p, &err);
    }
    answer_unwatch(p->answer);
    if (code == 0 && answer_lost(p->answer))
        code = loop_exit_code(p->loop);
    return answer_broken(p->answer) ? answer_broken(p->answer) : code;
}
