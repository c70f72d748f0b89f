/* front.h - serve, mcp, bot and batch are two processes, so that the one that reads what clients, models and
 * code wrote has no key of a model service. The one that the user started is the front: it never reads
 * config.yaml or .env, and its environment is wiped. The other is forked before anything is read; it loads
 * the configuration, tells the front what is in struct front_settings (config/config.h) and nothing else,
 * and then starts the runners with the options of this command line (front/starter.h).
 */
#ifndef MAIN_FRONT_H
#define MAIN_FRONT_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct front {
    struct front_settings set; /* all that it knows of the configuration */
    int starter;               /* the connection to the process that starts runners */
    int closed;                /* the mask from fd_open_standard() */
    const struct argv *names;  /* the operands of the command line */
    const char *token;         /* bot: of the chat service, which the starter does not have; or NULL */
};

typedef int front_command(const struct front *f);
front_command cmd_batch, cmd_bot, cmd_mcp, cmd_serve;

/* Does this line start a front? Then split: returns -1 in the process that is to go on with the configuration
 * and cmd_starter, and the exit code in the front, once it has served. -1 too if it does not. */
int front_split(int argc, char *const *argv, int closed);
/* What "serve" and "mcp" are to the process that has the configuration. */
int cmd_starter(struct config *c, int closed);
/* Is this a runner of a batch? */
bool front_asks_rows(void);

#endif
