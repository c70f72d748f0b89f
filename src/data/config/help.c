/* help.c - prints the option table for --help: a first screen, a page for each command, and everything. Uses
 * 79 columns, so that no terminal wraps a line.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "config/custom_engine.h"
#include "config/option.h"

#define COLUMNS 79
#define TEXT_AT 28 /* column of an option's description */

static const char first_screen[] =
    "Usage: sandpiper [OPTION]... \"QUESTION\"  one question, one answer on stdout\n"
    "       sandpiper                         a chat, at a terminal\n"
    "       COMMAND | sandpiper \"QUESTION\"    stdin is data for the question\n"
    "       sandpiper < FILE                  a script: one question a line\n"
    "       sandpiper - < FILE                the question is all of stdin\n"
    "       sandpiper exec FILE               Python in the sandbox, no model\n"
    "       sandpiper config                  show settings and their sources\n"
    "       sandpiper doctor                  check sandbox, key and model\n"
    "       sandpiper mcp, serve              sandboxes for other programs\n"
    "       sandpiper models, sessions        list models, saved sessions\n\n"
    "The usual options:\n";

static const char everything[] =
    "Usage: sandpiper [OPTION]... [QUESTION]  ask; its Python runs in a sandbox\n"
    "       sandpiper                         a chat, at a terminal\n"
    "       COMMAND | sandpiper QUESTION      stdin is data for the question\n"
    "       sandpiper < FILE                  a script: one question a line\n"
    "       sandpiper - < FILE                the question is all of stdin\n"
    "       sandpiper exec FILE|-|-c CODE [ARG]...   Python in the sandbox, no model\n"
    "       sandpiper batch FILE -o RESULTS   ask the questions of a file at once\n"
    "       sandpiper bot discord             answer questions on Discord\n"
    "       sandpiper config                  show settings and their sources\n"
    "       sandpiper doctor                  check engines, limits, key and model\n"
    "       sandpiper mcp                     the sandbox for an MCP client\n"
    "       sandpiper models [TEXT]           list the models of the service\n"
    "       sandpiper sessions                list, show, search saved sessions\n"
    "       sandpiper packages                list, remove the packages of --with\n"
    "       sandpiper receipt [ID]            what an answer rests on, in one file\n"
    "       sandpiper rerun RECEIPT           run its code again and compare\n"
    "       sandpiper serve                   sandboxes for other programs, by HTTP\n"
    "       sandpiper ps                      list the named sandboxes\n"
    "       sandpiper fork NAME NEW           go on from a copy of a named sandbox\n"
    "       sandpiper rm NAME...              remove named sandboxes\n"
    "       sandpiper gc                      remove what killed programs left\n"
    "       sandpiper debug reply < BODY      how sandpiper reads a raw reply\n"
    "       sandpiper debug request QUESTION  the request that would be sent\n"
    "       sandpiper help [COMMAND|all]      the usual options, a command, all\n";

static const char more[] = "\n"
                           "All options and commands: sandpiper help all. One command: sandpiper COMMAND\n"
                           "--help. The events of --json: sandpiper help json. Manual: man sandpiper.\n";

static const char codes[] = "\n"
                            "Exit codes: 0 answered, 1 no answer, 2 usage or configuration, 3 no sandbox,\n"
                            "4 the code still failed, 5 a limit was reached, 6 --verify disagrees,\n"
                            "75 try again later, 77 credentials refused, 130 interrupted, 141 stdout is\n"
                            "closed, 143 terminated.\n"
                            "Configuration: options, then SANDPIPER_* variables, .env, config.yaml.\n";

static void list_pages(struct buf *out);
static void list_options(struct buf *out);

/* The page of a command lists what it takes. */
static const struct topic {
    const char *name;
    int here;
    const char *line, *text, *tail;
    void (*rest)(struct buf *out); /* what is between the text and the tail, or NULL */
} topics[] = {
    {"exec", FOR_EXEC, "run Python in the sandbox, without a model",
     "Usage: sandpiper exec [OPTION]... [FILE|-] [ARG]...\n"
     "       sandpiper exec [OPTION]... -c CODE [ARG]...\n"
     "       COMMAND | sandpiper exec FILE     stdin is that of the code\n\n"
     "Runs Python from FILE, from stdin (-) or from CODE in the sandbox, without a\n"
     "model. Words after it are its arguments, in sys.argv. Its stdout and stderr are\n"
     "passed on as they come. Files that it creates in /mnt/data are saved; their\n"
     "paths are printed on stderr. Piped data is the code's stdin, and a file named\n"
     "by its content as well: open('stdin.csv'). --json-result: one line of JSON.\n",
     "\n"
     "Exit codes: the code's own, as python3's; over a limit 124 (time), 137 (memory,\n"
     "output); 125 not run, or a file not saved; 130 interrupted, 143 terminated.\n",
     NULL},
    {"batch", FOR_BATCH, "ask the questions of a file, several at once",
     "Usage: sandpiper batch [OPTION]... FILE -o RESULTS\n"
     "       sandpiper batch FILE -o RESULTS --settle ID REASON\n"
     "       sandpiper batch report RESULTS [RESULTS]\n\n"
     "Asks each row of FILE in a sandbox of its own and appends a line of JSON to\n"
     "RESULTS: id, answer, status, code, usage. FILE is a CSV with a header, or JSON\n"
     "lines: tasks with question, id, files, system, model, or OpenAI's batch lines.\n"
     "A row counts once its line is on disk: started again, batch goes on with the\n"
     "rest. Ctrl-C lets the rows under way end; a second one leaves them to the next\n"
     "run. report counts what is in RESULTS, or compares two runs.\n",
     "\nExit codes: 0 all answered, 1 some not, or left; 2 usage, or FILE of --prepare\n"
     "failed; 3 no sandbox starts, 75 the service cannot be reached or the quota is\n"
     "used up, 77 it refuses the key, 130 interrupted, 143 terminated.\n",
     NULL},
    {"bot", FOR_BOT, "answer questions on Discord",
     "Usage: DISCORD_TOKEN=... sandpiper bot discord [OPTION]...\n\n"
     "Answers who mentions the bot, replies to it or writes to it directly. A mention\n"
     "in a channel begins a thread (where the bot cannot, it replies). A thread, or\n"
     "the direct messages of a user, is a conversation with a sandbox of its own.\n"
     "Attached files are in its /mnt/data; figures and files come back attached.\n"
     "Answers mention nobody. A question that was accepted is answered once, even\n"
     "after a restart. No privileged intent is needed.\n",
     "\nExit codes: 0 stopped, 1 Discord cannot be reached, 2 usage, or it refuses what\n"
     "the bot asks for, 77 it refuses the token. Manual: man sandpiper-serve, BOT.\n",
     NULL},
    {"chat", FOR_NONE, "the chat: its commands and keys", /* they follow, see main.c */
     "Usage: sandpiper [OPTION]...\n"
     "       sandpiper chat [OPTION]...\n\n"
     "Without a question, at a terminal, sandpiper is a chat: each line is a\n"
     "question, and variables and files stay from one to the next. It takes the\n"
     "options of a question (sandpiper help all). /help COMMAND in the chat says more\n"
     "about one of its commands:\n\n",
     "", NULL},
    {"config", FOR_CONFIG_PAGE, "show settings and their sources",
     "Usage: sandpiper config [OPTION]... [--all]\n\n"
     "Prints where questions go (endpoint, model, whether there is a key), then each\n"
     "setting that is not the default and where it comes from, as YAML that can be\n"
     "used as config.yaml. --all prints the other settings too. Options given with it\n"
     "show what they would change (sandpiper help all lists them).\n",
     "", NULL},
    {"doctor", FOR_DOCTOR, "check key, model and sandbox",
     "Usage: sandpiper doctor [OPTION]...\n\n"
     "Checks everything that a question needs, a line for each with ok or what to do.\n"
     "First the model: key, endpoint, model, a tool call (one small request), whether\n"
     "replies are streamed, how code is asked for (--dialect). --offline skips this.\n\n"
     "Then each engine: a sandbox is started and runs some code. Limits that it\n"
     "enforces less strictly than asked for are named; -v also shows packages, limits\n"
     "and isolation. --sandbox ENGINE checks only that one.\n",
     "\n"
     "Exit codes: 0 an engine and the model work, 3 no engine works, otherwise as for\n"
     "a question: 2 no model or no key is set, 77 the key was refused, 75 try again\n"
     "later, 1 anything else.\n",
     NULL},
    {"mcp", FOR_MCP, "the sandbox for an MCP client",
     "Usage: sandpiper mcp [OPTION]...\n\n"
     "Gives an MCP client (a desktop assistant, an editor, an agent framework) Python\n"
     "in the sandbox: variables and files stay between calls, figures come back as\n"
     "images, nothing reaches this machine or the network. It needs no model: the\n"
     "client has one. The client starts it and speaks over stdin and stdout; in its\n"
     "configuration:\n\n"
     "    {\"mcpServers\": {\"python\": {\"command\": \"sandpiper\", \"args\": [\"mcp\"]}}}\n\n"
     "Tools: execute_python, execute_command, put_file, get_file, list_files,\n"
     "reset_sandbox, fork_sandbox. Each takes the handle of a sandbox, or \"new\" for a\n"
     "separate one. The sandboxes end with the client.\n",
     "\nExit codes: 0 the client closed stdin, 2 usage, 130 interrupted, 141 stdout is\n"
     "closed, 143 terminated.\n",
     NULL},
    {"models", FOR_MODELS, "list the models of the service",
     "Usage: sandpiper models [OPTION]... [TEXT]\n\n"
     "Lists the models of the configured service with what it says about them:\n"
     "context window in tokens, tools, dollars per million tokens in and out, and the\n"
     "day on which they are retired. TEXT shows only names that contain it. Without\n"
     "configuration it asks the model servers on this machine.\n",
     "\n"
     "Exit codes: 0 success, 1 no list or no such name, 2 nothing is configured,\n"
     "75 try again later, 77 the key was refused.\n",
     NULL},
    {"ps", FOR_PS, "list the named sandboxes",
     "Usage: sandpiper ps [--json]\n\n"
     "Lists the named sandboxes: engine, the process that uses it, age, idle time and\n"
     "when it expires, memory in use.\n",
     "", NULL},
    {"fork", FOR_FORK, "go on from a copy of a named sandbox",
     "Usage: sandpiper fork NAME NEW\n\n"
     "Starts a second named sandbox, NEW, from a live copy of NAME: the same variables,\n"
     "modules, files in /mnt/data, engine, limits and folders. From then on neither sees\n"
     "what the other does. Open files go along; connections, pipes and processes do\n"
     "not. No copy can be made while threads run, nor with an engine of your own.\n",
     "\n"
     "Exit codes: 0 success, 2 there is no sandbox NAME, it has ended, or NEW is taken,\n"
     "3 a program is using one of them, or there can be no copy.\n",
     NULL},
    {"rm", FOR_RM, "remove named sandboxes",
     "Usage: sandpiper rm NAME...\n"
     "       sandpiper rm --all [-f]\n\n"
     "Removes named sandboxes with everything in them and says which. At a terminal\n"
     "--all asks first.\n",
     "\n"
     "Exit codes: 0 success, 1 you answered no, 2 there is no sandbox of that name,\n"
     "3 a program is using it, or its engine cannot remove it.\n",
     NULL},
    {"gc", FOR_GC, "remove what killed programs left",
     "Usage: sandpiper gc\n\n"
     "Removes what killed programs left behind: containers, control groups, folders.\n"
     "Every start of sandpiper does this too, in the background.\n",
     "\nExit codes: 0 nothing is left, 1 something could not be removed.\n", NULL},
    {"sessions", FOR_SESSIONS, "list, show, search, remove, export saved sessions",
     "Usage: sandpiper sessions [list]\n"
     "       sandpiper sessions show ID\n"
     "       sandpiper sessions search TEXT\n"
     "       sandpiper sessions rm ID...\n"
     "       sandpiper sessions rm --older 30d [-f]\n"
     "       sandpiper sessions export ID [--format FORMAT] [-o FILE]\n\n"
     "Every question is saved with its answer, code, output and files, unless\n"
     "--no-save or save: off is set. sandpiper -c continues the last session of this\n"
     "folder, -r ID another one. The beginning of an ID is enough. rm removes a\n"
     "session with its folder of files; nothing is removed automatically.\n",
     "\nExit codes: 0 success, 1 nothing was found, or something could not be read or\n"
     "removed, 2 there is no such session.\n",
     NULL},
    {"packages", FOR_PACKAGES, "list, remove the packages of --with",
     "Usage: sandpiper packages [list]\n"
     "       sandpiper packages rm NAME...\n"
     "       sandpiper packages rm --all\n"
     "       sandpiper packages gc\n\n"
     "Packages that --with asked for are kept in ~/.cache/sandpiper/packages, and the\n"
     "same list stays at the same versions. rm removes every set with a package of\n"
     "that name, so that it is looked up anew; gc those not used for 30 days, and what\n"
     "uv keeps for itself. A set that a sandbox uses stays.\n",
     "\nExit codes: 0 success, 1 some are in use and stay, 2 no such package is kept.\n", NULL},
    {"receipt", FOR_RECEIPT, "what an answer rests on, in one file",
     "Usage: sandpiper receipt [ID] > FILE\n"
     "       sandpiper receipt [ID] -o FILE\n\n"
     "Writes what the answers of a session rest on, as JSON, so that a colleague, a\n"
     "reviewer or a CI job can repeat them with sandpiper rerun: questions, answers,\n"
     "the code that ran and what came of it, data and created files by name, size\n"
     "and SHA-256, versions of Python and of imported packages, engine, service and\n"
     "model. The data itself is not in it. Without ID it is the last session of this\n"
     "folder; sandpiper sessions lists others. docs/receipt.schema.json has the form.\n",
     "\nExit codes: 0 success, 1 it could not be written, 2 there is no such session, or\n"
     "no folder for FILE.\n",
     NULL},
    {"rerun", FOR_RERUN, "run the code of a receipt again, and compare",
     "Usage: sandpiper rerun [OPTION]... RECEIPT|-\n\n"
     "Runs the code of a receipt again, without a model, and says \"same result\" or\n"
     "where the first difference is. Data is looked for beside the receipt, in this\n"
     "folder and where --add says; it must have the SHA-256 of the receipt, which may\n"
     "be a stranger's: the code runs in a new sandbox, and -v shows it before.\n\n"
     "Addresses and the order within a set are not compared. What is another again\n"
     "in a second run, as a time is, is listed as changing, unless an answer has it;\n"
     "pictures with other bytes are listed as not compared.\n",
     "\nExit codes: 0 same result, 1 it differs, 2 no receipt, or data that is missing\n"
     "or has changed, 3 no sandbox, 130 interrupted.\n",
     NULL},
    {"serve", FOR_SERVE, "sandboxes for other programs, by HTTP",
     "Usage: sandpiper serve [OPTION]...\n\n"
     "Runs Python for other programs on this machine, over HTTP. Each sandbox keeps\n"
     "its variables and files, has no network, and ends after a time without requests\n"
     "(--ttl). /docs shows the API, /openapi.json describes it. Clients send the\n"
     "header Authorization: Bearer TOKEN; without --token-file a new token is made at\n"
     "each start and printed on stderr. SIGTERM lets running code finish; a second\n"
     "one stops at once.\n",
     "\nExit codes: 0 stopped, 1 the server could not listen, 2 usage.\n"
     "Manual: man sandpiper-serve.\n",
     NULL},
    {"debug", FOR_REPLY, "how replies are read, what would be sent",
     "Usage: sandpiper debug reply [OPTION]... < BODY\n"
     "       sandpiper debug request [OPTION]... QUESTION\n\n"
     "debug reply reads the raw body of a service's reply and prints how sandpiper\n"
     "reads it, as one JSON object: attach both to a bug report. debug request prints\n"
     "the body that would be sent for a question, without the key, and sends nothing;\n"
     "it takes the options of a question.\n",
     "", NULL},
    {"agents", 0, "several agents, and what each may do",
     "Usage: sandpiper --agents files+code --allow-folder DIR QUESTION\n\n"
     "Two agents, kept apart. The first finds files on this machine: its one tool,\n"
     "access_file, copies a file into the sandbox and shows what is in it; it cannot\n"
     "run code. The second gets the question, the files and what the first said about\n"
     "them; it runs Python in the sandbox and cannot look at this machine.\n\n"
     "The first sees only folders that you allow, by --allow-folder or when you are\n"
     "asked at the terminal. Links, and names that begin with a dot, are left out.\n\n"
     "Each agent is a file prompts/NAME.yaml (role, tools, texts, model, with,\n"
     "reasoning_effort); one in the configuration folder replaces the built-in one.\n"
     "prompts/pipelines.yaml names lists of agents. More: man sandpiper-config,\n"
     "AGENTS.\n",
     "", NULL},
    {"engines", 0, "where code can run, and how to say so",
     "--sandbox ENGINE says where code runs. docker, podman and bwrap run it on this\n"
     "machine, and auto takes one of them. Others are data, in the same form as your\n"
     "own; auto never takes one:\n\n",
     "\nTheir settings, and engines of your own, are in config.yaml:\n\n"
     "    engines:\n"
     "      ssh: {with: {host: gpubox}}\n"
     "      slurm: {with: {partition: main, account: physics, time: 2h}}\n"
     "      kubernetes: {with: {image: 'python:3.13', namespace: sandboxes}}\n"
     "      big: {like: slurm, with: {partition: big, sandboxes: 32}}\n\n"
     "On the other machine the same walls are built, by a part of sandpiper that goes\n"
     "along: nothing has to be installed there but python3 and bubblewrap (or\n"
     "Apptainer). A pod has its cluster's walls. sandpiper doctor --sandbox ENGINE\n"
     "says what holds, as seen from inside. Manual: sandpiper-config(5), OTHER\n"
     "MACHINES.\n",
     builtin_engines_help},
    {"json", 0, "the events of --json",
     "Usage: sandpiper --json [OPTION]... QUESTION\n\n"
     "Prints one JSON object a line on stdout. Each has type, v (1) and question (from\n"
     "1; 0 before the first); with --agents also agent, the one that it comes from.\n"
     "What does not apply is null. Ignore types and members that you do not know.\n\n"
     "session      session, model, provider, endpoint, sandbox, version\n"
     "sandbox      engine, image, runtime, python, name, mounts\n"
     "text         reply, text: a piece of it\n"
     "tool_call    id, tool, cell, code\n"
     "tool_output  cell, stream, text: a piece of what the code prints\n"
     "tool_result  id, cell, status, value, data, error, exit_code, seconds,\n"
     "             state_lost, state_restored, notices, output_bytes, output_path,\n"
     "             model_text\n"
     "file         cell, name, path, url, size, data\n"
     "network      state, number, method, host, port, path, secret, why, status,\n"
     "             sent, received\n"
     "notice       level, text\n"
     "usage        input_tokens, cached_tokens, output_tokens, reasoning_tokens,\n"
     "             estimated, cost, seconds: of one request\n"
     "done         status, exit_code, answer, error, reasoning, last_output,\n"
     "             usage: input_tokens, cached_tokens, output_tokens,\n"
     "             reasoning_tokens, estimated, cost, requests, cells, seconds;\n"
     "             computed: runs, failed, seconds, memory_only, unsupported,\n"
     "             verified, second\n"
     "session_end  exit_code: the last line\n\n"
     "    sandpiper --json \"...\" | jq -r 'select(.type == \"done\").answer'\n\n"
     "data is a MIME bundle, as in Jupyter: of the value of the code, or of a figure.\n"
     "man sandpiper-events has each member; a JSON Schema is in docs/ of the source\n"
     "and in share/sandpiper/events.schema.json.\n",
     "", NULL},
    {"version", FOR_NONE, "the version of sandpiper",
     "Usage: sandpiper version\n"
     "       sandpiper -V\n\n"
     "Prints the version of sandpiper on stdout, as in \"sandpiper " VERSION "\". Put it in\n"
     "bug reports, with the output of sandpiper doctor.\n",
     "", NULL},
    {"help", FOR_NONE, "the usual options, a command, all",
     "Usage: sandpiper help             the usual options\n"
     "       sandpiper help PAGE\n"
     "       sandpiper COMMAND --help   the same for a command\n\n"
     "Pages:\n",
     "", list_pages},
    {"all", 0, "all options", everything, "", list_options},
};

static void add_words(struct buf *out, const char *text, size_t column)
{
    while (*text) {
        size_t n = strcspn(text, " ");

        if (column > TEXT_AT && column + 1 + n > COLUMNS) {
            buf_addf(out, "\n%*s", TEXT_AT, "");
            column = TEXT_AT;
        } else if (column > TEXT_AT) {
            buf_addch(out, ' ');
            column++;
        }
        buf_add(out, text, n);
        column += n;
        text += n + strspn(text + n, " ");
    }
}

static void add_option(struct buf *out, const struct option *o)
{
    bool shown = o->def && o->type != OPTION_NOT && strcmp(o->def, "0") != 0
                 && !(o->choices && (!o->arg || !strcmp(o->def, "auto")));
    autofree char *text = xasprintf("%s%s%s%s", o->help, shown ? " [" : "", shown ? o->def : "",
                                    shown ? "]" : "");
    char left[64];
    int n = snprintf(left, sizeof left, "  %c%c%s --%s%s%s", o->letter ? '-' : ' ',
                     o->letter ? o->letter : ' ', o->letter ? "," : " ", o->flag, o->arg ? " " : "",
                     o->arg ? o->arg : "");

    buf_addstr(out, left);
    if (n > TEXT_AT - 2)
        buf_addf(out, "\n%*s", TEXT_AT, "");
    else
        buf_addf(out, "%*s", TEXT_AT - n, "");
    add_words(out, text, TEXT_AT);
    buf_addch(out, '\n');
}

static bool belongs(const struct topic *t, const struct option *o)
{
    return o->commands & t->here && t->here != FOR_NONE;
}

static void help_topic(const struct topic *t, struct buf *out)
{
    const char *head = "\nOptions:\n";

    buf_addstr(out, t->text);
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].flag && belongs(t, &option_table[i])) {
            buf_addstr(out, head);
            add_option(out, &option_table[i]);
            head = "";
        }
    if (t->rest)
        t->rest(out);
    buf_addstr(out, t->tail);
}

static void help_first(struct buf *out)
{
    buf_addstr(out, first_screen);
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].usual)
            add_option(out, &option_table[i]);
    buf_addf(out, "%s%s", more, codes);
}

static void list_pages(struct buf *out)
{
    for (size_t i = 0; i < countof(topics); i++)
        buf_addf(out, "  %-*s%s\n", TEXT_AT - 2, topics[i].name, topics[i].line);
}

static void list_options(struct buf *out)
{
    const char *group = "";

    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];

        if (!o->flag)
            continue;
        if (strcmp(group, o->group) != 0)
            buf_addf(out, "\n%s:\n", group = o->group);
        add_option(out, o);
    }
    buf_addf(out, "%sManual: man sandpiper.\n", codes);
}

const char *help_page(size_t i, const char **line)
{
    *line = i < countof(topics) ? topics[i].line : NULL;
    return i < countof(topics) ? topics[i].name : NULL;
}

static const struct topic *topic_of(const char *word)
{
    for (size_t i = 0; i < countof(topics); i++)
        if (!strcmp(word, topics[i].name))
            return &topics[i];
    return NULL;
}

int help_commands(const char *page)
{
    const struct topic *t = topic_of(page);

    return t ? t->here : 0;
}

bool help_is_command(const char *word)
{
    return help_commands(word) != 0;
}

bool help_shows(const char *page, const struct option *o)
{
    const struct topic *t = page ? topic_of(page) : NULL;

    return t ? belongs(t, o) : o->commands & FOR_ASK;
}

const char *help_find(const char *word)
{
    const struct topic *t = topic_of(word);

    return t ? t->name : NULL;
}

void option_help(struct buf *out, const char *topic)
{
    const struct topic *t = topic ? topic_of(topic) : NULL;

    if (t)
        help_topic(t, out);
    else
        help_first(out);
}
