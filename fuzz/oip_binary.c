/* oip_binary.c - an infer request with binary tensors: a line with the model's name, one with the
 * value of Inference-Header-Content-Length, "=" for as much as the JSON takes up to a NUL, then the
 * body. */
#include "serve_fuzz.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[64], length[32], target[128];
    size_t head = fuzz_target_line(data, size, name, sizeof(name));
    const uint8_t *end;
    struct exchange_request q = { .method = "POST",
                                  .target = target,
                                  .inference_header_length = length };

    head += fuzz_target_line(data + head, size - head, length, sizeof(length));
    end = memchr(data + head, 0, size - head);
    if (strcmp(length, "=") == 0)
        snprintf(length, sizeof(length), "%zu", end ? (size_t)(end - data) - head : size - head);
    snprintf(target, sizeof(target), "/v2/models/%s/infer", name);
    fuzz_ask(&q, data + head, size - head);
    return 0;
}
