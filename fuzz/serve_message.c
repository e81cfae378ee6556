/* serve_message.c - a message of one of the gRPC calls of the model server: one byte says which
 * call, the rest is the message. */
#include "serve_fuzz.h"

static const char *const paths[] = {
    "/inference.GRPCInferenceService/ServerReady",
    "/inference.GRPCInferenceService/ModelReady",
    "/inference.GRPCInferenceService/ModelMetadata",
    "/inference.GRPCInferenceService/ModelInfer",
    "/inference.GRPCInferenceService/RepositoryIndex",
    "/tensorflow.serving.PredictionService/Predict",
    "/tensorflow.serving.PredictionService/GetModelMetadata",
    "/tensorflow.serving.ModelService/GetModelStatus",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE uint8_t *copy = malloc(size > 0 ? size : 1);
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };
    enum exchange_step step;

    if (size == 0)
        return 0;
    if (!copy || !test_server_init(&s))
        abort();
    memcpy(copy, data + 1, size - 1);
    step = exchange_grpc(&x, paths[data[0] % COUNT_OF(paths)], copy, size - 1, &s.served);
    if (step == EXCHANGE_RUN)
        step = test_run(&x);
    if (step != EXCHANGE_DONE || x.inputs.n > 0 || x.answer.status != 200)
        abort();
    exchange_done(&x);
    test_server_done(&s);
    return 0;
}
