/* model_library.c - a row for each format that the model server can run. See model_library.h. */
#include "native/model_library.h"
#include "base/str.h"

static const struct {
    const char *format;
    const struct find_library *library;
} formats[] = {
    { "onnx", &find_onnxruntime }, { "tensorflow", &find_tensorflow }, { "mxnet", &find_mxnet },
    { "xgboost", &find_xgboost },  { "lightgbm", &find_lightgbm },     { "python", NULL },
    { "command", NULL },
};

bool model_is_served(const char *format)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (str_eq(formats[i].format, format))
            return true;
    return false;
}

const struct find_library *model_library(const char *format)
{
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (str_eq(formats[i].format, format))
            return formats[i].library;
    return NULL;
}
