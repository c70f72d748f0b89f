/* main.c - sandpiper: ask a model in plain words; the Python it writes runs in a locked-down container; see
 * the answer. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file.h"
#include "main/command.h"

static int (*const commands[])(struct config *, int closed) = {
    [COMMAND_ASK] = cmd_ask,
    [COMMAND_EXEC] = cmd_exec,
    [COMMAND_CONFIG] = cmd_config,
    [COMMAND_DEBUG_REPLY] = cmd_debug_reply,
    [COMMAND_DEBUG_REQUEST] = cmd_debug_request,
    [COMMAND_DOCTOR] = cmd_doctor,
    [COMMAND_GC] = cmd_gc,
    [COMMAND_MODELS] = cmd_models,
    [COMMAND_PS] = cmd_ps,
    [COMMAND_RM] = cmd_rm,
};

/* Keys are in our memory: no core file, no ptrace by other programs of this user. */
static void keep_secrets(void)
{
    static const struct rlimit none = {0, 0};

    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

/* Whoever started us may ignore or block signals, which a program inherits: without SIGCHLD no child would
 * have an exit code, a blocked SIGINT would never come. A file at the user's own limit of size is an error to
 * tell, like a full disk, and not our end. */
static void fresh_signals(void)
{
    sigset_t none;

    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static int help(const char *topic)
{
    struct buf out = BUF_INIT(0);
    int status;

    option_help(&out, topic);
    status = print_out(buf_str(&out), out.len);
    buf_release(&out);
    return status;
}

/* Nothing that we have to say would arrive, so nothing is asked, run or removed either. */
static int refuse_closed_stdout(void)
{
    print_line("stdout is closed (>&-), so there is nowhere to write\n"
               "To discard the output: >/dev/null");
    return 1;
}

int main(int argc, char **argv)
{
    int closed = fd_open_standard();
    struct error err = {0};
    struct config c;
    int status;

    fresh_signals();
    keep_secrets();
    if (config_load(&c, argc, argv, environ, &err) < 0) {
        print_error(&err);
        status = error_exit_code(&err);
    } else if (closed & 2) {
        status = refuse_closed_stdout();
    } else if (c.help) {
        status = help(c.help_topic);
    } else if (c.version) {
        status = print_out("sandpiper " VERSION "\n", sizeof "sandpiper " VERSION);
    } else {
        setup_engines(&c);
        tell_runtime_dir(&c);
        status = commands[c.command](&c, closed);
    }
    config_release(&c);
    return status;
}
