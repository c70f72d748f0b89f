/* option.c - the table of options, and lookups in it. */
#include "config/option.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/nearest.h"
#include "config/config.h"

#define TO(member) .offset = offsetof(struct config, member)

static const char ask[] = "Question", model[] = "Model", sandbox[] = "Sandbox", output[] = "Output",
                  server[] = "Server", batch[] = "Batch", debug[] = "Debugging", other[] = "Other";

const struct option option_table[] = {
    {"prompt", 'p', NULL, NULL, OPTION_STRING, TO(prompt), .arg = "TEXT", .group = ask,
     .commands = FOR_ASK | FOR_REQUEST, .usual = true,
     .help = "the question, even if it is the name of a command"},
    {"continue", 'c', NULL, NULL, OPTION_BOOL, TO(go_on), .group = ask, .commands = FOR_ASK, .usual = true,
     .help = "continue the last session here (-r ID: another)"},
    {"resume", 'r', NULL, NULL, OPTION_STRING, TO(resume), .arg = "ID", .group = ask, .commands = FOR_ASK,
     .help = "continue another session (sandpiper sessions lists them)"},
    {"rerun", 0, NULL, NULL, OPTION_BOOL, TO(rerun), .group = ask, .commands = FOR_ASK,
     .help = "with -c or -r: first run the code of the session again"},
    {"no-save", 0, "save", "SANDPIPER_SAVE", OPTION_NOT, TO(save), .def = "true", .group = ask,
     .commands = FOR_ASK | FOR_CONFIG, .help = "keep nothing of this session on disk, but for --out"},
    {"older", 0, NULL, NULL, OPTION_TIME, TO(older), .min = "1ms", .max = "36500d", .arg = "TIME",
     .group = ask, .commands = FOR_SESSIONS,
     .help = "sessions rm: sessions not used for this long, such as 30d"},
    {"format", 0, NULL, NULL, OPTION_CHOICE, TO(front.format), .choices = "md|json|py|ipynb|openai",
     .arg = "FORMAT", .group = ask, .commands = FOR_SESSIONS | FOR_BATCH,
     .help = "sessions export: md, json, py or ipynb; batch: openai"},
    {"output", 'o', NULL, NULL, OPTION_STRING, TO(front.output), .arg = "FILE", .group = ask,
     .commands = FOR_SESSIONS | FOR_RECEIPT | FOR_BATCH,
     .help = "batch, receipt, sessions export: the file to write"},
    {"code", 'c', NULL, NULL, OPTION_STRING, TO(code), .arg = "CODE", .group = ask, .commands = FOR_EXEC,
     .help = "exec: run CODE; what follows is in sys.argv"},
    {"system", 's', "system", "SANDPIPER_SYSTEM", OPTION_STRING, TO(system), .arg = "TEXT", .group = ask,
     .commands = FOR_QUESTIONS, .usual = true, .help = "your own instructions for the model"},
    {"add", 0, NULL, NULL, OPTION_LIST, TO(add), .arg = "FILE", .group = ask,
     .commands = FOR_ASK | FOR_EXEC | FOR_REQUEST | FOR_RERUN | FOR_BATCH, .usual = true,
     .help = "put a file or folder into the sandbox as data"},
    {"mount", 0, "mount", NULL, OPTION_PATHS, TO(mounts), .arg = "DIR[:rw]", .group = ask,
     .commands = FOR_SANDBOX, .help = "let code read a folder where it is (:rw: change it); can be repeated"},
    {"stdin", 0, NULL, NULL, OPTION_CHOICE, TO(stdin_mode), .def = "auto",
     .choices = "auto|data|ignore|script", .arg = "HOW", .group = ask,
     .commands = FOR_ASK | FOR_EXEC | FOR_REQUEST,
     .help = "what stdin is: auto, data, ignore or script (one question a line)"},
    {"out", 0, NULL, NULL, OPTION_STRING, TO(front.out_dir), .arg = "DIR", .group = ask,
     .commands = FOR_ASK | FOR_EXEC | FOR_BATCH, .usual = true,
     .help = "save the files that the code creates in DIR"},
    {"upload", 0, "artifacts.upload", "SANDPIPER_ARTIFACTS_UPLOAD", OPTION_STRING, TO(upload), .arg = "URL",
     .group = ask, .commands = FOR_ASK | FOR_SERVE | FOR_CONFIG,
     .help = "also put created files on s3://BUCKET/PREFIX or an Azure Blob container"},
    {"agents", 0, "agents", "SANDPIPER_AGENTS", OPTION_STRING, TO(agents), .arg = "NAME", .group = ask,
     .commands = FOR_ASK | FOR_REQUEST | FOR_SERVE | FOR_CONFIG,
     .help = "several agents: with files+code one finds files, the other computes"},
    {"allow-folder", 0, "allow_folder", NULL, OPTION_PATHS, TO(allow_folders), .arg = "DIR", .group = ask,
     .commands = FOR_ASK | FOR_REQUEST | FOR_SERVE | FOR_CONFIG,
     .help = "with --agents: a folder that may be read (can be repeated)"},
    {"max-rounds", 0, "max_rounds", "SANDPIPER_MAX_ROUNDS", OPTION_INT, TO(max_rounds), .def = "25",
     .min = "1", .max = "1000", .arg = "N", .group = ask, .commands = FOR_QUESTIONS,
     .help = "maximum number of model requests per question"},
    {"max-time", 0, "max_time", "SANDPIPER_MAX_TIME", OPTION_TIME, TO(max_time), .def = "0", .min = "0",
     .max = "168h", .arg = "TIME", .group = ask, .commands = FOR_QUESTIONS, .usual = true,
     .help = "time limit per question; 0: none"},
    {"max-tokens-total", 0, "max_tokens_total", "SANDPIPER_MAX_TOKENS_TOTAL", OPTION_INT,
     TO(front.max_tokens_total), .def = "0", .min = "0", .max = "2000000000", .arg = "N", .group = ask,
     .commands = FOR_QUESTIONS, .help = "maximum tokens per question, in and out; 0: no limit"},

    {"max-cost", 0, "max_cost", "SANDPIPER_MAX_COST", OPTION_NUMBER, TO(front.max_cost), .def = "0",
     .min = "0", .max = "1000000", .arg = "DOLLARS", .group = ask, .commands = FOR_QUESTIONS,
     .help = "maximum dollars per session, if the model's price is known; 0: no limit"},

    {"model", 'm', "model", "SANDPIPER_MODEL", OPTION_STRING, TO(front.model), .arg = "NAME", .group = model,
     .commands = FOR_MODEL | FOR_MODELS | FOR_CONFIG_PAGE, .dotenv = true, .usual = true,
     .help = "the model to ask"},
    {"provider", 0, "provider", "SANDPIPER_PROVIDER", OPTION_STRING, TO(provider), .arg = "NAME",
     .group = model, .commands = FOR_MODEL | FOR_MODELS | FOR_CONFIG_PAGE, .dotenv = true, .usual = true,
     .help = "its service: openai, ollama, workers-ai, ..."},
    {"base-url", 0, "base_url", "SANDPIPER_BASE_URL", OPTION_STRING, TO(base_url), .arg = "URL",
     .group = model, .commands = FOR_MODEL | FOR_MODELS | FOR_CONFIG_PAGE, .usual = true,
     .help = "URL of a model API; its key is SANDPIPER_API_KEY"},
    {"api", 0, "api", "SANDPIPER_API", OPTION_CHOICE, TO(api), .choices = MODEL_APIS, .arg = "API",
     .group = model, .commands = FOR_MODEL | FOR_MODELS,
     .help = "API to use: chat_completions, responses or workers_ai"},
    {NULL, 0, "api_key", "SANDPIPER_API_KEY", OPTION_SECRET, TO(api_key), .group = model,
     .help = "API key; sent only to a base_url set in the same place"},
    {NULL, 0, "api_key_command", NULL, OPTION_WORDS, TO(api_key_command), .group = model,
     .help = "command that prints that key on its first line"},
    {"ca-cert", 0, "ca_cert", "SANDPIPER_CA_CERT", OPTION_FILE, TO(front.ca_cert), .arg = "FILE",
     .group = model, .commands = FOR_MODEL | FOR_MODELS | FOR_EXEC,
     .help = "trust the certificates in FILE (PEM)"},
    {"dotenv", 0, "dotenv", "SANDPIPER_DOTENV", OPTION_CHOICE, TO(dotenv_how), .def = "ask",
     .choices = "ask|allow|ignore", .arg = "HOW", .group = model, .commands = FOR_MODEL | FOR_MODELS,
     .help = "when .env sets where questions go: ask, allow or ignore it"},
    {"dialect", 0, "dialect", "SANDPIPER_DIALECT", OPTION_CHOICE, TO(dialect), .choices = DIALECTS,
     .arg = "HOW", .group = model, .commands = FOR_MODEL | FOR_REPLY,
     .help = "how the model asks to run code: auto, native (tool calls) or blocks (text)"},
    {"max-tokens", 0, "max_tokens", "SANDPIPER_MAX_TOKENS", OPTION_INT, TO(max_tokens), .min = "1",
     .max = "10000000", .arg = "N", .group = model, .commands = FOR_MODEL,
     .help = "maximum tokens per reply"},
    {"context", 0, "context", "SANDPIPER_CONTEXT", OPTION_INT, TO(context), .min = "512", .max = "100000000",
     .arg = "N", .group = model, .commands = FOR_MODEL, .help = "the model's context window in tokens"},
    {"temperature", 0, "temperature", "SANDPIPER_TEMPERATURE", OPTION_NUMBER, TO(temperature), .min = "0",
     .max = "2", .arg = "T", .group = model, .commands = FOR_MODEL,
     .help = "sampling temperature; higher is more random"},
    {"reasoning-effort", 0, "reasoning_effort", "SANDPIPER_REASONING_EFFORT", OPTION_CHOICE,
     TO(reasoning_effort), .choices = "none|minimal|low|medium|high|xhigh|max", .arg = "HOW", .group = model,
     .commands = FOR_MODEL,
     .help = "how long the model thinks: none, minimal, low, medium, high, xhigh or max"},
    {"vision", 0, "vision", "SANDPIPER_VISION", OPTION_CHOICE, TO(vision), .def = "auto",
     .choices = "auto|on|off", .arg = "WHEN", .group = model, .commands = FOR_MODEL,
     .help = "send images to the model: auto (if it is known to see), on or off"},
    {"no-stream", 0, "stream", "SANDPIPER_STREAM", OPTION_NOT, TO(stream), .def = "true", .group = model,
     .commands = FOR_MODEL, .help = "do not stream replies"},
    {"connect-timeout", 0, "connect_timeout", "SANDPIPER_CONNECT_TIMEOUT", OPTION_TIME, TO(connect_timeout),
     .def = "10s", .min = "1ms", .max = "1h", .arg = "TIME", .group = model,
     .commands = FOR_MODEL | FOR_MODELS, .help = "time limit for connecting"},
    {"idle-timeout", 0, "idle_timeout", "SANDPIPER_IDLE_TIMEOUT", OPTION_TIME, TO(idle_timeout),
     .def = "300s", .min = "1ms", .max = "24h", .arg = "TIME", .group = model,
     .commands = FOR_MODEL | FOR_MODELS, .help = "give up a request after this long without a byte"},
    {"quiet-timeout", 0, "quiet_timeout", "SANDPIPER_QUIET_TIMEOUT", OPTION_TIME, TO(quiet_timeout),
     .def = "600s", .min = "1ms", .max = "24h", .arg = "TIME", .group = model, .commands = FOR_MODEL,
     .help = "give up a request after this long without content (keep-alives only)"},
    {"offline", 0, NULL, NULL, OPTION_BOOL, TO(offline), .group = model, .commands = FOR_DOCTOR | FOR_MODELS,
     .help = "doctor: skip the model; models: use the list saved in the last 24 hours"},
    {NULL, 0, "discover", "SANDPIPER_DISCOVER", OPTION_BOOL, TO(discover), .def = "true", .group = model,
     .help = "without configuration, look for a model server on this machine"},
    {NULL, 0, "allow_insecure", "SANDPIPER_ALLOW_INSECURE", OPTION_BOOL, TO(allow_insecure), .def = "false",
     .group = model, .help = "allow sending a key over http:// to another machine"},

    {"sandbox", 0, "sandbox", "SANDPIPER_SANDBOX", OPTION_ENGINE, TO(sandbox), .def = "auto",
     .choices = ENGINE_CHOICES, .arg = "ENGINE", .group = sandbox, .commands = FOR_SANDBOX, .usual = true,
     .help = "auto, docker, podman, bwrap or your own; ssh, slurm"},
    {"image", 0, "image", "SANDPIPER_IMAGE", OPTION_STRING, TO(image), .def = "sandpiper:latest",
     .arg = "NAME", .group = sandbox, .commands = FOR_SANDBOX, .help = "image of docker or podman"},
    {"runtime", 0, "runtime", "SANDPIPER_RUNTIME", OPTION_STRING, TO(runtime), .arg = "NAME",
     .group = sandbox, .commands = FOR_SANDBOX,
     .help = "container runtime for docker and podman, such as runsc (gVisor)"},
    {"queue-timeout", 0, "queue_timeout", "SANDPIPER_QUEUE_TIMEOUT", OPTION_TIME, TO(queue_timeout),
     .min = "1s", .max = "168h", .arg = "TIME", .group = sandbox, .commands = FOR_SANDBOX,
     .help = "how long a start on a cluster may wait in its queue [as the engine has it]"},
    {"with", 0, "with", NULL, OPTION_LIST, TO(with), .arg = "NAMES", .group = sandbox, .commands = FOR_CODE,
     .usual = true, .help = "packages that code can import: seaborn,polars>=1"},
    {"requirements", 0, "requirements", NULL, OPTION_FILE, TO(requirements), .arg = "FILE", .group = sandbox,
     .commands = FOR_CODE, .help = "the same, from requirements.txt or pylock.toml"},
    {"cooldown", 0, "cooldown", "SANDPIPER_COOLDOWN", OPTION_TIME, TO(cooldown), .def = "7d", .min = "0",
     .max = "3650d", .arg = "TIME", .group = sandbox, .commands = FOR_CODE,
     .help = "take no version of a package that is younger; 0: take any"},
    {"allow-install", 0, "allow_install", "SANDPIPER_ALLOW_INSTALL", OPTION_BOOL, TO(allow_install),
     .group = sandbox, .commands = FOR_OUTPUT, .help = "let the model add packages unasked"},
    {"languages", 0, "languages", "SANDPIPER_LANGUAGES", OPTION_LIST, TO(front.languages), .arg = "NAMES",
     .group = ask, .commands = FOR_QUESTIONS | FOR_MCP,
     .help = "let the model run these besides Python: sh,sql,js"},
    {"language", 0, NULL, NULL, OPTION_STRING, TO(language), .arg = "NAME", .group = sandbox,
     .commands = FOR_EXEC, .help = "exec: language of the code [by its file, or python]"},
    {"allow-packages", 0, "allow_packages", NULL, OPTION_LIST, TO(front.allow_packages), .arg = "NAMES",
     .group = sandbox, .commands = FOR_SERVE | FOR_MCP | FOR_CONFIG, .help = "packages that clients may add"},
    {"timeout", 0, "timeout", "SANDPIPER_TIMEOUT", OPTION_TIME, TO(timeout), .def = "120s", .min = "100ms",
     .max = "24h", .arg = "TIME", .group = sandbox, .commands = FOR_SANDBOX, .usual = true,
     .help = "time limit per run of code"},
    {"memory", 0, "memory", "SANDPIPER_MEMORY", OPTION_SIZE, TO(memory), .def = "1g", .min = "32m",
     .max = "1024t", .arg = "SIZE", .group = sandbox, .commands = FOR_SANDBOX, .usual = true,
     .help = "memory limit of the sandbox"},
    {"cpus", 0, "cpus", "SANDPIPER_CPUS", OPTION_NUMBER, TO(cpus), .def = "1", .min = "0.01", .max = "1024",
     .arg = "N", .group = sandbox, .commands = FOR_SANDBOX, .help = "number of CPUs"},
    {"pids", 0, "pids", "SANDPIPER_PIDS", OPTION_INT, TO(pids), .def = "128", .min = "8", .max = "32768",
     .arg = "N", .group = sandbox, .commands = FOR_SANDBOX, .help = "number of processes"},
    {"data-size", 0, "data_size", "SANDPIPER_DATA_SIZE", OPTION_SIZE, TO(data_size), .def = "256m",
     .min = "1m", .max = "1024t", .arg = "SIZE", .group = sandbox, .commands = FOR_SANDBOX,
     .help = "size of /mnt/data"},
    {"max-file", 0, "max_file", "SANDPIPER_MAX_FILE", OPTION_SIZE, TO(max_file), .def = "256m", .min = "1k",
     .max = "1024t", .arg = "SIZE", .group = sandbox, .commands = FOR_CODE,
     .help = "largest file that is saved from the sandbox"},
    {"max-files-total", 0, "max_files_total", "SANDPIPER_MAX_FILES_TOTAL", OPTION_SIZE, TO(max_files_total),
     .def = "1g", .min = "1k", .max = "1024t", .arg = "SIZE", .group = sandbox, .commands = FOR_CODE,
     .help = "maximum size of all files that a session saves"},
    {"max-output", 0, "max_output", "SANDPIPER_MAX_OUTPUT", OPTION_SIZE, TO(max_output), .def = "1g",
     .min = "1k", .max = "1024t", .arg = "SIZE", .group = sandbox, .commands = FOR_SANDBOX,
     .help = "end code that writes more output than this [exec: no limit]"},
    {"no-snapshots", 0, "snapshots", "SANDPIPER_SNAPSHOTS", OPTION_NOT, TO(snapshots), .def = "true",
     .group = sandbox, .commands = FOR_CODE, .help = "do not snapshot variables (a crash then loses them)"},
    {"sandbox-name", 0, "sandbox_name", "SANDPIPER_SANDBOX_NAME", OPTION_STRING, TO(sandbox_name),
     .arg = "NAME", .group = sandbox, .commands = FOR_NAMED,
     .help = "keep the sandbox as NAME, or continue in that one"},
    {"sandbox-idle", 0, "sandbox_idle", "SANDPIPER_SANDBOX_IDLE", OPTION_TIME, TO(sandbox_idle), .def = "30m",
     .min = "1s", .max = "168h", .arg = "TIME", .group = sandbox, .commands = FOR_NAMED,
     .help = "remove a named one after this long unused"},
    {"allow-net", 0, "allow_net", NULL, OPTION_LIST, TO(allow_net), .arg = "HOST,...", .group = sandbox,
     .commands = FOR_NETWORK, .help = "hosts that code may reach: api.a.org,*.b.org; none"},
    {"secret", 0, "secrets", NULL, OPTION_LIST, TO(secrets), .arg = "NAME=HOST", .group = sandbox,
     .commands = FOR_NETWORK, .help = "add variable NAME to requests to HOST, by https"},
    {"net-max-sent", 0, "net_max_sent", NULL, OPTION_SIZE, TO(net_max_sent), .def = "10m", .min = "1k",
     .max = "1024t", .arg = "SIZE", .group = sandbox, .commands = FOR_NETWORK,
     .help = "maximum that code may send to them"},
    {"net-max-received", 0, "net_max_received", NULL, OPTION_SIZE, TO(net_max_received), .def = "1g",
     .min = "1k", .max = "1024t", .arg = "SIZE", .group = sandbox, .commands = FOR_NETWORK,
     .help = "maximum that it may receive"},
    {"net-max-requests", 0, "net_max_requests", NULL, OPTION_INT, TO(net_max_requests), .def = "1000",
     .min = "1", .max = "1000000", .arg = "N", .group = sandbox, .commands = FOR_NETWORK,
     .help = "maximum number of its requests"},
    {"all", 0, NULL, NULL, OPTION_BOOL, TO(all), .group = sandbox,
     .commands = FOR_RM | FOR_CONFIG_PAGE | FOR_PACKAGES,
     .help = "rm, packages rm: remove all; config: show every setting"},
    {"force", 'f', NULL, NULL, OPTION_BOOL, TO(force), .group = sandbox, .commands = FOR_RM | FOR_SESSIONS,
     .help = "rm --all, sessions rm --older: do not ask first"},
    {"dry-run", 0, NULL, NULL, OPTION_BOOL, TO(dry_run), .group = sandbox, .commands = FOR_EXEC,
     .help = "exec: print what starts the sandbox; run nothing"},

    {"listen", 0, "serve.listen", "SANDPIPER_SERVE_LISTEN", OPTION_STRING, TO(front.listen),
     .def = "127.0.0.1:8000", .arg = "ADDRESS", .group = server, .commands = FOR_SERVE | FOR_CONFIG,
     .help = "serve: where to listen: IP:PORT or unix:PATH"},
    {"token-file", 0, "serve.token_file", "SANDPIPER_SERVE_TOKEN_FILE", OPTION_FILE, TO(front.token_file),
     .arg = "FILE", .group = server, .commands = FOR_SERVE | FOR_CONFIG,
     .help = "serve: file of client tokens, one a line [a new token at each start]"},
    {"allow-host", 0, "serve.allow_host", NULL, OPTION_LIST, TO(front.allow_hosts), .arg = "NAME",
     .group = server, .commands = FOR_SERVE | FOR_CONFIG,
     .help = "serve: a host name for clients (can be repeated)"},
    {"public-url", 0, "serve.public_url", "SANDPIPER_SERVE_PUBLIC_URL", OPTION_STRING, TO(front.public_url),
     .arg = "URL", .group = server, .commands = FOR_SERVE | FOR_CONFIG,
     .help = "serve: its URL for clients, as behind a proxy [the address that a client used]"},
    {"trusted-proxy", 0, "serve.trusted_proxy", NULL, OPTION_LIST, TO(front.proxies), .arg = "IP",
     .group = server, .commands = FOR_SERVE | FOR_CONFIG,
     .help = "serve: it says how a client came (X-Forwarded-*)"},
    {"max-sandboxes", 0, "serve.max_sandboxes", "SANDPIPER_SERVE_MAX_SANDBOXES", OPTION_INT,
     TO(front.max_sandboxes), .def = "8", .min = "1", .max = "1000", .arg = "N", .group = server,
     .commands = FOR_SERVE | FOR_BOT | FOR_CONFIG, .help = "serve, bot: maximum number of sandboxes"},
    {"ttl", 0, "serve.ttl", "SANDPIPER_SERVE_TTL", OPTION_TIME, TO(front.ttl), .def = "15m", .min = "1s",
     .max = "168h", .arg = "TIME", .group = server, .commands = FOR_SERVE | FOR_BOT | FOR_CONFIG,
     .help = "serve, bot: remove a sandbox after this long without a request"},
    {"queue", 0, "serve.queue", "SANDPIPER_SERVE_QUEUE", OPTION_TIME, TO(front.queue), .def = "10s",
     .min = "0s", .max = "1h", .arg = "TIME", .group = server, .commands = FOR_SERVE | FOR_CONFIG,
     .help = "serve: how long a request waits where all sandboxes are in use"},
    {"log", 0, "serve.log", "SANDPIPER_SERVE_LOG", OPTION_CHOICE, TO(front.log), .def = "off",
     .choices = "off|text|json", .arg = "HOW", .group = server, .commands = FOR_SERVE | FOR_CONFIG,
     .help = "serve: print each request: off, text or json [--verbose: text]"},
    {"fetch-urls", 0, "serve.fetch_urls", "SANDPIPER_SERVE_FETCH_URLS", OPTION_BOOL, TO(fetch_urls),
     .def = "false", .group = server, .commands = FOR_SERVE | FOR_CONFIG,
     .help = "serve: upload_file may fetch files from the public internet"},
    {"pool", 0, "serve.pool", "SANDPIPER_SERVE_POOL", OPTION_INT, TO(front.pool_size), .def = "0", .min = "0",
     .max = "100", .arg = "N", .group = server, .commands = FOR_SERVE | FOR_BOT | FOR_CONFIG,
     .help = "serve, bot: number of sandboxes started in advance"},
    {"per-user", 0, "bot.per_user", "SANDPIPER_BOT_PER_USER", OPTION_INT, TO(front.per_user), .def = "20",
     .min = "0", .max = "100000", .arg = "N", .group = server, .commands = FOR_BOT | FOR_CONFIG,
     .help = "bot: questions per user and hour; 0: no limit"},
    {"per-server", 0, "bot.per_server", "SANDPIPER_BOT_PER_SERVER", OPTION_INT, TO(front.per_server),
     .def = "200", .min = "0", .max = "100000", .arg = "N", .group = server, .commands = FOR_BOT | FOR_CONFIG,
     .help = "bot: questions per server and hour"},
    {"api-url", 0, "bot.api_url", "SANDPIPER_BOT_API_URL", OPTION_STRING, TO(front.api_url), .arg = "URL",
     .group = server, .commands = FOR_BOT | FOR_CONFIG,
     .help = "bot: where its API is, as a proxy [the service's]"},

    {"json", 0, NULL, NULL, OPTION_BOOL, TO(json), .group = output,
     .commands = FOR_ASK | FOR_PS | FOR_MODELS | FOR_SESSIONS | FOR_PACKAGES, .usual = true,
     .help = "print JSON lines instead of text"},
    {"json-result", 0, NULL, NULL, OPTION_BOOL, TO(json_result), .group = output,
     .commands = FOR_ASK | FOR_EXEC,
     .help = "print one JSON line per question: answer, files, usage [exec: what code did]"},
    {"quiet", 'q', "quiet", "SANDPIPER_QUIET", OPTION_BOOL, TO(front.quiet), .group = output,
     .commands = FOR_ALL, .usual = true, .help = "print only the answer and errors"},
    {"verbose", 'v', "verbose", "SANDPIPER_VERBOSE", OPTION_BOOL, TO(front.verbose), .group = output,
     .commands = FOR_OUTPUT | FOR_EXEC | FOR_RERUN | FOR_FORK | FOR_DOCTOR | FOR_MODELS | FOR_SERVE | FOR_BOT,
     .usual = true, .help = "also print tokens, timings, what the model is told"},
    {"verify", 0, "check", "SANDPIPER_CHECK", OPTION_CHOICE, TO(check), .def = "asked",
     .choices = "asked|always", .group = output, .commands = FOR_ASK | FOR_SERVE | FOR_BOT | FOR_CONFIG,
     .help = "compute each answer a second time, independently, and compare"},
    {"usage", 0, "usage", "SANDPIPER_USAGE", OPTION_BOOL, TO(usage), .group = output, .commands = FOR_OUTPUT,
     .help = "print tokens, time and price after each answer"},
    {"show-reasoning", 0, "show_reasoning", "SANDPIPER_SHOW_REASONING", OPTION_BOOL, TO(show_reasoning),
     .group = output, .commands = FOR_OUTPUT | FOR_SERVE, .help = "print the model's reasoning on stderr"},
    {"color", 0, "color", "SANDPIPER_COLOR", OPTION_CHOICE, TO(color), .def = "auto",
     .choices = "auto|always|never", .arg = "WHEN", .group = output, .commands = FOR_OUTPUT,
     .help = "use colors: auto, always or never"},
    {"no-notify", 0, "notify", "SANDPIPER_NOTIFY", OPTION_NOT, TO(notify), .def = "true", .group = output,
     .commands = FOR_ASK | FOR_CONFIG, .help = "chat: no bell after work of more than 10 s"},
    {"figures", 0, "figures", "SANDPIPER_FIGURES", OPTION_CHOICE, TO(figures), .def = "auto",
     .choices = "auto|off", .arg = "HOW", .group = output, .commands = FOR_ASK | FOR_CONFIG,
     .help = "show figures in the terminal: auto or off"},
    {"figure-format", 0, "figure_format", "SANDPIPER_FIGURE_FORMAT", OPTION_CHOICE, TO(figure_format),
     .def = "png", .choices = "png|svg|pdf|all", .arg = "FORM", .group = output, .commands = FOR_CODE,
     .help = "save figures as SVG, PDF or both (all) beside the PNG"},
    {"plain", 0, "render", "SANDPIPER_RENDER", OPTION_CHOICE, TO(render), .def = "auto",
     .choices = "auto|plain", .group = output, .commands = FOR_OUTPUT,
     .help = "show answers as the model wrote them, not as rendered Markdown"},

    {"trace", 0, NULL, NULL, OPTION_STRING, TO(trace), .arg = "FILE", .group = debug, .commands = FOR_ASK,
     .help = "append every request and reply to FILE, without keys"},
    {"record", 0, NULL, NULL, OPTION_STRING, TO(record), .arg = "FILE", .group = debug, .commands = FOR_ASK,
     .help = "record the model's replies of this session in FILE"},
    {"replay", 0, NULL, NULL, OPTION_STRING, TO(replay), .arg = "FILE", .group = debug, .commands = FOR_ASK,
     .help = "replay a recorded session: real sandbox, no network"},
    {"status", 0, NULL, NULL, OPTION_INT, TO(status), .min = "100", .max = "599", .arg = "N", .group = debug,
     .commands = FOR_REPLY, .help = "debug reply: the HTTP status of the body [200]"},
    {"header", 0, NULL, NULL, OPTION_LIST, TO(headers), .arg = "'K: V'", .group = debug,
     .commands = FOR_REPLY, .help = "debug reply: a header of the reply (can be repeated)"},

    {"template", 0, NULL, NULL, OPTION_STRING, TO(front.template), .arg = "TEXT", .group = batch,
     .commands = FOR_BATCH, .help = "the question of each row; {NAME} is the value of that column"},
    {"prepare", 0, NULL, NULL, OPTION_FILE, TO(front.prepare), .arg = "FILE", .group = batch,
     .commands = FOR_BATCH, .help = "Python that runs once; each row goes on from a live copy of it"},
    {"jobs", 'j', NULL, NULL, OPTION_STRING, TO(front.jobs), .def = "auto", .arg = "N", .group = batch,
     .commands = FOR_BATCH, .help = "rows at once; auto: as many as the service takes"},
    {"max-starting", 0, "max_starting", "SANDPIPER_MAX_STARTING", OPTION_INT, TO(front.max_starting),
     .def = "0", .min = "0", .max = "1000", .arg = "N", .group = batch, .commands = FOR_BATCH | FOR_CONFIG,
     .help = "sandboxes, and processes, that start at once; 0: one a processor, at least 8"},
    {"only", 0, NULL, NULL, OPTION_STRING, TO(front.only), .arg = "ID", .group = batch, .commands = FOR_BATCH,
     .help = "ask only the row with this id"},
    {"limit", 0, NULL, NULL, OPTION_INT, TO(front.limit), .min = "1", .max = "2000000000", .arg = "N",
     .group = batch, .commands = FOR_BATCH, .help = "ask at most so many rows in this run"},
    {"shuffle", 0, NULL, NULL, OPTION_INT, TO(front.shuffle), .min = "1", .max = "2000000000", .arg = "SEED",
     .group = batch, .commands = FOR_BATCH, .help = "ask the rows in an order that SEED determines"},
    {"epochs", 0, NULL, NULL, OPTION_INT, TO(front.epochs), .def = "1", .min = "1", .max = "1000", .arg = "N",
     .group = batch, .commands = FOR_BATCH, .help = "ask each row so many times"},
    {"max-errors", 0, NULL, NULL, OPTION_INT, TO(front.max_errors), .min = "1", .max = "2000000000",
     .arg = "N", .group = batch, .commands = FOR_BATCH, .help = "stop after so many rows without an answer"},
    {"retry-failed", 0, NULL, NULL, OPTION_BOOL, TO(front.retry_failed), .group = batch,
     .commands = FOR_BATCH, .help = "also ask the rows again that got no answer"},
    {"settle", 0, NULL, NULL, OPTION_STRING, TO(front.settle), .arg = "ID", .group = batch,
     .commands = FOR_BATCH, .help = "ask nothing: note that the row ID is done, and why"},

    {"config", 0, NULL, "SANDPIPER_CONFIG", OPTION_STRING, TO(config_path), .arg = "FILE", .group = other,
     .commands = FOR_ALL, .help = "read FILE instead of config.yaml"},
    {"version", 'V', NULL, NULL, OPTION_BOOL, TO(args.version), .group = other,
     .commands = FOR_ALL | FOR_NONE, .usual = true, .help = "print the version"},
    {"help", 'h', NULL, NULL, OPTION_BOOL, TO(args.help), .group = other, .commands = FOR_ALL | FOR_NONE,
     .usual = true, .help = "print this help; sandpiper help all: all options"},
};

const size_t option_count = countof(option_table);
_Static_assert(countof(option_table) <= OPTION_MAX, "struct config has a source for each option");

bool option_is_list(const struct option *o)
{
    return o->type == OPTION_LIST || o->type == OPTION_WORDS || o->type == OPTION_PATHS;
}

const struct option *option_by_flag(const char *flag, size_t len)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].flag && strlen(option_table[i].flag) == len
            && !memcmp(option_table[i].flag, flag, len))
            return &option_table[i];
    return NULL;
}

const struct option *option_by_letter(char letter, int commands)
{
    const struct option *elsewhere = NULL;

    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];

        if (!o->letter || o->letter != letter)
            continue;
        if (o->commands & commands)
            return o;
        elsewhere = o;
    }
    return elsewhere;
}

const struct option *option_by_key(const char *key)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].key && !strcmp(option_table[i].key, key))
            return &option_table[i];
    return NULL;
}

const struct option *option_by_env(const char *name)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].env && !strcmp(option_table[i].env, name))
            return &option_table[i];
    return NULL;
}

void flags_offer(struct nearest *near, int commands)
{
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].flag && option_table[i].commands & commands)
            nearest_offer(near, option_table[i].flag);
}

const char *nearest_key(const char *word)
{
    struct nearest near = {.word = word, .len = strlen(word)};

    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].key)
            nearest_offer(&near, option_table[i].key);
    nearest_offer(&near, "providers");
    nearest_offer(&near, "models");
    return nearest_found(&near);
}
