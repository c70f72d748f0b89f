/* test_args.c - the command line: words, options, and what each mistake is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include "tests/unit/unit.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "conversation/conversation.h"
#include "config/args.h"
#include "config/option.h"

/* "a|b c" is two words; empty text is none. */
static int parse(struct args *a, const char *line, struct error *err)
{
    static char text[512];
    static char *argv[32];
    static char program[] = "sandpiper";
    int n = 1;

    snprintf(text, sizeof text, "%s", line);

    argv[0] = program;
    for (char *p = text; *line; p = strchr(p, '|') + 1) {
        argv[n++] = p;
        if (!strchr(p, '|'))
            break;
    }
    for (int i = 1; i < n; i++)
        argv[i][strcspn(argv[i], "|")] = '\0';
    argv[n] = NULL;
    return args_parse(a, n, argv, err);
}

static void words(void **state)
{
    static const struct {
        const char *line;
        enum command command;
        const char *operand;
        bool is_stdin;
    } good[] = {
        {"", COMMAND_ASK, NULL, false},
        {"how many?", COMMAND_ASK, "how many?", false},
        {"-", COMMAND_ASK, "-", true},
        {"--|-", COMMAND_ASK, "-", false},
        {"exec", COMMAND_EXEC, NULL, false},
        {"exec|-", COMMAND_EXEC, "-", true},
        {"exec|x.py", COMMAND_EXEC, "x.py", false},
        {"-q|exec|x.py|-v", COMMAND_EXEC, "x.py", false},
        {"--model|exec|hello", COMMAND_ASK, "hello", false},
        {"exec|x.py|-Z|--|y", COMMAND_EXEC, "x.py", false},
        {"exec|-|--help", COMMAND_EXEC, "-", true},
        {"exec|-cprint(1)|-", COMMAND_EXEC, NULL, false},
        {"exec|-c|print(1)|x.py", COMMAND_EXEC, NULL, false},
        {"-c", COMMAND_ASK, NULL, false},
        {"-c|and now?", COMMAND_ASK, "and now?", false},
        {"-r|ab12|and now?", COMMAND_ASK, "and now?", false},
        {"sessions", COMMAND_SESSIONS, NULL, false},
        {"sessions|show|ab12", COMMAND_SESSIONS, NULL, false},
        {"sessions|export|ab12|-o|x.md", COMMAND_SESSIONS, NULL, false},
        {"--stdin|script", COMMAND_ASK, NULL, false},
        {"config", COMMAND_CONFIG, NULL, false},
        {"doctor|--sandbox|bwrap", COMMAND_DOCTOR, NULL, false},
        {"gc", COMMAND_GC, NULL, false},
        {"mcp|--memory|2g", COMMAND_MCP, NULL, false},
        {"debug|reply", COMMAND_DEBUG_REPLY, NULL, false},
        {"debug|--status|429|reply", COMMAND_DEBUG_REPLY, NULL, false},
        {"debug|request|why?", COMMAND_DEBUG_REQUEST, "why?", false},
        {"--|debug", COMMAND_ASK, "debug", false},
        {"--|config", COMMAND_ASK, "config", false},
        {"--|doctor", COMMAND_ASK, "doctor", false},
        {"--|--help", COMMAND_ASK, "--help", false},
        {"-p|config", COMMAND_ASK, NULL, false},
        {"-pdoctor", COMMAND_ASK, NULL, false},
        {"-qvm|x|why?", COMMAND_ASK, "why?", false},
        {"hello", COMMAND_ASK, "hello", false}, /* two edits from help */
        {"-p|doctr", COMMAND_ASK, NULL, false},
        {"--|doctr", COMMAND_ASK, "doctr", false},
        {"docs", COMMAND_ASK, "docs", false},
        {"what", COMMAND_ASK, "what", false}, /* one letter from chat */
        {"chat", COMMAND_CHAT, NULL, false},
        {"--|version", COMMAND_ASK, "version", false},
    };

    (void)state;
    for (size_t i = 0; i < countof(good); i++) {
        struct args a;
        struct error err = {0};
        assert_int_equal(parse(&a, good[i].line, &err), 0);
        assert_int_equal(a.command, good[i].command);
        assert_int_equal(a.operand_is_stdin, good[i].is_stdin);
        if (good[i].operand)
            assert_string_equal(a.operand, good[i].operand);
        else
            assert_null(a.operand);
        args_release(&a);
    }
}

static void options(void **state)
{
    struct args a;
    struct error err = {0};

    (void)state;
    assert_int_equal(parse(&a, "-mx|--model=y|--model|z|--no-stream|-qv|--add|f|--add=g|--add=", &err), 0);
    assert_int_equal(a.n, 9);
    assert_string_equal(a.v[0].value, "x");
    assert_true(a.v[0].letter);
    assert_string_equal(a.v[1].value, "y");
    assert_string_equal(a.v[2].value, "z");
    assert_false(a.v[2].letter);
    assert_string_equal(a.v[3].option->flag, "no-stream");
    assert_null(a.v[3].value);
    assert_string_equal(a.v[8].value, "");
    args_release(&a);

    assert_int_equal(parse(&a, "rm|one|-q|--|-two", &err), 0);
    assert_int_equal(a.command, COMMAND_RM);
    assert_int_equal(a.names.n, 2);
    assert_string_equal(a.names.v[1], "-two");
    args_release(&a);
    assert_int_equal(parse(&a, "rm|--all", &err), 0);
    assert_int_equal(a.names.n, 0);
    args_release(&a);
    assert_int_equal(parse(&a, "ps|--json", &err), 0);
    assert_int_equal(a.command, COMMAND_PS);
    args_release(&a);

    assert_int_equal(parse(&a, "--version|--nonsense", &err), 0); /* what is behind it does not matter */
    assert_true(a.version);
    args_release(&a);
    assert_int_equal(parse(&a, "config|-h", &err), 0);
    assert_true(a.help);
    args_release(&a);
}

static void mistakes(void **state)
{
    static const struct {
        const char *line, *says;
    } bad[] = {
        {"--modle|x", "Did you mean --model?"},
        {"--time-out|3", "Did you mean --timeout?"},
        {"--sand|x", "Did you mean --sandbox?"},
        {"--effort|low|x", "Did you mean --reasoning-effort?"},
        {"--session|x", "-c continues the last session"},
        {"--sesion|x", "-c continues the last session"},
        {"--session=x", "sandpiper sessions lists them"},
        {"--sessions", "Did you mean sandpiper sessions, without dashes?"},
        {"--doctr", "Did you mean sandpiper doctor, without dashes?"},
        {"--interactiv", "A chat needs no option"},
        {"--engine|bwrap|x", "--sandbox docker, podman or bwrap"},
        {"--docker|x", "Did you mean --sandbox docker?"},
        {"--vison|x", "Did you mean --vision?"},
        {"--mission|x", "unknown option --mission\nsandpiper help all"},
        {"--zzzzzz", "unknown option --zzzzzz"},
        {"-x", "unknown option -x"},
        {"exec|--trace|f|b", "exec has no option --trace"},
        {"- a list: one, two", "Put -- before"},
        {"--model", "--model needs an argument: --model NAME"},
        {"-m", "-m needs an argument"},
        {"--quiet=yes", "--quiet takes no argument"},
        {"what|is|this", "put the whole question in quotes"},
        {"-p|one|two", "put one question in quotes"},
        {"-p|one|-p|two", "given twice"},
        {"exec|-p|b", "exec has no option -p"},
        {"exec|--max-time|5s|b", "exec has no option --max-time"},
        {"exec|--json|b", "exec has no option --json"},
        {"-r", "-r needs an argument"},
        {"-o|x", "--out DIR"},
        {"-f", "-f is an option of rm and sessions, not of a question"},
        {"-f|sales.csv|which month?", "Did you mean --add FILE?"},
        {"--output|x", "--out DIR saves files"},
        {"--api-key|x", "export OPENAI_API_KEY"},
        {"--older|30d|x", "is an option of sessions,"},
        {"exec|--continue", "exec has no option --continue"},
        {"sesions", "did you mean sessions"},
        {"sesion", "did you mean sessions"},
        {"versoin", "did you mean version"},
        {"Help", "did you mean help"},
        {"chat|x", "chat takes no arguments"},
        {"chat|-p|x", "chat takes no question"},
        {"version|of python", "version takes no arguments"},
        {"--interactive", "A chat needs no option: sandpiper"},
        {"--code=x|why?", "is an option of exec,"},
        {"exec|-c", "-c needs an argument"},
        {"exec|--stdin|script|x.py", "for questions"},
        {"exec|--stdin|data", "already the code"},
        {"--stdin|script|why?", "cannot be combined"},
        {"--stdin=script|-p|why?", "cannot be combined"},
        {"--stdin|script|-", "cannot be combined"},
        {"debug|request|--stdin|script|why?", "cannot be combined"},
        {"config|x", "edit config.yaml"},
        {"--dry-run|x", "is an option of exec,"},
        {"doctor|x", "doctor takes no arguments"},
        {"gc|x", "sandpiper -p \"gc"},
        {"gc|--json", "gc has no option --json"},
        {"mcp|x", "mcp takes no arguments"},
        {"mcp|--json", "mcp has no option --json"},
        {"ps|x", "ps takes no arguments"},
        {"ps|--all", "ps has no option --all"},
        {"rm", "rm needs the names"},
        {"rm|x|--all", "or --all"},
        {"rm|--json|x", "rm has no option --json"},
        {"--all|x", "is an option of config, packages and rm,"},
        {"debug", "reply or request"},
        {"debug|answer", "debug reply and debug request"},
        {"debug|reply|x", "from stdin"},
        {"debug|request", "needs a question"},
        {"--status|200|why?", "debug reply"},
        {"debug|request|--status|200|why?", "debug request has no option"},
        {"serve|x", "serve takes no arguments"},
        {"ps|--memory|2g", "ps has no option --memory"},
        {"--memory|2g|ps", "ps has no option --memory"},
        {"sessions|-m|x", "sessions has no option -m"},
        {"mcp|--temperature|1", "mcp has no option --temperature"},
        {"doctor|--with|x", "doctor has no option --with"},
        {"batch|--allow-packages|x", "batch has no option --allow-packages"},
        {"serve|-o", "serve has no option -o"},
        {"serve|--output", "serve has no option --output"},
        {"debug|reply|--model", "debug reply has no option --model"},
        {"ps|--ttl|1m", "ps has no option --ttl"},
        {"--ttl|1m|x", "is an option of bot and serve,"},
        {"serve|--tokens|x", "\n--token-file FILE"},
        {"serve|--host|x", "mean --listen IP:PORT?"},
        {"serve|--listn|x", "Did you mean --listen? sandpiper help serve lists"},
        {"serve|--jsn", "--jsn\nsandpiper help serve lists"},
        {"serve|--sessions", "--sessions\nsandpiper help serve lists"},
        {"serve|--interactive", "--interactive\nsandpiper help serve lists"},
        {"ps|--file", "--file\nsandpiper help ps lists"},
        {"ps|--jsn", "Did you mean --json?"},
        {"exec|-o|x", "Did you mean --out DIR?"},
        {"debug|reply|--stats", "Did you mean --status? sandpiper help debug lists"},
        {"--tokens|x", "Did you mean --max-tokens? sandpiper help all lists"},
        {"--listn|x|serve", "Did you mean --listen? It is an option of serve."},
        {"-p|", "the question is empty"},
        {" \n ", "the question is empty"},
        {"--\033[31mred", "unknown option --red"},
    };

    (void)state;
    for (size_t i = 0; i < countof(bad); i++) {
        struct args a;
        struct error err = {0};
        if (parse(&a, bad[i].line, &err) != -1)
            fail_msg("%s is accepted", bad[i].line);
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_int_equal(error_exit_code(&err), 2);
        if (!strstr(message_of(&err), bad[i].says))
            fail_msg("%s: expected \"%s\" in \"%s\"", bad[i].line, bad[i].says, message_of(&err));
        args_release(&a);
    }
}

static void long_question(void **state)
{
    char program[] = "sandpiper", *argv[] = {program, NULL, NULL};
    struct args a;
    struct error err = {0};

    (void)state;
    argv[1] = xmalloc(QUESTION_MAX + 2);
    memset(argv[1], 'x', QUESTION_MAX + 1);
    argv[1][QUESTION_MAX + 1] = '\0';
    assert_int_equal(args_parse(&a, 2, argv, &err), -1);
    assert_non_null(strstr(err.text, "1048577"));
    assert_non_null(strstr(err.text, "1048576"));
    args_release(&a);
    argv[1][QUESTION_MAX] = '\0';
    assert_int_equal(args_parse(&a, 2, argv, &err), 0);
    args_release(&a);
    free(argv[1]);
}

/* Rules that the whole table must keep. */
static void table(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        assert_true(o->flag || o->key || o->env);
        assert_non_null(o->help);
        assert_non_null(o->group);
        assert_true(!o->flag || o->commands != 0);
        assert_true(o->type != OPTION_CHOICE || o->choices);
        assert_true(o->type != OPTION_SECRET || !o->flag); /* argv can be read by everyone */
        assert_true(strlen(o->help) < 80);
        for (size_t k = 0; k < i; k++) {
            const struct option *p = &option_table[k];
            assert_true(!o->flag || !p->flag || strcmp(o->flag, p->flag) != 0);
            /* one letter may be two options, of different commands */
            assert_true(!o->letter || o->letter != p->letter || !(o->commands & p->commands));
            assert_true(!o->key || !p->key || strcmp(o->key, p->key) != 0);
            assert_true(!o->env || !p->env || strcmp(o->env, p->env) != 0);
            assert_true(o->offset != p->offset);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words), cmocka_unit_test(options),
                                       cmocka_unit_test(mistakes), cmocka_unit_test(long_question),
                                       cmocka_unit_test(table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
