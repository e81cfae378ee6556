/* oip_test.c - the Open Inference Protocol's documented requests, as JSON and with binary tensors,
 * and what is told of wrong ones, as rows. */
#include "base/str.h"
#include "serve/protocol/protocol_testing.h"
#include "test.h"

#include <string.h>

struct row {
    const char *method, *target, *body;
    int status;
    const char *answer; /* "…" at its end: more may follow */
};

static bool is_answer(const char *have, const char *want)
{
    size_t n = strlen(want);

    return str_ends(want, "…") ? strncmp(have, want, n - strlen("…")) == 0
                               : strcmp(have, want) == 0;
}

static void check_rows(const struct row *rows, size_t n)
{
    struct test_server s;

    assert_true(test_server_init(&s));
    for (size_t i = 0; i < n; i++) {
        const struct row *row = &rows[i];
        const struct exchange_request q = { .method = row->method, .target = row->target };
        size_t body_n = row->body ? strlen(row->body) : 0;
        AUTO_EXCHANGE x = { 0 };

        assert_int_equal(test_ask(&s, &x, &q, row->body, body_n), EXCHANGE_DONE);
        if (x.answer.status != row->status || !is_answer(buf_text(&x.answer.body), row->answer))
            fail_msg("%s %s %s: %d %s, expected %d %s", row->method, row->target,
                     row->body ? row->body : "", x.answer.status, buf_text(&x.answer.body),
                     row->status, row->answer);
        assert_int_equal(x.answer.header_length, -1);
    }
    test_server_done(&s);
}

#define HALF "/v2/models/half/infer"
#define ECHO "/v2/models/echo/infer"
#define ONE(shape, type, data)                                                                     \
    "{\"inputs\":[{\"name\":\"x\",\"shape\":" shape ",\"datatype\":\"" type "\",\"data\":" data    \
    "}]}"

/* clang-format off */
static const struct row told[] = {
    { "GET", "/v2", NULL, 200, "{\"name\":\"ydl\",\"version\":\"0.1\",\"extensions\":[\"binary_tensor_data\",\"model_repository\"]}" },
    { "GET", "/v2/", NULL, 200, "{\"name\":\"ydl\",…" },
    { "GET", "/v2/health/live", NULL, 200, "{\"live\":true}" },
    { "GET", "/v2/health/ready?x", NULL, 200, "{\"ready\":true}" },
    { "GET", "/v2/models/half", NULL, 200,
      "{\"name\":\"half\",\"versions\":[\"1\",\"2\"],\"platform\":\"onnx_onnxv1\","
      "\"inputs\":[{\"name\":\"x\",\"datatype\":\"FP32\",\"shape\":[]}],\"outputs\":[{\"name\":\"y\",\"datatype\":\"FP32\",\"shape\":[]}]}" },
    { "GET", "/v2/models/two/versions/1", NULL, 200,
      "{\"name\":\"two\",\"versions\":[\"1\"],\"platform\":\"\",\"inputs\":[{\"name\":\"a\",\"datatype\":\"INT32\",\"shape\":[-1]},"
      "{\"name\":\"b\",\"datatype\":\"BYTES\",\"shape\":[-1,2]}],…" },
    { "GET", "/v2/models/half/ready", NULL, 200, "{\"name\":\"half\",\"ready\":true}" },
    { "GET", "/v2/models/half/versions/2/ready", NULL, 200, "{\"name\":\"half\",\"ready\":true}" },
    { "GET", "/v2/models/half/versions/3/ready", NULL, 400, "{\"name\":\"half\",\"ready\":false}" },
    { "GET", "/v2/models/half/versions/9/ready", NULL, 404, "{\"error\":\"Request for unknown model: 'half' version 9 is not found\"}" },
    { "GET", "/v2/models/foo/ready", NULL, 404, "{\"error\":\"Request for unknown model: 'foo' is not found\"}" },
    { "POST", "/v2/repository/index", "", 200, "[{\"name\":\"half\",\"version\":\"1\",\"state\":\"READY\",\"reason\":\"\"},…" },
    { "POST", "/v2/repository/main/index", "{\"ready\":true}", 200, "[{\"name\":\"half\",\"version\":\"1\",\"state\":\"READY\",\"reason\":\"\"},…" },
    { "POST", "/v2/repository/index", "{\"ready\":1}", 400, "{\"error\":\"Unable to parse 'ready'\"}" },
    { "POST", "/v2/repository/index", "{", 400, "{\"error\":\"failed to parse the request JSON buffer: Invalid value. at 1\"}" },
    { "POST", "/v2/repository/models/half/load", "{}", 501, "{\"error\":\"'half' is neither loaded…" },
    { "POST", "/v2/repository/main/models/half/unload", "", 501, "{\"error\":\"'half' is neither loaded…" },
};

static const struct row wrong_paths[] = {
    { "POST", "/v2/health/live", NULL, 405, "{\"error\":\"POST is not possible here: use GET\"}" },
    { "GET", "/v2/models/half/infer", NULL, 405, "{\"error\":\"GET is not possible here: use POST\"}" },
    { "DELETE", "/v2/models/half", NULL, 405, "{\"error\":\"DELETE is not possible here: use GET\"}" },
    { "GET", "/v2/repository/index", NULL, 405, "{\"error\":\"GET is not possible here: use POST\"}" },
    { "GET", "/v2/health/Live", NULL, 404, "{\"error\":\"there is no such path in the protocol: /v2/health/Live\"}" },
    { "GET", "/v2/models", NULL, 404, "{\"error\":\"there is no such path…" },
    { "GET", "/v2/models//ready", NULL, 404, "{\"error\":\"there is no such path…" },
    { "GET", "/v2/models/half/config", NULL, 404, "{\"error\":\"there is no such path…" },
    { "GET", "/v2/models/half/versions/v10", NULL, 400, "{\"error\":\"the version 'v10' is not a number\"}" },
    { "POST", "/v2/models/half/versions/3/infer", "{}", 503, "{\"error\":\"model 'half' version 3 is not ready\"}" },
    { "POST", "/v2/models/foo/infer", "{}", 404, "{\"error\":\"Request for unknown model: 'foo' is not found\"}" },
    { "POST", "/v2/models/%2e%2e%2ffoo/infer", "{}", 404, "{\"error\":\"Request for unknown model: '../foo' is not found\"}" },
};

static const struct row inferred[] = {
    { "POST", HALF, ONE("[3]", "FP32", "[1.0, 2, 5e0]"), 200,
      "{\"model_name\":\"half\",\"model_version\":\"2\",\"outputs\":[{\"name\":\"y\",\"shape\":[3],\"datatype\":\"FP32\",\"data\":[2.5,3.0,4.5]}]}" },
    { "POST", "/v2/models/half/versions/1/infer", "{\"id\":\"a\\\"b\",\"parameters\":{\"priority\":1},\"inputs\":[{\"name\":\"x\",\"shape\":[2,2],"
      "\"datatype\":\"FP32\",\"data\":[[1,2],[3,4]]}],\"outputs\":[{\"name\":\"y\"}]}", 200,
      "{\"model_name\":\"half\",\"model_version\":\"1\",\"id\":\"a\\\"b\",\"outputs\":[{\"name\":\"y\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[2.5,3.0,3.5,4.0]}]}" },
    { "POST", HALF, ONE("[2,2]", "FP32", "[1,2,3,4]"), 200, "{\"model_name\":\"half\",\"model_version\":\"2\",\"outputs\":[{\"name\":\"y\",\"shape\":[2,2],\"datatype\":\"FP32\",\"data\":[2.5,3.0,3.5,4.0]}]}" },
    { "POST", HALF, ONE("[]", "FP32", "[1]"), 200, "{\"model_name\":\"half\",\"model_version\":\"2\",\"outputs\":[{\"name\":\"y\",\"shape\":[],\"datatype\":\"FP32\",\"data\":[2.5]}]}" },
    { "POST", HALF, ONE("[0]", "FP32", "[]"), 200, "{\"model_name\":\"half\",\"model_version\":\"2\",\"outputs\":[{\"name\":\"y\",\"shape\":[0],\"datatype\":\"FP32\",\"data\":[]}]}" },
    { "POST", "/v2/models/text/infer", "{\"inputs\":[{\"name\":\"s\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"\\u00fc\\t\"]}]}", 200,
      "{\"model_name\":\"text\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"s\",\"shape\":[1],\"datatype\":\"BYTES\",\"data\":[\"\u00fc\\t\"]}]}" },
    { "POST", "/v2/models/two/infer", "{\"inputs\":[{\"name\":\"b\",\"shape\":[1,2],\"datatype\":\"BYTES\",\"data\":[\"x\",\"y\"]},"
      "{\"name\":\"a\",\"shape\":[2],\"datatype\":\"INT32\",\"data\":[1,-2]}],\"outputs\":[{\"name\":\"a\"}]}", 200,
      "{\"model_name\":\"two\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"a\",\"shape\":[2],\"datatype\":\"INT32\",\"data\":[1,-2]}]}" },
    { "POST", "/v2/models/image/infer", "{\"inputs\":[{\"name\":\"pixels\",\"shape\":[1,2,2],\"datatype\":\"UINT8\",\"data\":[[[0,255],[1,2]]]}]}", 200,
      "{\"model_name\":\"image\",\"model_version\":\"1\",\"outputs\":[{\"name\":\"pixels\",\"shape\":[1,2,2],\"datatype\":\"UINT8\",\"data\":[0,255,1,2]}]}" },
};

static const struct row refused[] = {
    { "POST", HALF, "", 400, "{\"error\":\"failed to parse the request JSON buffer: The document is empty at 0\"}" },
    { "POST", HALF, "[]", 400, "{\"error\":\"the request is not a JSON object\"}" },
    { "POST", HALF, "{}", 400, "{\"error\":\"Unable to parse 'inputs'\"}" },
    { "POST", HALF, "{\"inputs\":[]}", 400, "{\"error\":\"input 'x' is missing\"}" },
    { "POST", HALF, "{\"inputs\":[{},{}]}", 400, "{\"error\":\"expected 1 inputs but got 2 inputs for model 'half'\"}" },
    { "POST", HALF, "{\"inputs\":[1]}", 400, "{\"error\":\"Unable to parse 'name'\"}" },
    { "POST", HALF, "{\"inputs\":[{\"name\":\"x\\u0000\"}]}", 400, "{\"error\":\"Unable to parse 'name'\"}" },
    { "POST", HALF, "{\"inputs\":[{\"name\":\"x\"}]}", 400, "{\"error\":\"invalid datatype for input x: it is missing\"}" },
    { "POST", HALF, ONE("[1]", "FLOAT", "[1]"), 400, "{\"error\":\"invalid datatype for input x: FLOAT\"}" },
    { "POST", HALF, ONE("1", "FP32", "[1]"), 400, "{\"error\":\"Unable to parse 'shape' of input 'x'\"}" },
    { "POST", HALF, ONE("[-1]", "FP32", "[1]"), 400, "{\"error\":\"invalid shape for input 'x': a dimension is a whole number of at least 0\"}" },
    { "POST", HALF, ONE("[1.5]", "FP32", "[1]"), 400, "{\"error\":\"invalid shape for input 'x': a dimension is a whole number of at least 0\"}" },
    { "POST", HALF, ONE("[1,1,1,1,1,1,1,1,1]", "FP32", "[1]"), 400, "{\"error\":\"the shape of input 'x' has 9 dimensions: at most 8 are possible\"}" },
    { "POST", HALF, ONE("[9223372036854775807,9]", "FP32", "[1]"), 400, "{\"error\":\"invalid shape for input 'x': [9223372036854775807, 9] is too large for memory\"}" },
    { "POST", HALF, ONE("[1000000000]", "FP32", "[1]"), 400, "{\"error\":\"'data' of input 'x' has 1 values, but its shape has 1000000000\"}" },
    { "POST", HALF, ONE("[1]", "FP32", "[1,2]"), 400, "{\"error\":\"'data' of input 'x' has 2 values, but its shape has 1\"}" },
    { "POST", HALF, ONE("[1]", "FP32", "1"), 400, "{\"error\":\"Unable to parse 'data' of input 'x': 1 is not FP32\"}" },
    { "POST", HALF, ONE("[1]", "FP32", "[\"1\"]"), 400, "{\"error\":\"Unable to parse 'data' of input 'x': \\\"1\\\" is not FP32\"}" },
    { "POST", HALF, ONE("[2]", "FP32", "[[1],2]"), 400, "{\"error\":\"Unable to parse 'data' of input 'x': 2 is not FP32\"}" },
    { "POST", HALF, ONE("[1]", "FP32", "[[[[[[[[[[1]]]]]]]]]]"), 400, "{\"error\":\"Unable to parse 'data' of input 'x': [[1]] is not FP32\"}" },
    { "POST", HALF, ONE("[1]", "FP16", "[1]"), 400, "{\"error\":\"receiving FP16 data via JSON is not supported. Please use the binary data format for input x\"}" },
    { "POST", HALF, ONE("[1]", "FP64", "[1]"), 400, "{\"error\":\"input 'x' is FP64, but the model takes FP32\"}" },
    { "POST", "/v2/models/image/infer", "{\"inputs\":[{\"name\":\"pixels\",\"shape\":[1,2,2],\"datatype\":\"UINT8\",\"data\":[0,256,1,2]}]}", 400,
      "{\"error\":\"Unable to parse 'data' of input 'pixels': 256 is not UINT8\"}" },
    { "POST", "/v2/models/image/infer", "{\"inputs\":[{\"name\":\"pixels\",\"shape\":[1,4],\"datatype\":\"UINT8\",\"data\":[0,1,1,2]}]}", 400,
      "{\"error\":\"input 'pixels' has shape [1, 4], but the model takes [-1, 2, 2]\"}" },
    { "POST", HALF, "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\"}]}", 400,
      "{\"error\":\"Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters'. But no field is set\"}" },
    { "POST", HALF, "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1],\"parameters\":{\"binary_data_size\":4}}]}", 400,
      "{\"error\":\"Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters'. But set 'data' 'binary_data_size'\"}" },
    { "POST", HALF, "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":4}}]}", 400,
      "{\"error\":\"must specify valid 'Inference-Header-Content-Length' in request header and 'binary_data_size' when passing inputs in binary data format\"}" },
    { "POST", HALF, "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"parameters\":{\"shared_memory_region\":\"r\"}}]}", 501, "{\"error\":\"input 'x' is in shared memory…" },
    { "POST", HALF, "{\"id\":1,\"inputs\":[]}", 400, "{\"error\":\"Unable to parse 'id'\"}" },
    { "POST", HALF, "{\"parameters\":{\"binary_data_output\":1},\"inputs\":[]}", 400, "{\"error\":\"Unable to parse 'binary_data_output'\"}" },
    { "POST", HALF, "{\"inputs\":[],\"outputs\":{}}", 400, "{\"error\":\"Unable to parse 'outputs'\"}" },
    { "POST", HALF, "{\"inputs\":[],\"outputs\":[{\"name\":\"yy\"}]}", 400, "{\"error\":\"there is no output 'yy': did you mean 'y'?\"}" },
    { "POST", HALF, "{\"inputs\":[],\"outputs\":[{\"name\":\"y\"},{\"name\":\"y\"}]}", 400, "{\"error\":\"output 'y' is there twice\"}" },
    { "POST", HALF, "{\"inputs\":[],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":\"yes\"}}]}", 400, "{\"error\":\"Unable to parse 'binary_data'\"}" },
    { "POST", HALF, "{\"inputs\":[],\"outputs\":[{\"name\":\"y\",\"parameters\":{\"classification\":2}}]}", 501, "{\"error\":\"output 'y' asks for 'classification'…" },
    { "POST", HALF, "{\"inputs\":[{\"name\":\"z\",\"shape\":[1],\"datatype\":\"FP32\",\"data\":[1]}]}", 400, "{\"error\":\"there is no input 'z': the model has 'x'\"}" },
    { "POST", HALF, "{\"inputs\":[]} {}", 400, "{\"error\":\"failed to parse the request JSON buffer: The document root must not be followed by other values. at 14\"}" },
};
/* clang-format on */

static void servers_and_models_are_described(void **state)
{
    (void)state;
    check_rows(told, COUNT_OF(told));
}

static void wrong_paths_and_methods_are_told(void **state)
{
    (void)state;
    check_rows(wrong_paths, COUNT_OF(wrong_paths));
}

static void documented_requests_are_answered(void **state)
{
    (void)state;
    check_rows(inferred, COUNT_OF(inferred));
}

static void wrong_infer_requests_are_told_what_is_wrong(void **state)
{
    (void)state;
    check_rows(refused, COUNT_OF(refused));
}

static void a_server_that_is_not_ready_says_so_by_its_status(void **state)
{
    const struct exchange_request live = { .method = "GET", .target = "/v2/health/live" };
    const struct exchange_request ready = { .method = "GET", .target = "/v2/health/ready" };
    struct test_server s;
    AUTO_EXCHANGE x = { 0 }, y = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    s.served.ready = false;
    assert_int_equal(test_ask(&s, &x, &live, NULL, 0), EXCHANGE_DONE);
    assert_int_equal(x.answer.status, 200);
    assert_int_equal(test_ask(&s, &y, &ready, NULL, 0), EXCHANGE_DONE);
    assert_int_equal(y.answer.status, 400);
    assert_string_equal(buf_text(&y.answer.body), "{\"ready\":false}");
    test_server_done(&s);
}

static void a_wrong_method_names_the_right_one(void **state)
{
    const struct exchange_request q = { .method = "PUT", .target = "/v2/models/half/infer" };
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    assert_int_equal(test_ask(&s, &x, &q, NULL, 0), EXCHANGE_DONE);
    assert_int_equal(x.answer.status, 405);
    assert_string_equal(x.answer.allow, "POST");
    test_server_done(&s);
}

static void other_paths_are_left_to_the_server(void **state)
{
    static const char *const paths[] = { "/", "/metrics", "/v1", "/v2x", "/v3/models", "*", "" };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        const struct exchange_request q = { .method = "GET", .target = paths[i] };
        AUTO_EXCHANGE x = { 0 };

        assert_int_equal(test_ask(&s, &x, &q, NULL, 0), EXCHANGE_OTHER);
        assert_int_equal(exchange_fail(&x, EXCHANGE_NOT_FOUND, "no such page"), EXCHANGE_DONE);
        assert_int_equal(x.answer.status, 404);
    }
    test_server_done(&s);
}

/* A request of JSON and bytes behind it. */
struct parts {
    char bytes[1024];
    size_t n;
    char length[24]; /* of the JSON */
};

static void make_parts(struct parts *p, const char *json, const void *binary, size_t n)
{
    p->n = strlen(json);
    snprintf(p->length, sizeof(p->length), "%zu", p->n);
    assert_true(p->n + n <= sizeof(p->bytes));
    memcpy(p->bytes, json, p->n);
    memcpy(p->bytes + p->n, binary, n);
    p->n += n;
}

#define BINARY_X                                                                                   \
    "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\","                            \
    "\"parameters\":{\"binary_data_size\":8}}]"

static void binary_tensors_go_in_and_out(void **state)
{
    static const char *const asked[] = {
        BINARY_X ",\"parameters\":{\"binary_data_output\":true}}",
        BINARY_X ",\"outputs\":[{\"name\":\"y\",\"parameters\":{\"binary_data\":true}}]}",
        BINARY_X " ,\"parameters\":{\"binary_data_output\":true}}", /* bytes that are not aligned */
    };
    static const char want[] =
        "{\"model_name\":\"half\",\"model_version\":\"2\",\"outputs\":[{\"name\":\"y\",\"shape\":["
        "2],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":8}}]}";
    const float in[] = { 1, 2 }, out[] = { 2.5, 3 };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (size_t i = 0; i < COUNT_OF(asked); i++) {
        AUTO_EXCHANGE x = { 0 };
        struct parts p;
        struct exchange_request q = { .method = "POST", .target = HALF };

        make_parts(&p, asked[i], in, sizeof(in));
        q.inference_header_length = p.length;
        assert_int_equal(test_ask(&s, &x, &q, p.bytes, p.n), EXCHANGE_DONE);
        assert_int_equal(x.answer.status, 200);
        assert_string_equal(x.answer.type, "application/octet-stream");
        assert_int_equal(x.answer.header_length, strlen(want));
        assert_int_equal(x.answer.body.len, strlen(want) + sizeof(out));
        assert_memory_equal(x.answer.body.data, want, strlen(want));
        assert_memory_equal(x.answer.body.data + strlen(want), out, sizeof(out));
    }
    test_server_done(&s);
}

static void an_output_may_be_json_where_all_others_are_binary(void **state)
{
    static const char json[] =
        BINARY_X ",\"parameters\":{\"binary_data_output\":true},\"outputs\":["
                 "{\"name\":\"y\",\"parameters\":{\"binary_data\":false}}]}";
    const float in[] = { 1, 2 };
    struct exchange_request q = { .method = "POST", .target = HALF };
    struct test_server s;
    struct parts p;
    AUTO_EXCHANGE x = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    make_parts(&p, json, in, sizeof(in));
    q.inference_header_length = p.length;
    assert_int_equal(test_ask(&s, &x, &q, p.bytes, p.n), EXCHANGE_DONE);
    assert_int_equal(x.answer.header_length, -1);
    assert_string_equal(x.answer.type, "application/json");
    assert_non_null(strstr(buf_text(&x.answer.body), "\"data\":[2.5,3.0]"));
    test_server_done(&s);
}

static void aligned_bytes_of_a_request_are_not_copied(void **state)
{
    _Alignas(8) char body[256] = BINARY_X "}";
    size_t n = strlen(body);
    char length[24];
    const struct exchange_request q = { .method = "POST",
                                        .target = HALF,
                                        .inference_header_length = length };
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };

    (void)state;
    while (n % 4 != 0)
        body[n++] = ' ';
    snprintf(length, sizeof(length), "%zu", n);
    assert_true(test_server_init(&s));
    assert_int_equal(exchange_begin(&x, &q, &s.served), EXCHANGE_BODY);
    assert_int_equal(exchange_body(&x, body, n + 8), EXCHANGE_RUN);
    assert_ptr_equal(x.inputs.v[0].data, body + n);
    test_server_done(&s);
}

static void wrong_binary_requests_are_told_what_is_wrong(void **state)
{
    static const struct {
        const char *json, *length, *error; /* with 8 bytes behind it; length NULL: the right one */
    } rows[] = {
        { BINARY_X "}", "-1", "Unable to parse Inference-Header-Content-Length, got: -1" },
        { BINARY_X "}", "0x1", "Unable to parse Inference-Header-Content-Length, got: 0x1" },
        { BINARY_X "}", "500", "inference header size should be in range (0, 99), got: 500" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[2],\"datatype\":\"FP32\",\"parameters\":"
          "{\"binary_data_size\":4}}]}",
          NULL, "input 'x': 4 bytes, but FP32 of shape [2] has 8" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"FP32\",\"parameters\":"
          "{\"binary_data_size\":4}}]}",
          NULL, "unexpected additional input data for model 'half'" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[3],\"datatype\":\"FP32\",\"parameters\":"
          "{\"binary_data_size\":12}}]}",
          NULL, "unexpected size for input 'x', expecting 4 additional bytes" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[3],\"datatype\":\"FP32\",\"parameters\":"
          "{\"binary_data_size\":-12}}]}",
          NULL, "Unable to parse 'binary_data_size'" },
        { "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"BYTES\",\"parameters\":"
          "{\"binary_data_size\":8}}]}",
          NULL, "input 'x': 8 bytes are not 1 elements of BYTES for the shape [1]" },
    };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *want = str_printf("{\"error\":\"%s\"}", rows[i].error);
        struct exchange_request q = { .method = "POST", .target = HALF };
        struct parts p;
        AUTO_EXCHANGE x = { 0 };

        make_parts(&p, rows[i].json, "\xff\xff\xff\x7f\0\0\0", 8);
        q.inference_header_length = rows[i].length ? rows[i].length : p.length;
        assert_int_equal(test_ask(&s, &x, &q, p.bytes, p.n), EXCHANGE_DONE);
        assert_int_equal(x.answer.status, 400);
        assert_string_equal(buf_text(&x.answer.body), want);
    }
    test_server_done(&s);
}

static void a_raw_request_takes_its_shape_from_the_model(void **state)
{
    static const struct {
        const char *target, *body;
        size_t n;
        int status;
        const char *part; /* of the answer */
    } rows[] = {
        { "/v2/models/image/infer", "abcd", 4, 200, "\"shape\":[1,2,2],\"datatype\":\"UINT8\"" },
        { "/v2/models/image/infer", "abcdefgh", 8, 200, "\"shape\":[2,2,2]" },
        { "/v2/models/image/infer", "abcde", 5, 400,
          "the shape of input 'pixels' does not follow from 5 bytes: it is UINT8 of [-1, 2, 2]" },
        { "/v2/models/text/infer", "any bytes", 9, 200,
          "\"shape\":[1],\"datatype\":\"BYTES\",\"parameters\":{\"binary_data_size\":13}" },
        { "/v2/models/half/infer", "abcd", 4, 400, "does not follow from 4 bytes" },
        { "/v2/models/two/infer", "abcd", 4, 400,
          "a raw request is possible for models with one input: 'two' has 2" },
    };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct exchange_request q = { .method = "POST",
                                            .target = rows[i].target,
                                            .inference_header_length = "0" };
        AUTO_EXCHANGE x = { 0 };

        assert_int_equal(test_ask(&s, &x, &q, rows[i].body, rows[i].n), EXCHANGE_DONE);
        assert_int_equal(x.answer.status, rows[i].status);
        if (!strstr(buf_text(&x.answer.body), rows[i].part))
            fail_msg("%s: %s", rows[i].target, buf_text(&x.answer.body));
        if (rows[i].status == 200)
            assert_memory_equal(x.answer.body.data + x.answer.body.len - rows[i].n, rows[i].body,
                                rows[i].n);
    }
    test_server_done(&s);
}

static void text_that_is_no_utf8_is_only_sent_as_bytes(void **state)
{
    const struct exchange_request q = { .method = "POST",
                                        .target = "/v2/models/text/infer",
                                        .inference_header_length = "0" };
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    assert_int_equal(exchange_begin(&x, &q, &s.served), EXCHANGE_BODY);
    assert_int_equal(exchange_body(&x, "\xff", 1), EXCHANGE_RUN);
    x.binary_output = false;
    assert_int_equal(test_run(&x), EXCHANGE_DONE);
    assert_int_equal(x.answer.status, 400);
    assert_non_null(strstr(buf_text(&x.answer.body), "output 's' has bytes that are not UTF-8"));
    test_server_done(&s);
}

static void an_answer_past_its_ceiling_is_an_error(void **state)
{
    const struct exchange_request q = { .method = "POST", .target = HALF };
    static const char body[] = ONE("[40]", "FP32",
                                   "[1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0,1,"
                                   "2,3,4,5,6,7,8,9,0]");
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    s.served.answer_max = 150;
    assert_int_equal(test_ask(&s, &x, &q, body, strlen(body)), EXCHANGE_DONE);
    assert_int_equal(x.answer.status, 500);
    assert_string_equal(buf_text(&x.answer.body),
                        "{\"error\":\"the answer is larger than 150 bytes\"}");
    test_server_done(&s);
}

static void a_model_without_a_signature_takes_any_tensors(void **state)
{
    static const struct signature dynamic = { .dynamic = true };
    static const char twice[] = "{\"inputs\":[{\"name\":\"x\",\"shape\":[1],\"datatype\":\"INT8\","
                                "\"data\":[7]},{\"name\":\"x\",\"shape\":[1],\"datatype\":"
                                "\"INT8\",\"data\":[7]}]}";
    const struct exchange_request q = { .method = "POST", .target = ECHO };
    static const char body[] = ONE("[2]", "INT8", "[7,8]");
    AUTO_EXCHANGE x = { 0 }, y = { 0 };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    s.models[3].signatures = &dynamic;
    assert_int_equal(test_ask(&s, &x, &q, body, strlen(body)), EXCHANGE_DONE);
    assert_non_null(strstr(buf_text(&x.answer.body), "\"datatype\":\"INT8\",\"data\":[7,8]"));
    assert_int_equal(test_ask(&s, &y, &q, twice, strlen(twice)), EXCHANGE_DONE);
    assert_string_equal(buf_text(&y.answer.body), "{\"error\":\"input 'x' is there twice\"}");
    test_server_done(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(servers_and_models_are_described),
        cmocka_unit_test(wrong_paths_and_methods_are_told),
        cmocka_unit_test(documented_requests_are_answered),
        cmocka_unit_test(wrong_infer_requests_are_told_what_is_wrong),
        cmocka_unit_test(a_server_that_is_not_ready_says_so_by_its_status),
        cmocka_unit_test(a_wrong_method_names_the_right_one),
        cmocka_unit_test(other_paths_are_left_to_the_server),
        cmocka_unit_test(binary_tensors_go_in_and_out),
        cmocka_unit_test(an_output_may_be_json_where_all_others_are_binary),
        cmocka_unit_test(aligned_bytes_of_a_request_are_not_copied),
        cmocka_unit_test(wrong_binary_requests_are_told_what_is_wrong),
        cmocka_unit_test(a_raw_request_takes_its_shape_from_the_model),
        cmocka_unit_test(text_that_is_no_utf8_is_only_sent_as_bytes),
        cmocka_unit_test(an_answer_past_its_ceiling_is_an_error),
        cmocka_unit_test(a_model_without_a_signature_takes_any_tensors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
