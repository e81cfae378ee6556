/* trust_test.c - in which directories of HDFS everybody could exchange what is ours, and which
 * files are. */
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

static int look_at_files(void *arg)
{
    static const struct {
        const char *owner;
        uint32_t mode;
        bool ours;
    } rows[] = {
        { "us", 0600, true },  { "us", 0755, true },    { "us", 0620, false },
        { "us", 0602, false }, { "them", 0600, false }, { "", 0600, false },
    };
    const struct session_options o = { .conf_text = "<configuration/>", .user = "us" };
    struct fs_set set = { .loop = arg };
    struct fs fs = { .set = &set, .hdfs = (struct hdfs *)&set }; /* that there is one is enough */

    assert_int_equal(session_new(arg, &o, &set.session, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct fs_entry e = { .owner = (char *)rows[i].owner, .mode = rows[i].mode };

        assert_int_equal(fs_is_ours(&fs, &e, NULL), rows[i].ours);
    }
    set.session = session_free(set.session);
    return 0;
}

static void a_file_is_ours_when_nobody_else_could_have_written_it(void **state)
{
    struct loop *l = NULL;

    (void)state;
    assert_int_equal(loop_new(&l, NULL), 0);
    assert_int_equal(loop_run(l, look_at_files, l, false), 0);
    loop_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_directory_that_everybody_writes_is_open_unless_it_is_sticky_or_a_routers),
        cmocka_unit_test(a_file_is_ours_when_nobody_else_could_have_written_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
