/* trust_test.c - in which directories of HDFS everybody could exchange what is ours. */
#include "hadoop/fs/private.h"
#include "test.h"

static void a_directory_that_everybody_writes_is_open_unless_it_is_sticky_or_a_routers(void **state)
{
    static const struct {
        uint32_t mode;
        uint64_t file_id;
        bool open;
    } rows[] = {
        { 0777, 16386, true },   { 0702, 16386, true }, { 0755, 16386, false },
        { 0775, 16386, false },                      /* a group is somebody's choice */
        { 01777, 16386, false }, { 0777, 0, false }, /* as a router says of "/" when only "/user" is
                                                        mounted */
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct fs_entry e = { .mode = rows[i].mode, .file_id = rows[i].file_id };

        assert_int_equal(trust_everybody_writes(&e), rows[i].open);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_directory_that_everybody_writes_is_open_unless_it_is_sticky_or_a_routers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
