/* protocol_testing.h - a made-up server with models that need no backend, for the tests and fuzz
 * targets of the protocols: one function drives a request through all its steps.
 *
 *     half      x FP32 [any shape] → y = x / 2 + 2; versions 1, 2 (label "stable"), and 3, which
 *               loads
 *     echo      one input of each type, "b" … "s"; each is an output too
 *     two       a INT32 [-1], b BYTES [-1, 2] → a, b_bytes (b's texts)
 *     image     pixels UINT8 [-1, 2, 2] → pixels
 *     text      s BYTES [1] → s
 *     labels    signatures that classify and regress, from x = the length of each example */
#pragma once
#include "serve/protocol/exchange.h"

struct test_server {
    struct served served;
    struct served_model models[8];
    struct signature signatures[8];
};

/* False when out of memory. */
bool test_server_init(struct test_server *s);
void test_server_done(struct test_server *s);

/* All steps of one request; the answer is in x. `x` is zeroed; EXCHANGE_OTHER or EXCHANGE_DONE. */
enum exchange_step test_ask(const struct test_server *s, struct exchange *x,
                            const struct exchange_request *q, const void *body, size_t n);
/* Runs the model of an exchange in EXCHANGE_RUN and finishes it. */
enum exchange_step test_run(struct exchange *x);
