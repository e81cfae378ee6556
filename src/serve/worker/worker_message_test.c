/* worker_message_test.c - tensors through a region, and answers of a worker that lies. */
#include "serve/worker/worker_message.h"
#include "test.h"

#include <string.h>

#define REGION 4096

static void add_floats(struct tensors *l, const char *name, int64_t n)
{
    struct tensor *t = NULL;
    void *p = NULL;

    assert_int_equal(tensors_add(l, &t, NULL), 0);
    assert_int_equal(tensor_init(t, name, TENSOR_FP32, &n, 1, NULL), 0);
    assert_int_equal(tensor_alloc(t, &p, NULL), 0);
    for (int64_t i = 0; i < n; i++)
        ((float *)p)[i] = (float)i + 0.5f;
}

static void add_texts(struct tensors *l, const char *name)
{
    AUTO_BUF b = { .max = 100 };
    const int64_t two = 2;
    struct tensor *t = NULL;

    assert_int_equal(tensor_bytes_add(&b, "ab", 2), 0);
    assert_int_equal(tensor_bytes_add(&b, "", 0), 0);
    assert_int_equal(tensors_add(l, &t, NULL), 0);
    assert_int_equal(tensor_init(t, name, TENSOR_BYTES, &two, 1, NULL), 0);
    assert_int_equal(tensor_own_buf(t, &b, NULL), 0);
}

/* A region with two tensors; its size. */
static size_t fill(uint8_t *p)
{
    AUTO_TENSORS in = { 0 };
    size_t n = 0;

    add_floats(&in, "x", 3);
    add_texts(&in, "words");
    assert_int_equal(worker_tensors_size(&in, REGION, &n, NULL), 0);
    worker_tensors_put(&in, p);
    return n;
}

static void tensors_come_out_as_they_went_in(void **state)
{
    uint8_t region[REGION] = { 0 };
    AUTO_TENSORS out = { 0 };
    struct err err = ERR_INIT;
    size_t n = fill(region);

    (void)state;
    assert_int_equal(worker_tensors_take(region, n, &out, &err), 0);
    assert_int_equal(out.n, 2);
    assert_string_equal(out.v[0].name, "x");
    assert_int_equal(out.v[0].dims[0], 3);
    assert_true(((const float *)(const void *)out.v[0].data)[2] == 2.5f);
    assert_int_equal(out.v[1].type, TENSOR_BYTES);
    assert_memory_equal(out.v[1].data, "\2\0\0\0ab\0\0\0\0", 10);
}

static void what_does_not_fit_is_refused(void **state)
{
    AUTO_TENSORS in = { 0 };
    size_t n = 0;

    (void)state;
    add_floats(&in, "x", 100);
    assert_int_equal(worker_tensors_size(&in, 500, &n, NULL), -E2BIG);
    assert_int_equal(worker_tensors_size(&in, 600, &n, NULL), 0);
}

/* One field of the head or of the first record is not what it should be. */
static void an_answer_that_lies_is_refused(void **state)
{
    static const struct {
        size_t at, size;
        uint64_t value;
        const char *says;
    } rows[] = {
        { offsetof(struct worker_head, magic), 4, 1, "no list of tensors" },
        { offsetof(struct worker_head, count), 4, 257, "no list of tensors" },
        { offsetof(struct worker_head, count), 4, 200, "cut off" },
#define FIELD(f) sizeof(struct worker_head) + offsetof(struct worker_record, f)
        { FIELD(type), 4, 0, "unknown element type" },
        { FIELD(type), 4, TENSOR_TYPES_, "unknown element type" },
        { FIELD(rank), 4, 9, "9 dimensions" },
        { FIELD(name_size), 4, 0, "a name of 0 bytes" },
        { FIELD(name_size), 4, 2000, "a name of 2000 bytes" },
        { FIELD(name_size), 4, 2, "a name with a NUL" },
        { FIELD(name_at), 8, UINT64_MAX, "points out of its memory" },
        { FIELD(at), 8, UINT64_MAX - 3, "points out of its memory" },
        { FIELD(at), 8, REGION, "points out of its memory" },
        { FIELD(size), 8, UINT64_MAX, "points out of its memory" },
        { FIELD(size), 8, 8, "the worker's answer" },
        { FIELD(dims), 8, UINT64_MAX, "the worker's answer" },
        { FIELD(dims), 8, INT64_MAX, "the worker's answer" },
        { FIELD(type), 4, TENSOR_BYTES, "the worker's answer" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint8_t region[REGION] = { 0 };
        AUTO_TENSORS out = { 0 };
        struct err err = ERR_INIT;
        size_t n = fill(region);

        memcpy(region + rows[i].at, &rows[i].value, rows[i].size);
        assert_int_equal(worker_tensors_take(region, n, &out, &err), -EPROTO);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu: '%s', expected '%s'", i, err.text, rows[i].says);
        assert_int_equal(out.n, 0);
    }
}

static void an_answer_that_is_cut_off_is_refused(void **state)
{
    uint8_t region[REGION] = { 0 };
    size_t n = fill(region);

    (void)state;
    for (size_t cut = 0; cut < n; cut++) {
        AUTO_TENSORS out = { 0 };
        AUTO_FREE uint8_t *copy = malloc(cut ? cut : 1); /* its end is watched */

        assert_non_null(copy);
        memcpy(copy, region, cut);
        assert_int_equal(worker_tensors_take(copy, cut, &out, NULL), -EPROTO);
    }
}

static void two_outputs_of_one_name_are_refused(void **state)
{
    uint8_t region[REGION] = { 0 };
    AUTO_TENSORS in = { 0 }, out = { 0 };
    size_t n = 0;

    (void)state;
    add_floats(&in, "x", 1);
    add_floats(&in, "x", 1);
    assert_int_equal(worker_tensors_size(&in, REGION, &n, NULL), 0);
    worker_tensors_put(&in, region);
    assert_int_equal(worker_tensors_take(region, n, &out, NULL), -EPROTO);
}

static void a_message_must_be_one_that_is_expected(void **state)
{
    const struct worker_message good = { WORKER_MAGIC, WORKER_DONE, 7, 0 };
    const struct worker_message magic = { 1, WORKER_DONE, 7, 0 };
    const struct worker_message run = { WORKER_MAGIC, WORKER_RUN, 7, 0 };
    const struct worker_message kind = { WORKER_MAGIC, WORKER_KINDS_, 7, 0 };

    (void)state;
    assert_int_equal(worker_message_check(&good, sizeof(good), 7, NULL), 0);
    assert_int_equal(worker_message_check(&good, sizeof(good) - 1, 7, NULL), -EPROTO);
    assert_int_equal(worker_message_check(&good, sizeof(good) + 1, 7, NULL), -EPROTO);
    assert_int_equal(worker_message_check(&good, sizeof(good), 6, NULL), -EPROTO);
    assert_int_equal(worker_message_check(&magic, sizeof(magic), 7, NULL), -EPROTO);
    assert_int_equal(worker_message_check(&run, sizeof(run), 7, NULL), -EPROTO);
    assert_int_equal(worker_message_check(&kind, sizeof(kind), 7, NULL), -EPROTO);
}

static void a_text_is_cleaned_and_cut(void **state)
{
    char out[8];

    (void)state;
    worker_text_take((const uint8_t *)"a\033b", 3, out, sizeof(out));
    assert_string_equal(out, "a\\x1bb");
    worker_text_take((const uint8_t *)"0123456789", 10, out, sizeof(out));
    assert_string_equal(out, "0123456");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_come_out_as_they_went_in),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(an_answer_that_lies_is_refused),
        cmocka_unit_test(an_answer_that_is_cut_off_is_refused),
        cmocka_unit_test(two_outputs_of_one_name_are_refused),
        cmocka_unit_test(a_message_must_be_one_that_is_expected),
        cmocka_unit_test(a_text_is_cleaned_and_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
