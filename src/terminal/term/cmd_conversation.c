/* cmd_conversation.c - /clear, /undo, /retry, /compact, /tokens, /exit: the conversation itself. */
#include "agent/agent.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/size.h"
#include "process/signals.h"
#include "show/show.h"
#include "term/commands.h"
#include "term/private.h"

static void slash_clear(struct term *t)
{
    agent_clear(t->agent);
    past_undo(&t->past, 0);
    term_say(t, NOTICE_INFO, "Conversation cleared. Variables are kept.");
}

const struct chat_command command_clear = {
    .name = "/clear",
    .argument = "",
    .help = "clear the conversation; variables are kept",
    .act = slash_clear,
    .usual = true,
};

static void slash_undo(struct term *t)
{
    struct error err = {0};

    if (t->o.sessions.undo(t->o.sessions.ctx, &err) < 0) {
        term_say_error(t, &err);
        return;
    }
    past_undo(&t->past, agent_question_serial(t->agent));
    term_say(t, NOTICE_INFO, "Removed the last question and its answer. Variables and files are kept.");
}

const struct chat_command command_undo = {
    .name = "/undo",
    .argument = "",
    .help = "remove the last question and its answer",
    .act = slash_undo,
    .more = "They are removed from the conversation; variables and files stay as they are.\n",
};

static void slash_retry(struct term *t)
{
    struct error err = {0};

    if (!agent_can_retry(t->agent)) {
        term_say(t, NOTICE_INFO,
                 !agent_question_number(t->agent) ? "Nothing to retry: no question was asked yet."
                 : question_has_answer(t->last)
                     ? "Nothing to retry: the last question was answered."
                     : "Nothing to retry: part of an answer was given. Ask the question again.");
        return;
    }
    loop_arm(t->loop);
    show_asking(t->show, NULL);
    term_after_question(t, agent_retry(t->agent, &err));
}

const struct chat_command command_retry = {
    .name = "/retry",
    .argument = "",
    .help = "ask the last question again if it got no answer",
    .act = slash_retry,
    .usual = true,
};

static void slash_compact(struct term *t)
{
    long long before = (long long)agent_conversation_tokens(t->agent);
    struct error err = {0};

    loop_arm(t->loop);
    show_asking(t->show, NULL);
    int status = agent_compact(t->agent, &err);
    show_status(t->show, NULL);
    if (status < 0)
        term_say_error(t, &err);
    else
        term_sayf(t, NOTICE_INFO,
                  "Conversation summarised: about %lld tokens instead of %lld. Variables are kept.",
                  (long long)agent_conversation_tokens(t->agent), before);
}

const struct chat_command command_compact = {
    .name = "/compact",
    .argument = "",
    .help = "replace the conversation by a summary",
    .act = slash_compact,
    .more = "The model summarises the conversation; the summary takes its place. Variables\n"
            "and files are kept. This happens automatically when the window is nearly full.\n",
};

static void slash_tokens(struct term *t)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);
    const struct usage *u = agent_usage(t->agent);
    int context = agent_context(t->agent);

    usage_text(u, &out);
    buf_addf(&out, "\nThe conversation has about %s tokens",
             count_text(agent_conversation_tokens(t->agent)).text);
    if (context > 0)
        buf_addf(&out, " of the %s that fit into the model's window", count_text(context).text);
    buf_addstr(&out, ".\n");
    term_print_wrapped(t, buf_str(&out));
}

const struct chat_command command_tokens = {
    .name = "/tokens",
    .argument = "",
    .help = "tokens, time and price of this session",
    .act = slash_tokens,
};

static void slash_exit(struct term *t)
{
    t->leaving = true;
}

const struct chat_command command_exit = {
    .name = "/exit",
    .aliases = "/quit exit quit exit() quit() :q",
    .argument = "",
    .help = "end (also quit, :q and Ctrl-D)",
    .act = slash_exit,
    .usual = true,
};
