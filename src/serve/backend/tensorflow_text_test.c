/* tensorflow_text_test.c - what is made of TensorFlow's texts, which are as it says them. */
#include "serve/backend/tensorflow_private.h"
#include "test.h"

static void a_failure_is_one_line_without_nodes(void **state)
{
    static const struct {
        const char *said, *shown;
    } rows[] = {
        { "", "" },
        { "plain", "plain" },
        { "{{function_node __inference_f_12}} indices[0] = 99 is not in [0, 10)\n\t [[{{node g}}]]",
          "indices[0] = 99 is not in [0, 10)" },
        { "2 root error(s) found.\n  (0) INVALID_ARGUMENT: {{function_node f}} x is wrong\n\t "
          "[[{{node f}}]]\n  (1) INVALID_ARGUMENT: y",
          "x is wrong" },
        { "2 root error(s) found.\n", "" },
        { "a {{b", "a {{b" },
        { "not \xff UTF-8\ttab", "not \\xff UTF-8 tab" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char out[256];

        assert_string_equal(tf_sentence(rows[i].said, out, sizeof(out)), rows[i].shown);
    }
}

static void it_fits_its_room(void **state)
{
    char out[6];

    (void)state;
    assert_string_equal(tf_sentence("0123456789", out, sizeof(out)), "01234");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_is_one_line_without_nodes),
        cmocka_unit_test(it_fits_its_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
