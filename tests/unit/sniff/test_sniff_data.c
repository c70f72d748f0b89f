/* test_sniff_data.c - what is data where questions should be, and, more important, what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sniff/sniff.h"

static const char *const questions[] = {
    "",
    "\n",
    "How many primes are there below 1,000,000?\n",
    "How many days, hours and minutes are left?\nWhat is the mean, the median, and the mode?\n",
    /* one comma each, no question mark */
    "Hello, how are you\nPlease, tell me the time\nAdd 3, then 4\n",
    "Add 1,2\nAdd 3,4\nAdd 5,6\n",
    "Sort 3,1,2\nSort 9,8,7\n",
    "Sort 3,1,2\nSort 9,8,7\nSort 5,6,4\nSort 1,1,0\nSort 4,4,2\n",
    "What is 1,000 times 3\nWhat is 2,000 times 4\nWhat is 3,500 times 5\n",
    "max(3,4)\nmax(5,6)\nmax(7,8)\n",
    "print(1,2)\nprint(3,4)\nprint(5,6)\n",
    "x = [1,2]\ny = [3,4]\nprint(x,y)\n",
    "def f(a,b):\n    return a,b\n\nprint(f(1,2))\n",
    "int a;\nint b;\nint c;\n",
    "for (i = 0; i < 3; i++)\nfor (j = 0; j < 3; j++)\n",
    "Berlin, Germany\nParis, France\nRome, Italy\n",
    "Population of Oslo, 2020\nPopulation of Rome, 2021\nPopulation of Bonn, 2022\n",
    "GDP of France,2020\nGDP of Spain,2021\nGDP of Italy,2022\n",
    "sum of 3,4\nproduct of 5,6\nratio of 7,8\n",
    "Wie viele Einwohner hat Berlin, und wie viele Paris?\nNenne drei Fl\xc3\xbcsse, sortiert.\n",
    "Nenne drei St\xc3\xa4"
    "dte; sortiere sie\nNenne drei Fl\xc3\xbcsse; sortiere sie\n",
    /* a decimal comma each */
    "Was ist 3,5 mal 2\nWas ist 4,5 mal 2\nWas ist 5,5 mal 2\n",
    "Hallo,wie geht es dir\nSag mir,was das ist\nSchreib,was du willst\n",
    "Guten Tag,Welt\nGuten Abend,Welt\nGute Nacht,Welt\n",
    "- Buy milk, eggs\n- Sell cars, boats\n- Make a plan, quickly\n",
    "* one, two\n* three, four\n* five, six\n",
    "1. Primes, below 10\n2. Squares, below 20\n3. Cubes, below 30\n",
    "1.\tHow many primes\n2.\tHow many squares\n3.\tHow many cubes\n",
    "1)\tprimes\n2)\tsquares\n3)\tcubes\n",
    "a) first, second\nb) third, fourth\nc) fifth, sixth\n",
    "Q1: mean, median\nQ2: mode, range\nQ3: sum, product\n",
    "1,How many primes below 10?\n2,How many below 20?\n3,How many below 30?\n",
    "\tfoo\n\tbar\n\tbaz\n",
    "\t\tfoo\n\t\tbar\n\t\tbaz\n",
    "cat x | grep y\ncat z | grep w\ncat a | grep b\n",
    "a | b\nc | d\n",
    "one\ntwo\nthree\n",
    "1+1\n2+2\n3*3\n",
    "10-3\n6/2\n2^8\n",
    "0?\n1?\n2?\n",
    "set x to 21\ndouble x\n",
    "Pick a number\n7\n8\n9\n",
    "[1] How many primes?\n[2] How many squares?\n",
    "[1, 2, 3] what is the sum?\n[4, 5, 6] and of this?\n",
    "[3, 1, 2]\nSort the list above.\n",
    "{broken\n",
    "[section]\nkey=1\n",
    "{x | x > 3} is which set?\n",
    "# a comment, with a comma\nWhat is this, then?\n# another, too\nAnd that, then?\n",
    /* a block holds data for its question */
    "\"\"\"\na,b\n1,2\n3,4\n\"\"\"\nWhat is the sum of column a?\n",
    "What is the sum of column a?\n\"\"\"\na,b\n1,2\n\"\"\"\n",
    "He said \"one, two\"\nShe said \"three, four\"\nThey said \"five, six\"\n",
    "\"Yes, no\" is what?\n\"No, yes\" is what?\n",
    "\xe4\xbd\xa0\xe5\xa5\xbd,"
    "\xe8\xaf\xb7\xe9\x97\xae\xe5\x8c\x97\xe4\xba\xac\xe5\x9c\xa8\xe5\x93\xaa\xe9\x87\x8c\n"
    "\xe8\xaf\xb7\xe8\xae\xa1\xe7\xae\x97,"
    "\xe4\xb8\x80\xe5\x8a\xa0\xe4\xb8\x80\xe6\x98\xaf\xe5\xa4\x9a\xe5\xb0\x91\n"
    "\xe8\xaf\xb7\xe9\x97\xae,\xe7\x8e\xb0\xe5\x9c\xa8\xe5\x87\xa0\xe7\x82\xb9\xe4\xba\x86\n",
    /* a line alone tells nothing */
    "day,amount\n",
    "a,b\nc,d\n",
    "How far is it from Rome, Italy to Bonn, Germany\nHow far is it from Oslo, Norway to Bern, Switzerland\n",
    "Convert 5 km, 3 miles\nConvert 6 km, 4 miles\nConvert 7 km, 5 miles\n",
    "Say \xe2\x82\xac 5,00\nSay \xe2\x82\xac 6,00\nSay \xe2\x82\xac 7,00\n",
    "Plot x, y\nPlot a, b\nPlot c, d\n",
    "yes, please\nno, thanks\nok, then\n",
    "Primes below 10; then below 20\nPrimes below 30; then below 40\n",
    "What is <html>?\n",
    "Solve x,y for 2x+y=3\nSolve a,b for 2a+b=3\n",
    "Compare 1,5 and 2,5\nCompare 3,5 and 4,5\n",
    "Is 7 prime, yes or no\nIs 8 prime, yes or no\nIs 9 prime, yes or no\n",
};

static const struct {
    const char *text, *name;
} data[] = {
    {"day,amount\n2024-01-01,5\n", "CSV"},
    {"a,b\n1,2\n", "CSV"},
    {"1,2\n3,4\n", "CSV"},
    {"x, y\n1, 2\n3, 4\n", "CSV"},
    {"name, age, city\nAnn, 31, Oslo\nBob, 27, Rome\n", "CSV"},
    {"name,city\nAnn,Oslo\nBob,Rome\nEve,Bonn\n", "CSV"},
    {"country,capital\nFrance,Paris\nUnited States,Washington\nItaly,Rome\n", "CSV"},
    {"first,last,city\nAnn,Lee,New York\nBob,Ray,Los Angeles\n", "CSV"},
    {"Datum;Betrag\n01.03.2024;4,50\n02.03.2024;12,00\n", "CSV"},
    {"Name;Ort;Preis\nAnna;K\xc3\xb6ln;\xe2\x82\xac 3,50\nBerta;Bonn;\xe2\x82\xac 4,10\n", "CSV"},
    {"\xef\xbb\xbf"
     "id,name\r\n1,Ann\r\n2,Bob\r\n",
     "CSV"},
    {"id,comment,score\n1,The food was really very good,5\n2,Not good at all for me,1\n3,,2\n", "CSV"},
    {"Timestamp,How old are you?,What is your name?\n2024/01/01 10:00,34,Ann\n2024/01/02 11:30,27,Bob\n",
     "CSV"},
    {"\"name\",\"amount\"\n\"Lee, Ann\",3\n\"Ray, Bob\",4\n", "CSV"},
    {"id,text\n1,\"two\nlines, here\"\n2,\"one\"\n", "CSV"},
    {"a|b|c\n1|2|3\n4|5|6\n", "CSV"},
    {"# made today\na,b\n\n1,2\n3,4\n", "CSV"},
    {"Sales of the year, all shops\n\nday,shop,amount\n1,a,5\n2,b,6\n3,a,7\n4,b,8\n5,a,9\n", "CSV"},
    {"New York,3\nBoston,4\nChicago,5\n", "CSV"},
    {"country,2019,2020\nFrance,1,2\nItaly,3,4\n", "CSV"},
    {"2024-01-01 10:00,error,disk\n2024-01-01 10:05,warning,net\n", "CSV"},
    {"x,y\n1,NA\n2,3.5e-7\n,4\n", "CSV"},
    {"id\tname\n1\tAnn\n2\tBob\n", "tab-separated data"},
    {"id\tname\tnote\n1\tAnn Lee\tsaid that all is well\n2\tBob Ray\tsaid nothing of the kind\n",
     "tab-separated data"},
    {"| a | b |\n|---|---|\n| x | y |\n", "a table"},
    {"1\n2\n3\n", "a column of numbers"},
    {"value\n1.5\n-2.5\n3,000\n", "a column of numbers"},
    {"{\"a\": 1}", "JSON"},
    {"{\"a\": 1}\n{\"a\": 2}\n", "JSON"},
    {"{\n  \"a\": [\n    1\n  ]\n}\n", "JSON"},
    {"[{\"q\": \"How many?\"}]\n", "JSON"},
    {"[1, 2, 3]\n[4, 5, 6]\n", "JSON"},
    {"<?xml version=\"1.0\"?>\n<a/>\n", "XML"},
    {"\n<!DOCTYPE html>\n<html>\n", "HTML"},
    {"%PDF-1.4\n", "a PDF file"},
    {"PK\x03\x04....xl/workbook", "an Excel file"},
    {"PK\x03\x04....word/", "a ZIP archive"},
    {"\x89PNG\r\n\x1a\n", "a PNG image"},
    {"\x1f\x8b\x08", "gzip data"},
    {"SQLite format 3", "an SQLite database"},
};

static void test_questions(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(questions); i++) {
        const char *found = sniff_data(questions[i], strlen(questions[i]), true);

        if (found)
            fail_msg("taken for %s:\n%s", found, questions[i]);
    }
}

/* Nor are the first of them, as a slow writer sends them. */
static void test_beginnings_of_questions(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(questions); i++)
        for (const char *end = questions[i]; (end = strchr(end, '\n')) != NULL; end++) {
            autofree char *part = xmemdup0(questions[i], (size_t)(end + 1 - questions[i]));
            const char *found = strncmp(part, "[3, 1, 2]\n", 11) ? sniff_data(part, strlen(part), false)
                                                                 : NULL;

            if (found)
                fail_msg("taken for %s:\n%s", found, part);
        }
}

static void test_data(void **state)
{
    (void)state;
    for (size_t i = 0; i < countof(data); i++) {
        const char *found = sniff_data(data[i].text, strlen(data[i].text), true);

        if (!found || strcmp(found, data[i].name))
            fail_msg("%s instead of %s:\n%s", found ? found : "questions", data[i].name, data[i].text);
    }
    assert_string_equal(sniff_data("\x02\0\x01\x03\x04", 5, true), "binary data");
    assert_null(sniff_data("a question with a \0 in it\n", 26, true));
}

/* Of something large the beginning is enough. */
static void test_beginnings_of_data(void **state)
{
    static const char *const begin[] = {"{\"a\": [1, 2, ",      "[\n",          "[{\"a\": \"b",
                                        "{\"a\": 1}\n{\"a\": ", "a,b\n1,2\n3,", "{\"a\": 1}\n"};

    (void)state;
    for (size_t i = 0; i < countof(begin); i++)
        if (!sniff_data(begin[i], strlen(begin[i]), false))
            fail_msg("taken for questions: %s", begin[i]);
    assert_null(sniff_data("a,b\n1,", 6, false));
    assert_null(sniff_data("What is this, then\nTell me", 26, false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_questions),
        cmocka_unit_test(test_beginnings_of_questions),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_beginnings_of_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
