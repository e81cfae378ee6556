/* xml_test.c - see xml.h */
#include "base/buf.h"
#include "base/str.h"
#include "hadoop/conf/xml.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* Everything that was read, as one text: "name=value!;" with '!' for final, '?' for an include. */
struct log {
    struct buf text;
};

static void auto_log_(struct log *l)
{
    buf_done(&l->text);
}

static int on_property(void *arg, const struct xml_property *p, struct err *err)
{
    struct log *l = arg;

    if (buf_printf(&l->text, "%s=%s%s;", p->name, p->value ? p->value : "(none)",
                   p->final ? "!" : "") < 0)
        return err_oom(err);
    return 0;
}

static int on_include(void *arg, const char *href, int line, bool *found, struct err *err)
{
    struct log *l = arg;

    if (str_eq(href, "broken"))
        return err_set(err, -EBADMSG, "broken, line %d", line);
    *found = !str_starts(href, "missing");
    return buf_printf(&l->text, "?%s;", href) < 0 ? err_oom(err) : 0;
}

static int read_text(const char *text, struct log *l, struct err *err)
{
    const struct xml_reader reader = { on_property, on_include, l };

    buf_init(&l->text, 1 * MIB);
    return xml_read("t.xml", text, strlen(text), &reader, err);
}

#define CONF(inner)                                                                                \
    "<?xml version=\"1.0\"?>\n<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">" inner  \
    "</configuration>"
#define PROP(name, value) "<property><name>" name "</name><value>" value "</value></property>"

static void properties_are_read_as_hadoop_reads_them(void **state)
{
    static const struct {
        const char *xml, *seen;
    } rows[] = {
        { CONF(PROP("a", "1") PROP("b", " 2 ")), "a=1;b= 2 ;" },
        { CONF(PROP("\n a \t", "1")), "a=1;" },
        { CONF("<property><value>1</value><name>a</name><final>true</final></property>"), "a=1!;" },
        { CONF("<property><name>a</name><value>1</value><final> true</final></property>"), "a=1;" },
        { CONF("<property><name>a</name><final>true</final></property>"), "a=(none)!;" },
        { CONF(PROP("a", "")), "a=(none);" },
        { CONF("<property><name>a</name><value/></property>"), "a=(none);" },
        { CONF(PROP("a", "  ")), "a=  ;" },
        { CONF(PROP(" ", "1")), "" },
        { CONF("<property><value>1</value></property>"), "" },
        { CONF("<property name=\"a\" value=\"&lt;1\" final=\"true\"/>"), "a=<1!;" },
        { CONF("<property name=\"a\"><value>2</value></property>"), "a=2;" },
        { CONF(PROP("a", "x<![CDATA[<&>]]>y<!-- no -->z")), "a=x<&>yz;" },
        { CONF("<property><name>a</name><value>1</value><source>s</source><tag>t</tag>"
               "<description>d</description></property>"),
          "a=1;" },
        { CONF("<configuration>" PROP("a", "1") "</configuration>" PROP("b", "2")), "a=1;b=2;" },
        { CONF(PROP("a", "&#252;\xe2\x82\xac")), "a=\xc3\xbc\xe2\x82\xac;" },
        { "<!DOCTYPE configuration [<!ENTITY h \"host\">]><configuration>" PROP(
              "a", "&h;:1") "</configuration>",
          "a=host:1;" },
        { "<h:configuration xmlns:h='x'><h:property><h:name>a</h:name><h:value>1</h:value>"
          "</h:property></h:configuration>",
          "a=1;" },
        { "<configuration/>", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        AUTO(log) struct log l = { 0 };

        assert_int_equal(read_text(rows[i].xml, &l, &err), 0);
        assert_string_equal(buf_text(&l.text), rows[i].seen);
    }
}

static void an_include_counts_or_its_fallback_does(void **state)
{
    static const struct {
        const char *xml, *seen;
    } rows[] = {
        { CONF("<xi:include href=\"f\"/>" PROP("a", "1")), "?f;a=1;" },
        { CONF("<xi:include href=\"f\"><xi:fallback>" PROP("a", "1") "</xi:fallback></xi:include>"),
          "?f;" },
        { CONF("<xi:include href=\"missing\"><xi:fallback>" PROP(
              "a", "1") "</xi:fallback></xi:include>" PROP("b", "2")),
          "?missing;a=1;b=2;" },
        { CONF("<xi:include href=\"missing\"><xi:fallback/></xi:include>"), "?missing;" },
        /* An include in a fallback that is not needed is not looked at. */
        { CONF("<xi:include href=\"f\"><xi:fallback><xi:include href=\"g\"/></xi:fallback>"
               "</xi:include>"),
          "?f;" },
        { CONF("<xi:include href=\"missing1\"><xi:fallback><xi:include href=\"missing2\">"
               "<xi:fallback>" PROP("a", "1") "</xi:fallback></xi:include></xi:fallback>"
                                              "</xi:include>"),
          "?missing1;?missing2;a=1;" },
        { CONF("<xi:include/>"), "" },
        { CONF("<xi:fallback>" PROP("a", "1") "</xi:fallback>"), "a=1;" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        AUTO(log) struct log l = { 0 };

        assert_int_equal(read_text(rows[i].xml, &l, &err), 0);
        assert_string_equal(buf_text(&l.text), rows[i].seen);
    }
}

static void a_broken_file_is_reported_with_line_and_column(void **state)
{
    static const struct {
        const char *xml;
        int r;
        const char *text;
    } rows[] = {
        { "", -EBADMSG, "t.xml:1:1: no element found" },
        { "<configuration>\n  <property>\n </configuration>", -EBADMSG,
          "t.xml:3:4: mismatched tag" },
        { "<configuration>", -EBADMSG, "t.xml:1:16: no element found" },
        { "hello", -EBADMSG, "t.xml:1:1: syntax error" },
        { "<html><body/></html>", -EBADMSG,
          "t.xml:1:1: this is not a Hadoop configuration: its root element is 'html'" },
        { "<configuration>&nope;</configuration>", -EBADMSG, "t.xml:1:16: undefined entity" },
        { "<!DOCTYPE c SYSTEM \"x\"><configuration>&nope;</configuration>", -EBADMSG,
          "t.xml:1:39: undefined entity 'nope'" },
        { "<!DOCTYPE c [<!ENTITY e SYSTEM \"/etc/passwd\">]><configuration>&e;</configuration>",
          -EBADMSG, "t.xml:1:63: external entities are refused" },
        { "<configuration xmlns:xi='x'>\n<xi:include href='missing'/></configuration>", -ENOENT,
          "t.xml:2: there is no file, and no fallback, for the included 'missing'" },
        { "<configuration xmlns:xi='x'>\n<xi:include href='broken'/></configuration>", -EBADMSG,
          "broken, line 2" },
        { "<configuration><xi:include href='f'/></configuration>", -EBADMSG,
          "t.xml:1:16: unbound prefix" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;
        AUTO(log) struct log l = { 0 };

        assert_int_equal(read_text(rows[i].xml, &l, &err), rows[i].r);
        assert_string_equal(err.text, rows[i].text);
    }
}

/* <!ENTITY e0 "0123456789"> and e1 that is ten times e0, and so on. */
static void add_bomb(struct buf *b, int levels)
{
    assert_int_equal(buf_add_str(b, "<!DOCTYPE c [<!ENTITY e0 \"0123456789\">"), 0);
    for (int i = 1; i <= levels; i++) {
        assert_int_equal(buf_printf(b, "<!ENTITY e%d \"", i), 0);
        for (int k = 0; k < 10; k++)
            assert_int_equal(buf_printf(b, "&e%d;", i - 1), 0);
        assert_int_equal(buf_add_str(b, "\">"), 0);
    }
    assert_int_equal(buf_printf(b, "]><configuration>&e%d;</configuration>", levels), 0);
}

static void entity_bombs_are_refused(void **state)
{
    struct err err = ERR_INIT;
    AUTO(log) struct log l = { 0 };
    AUTO_BUF b = { .max = 1 * MIB };

    (void)state;
    add_bomb(&b, 9);
    assert_int_equal(read_text(buf_text(&b), &l, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "amplification"));
}

static void a_value_that_never_ends_is_refused(void **state)
{
    struct err err = ERR_INIT;
    AUTO(log) struct log l = { 0 };
    AUTO_BUF b = { .max = 4 * MIB };
    uint8_t *room;

    (void)state;
    assert_int_equal(buf_add_str(&b, "<configuration><property><value>"), 0);
    assert_int_equal(buf_room(&b, XML_TEXT_MAX + 1, &room), 0);
    memset(room, 'x', XML_TEXT_MAX + 1);
    b.len += XML_TEXT_MAX + 1;
    assert_int_equal(buf_add_str(&b, "</value></property></configuration>"), 0);
    assert_int_equal(read_text(buf_text(&b), &l, &err), -E2BIG);
    assert_non_null(strstr(err.text, "a value is longer than 1 MiB"));
}

static void deep_nesting_is_refused(void **state)
{
    struct err err = ERR_INIT;
    AUTO(log) struct log l = { 0 };
    AUTO_BUF b = { .max = 1 * MIB };

    (void)state;
    assert_int_equal(buf_add_str(&b, "<configuration>"), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(buf_add_str(&b, "<a>"), 0);
    assert_int_equal(read_text(buf_text(&b), &l, &err), -E2BIG);
    assert_non_null(strstr(err.text, "nested too deep"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(properties_are_read_as_hadoop_reads_them),
        cmocka_unit_test(an_include_counts_or_its_fallback_does),
        cmocka_unit_test(a_broken_file_is_reported_with_line_and_column),
        cmocka_unit_test(entity_bombs_are_refused),
        cmocka_unit_test(a_value_that_never_ends_is_refused),
        cmocka_unit_test(deep_nesting_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
