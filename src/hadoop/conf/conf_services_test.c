/* conf_services_test.c - servers and security out of a configuration; see conf_services.h */
#include "hadoop/conf/address.h"
#include "hadoop/conf/conf_services.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"

static struct conf *conf_of(const char *properties)
{
    AUTO_FREE char *xml = str_printf("<configuration>\n%s</configuration>", properties);
    struct conf *c = NULL;
    struct err err = ERR_INIT;

    assert_non_null(xml);
    assert_int_equal(conf_parse("t-site.xml", xml, strlen(xml), &c, &err), 0);
    return c;
}

/* "ha=NAME id host:port principal pattern|…" */
static void render(const struct hosts *h, char *out, size_t cap)
{
    size_t n =
        (size_t)snprintf(out, cap, "%s%s", h->ha_name ? "ha=" : "", h->ha_name ? h->ha_name : "");

    for (size_t i = 0; i < h->n && n < cap; i++)
        n += (size_t)snprintf(out + n, cap - n, "|%s %s %d %s %s", h->v[i].id, h->v[i].host,
                              h->v[i].port, h->v[i].principal ? h->v[i].principal : "-",
                              h->v[i].pattern ? h->v[i].pattern : "-");
}

#define RM "yarn.resourcemanager."
#define RM_HA P(RM "ha.enabled", "true") P(RM "ha.rm-ids", " rm1 , rm2 ")

static void resourcemanagers_are_expanded_in_order(void **state)
{
    static const struct {
        const char *xml;
        enum rm_port port;
        const char *hosts;
    } rows[] = {
        { "", RM_CLIENT, "| 0.0.0.0 8032 - -" },
        { P(RM "hostname", "h"), RM_CLIENT, "| h 8032 - -" },
        { P(RM "hostname", "h"), RM_SCHEDULER, "| h 8030 - -" },
        { P(RM "hostname", "h"), RM_ADMIN, "| h 8033 - -" },
        { P(RM "hostname", "h"), RM_WEBAPP, "| h 8088 - -" },
        { P(RM "hostname", "h") P("yarn.http.policy", "HTTPS_ONLY"), RM_WEBAPP, "| h 8090 - -" },
        { P(RM "address", "other:9032") P(RM "hostname", "h"), RM_CLIENT, "| other 9032 - -" },
        { P(RM "address", "other"), RM_CLIENT, "| other 8032 - -" },
        { P(RM "address", " [::1]:7 "), RM_CLIENT, "| ::1 7 - -" },
        { P(RM "hostname", "H.x") P(RM "principal", "rm/_HOST@R"), RM_CLIENT,
          "| H.x 8032 rm/h.x@R -" },
        { RM_HA P(RM "hostname.rm1", "a") P(RM "hostname.rm2", "b"), RM_CLIENT,
          "|rm1 a 8032 - -|rm2 b 8032 - -" },
        { RM_HA P(RM "hostname.rm1", "a") P(RM "address.rm2", "c:1")
              P(RM "scheduler.address.rm2", "c:2") P(RM "principal", "rm/_HOST@R")
                  P(RM "principal.pattern", "rm/*@R"),
          RM_SCHEDULER, "|rm1 a 8030 rm/a@R rm/*@R|rm2 c 2 rm/c@R rm/*@R" },
        /* What HA does not need is not looked at. */
        { P(RM "ha.rm-ids", "rm1,rm2") P(RM "hostname", "h"), RM_CLIENT, "| h 8032 - -" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CONF *c = conf_of(rows[i].xml);
        AUTO_HOSTS h = { 0 };
        struct err err = ERR_INIT;
        char text[256];

        assert_int_equal(conf_resourcemanagers(c, rows[i].port, &h, &err), 0);
        render(&h, text, sizeof(text));
        assert_string_equal(text, rows[i].hosts);
    }
}

#define NN "dfs.namenode."
#define HA2                                                                                        \
    P("dfs.nameservices", "ns, far")                                                               \
    P("dfs.ha.namenodes.ns", "nn1,nn2")                                                            \
    P(NN "rpc-address.ns.nn1", "a:9000") P(NN "rpc-address.ns.nn2", "b")
#define PROVIDER(ns, class)                                                                        \
    P("dfs.client.failover.proxy.provider." ns, "org.apache.hadoop.hdfs.server.namenode."          \
                                                "ha." class)

static void name_services_are_expanded_in_order(void **state)
{
    static const struct {
        const char *xml, *authority, *hosts;
    } rows[] = {
        { "", "h", "| h 8020 - *" },
        { "", "h:9", "| h 9 - *" },
        { "", "[fe80::1]:9", "| fe80::1 9 - *" },
        { HA2, "ns", "ha=ns|nn1 a 9000 - *|nn2 b 8020 - *" },
        { HA2, "other:1", "| other 1 - *" },
        { HA2 P(NN "kerberos.principal", "nn/_HOST@R"), "ns",
          "ha=ns|nn1 a 9000 nn/a@R *|nn2 b 8020 nn/b@R *" },
        { HA2 P(NN "kerberos.principal", "nn/_HOST@R") P(NN "kerberos.principal.ns.nn2", "x@R")
              P(NN "kerberos.principal.pattern.ns", "*@R"),
          "ns", "ha=ns|nn1 a 9000 nn/a@R *@R|nn2 b 8020 x@R *@R" },
        /* Federation without HA: one NameNode behind a name. */
        { HA2 P(NN "rpc-address.far", "f:1"), "far", "| f 1 - *" },
        { HA2 P(NN "rpc-address.far", "f:1") PROVIDER("far", "ConfiguredFailoverProxyProvider"),
          "far", "ha=far| f 1 - *" },
        { HA2 P(NN "rpc-address.far", "f:1") PROVIDER("far", "IPFailoverProxyProvider"), "far",
          "| f 1 - *" },
        /* Not in dfs.nameservices, but plain enough. */
        { P("dfs.ha.namenodes.x", "n1,n2") P(NN "rpc-address.x.n1", "a")
              P(NN "rpc-address.x.n2", "hdfs://b:1/"),
          "x", "ha=x|n1 a 8020 - *|n2 b 1 - *" },
        /* One without an address is left out. */
        { P("dfs.ha.namenodes.x", "n1,n2,n3") P(NN "rpc-address.x.n1", "a")
              P(NN "rpc-address.x.n3", "c"),
          "x", "ha=x|n1 a 8020 - *|n3 c 8020 - *" },
        { P("dfs.internal.nameservices", "i") P(NN "rpc-address.i", "a"), "i", "| a 8020 - *" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CONF *c = conf_of(rows[i].xml);
        AUTO_HOSTS h = { 0 };
        struct err err = ERR_INIT;
        char text[256];

        assert_int_equal(conf_namenodes(c, rows[i].authority, &h, &err), 0);
        render(&h, text, sizeof(text));
        assert_string_equal(text, rows[i].hosts);
    }
}

static void what_is_missing_or_wrong_is_said(void **state)
{
    static const struct {
        const char *xml, *authority; /* NULL: the ResourceManagers */
        int r;
        const char *text;
    } rows[] = {
        { P(RM "ha.enabled", "true"), NULL, -ENODATA,
          "'yarn.resourcemanager.ha.enabled' is true, but 'yarn.resourcemanager.ha.rm-ids' names "
          "no ResourceManager" },
        { RM_HA P(RM "hostname.rm1", "a"), NULL, -ENODATA,
          "ResourceManager 'rm2' has no address: neither 'yarn.resourcemanager.address.rm2' nor "
          "'yarn.resourcemanager.hostname.rm2' is set" },
        { P(RM "address", "a:b:c"), NULL, -EINVAL,
          "t-site.xml:2: 'yarn.resourcemanager.address' is 'a:b:c', not host:port" },
        { P(RM "address", "a:70000"), NULL, -EINVAL,
          "t-site.xml:2: 'yarn.resourcemanager.address' is 'a:70000', not host:port" },
        { P(RM "ha.enabled", "maybe"), NULL, -EINVAL,
          "t-site.xml:2: 'yarn.resourcemanager.ha.enabled' is 'maybe', not true or false" },
        { P("dfs.nameservices", "ns"), "ns", -ENODATA,
          "name service 'ns' has no NameNode: no 'dfs.namenode.rpc-address.ns' is set" },
        { P("dfs.ha.namenodes.ns", "a"), "ns", -ENODATA,
          "name service 'ns' has no NameNode: no 'dfs.namenode.rpc-address.ns.…' is set" },
        { "", "a:0", -EINVAL, "'fs.defaultFS' is 'a:0', not host:port" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CONF *c = conf_of(rows[i].xml);
        AUTO_HOSTS h = { 0 };
        struct err err = ERR_INIT;

        if (rows[i].authority)
            assert_int_equal(conf_namenodes(c, rows[i].authority, &h, &err), rows[i].r);
        else
            assert_int_equal(conf_resourcemanagers(c, RM_CLIENT, &h, &err), rows[i].r);
        assert_string_equal(err.text, rows[i].text);
    }
}

static void only_a_host_part_that_says_so_is_replaced(void **state)
{
    static const struct {
        const char *principal, *host, *result;
    } rows[] = {
        { "nn/_HOST@EXAMPLE.COM", "N1.Example.Com", "nn/n1.example.com@EXAMPLE.COM" },
        { "nn/n1@R", "x", "nn/n1@R" },
        { "nn@R", "x", "nn@R" },
        { "nn/_HOST", "x", "nn/_HOST" },
        { "nn/_HOSTS@R", "x", "nn/_HOSTS@R" },
        { "a/b/_HOST@R", "x", "a/b/_HOST@R" },
        { "", "x", "" },
    };
    AUTO_FREE char *here = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *p = NULL;

        assert_int_equal(conf_principal(rows[i].principal, rows[i].host, &p), 0);
        assert_string_equal(p, rows[i].result);
    }
    assert_int_equal(conf_principal("nn/_HOST@R", "0.0.0.0", &here), 0);
    assert_null(strstr(here, "0.0.0.0"));
}

static void addresses_come_in_many_shapes(void **state)
{
    static const struct {
        const char *text, *host;
        int port, r;
    } rows[] = {
        { "h", "h", 1, 0 },
        { "h:2", "h", 2, 0 },
        { "10.0.0.1:65535", "10.0.0.1", 65535, 0 },
        { "[::1]", "::1", 1, 0 },
        { "[::1]:2", "::1", 2, 0 },
        { "x://h:2", "h", 2, 0 },
        { "x://h:2/p", "h", 2, 0 },
        { "a_b-c.d:2", "a_b-c.d", 2, 0 },
        { "", NULL, 0, -EINVAL },
        { ":2", NULL, 0, -EINVAL },
        { "h:", NULL, 0, -EINVAL },
        { "h:x", NULL, 0, -EINVAL },
        { "h:0", NULL, 0, -EINVAL },
        { "h:65536", NULL, 0, -EINVAL },
        { "::1", NULL, 0, -EINVAL },
        { "[]:2", NULL, 0, -EINVAL },
        { "[::1", NULL, 0, -EINVAL },
        { "[::1]2", NULL, 0, -EINVAL },
        { "a b:2", NULL, 0, -EINVAL },
        { "u@h:2", NULL, 0, -EINVAL },
        { "h:2/p", NULL, 0, -EINVAL },
        { "h:-2", NULL, 0, -EINVAL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *host = NULL;
        int port = 0;

        assert_int_equal(address_parse(rows[i].text, 1, &host, &port), rows[i].r);
        if (rows[i].r == 0) {
            assert_string_equal(host, rows[i].host);
            assert_int_equal(port, rows[i].port);
        }
    }
}

static void security_is_simple_unless_said_otherwise(void **state)
{
    AUTO_CONF *plain = conf_of("");
    AUTO_CONF *secure = conf_of(P("hadoop.security.authentication", "Kerberos")
                                    P("hadoop.rpc.protection", "privacy, Authentication,privacy")
                                        P("dfs.data.transfer.protection", "integrity")
                                            P("hadoop.security.token.service.use_ip", "false")
                                                P("dfs.encrypt.data.transfer", "true"));
    struct security s;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(conf_security(plain, &s, &err), 0);
    assert_false(s.kerberos);
    assert_false(s.fallback_to_simple);
    assert_true(s.use_ip);
    assert_false(s.encrypt_data);
    assert_int_equal(s.rpc.n, 1);
    assert_int_equal(s.rpc.v[0], PROTECT_AUTH);
    assert_int_equal(s.data.n, 0);

    assert_int_equal(conf_security(secure, &s, &err), 0);
    assert_true(s.kerberos);
    assert_false(s.use_ip);
    assert_true(s.encrypt_data);
    assert_int_equal(s.rpc.n, 2);
    assert_int_equal(s.rpc.v[0], PROTECT_PRIVACY);
    assert_int_equal(s.rpc.v[1], PROTECT_AUTH);
    assert_int_equal(s.data.v[0], PROTECT_INTEGRITY);
}

static void unknown_security_is_refused(void **state)
{
    static const struct {
        const char *xml, *text;
    } rows[] = {
        { P("hadoop.security.authentication", "ldap"),
          "t-site.xml:2: 'hadoop.security.authentication' is 'ldap', not simple or kerberos" },
        { P("hadoop.rpc.protection", "privacy,secret"),
          "t-site.xml:2: 'hadoop.rpc.protection' is 'secret', not authentication, integrity or "
          "privacy" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CONF *c = conf_of(rows[i].xml);
        struct err err = ERR_INIT;
        struct security s;

        assert_int_equal(conf_security(c, &s, &err), -EINVAL);
        assert_string_equal(err.text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resourcemanagers_are_expanded_in_order),
        cmocka_unit_test(name_services_are_expanded_in_order),
        cmocka_unit_test(what_is_missing_or_wrong_is_said),
        cmocka_unit_test(only_a_host_part_that_says_so_is_replaced),
        cmocka_unit_test(addresses_come_in_many_shapes),
        cmocka_unit_test(security_is_simple_unless_said_otherwise),
        cmocka_unit_test(unknown_security_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
