/* settings_test.c - the configuration, and the decisions that follow from it. */
#include "base/auto.h"
#include "hadoop/hdfs/dn_handshake.h"
#include "hadoop/hdfs/settings.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void a_umask_is_read_in_both_forms(void **state)
{
    static const struct {
        const char *text;
        int r;
        uint32_t want;
    } rows[] = {
        { "022", 0, 022 },           { "077", 0, 077 },           { "0", 0, 0 },
        { "00027", 0, 027 },         { "u=rwx,g=rx,o=", 0, 027 }, { "u=rwx,g=rwx,o=rx", 0, 002 },
        { "a=rwx", 0, 0 },           { "ug=rwx,o=", 0, 007 },     { "8", -EINVAL, 0 },
        { "u+rwx", -EINVAL, 0 },     { "z=r", -EINVAL, 0 },       { "u=q", -EINVAL, 0 },
        { "999999999", -EINVAL, 0 }, { "0229", -EINVAL, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint32_t got = 0;

        assert_int_equal(hdfs_umask_parse(rows[i].text, &got), rows[i].r);
        assert_int_equal(got, rows[i].want);
    }
}

static int parse(const char *properties, struct hdfs_settings *ret, struct err *err)
{
    AUTO_CONF *conf = NULL;
    char xml[2000];
    int n = snprintf(xml, sizeof(xml), "<configuration>%s</configuration>", properties);

    assert_int_equal(conf_parse("hdfs-site.xml", xml, (size_t)n, &conf, err), 0);
    return hdfs_settings_read(conf, ret, err);
}

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>"

static void what_is_not_configured_is_left_to_the_server(void **state)
{
    struct hdfs_settings s;

    (void)state;
    assert_int_equal(parse("", &s, NULL), 0);
    assert_int_equal(s.replication, 0);
    assert_int_equal(s.block_size, 0);
    assert_int_equal(s.read_ms, 60000);
    assert_int_equal(s.umask, 022);
    assert_int_equal(s.replace.when, REPLACE_DEFAULT);
    assert_int_equal(s.qops, 0);
}

static void what_is_configured_counts(void **state)
{
    struct hdfs_settings s;

    (void)state;
    assert_int_equal(
        parse(P("dfs.replication", "2") P("dfs.blocksize", "1m")
                  P("dfs.data.transfer.protection", "privacy,integrity")
                      P("dfs.client.socket-timeout", "0")
                          P("dfs.client.block.write.replace-datanode-on-failure.policy", "always"),
              &s, NULL),
        0);
    assert_int_equal(s.replication, 2);
    assert_int_equal(s.block_size, 1 << 20);
    assert_int_equal(s.qops, SASL_QOP_BIT(SASL_CONF) | SASL_QOP_BIT(SASL_INT));
    assert_true(s.read_ms > 0); /* no wait is forever */
    assert_int_equal(s.replace.when, REPLACE_ALWAYS);
}

static void nonsense_is_refused_with_its_place(void **state)
{
    struct hdfs_settings s;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(parse(P("fs.permissions.umask-mode", "abc"), &s, &err), -EINVAL);
    assert_non_null(strstr(err.text, "hdfs-site.xml"));
    assert_non_null(strstr(err.text, "'abc'"));
}

static void signing_in_is_decided_as_hadoop_does(void **state)
{
    static const struct {
        struct guard_facts f; /* encrypt, secure, fallback, configured, port */
        enum guard want;
    } rows[] = {
        { { false, false, false, false, 9866 }, GUARD_NONE },
        { { false, false, false, true, 9866 }, GUARD_NONE },
        { { true, false, false, false, 9866 }, GUARD_KEY },
        { { true, true, false, true, 1004 }, GUARD_KEY },
        { { false, true, false, true, 9866 }, GUARD_TOKEN },
        { { false, true, false, true, 1004 }, GUARD_NONE },
        { { false, true, false, false, 9866 }, GUARD_NONE },
        { { false, true, true, true, 9866 }, GUARD_NONE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(guard_choose(&rows[i].f), rows[i].want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_umask_is_read_in_both_forms),
        cmocka_unit_test(what_is_not_configured_is_left_to_the_server),
        cmocka_unit_test(what_is_configured_counts),
        cmocka_unit_test(nonsense_is_refused_with_its_place),
        cmocka_unit_test(signing_in_is_decided_as_hadoop_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
