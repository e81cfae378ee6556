/* warmup_expected.c - a request that is stored with a model and what it is to be answered, up to
 * the first byte of 0, and behind it the answer. Whatever is expected fits itself. */
#include "serve/engine/warmup_expected.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    size_t n = zero ? (size_t)(zero - data) : size;
    AUTO_BUF file = { .max = 16 * MIB };
    AUTO_WARMUP_EXPECTED e = { 0 };
    struct err err = ERR_INIT;

    if (buf_add(&file, data, n) < 0)
        return 0;
    if (warmup_expected_read(&file, &e, &err) < 0) {
        if (!err.text[0])
            abort();
        return 0;
    }
    if (zero && warmup_expected_check(&e, zero + 1, size - n - 1, &err) < 0 && !err.text[0])
        abort();
    return 0;
}
