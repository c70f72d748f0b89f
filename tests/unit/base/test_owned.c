/* test_owned.c - rows of several clients: each client finds, counts and loses only its own. */
#include "tests/unit/unit.h"

#include "base/mem.h"
#include "base/owned.h"

struct thing {
    struct owned_row row;
    char name;
    int64_t age;
};

static struct thing *thing_at(const struct owned_row *row)
{
    return (struct thing *)(uintptr_t)row;
}

static bool is_called(const struct owned_row *row, const void *name)
{
    return thing_at(row)->name == *(const char *)name;
}

static int64_t age(const struct owned_row *row)
{
    return thing_at(row)->age;
}

static void write_name(void *ctx, struct owned_row *row)
{
    char *text = ctx;

    text[strlen(text)] = thing_at(row)->name;
}

static void each_client_has_its_own(void **state)
{
    (void)state;
    struct thing all[] = {{.name = 'x', .age = 3},
                          {.name = 'y', .age = 2},
                          {.name = 'x', .age = 1},
                          {.name = 'z', .age = OWNED_STAYS}};
    static const char *const clients[] = {"a", "a", "b", "a"};
    struct owned t = {0};
    char text[8] = "";

    for (size_t i = 0; i < countof(all); i++)
        owned_add(&t, clients[i], &all[i].row);
    assert_int_equal(t.n, 4);
    assert_int_equal(owned_count(&t, "a"), 3);
    assert_int_equal(owned_count(&t, "b"), 1);
    assert_int_equal(owned_count(&t, "c"), 0);
    assert_ptr_equal(owned_find(&t, "a", is_called, "x"), &all[0].row);
    assert_ptr_equal(owned_find(&t, "b", is_called, "x"), &all[2].row);
    assert_null(owned_find(&t, "b", is_called, "y"));
    assert_null(owned_find(&t, "c", is_called, "x"));
    assert_string_equal(owned_by(&all[2].row), "b");
    assert_ptr_equal(owned_oldest(&t, "a", age), &all[1].row);
    owned_each(&t, "a", write_name, text);
    owned_each(&t, "c", write_name, text);
    assert_string_equal(text, "xyz");
    owned_take(&t, &all[1].row);
    assert_ptr_equal(owned_oldest(&t, "a", age), &all[0].row);
    owned_take(&t, &all[0].row);
    assert_null(owned_oldest(&t, "a", age)); /* what is left stays */
    owned_take(&t, &all[3].row);
    assert_int_equal(owned_count(&t, "a"), 0);
    owned_add(&t, "a", &all[3].row); /* a client may come back */
    memset(text, 0, sizeof text);
    owned_each_of_all(&t, write_name, text);
    assert_true(strlen(text) == 2 && strchr(text, 'x') && strchr(text, 'z'));
    assert_ptr_equal(owned_find_of_all(&t, is_called, "x"), &all[2].row);
    owned_take(&t, &all[2].row);
    owned_take(&t, &all[3].row);
    assert_int_equal(t.n, 0);
    owned_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_client_has_its_own)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
