/* warmup_expected.h - a stored request that says what it is to be answered:
 *
 *     { "request":  {"instances": [[1, 2, 3]]},      // the body, as it would be sent
 *       "expected": {"predictions": [[0.25, 0.75]]}, // what the answer must have
 *       "rtol": 1e-5, "atol": 1e-8 }                 // how far its numbers may be off
 *
 * A number fits when |number - expected| <= atol + rtol * |expected|; everything else must be
 * equal. Of an object what is not expected may be there too. Pure logic. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

/* Zeroed is one that anything fits. */
struct warmup_expected {
    void *doc; /* of the file */
    void *value;
    double rtol, atol;
};

/* Reads a stored request. Where it has the form above, `file` becomes the request alone. -EINVAL
 * with a sentence for one that has "request" and is not of that form; anything else is left as it
 * is. `ret` needs warmup_expected_done() in any case. */
int warmup_expected_read(struct buf *file, struct warmup_expected *ret, struct err *err);
/* Is this the answer? -EBADMSG with the first place where it is not. */
int warmup_expected_check(const struct warmup_expected *e, const void *answer, size_t n,
                          struct err *err);
void warmup_expected_done(struct warmup_expected *e);

static inline void auto_warmup_expected_(struct warmup_expected *e)
{
    warmup_expected_done(e);
}
#define AUTO_WARMUP_EXPECTED AUTO(warmup_expected) struct warmup_expected
