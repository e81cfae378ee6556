/* hadoop_access_test.c - see hadoop_access.h */
#include "agent/platform/hadoop_access.h"
#include "test.h"

static void the_users_directories_are_found_in_those_of_the_application(void **state)
{
    static const struct {
        const char *local, *node;
    } rows[] = {
        { "/d/usercache/ada/appcache/application_1_1", "/d/usercache/ada" },
        { "/1/usercache/ada/appcache/a,/2/usercache/ada/appcache/a",
          "/1/usercache/ada,/2/usercache/ada" },
        { "/appcache/nm/usercache/ada/appcache/a", "/appcache/nm/usercache/ada" },
        { "/d/usercache/ada, ,/2/usercache/ada/appcache/a", "/2/usercache/ada" },
        { "d/usercache/ada/appcache/a", NULL },
        { "/d/appcache/a", NULL },
        { "/d/appcache/usercache/a", NULL },
        { "", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *dirs = NULL;

        assert_int_equal(hadoop_access_node_dirs(rows[i].local, &dirs), 0);
        if (rows[i].node)
            assert_string_equal(dirs, rows[i].node);
        else
            assert_null(dirs);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_users_directories_are_found_in_those_of_the_application),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
