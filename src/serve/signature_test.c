/* signature_test.c - what a request's tensors are told when they do not fit the model. */
#include "serve/signature.h"
#include "test.h"

static void make_signature(struct signature *s)
{
    static const int64_t image[] = { -1, 28, 28 }, scores[] = { -1, 10 };
    struct err err = ERR_INIT;

    if (signature_add(&s->inputs, "image", NULL, TENSOR_FP32, image, 3, &err) < 0 ||
        signature_add(&s->inputs, "note", "note:0", TENSOR_BYTES, NULL, 0, &err) < 0 ||
        signature_add(&s->outputs, "scores", NULL, TENSOR_FP32, scores, 2, &err) < 0)
        fail_msg("%s", err.text);
}

static void add(struct tensors *l, const char *name, enum tensor_type type, size_t rank,
                const int64_t *dims)
{
    struct tensor *t;
    struct err err = ERR_INIT;

    if (tensors_add(l, &t, &err) < 0 || tensor_init(t, name, type, dims, rank, &err) < 0)
        fail_msg("%s", err.text);
}

static const int64_t two[] = { 2, 28, 28 }, wrong[] = { 2, 28, 27 }, one[] = { 1 };

static void tensors_are_checked_by_name_type_and_shape(void **state)
{
    static const struct {
        const char *name;
        enum tensor_type type;
        size_t rank;
        const int64_t *dims;
        const char *note;
        const char *text; /* NULL: it fits */
    } rows[] = {
        { "image", TENSOR_FP32, 3, two, "note", NULL },
        { "image", TENSOR_FP64, 3, two, "note", "input 'image' is FP64, but the model takes FP32" },
        { "image", TENSOR_FP32, 3, wrong, "note",
          "input 'image' has shape [2, 28, 27], but the model takes [-1, 28, 28]" },
        { "image", TENSOR_FP32, 2, two, "note",
          "input 'image' has shape [2, 28], but the model takes [-1, 28, 28]" },
        { "imgae", TENSOR_FP32, 3, two, "note",
          "there is no input 'imgae': did you mean 'image'?" },
        { "pixels of it", TENSOR_FP32, 3, two, "note",
          "there is no input 'pixels of it': the model has 'image', 'note'" },
        { "image", TENSOR_FP32, 3, two, NULL, "input 'note' is missing" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SIGNATURE s = { 0 };
        AUTO_TENSORS l = { 0 };
        struct err err = ERR_INIT;
        int r;

        make_signature(&s);
        add(&l, rows[i].name, rows[i].type, rows[i].rank, rows[i].dims);
        if (rows[i].note)
            add(&l, rows[i].note, TENSOR_BYTES, 1, one);
        r = signature_check(&s, &l, &err);
        assert_int_equal(r, rows[i].text ? -EINVAL : 0);
        assert_string_equal(err.text, rows[i].text ? rows[i].text : "");
    }
}

static void an_input_given_twice_is_refused(void **state)
{
    AUTO_SIGNATURE s = { 0 };
    AUTO_TENSORS l = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    make_signature(&s);
    add(&l, "image", TENSOR_FP32, 3, two);
    add(&l, "image", TENSOR_FP32, 3, two);
    assert_int_equal(signature_check(&s, &l, &err), -EINVAL);
    assert_string_equal(err.text, "input 'image' is there twice");
}

static void single_precision_becomes_double_where_the_model_has_that(void **state)
{
    static const int64_t dims[] = { -1, 2 }, shape[] = { 1, 2 };
    static const float values[] = { 0.1f, -3e38f };
    AUTO_SIGNATURE s = { 0 };
    AUTO_TENSORS l = { 0 };

    (void)state;
    assert_int_equal(signature_add(&s.inputs, "x", NULL, TENSOR_FP64, dims, 2, NULL), 0);
    assert_int_equal(signature_add(&s.inputs, "y", NULL, TENSOR_FP32, dims, 2, NULL), 0);
    assert_int_equal(signature_add(&s.inputs, "z", NULL, TENSOR_FP64, dims, 2, NULL), 0);
    add(&l, "x", TENSOR_FP32, 2, shape);
    add(&l, "y", TENSOR_FP32, 2, shape);
    add(&l, "z", TENSOR_INT32, 2, shape);
    for (size_t i = 0; i < l.n; i++)
        assert_int_equal(tensor_borrow(&l.v[i], values, sizeof(values), NULL), 0);
    assert_int_equal(signature_widen(&s, &l, NULL), 0);
    assert_true(l.v[0].type == TENSOR_FP64 && l.v[1].type == TENSOR_FP32);
    assert_true(l.v[2].type == TENSOR_INT32); /* and is refused for it */
    assert_string_equal(l.v[0].name, "x");
    assert_int_equal(l.v[0].size, 2 * sizeof(double));
    for (size_t i = 0; i < COUNT_OF(values); i++)
        assert_true(((const double *)(const void *)l.v[0].data)[i] == (double)values[i]);
    assert_true(l.v[1].data == (const uint8_t *)values);
}

static void outputs_are_looked_up(void **state)
{
    AUTO_SIGNATURE s = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    make_signature(&s);
    assert_int_equal(signature_check_output(&s, "scores", &err), 0);
    assert_int_equal(signature_check_output(&s, "score", &err), -EINVAL);
    assert_string_equal(err.text, "there is no output 'score': did you mean 'scores'?");
}

static void a_slot_that_cannot_be_is_refused(void **state)
{
    static const int64_t dims[] = { 1, -2, 1, 1, 1, 1, 1, 1, 1 };
    AUTO_SIGNATURE s = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    make_signature(&s);
    assert_int_equal(signature_add(&s.inputs, "image", NULL, TENSOR_FP32, dims, 1, &err), -EINVAL);
    assert_string_equal(err.text, "'image' is there twice");
    assert_int_equal(signature_add(&s.inputs, "x", NULL, TENSOR_NONE, dims, 1, &err), -EINVAL);
    assert_int_equal(signature_add(&s.inputs, "x", NULL, TENSOR_FP32, dims, 2, &err), -EINVAL);
    assert_string_equal(err.text, "'x' has a dimension of -2");
    assert_int_equal(signature_add(&s.inputs, "x", NULL, TENSOR_FP32, dims, 9, &err), -EINVAL);
    assert_int_equal(s.inputs.n, 2);
    assert_string_equal(signature_name(&s), "serving_default");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_checked_by_name_type_and_shape),
        cmocka_unit_test(an_input_given_twice_is_refused),
        cmocka_unit_test(single_precision_becomes_double_where_the_model_has_that),
        cmocka_unit_test(outputs_are_looked_up),
        cmocka_unit_test(a_slot_that_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
