/* file_status_test.c - what a NameNode says of a file, and names that no file can have. */
#include "hadoop/hdfs/file_status.h"
#include "test.h"

#include <string.h>

static Hdfs__FileStatus status_of(const char *name, size_t n, Hdfs__FileType type)
{
    static Hdfs__Permission mode;
    Hdfs__FileStatus s = HDFS__FILE_STATUS__INIT;

    mode = (Hdfs__Permission)HDFS__PERMISSION__INIT;
    mode.perm = 0644;
    s.type = type;
    s.path = (ProtobufCBinaryData){ n, (uint8_t *)name };
    s.permission = &mode;
    s.owner = (char *)"me";
    s.group = (char *)"us";
    return s;
}

static void a_name_in_a_listing_stays_in_its_directory(void **state)
{
    static const struct {
        const char *name;
        size_t n;
        Hdfs__FileType type;
        const char *path; /* NULL: refused */
    } rows[] = {
        { "a", 1, HDFS__FILE_TYPE__FILE_REGULAR, "/d/a" },
        { "..a", 3, HDFS__FILE_TYPE__FILE_DIRECTORY, "/d/..a" },
        { "", 0, HDFS__FILE_TYPE__FILE_REGULAR, "/d" }, /* a file that is listed itself */
        { "", 0, HDFS__FILE_TYPE__FILE_DIRECTORY, NULL },
        { ".", 1, HDFS__FILE_TYPE__FILE_DIRECTORY, NULL },
        { "..", 2, HDFS__FILE_TYPE__FILE_DIRECTORY, NULL },
        { "..", 2, HDFS__FILE_TYPE__FILE_REGULAR, NULL },
        { "../x", 4, HDFS__FILE_TYPE__FILE_REGULAR, NULL },
        { "/etc/x", 6, HDFS__FILE_TYPE__FILE_REGULAR, NULL },
        { "a\0b", 3, HDFS__FILE_TYPE__FILE_REGULAR, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Hdfs__FileStatus s = status_of(rows[i].name, rows[i].n, rows[i].type);
        AUTO_FS_ENTRY e = { 0 };
        int r = status_entry(&s, "/d", false, &e);

        assert_int_equal(r, rows[i].path ? 0 : -EBADMSG);
        if (rows[i].path)
            assert_string_equal(e.path, rows[i].path);
    }
}

static void of_a_path_that_was_asked_for_the_name_is_known(void **state)
{
    Hdfs__FileStatus s = status_of("..", 2, HDFS__FILE_TYPE__FILE_DIRECTORY);
    AUTO_FS_ENTRY e = { 0 };

    (void)state;
    assert_int_equal(status_entry(&s, "/d/x", true, &e), 0);
    assert_string_equal(e.path, "/d/x");
    assert_string_equal(e.name, "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_in_a_listing_stays_in_its_directory),
        cmocka_unit_test(of_a_path_that_was_asked_for_the_name_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
