/* serve_fuzz.h - what the fuzz targets of the model server's protocols have in common: a request
 * through all its steps, and what must be true of every answer. */
#pragma once
#include "fuzz.h"
#include "serve/protocol/protocol_testing.h"

#include <stdlib.h>
#include <string.h>

/* One line of the input, which is the request's target; the rest is the body. */
static inline size_t fuzz_target_line(const uint8_t *data, size_t size, char *out, size_t cap)
{
    const uint8_t *end = memchr(data, '\n', size < cap ? size : cap - 1);
    size_t n = end ? (size_t)(end - data) : 0;

    memcpy(out, data, n);
    out[n] = '\0';
    return end ? n + 1 : 0;
}

/* The bytes in a block of their own, so that reading past them is noticed. */
static inline void fuzz_ask(const struct exchange_request *q, const uint8_t *body, size_t n)
{
    AUTO_FREE uint8_t *copy = malloc(n > 0 ? n : 1);
    struct test_server s;
    AUTO_EXCHANGE x = { 0 };

    if (!copy || !test_server_init(&s))
        abort();
    if (n > 0)
        memcpy(copy, body, n);
    if (test_ask(&s, &x, q, copy, n) == EXCHANGE_DONE) {
        if (x.answer.status < 200 || x.answer.status > 599 || !x.answer.type || x.inputs.n > 0)
            abort();
        if ((x.answer.status == 200) != (x.answer.code == EXCHANGE_OK))
            abort();
        if (x.answer.header_length > (int64_t)x.answer.body.len)
            abort();
    }
    exchange_done(&x);
    test_server_done(&s);
}
