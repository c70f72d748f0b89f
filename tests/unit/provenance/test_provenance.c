/* test_provenance.c - which numbers of an answer are said to come from nowhere. What matters most is that the
 * others are not. */
#include "tests/unit/unit.h"

#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "provenance/agree.h"
#include "provenance/numerals.h"
#include "provenance/provenance.h"

static void test_numerals(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        double first, second; /* second 0: one reading */
    } rows[] = {
        {"42", 2, 42, 0},
        {"42.", 2, 42, 0},
        {"1,234", 5, 1234, 1.234},
        {"1.234", 5, 1.234, 1234},
        {"1,234,567.8", 11, 1234567.8, 0},
        {"1.234.567,8", 11, 1234567.8, 0},
        {"12,5", 4, 12.5, 0},
        {"1 234 567", 9, 1234567, 0},
        {"1\xc2\xa0"
         "234",
         6, 1234, 0},
        {"1\xe2\x80\xaf"
         "234,5 kg",
         9, 1234.5, 0},
        {"1'234", 5, 1234, 0},
        {"1_000_000", 9, 1000000, 0},
        {"2024 100", 4, 2024, 0},
        {"12,34,567", 9, 1234567, 0},
        {"1{,}234", 7, 1234, 1.234},
        {"1,2,3", 1, 1, 0},
        {"3.11.2", 6, 0, 0},
        {"1e3", 3, 1000, 0},
        {"1.5e-3", 6, 0.0015, 0},
        {"1.5 x 10^-3", 11, 0.0015, 0},
        {"1.5 \\times 10^{6} m", 17, 1.5e6, 0},
        {"2\xc3\x97"
         "10\xe2\x81\xb6",
         8, 2e6, 0},
        {"2*10**3", 7, 2000, 0},
        {"2 x 3", 1, 2, 0},
        {"7 euros", 1, 7, 0},
    };
    struct numeral n;

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        size_t len = numeral_read(rows[i].text, &n);

        if (len != rows[i].len || n.n != (rows[i].first != 0) + (size_t)(rows[i].second != 0)
            || (n.n > 0 && n.as[0].value != rows[i].first) || (n.n > 1 && n.as[1].value != rows[i].second))
            fail_msg("%s: %zu bytes, %zu readings, %.9g, %.9g", rows[i].text, len, n.n, n.as[0].value,
                     n.as[1].value);
    }
}

static void test_provenance(void **state)
{
    static const struct {
        const char *answer, *source, *unsupported;
    } rows[] = {
        /* what comes from nowhere */
        {"The mean is 42.1.", "41.97\n", "42.1"},
        {"It is 4,321 and 77.5.", "4321", "77.5"},
        {"17 and 18 and 17", "16", "17 18"},
        {"EUR 1.234,56", "1234.57", "1.234,56"},
        {"It takes 350 days.", "3.14", "350"},
        {"About 3.15.", "3.14159265", "3.15"},
        {"\xe2\x82\xac"
         "99",
         "1", "99"},
        /* rounding, cutting, grouping */
        {"About 3.14.", "3.14159265", ""},
        {"About 3.1415.", "3.14159265", ""},
        {"Roughly 12,300 people", "12345", ""},
        {"1.234.567,8", "1234567.8", ""},
        {"1\xe2\x80\xaf"
         "234 567",
         "1234567", ""},
        {"12,5 kg", "12.5", ""},
        {"100,200,300", "[100,200,300]", ""},
        {"200 of them", "[100,200,300]", ""},
        {"It is -42.", "-42", ""},
        {"6.02 x 10^23", "6.02214e+23", ""},
        /* units */
        {"42.1%", "0.421", ""},
        {"0.421", "42.1 percent", ""},
        {"1.23 million", "1234567", ""},
        {"4.2 km", "4200", ""},
        {"2.5 hours", "150", ""},
        {"3.5 kB", "3584", ""},
        /* what is no result */
        {"1. first\n2. second\n13. thirteenth\n  14) x", "", ""},
        {"In 2019 and 1848, on January 17, 2024 and 17 March", "", ""},
        {"on 2024-03-15, 15.03.2024, 3/15/24 at 23:59:58", "", ""},
        {"the 21st and the 500th", "", ""},
        {"3 of 12, per 100, of 1,000,000", "", ""},
        {"`x = 57` and ``57`` and\n```python\nprint(57)\n```\n", "", ""},
        {"x57, H2O, /mnt/data/plot_57.png, utf-16, sha256, Python 3.11.2", "", ""},
        {"![plot](/mnt/data/57.png) and [here](57)", "", ""},
        {"57 is the answer", "what is 50 + 7? 57", ""},
        {"", "", ""},
        {"no number", "1", ""},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++) {
        struct provenance p = {0};
        struct buf got autorelease(buf_release) = BUF_INIT(0);

        provenance_source(&p, rows[i].source);
        provenance_check(&p, rows[i].answer);
        for (size_t k = 0; k < p.unsupported.n; k++)
            buf_addf(&got, "%s%s", k ? " " : "", p.unsupported.v[k]);
        if (strcmp(buf_str(&got), rows[i].unsupported) != 0)
            fail_msg("\"%s\" from \"%s\": %s", rows[i].answer, rows[i].source, buf_str(&got));
        provenance_release(&p);
    }
}

/* Too many numbers to judge by: nothing is said. And a long answer from nowhere is bounded. */
static void test_bounds(void **state)
{
    struct buf many autorelease(buf_release) = BUF_INIT(0);
    struct provenance p = {0};

    (void)state;
    for (int i = 0; i < 120000; i++)
        buf_addf(&many, "%d.5 ", i);
    provenance_check(&p, buf_str(&many));
    assert_int_equal(p.unsupported.n, PROVENANCE_MAX);
    provenance_release(&p);
    p = (struct provenance){0};
    provenance_source(&p, buf_str(&many));
    provenance_check(&p, "It is 999999.25.");
    assert_int_equal(p.unsupported.n, 0);
    provenance_release(&p);
}

/* question, two answers, what they come to */
static void test_agree(void **state)
{
    static const struct {
        const char *question, *first, *second;
        enum verified want;
        const char *differ; /* a number of each */
    } rows[] = {
        {"", "It is 42.", "42", VERIFIED_AGREES, NULL},
        {"", "It is 42.", "41", VERIFIED_DISAGREES, "42 41"},
        {"", "3.14", "3.14159", VERIFIED_AGREES, NULL},
        {"", "3.15", "3.14159", VERIFIED_DISAGREES, "3.15 3.14159"},
        {"", "12.5%", "0.125", VERIFIED_AGREES, NULL},
        {"", "1,234.5 euros", "1.234,50 EUR", VERIFIED_AGREES, NULL},
        {"", "between 3 and 7", "7 at most, 3 at least, 5 on average", VERIFIED_AGREES, NULL},
        {"", "between 3 and 7", "between 3 and 8", VERIFIED_DISAGREES, "7 8"},
        {"of 60 books", "Of the 60 books, 15 are left.", "15", VERIFIED_AGREES, NULL},
        {"of 60 books", "Of the 60 books, 15 are left.", "Of 60, 16", VERIFIED_DISAGREES, "15 16"},
        {"60 or 70?", "60", "70", VERIFIED_DISAGREES, "60 70"},
        {"60 or 70?", "The larger, 70", "70, the larger one", VERIFIED_AGREES, NULL},
        {"60 or 70?", "60", "65", VERIFIED_DISAGREES, "60 65"},
        {"", "Yes, it is prime.", "Yes.", VERIFIED_AGREES, NULL},
        {"", "Yes, it is prime.", "No, 7 divides it.", VERIFIED_DISAGREES, NULL},
        {"", "Paris", "It is **Paris**.", VERIFIED_AGREES, NULL},
        {"", "Paris", "It is London.", VERIFIED_UNCLEAR, NULL},
        {"", "The file is sorted.", "Done, it was sorted by name.", VERIFIED_UNCLEAR, NULL},
        {"", "There are 577.", "I could not compute it.", VERIFIED_UNCLEAR, NULL},
        {"", "The words of this are many and they differ", "so do these words which nobody can compare",
         VERIFIED_UNCLEAR, NULL},
        {"", "42", "", VERIFIED_UNCLEAR, NULL},
    };

    (void)state;
    for (size_t i = 0; i < countof(rows); i++)
        for (int turned = 0; turned < 2; turned++) {
            const char *a = turned ? rows[i].second : rows[i].first,
                       *b = turned ? rows[i].first : rows[i].second;

            struct differing d autorelease(differing_release) = {0};

            if (answers_agree(rows[i].question, a, b, &d) != rows[i].want)
                fail_msg("%s: \"%s\" and \"%s\"", rows[i].question, a, b);
            autofree char *both = d.first ? xasprintf("%s %s", turned ? d.second : d.first,
                                                      turned ? d.first : d.second)
                                          : xstrdup("");
            assert_string_equal(both, rows[i].differ ? rows[i].differ : "");
        }
}

/* A model that repeats itself to the end of its reply. */
static void test_hostile_text_costs_a_few_passes(void **state)
{
    static const char *const cases[] = {"13;",         "13,", "13", "`13", "]13",
                                        "13|\xc3\xa9", "#",   "1.", "a-",  "31 jan"};

    (void)state;
    for (size_t i = 0; i < countof(cases); i++) {
        struct provenance p = {0};
        struct buf b = BUF_INIT(0);
        while (b.len < 128u << 10)
            buf_addstr(&b, cases[i]);
        clock_t start = clock(); /* of this process, whatever else the machine does */
        provenance_source(&p, "1");
        provenance_check(&p, b.data);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        if (seconds > 5)
            fail_msg("%.1f s for 128 KiB of %s", seconds, cases[i]);
        provenance_release(&p);
        buf_release(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numerals),
        cmocka_unit_test(test_provenance),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_hostile_text_costs_a_few_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
