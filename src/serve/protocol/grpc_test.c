/* grpc_test.c - calls of both gRPC services: what comes as messages is run and answered as
 * messages. */
#include "base/str.h"
#include "serve/protocol/grpc.h"
#include "serve/protocol/protocol_testing.h"
#include "serving/oip.pb-c.h"
#include "serving/tfs.pb-c.h"
#include "test.h"

#include <string.h>

#define INFER "/inference.GRPCInferenceService/ModelInfer"
#define PREDICT "/tensorflow.serving.PredictionService/Predict"

static enum exchange_step call(const struct test_server *s, struct exchange *x, const char *path,
                               const ProtobufCMessage *m)
{
    AUTO_BUF b = { .max = MIB };
    enum exchange_step step;

    assert_int_equal(grpc_pack(&b, m), 0);
    step = exchange_grpc(x, path, b.data, b.len, &s->served);
    buf_reset(&b);
    return step == EXCHANGE_RUN ? test_run(x) : step;
}

/* One infer request for `half`, whose input is typed, or raw. */
struct infer {
    Inference__ModelInferRequest q;
    Inference__InferTensor in, *ins[1];
    Inference__InferTensorContents contents;
    Inference__InferRequestedOutput out, *outs[1];
    ProtobufCBinaryData raw;
    int64_t shape[2];
    float values[2];
};

static void make_infer(struct infer *i, bool raw)
{
    *i = (struct infer){ .q = INFERENCE__MODEL_INFER_REQUEST__INIT,
                         .in = INFERENCE__INFER_TENSOR__INIT,
                         .contents = INFERENCE__INFER_TENSOR_CONTENTS__INIT,
                         .out = INFERENCE__INFER_REQUESTED_OUTPUT__INIT,
                         .shape = { 1, 2 },
                         .values = { 1, 2 } };
    i->q.model_name = "half";
    i->q.id = "7";
    i->q.n_inputs = 1;
    i->q.inputs = i->ins;
    i->ins[0] = &i->in;
    i->in.name = "x";
    i->in.datatype = "FP32";
    i->in.n_shape = 2;
    i->in.shape = i->shape;
    i->outs[0] = &i->out;
    i->q.outputs = i->outs;
    i->raw = (ProtobufCBinaryData){ 8, (uint8_t *)i->values };
    i->contents.n_fp32_contents = 2;
    i->contents.fp32_contents = i->values;
    if (raw) {
        i->q.n_raw_input_contents = 1;
        i->q.raw_input_contents = &i->raw;
    } else {
        i->in.contents = &i->contents;
    }
}

static void tensors_are_inferred_from_typed_and_raw_contents(void **state)
{
    const float want[] = { 2.5, 3 };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (int raw = 0; raw < 2; raw++) {
        Inference__ModelInferResponse *a;
        AUTO_EXCHANGE x = { 0 };
        struct infer i;

        make_infer(&i, raw);
        assert_int_equal(call(&s, &x, INFER, &i.q.base), EXCHANGE_DONE);
        assert_int_equal(x.answer.code, EXCHANGE_OK);
        a = inference__model_infer_response__unpack(NULL, x.answer.body.len, x.answer.body.data);
        assert_non_null(a);
        assert_string_equal(a->model_name, "half");
        assert_string_equal(a->model_version, "2");
        assert_string_equal(a->id, "7");
        assert_int_equal(a->n_outputs, 1);
        assert_string_equal(a->outputs[0]->name, "y");
        assert_string_equal(a->outputs[0]->datatype, "FP32");
        assert_int_equal(a->outputs[0]->n_shape, 2);
        assert_int_equal(a->n_raw_output_contents, 1);
        assert_int_equal(a->raw_output_contents[0].len, 8);
        assert_memory_equal(a->raw_output_contents[0].data, want, 8);
        inference__model_infer_response__free_unpacked(a, NULL);
    }
    test_server_done(&s);
}

static void a_message_takes_no_more_memory_than_it_may(void **state)
{
    uint8_t parts[2 * 5000];
    Inference__ModelInferRequest *q;
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof(parts); i += 2)
        memcpy(parts + i, "\x2a\0", 2); /* inputs { } */
    q = grpc_unpack(&inference__model_infer_request__descriptor, parts, sizeof(parts), &err);
    assert_non_null(q);
    assert_int_equal(q->n_inputs, 5000);
    inference__model_infer_request__free_unpacked(q, NULL);
    for (size_t most = 0; most < 512 * KIB; most += 8 * KIB) { /* wherever that ends it */
        q = grpc_unpack_within(&inference__model_infer_request__descriptor, parts, sizeof(parts),
                               most, &err);
        assert_null(q);
        assert_int_equal(err.detail, EXCHANGE_INVALID);
        assert_non_null(strstr(err.text, "too many parts"));
    }
}

/* Each makes one thing of a good request wrong. */
static void wrong_name(struct infer *i)
{
    i->q.model_name = "foo";
}
static void wrong_version(struct infer *i)
{
    i->q.model_version = "v1";
}
static void version_not_ready(struct infer *i)
{
    i->q.model_version = "3";
}
static void wrong_type(struct infer *i)
{
    i->in.datatype = "FLOAT";
}
static void other_type(struct infer *i)
{
    i->in.datatype = "INT32";
}
static void half_float(struct infer *i)
{
    i->in.datatype = "FP16";
}
static void too_few(struct infer *i)
{
    i->contents.n_fp32_contents = 1;
}
static void minus(struct infer *i)
{
    i->shape[0] = -1;
}
static void raw_and_typed(struct infer *i)
{
    i->q.n_raw_input_contents = 1;
    i->q.raw_input_contents = &i->raw;
}
static void no_output(struct infer *i)
{
    i->out.name = "z";
    i->q.n_outputs = 1;
}
static void short_raw(struct infer *i)
{
    raw_and_typed(i);
    i->in.contents = NULL;
    i->raw.len = 7;
}

static void wrong_infer_requests_are_told_what_is_wrong(void **state)
{
    static const struct {
        void (*spoil)(struct infer *i);
        enum exchange_code code;
        const char *text;
    } rows[] = {
        { wrong_name, EXCHANGE_NOT_FOUND, "Request for unknown model: 'foo' is not found" },
        { wrong_version, EXCHANGE_INVALID, "the version 'v1' is not a number" },
        { version_not_ready, EXCHANGE_UNAVAILABLE, "model 'half' version 3 is not ready" },
        { wrong_type, EXCHANGE_INVALID, "invalid datatype for input x: FLOAT" },
        { other_type, EXCHANGE_INVALID, "input 'x' has 0 values, but its shape has 2" },
        { half_float, EXCHANGE_INVALID,
          "input 'x' is FP16, which has no typed values: use raw_input_contents" },
        { too_few, EXCHANGE_INVALID, "input 'x' has 1 values, but its shape has 2" },
        { minus, EXCHANGE_INVALID, "invalid shape for input 'x'" },
        { raw_and_typed, EXCHANGE_INVALID,
          "contents field must not be specified when using raw_input_contents for 'x' for model "
          "'half'" },
        { no_output, EXCHANGE_INVALID, "there is no output 'z': the model has 'y'" },
        { short_raw, EXCHANGE_INVALID, "input 'x': 7 bytes, but FP32 of shape [1, 2] has 8" },
    };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (size_t k = 0; k < COUNT_OF(rows); k++) {
        AUTO_EXCHANGE x = { 0 };
        struct infer i;

        make_infer(&i, false);
        rows[k].spoil(&i);
        assert_int_equal(call(&s, &x, INFER, &i.q.base), EXCHANGE_DONE);
        assert_string_equal(buf_text(&x.answer.body), rows[k].text);
        assert_int_equal(x.answer.code, rows[k].code);
        assert_int_equal(x.answer.status, 200);
    }
    test_server_done(&s);
}

static void a_message_that_is_none_is_refused(void **state)
{
    struct test_server s;
    AUTO_EXCHANGE x = { 0 }, y = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    assert_int_equal(exchange_grpc(&x, INFER, "\x0a\xff", 2, &s.served), EXCHANGE_DONE);
    assert_int_equal(x.answer.code, EXCHANGE_INVALID);
    assert_int_equal(exchange_grpc(&y, "/inference.GRPCInferenceService/Nothing", "", 0, &s.served),
                     EXCHANGE_OTHER);
    test_server_done(&s);
}

static void servers_and_models_are_described(void **state)
{
    Inference__ModelReadyRequest q = INFERENCE__MODEL_READY_REQUEST__INIT;
    Inference__ModelMetadataResponse *a;
    Inference__ModelReadyResponse *ready;
    struct test_server s;
    AUTO_EXCHANGE x = { 0 }, y = { 0 }, z = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    q.name = "half";
    assert_int_equal(call(&s, &x, "/inference.GRPCInferenceService/ModelMetadata", &q.base),
                     EXCHANGE_DONE);
    a = inference__model_metadata_response__unpack(NULL, x.answer.body.len, x.answer.body.data);
    assert_non_null(a);
    assert_int_equal(a->n_versions, 2);
    assert_string_equal(a->versions[1], "2");
    assert_string_equal(a->platform, "onnx_onnxv1");
    assert_string_equal(a->inputs[0]->datatype, "FP32");
    inference__model_metadata_response__free_unpacked(a, NULL);

    q.version = "3";
    assert_int_equal(call(&s, &y, "/inference.GRPCInferenceService/ModelReady", &q.base),
                     EXCHANGE_DONE);
    assert_int_equal(y.answer.code, EXCHANGE_OK);
    ready = inference__model_ready_response__unpack(NULL, y.answer.body.len, y.answer.body.data);
    assert_false(ready->ready);
    inference__model_ready_response__free_unpacked(ready, NULL);

    assert_int_equal(
        exchange_grpc(&z, "/inference.GRPCInferenceService/ServerLive", "", 0, &s.served),
        EXCHANGE_DONE);
    assert_memory_equal(z.answer.body.data, "\x08\x01", 2);
    test_server_done(&s);
}

/* A predict request for `half`. */
struct predict {
    Tfs__PredictRequest q;
    Tfs__ModelSpec spec;
    Tfs__TensorEntry entry, *entries[1];
    Tfs__Tensor tensor;
    Tfs__TensorShape shape;
    Tfs__TensorShape__Dim dim, *dims[1];
    float values[3];
};

static void make_predict(struct predict *p, int64_t count, size_t values)
{
    *p = (struct predict){ .q = TFS__PREDICT_REQUEST__INIT,
                           .spec = TFS__MODEL_SPEC__INIT,
                           .entry = TFS__TENSOR_ENTRY__INIT,
                           .tensor = TFS__TENSOR__INIT,
                           .shape = TFS__TENSOR_SHAPE__INIT,
                           .dim = TFS__TENSOR_SHAPE__DIM__INIT,
                           .values = { 1, 2, 5 } };
    p->spec.name = "half";
    p->q.model_spec = &p->spec;
    p->q.n_inputs = 1;
    p->q.inputs = p->entries;
    p->entries[0] = &p->entry;
    p->entry.key = "x";
    p->entry.value = &p->tensor;
    p->tensor.dtype = TFS__DATA_TYPE__DT_FLOAT;
    p->tensor.tensor_shape = &p->shape;
    p->shape.n_dim = 1;
    p->shape.dim = p->dims;
    p->dims[0] = &p->dim;
    p->dim.size = count;
    p->tensor.n_float_val = values;
    p->tensor.float_val = p->values;
}

static void predictions_are_answered_in_the_field_for_their_type(void **state)
{
    static const struct {
        int64_t count;
        size_t values;
        float last;
    } rows[] = { { 3, 3, 4.5 }, { 4, 2, 3 }, { 2, 0, 2 } };
    struct test_server s;

    (void)state;
    assert_true(test_server_init(&s));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Tfs__PredictResponse *a;
        AUTO_EXCHANGE x = { 0 };
        struct predict p;
        const Tfs__Tensor *y;

        make_predict(&p, rows[i].count, rows[i].values);
        assert_int_equal(call(&s, &x, PREDICT, &p.q.base), EXCHANGE_DONE);
        assert_int_equal(x.answer.code, EXCHANGE_OK);
        a = tfs__predict_response__unpack(NULL, x.answer.body.len, x.answer.body.data);
        assert_non_null(a);
        assert_int_equal(a->model_spec->version->value, 2);
        assert_string_equal(a->model_spec->signature_name, "serving_default");
        assert_string_equal(a->outputs[0]->key, "y");
        y = a->outputs[0]->value;
        assert_int_equal(y->n_float_val, rows[i].count);
        assert_true(y->float_val[y->n_float_val - 1] == rows[i].last);
        assert_int_equal(y->tensor_shape->dim[0]->size, rows[i].count);
        tfs__predict_response__free_unpacked(a, NULL);
    }
    test_server_done(&s);
}

static void a_shape_cannot_be_made_large_by_repeating(void **state)
{
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };
    struct predict p;

    (void)state;
    assert_true(test_server_init(&s));
    make_predict(&p, 1ll << 40, 1);
    assert_int_equal(call(&s, &x, PREDICT, &p.q.base), EXCHANGE_DONE);
    assert_int_equal(x.answer.code, EXCHANGE_INVALID);
    assert_non_null(strstr(buf_text(&x.answer.body), "too many to repeat"));
    test_server_done(&s);
}

static void every_type_goes_through_predict_and_back(void **state)
{
    static const struct {
        enum tensor_type type;
        uint8_t bytes[8];
    } rows[] = {
        { TENSOR_BOOL, { 1 } },
        { TENSOR_INT8, { 0x80 } },
        { TENSOR_INT16, { 1, 0x80 } },
        { TENSOR_UINT8, { 255 } },
        { TENSOR_UINT16, { 255, 255 } },
        { TENSOR_FP16, { 0, 0xbc } },
        { TENSOR_INT32, { 1, 0, 0, 0x80 } },
        { TENSOR_UINT32, { 255, 255, 255, 255 } },
        { TENSOR_INT64, { 1, 0, 0, 0, 0, 0, 0, 0x80 } },
        { TENSOR_UINT64, { 255, 255, 255, 255, 255, 255, 255, 255 } },
        { TENSOR_FP64, { 1, 2, 3, 4, 5, 6, 7, 8 } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const int64_t dims[] = { 1 };
        struct served_model model = { .name = "m", .version = 1, .state = MODEL_AVAILABLE };
        const struct served served = { .models = &model, .models_n = 1 };
        AUTO_SIGNATURE sig = { 0 };
        struct predict p;
        Tfs__PredictResponse *a;
        AUTO_EXCHANGE x = { 0 }, again = { 0 };
        AUTO_BUF b = { .max = KIB };
        AUTO_TENSORS out = { 0 };
        struct tensor *t;

        assert_int_equal(signature_add(&sig.inputs, "x", NULL, rows[i].type, dims, 1, NULL), 0);
        assert_int_equal(signature_add(&sig.outputs, "x", NULL, rows[i].type, dims, 1, NULL), 0);
        model.signatures = &sig;
        model.signatures_n = 1;
        make_predict(&p, 1, 0);
        p.spec.name = "m";
        p.tensor.dtype = (Tfs__DataType)tensor_type_tf_number(rows[i].type);
        p.tensor.tensor_content = (ProtobufCBinaryData){ tensor_type_size(rows[i].type),
                                                         (uint8_t *)(uintptr_t)rows[i].bytes };
        assert_int_equal(grpc_pack(&b, &p.q.base), 0);
        assert_int_equal(exchange_grpc(&x, PREDICT, b.data, b.len, &served), EXCHANGE_RUN);
        assert_int_equal(tensors_add(&out, &t, NULL), 0);
        assert_int_equal(tensor_init(t, "x", rows[i].type, dims, 1, NULL), 0);
        assert_int_equal(tensor_borrow(t, x.inputs.v[0].data, x.inputs.v[0].size, NULL), 0);
        assert_int_equal(exchange_finish(&x, &out), EXCHANGE_DONE);

        /* What was answered, sent as a request, is the same tensor. */
        a = tfs__predict_response__unpack(NULL, x.answer.body.len, x.answer.body.data);
        assert_non_null(a);
        assert_int_equal(a->outputs[0]->value->tensor_content.len, 0);
        p.entry.value = a->outputs[0]->value;
        buf_reset(&b);
        assert_int_equal(grpc_pack(&b, &p.q.base), 0);
        assert_int_equal(exchange_grpc(&again, PREDICT, b.data, b.len, &served), EXCHANGE_RUN);
        assert_memory_equal(again.inputs.v[0].data, rows[i].bytes, tensor_type_size(rows[i].type));
        tfs__predict_response__free_unpacked(a, NULL);
    }
}

static void metadata_and_status_of_models_are_told(void **state)
{
    Tfs__GetModelMetadataRequest q = TFS__GET_MODEL_METADATA_REQUEST__INIT;
    Tfs__GetModelStatusRequest status = TFS__GET_MODEL_STATUS_REQUEST__INIT;
    Tfs__ModelSpec spec = TFS__MODEL_SPEC__INIT;
    const char *field = "signature_def";
    Tfs__GetModelMetadataResponse *a;
    Tfs__GetModelStatusResponse *b;
    Tfs__SignatureDefMap *map;
    struct test_server s;
    AUTO_EXCHANGE x = { 0 }, y = { 0 };

    (void)state;
    assert_true(test_server_init(&s));
    spec.name = "half";
    q.model_spec = status.model_spec = &spec;
    q.n_metadata_field = 1;
    q.metadata_field = &field;
    assert_int_equal(
        call(&s, &x, "/tensorflow.serving.PredictionService/GetModelMetadata", &q.base),
        EXCHANGE_DONE);
    a = tfs__get_model_metadata_response__unpack(NULL, x.answer.body.len, x.answer.body.data);
    assert_non_null(a);
    map = tfs__signature_def_map__unpack(NULL, a->metadata[0]->value->value.len,
                                         a->metadata[0]->value->value.data);
    assert_non_null(map);
    assert_string_equal(map->signature_def[0]->key, "serving_default");
    assert_string_equal(map->signature_def[0]->value->outputs[0]->value->name, "internal:0");
    assert_true(map->signature_def[0]->value->inputs[0]->value->tensor_shape->unknown_rank);
    tfs__signature_def_map__free_unpacked(map, NULL);
    tfs__get_model_metadata_response__free_unpacked(a, NULL);

    assert_int_equal(call(&s, &y, "/tensorflow.serving.ModelService/GetModelStatus", &status.base),
                     EXCHANGE_DONE);
    b = tfs__get_model_status_response__unpack(NULL, y.answer.body.len, y.answer.body.data);
    assert_int_equal(b->n_model_version_status, 3);
    assert_int_equal(b->model_version_status[2]->state, TFS__STATE__LOADING);
    tfs__get_model_status_response__free_unpacked(b, NULL);
    test_server_done(&s);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_inferred_from_typed_and_raw_contents),
        cmocka_unit_test(a_message_takes_no_more_memory_than_it_may),
        cmocka_unit_test(wrong_infer_requests_are_told_what_is_wrong),
        cmocka_unit_test(a_message_that_is_none_is_refused),
        cmocka_unit_test(servers_and_models_are_described),
        cmocka_unit_test(predictions_are_answered_in_the_field_for_their_type),
        cmocka_unit_test(a_shape_cannot_be_made_large_by_repeating),
        cmocka_unit_test(every_type_goes_through_predict_and_back),
        cmocka_unit_test(metadata_and_status_of_models_are_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
