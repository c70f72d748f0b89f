/* cmd_saved.c - /sessions, /resume, /fork, /rename, /export: what is saved. */
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "process/signals.h"
#include "term/commands.h"
#include "term/private.h"

static void slash_sessions(struct term *t, const char *argument)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};

    if (t->o.sessions.list(t->o.sessions.ctx, argument, &out, &err) < 0)
        term_say_error(t, &err);
    else
        term_print(t, buf_str(&out), out.len);
}

const struct chat_command command_sessions = {
    .name = "/sessions",
    .argument = "[TEXT]",
    .help = "list saved sessions, or search them for TEXT",
    .run = slash_sessions,
};

static const char *const *names_of_sessions(struct term *t)
{
    argv_release(&t->names);
    t->o.sessions.names(t->o.sessions.ctx, &t->names);
    return t->names.n ? (const char *const *)t->names.v : NULL;
}

static void slash_resume(struct term *t, const char *argument)
{
    struct error err = {0};

    if (!*argument) {
        slash_sessions(t, "");
        term_say(t, NOTICE_INFO, "/resume ID continues one of them.");
        return;
    }
    loop_arm(t->loop);
    if (t->o.sessions.go_to(t->o.sessions.ctx, argument, &err) < 0)
        term_say_error(t, &err);
    else
        t->leaving = true;
}

const struct chat_command command_resume = {
    .name = "/resume",
    .argument = "[ID]",
    .help = "continue another session; without ID: list them",
    .run = slash_resume,
    .names = names_of_sessions,
    .more = "The beginning of an ID is enough. The session that you leave is saved and can\n"
            "be resumed too; its sandbox ends.\n",
};

static void slash_fork(struct term *t, const char *argument)
{
    autofree char *title = NULL, *was = NULL;
    struct error err = {0};

    loop_arm(t->loop);
    if (t->o.fork(t->o.ctx, argument, &title, &was, &err) < 0) {
        term_say_error(t, &err);
        return;
    }
    bool titled = title && *title; /* a session has no title before its first question */
    term_sayf(t, NOTICE_INFO,
              "This chat goes on in a fork%s%s%s. The session before stays as it is: /resume %s",
              titled ? ", \"" : "", titled ? title : "", titled ? "\"" : "", was);
}

const struct chat_command command_fork = {
    .name = "/fork",
    .argument = "[TITLE]",
    .help = "go on in a copy of this session, to try something",
    .run = slash_fork,
    .more = "Copies the conversation to a new session, in which this chat goes on with its\n"
            "variables and files. The old session keeps its own: /resume ID goes back to it,\n"
            "and from there to the fork, each as you left it. Once this chat has ended,\n"
            "sandpiper -r ID continues them, and runs their code again for the variables.\n"
            "So does /resume where threads run, or with an engine of your own: then a line\n"
            "says so. Connections and pipes are closed in the one that is gone back to.\n",
};

static void slash_rename(struct term *t, const char *argument)
{
    struct error err = {0};

    if (t->o.sessions.rename(t->o.sessions.ctx, argument, &err) < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO, "This session is now \"%s\".", argument);
}

const struct chat_command command_rename = {
    .name = "/rename",
    .argument = "TITLE",
    .help = "give this session a title",
    .run = slash_rename,
};

static void slash_export(struct term *t, const char *argument)
{
    struct buf saved autorelease(buf_release) = BUF_INIT(0);
    struct error err = {0};

    if (t->o.sessions.export(t->o.sessions.ctx, argument, &saved, &err) < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO, "saved: %s", buf_str(&saved));
}

static const char *const formats[] = {"md", "json", "py", "ipynb", NULL};

const struct chat_command command_export = {
    .name = "/export",
    .argument = "[FILE]",
    .help = "write this session to a file: md, json, py or ipynb",
    .run = slash_export,
    .words = formats,
    .files = true,
    .more = "The extension of FILE sets the format: .md, .json, .py or .ipynb. With a format\n"
            "alone (/export md), or nothing, the file is named after the ID of the session.\n"
            "No file is replaced.\n",
};
