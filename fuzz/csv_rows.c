/* csv_rows.c - a table for `ydl predict --csv`: the first byte says in which pieces it comes; its
 * rows are encoded for models of several kinds. */
#include "cmd/predict/row_columns.h"
#include "fuzz.h"

#include <string.h>

static const struct fuzz_input {
    const char *name;
    enum tensor_type type;
    size_t rank;
    int64_t dims[2];
} models[][2] = {
    { { "x", TENSOR_FP32, 2, { -1, 3 } } },
    { { "x", TENSOR_FP64, 2, { -1, -1 } } },
    { { "a", TENSOR_INT32, 1, { -1 } }, { "b", TENSOR_BYTES, 1, { -1 } } },
    { { "n", TENSOR_BOOL, 1, { 2 } } },
};

struct table {
    struct signature s;
    struct row_columns columns;
    struct buf bytes[2];
    bool begun;
};

static void see_record(struct table *t, const struct csv_record *record)
{
    int r = 0;

    if (t->columns.n == 0)
        r = row_columns_make(&t->s, record, ROW_HEADER_AUTO, &t->columns, NULL);
    if (r < 0)
        row_columns_done(&t->columns);
    else if (r == 0)
        (void)row_encode(&t->columns, record, t->bytes, NULL);
}

static void read_table(struct table *t, const uint8_t *p, size_t n, size_t piece)
{
    struct csv_record record;
    AUTO_CSV c = { 0 };
    uint8_t *room;
    int r;

    csv_init(&c);
    while ((r = csv_next(&c, &record, NULL)) > 0 || (r == 0 && !c.ended)) {
        size_t many = n < piece ? n : piece;

        if (r > 0) {
            see_record(t, &record);
            continue;
        }
        if (csv_room(&c, piece, &room) < 0)
            return;
        if (many > 0)
            memcpy(room, p, many);
        csv_filled(&c, many);
        p += many;
        n -= many;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t model = size > 0 ? data[0] % COUNT_OF(models) : 0;
    size_t piece = size > 0 ? 1 + data[0] / COUNT_OF(models) : 1;
    struct table t = { .bytes = { { .max = MIB }, { .max = MIB } } };

    for (size_t i = 0; i < 2 && models[model][i].name; i++)
        (void)signature_add(&t.s.inputs, models[model][i].name, NULL, models[model][i].type,
                            models[model][i].dims, models[model][i].rank, NULL);
    if (size > 0)
        read_table(&t, data + 1, size - 1, piece);
    row_columns_done(&t.columns);
    signature_done(&t.s);
    buf_done(&t.bytes[0]);
    buf_done(&t.bytes[1]);
    return 0;
}
