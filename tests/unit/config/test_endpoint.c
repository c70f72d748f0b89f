/* test_endpoint.c - which model, where, with which key; above all: a key goes only to the URL that came from
 * the same place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/url.h"
#include "config/binding.h"
#include "config/config.h"
#include "config/endpoint.h"

static char folder[] = "/tmp/sptest-XXXXXX";

static void put(const char *name, const char *text)
{
    autofree char *path = xasprintf("%s/%s", folder, name);

    unlink(path);
    if (text)
        assert_int_equal(file_write(path, text, strlen(text), NULL), 0);
}

/* One line a layer; NULL: that layer is not there. env and flags are cut at blanks. */
struct given {
    const char *yaml, *dotenv, *env, *flags;
};

static size_t cut(char *text, char **out, size_t n)
{
    for (char *p = strtok_r(text, " ", &text); p; p = strtok_r(NULL, " ", &text))
        out[n++] = p;
    out[n] = NULL;
    return n;
}

static int load(const struct given *g, struct config *c, struct error *err)
{
    static char env_text[1024], flag_text[1024], program[] = "sandpiper";
    static char *env[32], *argv[32];
    size_t n;

    put("config.yaml", g->yaml);
    put(".env", g->dotenv);
    snprintf(env_text, sizeof env_text, "%s", g->env ? g->env : "");
    snprintf(flag_text, sizeof flag_text, "%s", g->flags ? g->flags : "");
    cut(env_text, env, 0);
    argv[0] = program;
    n = cut(flag_text, argv, 1);
    return config_load(c, (int)n, argv, env, err);
}

/* What the user answers about a folder, and how often he was asked. */
static enum folder_answer the_answer = FOLDER_ALLOWED;
static int asked;
static char the_question[512];

static enum folder_answer answer(void *ctx, const char *question)
{
    (void)ctx;
    asked++;
    snprintf(the_question, sizeof the_question, "%s", question);
    return the_answer;
}

struct want {
    struct given given;
    const char *provider, *url, *model, *key; /* NULL: none */
};

static bool same(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check(const struct want *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct config c;
        struct endpoint e = {0};
        struct error err = {0};
        if (load(&w[i].given, &c, &err) < 0)
            fail_msg("case %zu: %s", i, err.text);
        c.ask = answer;
        if (endpoint_choose(&c, &e, &err) < 0)
            fail_msg("case %zu: %s", i, err.text);
        if (!same(e.found ? e.provider : NULL, w[i].provider) || !same(e.base_url, w[i].url)
            || !same(e.model, w[i].model) || !same(e.key, w[i].key))
            fail_msg("case %zu: got %s, %s, %s, key %s", i, e.found ? e.provider : "none",
                     e.base_url ? e.base_url : "-", e.model ? e.model : "-", e.key ? e.key : "-");
        assert_true(!e.found || e.key_name);
        endpoint_release(&e);
        config_release(&c);
    }
}

#define OPENAI        "https://api.openai.com/v1"
#define GROQ          "https://api.groq.com/openai/v1"
#define DEFAULT_MODEL "gpt-6-luna"
#define OSS           "openai/gpt-oss-120b"

static const struct want chosen[] = {
    {{NULL, NULL, NULL, NULL}, NULL, NULL, NULL, NULL},
    {{NULL, NULL, "OPENAI_API_KEY=k1", NULL}, "openai", OPENAI, DEFAULT_MODEL, "k1"},
    {{NULL, NULL, "OPENAI_API_KEY=", NULL}, NULL, NULL, NULL, NULL},
    {{NULL, NULL, "OPENAI_API_KEY=k1 GROQ_API_KEY=k2", NULL}, "openai", OPENAI, DEFAULT_MODEL, "k1"},
    {{NULL, NULL, "OPENAI_API_KEY=k1 GROQ_API_KEY=k2", "--provider groq"}, "groq", GROQ, OSS, "k2"},
    {{NULL, NULL, "OPENAI_API_KEY=k1 GROQ_API_KEY=k2 SANDPIPER_PROVIDER=groq", NULL},
     "groq",
     GROQ,
     OSS,
     "k2"},
    {{"provider: groq\n", NULL, "OPENAI_API_KEY=k1 GROQ_API_KEY=k2", NULL}, "groq", GROQ, OSS, "k2"},
    {{NULL, NULL, "OPENAI_BASE_URL=http://127.0.0.1:9/v1/", "-m x"},
     "openai",
     "http://127.0.0.1:9/v1",
     "x",
     NULL},
    {{NULL, NULL, "CLOUDFLARE_ACCOUNT_ID=acc CLOUDFLARE_API_KEY=k", NULL},
     "workers-ai",
     "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1",
     "@cf/openai/gpt-oss-120b",
     "k"},
    {{NULL, NULL, "CLOUDFLARE_ACCOUNT_ID=acc CLOUDFLARE_API_TOKEN=t", NULL},
     "workers-ai",
     "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1",
     "@cf/openai/gpt-oss-120b",
     "t"},
    {{NULL, NULL, "OLLAMA_HOST=127.0.0.1", NULL}, "ollama", "http://127.0.0.1:11434/v1", NULL, NULL},
    {{NULL, NULL, "OLLAMA_HOST=0.0.0.0:99", NULL}, "ollama", "http://127.0.0.1:99/v1", NULL, NULL},
    {{"provider: box\nproviders:\n  box: {base_url: 'http://127.0.0.1:7007/v1', host_variable: BOX_HOST}\n",
      NULL, "BOX_HOST=127.0.0.2", NULL},
     "box",
     "http://127.0.0.2:7007/v1",
     NULL,
     NULL},
    {{NULL, NULL, "OLLAMA_HOST=https://box.example/", NULL}, "ollama", "https://box.example/v1", NULL, NULL},
    {{NULL, NULL, "AZURE_OPENAI_ENDPOINT=https://r.example.com/ AZURE_OPENAI_API_KEY=k", "-m dep"},
     "azure",
     "https://r.example.com/openai/v1",
     "dep",
     "k"},
    {{NULL, NULL, NULL, "--provider ollama -m llama3"},
     "ollama",
     "http://127.0.0.1:11434/v1",
     "llama3",
     NULL},
    /* config.yaml adds and changes */
    {{"providers:\n  mine: {base_url: 'https://mine.example/v1', key_variable: MINE_KEY, model: "
      "m1}\nprovider: mine\n",
      NULL, "MINE_KEY=k", NULL},
     "mine",
     "https://mine.example/v1",
     "m1",
     "k"},
    {{"providers:\n  mine: {base_url: 'https://mine.example/v1', api_key: inline}\nprovider: "
      "mine\nmodel: m\n",
      NULL, NULL, NULL},
     "mine",
     "https://mine.example/v1",
     "m",
     "inline"},
    {{"providers:\n  mine: {base_url: 'https://mine.example/v1', api_key: inline, model: m}\n", NULL, NULL,
      NULL},
     "mine",
     "https://mine.example/v1",
     "m",
     "inline"},
    {{"providers:\n  openai: {model: other}\n", NULL, "OPENAI_API_KEY=k", NULL},
     "openai",
     OPENAI,
     "other",
     "k"},
    {{"base_url: https://x.example/v1\napi_key: k\nmodel: m\n", NULL, NULL, NULL},
     "custom",
     "https://x.example/v1",
     "m",
     "k"},
    {{"provider: groq\napi_key: k\n", NULL, NULL, NULL}, "groq", GROQ, OSS, "k"},
    /* the higher layer counts whole */
    {{"base_url: https://x.example/v1\napi_key: k\n", NULL, "GROQ_API_KEY=g", "--provider groq"},
     "groq",
     GROQ,
     OSS,
     "g"},
    {{"provider: groq\n", NULL, "GROQ_API_KEY=g", "--base-url https://x.example/v1 -m m"},
     "custom",
     "https://x.example/v1",
     "m",
     NULL},
    /* a model that was named beside another provider belongs there */
    {{"provider: openai\nmodel: gpt-x\n", NULL, "GROQ_API_KEY=g", "--provider groq"}, "groq", GROQ, OSS, "g"},
    {{"provider: groq\nmodel: big\n", NULL, "GROQ_API_KEY=g", "--provider groq"}, "groq", GROQ, "big", "g"},
    {{"model: gpt-x\n", NULL, "GROQ_API_KEY=g", "--provider groq"}, "groq", GROQ, "gpt-x", "g"},
    {{"provider: openai\nmodel: gpt-x\n", NULL, "GROQ_API_KEY=g", "--provider groq -m mine"},
     "groq",
     GROQ,
     "mine",
     "g"},
};

static void choices(void **state)
{
    (void)state;
    check(chosen, countof(chosen));
}

static const struct want keys[] = {
    /* who has a key himself is not led elsewhere by a folder */
    {{NULL, "OPENAI_BASE_URL=https://evil.example/v1\n", "OPENAI_API_KEY=secret", NULL},
     "openai",
     OPENAI,
     DEFAULT_MODEL,
     "secret"},
    {{NULL, "OPENAI_BASE_URL=https://evil.example/v1\nSANDPIPER_PROVIDER=openai\n",
      "OPENAI_API_KEY=secret SANDPIPER_API_KEY=secret", NULL},
     "openai",
     OPENAI,
     DEFAULT_MODEL,
     "secret"},
    {{NULL, "OPENAI_BASE_URL=https://evil.example/v1\nOPENAI_API_KEY=dk\n", "OPENAI_API_KEY=secret",
      "--provider openai"},
     "openai",
     OPENAI,
     DEFAULT_MODEL,
     "secret"},
    {{NULL, "OPENAI_BASE_URL=https://evil.example/v1\n", "GROQ_API_KEY=secret", NULL},
     "groq",
     GROQ,
     OSS,
     "secret"},
    {{NULL, "OPENAI_BASE_URL=https://evil.example/v1\nOPENAI_API_KEY=dk\n", "GROQ_API_KEY=secret", NULL},
     "groq",
     GROQ,
     OSS,
     "secret"},
    {{NULL, "SANDPIPER_PROVIDER=openai\nOPENAI_BASE_URL=https://evil.example/v1\nOPENAI_API_KEY=dk\n",
      "GROQ_API_KEY=secret", NULL},
     "groq",
     GROQ,
     OSS,
     "secret"},
    {{NULL, "SANDPIPER_PROVIDER=groq\nGROQ_API_KEY=dk\n", "OPENAI_API_KEY=secret", NULL},
     "openai",
     OPENAI,
     DEFAULT_MODEL,
     "secret"},
    {{NULL, "OLLAMA_HOST=evil.example:80\nSANDPIPER_PROVIDER=ollama\n", "OPENAI_API_KEY=secret", NULL},
     "openai",
     OPENAI,
     DEFAULT_MODEL,
     "secret"},
    {{"providers:\n  openai: {api_key: secret}\n", "OPENAI_BASE_URL=https://evil.example/v1\n", NULL,
      "--provider openai"},
     "openai",
     OPENAI,
     DEFAULT_MODEL,
     "secret"},
    {{"providers:\n  openai: {api_key: secret}\n",
      "OPENAI_BASE_URL=https://evil.example/v1\nOPENAI_API_KEY=dk\n", NULL, "--provider openai"},
     "openai",
     OPENAI,
     DEFAULT_MODEL,
     "secret"},
    {{"provider: groq\n", "OPENAI_BASE_URL=https://evil.example/v1\n", "OPENAI_API_KEY=secret", NULL},
     "groq",
     GROQ,
     OSS,
     NULL},
    /* but may be told which of his own to ask */
    {{NULL, "SANDPIPER_PROVIDER=groq\n", "OPENAI_API_KEY=secret GROQ_API_KEY=g", NULL},
     "groq",
     GROQ,
     OSS,
     "g"},
    /* the environment's key never follows a URL of .env */
    {{"api_key: secret\n", "OPENAI_BASE_URL=https://evil.example/v1\n", NULL, NULL},
     "openai",
     "https://evil.example/v1",
     DEFAULT_MODEL,
     NULL},
    {{NULL, "OLLAMA_HOST=evil.example:80\n", "SANDPIPER_API_KEY=secret", "--provider ollama -m x"},
     "ollama",
     "http://evil.example:80/v1",
     "x",
     NULL},
    /* .env's own key goes to .env's own URL, and to a provider's own URL, and nowhere else */
    {{NULL, "OPENAI_BASE_URL=https://d.example/v1\nOPENAI_API_KEY=dk\n", NULL, NULL},
     "openai",
     "https://d.example/v1",
     DEFAULT_MODEL,
     "dk"},
    {{NULL, "OPENAI_BASE_URL=https://d.example/v1\nOPENAI_API_KEY=dk\n", NULL, "--provider openai"},
     "openai",
     "https://d.example/v1",
     DEFAULT_MODEL,
     "dk"},
    {{NULL, "CLOUDFLARE_ACCOUNT_ID=acc\nCLOUDFLARE_API_KEY=dk\n", NULL, NULL},
     "workers-ai",
     "https://api.cloudflare.com/client/v4/accounts/acc/ai/v1",
     "@cf/openai/gpt-oss-120b",
     "dk"},
    {{NULL, "OPENAI_API_KEY=dk\n", NULL, NULL}, "openai", OPENAI, DEFAULT_MODEL, "dk"},
    {{NULL, "OPENAI_API_KEY=dk\n", "OPENAI_API_KEY=secret", NULL}, "openai", OPENAI, DEFAULT_MODEL, "secret"},
    {{NULL, "OPENAI_API_KEY=dk\n", "OPENAI_BASE_URL=https://e.example/v1", NULL},
     "openai",
     "https://e.example/v1",
     DEFAULT_MODEL,
     NULL},
    {{NULL, "OPENAI_API_KEY=dk\n", NULL, "--provider openai --base-url https://f.example/v1"},
     "openai",
     "https://f.example/v1",
     DEFAULT_MODEL,
     NULL},
    {{NULL, "SANDPIPER_PROVIDER=groq\nSANDPIPER_MODEL=dm\n", "GROQ_API_KEY=g", NULL},
     "groq",
     GROQ,
     "dm",
     "g"},
    /* the environment binds within itself */
    {{NULL, NULL, "OPENAI_BASE_URL=https://e.example/v1 OPENAI_API_KEY=k", NULL},
     "openai",
     "https://e.example/v1",
     DEFAULT_MODEL,
     "k"},
    {{"providers:\n  openai: {api_key: filekey}\n", NULL, "OPENAI_BASE_URL=https://e.example/v1", NULL},
     "openai",
     "https://e.example/v1",
     DEFAULT_MODEL,
     NULL},
    /* --base-url: its own key, or that of the provider beside it */
    {{NULL, NULL, "OPENAI_API_KEY=secret", "--base-url https://f.example/v1 -m m"},
     "custom",
     "https://f.example/v1",
     "m",
     NULL},
    {{NULL, NULL, "OPENAI_API_KEY=secret SANDPIPER_API_KEY=own", "--base-url https://f.example/v1 -m m"},
     "custom",
     "https://f.example/v1",
     "m",
     "own"},
    {{NULL, NULL, "OPENAI_API_KEY=secret", "--base-url https://f.example/v1 --provider openai"},
     "openai",
     "https://f.example/v1",
     DEFAULT_MODEL,
     "secret"},
    {{NULL, NULL, "GROQ_API_KEY=secret SANDPIPER_PROVIDER=groq", "--base-url https://f.example/v1 -m m"},
     "custom",
     "https://f.example/v1",
     "m",
     NULL},
    {{"api_key: secret\n", NULL, NULL, "--base-url https://f.example/v1 -m m"},
     "custom",
     "https://f.example/v1",
     "m",
     NULL},
    {{"providers:\n  groq: {api_key: secret}\n", NULL, NULL,
      "--base-url https://f.example/v1 --provider groq"},
     "groq",
     "https://f.example/v1",
     OSS,
     "secret"},
    {{NULL, NULL, "SANDPIPER_BASE_URL=https://e.example/v1 SANDPIPER_API_KEY=own OPENAI_API_KEY=secret",
      "-m m"},
     "custom",
     "https://e.example/v1",
     "m",
     "own"},
    /* config.yaml's URL: config.yaml's key */
    {{"base_url: https://x.example/v1\nmodel: m\n", NULL, "SANDPIPER_API_KEY=secret OPENAI_API_KEY=secret",
      NULL},
     "custom",
     "https://x.example/v1",
     "m",
     NULL},
    {{"base_url: https://x.example/v1\nmodel: m\napi_key: own\n", NULL, "SANDPIPER_API_KEY=secret", NULL},
     "custom",
     "https://x.example/v1",
     "m",
     "own"},
    {{"api_key: secret\n", NULL, NULL, "--provider groq"}, "groq", GROQ, OSS, NULL},
    /* SANDPIPER_API_KEY is for SANDPIPER_BASE_URL and --base-url */
    {{NULL, NULL, "SANDPIPER_API_KEY=secret SANDPIPER_PROVIDER=groq", NULL}, "groq", GROQ, OSS, NULL},
};

static void keys_stay_with_their_urls(void **state)
{
    (void)state;
    check(keys, countof(keys));
}

/* The rule by itself, whole: what is not listed is not allowed. */
static void rule(void **state)
{
    static const struct {
        struct binding b;
        unsigned keys;
    } rows[] = {
        {{URL_ENTRY, SOURCE_DEFAULT, false, false},
         1u << KEY_VARIABLE_ENV | 1u << KEY_VARIABLE_DOTENV | 1u << KEY_ENTRY_FILE},
        {{URL_ENTRY, SOURCE_DEFAULT, false, true},
         1u << KEY_VARIABLE_ENV | 1u << KEY_VARIABLE_DOTENV | 1u << KEY_ENTRY_FILE | 1u << KEY_OPTION_FILE},
        {{URL_VARIABLE, SOURCE_ENV, true, true}, 1u << KEY_VARIABLE_ENV},
        {{URL_VARIABLE, SOURCE_DOTENV, true, true}, 1u << KEY_VARIABLE_DOTENV},
        {{URL_OPTION, SOURCE_FLAG, false, true}, 1u << KEY_OPTION_ENV},
        {{URL_OPTION, SOURCE_FLAG, true, false},
         1u << KEY_OPTION_ENV | 1u << KEY_VARIABLE_ENV | 1u << KEY_ENTRY_FILE},
        {{URL_OPTION, SOURCE_ENV, false, false}, 1u << KEY_OPTION_ENV},
        {{URL_OPTION, SOURCE_FILE, false, true}, 1u << KEY_OPTION_FILE},
        {{URL_OPTION, SOURCE_FILE, true, true},
         1u << KEY_OPTION_FILE | 1u << KEY_VARIABLE_ENV | 1u << KEY_ENTRY_FILE},
        {{URL_OPTION, SOURCE_DOTENV, true, true}, 0},
        {{URL_VARIABLE, SOURCE_DEFAULT, true, true}, 0},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        for (int k = 0; k < KEY_ORIGINS; k++)
            assert_int_equal(binding_allows(&rows[i].b, (enum key_origin)k), (rows[i].keys >> k) & 1);
}

static void refusals(void **state)
{
    static const struct {
        struct given given;
        const char *says;
    } bad[] = {
        {{NULL, NULL, "SANDPIPER_API_KEY=k", "--base-url http://box.example/v1"}, "sent unencrypted"},
        {{NULL, NULL, "SANDPIPER_API_KEY=k", "--base-url http://127.0.0.1.evil.example/v1"},
         "sent unencrypted"},
        {{NULL, NULL, "SANDPIPER_API_KEY=k", "--base-url http://localhost.evil.example/v1"},
         "sent unencrypted"},
        {{NULL, NULL, NULL, "--base-url http://localhost@evil.example/v1"}, "name or password"},
        {{NULL, NULL, NULL, "--base-url https://key@x.example/v1"}, "option --base-url"},
        {{NULL, NULL, NULL, "--base-url ftp://x.example"}, "starts with https://"},
        {{NULL, NULL, NULL, "--base-url x.example/v1"}, "starts with https://"},
        {{NULL, NULL, NULL, "--base-url http:///v1"}, "no valid host"},
        {{NULL, NULL, NULL, "--base-url http://x.example:99999999/v1"}, "no valid host"},
        {{NULL, NULL, NULL, "--base-url http://x.example:65536/v1"}, "no valid host or port"},
        {{NULL, NULL, NULL, "--base-url http://x.example\\@y/v1"}, "name or password"},
        {{NULL, NULL, NULL, "--base-url http://x.example/v1#f"}, "invalid character"},
        {{NULL, NULL, NULL, "--provider grok"}, "did you mean groq"},
        {{NULL, NULL, NULL, "--provider nonsense"}, "unknown provider \"nonsense\""},
        {{"provider: opneai\n", NULL, NULL, NULL}, "config.yaml:1: unknown provider"},
        {{NULL, "SANDPIPER_PROVIDER=opneai\n", NULL, NULL}, ".env:1 SANDPIPER_PROVIDER"},
        {{NULL, NULL, "CLOUDFLARE_API_KEY=k", NULL}, "CLOUDFLARE_ACCOUNT_ID is not set"},
        {{NULL, "CLOUDFLARE_ACCOUNT_ID=evil\n", "CLOUDFLARE_API_KEY=k", NULL},
         "CLOUDFLARE_ACCOUNT_ID is not set"},
        {{NULL, "AZURE_OPENAI_ENDPOINT=https://evil.example\n", "AZURE_OPENAI_API_KEY=k",
          "--provider azure -m m"},
         "AZURE_OPENAI_ENDPOINT is not set"},
        {{NULL, "OPENAI_BASE_URL=https://evil.example/v1\n", NULL, NULL},
         "sends your questions to evil.example (OPENAI_BASE_URL), and you have not"},
        {{NULL, "OPENAI_BASE_URL=http://127.0.0.1:8080/v1\nOPENAI_API_KEY=k\n", NULL, NULL},
         "sends your questions to 127.0.0.1:8080 (OPENAI_BASE_URL)"},
        {{NULL, "OLLAMA_HOST=[::1]:99\n", NULL, "-m x"}, "sends your questions to [::1]:99 (OLLAMA_HOST)"},
        {{NULL, "AZURE_OPENAI_ENDPOINT=https://evil.example\nAZURE_OPENAI_API_KEY=k\n", NULL,
          "--provider azure -m m"},
         "sends your questions to evil.example (AZURE_OPENAI_ENDPOINT)"},
        {{NULL, "OPENAI_BASE_URL=http://api.openai.com/v1\n", NULL, NULL},
         "sends your questions to api.openai.com (OPENAI_BASE_URL)"},
        {{NULL, NULL, "CLOUDFLARE_API_KEY=k CLOUDFLARE_ACCOUNT_ID=../../x", NULL}, "expected letters"},
        {{NULL, NULL, "CLOUDFLARE_API_KEY=k CLOUDFLARE_ACCOUNT_ID=..", NULL}, "expected letters"},
        {{NULL, NULL, "CLOUDFLARE_API_KEY=k CLOUDFLARE_ACCOUNT_ID=a?b", NULL}, "expected letters"},
        {{NULL, NULL, "AZURE_OPENAI_ENDPOINT=evil AZURE_OPENAI_API_KEY=k", NULL},
         "environment AZURE_OPENAI_ENDPOINT: expected a URL"},
        {{NULL, NULL, "OPENAI_API_KEY=a\033b", NULL}, "invalid character"},
        {{"base_url: http://box.example/v1\napi_key_command: pass show x\n", NULL, NULL, NULL},
         "sent unencrypted"},
    };

    (void)state;
    for (size_t i = 0; i < countof(bad); i++) {
        struct config c;
        struct endpoint e = {0};
        struct error err = {0};
        if (load(&bad[i].given, &c, &err) == 0 && endpoint_choose(&c, &e, &err) == 0)
            fail_msg("case %zu was taken: %s", i, bad[i].says);
        if (!strstr(err.text, bad[i].says))
            fail_msg("case %zu: expected \"%s\" in \"%s\"", i, bad[i].says, err.text);
        assert_int_equal(err.kind, ERROR_USAGE);
        endpoint_release(&e);
        config_release(&c);
    }
}

static void insecure_where_allowed(void **state)
{
    static const struct want cases[] = {
        {{NULL, NULL, "SANDPIPER_API_KEY=k", "--base-url http://127.9.9.9:80/v1 -m m"},
         "custom",
         "http://127.9.9.9:80/v1",
         "m",
         "k"},
        {{NULL, NULL, "SANDPIPER_API_KEY=k", "--base-url http://[::1]:80/v1 -m m"},
         "custom",
         "http://[::1]:80/v1",
         "m",
         "k"},
        {{NULL, NULL, "SANDPIPER_API_KEY=k", "--base-url http://LocalHost/v1 -m m"},
         "custom",
         "http://LocalHost/v1",
         "m",
         "k"},
        {{NULL, NULL, NULL, "--base-url http://box.example/v1 -m m"},
         "custom",
         "http://box.example/v1",
         "m",
         NULL},
        {{"allow_insecure: true\n", NULL, "SANDPIPER_API_KEY=k", "--base-url http://box.example/v1 -m m"},
         "custom",
         "http://box.example/v1",
         "m",
         "k"},
        {{"providers:\n  box: {base_url: 'http://box.example/v1', api_key: k, allow_insecure: "
          "true}\nprovider: box\n",
          NULL, NULL, NULL},
         "box",
         "http://box.example/v1",
         NULL,
         "k"},
    };

    (void)state;
    check(cases, countof(cases));
}

static bool noticed(const struct config *c, const char *piece)
{
    for (size_t i = 0; i < c->notices.n; i++)
        if (strstr(c->notices.v[i], piece))
            return true;
    return false;
}

/* What decides where questions go is said even when quiet; a key alone, where the place was chosen elsewhere,
 * is a notice. */
static void dotenv_is_told(void **state)
{
    static const struct {
        struct given given;
        const char *says;
        bool loud;
    } cases[] = {
        {{NULL, "OPENAI_BASE_URL=https://d.example/v1\n", NULL, NULL},
         "Using OPENAI_BASE_URL from ./.env: openai at https://d.example/v1, without a key",
         true},
        {{NULL, "OPENAI_API_KEY=k\n", NULL, NULL},
         "Using OPENAI_API_KEY from ./.env: openai at https://api.openai.com/v1, with the key in that file",
         true},
        {{NULL, "SANDPIPER_PROVIDER=ollama\n", NULL, NULL},
         "Using SANDPIPER_PROVIDER from ./.env: ollama",
         true},
        {{NULL, "SANDPIPER_PROVIDER=groq\n", "GROQ_API_KEY=k", NULL},
         "Using SANDPIPER_PROVIDER from ./.env: groq at " GROQ ", with your key",
         true},
        {{NULL, "OPENAI_API_KEY=k\n", NULL, "--provider openai"}, "Using OPENAI_API_KEY from ./.env", false},
        {{NULL, "OPENAI_BASE_URL=https://evil.example/v1\n", "OPENAI_API_KEY=k", NULL},
         "./.env:1: OPENAI_BASE_URL is ignored: you have set a key or URL for openai yourself",
         false},
        {{NULL, "SANDPIPER_PROVIDER=groq\nGROQ_API_KEY=k\n", "OPENAI_API_KEY=k", NULL},
         "./.env:1: SANDPIPER_PROVIDER is ignored: your environment chooses openai",
         false},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct config c;
        struct endpoint e;
        struct error err = {0};
        assert_int_equal(load(&cases[i].given, &c, &err), 0);
        c.ask = answer;
        assert_int_equal(endpoint_choose(&c, &e, &err), 0);
        if (cases[i].loud ? !c.said || !strstr(c.said, cases[i].says) : c.said || !noticed(&c, cases[i].says))
            fail_msg("expected \"%s\", got \"%s\" and \"%s\"", cases[i].says, c.said ? c.said : "",
                     c.notices.n ? c.notices.v[0] : "");
        endpoint_release(&e);
        config_release(&c);
    }
}

/* One choice in a folder with this .env: the host that questions go to, or NULL for an error. */
static const char *where_to(const char *dotenv, const char *env, const char *flags, enum folder_answer says)
{
    static char host[128];
    struct given g = {"provider: groq\n", dotenv, env, flags};
    struct config c;
    struct endpoint e = {0};
    struct error err = {0};
    int status = load(&g, &c, &err);

    the_answer = says;
    asked = 0;
    c.ask = answer;
    status = status < 0 ? status : endpoint_choose(&c, &e, &err);
    snprintf(host, sizeof host, "%s", status == 0 ? e.base_url : "");
    if (status == 0 && strstr(host, "d.example") && !c.said)
        fail_msg("it was not said");
    if (says == FOLDER_INTERRUPTED && asked)
        assert_int_equal(err.kind, ERROR_CANCELLED);
    endpoint_release(&e);
    config_release(&c);
    the_answer = FOLDER_ALLOWED;
    return status == 0 ? host : NULL;
}

static void a_folder_is_asked_about_once(void **state)
{
    static const char one[] =
        "SANDPIPER_PROVIDER=openai\nOPENAI_BASE_URL=https://d.example/v1\nSANDPIPER_MODEL=m\n";
    static const char other[] =
        "SANDPIPER_PROVIDER=openai\nOPENAI_BASE_URL=https://d.example/v1\nSANDPIPER_MODEL=n\n";
    autofree char *kept = xasprintf("%s/sandpiper/folders", folder);
    struct stat st;

    (void)state;
    unlink(kept); /* of the tests before */
    assert_null(where_to(one, NULL, NULL, FOLDER_NOBODY));
    assert_null(where_to(one, NULL, NULL, FOLDER_INTERRUPTED));
    assert_int_equal(stat(kept, &st), -1);
    assert_string_equal(where_to(one, NULL, "--dotenv allow", FOLDER_NOBODY), "https://d.example/v1");
    assert_string_equal(where_to(one, NULL, "--dotenv ignore", FOLDER_NOBODY), GROQ);
    assert_string_equal(where_to(one, "SANDPIPER_DOTENV=ignore", NULL, FOLDER_NOBODY), GROQ);
    assert_int_equal(stat(kept, &st), -1); /* a flag is for this run */
    assert_string_equal(where_to(one, NULL, NULL, FOLDER_DENIED), GROQ);
    assert_int_equal(asked, 1);
    assert_string_equal(
        the_question,
        "This folder's .env sends your questions to d.example (OPENAI_BASE_URL); allow? [y/N] ");
    assert_int_equal(stat(kept, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_string_equal(where_to(one, NULL, NULL, FOLDER_ALLOWED), GROQ);
    assert_int_equal(asked, 0);
    assert_string_equal(where_to(other, NULL, NULL, FOLDER_ALLOWED), "https://d.example/v1");
    assert_int_equal(asked, 1);
    assert_string_equal(where_to(other, NULL, NULL, FOLDER_NOBODY), "https://d.example/v1");
    assert_int_equal(asked, 0);
    assert_null(where_to(one, NULL, NULL, FOLDER_NOBODY)); /* the older content's answer is forgotten */
    assert_int_equal(asked, 1);
    assert_int_equal(file_write(kept, "allow\nallow \n\n\xff\nallow x y\n", 25, NULL), 0);
    assert_null(where_to(other, NULL, NULL, FOLDER_NOBODY));
    assert_int_equal(unlink(kept), 0);
}

static void key_from_a_command(void **state)
{
    static const struct {
        const char *yaml, *key, *says;
    } cases[] = {
        {"provider: groq\napi_key_command: [/bin/sh, -c, 'echo \" k1 \"; echo second']\n", "k1", NULL},
        {"providers:\n  groq: {api_key_command: printf k2}\nprovider: groq\n", "k2", NULL},
        {"provider: groq\napi_key_command: [/bin/sh, -c, 'echo locked >&2; exit 3']\n", NULL,
         "exit code 3: locked"},
        {"provider: groq\napi_key_command: 'true'\n", NULL, "printed nothing"},
        {"provider: groq\napi_key_command: /does/not/exist\n", NULL, "api_key_command"},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct given g = {cases[i].yaml, NULL, NULL, NULL};
        struct config c;
        struct endpoint e;
        struct error err = {0};
        assert_int_equal(load(&g, &c, &err), 0);
        assert_int_equal(endpoint_choose(&c, &e, &err), 0);
        assert_null(e.key);
        assert_non_null(e.key_command);
        int status = endpoint_fetch_key(&e, NULL, &err);
        assert_int_equal(status, cases[i].key ? 0 : -1);
        if (cases[i].key)
            assert_string_equal(e.key, cases[i].key);
        else if (!strstr(err.text, cases[i].says) || err.kind != ERROR_USAGE)
            fail_msg("expected \"%s\" in \"%s\" (kind %d)", cases[i].says, err.text, err.kind);
        endpoint_release(&e);
        config_release(&c);
    }
}

static int enter(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    autofree char *deep = xasprintf("%s/sandpiper", folder);
    assert_int_equal(symlink(".", deep), 0); /* XDG_CONFIG_HOME/sandpiper/config.yaml */
    setenv("XDG_CONFIG_HOME", folder, 1);
    setenv("XDG_STATE_HOME", folder, 1);
    return 0;
}

static int leave(void **state)
{
    (void)state;
    return chdir("/") | file_remove_tree(folder);
}

/* The endpoint of case i, which must have one. */
static void choose(size_t i, const struct given *given, struct config *c, struct endpoint *e)
{
    struct error err = {0};

    *e = (struct endpoint){0};
    if (load(given, c, &err) < 0 || endpoint_choose(c, e, &err) < 0)
        fail_msg("case %zu: %s", i, err.text);
}

/* Flag, then environment, then config.yaml, then the provider's entry; what is said for all goes before an
 * entry. */
static void which_api(void **state)
{
    static const struct {
        struct given given;
        enum model_api api;
        enum source_kind from;
    } cases[] = {
        {{NULL, NULL, "OPENAI_API_KEY=k", NULL}, API_RESPONSES, SOURCE_DEFAULT},
        {{NULL, NULL, "OPENAI_API_KEY=k OPENAI_BASE_URL=https://eu.api.openai.com/v1", NULL},
         API_RESPONSES,
         SOURCE_DEFAULT},
        {{NULL, NULL, "OPENAI_API_KEY=k OPENAI_BASE_URL=https://api.openai.com.evil.example/v1", NULL},
         API_CHAT_COMPLETIONS,
         SOURCE_DEFAULT},
        {{NULL, NULL, "OPENAI_API_KEY=k OPENAI_BASE_URL=https://gateway.example/v1", NULL},
         API_CHAT_COMPLETIONS,
         SOURCE_DEFAULT},
        {{"providers:\n  openai: {api: responses}\n", NULL,
          "OPENAI_API_KEY=k OPENAI_BASE_URL=https://gateway.example/v1", NULL},
         API_RESPONSES,
         SOURCE_FILE},
        {{NULL, NULL, "AZURE_OPENAI_API_KEY=k AZURE_OPENAI_ENDPOINT=https://r.example", NULL},
         API_RESPONSES,
         SOURCE_DEFAULT},
        {{NULL, NULL, "OPENAI_API_KEY=k", "--provider openai-responses"}, API_RESPONSES, SOURCE_DEFAULT},
        {{NULL, NULL, "CLOUDFLARE_ACCOUNT_ID=a CLOUDFLARE_API_KEY=k", "--provider workers-ai-native"},
         API_WORKERS_AI,
         SOURCE_DEFAULT},
        {{NULL, NULL, "OPENAI_API_KEY=k", "--api responses"}, API_RESPONSES, SOURCE_FLAG},
        {{NULL, NULL, "OPENAI_API_KEY=k SANDPIPER_API=workers_ai", NULL}, API_WORKERS_AI, SOURCE_ENV},
        {{NULL, NULL, "OPENAI_API_KEY=k SANDPIPER_API=workers_ai", "--api chat_completions"},
         API_CHAT_COMPLETIONS,
         SOURCE_FLAG},
        {{"providers:\n  openai: {api: responses}\n", NULL, "OPENAI_API_KEY=k", NULL},
         API_RESPONSES,
         SOURCE_FILE},
        {{"api: chat_completions\nproviders:\n  openai: {api: responses}\n", NULL, "OPENAI_API_KEY=k", NULL},
         API_CHAT_COMPLETIONS,
         SOURCE_FILE},
        /* not of a folder */
        {{NULL, "SANDPIPER_API=chat_completions\n", "OPENAI_API_KEY=k", NULL}, API_RESPONSES, SOURCE_DEFAULT},
        {{"base_url: https://x.example/v1\napi: responses\n", NULL, NULL, "-m m"},
         API_RESPONSES,
         SOURCE_FILE},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct config c;
        struct endpoint e;
        choose(i, &cases[i].given, &c, &e);
        if (e.api != cases[i].api || e.api_source.kind != cases[i].from)
            fail_msg("case %zu: api %d from %d", i, (int)e.api, (int)e.api_source.kind);
        endpoint_release(&e);
        config_release(&c);
    }
}

/* Where its variable leads to another service, what is known of the provider's own does not hold. */
static void elsewhere(void **state)
{
    static const struct {
        struct given given;
        const char *model, *efforts;
        enum reasoning_back back;
    } cases[] = {
        {{NULL, NULL, "GEMINI_API_KEY=k", NULL},
         "gemini-3.5-flash-lite",
         "minimal|low|medium|high",
         BACK_CALLS},
        {{NULL, NULL, "DEEPSEEK_API_KEY=k", NULL}, "deepseek-flash", "none|low|high|max", BACK_REQUIRED},
        {{NULL, NULL, "MOONSHOT_API_KEY=k", NULL}, "kimi-k3", "low|medium|high|max", BACK_REQUIRED},
        {{NULL, NULL, "GROQ_API_KEY=k", "-m qwen/qwen3.8-27b"},
         "qwen/qwen3.8-27b",
         "none|default",
         BACK_CALLS},
        {{"providers:\n  groq: {profiles: {'qwen3.8*': {efforts: low}}}\n", NULL, "GROQ_API_KEY=k",
          "-m qwen/qwen3.8-27b"},
         "qwen/qwen3.8-27b",
         "low",
         BACK_CALLS},
        {{"models: {'qwen3.8*': {efforts: [high], reasoning_back: never}}\n", NULL, "GROQ_API_KEY=k",
          "-m qwen/qwen3.8-27b"},
         "qwen/qwen3.8-27b",
         "high",
         BACK_NEVER},
        {{NULL, NULL, "OPENAI_API_KEY=k OPENAI_BASE_URL=https://gateway.example/v1", NULL},
         "gpt-6-luna",
         "none|low|medium|high|xhigh|max",
         BACK_CALLS},
        /* the first that it lists */
        {{NULL, NULL, "OPENAI_API_KEY=k OPENAI_BASE_URL=http://127.0.0.1:1/v1", NULL},
         NULL,
         NULL,
         BACK_CALLS},
        /* only by name */
        {{NULL, NULL, "HF_TOKEN=k", NULL}, NULL, NULL, BACK_CALLS},
        {{NULL, NULL, "HF_TOKEN=k", "--provider huggingface"},
         "openai/gpt-oss-120b",
         "low|medium|high",
         BACK_CALLS},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct config c;
        struct endpoint e;
        choose(i, &cases[i].given, &c, &e);
        const struct model_facts f = endpoint_facts(&c, &e, e.model ? e.model : "");
        if (!same(e.model, cases[i].model) || !same(f.efforts, cases[i].efforts)
            || f.reasoning_back != cases[i].back)
            fail_msg("case %zu: %s, efforts %s, back %d", i, e.model ? e.model : "-",
                     f.efforts ? f.efforts : "-", (int)f.reasoning_back);
        endpoint_release(&e);
        config_release(&c);
    }
}

/* What the user says of whatever model is asked goes before its profile. */
static void users_word_about_a_model(void **state)
{
    static const char yaml[] =
        "models:\n  m*: {dialect: blocks, context: 1000, temperature: 0.5, vision: true, reasoning: false}\n";
    static const struct {
        struct given given;
        struct model_facts want;
    } cases[] = {
        {{yaml, NULL, NULL, "--base-url https://x.example/v1 -m m1"},
         {.dialect = DIALECT_BLOCKS,
          .context = 1000,
          .temperature = 0.5,
          .vision = true,
          .no_reasoning = true}},
        {{yaml, NULL, NULL,
          "--base-url https://x.example/v1 -m m1 --dialect native --context 2000 --temperature 0 --vision "
          "off"},
         {.dialect = DIALECT_NATIVE, .context = 2000, .temperature = 0, .no_reasoning = true}},
        {{yaml, NULL, NULL, "--base-url https://x.example/v1 -m other --dialect auto --vision on"},
         {.dialect = DIALECT_AUTO, .temperature = -1, .vision = true}},
        {{NULL, NULL, NULL, "--provider ollama -m other"}, {.temperature = -1, .price.known = true}},
        {{"models:\n  o*: {price: [1, 2]}\n", NULL, NULL, "--provider ollama -m other"},
         {.temperature = -1, .price = {true, 1, 1, 2}}},
    };

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        const struct model_facts *want = &cases[i].want;
        struct config c;
        struct endpoint e;

        choose(i, &cases[i].given, &c, &e);
        const struct model_facts f = endpoint_facts(&c, &e, e.model);
        if (f.dialect != want->dialect || f.context != want->context || f.temperature != want->temperature
            || f.vision != want->vision || f.no_reasoning != want->no_reasoning
            || f.price.known != want->price.known || f.price.input != want->price.input
            || f.price.cached != want->price.cached || f.price.output != want->price.output)
            fail_msg("case %zu: dialect %d, context %d, temperature %g, vision %d, no reasoning %d, price %d "
                     "%g %g",
                     i, (int)f.dialect, f.context, f.temperature, f.vision, f.no_reasoning, f.price.known,
                     f.price.input, f.price.output);
        endpoint_release(&e);
        config_release(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_api),
        cmocka_unit_test(elsewhere),
        cmocka_unit_test(users_word_about_a_model),
        cmocka_unit_test(choices),
        cmocka_unit_test(keys_stay_with_their_urls),
        cmocka_unit_test(rule),
        cmocka_unit_test(refusals),
        cmocka_unit_test(insecure_where_allowed),
        cmocka_unit_test(dotenv_is_told),
        cmocka_unit_test(a_folder_is_asked_about_once),
        cmocka_unit_test(key_from_a_command),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
