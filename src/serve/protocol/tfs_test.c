/* tfs_test.c - TensorFlow Serving's documented requests, with the answers and error texts that its
 * clients know, as rows. */
#include "base/str.h"
#include "serve/protocol/protocol_testing.h"
#include "test.h"

#include <string.h>

struct row {
    const char *method, *target, *body;
    int status;
    const char *answer; /* without white space between tokens; "…" at its end: more may follow */
};

/* White space that JSON does not need is dropped, as neither side says how much there is. */
static char *squeeze(const char *s)
{
    char *out = calloc(1, strlen(s) + 1), *o = out;
    bool quoted = false;

    assert_non_null(out);
    for (; *s; s++) {
        if (*s == '"' && (s[-1] != '\\' || s[-2] == '\\'))
            quoted = !quoted;
        if (quoted || !strchr(" \n", *s))
            *o++ = *s;
    }
    return out;
}

static void check_row(const struct test_server *s, const struct row *row)
{
    const struct exchange_request q = { .method = row->method, .target = row->target };
    size_t n = strlen(row->answer), body_n = row->body ? strlen(row->body) : 0;
    AUTO_EXCHANGE x = { 0 };
    AUTO_FREE char *have = NULL;

    assert_int_equal(test_ask(s, &x, &q, row->body, body_n), EXCHANGE_DONE);
    have = squeeze(buf_text(&x.answer.body) ? (const char *)x.answer.body.data : "");
    if (str_ends(row->answer, "…"))
        have[n - strlen("…") < strlen(have) ? n - strlen("…") : strlen(have)] = '\0';
    if (x.answer.status != row->status ||
        strncmp(have, row->answer, str_ends(row->answer, "…") ? n - strlen("…") : SIZE_MAX) != 0)
        fail_msg("%s %s %s: %d %s, expected %d %s", row->method, row->target,
                 row->body ? row->body : "", x.answer.status, have, row->status, row->answer);
    assert_string_equal(x.answer.type, "application/json");
    assert_int_equal(x.inputs.n, 0);
}

static void check_rows(const struct row *rows, size_t n)
{
    struct test_server s;

    assert_true(test_server_init(&s));
    for (size_t i = 0; i < n; i++)
        check_row(&s, &rows[i]);
    test_server_done(&s);
}

#define HALF "/v1/models/half:predict"
#define ECHO "/v1/models/echo:predict"
#define TWO "/v1/models/two:predict"

/* clang-format off */
static const struct row predictions[] = {
    { "POST", HALF, "{\"instances\": [1.0, 2.0, 5.0]}", 200, "{\"predictions\":[2.5,3.0,4.5]}" },
    { "POST", HALF, "{\"instances\": [[1.0, 2.0], [3, 4]]}", 200, "{\"predictions\":[[2.5,3.0],[3.5,4.0]]}" },
    { "POST", HALF, "{\"inputs\": [[1.0, 2.0], [3, 4]]}", 200, "{\"outputs\":[[2.5,3.0],[3.5,4.0]]}" },
    { "POST", HALF, "{\"inputs\": {\"x\": [1.0]}}", 200, "{\"outputs\":[2.5]}" },
    { "POST", HALF, "{\"inputs\": 1}", 200, "{\"outputs\":2.5}" },
    { "POST", HALF, "{\"inputs\": []}", 200, "{\"outputs\":[]}" },
    { "POST", HALF, "{\"inputs\": [[], []]}", 200, "{\"outputs\":[[],[]]}" },
    { "POST", HALF, "{\"instances\": [{\"x\": [1.0]}, {\"x\": [2]}]}", 200, "{\"predictions\":[[2.5],[3.0]]}" },
    { "POST", HALF, "{\"instances\": [NaN, Infinity, -Infinity, 1e400, 1E1]}", 200,
      "{\"predictions\":[NaN,Infinity,-Infinity,Infinity,7.0]}" },
    { "POST", HALF, "{\"signature_name\": \"serving_default\", \"instances\": [3.0, 4.0]}", 200, "{\"predictions\":[3.5,4.0]}" },
    { "POST", HALF, "{\"signature_name\": \"\", \"instances\": [1435774380]}", 200, "{\"predictions\":[717887170.0]}" },
    { "POST", HALF, "{\"instances\": [1], \"nested\": [[[[[[[[[[[[[]]]]]]]]]]]]]}", 200, "{\"predictions\":[2.5]}" },
    { "POST", HALF, "{\"instances\": [1]}X", 200, "{\"predictions\":[2.5]}" },
    { "POST", "/v1/models/half/versions/1:predict", "{\"instances\": [1]}", 200, "{\"predictions\":[2.5]}" },
    { "POST", "/v1/models/half/labels/stable:predict", "{\"instances\": [1]}", 200, "{\"predictions\":[2.5]}" },
    { "POST", "/v1/models/half/labels/pro%20duction:predict?a=b", "{\"instances\": [1]}", 200, "{\"predictions\":[2.5]}" },
    { "POST", "/V1/Models/half/Versions/2:Predict", "{\"instances\": [1]}", 200, "{\"predictions\":[2.5]}" },
    { "POST", ECHO, "{\"inputs\": {\"b\": true, \"u8\": 255, \"u64\": 18446744073709551615, \"i8\": -128,"
      " \"i64\": -9223372036854775808, \"f\": 0.1, \"d\": 0.1, \"s\": \"\\u00e4\\n\"}}", 200,
      "{\"outputs\":{\"b\":true,\"u8\":255,\"u64\":18446744073709551615,\"i8\":-128,"
      "\"i64\":-9223372036854775808,\"f\":0.1,\"d\":0.1,\"s\":\"\u00e4\\n\"}}" },
    { "POST", TWO, "{\"instances\": [{\"a\": 1, \"b\": [\"hello\", {\"b64\": \"d29ybGQ=\"}]},"
      " {\"b\": [\"tf\", \"serving\"], \"a\": 2}]}", 200,
      "{\"predictions\":[{\"a\":1,\"b_bytes\":[{\"b64\":\"aGVsbG8=\"},{\"b64\":\"d29ybGQ=\"}]},"
      "{\"a\":2,\"b_bytes\":[{\"b64\":\"dGY=\"},{\"b64\":\"c2VydmluZw==\"}]}]}" },
    { "POST", "/v1/models/text:predict", "{\"inputs\": [{\"b64\": \"/w==\"}]}", 200, "{\"outputs\":[{\"b64\":\"/w==\"}]}" },
    { "POST", "/v1/models/text:predict", "{\"inputs\": [\"a/\\\"\"]}", 200, "{\"outputs\":[\"a/\\\"\"]}" },
};

static const struct row refused[] = {
    { "POST", HALF, "", 400, "{\"error\":\"JSON Parse error: The document is empty\"}" },
    { "POST", HALF, "instances = [1, 2]", 400, "{\"error\":\"JSON Parse error: Invalid value. at offset: 0\"}" },
    { "POST", HALF, "{\"instances\": [1 2]}", 400, "{\"error\":\"JSON Parse error: Missing a comma or ] after an array element. at offset: 17\"}" },
    { "POST", HALF, "[1]", 400, "{\"error\":\"JSON Value: [1] Is not object\"}" },
    { "POST", HALF, "{\"signature_name\": 100}", 400,
      "{\"error\":\"JSON Value: {\\n    \\\"signature_name\\\": 100\\n} not formatted correctly. 'signature_name' key must be a string value.\"}" },
    { "POST", HALF, "{\"signature_name\": \"no\", \"inputs\": 1}", 400, "{\"error\":\"Serving signature name: \\\"no\\\" not found in signature def\"}" },
    { "POST", HALF, "{}", 400, "{\"error\":\"Missing 'inputs' or 'instances' key\"}" },
    { "POST", HALF, "{\"inputs\": 1, \"instances\": [1]}", 400,
      "{\"error\":\"JSON Value: {\\n    \\\"inputs\\\": 1,\\n    \\\"instances\\\": [1]\\n} Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist \"}" },
    { "POST", HALF, "{\"instances\": 1}", 400, "{\"error\":\"JSON Value: {\\n    \\\"instances\\\": 1\\n} Expecting 'instances' to be an list/array\"}" },
    { "POST", HALF, "{\"instances\": []}", 400, "{\"error\":\"JSON Value: {\\n    \\\"instances\\\": []\\n} No values in 'instances' array\"}" },
    { "POST", HALF, "{\"instances\": [\"x\", \"y\"]}", 400,
      "{\"error\":\"Failed to process element: 0 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: \\\"x\\\" Type: String is not of expected type: float\"}" },
    { "POST", HALF, "{\"instances\": [[1], [1, 2]]}", 400,
      "{\"error\":\"Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting tensor size: 1 but got: 2\"}" },
    { "POST", HALF, "{\"instances\": [[[1, 2]], [[1], [2]]]}", 400,
      "{\"error\":\"Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting shape [1,2] but got: [2,1]\"}" },
    { "POST", HALF, "{\"instances\": [1, [1]]}", 400,
      "{\"error\":\"Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting shape [] but got: [1]\"}" },
    { "POST", HALF, "{\"inputs\": [[1, 2], [3]]}", 400, "{\"error\":\"Encountered list at unexpected size: 1 at level: 1 expected size: 2\"}" },
    { "POST", HALF, "{\"inputs\": [[1, 2], 3]}", 400, "{\"error\":\"JSON Value: 3 found at incorrect level: 2 in the JSON DOM. Expected at level: 2\"}" },
    { "POST", HALF, "{\"inputs\": [1, [2]]}", 400, "{\"error\":\"Encountered list at unexpected level: 1 expected < 1\"}" },
    { "POST", HALF, "{\"inputs\": [null]}", 400, "{\"error\":\"JSON Value: null Type: Null is not of expected type: float\"}" },
    { "POST", HALF, "{\"inputs\": [true]}", 400, "{\"error\":\"JSON Value: true Type: True is not of expected type: float\"}" },
    { "POST", HALF, "{\"inputs\": [[[[[[[[[1]]]]]]]]]}", 400, "{\"error\":\"lists are nested deeper than 8, the most dimensions of a tensor\"}" },
    { "POST", HALF, "{\"instances\": [[[[[[[[[1]]]]]]]]]}", 400, "{\"error\":\"'x' has more than 8 dimensions\"}" },
    { "POST", HALF, "{\"instances\": [{\"z\": 1}]}", 400,
      "{\"error\":\"Failed to process element: 0 key: z of 'instances' list. Error: INVALID_ARGUMENT: JSON object: does not have named input: z\"}" },
    { "POST", HALF, "{\"instances\": [{\"x\": 1, \"x\": 1}]}", 400,
      "{\"error\":\"Failed to process element: 0 key: x of 'instances' list. Error: INVALID_ARGUMENT: JSON object: has named input twice: x\"}" },
    { "POST", HALF, "{\"instances\": [{\"x\": 1}, 1]}", 400, "{\"error\":\"Expecting object but got list at item 1 of input list\"}" },
    { "POST", HALF, "{\"instances\": [1, {\"x\": 1}]}", 400, "{\"error\":\"Expecting value/list but got object at item 1 of input list\"}" },
    { "POST", TWO, "{\"instances\": [1]}", 400,
      "{\"error\":\"instances is a plain list, but expecting list of objects as multiple input tensors required as per tensorinfo_map\"}" },
    { "POST", TWO, "{\"inputs\": [1]}", 400,
      "{\"error\":\"inputs is a plain value/list, but expecting an object as multiple input tensors required as per tensorinfo_map\"}" },
    { "POST", TWO, "{\"inputs\": {\"a\": [1]}}", 400, "{\"error\":\"Missing named input: b in 'inputs' object.\"}" },
    { "POST", TWO, "{\"instances\": [{\"a\": 1}]}", 400,
      "{\"error\":\"Failed to process element: 0 of 'instances' list. JSON object: {\\n    \\\"a\\\": 1\\n} keys must be equal to: a,b\"}" },
    { "POST", TWO, "{\"inputs\": {\"a\": [1.5], \"b\": [[\"x\", \"y\"]]}}", 400, "{\"error\":\"JSON Value: 1.5 Type: Number is not of expected type: int32\"}" },
    { "POST", TWO, "{\"inputs\": {\"a\": [2147483648], \"b\": [[\"x\", \"y\"]]}}", 400, "{\"error\":\"JSON Value: 2147483648 Type: Number is not of expected type: int32\"}" },
    { "POST", TWO, "{\"inputs\": {\"a\": [1], \"b\": [[\"x\", {\"b64\": \"!\"}]]}}", 400, "{\"error\":\"Unable to base64 decode\"}" },
    { "POST", TWO, "{\"inputs\": {\"a\": [1], \"b\": [[\"x\", {\"b46\": \"\"}]]}}", 400,
      "{\"error\":\"JSON Value: {\\n    \\\"b46\\\": \\\"\\\"\\n} not formatted correctly for base64 data\"}" },
    { "POST", TWO, "{\"inputs\": {\"a\": [1], \"b\": [\"x\"]}}", 400, "{\"error\":\"input 'b' has shape [1], but the model takes [-1, 2]\"}" },
    { "POST", "/v1/models/labels:predict", "{\"signature_name\": \"half_float\", \"inputs\": [1]}", 501, "{\"error\":\"Conversion of JSON Value: 1 to type: half\"}" },
    { "POST", ECHO, "{\"inputs\": {\"b\": 1}}", 400, "{\"error\":\"JSON Value: 1 Type: Number is not of expected type: bool\"}" },
    { "POST", HALF, "{\"inputs\": [\"\xff\"]}", 400, "{\"error\":\"JSON Parse error: Invalid encoding in string. at offset: 13\"}" },
};

static const struct row routes[] = {
    { "GET", "/v1/foo", NULL, 400, "{\"error\":\"Malformed request: GET /v1/foo\"}" },
    { "POST", "/v1/foo", NULL, 400, "{\"error\":\"Malformed request: POST /v1/foo\"}" },
    { "GET", "/v1/models", NULL, 400, "{\"error\":\"Missing model name in request.\"}" },
    { "GET", "/v1/models?x=1", NULL, 400, "{\"error\":\"Missing model name in request.\"}" },
    { "GET", "/v1/models/", NULL, 400, "{\"error\":\"Malformed request: GET /v1/models/\"}" },
    { "GET", "/v1/models/debug/model_name", NULL, 400, "{\"error\":\"Malformed request: GET /v1/models/debug/model_name\"}" },
    { "POST", "/v1/models", NULL, 400, "{\"error\":\"Malformed request: POST /v1/models\"}" },
    { "GET", "/v1/models/foo:predict", NULL, 400, "{\"error\":\"Malformed request: GET /v1/models/foo:predict\"}" },
    { "GET", "/v1/models/foo/version/50:predict", NULL, 400, "{\"error\":\"Malformed request: GET /v1/models/foo/version/50:predict\"}" },
    { "POST", "/v1/models/foo/version/50:regress", NULL, 400, "{\"error\":\"Malformed request: POST /v1/models/foo/version/50:regress\"}" },
    { "POST", "/v1/models/foo/versions/HELLO:regress", NULL, 400, "{\"error\":\"Malformed request: POST /v1/models/foo/versions/HELLO:regress\"}" },
    { "POST", "/v1/models/foo/versions/18446744073709551615:regress", NULL, 400, "{\"error\":\"Failed to convert version: 18446744073709551615 to numeric.\"}" },
    { "POST", "/v1/models/foo/metadata", NULL, 400, "{\"error\":\"Malformed request: POST /v1/models/foo/metadata\"}" },
    { "POST", "/v1/models/foo/label/some_label:regress", NULL, 400, "{\"error\":\"Malformed request: POST /v1/models/foo/label/some_label:regress\"}" },
    { "POST", "/v1/models/foo/versions/50/labels/some_label:regress", NULL, 400, "{\"error\":\"Malformed request: POST /v1/models/foo/versions/50/labels/some_label:regress\"}" },
    { "POST", "/v1/models/foo/versions/some_label:regress", NULL, 400, "{\"error\":\"Malformed request: POST /v1/models/foo/versions/some_label:regress\"}" },
    { "POST", "/v1/models/half:predict/", NULL, 400, "{\"error\":\"Malformed request: POST /v1/models/half:predict/\"}" },
    { "PUT", "/v1/models/half:predict", NULL, 400, "{\"error\":\"Malformed request: PUT /v1/models/half:predict\"}" },
    { "POST", "/v1/models/a%zz:predict", NULL, 400, "{\"error\":\"Failed to decode model name:a%zz\"}" },
    { "POST", "/v1/models/a%00:predict", NULL, 400, "{\"error\":\"Failed to decode model name:a%00\"}" },
    { "POST", "/v1/models/foo:predict", "{}", 404, "{\"error\":\"Servable not found for request: Latest(foo)\"}" },
    { "POST", "/v1/models/Half:predict", "{}", 404, "{\"error\":\"Servable not found for request: Latest(Half)\"}" },
    { "POST", "/v1/models/..%2f..%2fetc:predict", "{}", 404, "{\"error\":\"Servable not found for request: Latest(../../etc)\"}" },
    { "POST", "/v1/models/half/versions/50:predict", "{}", 404, "{\"error\":\"Servable not found for request: Specific(half, 50)\"}" },
    { "POST", "/v1/models/half/versions/3:predict", "{}", 503, "{\"error\":\"Servable is still loading: half\"}" },
    { "POST", "/v1/models/half/labels/nope:predict", "{}", 400, "{\"error\":\"Unrecognized servable version label: nope\"}" },
};

static const struct row told[] = {
    { "GET", "/v1/models/half/versions/1", NULL, 200,
      "{\"model_version_status\":[{\"version\":\"1\",\"state\":\"AVAILABLE\",\"status\":{\"error_code\":\"OK\",\"error_message\":\"\"}}]}" },
    { "GET", "/v1/models/half/labels/stable", NULL, 200, "{\"model_version_status\":[{\"version\":\"2\",\"state\":\"AVAILABLE\",…" },
    { "GET", "/v1/models/half", NULL, 200, "{\"model_version_status\":[{\"version\":\"1\",…" },
    { "GET", "/v1/models/half/versions/3", NULL, 200, "{\"model_version_status\":[{\"version\":\"3\",\"state\":\"LOADING\",…" },
    { "GET", "/v1/models/half/versions/9", NULL, 404, "{\"error\":\"Could not find version 9 of model half\"}" },
    { "GET", "/v1/models/foo", NULL, 404, "{\"error\":\"Could not find any versions of model foo\"}" },
    { "GET", "/v1/models/half/labels/nope", NULL, 400, "{\"error\":\"Unrecognized servable version label: nope\"}" },
    { "GET", "/v1/models/two/metadata", NULL, 200,
      "{\"model_spec\":{\"name\":\"two\",\"signature_name\":\"\",\"version\":\"1\"},\"metadata\":{\"signature_def\":{\"signature_def\":"
      "{\"serving_default\":{\"inputs\":{"
      "\"a\":{\"dtype\":\"DT_INT32\",\"tensor_shape\":{\"dim\":[{\"size\":\"-1\",\"name\":\"\"}],\"unknown_rank\":false},\"name\":\"a\"},"
      "\"b\":{\"dtype\":\"DT_STRING\",\"tensor_shape\":{\"dim\":[{\"size\":\"-1\",\"name\":\"\"},{\"size\":\"2\",\"name\":\"\"}],\"unknown_rank\":false},\"name\":\"b\"}},"
      "\"outputs\":{\"a\":{\"dtype\":\"DT_INT32\",…" },
    { "GET", "/v1/models/half/versions/2/metadata", NULL, 200,
      "{\"model_spec\":{\"name\":\"half\",\"signature_name\":\"\",\"version\":\"2\"},\"metadata\":{\"signature_def\":{\"signature_def\":"
      "{\"serving_default\":{\"inputs\":{\"x\":{\"dtype\":\"DT_FLOAT\",\"tensor_shape\":{\"dim\":[],\"unknown_rank\":true},\"name\":\"x\"}},"
      "\"outputs\":{\"y\":{\"dtype\":\"DT_FLOAT\",\"tensor_shape\":{\"dim\":[],\"unknown_rank\":true},\"name\":\"internal:0\"}},"
      "\"method_name\":\"tensorflow/serving/predict\",\"defaults\":{}}}}}}" },
    { "GET", "/v1/models/foo/metadata", NULL, 404, "{\"error\":\"Servable not found for request: Latest(foo)\"}" },
};

#define CLASSIFY "/v1/models/labels:classify"
#define REGRESS "/v1/models/labels:regress"

/* The scores are the lengths of the messages: 0a 00 is an example without features. */
static const struct row examples[] = {
    { "POST", CLASSIFY, "{\"signature_name\": \"classify_x\", \"examples\": [{}, {\"x\": 20.0}]}", 200,
      "{\"results\":[[[\"cat\",2.0],[\"dog\",2.5]],[[\"cat\",17.0],[\"dog\",17.5]]]}" },
    { "POST", REGRESS, "{\"signature_name\": \"regress_x\", \"examples\": [{\"x\": 1}, {\"x\": [1, true]}, {\"x\": \"ab\"}, {\"x\": {\"b64\": \"YWI=\"}}]}", 200,
      "{\"results\":[14.0,15.0,15.0,15.0]}" },
    { "POST", REGRESS, "{\"signature_name\": \"regress_x\", \"context\": {\"q\": 1}, \"examples\": [{\"x\": 1}]}", 200, "{\"results\":[26.0]}" },
    { "POST", CLASSIFY, "{\"signature_name\": \"regress_x\", \"examples\": [{}]}", 400,
      "{\"error\":\"Expected classification signature method_name to be tensorflow/serving/classify. Was: tensorflow/serving/regress\"}" },
    { "POST", "/v1/models/half:regress", "{\"examples\": [{}]}", 400,
      "{\"error\":\"Expected regression signature method_name to be tensorflow/serving/regress. Was: tensorflow/serving/predict\"}" },
    { "POST", CLASSIFY, "{\"signature_name\": \"no\"}", 400, "{\"error\":\"No signature was found with the name: no\"}" },
    { "POST", CLASSIFY, "{\"signature_name\": \"classify_x\"}", 400,
      "{\"error\":\"JSON Value: {\\n    \\\"signature_name\\\": \\\"classify_x\\\"\\n} When method is classify, key 'examples' is expected and was not found\"}" },
    { "POST", CLASSIFY, "{\"examples\": 1, \"signature_name\": \"classify_x\"}", 400, "{\"error\":\"JSON Value: {\\n    \\\"examples\\\": 1,…" },
    { "POST", CLASSIFY, "{\"signature_name\": \"classify_x\", \"examples\": [1]}", 400, "{\"error\":\"Example must be JSON object but got JSON Number\"}" },
    { "POST", CLASSIFY, "{\"signature_name\": \"classify_x\", \"context\": [], \"examples\": [{}]}", 400, "{\"error\":\"Example must be JSON object but got JSON Array\"}" },
    { "POST", CLASSIFY, "{\"signature_name\": \"classify_x\", \"examples\": [{\"names\": null}]}", 400,
      "{\"error\":\"Feature: names has element with unexpected JSON type: Null\"}" },
    { "POST", CLASSIFY, "{\"signature_name\": \"classify_x\", \"examples\": [{\"names\": [[1]]}]}", 400,
      "{\"error\":\"Feature: names has element with unexpected JSON type: Array\"}" },
    { "POST", CLASSIFY, "{\"signature_name\": \"classify_x\", \"examples\": [{\"names\": [1, \"a\"]}]}", 400,
      "{\"error\":\"Unexpected element type in feature: names expecting type: int64\"}" },
    { "POST", CLASSIFY, "{\"signature_name\": \"classify_x\", \"examples\": [{\"names\": 18446744073709551615}]}", 400,
      "{\"error\":\"Feature: names has uint64_t element. Only int64_t is supported.\"}" },
};
/* clang-format on */

static void documented_predictions_are_answered(void **state)
{
    (void)state;
    check_rows(predictions, COUNT_OF(predictions));
}

static void wrong_predict_requests_are_told_what_is_wrong(void **state)
{
    (void)state;
    check_rows(refused, COUNT_OF(refused));
}

static void paths_are_matched_as_the_server_matches_them(void **state)
{
    (void)state;
    check_rows(routes, COUNT_OF(routes));
}

static void status_and_metadata_of_models_are_told(void **state)
{
    (void)state;
    check_rows(told, COUNT_OF(told));
}

static void examples_are_classified_and_regressed(void **state)
{
    (void)state;
    check_rows(examples, COUNT_OF(examples));
}

/* What an Example looks like is the business of TensorFlow: these bytes are its own. */
static void an_example_is_the_message_that_tensorflow_writes(void **state)
{
    static const uint8_t message[] = { 0x0a, 0x0f, 0x0a, 0x0d, 0x0a, 0x01, 'x',  0x12, 0x08,
                                       0x12, 0x06, 0x0a, 0x04, 0x00, 0x00, 0xa0, 0x41 };
    static const char body[] =
        "{\"signature_name\": \"classify_x\", \"examples\": [{\"x\": 20.0}]}";
    const struct exchange_request q = { .method = "POST", .target = CLASSIFY };
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };
    struct view v;
    size_t n;

    (void)state;
    assert_true(test_server_init(&s));
    assert_int_equal(exchange_begin(&x, &q, &s.served), EXCHANGE_BODY);
    assert_int_equal(exchange_body(&x, body, strlen(body)), EXCHANGE_RUN);
    v = view_of(x.inputs.v[0].data, x.inputs.v[0].size);
    assert_memory_equal(tensor_bytes_next(&v, &n), message, sizeof(message));
    assert_int_equal(n, sizeof(message));
    test_server_done(&s);
}

static void a_status_looks_as_the_documentation_prints_it(void **state)
{
    static const char *const text = "{\n"
                                    " \"model_version_status\": [\n"
                                    "  {\n"
                                    "   \"version\": \"1\",\n"
                                    "   \"state\": \"AVAILABLE\",\n"
                                    "   \"status\": {\n"
                                    "    \"error_code\": \"OK\",\n"
                                    "    \"error_message\": \"\"\n"
                                    "   }\n"
                                    "  }\n"
                                    " ]\n"
                                    "}\n";
    const struct exchange_request q = { .method = "GET", .target = "/v1/models/echo" };
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    assert_int_equal(test_ask(&s, &x, &q, NULL, 0), EXCHANGE_DONE);
    assert_string_equal(buf_text(&x.answer.body), text);
    test_server_done(&s);
}

static void a_failure_of_the_model_has_the_status_of_its_code(void **state)
{
    static const struct {
        enum exchange_code code;
        int status;
    } rows[] = {
        { EXCHANGE_EXHAUSTED, 429 }, { EXCHANGE_UNAVAILABLE, 503 },     { EXCHANGE_DEADLINE, 504 },
        { EXCHANGE_INTERNAL, 500 },  { EXCHANGE_INVALID, 400 },         { EXCHANGE_CANCELLED, 499 },
        { EXCHANGE_DENIED, 403 },    { EXCHANGE_UNAUTHENTICATED, 401 },
    };
    const struct exchange_request q = { .method = "POST", .target = HALF };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_EXCHANGE x = { 0 };

        assert_int_equal(exchange_begin(&x, &q, &s.served), EXCHANGE_BODY);
        assert_int_equal(exchange_body(&x, "{\"inputs\": 1}", 13), EXCHANGE_RUN);
        assert_int_equal(x.inputs.n, 1);
        assert_int_equal(exchange_fail(&x, rows[i].code, "it \"failed\"\xff"), EXCHANGE_DONE);
        assert_int_equal(x.answer.status, rows[i].status);
        assert_string_equal(buf_text(&x.answer.body),
                            "{\n    \"error\": \"it \\\"failed\\\"\ufffd\"\n}");
        assert_int_equal(x.inputs.n, 0);
    }
    test_server_done(&s);
}

static void a_model_without_a_signature_gets_what_the_request_has(void **state)
{
    static const struct signature dynamic = { .dynamic = true };
    /* clang-format off */
    static const struct row rows[] = {
        { "POST", ECHO, "{\"instances\": [[1, 2], [3, 4]]}", 200, "{\"predictions\":[[1,2],[3,4]]}" },
        { "POST", ECHO, "{\"instances\": [[1, 2], [3, 4.5]]}", 200, "{\"predictions\":[[1.0,2.0],[3.0,4.5]]}" },
        { "POST", ECHO, "{\"inputs\": 9007199254740993}", 200, "{\"outputs\":9007199254740993}" },
        { "POST", ECHO, "{\"instances\": [{\"a\": 1, \"s\": \"x\"}, {\"s\": {\"b64\": \"/w==\"}, \"a\": 2.5}]}", 200,
          "{\"predictions\":[{\"a\":1.0,\"s\":\"x\"},{\"a\":2.5,\"s\":{\"b64\":\"/w==\"}}]}" },
        { "POST", ECHO, "{\"inputs\": {\"a\": [], \"b\": [true, false], \"c\": [\"t\"]}}", 200,
          "{\"outputs\":{\"a\":[],\"b\":[true,false],\"c\":[\"t\"]}}" },
        { "POST", ECHO, "{\"instances\": [1, \"x\"]}", 400,
          "{\"error\":\"Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: JSON Value: \\\"x\\\" Type: String is not of expected type: int64\"}" },
        { "POST", ECHO, "{\"instances\": [{\"a\": 1}, {\"b\": 2}]}", 400, "{\"error\":\"Failed to process element: 0 of 'instances' list. …" },
        { "POST", ECHO, "{\"instances\": [{\"\": 1}]}", 400, "{\"error\":\"the name of an input is empty or has a NUL\"}" },
        { "POST", ECHO, "{\"inputs\": {}}", 400, "{\"error\":\"Missing named input: input in 'inputs' object.\"}" },
        { "POST", ECHO, "{}", 400, "{\"error\":\"Missing 'inputs' or 'instances' key\"}" },
    };
    /* clang-format on */
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (size_t i = 0; i < s.served.models_n; i++)
        if (strcmp(s.models[i].name, "echo") == 0)
            s.models[i].signatures = &dynamic;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_row(&s, &rows[i]);
    test_server_done(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(documented_predictions_are_answered),
        cmocka_unit_test(wrong_predict_requests_are_told_what_is_wrong),
        cmocka_unit_test(paths_are_matched_as_the_server_matches_them),
        cmocka_unit_test(status_and_metadata_of_models_are_told),
        cmocka_unit_test(examples_are_classified_and_regressed),
        cmocka_unit_test(an_example_is_the_message_that_tensorflow_writes),
        cmocka_unit_test(a_status_looks_as_the_documentation_prints_it),
        cmocka_unit_test(a_model_without_a_signature_gets_what_the_request_has),
        cmocka_unit_test(a_failure_of_the_model_has_the_status_of_its_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
