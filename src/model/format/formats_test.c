/* formats_test.c - see formats.h. Models by the real frameworks are in test/model; here are bytes
 * that are made to be wrong. */
#include "base/str.h"
#include "model/format/formats.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

struct bytes {
    const char *path;
    const void *p;
    size_t n;
};

#define TEXT(path, text)                                                                           \
    {                                                                                              \
        path, text, sizeof(text) - 1                                                               \
    }

static int read_bytes(void *arg, size_t file, uint64_t at, void *p, size_t n, struct err *err)
{
    const struct bytes *b = (const struct bytes *)arg + file;

    (void)err;
    assert_true(at <= b->n && n <= b->n - at);
    memcpy(p, (const char *)b->p + at, n);
    return 0;
}

/* The format, or NULL with what is said in `err`. Files must be sorted. */
static int find(struct bytes *v, size_t n, struct format_facts *ret, struct err *err)
{
    struct format_file files[4];
    struct format_tree t = { .files = files, .n = n, .read = read_bytes, .arg = v };

    for (size_t i = 0; i < n; i++)
        files[i] = (struct format_file){ v[i].path, v[i].n };
    return format_find(&t, ret, err);
}

/* ir_version 8, graph { input { name "x" } }, opset_import { version 17 } */
static const char small_onnx[] = "\x08\x08\x3a\x05\x5a\x03\x0a\x01x\x42\x02\x10\x11";

static void onnx_is_recognised_by_its_fields(void **state)
{
    struct bytes v[] = { { "any.name", small_onnx, sizeof(small_onnx) - 1 } };
    struct err err = ERR_INIT;
    AUTO_FORMAT_FACTS f = { 0 };

    (void)state;
    assert_int_equal(find(v, 1, &f, &err), 0);
    assert_string_equal(f.format, "onnx");
    assert_string_equal(f.entry, "any.name");
    assert_int_equal(json_int_or(f.framework, "opset", 0), 17);
}

static void no_part_of_an_onnx_model_is_one(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(small_onnx) - 1; n++) {
        struct bytes v[] = { { "m", small_onnx, n } };
        struct err err = ERR_INIT;
        AUTO_FORMAT_FACTS f = { 0 };

        assert_int_equal(find(v, 1, &f, &err), -EINVAL);
        assert_null(f.format);
    }
}

/* A length of 2^64 - 1 in the graph must not lead out of the file. */
static void lengths_that_lie_are_refused(void **state)
{
    struct bytes v[] = {
        TEXT("m", "\x08\x08\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x42\x02\x10\x11"),
    };
    struct err err = ERR_INIT;
    AUTO_FORMAT_FACTS f = { 0 };

    (void)state;
    assert_int_equal(find(v, 1, &f, &err), -EINVAL);
}

static void a_damaged_saved_model_is_refused_by_name(void **state)
{
    struct bytes v[] = { TEXT("saved_model.pb", "\x12\x7f") };
    struct err err = ERR_INIT;
    AUTO_FORMAT_FACTS f = { 0 };

    (void)state;
    assert_int_equal(find(v, 1, &f, &err), -EINVAL);
    assert_non_null(strstr(err.text, "saved_model.pb"));
}

static void ubjson_that_nests_without_end_is_refused(void **state)
{
    char deep[400] = "{L\0\0\0\0\0\0\0\7learner";
    struct bytes v[] = { { "m", deep, sizeof(deep) } };
    struct err err = ERR_INIT;
    AUTO_FORMAT_FACTS f = { 0 };

    (void)state;
    memset(deep + 17, '[', sizeof(deep) - 17);
    assert_int_equal(find(v, 1, &f, &err), -EINVAL);
}

static void text_of_lightgbm_needs_its_facts(void **state)
{
    struct bytes good[] = { TEXT("m", "tree\nversion=v4\nmax_feature_idx=3\n\nTree=0\n") };
    struct bytes none[] = { TEXT("m", "tree\nof life\n") };
    struct err err = ERR_INIT;
    AUTO_FORMAT_FACTS f = { 0 };

    (void)state;
    assert_int_equal(find(none, 1, &f, &err), -EINVAL);
    assert_int_equal(find(good, 1, &f, &err), 0);
    assert_string_equal(f.format, "lightgbm");
}

static void a_directory_that_says_what_it_is_counts_first(void **state)
{
    struct bytes v[] = {
        { "a.onnx", small_onnx, sizeof(small_onnx) - 1 },
        { "b.onnx", small_onnx, sizeof(small_onnx) - 1 },
        TEXT("model.py", "def load(d): pass\ndef predict(x): pass\n"),
    };
    struct err err = ERR_INIT;
    AUTO_FORMAT_FACTS f = { 0 };

    (void)state;
    assert_int_equal(find(v, 2, &f, &err), -EINVAL);
    assert_string_equal(err.text, "it holds two models: 'a.onnx' (onnx) and 'b.onnx' (onnx)");
    assert_int_equal(find(v, 3, &f, &err), 0);
    assert_string_equal(f.format, "python");
}

static void the_facts_of_xgboost_are_found_around_its_trees(void **state)
{
#define AROUND(trees, more)                                                                        \
    "{\"learner\": {\"feature_names\": [\"]\", \"\\\"[\"], \"gradient_booster\": {\"model\": "     \
    "{\"trees\": [" trees "]}, \"name\": \"gbtree\"}, \"learner_model_param\": {\"num_feature\": " \
    "\"7\"}, \"objective\": {\"name\": \"reg:x\"}" more "}, \"version\": [3, 2, 0]}"
    static const struct {
        const char *text;
        bool is;
    } rows[] = {
        { AROUND("", ""), true },
        { AROUND("{\"a\": [1, [2, {}]], \"b\": \"}]\"}, {}", ""), true },
        { AROUND("[1, 2", ""), false },
        { AROUND("\"", ""), false },
        { AROUND("", ", \"x\": }"), false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bytes v[] = { { "m", rows[i].text, strlen(rows[i].text) } };
        struct err err = ERR_INIT;
        AUTO_FORMAT_FACTS f = { 0 };

        assert_int_equal(find(v, 1, &f, &err), rows[i].is ? 0 : -EINVAL);
        if (!rows[i].is)
            continue;
        assert_string_equal(f.format, "xgboost");
        assert_string_equal(json_string_value(json_object_get(f.framework, "version")), "3.2.0");
        assert_string_equal(json_string_value(json_object_get(f.framework, "objective")), "reg:x");
        assert_non_null(f.signatures);
    }
}

/* graph { initializer { name "w…" } … input { name "w…" } … }: as many of each. */
static size_t add_names(char *to, unsigned field, unsigned within, unsigned n)
{
    size_t at = 0;

    for (unsigned i = 0; i < n; i++) {
        to[at++] = (char)(field << 3 | 2);
        to[at++] = 9;
        to[at++] = (char)(within << 3 | 2);
        to[at++] = 7;
        at += (size_t)snprintf(to + at, 8, "w%06u", i);
    }
    return at;
}

/* Each of these looks for its name among all of the others: it must not take all of them. */
static void many_names_take_no_time(void **state)
{
    enum { NAMES = 300000, ROW = 11 };
    const size_t graph = (size_t)2 * NAMES * ROW;
    AUTO_FREE char *p = calloc(1, graph + 64);
    struct bytes v[] = { { "m", p, 0 } };
    struct err err = ERR_INIT;
    AUTO_FORMAT_FACTS f = { 0 };
    clock_t began = clock();
    size_t at = 2;

    (void)state;
    assert_non_null(p);
    memcpy(p, "\x08\x08", 2);
    p[at++] = 0x3a;
    for (size_t left = graph; left > 0; left >>= 7)
        p[at++] = (char)((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
    at += add_names(p + at, 5, 8, NAMES);
    at += add_names(p + at, 11, 1, NAMES);
    memcpy(p + at, "\x42\x02\x10\x11", 4);
    v[0].n = at + 4;
    assert_int_equal(find(v, 1, &f, &err), 0);
    assert_string_equal(f.format, "onnx");
    assert_int_equal(json_array_size(json_object_get(
                         json_object_get(f.signatures, "serving_default"), "inputs")),
                     0);
    assert_true((clock() - began) / CLOCKS_PER_SEC < 60);
}

/* What the model server would refuse to start is refused here, and what it would start is not. */
static void a_command_that_is_taken_can_be_started(void **state)
{
    static const struct {
        const char *text, *wrong;
    } rows[] = {
        { "{\"command\": [\"./s\", \"{port}\"], \"health\": null}", NULL },
        { "{\"command\": [\"./s\", \"-p{port}\"], \"health\": \"/a?b=1\"}", NULL },
        { "{\"command\": [\"./s\", \"{port}\"], \"health\": \"/a b\"}", "'health' must be a path" },
        { "{\"command\": [\"./s\", \"{port}\"], \"health\": 1}", "'health' must be a path" },
        { "{\"command\": [\"\", \"{port}\"]}", "the first one the program" },
        { "{\"command\": [\"./s\", \"{port}\"], \"helth\": \"/\"}", "unknown key 'helth'" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bytes v[] = { { "command.json", rows[i].text, strlen(rows[i].text) } };
        struct err err = ERR_INIT;
        AUTO_FORMAT_FACTS f = { 0 };
        int r = find(v, 1, &f, &err);

        if (rows[i].wrong ? !strstr(err.text, rows[i].wrong) : r < 0)
            fail_msg("'%s': '%s'", rows[i].text, err.text);
        assert_int_equal(r, rows[i].wrong ? -EINVAL : 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(onnx_is_recognised_by_its_fields),
        cmocka_unit_test(no_part_of_an_onnx_model_is_one),
        cmocka_unit_test(lengths_that_lie_are_refused),
        cmocka_unit_test(a_damaged_saved_model_is_refused_by_name),
        cmocka_unit_test(ubjson_that_nests_without_end_is_refused),
        cmocka_unit_test(text_of_lightgbm_needs_its_facts),
        cmocka_unit_test(a_directory_that_says_what_it_is_counts_first),
        cmocka_unit_test(the_facts_of_xgboost_are_found_around_its_trees),
        cmocka_unit_test(many_names_take_no_time),
        cmocka_unit_test(a_command_that_is_taken_can_be_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
