/* feature_rows_test.c - shapes of models that take rows of features, and what their libraries say.
 */
#include "base/auto.h"
#include "serve/backend/feature_rows.h"
#include "test.h"

#include <string.h>

static void a_model_has_one_input_and_one_output(void **state)
{
    static const struct feature_rows rows[] = {
        { TENSOR_FP32, .features = 4, .outputs = 1, .flat = true },
        { TENSOR_FP64, .features = 7, .outputs = 3 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SIGNATURE s = { 0 };
        const struct signature_slot *in, *out;

        assert_int_equal(feature_rows_signature(&rows[i], &s, NULL), 0);
        in = signature_find(&s.inputs, "input", NULL);
        out = signature_find(&s.outputs, "output", NULL);
        assert_true(in && out && s.inputs.n == 1 && s.outputs.n == 1);
        assert_true(in->type == rows[i].type && out->type == rows[i].type);
        assert_true(in->rank == 2 && in->dims[0] == -1 && in->dims[1] == rows[i].features);
        assert_true(out->dims[0] == -1 && out->rank == (rows[i].flat ? 1 : 2));
        assert_true(rows[i].flat || out->dims[1] == rows[i].outputs);
    }
}

static void rows_are_counted_when_they_fit(void **state)
{
    static const struct {
        enum tensor_type type;
        size_t rank;
        int64_t dims[3], rows; /* -1: they do not fit */
    } rows[] = {
        { TENSOR_FP32, 2, { 5, 4 }, 5 },  { TENSOR_FP32, 2, { 0, 4 }, 0 },
        { TENSOR_FP32, 2, { 5, 3 }, -1 }, { TENSOR_FP64, 2, { 5, 4 }, -1 },
        { TENSOR_FP32, 1, { 4 }, -1 },    { TENSOR_FP32, 3, { 5, 4, 1 }, -1 },
    };
    const struct feature_rows model = { TENSOR_FP32, .features = 4, .outputs = 1, .flat = true };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_TENSORS in = { 0 };
        struct tensor *t = NULL;
        int64_t n = -1;
        int r;

        assert_int_equal(tensors_add(&in, &t, NULL), 0);
        assert_int_equal(tensor_init(t, "input", rows[i].type, rows[i].dims, rows[i].rank, NULL),
                         0);
        r = feature_rows_count(&model, &in, &n, NULL);
        assert_int_equal(r, rows[i].rows < 0 ? -EINVAL : 0);
        assert_int_equal(n, rows[i].rows);
    }
}

static void what_a_library_says_becomes_one_line(void **state)
{
    static const char *const rows[][2] = {
        { "[02:30:11] /workspace/src/learner.cc:921: Check failed: a == b (1 vs. 2) : Bad\nmodel"
          "\nStack trace:\n  [bt] (0) /x.so(+0x1)",
          "Check failed: a == b (1 vs. 2) : Bad model" },
        { "Model format error, expect a tree here. met x\n",
          "Model format error, expect a tree here. met x" },
        { "[1, 2] is no shape", "[1, 2] is no shape" },
        { "", "" },
        { "[", "[" },
        { "[02:30:11] ", "" },
        { "/a/b.h:12: Bad thing: c", "Bad thing: c" },
        { "/a/b.h:12:", "/a/b.h:12:" },
        { "b: c", "b: c" },
        { "met \xb0\x1b[2J", "met \\xb0\\x1b[2J" },
    };
    char text[64], small[8];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_string_equal(feature_rows_sentence(rows[i][0], text, sizeof(text)), rows[i][1]);
    assert_string_equal(feature_rows_sentence("0123456789", small, sizeof(small)), "0123456");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_has_one_input_and_one_output),
        cmocka_unit_test(rows_are_counted_when_they_fit),
        cmocka_unit_test(what_a_library_says_becomes_one_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
