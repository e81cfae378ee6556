/* oip_request.c - a request in the Open Inference Protocol, as JSON: a line with its path, then its
 * body. */
#include "serve_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char target[256];
    size_t head = fuzz_target_line(data, size, target, sizeof(target));
    struct exchange_request q = { .method = "POST", .target = target };

    fuzz_ask(&q, data + head, size - head);
    q.method = "GET";
    fuzz_ask(&q, NULL, 0);
    return 0;
}
