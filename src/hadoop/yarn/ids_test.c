/* ids_test.c - claims about ids.h. */
#include "base/auto.h"
#include "hadoop/yarn/ids.h"
#include "hadoop/yarn/message.h"
#include "test.h"

#include <string.h>

#define EPOCH(n) ((int64_t)(n) << 40)

static void every_text_form_is_read_and_written_back(void **state)
{
    static const struct {
        const char *text;
        struct yarn_container_id id;
    } rows[] = {
        { "container_1794718682665_0075_01_000002", { { { 1794718682665, 75 }, 1 }, 2 } },
        { "container_e02_1794718682665_0075_01_000002",
          { { { 1794718682665, 75 }, 1 }, EPOCH(2) | 2 } },
        { "container_e127_1410901177871_0001_01_000005",
          { { { 1410901177871, 1 }, 1 }, EPOCH(127) | 5 } },
        { "container_1_10000_100_1000000", { { { 1, 10000 }, 100 }, 1000000 } },
        { "container_e8388607_9223372036854775807_2147483647_2147483647_1099511627775",
          { { { INT64_MAX, INT32_MAX }, INT32_MAX }, INT64_MAX } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct yarn_container_id id = { 0 };
        char text[YARN_CONTAINER_ID_TEXT];

        assert_int_equal(yarn_container_id_parse(rows[i].text, &id, NULL), 0);
        assert_int_equal(yarn_container_id_cmp(id, rows[i].id), 0);
        assert_string_equal(yarn_container_id_text(id, text), rows[i].text);
    }
}

static void short_numbers_are_accepted_and_written_in_full(void **state)
{
    struct yarn_app_id app;
    struct yarn_attempt_id attempt = { { 7, 1 }, 2 };
    struct yarn_container_id container;
    char text[YARN_CONTAINER_ID_TEXT];

    (void)state;
    assert_int_equal(yarn_app_id_parse("application_7_1", &app, NULL), 0);
    assert_string_equal(yarn_app_id_text(app, text), "application_7_0001");
    assert_string_equal(yarn_attempt_id_text(attempt, text), "appattempt_7_0001_000002");
    assert_int_equal(yarn_container_id_parse("container_e1_7_1_2_3", &container, NULL), 0);
    assert_string_equal(yarn_container_id_text(container, text), "container_e01_7_0001_02_000003");
}

static void hostile_text_is_refused_with_a_sentence(void **state)
{
    static const char *const apps[] = {
        "",
        "application",
        "application_",
        "application_1",
        "application_1_",
        "application__1",
        "application_1_2_3",
        "application_1_2 ",
        " application_1_2",
        "application_-1_2",
        "application_+1_2",
        "application_1_0x2",
        "Application_1_2",
        "application_1_2147483648",
        "application_9223372036854775808_1",
        "application_1_99999999999999999999999",
        "appattempt_1_2_3",
        "application_1_2\n",
    };
    static const char *const containers[] = {
        "container_",
        "container_1_1_1",
        "container_e_1_1_1_1",
        "container_e01_1_1_1",
        "container_e01_1_1_1_1_1",
        "container_e8388608_1_1_1_1",
        "container_1_1_1_1099511627776",
        "container_e1",
        "container_ee1_1_1_1_1",
        "container_e-1_1_1_1_1",
    };
    struct yarn_app_id app = { 5, 5 };
    struct yarn_container_id container = { { { 5, 5 }, 5 }, 5 };
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(apps); i++)
        assert_int_equal(yarn_app_id_parse(apps[i], &app, NULL), -EINVAL);
    for (size_t i = 0; i < COUNT_OF(containers); i++)
        assert_int_equal(yarn_container_id_parse(containers[i], &container, NULL), -EINVAL);
    assert_int_equal(app.id, 5); /* untouched */
    assert_int_equal(container.id, 5);
    assert_int_equal(yarn_container_id_parse(NULL, &container, &err), -EINVAL);
    assert_string_equal(err.text, "'' is not a container id");
    err_clear(&err);
    assert_int_equal(yarn_app_id_parse("job\x1b[2J", &app, &err), -EINVAL);
    assert_null(strchr(err.text, '\x1b'));
    assert_string_equal(err.hint, "it looks like application_1794718682665_0075");
}

static void ids_sort_by_age(void **state)
{
    static const char *const sorted[] = {
        "container_1_9_9_9",     "container_2_1_1_1",    "container_2_1_1_2",
        "container_2_1_1_10",    "container_e1_2_1_1_1", "container_e1_2_1_1_2",
        "container_e10_2_1_1_1", "container_2_1_2_1",    "container_2_2_1_1",
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sorted); i++)
        for (size_t k = 0; k < COUNT_OF(sorted); k++) {
            struct yarn_container_id a, b;
            int c;

            assert_int_equal(yarn_container_id_parse(sorted[i], &a, NULL), 0);
            assert_int_equal(yarn_container_id_parse(sorted[k], &b, NULL), 0);
            c = yarn_container_id_cmp(a, b);
            assert_true(i < k ? c < 0 : i > k ? c > 0 : c == 0);
        }
}

static void messages_have_the_bytes_that_java_writes(void **state)
{
    /* From a captured answer: container 2 of attempt 1 of application 75. */
    static const uint8_t golden[] = { 0x12, 0x0d, 0x0a, 0x09, 0x08, 0x4b, 0x10, 0xa9, 0x9c,
                                      0xc7, 0xec, 0x9d, 0x34, 0x10, 0x01, 0x18, 0x02 };
    struct yarn_container_id id = { { { 1794718682665, 75 }, 1 }, 2 };
    struct yarn_id_message m;
    uint8_t packed[64];
    Yarn__ContainerId *back;

    (void)state;
    assert_int_equal(yarn__container_id__pack(yarn_container_id_message(&m, id), packed),
                     sizeof(golden));
    assert_memory_equal(packed, golden, sizeof(golden));
    back = yarn__container_id__unpack(NULL, sizeof(golden), golden);
    assert_int_equal(yarn_container_id_cmp(yarn_container_id_of(back), id), 0);
    message_free(back);
}

static void absent_parts_of_a_message_are_zero(void **state)
{
    Yarn__ContainerId empty = YARN__CONTAINER_ID__INIT;
    char text[YARN_CONTAINER_ID_TEXT];

    (void)state;
    assert_string_equal(yarn_container_id_text(yarn_container_id_of(NULL), text),
                        "container_0_0000_00_000000");
    assert_string_equal(yarn_container_id_text(yarn_container_id_of(&empty), text),
                        "container_0_0000_00_000000");
    empty.id = INT64_MIN; /* nonsense must not hurt */
    assert_non_null(yarn_container_id_text(yarn_container_id_of(&empty), text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_text_form_is_read_and_written_back),
        cmocka_unit_test(short_numbers_are_accepted_and_written_in_full),
        cmocka_unit_test(hostile_text_is_refused_with_a_sentence),
        cmocka_unit_test(ids_sort_by_age),
        cmocka_unit_test(messages_have_the_bytes_that_java_writes),
        cmocka_unit_test(absent_parts_of_a_message_are_zero),
    };

    return cmocka_run_group_tests_name("yarn ids", tests, NULL, NULL);
}
