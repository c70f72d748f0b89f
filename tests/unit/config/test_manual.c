/* test_manual.c - the manual pages in docs/ and --help say what the option table says, no more and no less.
 * Runs in the top folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "config/config.h"

/* Each option has one item that tells all of it, in the first of these pages that has it. */
static const char *const pages[] = {"docs/sandpiper-config.5", "docs/sandpiper-serve.1",
                                    "docs/sandpiper-commands.1", "docs/sandpiper-events.5",
                                    "docs/sandpiper.1"};
static struct buf page = BUF_INIT(1 << 20), help = BUF_INIT(0); /* page: all of them, one behind the other */

/* word with nothing behind it that would make it another word. */
static const char *find_word(const char *text, const char *word)
{
    size_t len = strlen(word);

    for (const char *p = text; (p = strstr(p, word)) != NULL; p++)
        if (!isalnum((unsigned char)p[len]) && p[len] != '-' && p[len] != '_')
            return p;
    return NULL;
}

/* The item of an option: from its ".It" to the next. */
static char *item_of(const struct option *o)
{
    autofree char *mark = o->flag ? xasprintf("Fl -%s", o->flag) : xasprintf(".It Li %s", o->key);
    const char *end;

    for (const char *p = strstr(buf_str(&page), "\n.It "); p; p = strstr(p + 1, "\n.It ")) {
        autofree char *head = xmemdup0(p + 1, strcspn(p + 1, "\n"));
        if (!find_word(head, mark))
            continue;
        end = strstr(p + 1, "\n.It ");
        return xmemdup0(p, end ? (size_t)(end - p) : strlen(p));
    }
    return NULL;
}

static void every_option_is_in_a_page(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        autofree char *item = item_of(o);

        if (!item)
            fail_msg("no page has an item for %s", o->flag ? o->flag : o->key);
        if (o->letter) {
            autofree char *letter = xasprintf("Fl %c ,", o->letter);
            assert_non_null(strstr(item, letter));
        }
        if (o->arg) {
            autofree char *arg = xasprintf("Ar %s", o->arg);
            if (!find_word(item, arg))
                fail_msg("--%s: no argument %s in the page", o->flag, o->arg);
        }
        if (o->key && !find_word(item, o->key))
            fail_msg("%s: the key is not in its item", o->key);
        if (o->env && !find_word(item, o->env))
            fail_msg("%s is not in its item", o->env);
        if (o->def && o->type != OPTION_BOOL) {
            autofree char *def = xasprintf("default: %s", o->def);
            if (!strstr(item, def))
                fail_msg("%s: the default %s is not in its item", o->key, o->def);
        }
        for (const char *c = o->choices; c; c = strchr(c, '|') ? strchr(c, '|') + 1 : NULL) {
            autofree char *choice = xmemdup0(c, strcspn(c, "|"));
            if (!find_word(item, choice))
                fail_msg("--%s: %s is not in its item", o->flag, choice);
        }
    }
}

static void every_flag_of_the_pages_is_in_the_table(void **state)
{
    (void)state;
    for (const char *p = buf_str(&page); (p = strstr(p, "Fl -")) != NULL; p += 4) {
        size_t len = strspn(p + 4, "abcdefghijklmnopqrstuvwxyz-");
        if (len && !option_by_flag(p + 4, len))
            fail_msg("a page has --%.*s, the table has not", (int)len, p + 4);
    }
    for (const char *p = buf_str(&page); (p = strstr(p, "SANDPIPER_")) != NULL; p++) {
        autofree char *name = xmemdup0(p, strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"));
        if (!option_by_env(name))
            fail_msg("a page has %s, the table has not", name);
    }
}

/* The option's argument and help stand behind its flag, wherever the lines are broken. */
static bool same_words(const char *at, const struct option *o)
{
    autofree char *want = xasprintf("%s %s", o->arg ? o->arg : "", o->help);

    for (const char *w = want; *w; w++) {
        if (*w == ' ')
            continue;
        at += strspn(at, " \n");
        if (*at++ != *w)
            return false;
    }
    return true;
}

static void help_lists_every_flag(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *o = &option_table[i];
        autofree char *flag = xasprintf("%s--%s", o->letter ? ", " : "      ", o->flag ? o->flag : "");

        if (!o->flag)
            continue;
        const char *at = find_word(buf_str(&help), flag);
        if (!at)
            fail_msg("--help has no %s", flag);
        if (!same_words(at + strlen(flag), o))
            fail_msg("--help says something else of %s", flag);
    }
}

/* "sandpiper config" shows what any setting would change. */
static void config_takes_every_setting(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++)
        if (option_table[i].flag && option_table[i].key && !(option_table[i].commands & FOR_CONFIG))
            fail_msg("config does not take --%s", option_table[i].flag);
}

/* Each page fits a terminal of 80 columns; each flag in it is one that the command takes; the first screen is
 * one. */
static void pages_of_help(void **state)
{
    static const struct {
        const char *topic;
        int here;
        size_t most;
    } rows[] = {
        {NULL, FOR_ASK, 40},
        {"all", -1, 210},
        {"exec", FOR_EXEC, 64},
        {"config", FOR_CONFIG_PAGE, 24},
        {"doctor", FOR_DOCTOR, 70},
        {"gc", FOR_GC, 16},
        {"help", FOR_NONE, 29},
        {"chat", FOR_NONE, 12},
        {"version", FOR_NONE, 8},
        {"mcp", FOR_MCP, 52},
        {"debug", FOR_REPLY, 24},
        {"models", FOR_MODELS, 32},
        {"sessions", FOR_SESSIONS, 36},
        {"batch", FOR_BATCH, 104},
        {"bot", FOR_BOT, 104},
        {"serve", FOR_SERVE, 106},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct buf page_of = BUF_INIT(0);
        size_t lines = 0;

        assert_true(!rows[i].topic || help_find(rows[i].topic) != NULL);
        option_help(&page_of, rows[i].topic);
        for (const char *p = buf_str(&page_of); *p; p += strcspn(p, "\n") + 1, lines++) {
            bool item = strncmp(p, "      --", 8) == 0
                        || (strncmp(p, "  -", 3) == 0 && strncmp(p + 4, ", --", 4) == 0);

            if (strcspn(p, "\n") > 79)
                fail_msg("too wide in %s: %.*s", rows[i].topic ? rows[i].topic : "the first screen",
                         (int)strcspn(p, "\n"), p);
            if (item) {
                const struct option *o = option_by_flag(p + 8, strspn(p + 8, "abcdefghijklmnopqrstuvwxyz-"));
                assert_non_null(o);
                assert_true(o->commands & rows[i].here);
            }
        }
        assert_in_range(lines, 5, rows[i].most);
        buf_release(&page_of);
    }
    assert_null(help_find("srve"));
}

static void every_provider_is_in_a_page(void **state)
{
    struct providers p = {0};

    (void)state;
    assert_int_equal(providers_builtin(&p, NULL), 0);
    for (size_t i = 0; i < p.n; i++) {
        autofree char *item = xasprintf(".It %s Ta", p.v[i].name);
        if (!strstr(buf_str(&page), item))
            fail_msg("no page has the provider %s", p.v[i].name);
        if (p.v[i].key_variable[0] && !find_word(buf_str(&page), p.v[i].key_variable[0]))
            fail_msg("no page has %s", p.v[i].key_variable[0]);
    }
    providers_release(&p);
}

static int enter(void **state)
{
    struct error err = {0};

    (void)state;
    for (size_t i = 0; i < countof(pages); i++)
        if (file_read(pages[i], 1 << 20, &page, &err) < 0)
            fprintf(stderr, "%s\n", err.text);
    option_help(&help, "all");
    return page.len ? 0 : -1;
}

static int leave(void **state)
{
    (void)state;
    buf_release(&page);
    buf_release(&help);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_is_in_a_page),
        cmocka_unit_test(every_flag_of_the_pages_is_in_the_table),
        cmocka_unit_test(help_lists_every_flag),
        cmocka_unit_test(config_takes_every_setting),
        cmocka_unit_test(pages_of_help),
        cmocka_unit_test(every_provider_is_in_a_page),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
