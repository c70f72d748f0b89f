/* main.c - sandpiper: ask a model in plain words; the Python it writes runs in a sandbox; see the answer. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ask/setup.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/mem.h"
#include "engine/inside.h"
#include "main/command.h"
#include "main/front.h"
#include "proxy/proxy.h"
#include "term/term.h"

static int (*const commands[])(struct config *, int closed) = {
    [COMMAND_ASK] = cmd_ask,
    [COMMAND_BATCH] = cmd_starter,
    [COMMAND_BOT] = cmd_starter,
    [COMMAND_CHAT] = cmd_ask,
    [COMMAND_EXEC] = cmd_exec,
    [COMMAND_CONFIG] = cmd_config,
    [COMMAND_DEBUG_REPLY] = cmd_debug_reply,
    [COMMAND_DEBUG_REQUEST] = cmd_debug_request,
    [COMMAND_DOCTOR] = cmd_doctor,
    [COMMAND_FORK] = cmd_fork,
    [COMMAND_GC] = cmd_gc,
    [COMMAND_MCP] = cmd_starter,
    [COMMAND_MODELS] = cmd_models,
    [COMMAND_PACKAGES] = cmd_packages,
    [COMMAND_PS] = cmd_ps,
    [COMMAND_RECEIPT] = cmd_receipt,
    [COMMAND_RERUN] = cmd_rerun,
    [COMMAND_RM] = cmd_rm,
    [COMMAND_RUNNER] = cmd_runner,
    [COMMAND_SERVE] = cmd_starter,
    [COMMAND_SESSIONS] = cmd_sessions,
};

/* Our memory holds keys: allow no core file, and no ptrace by other programs of this user. */
static void keep_secrets(void)
{
    static const struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* The program that started us may ignore or block signals, and we inherit that. If SIGCHLD is ignored, no
 * child has an exit code; if SIGINT is blocked, it never arrives. SIGXFSZ must not end us: a file at the
 * user's size limit is reported as an error, like a full disk. */
static void fresh_signals(void)
{
    sigset_t none;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* A chat is open for days. Without this the C library keeps what large blocks took (a figure, a long answer):
 * it raises the size from which a block is given back to the system with each that was freed. */
static void give_back_memory(void)
{
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
#endif
}

static int help(const char *topic)
{
    struct buf out autorelease(buf_release) = BUF_INIT(0);

    option_help(&out, topic);
    if (topic && !strcmp(topic, "chat"))
        term_help(&out); /* config knows nothing of the chat's commands */
    return print_out(buf_str(&out), out.len);
}

/* If stdout is closed nothing could be delivered, so do not ask, run or remove anything. */
static int refuse_closed_stdout(void)
{
    print_line("stdout is closed (>&-), so there is nowhere to write\n"
               "To discard the output: >/dev/null");
    return 1;
}

/* The exit code of exec says what the code did, unless it could not be run. */
static int failed(const struct config *c, int status)
{
    return c->args.command == COMMAND_EXEC ? exec_failed(status) : status;
}

/* "debug proxy": not for people; sandbox/sandbox_network.c starts it. */
static bool is_proxy(int argc, char **argv)
{
    struct stat st;

    return argc == 3 && !strcmp(argv[1], "debug") && !strcmp(argv[2], "proxy") && fstat(0, &st) == 0
           && S_ISSOCK(st.st_mode);
}

/* "debug complete WORD...": the words are a line that somebody is still typing, not ours to judge. */
static bool is_completion(int argc, char **argv)
{
    return argc >= 3 && !strcmp(argv[1], "debug") && !strcmp(argv[2], "complete");
}

/* On the machine of an engine: our part that builds the walls there. It needs no configuration, nor a key. */
static bool is_inside(int argc, char **argv)
{
    return argc >= 2 && !strcmp(argv[1], "inside");
}

int run_command(int argc, char *const *argv, int closed)
{
    struct error err = {0};
    struct config c;
    int status;

    fresh_signals();
    if (config_load(&c, argc, argv, environ, &err) < 0) {
        status = failed(&c, print_failure(&err));
    } else if (closed & 2) {
        status = failed(&c, refuse_closed_stdout());
    } else if (c.args.help) {
        status = help(c.args.help_topic);
    } else if (c.args.version) {
        status = print_out("sandpiper " VERSION "\n", sizeof "sandpiper " VERSION);
    } else {
        setup_engines(&c);
        setup_languages(&c);
        tell_runtime_dir(&c);
        status = commands[c.args.command](&c, closed);
    }
    config_release(&c);
    return status;
}

int main(int argc, char **argv)
{
    int closed = fd_open_standard();
    int status;

    fresh_signals();
    keep_secrets();
    give_back_memory();
    if (is_inside(argc, argv))
        return inside_run(argv + 2, VERSION);
    if (is_proxy(argc, argv))
        return proxy_main();
    if (is_completion(argc, argv))
        return cmd_complete(argv + 3, (size_t)argc - 3);
    if ((status = front_split(argc, argv, closed)) >= 0)
        return status;
    return run_command(argc, argv, closed);
}
