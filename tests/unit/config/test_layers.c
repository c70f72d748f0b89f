/* test_layers.c - every layer over the one before, for every kind of value; what each wrong value is told;
 * whose files are read; what "sandpiper config" prints.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"
#include "config/prompt_file.h"

static char folder[] = "/tmp/sptest-XXXXXX";

static void put(const char *name, const char *text, int mode)
{
    autofree char *path = xasprintf("%s/%s", folder, name);

    file_remove_tree(path);
    if (text) {
        assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
        assert_int_equal(chmod(path, (mode_t)mode), 0);
    }
}

static int load(struct config *c, const char *yaml, const char *dotenv, char *const *env, const char *flag,
                const char *value, struct error *err)
{
    static char program[] = "sandpiper", f[256], v[256];
    char *argv[] = {program, f, v, NULL};

    put("config.yaml", yaml, 0600);
    put(".env", dotenv, 0600);
    snprintf(f, sizeof f, "%s", flag ? flag : "");
    snprintf(v, sizeof v, "%s", value ? value : "");
    argv[1] = flag ? f : NULL;
    argv[2] = value ? v : NULL;
    return config_load(c, flag ? value ? 3 : 2 : 1, argv, env, err);
}

static bool noticed(const struct config *c, const char *piece)
{
    for (size_t i = 0; i < c->notices.n; i++)
        if (strstr(c->notices.v[i], piece))
            return true;
    return false;
}

static void defaults(void **state)
{
    struct config c;
    struct error err = {0};

    (void)state;
    assert_int_equal(load(&c, NULL, NULL, NULL, NULL, NULL, &err), 0);
    assert_int_equal(c.timeout, 120000);
    assert_int_equal(c.memory, 1LL << 30);
    assert_int_equal(c.pids, 128);
    assert_true(c.cpus == 1);
    assert_int_equal(c.data_size, 256LL << 20);
    assert_int_equal(c.max_rounds, 25);
    assert_int_equal(c.max_time, 0);
    assert_int_equal(c.connect_timeout, 10000);
    assert_int_equal(c.idle_timeout, 300000);
    assert_int_equal(c.quiet_timeout, 600000);
    assert_true(c.stream && c.discover && !c.front.quiet && !c.allow_insecure);
    assert_true(c.temperature < 0);
    assert_string_equal(c.sandbox, "auto");
    assert_null(c.front.model);
    assert_false(c.file_read);
    for (size_t i = 0; i < option_count; i++)
        assert_int_equal(c.source[i].kind, SOURCE_DEFAULT);
    config_release(&c);
}

static void files_leave_room(void **state)
{
    struct config c;
    struct error err = {0};

    (void)state;
    assert_int_equal(load(&c, NULL, NULL, NULL, "--memory", "300m", &err), 0);
    assert_int_equal(c.data_size, 150LL << 20);
    config_release(&c);
    assert_int_equal(load(&c, "data_size: 290m\n", NULL, NULL, "--memory", "300m", &err), 0);
    assert_int_equal(c.data_size, 290LL << 20); /* as the user wants it */
    config_release(&c);
}

/* Each option from each layer that has it: the value arrives and remembers where it came from. */
static void every_option(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        const char *value = o->choices ? strrchr(o->choices, '|') + 1
                            : o->type == OPTION_BOOL || o->type == OPTION_NOT
                                ? (o->def && strcmp(o->def, "true") == 0 ? "false" : "true")
                            : o->type == OPTION_SIZE   ? "64m"
                            : o->type == OPTION_TIME   ? "77s"
                            : o->type == OPTION_INT    ? (o->max ? o->max : "777")
                            : o->type == OPTION_NUMBER ? "0.5"
                                                       : "text";
        autofree char *yaml = o->key ? xasprintf("# one\n%s: %s\n", o->key, value) : NULL;
        autofree char *var = o->env ? xasprintf("%s=%s", o->env, value) : NULL;
        autofree char *flag = o->flag ? xasprintf("--%s", o->flag) : NULL;
        char *env[] = {var, NULL};
        struct config c;
        struct error err = {0};

        if (strcmp(o->flag ? o->flag : "", "config") == 0)
            continue;
        if (o->key) {
            assert_int_equal(load(&c, yaml, NULL, NULL, NULL, NULL, &err), 0);
            assert_int_equal(c.source[i].kind, SOURCE_FILE);
            assert_int_equal(c.source[i].line, 2);
            config_release(&c);
        }
        if (o->env) {
            assert_int_equal(load(&c, yaml, NULL, env, NULL, NULL, &err), 0);
            assert_int_equal(c.source[i].kind, SOURCE_ENV);
            assert_string_equal(c.source[i].name, o->env);
            config_release(&c);
        }
        if (o->flag && (o->commands & FOR_ASK)) {
            assert_int_equal(load(&c, yaml, NULL, env, flag, o->arg ? value : NULL, &err), 0);
            if (!c.args.version && !c.args.help) {
                assert_int_equal(c.source[i].kind, SOURCE_FLAG);
                assert_string_equal(c.source[i].name, flag);
            }
            config_release(&c);
        }
    }
}

static void precedence(void **state)
{
    char file_and_env[] = "SANDPIPER_MODEL=env",
         nothing[] = "SANDPIPER_MODEL=", quiet[] = "SANDPIPER_STREAM=no";
    char *env[] = {file_and_env, quiet, NULL}, *empty[] = {nothing, NULL};
    struct config c;
    struct error err = {0};

    (void)state;
    assert_int_equal(load(&c, "model: file\n", "SANDPIPER_MODEL=dotenv\n", env, "--model", "flag", &err), 0);
    assert_string_equal(c.front.model, "flag");
    assert_false(c.stream);
    assert_string_equal(c.choice[SOURCE_FILE].model.value, "file");
    assert_string_equal(c.choice[SOURCE_DOTENV].model.value, "dotenv");
    config_release(&c);
    assert_int_equal(load(&c, "model: file\n", "SANDPIPER_MODEL=dotenv\n", env, NULL, NULL, &err), 0);
    assert_string_equal(c.front.model, "env");
    config_release(&c);
    assert_int_equal(load(&c, "model: file\n", "SANDPIPER_MODEL=dotenv\n", empty, NULL, NULL, &err), 0);
    assert_string_equal(c.front.model, "dotenv");
    assert_int_equal(config_source(&c, &c.front.model)->line, 1);
    config_release(&c);
    assert_int_equal(load(&c, "model: file\nstream: false\n", NULL, empty, NULL, NULL, &err), 0);
    assert_string_equal(c.front.model, "file");
    assert_false(c.stream);
    config_release(&c);
    assert_int_equal(load(&c, "stream: true\n", NULL, NULL, "--no-stream", NULL, &err), 0);
    assert_false(c.stream);
    config_release(&c);
}

/* Editors of Windows begin a file with a byte order mark, and end its lines in their own way. */
static void a_file_from_windows(void **state)
{
    struct error err = {0};
    struct config c;

    (void)state;
    assert_int_equal(load(&c, "\xef\xbb\xbfpids: 99\r\nmodel: m\r\n", NULL, NULL, NULL, NULL, &err), 0);
    assert_int_equal(c.pids, 99);
    assert_string_equal(c.front.model, "m");
    config_release(&c);
}

/* The key of an option that has a dot in it is also a map in a map, as YAML is mostly written. */
static void sections(void **state)
{
    struct error err = {0};
    struct config c;

    (void)state;
    assert_int_equal(load(&c,
                          "serve:\n  listen: 127.0.0.1:9\n  pool: 2\nserve.ttl: 1m\n"
                          "artifacts: {upload: s3://b}\n",
                          NULL, NULL, NULL, NULL, &err),
                     0);
    assert_string_equal(c.front.listen, "127.0.0.1:9");
    assert_int_equal(c.front.pool_size, 2);
    assert_int_equal(c.front.ttl, 60000);
    assert_string_equal(c.upload, "s3://b");
    config_release(&c);
}

/* --config <(...): what writes the file may be slow. */
static void from_a_pipe(void **state)
{
    struct error err = {0};
    struct config c;
    int ends[2];
    char path[32];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    if (fork() == 0) {
        usleep(100000);
        _exit(fd_write_all(ends[1], "pids: 99\n", 9));
    }
    close(ends[1]);
    assert_int_equal(load(&c, NULL, NULL, NULL, "--config", path, &err), 0);
    assert_int_equal(c.pids, 99);
    config_release(&c);
    close(ends[0]);
    wait(NULL);
}

static void bad_yaml(void **state)
{
    static const struct {
        const char *yaml, *says;
    } bad[] = {
        {"modle: x\n", "config.yaml:1: unknown key modle; did you mean model?"},
        {"a: 1\n", "config.yaml:1: unknown key a; expected an option"},
        {"prompt: x\n", "unknown key prompt"},
        {"json: true\n", "unknown key json"},
        {"\ntimeout: soon\n",
         "config.yaml:2: timeout: expected a time such as 90, 90s or 2m, found \"soon\""},
        {"timeout: 1ms\n", "timeout: 1ms is too small; the minimum is 100ms"},
        {"memory: 1x\n", "memory: expected a size such as 512m or 1g, found"},
        {"memory: 5\n", "memory: 5 is too small; the minimum is 32m"},
        {"pids: 1.5\n", "pids: expected a whole number from 8 to 32768, found \"1.5\""},
        {"pids: \"64\"\n", "pids: expected a whole number, found a string in quotes"},
        {"pids: -3\n", "pids: expected a whole number from 8 to 32768, found \"-3\""},
        {"cpus: many\n", "cpus: expected a number from 0.01 to 1024, found"},
        {"stream: yes\n", "stream: expected true or false, found \"yes\""},
        {"quiet: 1\n", "quiet: expected true or false"},
        {"sandbox: chroot\n",
         "sandbox: expected one of auto|docker|podman|bwrap|ssh|slurm|apptainer|kubernetes, "
         "found \"chroot\""},
        {"model: [a]\n", "model: expected a string, found a list"},
        {"model: []\n", "model: expected a string, found an empty list"},
        {"serve: {tll: 1m}\n", "config.yaml:1: unknown key serve.tll"},
        {"model: {a: b}\n", "model: expected a string, found a map"},
        {"model:\n", "model: expected a string, found nothing"},
        {"- a\n", "expected a map of options (key: value), found a list"},
        {"word\n", "expected a map of options"},
        {"api_key_command: {a: b}\n", "api_key_command: expected a command"},
        {"api_key_command: []\n", "api_key_command: expected a command"},
        {"providers: x\n", "providers: expected a map"},
        {"providers:\n  x: y\n", "config.yaml:2: x: expected a map of fields, found \"y\""},
        {"providers:\n  x: {model: y}\n", "config.yaml:2: providers: x: base_url is missing"},
        {"providers:\n  x: {base_url: y}\n", "base_url: expected a URL that starts with https://"},
        {"providers:\n  x:\n    base_ur: https://y\n",
         "config.yaml:3: unknown key base_ur; did you mean base_url?"},
        {"providers:\n  x: {base_url: 'https://y', key_variable: '1 A'}\n",
         "key_variable: expected the name of an environment variable"},
        {"providers:\n  x: {base_url: 'https://y', key_variable: [A, B, C, D, E]}\n",
         "key_variable: at most 4 names"},
        {"providers:\n  x: {base_url: 'https://y', api: soap}\n",
         "api: expected one of chat_completions|responses|workers_ai, found \"soap\""},
        {"providers:\n  x: {base_url: 'https://y', auth: basic}\n", "auth: expected one of api-key|bearer"},
        {"providers:\n  x: {base_url: 'https://y', max_tokens: 5}\n",
         "max_tokens: expected one of send|omit"},
        {"providers:\n  x: {base_url: 'https://y', local: maybe}\n", "local: expected true or false"},
        {"providers:\n  x: {base_url: 'https://y', api_key: [secretsecret]}\n",
         "api_key: expected a string, found a list"},
        {"models:\n  x: {dialect: morse}\n",
         "config.yaml:2: dialect: expected one of auto|native|blocks, found \"morse\""},
        {"models:\n  x: {context: big}\n", "context: expected a number of tokens"},
        {"models:\n  x: {temperature: 3}\n", "temperature: expected a number from 0 to 2"},
        {"models:\n  x: {contxt: 3}\n", "unknown key contxt; did you mean context?"},
    };

    (void)state;
    for (size_t i = 0; i < countof(bad); i++) {
        struct config c;
        struct error err = {0};
        assert_int_equal(load(&c, bad[i].yaml, NULL, NULL, NULL, NULL, &err), -1);
        assert_int_equal(err.kind, ERROR_USAGE);
        if (!strstr(err.text, bad[i].says) || !strstr(err.text, folder))
            fail_msg("%s: expected \"%s\" in \"%s\"", bad[i].yaml, bad[i].says, err.text);
        assert_null(strstr(err.text, "secretsecret"));
        config_release(&c);
    }
}

static void bad_elsewhere(void **state)
{
    static const struct {
        const char *env, *flag, *value, *says;
    } bad[] = {
        {"SANDPIPER_TIMEOUT=soon", NULL, NULL, "SANDPIPER_TIMEOUT: expected a time"},
        {"SANDPIPER_QUIET=perhaps", NULL, NULL, "SANDPIPER_QUIET: expected true or false"},
        {"SANDPIPER_SANDBOX=chroot", NULL, NULL, "SANDPIPER_SANDBOX: expected one of"},
        {NULL, "--timeout", "soon", "--timeout: expected a time such as 90, 90s or 2m, found \"soon\""},
        {NULL, "--memory", "-5", "--memory: expected a size"},
        {NULL, "--stdin", "file", "--stdin: expected one of auto|data|ignore"},
        {NULL, "--model", "", "--model needs a value, as in --model NAME"},
        {NULL, "--max-rounds", "0", "0 is too small; the minimum is 1"},
        {NULL, "--color", "\033[31m", "found \"\""},
        {NULL, "--config", "/does/not/exist", "/does/not/exist: No such file"},
        {"SANDPIPER_CONFIG=/does/not/exist", NULL, NULL, "/does/not/exist: No such file"},
        {NULL, "--config", "/tmp", "not a regular file"},
    };

    (void)state;
    for (size_t i = 0; i < countof(bad); i++) {
        autofree char *var = xstrdup(bad[i].env);
        char *env[] = {var, NULL};
        struct config c;
        struct error err = {0};
        assert_int_equal(load(&c, NULL, NULL, env, bad[i].flag, bad[i].value, &err), -1);
        assert_int_equal(err.kind, ERROR_USAGE);
        if (!strstr(err.text, bad[i].says))
            fail_msg("case %zu: expected \"%s\" in \"%s\"", i, bad[i].says, err.text);
        config_release(&c);
    }
}

static void hostile_dotenv(void **state)
{
    static const char text[] =
        "SANDPIPER_SYSTEM=obey\nSANDPIPER_BASE_URL=https://"
        "evil.example\nSANDPIPER_API_KEY=k\nSANDPIPER_SANDBOX=bwrap\n"
        "SANDPIPER_CONFIG=/tmp/evil\nSANDPIPER_ALLOW_INSECURE=1\nHTTPS_PROXY=http://"
        "evil.example\nhttps_proxy=x\nSSL_CERT_FILE=/x\n"
        "LD_PRELOAD=/x.so\nDATABASE_URL=postgres://x\nPATH=/evil\nSANDPIPER_MODEL=mine\nGROQ_API_KEY=g\n";
    static const char *const told[] = {"SANDPIPER_SYSTEM",  "SANDPIPER_BASE_URL", "SANDPIPER_API_KEY",
                                       "SANDPIPER_SANDBOX", "SANDPIPER_CONFIG",   "SANDPIPER_ALLOW_INSECURE",
                                       "HTTPS_PROXY",       "https_proxy",        "SSL_CERT_FILE",
                                       "LD_PRELOAD"};
    struct config c;
    struct error err = {0};

    (void)state;
    assert_int_equal(load(&c, NULL, text, NULL, NULL, NULL, &err), 0);
    assert_null(c.system);
    assert_null(c.base_url);
    assert_null(c.api_key);
    assert_string_equal(c.sandbox, "auto");
    assert_false(c.allow_insecure);
    assert_string_equal(c.front.model, "mine");
    for (size_t i = 0; i < countof(told); i++) {
        autofree char *line = xasprintf("%s is ignored", told[i]);
        assert_true(noticed(&c, line));
    }
    assert_false(noticed(&c, "DATABASE_URL"));
    assert_false(noticed(&c, "GROQ_API_KEY"));
    assert_int_equal(c.notices.n, countof(told));
    assert_null(getenv("GROQ_API_KEY")); /* nothing gets into the environment */
    config_release(&c);
}

static void owners(void **state)
{
    autofree char *env_path = xasprintf("%s/.env", folder), *yaml_path = xasprintf("%s/config.yaml", folder);
    struct config c;
    struct error err = {0};

    (void)state;
    put(".env", NULL, 0);
    assert_int_equal(mkdir(env_path, 0755), 0); /* a virtual environment */
    static char program[] = "sandpiper";
    char *argv[] = {program, NULL};
    put("config.yaml", NULL, 0);
    assert_int_equal(config_load(&c, 1, argv, NULL, &err), 0);
    assert_int_equal(c.notices.n, 0);
    config_release(&c);
    put(".env", NULL, 0);
    assert_int_equal(mkfifo(env_path, 0600), 0);
    assert_int_equal(config_load(&c, 1, argv, NULL, &err), 0);
    assert_true(noticed(&c, "not a regular file"));
    config_release(&c);
    put(".env", NULL, 0);

    put("config.yaml", "provider: groq\napi_key: secret\n", 0644);
    assert_int_equal(config_load(&c, 1, argv, NULL, &err), 0);
    assert_true(noticed(&c, "is readable by others: chmod 600"));
    config_release(&c);
    put("config.yaml", "model: x\n", 0644);
    assert_int_equal(config_load(&c, 1, argv, NULL, &err), 0);
    assert_int_equal(c.notices.n, 0);
    config_release(&c);

    if (geteuid() != 0)
        skip();
    put(".env", "GROQ_API_KEY=x\n", 0644);
    assert_int_equal(chown(env_path, 12345, 12345), 0);
    assert_int_equal(config_load(&c, 1, argv, NULL, &err), -1);
    assert_non_null(strstr(err.text, ".env belongs to another user (uid 12345)"));
    assert_int_equal(err.kind, ERROR_USAGE);
    config_release(&c);
    put(".env", NULL, 0);
    put("secret", "GROQ_API_KEY=x\n", 0600); /* a link of another user to a file of ours */
    autofree char *target = xasprintf("%s/secret", folder);
    assert_int_equal(symlink(target, env_path), 0);
    assert_int_equal(lchown(env_path, 12345, 12345), 0);
    assert_int_equal(config_load(&c, 1, argv, NULL, &err), -1);
    config_release(&c);
    put(".env", NULL, 0);
    assert_int_equal(chown(yaml_path, 12345, 12345), 0);
    assert_int_equal(config_load(&c, 1, argv, NULL, &err), -1);
    assert_non_null(strstr(err.text, "config.yaml belongs to another user (uid 12345)"));
    config_release(&c);
    put("config.yaml", NULL, 0);
}

static void sizes(void **state)
{
    char *big = xmalloc(70000);
    struct config c;
    struct error err = {0};

    (void)state;
    memset(big, '#', 70000);
    big[69999] = '\0';
    assert_int_equal(load(&c, big, NULL, NULL, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, "69999 bytes, the limit is 65536"));
    config_release(&c);
    assert_int_equal(load(&c, NULL, big, NULL, NULL, NULL, &err), -1);
    assert_non_null(strstr(err.text, ".env is too large: 69999 bytes, the limit is 65536"));
    config_release(&c);
    big[65536] = '\0';
    assert_int_equal(load(&c, big, big, NULL, NULL, NULL, &err), 0);
    config_release(&c);
    free(big);
}

static struct model_facts facts_of(const struct config *c, const char *model)
{
    const struct profiles *const lists[] = {&c->profiles, config_builtin_profiles(c)};

    return profile_of(lists, countof(lists), model).facts;
}

static void profiles(void **state)
{
    static const struct {
        const char *model;
        enum dialect dialect;
        int context;
    } want[] = {
        {"qwen2.5-coder-1.5b", DIALECT_BLOCKS, 8192},
        {"qwen2.5-coder:1.5b-instruct", DIALECT_BLOCKS, 8192},
        {"Qwen/Qwen2.5-Coder-32B-Instruct", DIALECT_BLOCKS, 0},
        {"gpt-4.1-mini", DIALECT_NATIVE, 1047576},
        {"@cf/openai/gpt-oss-120b", DIALECT_NATIVE, 131072},
        {"openai/gpt-oss-20b", DIALECT_NATIVE, 131072},
        {"claude-x", DIALECT_NATIVE, 200000},
        {"meta-llama/Llama-3.3-70B-Instruct", DIALECT_NATIVE, 0},
        {"mistral-small", DIALECT_NATIVE, 262144},
        {"deepseek-chat", DIALECT_NATIVE, 0},
        {"gemini-2.5-pro", DIALECT_NATIVE, 1048576},
        {"something-else", DIALECT_AUTO, 0},
        {"", DIALECT_AUTO, 0},
    };
    struct config c;
    struct error err = {0};

    (void)state;
    assert_int_equal(
        load(&c, "models:\n  'gpt-4.1*': {context: 1000}\n  something*: {dialect: blocks, vision: true}\n",
             NULL, NULL, NULL, NULL, &err),
        0);
    /* the user's field over ours, ours for the rest */
    struct model_facts f = facts_of(&c, "gpt-4.1-mini");
    assert_int_equal(f.context, 1000);
    assert_int_equal(f.dialect, DIALECT_NATIVE);
    assert_true(f.vision);
    assert_int_equal(facts_of(&c, "something-else").dialect, DIALECT_BLOCKS);
    config_release(&c);
    assert_int_equal(load(&c, NULL, NULL, NULL, NULL, NULL, &err), 0);
    for (size_t i = 0; i < countof(want); i++) {
        f = facts_of(&c, want[i].model);
        if (f.dialect != want[i].dialect || f.context != want[i].context)
            fail_msg("%s: dialect %d, context %d", want[i].model, (int)f.dialect, f.context);
    }
    assert_true(facts_of(&c, "qwen2.5-coder:1.5b").output_answers
                && !facts_of(&c, "qwen2.5-coder:7b").output_answers);
    config_release(&c);
    assert_int_equal(
        load(&c,
             "models:\n  'qwen2.5-coder*': {output_answers: false}\n  tiny*: {output_answers: true}\n"
             "  'qwen2.5-coder[-:]1.5b*': {repair_tokens: 700}\n",
             NULL, NULL, NULL, NULL, &err),
        0);
    assert_true(!facts_of(&c, "qwen2.5-coder:1.5b").output_answers && facts_of(&c, "tiny-1").output_answers);
    assert_int_equal(facts_of(&c, "qwen2.5-coder:1.5b").repair_tokens, 700);
    assert_int_equal(facts_of(&c, "tiny-1").repair_tokens, 0);
    config_release(&c);
}

/* Every provider that was promised is there, each with what a request needs. */
static void providers(void **state)
{
    static const char *const names[] = {"openai",
                                        "workers-ai",
                                        "ollama",
                                        "llama.cpp",
                                        "vllm",
                                        "lm-studio",
                                        "openrouter",
                                        "groq",
                                        "together",
                                        "deepseek",
                                        "mistral",
                                        "gemini",
                                        "azure",
                                        "openai-responses",
                                        "workers-ai-native",
                                        "anthropic",
                                        "xai",
                                        "cerebras",
                                        "zai",
                                        "moonshot",
                                        "dashscope",
                                        "minimax",
                                        "huggingface",
                                        "fireworks",
                                        "nvidia",
                                        "bedrock",
                                        "cohere"};
    static const char *const sends[] = {"workers-ai", "workers-ai-native", "ollama", "llama.cpp",
                                        "vllm",       "lm-studio"};
    struct providers p = {0};
    struct error err = {0};

    (void)state;
    assert_int_equal(providers_builtin(&p, &err), 0);
    assert_int_equal(p.n, countof(names));
    for (size_t i = 0; i < countof(names); i++) {
        const struct provider *v = provider_find(&p, names[i]);
        bool must_send = false;
        assert_non_null(v);
        assert_non_null(v->title);
        assert_true(v->local || v->key_variable[0]);
        for (size_t k = 0; k < countof(sends); k++)
            must_send = must_send || strcmp(sends[k], names[i]) == 0;
        assert_int_equal(v->facts.send_max_tokens, must_send);
    }
    assert_string_equal(provider_nearest(&p, "olama"), "ollama");
    providers_release(&p);
}

static void printed(void **state)
{
    char key[] = "OPENAI_API_KEY=sk-0123456789abcdefghijklmnop", own[] = "SANDPIPER_API_KEY=short";
    char *env[] = {key, own, NULL};
    struct config c;
    struct error err = {0};
    struct buf out = BUF_INIT(0);

    (void)state;
    assert_int_equal(
        load(&c, "timeout: 90\n", "SANDPIPER_MODEL=\"a\\\"b\033[2Jc\"\n", env, "--memory", "2g", &err), 0);
    assert_int_equal(config_print(&c, &out, &err), 0);
    const char *s = buf_str(&out);
    assert_non_null(strstr(s, "timeout: 90s"));
    assert_non_null(strstr(s, "config.yaml:1\n"));
    assert_non_null(strstr(s, "memory: 2g"));
    assert_non_null(strstr(s, "# from option --memory"));
    assert_non_null(strstr(s, "model: \"a\\\"bc\""));
    assert_non_null(strstr(s, "# from .env:1 SANDPIPER_MODEL"));
    assert_null(strstr(s, "pids: 128"));
    assert_non_null(strstr(s, "settings are at their defaults: sandpiper config --all"));
    assert_non_null(strstr(s, "# key: set, not shown"));
    assert_true(strstr(s, "# key: ") < strstr(s, "timeout: 90s"));
    assert_non_null(strstr(s, "environment OPENAI_API_KEY"));
    assert_null(strstr(s, "0123456789"));
    assert_null(strstr(s, "mnop"));
    assert_null(strstr(s, "short"));
    assert_null(strchr(s, '\033'));
    buf_release(&out);
    config_release(&c);
    assert_int_equal(load(&c, NULL, NULL, NULL, NULL, NULL, &err), 0);
    assert_int_equal(config_print(&c, &out, &err), 0);
    assert_int_equal(strncmp(buf_str(&out), "# none configured", 17), 0); /* make run looks for it */
    buf_clear(&out);
    c.all = true;
    assert_int_equal(config_print(&c, &out, &err), 0);
    assert_non_null(strstr(buf_str(&out), "\npids: 128"));
    assert_non_null(strstr(buf_str(&out), "# from default"));
    assert_null(strstr(buf_str(&out), "--all"));
    buf_release(&out);
    config_release(&c);
}

/* What is printed can be read again as config.yaml, and says the same. */
static void printed_reads_back(void **state)
{
    struct config c;
    struct error err = {0};
    struct buf out = BUF_INIT(0), again = BUF_INIT(0);

    (void)state;
    assert_int_equal(load(&c,
                          "model: 'it''s \"x\"'\nsystem: |\n  two\tor\n  lines\nstream: false\ncpus: 0.5\n"
                          "base_url: http://127.0.0.1:9/v1\napi_key: sekret\n",
                          NULL, NULL, NULL, NULL, &err),
                     0);
    assert_int_equal(config_print(&c, &out, &err), 0);
    config_release(&c);
    if (load(&c, buf_str(&out), NULL, NULL, NULL, NULL, &err) < 0)
        fail_msg("%s", err.text);
    assert_string_equal(c.front.model, "it's \"x\"");
    assert_string_equal(c.system, "two\tor\nlines\n");
    assert_null(c.api_key);
    assert_false(c.stream);
    assert_true(c.cpus == 0.5);
    config_release(&c);
    buf_release(&out);
    buf_release(&again);
}

static void prompts_of_the_user(void **state)
{
    struct prompts p;
    struct error err = {0};

    (void)state;
    autofree char *dir = xasprintf("%s/prompts", folder);
    assert_int_equal(mkdir(dir, 0700), 0);
    put("prompts/python.yaml", "nudge: mine\n", 0600);
    assert_int_equal(prompts_load(&p, AGENT_PYTHON, &err), 0);
    assert_string_equal(p.nudge, "mine");
    assert_true(strlen(p.system_native) > 100);
    prompts_release(&p);
    put("prompts/python.yaml", "nugde: mine\n", 0600);
    assert_int_equal(prompts_load(&p, AGENT_PYTHON, &err), -1);
    assert_non_null(strstr(err.text, "prompts/python.yaml:1: unknown key nugde"));
    prompts_release(&p);
    put("prompts", NULL, 0);
}

static int enter(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    autofree char *deep = xasprintf("%s/sandpiper", folder);
    assert_int_equal(symlink(".", deep), 0); /* XDG_CONFIG_HOME/sandpiper/config.yaml */
    setenv("XDG_CONFIG_HOME", folder, 1);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") | file_remove_tree(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),
        cmocka_unit_test(files_leave_room),
        cmocka_unit_test(every_option),
        cmocka_unit_test(precedence),
        cmocka_unit_test(a_file_from_windows),
        cmocka_unit_test(sections),
        cmocka_unit_test(from_a_pipe),
        cmocka_unit_test(bad_yaml),
        cmocka_unit_test(bad_elsewhere),
        cmocka_unit_test(hostile_dotenv),
        cmocka_unit_test(owners),
        cmocka_unit_test(sizes),
        cmocka_unit_test(profiles),
        cmocka_unit_test(providers),
        cmocka_unit_test(printed),
        cmocka_unit_test(printed_reads_back),
        cmocka_unit_test(prompts_of_the_user),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
