/* row_columns.h - which columns of a table are which values of a model's inputs. Pure.
 *
 * A row of the table is a row of the inputs: of shape [-1, 784] it has 784 values. Where the model
 * has no dimension for rows, a row is a whole request. Columns stand in the order of the inputs and
 * of their values, or have the inputs' names in the first line: NAME, or NAME.0, NAME.1 … where an
 * input has several values a row. */
#pragma once
#include "cmd/predict/csv_reader.h"
#include "serve/signature.h"

#define ROW_VALUES_MAX (4 * MIB) /* values of a row */

struct row_input {
    const struct signature_slot *slot; /* borrowed */
    size_t width;                      /* values a row */
    size_t *from;                      /* the column of each */
    size_t rank;
    int64_t dims[TENSOR_DIMS_MAX]; /* of a request; the first is not set where `batched` */
};

struct row_columns {
    struct row_input *inputs;
    size_t n;
    size_t columns; /* of every record */
    bool batched;   /* a request may have several rows */
    char *unused;   /* names of columns that no input has: "id, label"; NULL: none */
};

enum row_header { ROW_HEADER_AUTO, ROW_HEADER_YES, ROW_HEADER_NO };

/* From the file's first record. 1: it is a header; 0: it is a row. -EINVAL with the line, -ENOTSUP
 * for a model that takes no rows. `s` is borrowed and outlives `ret`, which needs
 * row_columns_done() in any case. */
int row_columns_make(const struct signature *s, const struct csv_record *first,
                     enum row_header header, struct row_columns *ret, struct err *err);
void row_columns_done(struct row_columns *c);

/* Appends the values of a record to the bytes of each input, `bytes[0]` to `bytes[c->n - 1]`.
 * -EINVAL with line and column, -E2BIG. */
int row_encode(const struct row_columns *c, const struct csv_record *record, struct buf *bytes,
               struct err *err);

#define AUTO_ROW_COLUMNS AUTO_DONE(row_columns_done) struct row_columns
