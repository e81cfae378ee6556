/* worker_message.c (fuzz) - what a worker of a Python handler writes: a message, and a region with
 * the tensors of its answer. */
#include "serve/worker/worker_message.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#define FUZZ_CHECK(x)                                                                              \
    do {                                                                                           \
        if (!(x))                                                                                  \
            abort();                                                                               \
    } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct worker_message m = { 0 };
    AUTO_TENSORS out = { 0 };
    char text[64];
    size_t n = size < sizeof(m) ? size : sizeof(m);

    memcpy(&m, data, n);
    (void)worker_message_check(&m, n, 1, NULL);
    worker_text_take(data + n, size - n, text, sizeof(text));
    if (worker_tensors_take(data + n, size - n, &out, NULL) == 0) {
        /* What was taken can be put again, and is the same. */
        AUTO_FREE uint8_t *again = NULL;
        AUTO_TENSORS back = { 0 };
        size_t room = 0;

        if (worker_tensors_size(&out, 64 * MIB, &room, NULL) < 0)
            return 0;
        again = calloc(1, room);
        if (!again)
            return 0;
        worker_tensors_put(&out, again);
        FUZZ_CHECK(worker_tensors_take(again, room, &back, NULL) == 0 && back.n == out.n);
        for (size_t i = 0; i < out.n; i++)
            FUZZ_CHECK(
                back.v[i].size == out.v[i].size &&
                (out.v[i].size == 0 || memcmp(back.v[i].data, out.v[i].data, out.v[i].size) == 0));
    }
    return 0;
}
