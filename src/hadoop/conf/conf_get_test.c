/* conf_get_test.c - values and their types, substitution, and the table of keys */
#include "hadoop/conf/conf.h"
#include "hadoop/conf/keys.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define PROP(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"

static struct conf *conf_of(const char *properties)
{
    AUTO_FREE char *xml =
        str_printf("<configuration>\n%s</configuration>", properties ? properties : "");
    struct conf *c = NULL;
    struct err err = ERR_INIT;

    assert_true(properties && xml);
    assert_int_equal(conf_parse("t-site.xml", xml, strlen(xml), &c, &err), 0);
    return c;
}

static void values_are_put_into_values(void **state)
{
    static const struct {
        const char *value, *result;
    } rows[] = {
        { "plain", "plain" },
        { "  trimmed \n", "trimmed" },
        { "${one}", "1" },
        { "a${one}b${two}c", "a1b1+c" },
        { "${two}", "1+" },
        { "${fs.default.name}", "hdfs://old:1" }, /* by its old name */
        { "${yarn.resourcemanager.hostname}", "0.0.0.0" },
        { "${nothing}", "${nothing}" },
        { "${nothing}/${one}", "${nothing}/${one}" }, /* it stops there */
        { "${one}/${nothing}/${one}", "1/${nothing}/${one}" },
        { "${key}", "${key}" },
        { "x${self}", "x${self}" },
        { "${env.YDL_TEST_A}", "alpha" },
        { "${env.YDL_TEST_A:-d}", "alpha" },
        { "${env.YDL_TEST_EMPTY:-d}", "d" },
        { "${env.YDL_TEST_EMPTY-d}x", "x" },
        { "${env.YDL_TEST_NONE:-d-e}", "d-e" },
        { "${env.YDL_TEST_NONE-d}", "d" },
        { "${env.YDL_TEST_NONE}", "${env.YDL_TEST_NONE}" },
        { "${env.}", "${env.}" },
        { "${java.io.tmpdir}/x", "/tmp/x" },
        { "${}${one}", "${}1" },
        { "${ one}${one}", "${ one}1" },
        { "$${one}", "$1" },
        { "${a${one}", "${a1" },
        { "${open", "${open" },
        { "{one}$one", "{one}$one" },
    };

    (void)state;
    setenv("YDL_TEST_A", "alpha", 1);
    setenv("YDL_TEST_EMPTY", "", 1);
    unsetenv("YDL_TEST_NONE");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *xml =
            str_printf(PROP("one", "1") PROP("two", "${one}+") PROP("self", "s${self}")
                           PROP("fs.default.name", "hdfs://old:1") PROP("key", "%s"),
                       rows[i].value);
        AUTO_CONF *c = conf_of(xml);
        AUTO_FREE char *value = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(conf_str(c, "key", &value, &err), 0);
        assert_string_equal(value, rows[i].result);
    }
}

static void values_that_go_round_in_circles_end(void **state)
{
    AUTO_CONF *c = conf_of(PROP("a", "${b}") PROP("b", "${a}x"));
    AUTO_FREE char *value = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(conf_str(c, "a", &value, &err), -EINVAL);
    assert_string_equal(err.text,
                        "t-site.xml:2: 'a' is '${b}', which refers to too many other settings");
    assert_null(value);
}

static void values_do_not_grow_without_end(void **state)
{
    AUTO_FREE char *big = malloc(600 * KIB);
    AUTO_FREE char *xml = NULL, *value = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(big);
    memset(big, 'x', 600 * KIB - 1);
    big[600 * KIB - 1] = '\0';
    xml = str_printf(PROP("big", "%s") PROP("a", "${big}${big}"), big);
    {
        AUTO_CONF *c = conf_of(xml);

        assert_int_equal(conf_str(c, "a", &value, &err), -EINVAL);
    }
    assert_non_null(strstr(err.text, "too long"));
}

static void the_user_is_known_without_asking_the_system(void **state)
{
    AUTO_CONF *c = conf_of(PROP("a", "${user.name}") PROP("b", "${user.home}"));
    AUTO_FREE char *name = NULL, *home = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(conf_str(c, "a", &name, &err), 0);
    assert_int_equal(conf_str(c, "b", &home, &err), 0);
    assert_true(*name && *name != '$');
    assert_int_equal(*home, '/');
}

enum kind { INT, BOOL, MS, SIZE };

static int get(const struct conf *c, enum kind kind, const char *key, int64_t *ret, struct err *err)
{
    uint64_t size = 0;
    bool flag = false;
    int r = 0;

    switch (kind) {
    case INT:
        return conf_int(c, key, ret, err);
    case BOOL:
        r = conf_bool(c, key, &flag, err);
        *ret = flag;
        return r;
    case MS:
        return conf_ms(c, key, ret, err);
    case SIZE:
        r = conf_size(c, key, &size, err);
        *ret = (int64_t)size;
        return r;
    }
    return -EINVAL;
}

static void types_are_those_of_hadoop(void **state)
{
    static const struct {
        enum kind kind;
        const char *value;
        int64_t result;
    } rows[] = {
        { INT, "42", 42 },         { INT, " -7 ", -7 },       { INT, "+3", 3 },
        { INT, "0x1F", 31 },       { INT, "-0x10", -16 },     { INT, "007", 7 },
        { BOOL, "true", 1 },       { BOOL, "FALSE", 0 },      { BOOL, " True\n", 1 },
        { MS, "250", 250 },        { MS, "250ms", 250 },      { MS, "10s", 10000 },
        { MS, "5M", 300000 },      { MS, "2h", 7200000 },     { MS, "1d", 86400000 },
        { MS, "1999us", 1 },       { MS, "3000000ns", 3 },    { MS, "-1", -1 },
        { SIZE, "512", 512 },      { SIZE, "64k", 65536 },    { SIZE, "128M", 134217728 },
        { SIZE, "1g", 1 << 30 },   { SIZE, "1t", 1LL << 40 }, { SIZE, "2p", 2LL << 50 },
        { SIZE, "1e", 1LL << 60 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *xml = str_printf(PROP("k", "%s"), rows[i].value);
        AUTO_CONF *c = conf_of(xml);
        struct err err = ERR_INIT;
        int64_t v = -99;

        assert_int_equal(get(c, rows[i].kind, "k", &v, &err), 0);
        assert_int_equal(v, rows[i].result);
    }
}

static void a_wrong_value_is_an_error_with_file_and_line(void **state)
{
    static const struct {
        enum kind kind;
        const char *value, *text;
    } rows[] = {
        { INT, "abc", "t-site.xml:3: 'k' is 'abc', not a number" },
        { INT, "1 2", "t-site.xml:3: 'k' is '1 2', not a number" },
        { INT, "0x", "t-site.xml:3: 'k' is '0x', not a number" },
        { INT, "0x0x1", "t-site.xml:3: 'k' is '0x0x1', not a number" },
        { INT, " ", "t-site.xml:3: 'k' is '', not a number" },
        { INT, "99999999999999999999",
          "t-site.xml:3: 'k' is '99999999999999999999', which is out of range" },
        { BOOL, "yes", "t-site.xml:3: 'k' is 'yes', not true or false" },
        { MS, "10 s", "t-site.xml:3: 'k' is '10 s', not a time such as 500ms, 10s or 5m" },
        { MS, "1w", "t-site.xml:3: 'k' is '1w', not a time such as 500ms, 10s or 5m" },
        { MS, "9999999999999999d",
          "t-site.xml:3: 'k' is '9999999999999999d', which is out of range" },
        { SIZE, "1.5g", "t-site.xml:3: 'k' is '1.5g', not a size such as 65536, 64k or 1g" },
        { SIZE, "-1", "t-site.xml:3: 'k' is '-1', which is out of range" },
        { SIZE, "99e", "t-site.xml:3: 'k' is '99e', which is out of range" },
        { SIZE, "k", "t-site.xml:3: 'k' is 'k', not a size such as 65536, 64k or 1g" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *xml =
            str_printf("<property><name>k</name>\n  <value>%s</value></property>", rows[i].value);
        AUTO_CONF *c = conf_of(xml);
        struct err err = ERR_INIT;
        int64_t v;

        assert_int_equal(get(c, rows[i].kind, "k", &v, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].text);
    }
}

static void what_is_not_set_has_its_default_or_none(void **state)
{
    AUTO_CONF *c = conf_of("");
    AUTO_FREE char *value = NULL;
    AUTO_STRS list = { 0 };
    struct err err = ERR_INIT;
    int64_t v = 0;

    (void)state;
    assert_int_equal(conf_int(c, "dfs.replication", &v, &err), 0);
    assert_int_equal(v, 3);
    assert_int_equal(conf_ms(c, "dfs.client.datanode-restart.timeout", &v, &err), 0);
    assert_int_equal(v, 30000); /* a plain number of that key means seconds */
    assert_int_equal(conf_str(c, "no.such.key", &value, &err), 0);
    assert_null(value);
    assert_int_equal(conf_list(c, "dfs.nameservices", &list, &err), 0);
    assert_int_equal(list.n, 0);
    assert_int_equal(conf_int(c, "no.such.key", &v, &err), -ENODATA);
    assert_string_equal(err.text, "'no.such.key' is not set");
}

static void lists_and_old_names_are_read(void **state)
{
    AUTO_CONF *c = conf_of(PROP("dfs.federation.nameservices", " a, b ,,\n c") PROP(
        "dfs.block.size", "1m") PROP("dfs.blocksize", "2m") PROP("dfs.block.size", "3m"));
    AUTO_STRS list = { 0 }, keys = { 0 };
    struct err err = ERR_INIT;
    uint64_t size = 0;

    (void)state;
    assert_int_equal(conf_list(c, "dfs.nameservices", &list, &err), 0);
    assert_int_equal(list.n, 3);
    assert_string_equal(list.v[2], "c");
    assert_int_equal(conf_size(c, "dfs.block.size", &size, &err), 0);
    assert_int_equal(size, 3 << 20); /* both names are one setting, the last one counts */
    assert_int_equal(conf_keys(c, "dfs.", &keys, &err), 0);
    assert_int_equal(keys.n, 2);
    assert_string_equal(keys.v[0], "dfs.blocksize");
}

static void every_row_of_the_table_is_in_order_and_of_its_type(void **state)
{
    AUTO_CONF *c = conf_of("");
    const struct key *k;
    size_t n;

    (void)state;
    k = key_table(&n);
    for (size_t i = 0; i < n; i++) {
        struct err err = ERR_INIT;
        int64_t v;
        int r = 0;

        assert_true(i == 0 || strcmp(k[i - 1].name, k[i].name) < 0);
        assert_ptr_equal(key_find(k[i].name), &k[i]);
        assert_true(*k[i].why);
        if (!k[i].fallback)
            continue;
        if (k[i].type == KEY_INT)
            r = get(c, INT, k[i].name, &v, &err);
        else if (k[i].type == KEY_BOOL)
            r = get(c, BOOL, k[i].name, &v, &err);
        else if (k[i].type == KEY_MS || k[i].type == KEY_SECONDS)
            r = get(c, MS, k[i].name, &v, &err);
        else if (k[i].type == KEY_SIZE)
            r = get(c, SIZE, k[i].name, &v, &err);
        assert_int_equal(r, 0);
    }
    assert_null(key_find("nothing"));
    assert_string_equal(key_current("dfs.umaskmode"), "fs.permissions.umask-mode");
    assert_string_equal(key_current("io.bytes.per.checksum"), "dfs.bytes-per-checksum");
    assert_string_equal(key_current("dfs.replication"), "dfs.replication");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_put_into_values),
        cmocka_unit_test(values_that_go_round_in_circles_end),
        cmocka_unit_test(values_do_not_grow_without_end),
        cmocka_unit_test(the_user_is_known_without_asking_the_system),
        cmocka_unit_test(types_are_those_of_hadoop),
        cmocka_unit_test(a_wrong_value_is_an_error_with_file_and_line),
        cmocka_unit_test(what_is_not_set_has_its_default_or_none),
        cmocka_unit_test(lists_and_old_names_are_read),
        cmocka_unit_test(every_row_of_the_table_is_in_order_and_of_its_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
