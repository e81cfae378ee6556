/* java_test.c - Java's serialized objects, good and bad. Real ones are in app_logs_test.c. */
#include "hadoop/logs/java.h"
#include "test.h"

#include <string.h>

#define HEAD "\xac\xed\x00\x05"
#define TEXT(s) "\x74\x00" s
#define BYTES(s) s, sizeof(s) - 1

/* A class "P" with a number "n" and a text "t" of type String; no class above. */
#define CLASS_P                                                                                    \
    "\x72\x00\x01P\0\0\0\0\0\0\0\x01\x02\x00\x02I\x00\x01nL\x00\x01t\x74\x00\x12Ljava/lang/"       \
    "String;"                                                                                      \
    "\x78\x70"
/* A class "L" that writes items of its own. */
#define CLASS_L "\x72\x00\x01L\0\0\0\0\0\0\0\x01\x03\x00\x00\x78\x70"

static int parse(const char *p, size_t n, struct java **ret)
{
    return java_parse(p, n, ret, NULL);
}

static void fields_are_found_by_name(void **state)
{
    static const char bytes[] = HEAD "\x73" CLASS_P "\xff\xff\xff\xfe" TEXT("\x02hi");
    AUTO(java) struct java *j = NULL;
    const struct java_value *v;
    int64_t n = 0;

    (void)state;
    assert_int_equal(parse(BYTES(bytes), &j), 0);
    v = java_root(j);
    assert_int_equal(v->kind, JAVA_OBJECT);
    assert_int_equal(java_number(v, "n", &n), 0);
    assert_int_equal(n, -2);
    assert_int_equal(java_text(v, "t").n, 2);
    assert_memory_equal(java_text(v, "t").p, "hi", 2);
    assert_int_equal(java_number(v, "t", &n), -ENOENT);
    assert_int_equal(java_text(v, "none").n, 0);
    assert_null(java_field(NULL, "t"));
}

static void items_and_references_are_read(void **state)
{
    /* Three items: "a", null, and "a" again by its number (class 0, object 1, text 2). */
    static const char bytes[] =
        HEAD "\x73" CLASS_L "\x77\x04zzzz" TEXT("\x01"
                                                "a") "\x70\x71\x00\x7e\x00\x02\x78";
    AUTO(java) struct java *j = NULL;
    const struct java_value *v;

    (void)state;
    assert_int_equal(parse(BYTES(bytes), &j), 0);
    v = java_root(j);
    assert_int_equal(v->n_items, 3);
    assert_int_equal(v->items[0]->kind, JAVA_TEXT);
    assert_null(v->items[1]);
    assert_ptr_equal(v->items[2], v->items[0]);
}

static void what_java_does_not_write_is_refused(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } rows[] = {
        { BYTES("") },
        { BYTES("\xac\xed\x00\x04\x70") },
        { BYTES(HEAD) },
        { BYTES(HEAD "\x7f") },
        { BYTES(HEAD TEXT("\x05hi")) },
        { BYTES(HEAD "\x7c\xff\xff\xff\xff\xff\xff\xff\xffhi") },
        { BYTES(HEAD "\x71\x00\x7e\x00\x00") },         /* nothing has that number */
        { BYTES(HEAD "\x71\x00\x00\x00\x00") },         /* nor can anything have this one */
        { BYTES(HEAD "\x73\x70") },                     /* an object without a class */
        { BYTES(HEAD "\x73" CLASS_P "\x00\x00") },      /* cut */
        { BYTES(HEAD "\x73" CLASS_L "\x77\xffz\x78") }, /* a block that is too short */
        { BYTES(HEAD "\x72") },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(java) struct java *j = NULL;

        assert_int_equal(parse(rows[i].bytes, rows[i].n, &j), -EBADMSG);
        assert_null(j);
    }
}

/* An object inside an object, as deep as one likes. */
static void depth_is_bounded(void **state)
{
    static const char again[] = "\x73\x71\x00\x7e\x00\x00"; /* an object of the first class */
    AUTO_BUF b = { .max = 64 * KIB };
    AUTO(java) struct java *j = NULL;

    (void)state;
    assert_int_equal(buf_add(&b, BYTES(HEAD "\x73" CLASS_L)), 0);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(buf_add(&b, BYTES(again)), 0);
    assert_int_equal(java_parse(b.data, b.len, &j, NULL), -EBADMSG);
}

/* A class that is its own parent. */
static void a_circle_of_classes_is_refused(void **state)
{
    static const char bytes[] =
        HEAD "\x73\x72\x00\x01P\0\0\0\0\0\0\0\x01\x02\x00\x00\x78\x71\x00\x7e\x00\x00";
    AUTO(java) struct java *j = NULL;

    (void)state;
    assert_int_equal(parse(BYTES(bytes), &j), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_found_by_name),
        cmocka_unit_test(items_and_references_are_read),
        cmocka_unit_test(what_java_does_not_write_is_refused),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(a_circle_of_classes_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
