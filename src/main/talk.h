/* talk.h - a question, a script of questions or a chat, on the command line: what listens to struct ask is
 * the pipe or the terminal, and the session is saved. For cmd_ask.c, which releases it, and ask_chat.c.
 */
#ifndef MAIN_TALK_H
#define MAIN_TALK_H

#include "main/command.h"
#include "mount/mount.h"
#include "ask/ask.h"
#include "ask/setup.h"
#include "ask/with.h"
#include "saved/saved.h"
#include "show/show.h"

struct talk {
    struct ask ask;
    struct loop *loop;
    struct session session;
    struct mounts mounts;         /* for the sandbox */
    struct network_setup network; /* likewise */
    struct with with;             /* packages for the sandbox */
    bool installs;                /* the user allowed all packages that the model asks for */
    unsigned refused;             /* number of the last question for which the user did not; 0 */
    struct saved saved;           /* points at members of this struct */
    struct pipe *pipe;            /* either this or the chat below */
    struct term *term;
    struct argv names; /* of models, for Tab in the chat */
    char *place;       /* where code runs, as shown to the user; or NULL */
    bool told_unsaved; /* that the session's files go when it ends */
    struct show_decoder decoder;
};

/* cmd_ask.c */
const char *const *talk_files(const struct config *c); /* --add; NULL: none */
struct show_options talk_show_options(struct talk *t); /* what the user chose */

/* ask_chat.c */
int talk_open_chat(struct talk *t, struct error *err);

#endif
