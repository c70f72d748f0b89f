/* cmd_python.c - /code and /reset: the Python behind the answers. */
#include <string.h>

#include "agent/agent.h"
#include "base/error.h"
#include "base/loop.h"
#include "show/show.h"
#include "term/private.h"

void obey_code(struct term *t, const char *argument)
{
    const char *text = agent_last_code(t->agent);

    (void)argument;
    if (text)
        term_print(t, text, strlen(text));
    else
        term_say(t, NOTICE_INFO, "no question has run code yet");
}

void obey_reset(struct term *t, const char *argument)
{
    struct error err = {0};
    int r;

    (void)argument;
    loop_arm(t->loop);
    show_status(t->show, "Restarting Python...");
    r = agent_reset(t->agent, &err);
    show_status(t->show, NULL);
    if (r < 0)
        term_say_error(t, &err);
    else
        term_say(t, NOTICE_INFO, "Python restarted: variables cleared, files kept.");
}
