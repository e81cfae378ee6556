/* fs_show_test.c - facts about files as text and as JSON. */
#include "cmd/fs/fs_show.h"
#include "test.h"

#include <string.h>
#include <time.h>

static int use_utc(void **state)
{
    (void)state;
    (void)setenv("TZ", "UTC", 1);
    tzset();
    return 0;
}

static void times_are_in_the_zone_of_the_machine(void **state)
{
    char out[SHOW_TIME], exact[SHOW_TIME_LONG];

    (void)state;
    assert_string_equal(show_time(1794803505139, out), "2026-11-16 04:31");
    assert_string_equal(show_time_long(1794803505139, exact), "2026-11-16 04:31:45 +0000");
    assert_string_equal(show_time(0, out), "-");
    assert_string_equal(show_time(INT64_MAX, out), "292278994-08-17 07:12");
}

static void sizes_are_exact_or_for_people(void **state)
{
    char out[SHOW_SIZE];

    (void)state;
    assert_string_equal(show_size(1536, false, out), "1536");
    assert_string_equal(show_size(1536, true, out), "1.5 KB");
    assert_string_equal(show_size(UINT64_MAX, false, out), "18446744073709551615");
}

static void an_entry_is_an_object_whatever_its_name_is(void **state)
{
    char path[] = "/a/\xff\n\"";
    struct fs_entry e = { .path = path,
                          .name = path + 3,
                          .owner = "o",
                          .group = "g",
                          .type = FS_DIRECTORY,
                          .mode = 01777 };
    AUTO_JSON *v = show_entry(&e);

    (void)state;
    if (!v)
        return; /* no memory for it */
    assert_string_equal(json_string_value(json_object_get(v, "path")), "/a/\xef\xbf\xbd\n\"");
    assert_string_equal(json_string_value(json_object_get(v, "mode")), "1777");
    assert_string_equal(json_string_value(json_object_get(v, "type")), "directory");
    assert_true(json_is_null(json_object_get(v, "target")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_in_the_zone_of_the_machine),
        cmocka_unit_test(sizes_are_exact_or_for_people),
        cmocka_unit_test(an_entry_is_an_object_whatever_its_name_is),
    };

    return cmocka_run_group_tests(tests, use_utc, NULL);
}
