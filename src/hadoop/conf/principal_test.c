/* principal_test.c - see principal.h */
#include "hadoop/conf/principal.h"
#include "test.h"

#include <string.h>

static char *name_of(const char *rules, const char *principal)
{
    AUTO_FREE char *text = str_printf("<configuration><property>"
                                      "<name>hadoop.security.auth_to_local</name>"
                                      "<value>%s</value></property></configuration>",
                                      rules ? rules : "");
    const char *used = rules ? text : "<configuration/>";
    AUTO_CONF *c = NULL;
    char *name = NULL;

    assert_non_null(text);
    assert_int_equal(conf_parse("t-site.xml", used, strlen(used), &c, NULL), 0);
    assert_int_equal(conf_short_name(c, principal, &name, NULL), 0);
    return name;
}

static void rules_are_tried_in_their_order(void **state)
{
    static const struct {
        const char *rules, *principal, *want;
    } rows[] = {
        { NULL, "alice@R", "alice" },
        { NULL, "hdfs/host@R", "hdfs" },
        { NULL, "alice", "alice" },
        { "DEFAULT", "Alice@R", "Alice" },
        { "RULE:[1:$1@$0](.*@AD)s/@.*///L DEFAULT", "Alice@AD", "alice" },
        { "RULE:[1:$1@$0](.*@AD)s/@.*//L DEFAULT", "Alice@AD", "alice" },
        { "RULE:[1:$1@$0](.*@AD)s/@.*// DEFAULT", "Alice@AD", "Alice" },
        { "RULE:[1:$1@$0](.*@AD)s/@.*/_ad/\n  RULE:[1:$1]", "alice@AD", "alice_ad" },
        { "RULE:[1:$1@$0](.*@AD)s/@.*/_ad/\n  RULE:[1:$1]", "alice@OTHER", "alice" },
        { "RULE:[2:$1@$0](nn@.*)s/.*/hdfs/ DEFAULT", "nn/host@R", "hdfs" },
        { "RULE:[2:$1@$0](nn@.*)s/.*/hdfs/ DEFAULT", "nn@R", "nn" },
        { "RULE:[2:$1-$2]", "job/etl@R", "job-etl" },
        { "RULE:[1:$1@$0](^.*@R$)s/^(.*)\\.(.*)@R$/$2.$1/", "ann.lee@R", "lee.ann" },
        { "RULE:[1:$1]s/a/b/g", "banana@R", "bbnbnb" },
        { "RULE:[1:$1]s/a/b/", "banana@R", "bbnana" },
        { "RULE:[1:$1]s/x*/-/g", "ab@R", "-a-b-" },
        { "RULE:[1:$1@$0](R)", "alice@R", "alice" },           /* not all of it */
        { "RULE:[1:$1@$0]", "alice@R", "alice" },              /* no user has such a name */
        { "RULE:[1:$1@$0](.*[)s/@.*/x/", "alice@R", "alice" }, /* no pattern */
        { "nonsense", "alice@R", "alice" },
        { "RULE:[1:$1", "alice@R", "alice" },
        { "RULE:[1:$1](a", "alice@R", "alice" },
        { "RULE:[1:$1]s/a", "alice@R", "alice" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *name = name_of(rows[i].rules, rows[i].principal);

        assert_string_equal(name, rows[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_tried_in_their_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
