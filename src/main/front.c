/* front.c - forks the starter, wipes the front's environment, and takes the settings that the starter sends.
 */
#include "main/front.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ask/ask.h"
#include "ask/setup.h"
#include "base/file.h"
#include "base/mem.h"
#include "bot/bot.h"
#include "config/args.h"
#include "engine/engines.h"
#include "engine/sweep.h"
#include "json/json.h"
#include "llm/llm.h"
#include "main/command.h"
#include "front/starter.h"

#define SETTINGS_MAX (128u << 10)

static int front_side = -1; /* in the starter: its connection to the front */

static bool is_listed(const char *entry, const char *const *names, size_t n)
{
    size_t len = strcspn(entry, "=");

    for (size_t i = 0; i < n; i++)
        if (strlen(names[i]) == len && !memcmp(entry, names[i], len))
            return true;
    return false;
}

/* Of the environment a front needs these. The others are overwritten where they lie, for /proc/PID/environ
 * shows that place: any of them may be a key. */
static void forget_environment(bool speaks_abroad)
{
    static const char *const needed[] = {"HOME",
                                         "XDG_RUNTIME_DIR",
                                         "XDG_STATE_HOME",
                                         "XDG_CONFIG_HOME",
                                         "XDG_CACHE_HOME",
                                         "XDG_DATA_HOME",
                                         "LISTEN_PID",
                                         "LISTEN_FDS",
                                         "LISTEN_FDNAMES",
                                         "TERM",
                                         "TZ"};
    /* how libcurl reaches a chat service, and whom it trusts */
    static const char *const abroad[] = {"http_proxy",    "https_proxy", "HTTPS_PROXY", "all_proxy",
                                         "ALL_PROXY",     "no_proxy",    "NO_PROXY",    "CURL_CA_BUNDLE",
                                         "SSL_CERT_FILE", "SSL_CERT_DIR"};
    char **to = environ;

    for (char **e = environ; *e; e++)
        if (is_listed(*e, needed, countof(needed))
            || (speaks_abroad && is_listed(*e, abroad, countof(abroad))))
            *to++ = *e;
        else
            explicit_bzero(*e, strlen(*e));
    *to = NULL;
}

/* The token of the chat service, which is taken out of the environment before there is a second process.
 * NULL: there is none. The caller frees it with free_secret(). */
static char *take_token(const struct args *a)
{
    const struct chat_service *service = a->names.n ? chat_service_find(a->names.v[0]) : NULL;
    size_t len = service ? strlen(service->variable) : 0;
    char *token = NULL, **to = environ;

    for (char **e = environ; *e; e++) {
        if (!len || strncmp(*e, service->variable, len) != 0 || (*e)[len] != '=') {
            *to++ = *e;
            continue;
        }
        free_secret(token);
        token = xstrdup(*e + len + 1);
        explicit_bzero(*e, strlen(*e));
    }
    *to = NULL;
    return token;
}

/* ---- the settings ---- */

static int send_settings(const struct config *c, struct error *err)
{
    autojson struct json *j = front_settings_write(&c->front);
    autofree char *text = json_print(j);

    if (strlen(text) > SETTINGS_MAX)
        return error_set(err, ERROR_USAGE, 0,
                         "--allow-host and --trusted-proxy: all names together must fit in %u KiB",
                         SETTINGS_MAX >> 10);
    if (send(front_side, text, strlen(text), MSG_NOSIGNAL) < 0)
        return error_errno(err, "the settings of the server cannot be passed on");
    return 0;
}

/* Strings of f point into what is returned. NULL: the starter has ended, and has said why. */
static struct json *hear_settings(int starter, struct front_settings *f)
{
    autofree char *text = xmalloc(SETTINGS_MAX);
    ssize_t n;

    do
        n = recv(starter, text, SETTINGS_MAX, 0);
    while (n < 0 && errno == EINTR);
    struct json *j = n > 0 ? json_parse(text, (size_t)n, 0, NULL, NULL) : NULL;
    front_settings_read(f, j);
    return j;
}

static bool forked; /* this process is a runner of a batch */

static int run_runner(char *const *argv)
{
    int argc = 0;

    forked = true;
    while (argv[argc])
        argc++;
    return run_command(argc, argv, 0);
}

bool front_asks_rows(void)
{
    return forked;
}

int cmd_starter(struct config *c, int closed)
{
    struct argv options autorelease(argv_release) = ARGV_INIT;
    struct error err;

    (void)closed;
    print_notices(c);
    if ((c->allow_net.n || c->secrets.n) && !c->front.quiet)
        print_line("allow_net and secrets are not for these sandboxes: they have no network");
    if (setup_engine_check(c, &err) < 0 || (c->args.command != COMMAND_MCP && uploads_check(c, &err) < 0)
        || languages_check(c, &err) < 0 || engines_share(c->sandbox, &err) < 0 || send_settings(c, &err) < 0)
        return print_failure(&err);
    args_again(&c->args, ~0, &options); /* a runner takes them all, and has our environment and files */
    bool fork = c->args.command == COMMAND_BATCH && llm_preload();
    if (fork)
        sweep_for_forks();
    starter_serve(front_side, (const char *const *)options.v, fork ? run_runner : NULL);
    return 0;
}

/* ---- the two processes ---- */

/* Many bodies of clients come and go. What is large is to be given back at once, and each of them may need a
 * descriptor. */
static void prepare_for_many(void)
{
    struct rlimit files;

    mallopt(M_MMAP_THRESHOLD, 128 << 10); /* or the C library would raise it to the largest it has seen */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int run_front(front_command *command, struct front *f, pid_t pid)
{
    int status = 0;

    forget_environment(command == cmd_bot);
    prepare_for_many();
    autojson struct json *settings = hear_settings(f->starter, &f->set);
    int code = settings ? command(f) : 1;
    front_settings_release(&f->set);
    close(f->starter);
    if (settings)
        kill(pid, SIGKILL); /* it would end by itself, but not one that is stopped */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!settings)
        code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return code;
}

/* What the command runs in the front; NULL: it starts none. */
static front_command *command_of(enum command command)
{
    return command == COMMAND_SERVE   ? cmd_serve
           : command == COMMAND_MCP   ? cmd_mcp
           : command == COMMAND_BATCH ? cmd_batch
           : command == COMMAND_BOT   ? cmd_bot
                                      : NULL;
}

static int split_off_starter(front_command *command, const struct args *a, int closed)
{
    struct error err;
    int pair[2];
    char *token = command == cmd_bot ? take_token(a) : NULL;

    pid_t pid = -1;
    if (starter_pair(pair, &err) == 0 && (pid = fork()) < 0)
        error_errno(&err, "the process that starts sandboxes cannot be started");
    if (pid > 0) {
        struct front f = {.starter = pair[0], .closed = closed, .names = &a->names, .token = token};

        close(pair[1]);
        int status = run_front(command, &f, pid);
        free_secret(token);
        return status;
    }
    free_secret(token);
    if (pid < 0)
        return print_failure(&err);
    close(pair[0]);
    front_side = pair[1];
    return -1;
}

int front_split(int argc, char *const *argv, int closed)
{
    struct args a;
    bool runs = args_parse(&a, argc, argv, NULL) == 0 && !a.help && !a.version;
    front_command *command = runs ? command_of(a.command) : NULL;
    int status = command ? split_off_starter(command, &a, closed) : -1;

    args_release(&a);
    return status;
}
