/* array_test.c - claims about arrays that grow. */
#include "base/array.h"
#include "test.h"

#include <malloc.h>

struct row {
    const char *name;
    int value;
};

static void what_was_added_stands_in_its_order(void **state)
{
    AUTO_FREE struct row *v = NULL;
    uint32_t n = 0;

    (void)state;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ARRAY_ADD(v, n, (struct row){ "x", i }), 0);
    assert_int_equal(n, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(v[i].value, i);
}

static void there_is_room_for_one_more_at_every_count(void **state)
{
    AUTO_FREE struct row *v = NULL;

    (void)state;
    for (size_t n = 0; n < 300; n++) {
        assert_int_equal(ARRAY_ROOM(v, n), 0);
        assert_true(malloc_usable_size(v) >= (n + 1) * sizeof(*v));
    }
}

static void elements_may_be_taken_out_and_added_again(void **state)
{
    AUTO_FREE int *v = NULL;
    size_t n = 0;
    int next = 0;

    (void)state;
    for (size_t most = 1; most < 70; most++) {
        while (n < most) {
            assert_int_equal(ARRAY_ADD(v, n, next), 0);
            assert_true(malloc_usable_size(v) >= n * sizeof(*v));
            assert_int_equal(v[n - 1], next++);
        }
        n /= 3;
    }
}

static void a_value_goes_in_where_it_belongs(void **state)
{
    static const int sorted[] = { 1, 2, 3, 5, 8 }, come[] = { 5, 1, 8, 3, 2 };
    AUTO_FREE int *v = NULL;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(come); i++) {
        size_t at = 0;

        while (at < n && v[at] < come[i])
            at++;
        assert_int_equal(ARRAY_INSERT(v, n, at, come[i]), 0);
    }
    assert_int_equal(n, COUNT_OF(sorted));
    assert_memory_equal(v, sorted, sizeof(sorted));
}

static void an_array_with_a_capacity_fits_what_is_asked_for(void **state)
{
    AUTO_FREE int *v = NULL;
    uint32_t cap = 0;

    (void)state;
    assert_int_equal(ARRAY_FIT(v, cap, 0), 0);
    assert_non_null(v);
    assert_int_equal(ARRAY_FIT(v, cap, 5), 0);
    assert_int_equal(cap, 8);
    v[7] = 7;
    assert_int_equal(ARRAY_FIT(v, cap, 3), 0);
    assert_int_equal(cap, 8);
    cap = 6; /* as somebody else has made it */
    assert_int_equal(ARRAY_FIT(v, cap, 7), 0);
    assert_int_equal(cap, 12);
}

/* More bytes than there are: the product does not wrap around. */
static void without_memory_all_stays_as_it_was(void **state)
{
    AUTO_FREE struct row *v = NULL;
    volatile size_t much = (SIZE_MAX / 2 + 1) / 4; /* the compiler is not to know it */
    size_t cap = 0, n = 0;
    struct row *before;

    (void)state;
    assert_int_equal(ARRAY_ADD(v, n, (struct row){ "x", 1 }), 0);
    before = v;
    cap = 1;
    assert_int_equal(ARRAY_FIT(v, cap, 2 * much - 1), -ENOMEM);
    assert_int_equal(ARRAY_FIT(v, cap, SIZE_MAX), -ENOMEM);
    assert_ptr_equal(v, before);
    assert_int_equal(cap, 1);
    n = much; /* a power of two: it must move */
    assert_int_equal(ARRAY_ADD(v, n, (struct row){ "y", 2 }), -ENOMEM);
    assert_ptr_equal(v, before);
    assert_int_equal(n, much);
    assert_string_equal(v[0].name, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_added_stands_in_its_order),
        cmocka_unit_test(there_is_room_for_one_more_at_every_count),
        cmocka_unit_test(elements_may_be_taken_out_and_added_again),
        cmocka_unit_test(a_value_goes_in_where_it_belongs),
        cmocka_unit_test(an_array_with_a_capacity_fits_what_is_asked_for),
        cmocka_unit_test(without_memory_all_stays_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
