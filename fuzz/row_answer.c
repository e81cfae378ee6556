/* row_answer.c - a model server's answer to rows: two bytes with the length of its JSON, the JSON,
 * the tensors. What is accepted is printed in both forms. */
#include "cmd/predict/row_request.h"
#include "fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t json = size >= 2 ? (size_t)data[0] << 8 | data[1] : 0;
    struct buf answer = { .max = MIB };
    struct buf out = { .max = 4 * MIB };

    if (size >= 2 && buf_add(&answer, data + 2, size - 2) == 0) {
        for (int batched = 0; batched < 2; batched++) {
            const struct row_columns c = { .batched = batched };
            struct tensors t = { 0 };

            if (row_answer(&answer, json, &c, 2, &t, NULL) == 0) {
                (void)row_print_json(&t, batched, &out);
                (void)row_print_names(&t, batched, &out);
                (void)row_print_csv(&t, batched, &out);
            }
            tensors_done(&t);
        }
    }
    buf_done(&answer);
    buf_done(&out);
    return 0;
}
