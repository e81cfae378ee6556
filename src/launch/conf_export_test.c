/* conf_export_test.c - see conf_export.h */
#include "hadoop/conf/conf_path.h"
#include "hadoop/conf/conf_services.h"
#include "hadoop/conf/keys.h"
#include "launch/conf_export.h"
#include "test.h"

#include <string.h>

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>"

static struct conf *parse(const char *text)
{
    struct conf *c = NULL;
    struct err err = ERR_INIT;

    if (conf_parse("t", text, strlen(text), &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

/* The text of the export, NULL when it failed. */
static const char *export(const struct conf *c, struct buf *b, struct err *err)
{
    int r = conf_export(c, b, err);

    assert_int_equal(r, err->code);
    return r < 0 ? NULL : buf_text(b);
}

static void same_hosts(int r, const struct hosts *a, int s, const struct hosts *b)
{
    assert_int_equal(r, s);
    assert_int_equal(a->n, b->n);
    assert_true(str_eq(a->ha_name, b->ha_name));
    for (size_t i = 0; i < a->n; i++) {
        assert_string_equal(a->v[i].id, b->v[i].id);
        assert_string_equal(a->v[i].host, b->v[i].host);
        assert_int_equal(a->v[i].port, b->v[i].port);
        assert_true(str_eq(a->v[i].principal, b->v[i].principal));
        assert_true(str_eq(a->v[i].pattern, b->v[i].pattern));
    }
}

static void same_rms(const struct conf *a, const struct conf *b, enum rm_port port)
{
    AUTO_HOSTS x = { 0 }, y = { 0 };
    int r = conf_resourcemanagers(a, port, &x, NULL), s = conf_resourcemanagers(b, port, &y, NULL);

    same_hosts(r, &x, s, &y);
}

static void same_namenodes(const struct conf *a, const struct conf *b, const char *authority)
{
    AUTO_HOSTS x = { 0 }, y = { 0 };
    int r = conf_namenodes(a, authority, &x, NULL), s = conf_namenodes(b, authority, &y, NULL);

    same_hosts(r, &x, s, &y);
}

static void same_path(const struct conf *a, const struct conf *b, const char *text)
{
    AUTO_FS_PATH x = { 0 }, y = { 0 };
    int r = conf_path(a, text, "me", &x, NULL), s = conf_path(b, text, "me", &y, NULL);

    assert_int_equal(r, s);
    assert_true(str_eq(x.scheme, y.scheme));
    assert_true(str_eq(x.authority, y.authority));
    assert_true(str_eq(x.path, y.path));
}

static void same_value(const struct conf *a, const struct conf *b, const char *key)
{
    AUTO_FREE char *x = NULL, *y = NULL;

    assert_int_equal(conf_str(a, key, &x, NULL), 0);
    assert_int_equal(conf_str(b, key, &y, NULL), 0);
    if (!str_eq(x, y))
        fail_msg("%s: '%s' has become '%s'", key, x ? x : "-", y ? y : "-");
}

/* Every key of the table has the same value, set or not. */
static void same_values(const struct conf *a, const struct conf *b)
{
    size_t n;
    const struct key *keys = key_table(&n);

    for (size_t i = 0; i < n; i++)
        same_value(a, b, keys[i].name);
    same_value(a, b, "yarn.web-proxy.address"); /* the master's page listens to nobody else */
}

static void same_cluster(const struct conf *a, const struct conf *b)
{
    struct security x = { 0 }, y = { 0 };

    same_values(a, b);
    for (unsigned port = RM_CLIENT; port <= RM_WEBAPP; port++)
        same_rms(a, b, (enum rm_port)port);
    same_namenodes(a, b, "ns1");
    same_namenodes(a, b, "ns2");
    same_namenodes(a, b, "nn.example.com:8020");
    same_path(a, b, "x");
    same_path(a, b, "/data/x");
    same_path(a, b, "viewfs://c/data/x");
    assert_int_equal(conf_security(a, &x, NULL), conf_security(b, &y, NULL));
    assert_memory_equal(&x, &y, sizeof(x));
}

static void read_back_it_shows_the_same_cluster(void **state)
{
    static const char *const files[] = {
        "<configuration/>",
        "<configuration>" P("fs.defaultFS", "hdfs://nn.example.com:9000")
            P("yarn.resourcemanager.hostname", "rm.example.com")
                P("yarn.web-proxy.address", "proxy.example.com:9099") "</configuration>",
        "<configuration>" P("fs.defaultFS", "hdfs://${the.ns}") P("the.ns", "ns1") P(
            "dfs.nameservices", "ns1, ns2") P("dfs.ha.namenodes.ns1", "a,b")
            P("dfs.namenode.rpc-address.ns1.a", "h1:1") P("dfs.namenode.rpc-address.ns1.b", "h2:2")
                P("dfs.namenode.rpc-address.ns2", "h3:3") P("dfs.namenode.kerberos.principal",
                                                            "nn/_HOST@${realm}")
                    P("dfs.namenode.kerberos.principal.ns2", "hdfs@R") P("realm", "EXAMPLE.COM")
                        P("dfs.client.failover.proxy.provider.ns1",
                          "x.Configured") P("yarn.resourcemanager.ha.enabled", "true")
                            P("yarn.resourcemanager.ha.rm-ids", "rm1,rm2")
                                P("yarn.resourcemanager.hostname.rm1", "r1")
                                    P("yarn.resourcemanager.address.rm2", "r2:99")
                                        P("yarn.resourcemanager.hostname.rm2", "r2")
                                            P("yarn.resourcemanager.principal", "rm/_HOST@R")
                                                P("hadoop.security.authentication", "kerberos")
                                                    P("hadoop.rpc.protection", "privacy,integrity")
                                                        P("dfs.data.transfer.protection",
                                                          "privacy") "</configuration>",
        "<configuration>" P("fs.defaultFS", "viewfs://c") P("fs.viewfs.mounttable.c.link./data",
                                                            "hdfs://ns1/d%20e")
            P("fs.viewfs.mounttable.c.linkFallback", "hdfs://ns2/") P("dfs.nameservices", "ns1,ns2")
                P("dfs.namenode.rpc-address.ns1", "a:1") P("dfs.namenode.rpc-address.ns2", "b:2")
                    P("dfs.block.size", "1m") "</configuration>",
        /* A blank is a value, though an empty one: the default must not come back. */
        "<configuration>" P("dfs.internal.nameservices", " ") P("hadoop.rpc.protection", " ")
            P("dfs.user.home.dir.prefix", "/a &lt;&amp;&gt; 'b' \"c\" \xe2\x82\xac")
                P("fs.permissions.umask-mode", "${not.there}") "</configuration>",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_BUF b = { .max = CONF_EXPORT_MAX };
        struct err err = ERR_INIT;
        AUTO_CONF *before = parse(files[i]);
        const char *text = export(before, &b, &err);
        AUTO_CONF *after = NULL;

        assert_non_null(text);
        after = parse(text);
        same_cluster(before, after);
    }
}

static void what_nobody_reads_stays_here(void **state)
{
    AUTO_CONF *c =
        parse("<configuration>" P("fs.s3a.secret.key", "S") P("ssl.client.keystore.password", "S")
                  P("realm", "R") P("yarn.resourcemanager.hostname", "h") "</configuration>");
    AUTO_BUF b = { .max = CONF_EXPORT_MAX };
    struct err err = ERR_INIT;

    (void)state;
    assert_string_equal(export(c, &b, &err),
                        "<configuration>\n"
                        "<property><name>yarn.resourcemanager.hostname</name><value>h</value>"
                        "</property>\n</configuration>\n");
}

static void what_xml_cannot_say_is_refused_by_name(void **state)
{
    AUTO_CONF *c =
        parse("<configuration>" P("hadoop.tmp.dir", "/tmp/${env.YDL_TEST_X}") "</configuration>");
    AUTO_BUF b = { .max = CONF_EXPORT_MAX };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(setenv("YDL_TEST_X",
                            "a\x01"
                            "b",
                            1),
                     0);
    assert_null(export(c, &b, &err));
    assert_non_null(strstr(err.text, "'hadoop.tmp.dir' is '/tmp/a"));
    assert_int_equal(b.len, 0);
    assert_int_equal(setenv("YDL_TEST_X", "a\r\nb", 1), 0);
    err_clear(&err);
    assert_non_null(strstr(export(c, &b, &err), "/tmp/a&#13;\nb"));
    assert_int_equal(unsetenv("YDL_TEST_X"), 0);
}

static void it_does_not_grow_past_its_ceiling(void **state)
{
    AUTO_BUF text = { .max = 4 * MIB }, b = { .max = 8 * MIB };
    struct err err = ERR_INIT;
    AUTO_CONF *c = NULL;

    (void)state;
    assert_int_equal(buf_add_str(&text, "<configuration>"), 0);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(
            buf_printf(&text, P("fs.viewfs.mounttable.c.link./d%d", "hdfs://n/%060d"), i, i), 0);
    assert_int_equal(buf_add_str(&text, "</configuration>"), 0);
    c = parse(buf_text(&text));
    assert_null(export(c, &b, &err));
    assert_int_equal(err.code, -E2BIG);
    assert_string_equal(err.text, "the configuration is larger than 256 KB");
    assert_int_equal(b.len, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read_back_it_shows_the_same_cluster),
        cmocka_unit_test(what_nobody_reads_stays_here),
        cmocka_unit_test(what_xml_cannot_say_is_refused_by_name),
        cmocka_unit_test(it_does_not_grow_past_its_ceiling),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
