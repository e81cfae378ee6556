/* native_text.c - what ydl-native is told in words: an optimizer, or a cluster of TensorFlow
 * servers. The first byte chooses the reader. What was taken is used: as operators' parameters, as
 * a ServerDef. */
#include "fuzz.h"
#include "native/optimizer.h"
#include "native/tf_cluster.h"

#include <stdlib.h>
#include <string.h>

static void optimize(const char *text)
{
    struct optimizer_call call = { 0 };
    struct optimizer o = { 0 };

    (void)optimizer_is_pickle(text);
    if (optimizer_parse(text, &o, NULL) < 0)
        return;
    for (int64_t step = 1; step <= 3; step++) {
        optimizer_call(&o, step, &call);
        if (!call.op || call.n > OPTIMIZER_PARAMS || call.states > OPTIMIZER_STATES)
            abort();
    }
}

static void serve(char how, const char *text)
{
    static const struct tf_threads threads = { TF_INTER_LEAST, 0 };
    AUTO_TF_CLUSTER c = { 0 };
    AUTO_BUF def = { .max = 64 * MIB };
    struct tf_task task = { .index = -1 };
    int r = how == 'c'   ? tf_cluster_config(text, &c, &task, NULL)
            : how == 's' ? tf_cluster_spec(text, &c, NULL)
                         : tf_cluster_job(text, &c, NULL);

    if (r < 0 || tf_cluster_check(&c, &task, NULL) < 0)
        return;
    if (tf_cluster_encode(&c, &task, &threads, &def, NULL) == 0 && def.len == 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = size ? strndup((const char *)data + 1, size - 1) : NULL;

    if (!text)
        return 0;
    if (data[0] == 'o')
        optimize(text);
    else
        serve((char)data[0], text);
    return 0;
}
