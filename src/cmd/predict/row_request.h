/* row_request.h - rows of a table as a request of the Open Inference Protocol with binary tensors,
 * and its answer as lines of text. Pure. */
#pragma once
#include "base/json.h"
#include "cmd/predict/row_columns.h"

/* What a model takes and gives, from its metadata (GET /v2/models/NAME). -EPROTO for what is none.
 * `ret` needs signature_done() in any case. */
int row_signature(const json_t *metadata, struct signature *ret, struct err *err);

/* The outputs that have a row for each row, as a request names them; *ret is the caller's. -ENOTSUP
 * when there are none. */
int row_outputs(const struct signature *s, bool batched, json_t **ret, struct err *err);

struct row_batch {
    struct buf *bytes; /* of each input */
    size_t rows;
    int64_t first, last; /* lines of the file */
};

/* The request's body: `*ret_json` bytes of JSON, then the tensors. */
int row_request(const struct row_columns *c, const json_t *outputs, const struct row_batch *b,
                struct buf *ret, size_t *ret_json, struct err *err);

/* The outputs in an answer whose first `json` bytes are JSON; they borrow from it. -EPROTO. */
int row_answer(const struct buf *answer, size_t json, const struct row_columns *c, size_t rows,
               struct tensors *ret, struct err *err);

/* A line for each row: an object with the outputs by name. */
int row_print_json(const struct tensors *t, bool batched, struct buf *out);
/* The names of columns: NAME, or NAME.0, NAME.1 … */
int row_print_names(const struct tensors *t, bool batched, struct buf *out);
int row_print_csv(const struct tensors *t, bool batched, struct buf *out);
