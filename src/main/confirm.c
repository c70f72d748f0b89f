/* confirm.c - yes-or-no questions at the terminal, and the one about a folder's .env. */
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/scrub.h"
#include "config/folder.h"
#include "main/command.h"
#include "process/foreground.h"
#include "process/signals.h"
#include "process/out.h"
#include "process/slow_read.h"

/* Read one line byte by byte: what is typed after it belongs to another program. */
static enum confirm read_yes_or_no(struct loop *loop)
{
    char answer[16] = "";
    size_t n = 0;
    int c;

    while ((c = slow_byte(0, loop)) >= 0 && c != '\n')
        if (n < sizeof answer - 1)
            answer[n++] = (char)c;
    if (c != '\n') {
        out_write(2, "\n", 1, loop);
        return CONFIRM_NO;
    }
    return !strcmp(answer, "always")                                                ? CONFIRM_ALWAYS
           : !strcmp(answer, "y") || !strcmp(answer, "Y") || !strcmp(answer, "yes") ? CONFIRM_YES
                                                                                    : CONFIRM_NO;
}

enum confirm confirm_or_always(const char *question, struct loop *loop)
{
    autofree char *clean = scrub_line(question, SCRUB_TERMINAL);
    struct termios before;

    if (!isatty(0) || !isatty(2))
        return CONFIRM_NOBODY;
    bool saved = tcgetattr(0, &before) == 0;
    if (saved) { /* a chat that is about to begin does not echo */
        struct termios shown = before;

        shown.c_lflag |= ICANON | ECHO;
        tcsetattr(0, TCSADRAIN, &shown);
    }
    tcflush(0, TCIFLUSH); /* input typed before the question does not answer it */
    out_write(2, clean, strlen(clean), loop);
    enum confirm answer = read_yes_or_no(loop);
    if (saved && !in_background(0))
        tcsetattr(0, TCSADRAIN, &before);
    return loop && loop_cancelled(loop) ? CONFIRM_INTERRUPTED : answer;
}

enum confirm confirm(const char *question, struct loop *loop)
{
    enum confirm answer = confirm_or_always(question, loop);

    return answer == CONFIRM_ALWAYS ? CONFIRM_NO : answer;
}

enum folder_answer ask_about_folder(void *loop, const char *question)
{
    switch (confirm(question, loop)) {
    case CONFIRM_YES:
        return FOLDER_ALLOWED;
    case CONFIRM_ALWAYS:
    case CONFIRM_NO:
        return FOLDER_DENIED;
    case CONFIRM_INTERRUPTED:
        return FOLDER_INTERRUPTED;
    case CONFIRM_NOBODY:
        break;
    }
    return FOLDER_NOBODY;
}
