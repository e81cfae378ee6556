/* warmup_records.c - TensorFlow Serving's warm-up requests, as they lie in a model that anybody may
 * have made. */
#include "serve/engine/warmup_records.h"
#include "fuzz.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view file = view_of(data, size), record;
    struct err err = ERR_INIT;
    int r;

    while ((r = warmup_record_next(&file, &record, &err)) > 0) {
        AUTO_BUF request = { .max = 16 * MIB };
        int made = warmup_record_request(record, "model", &request, &err);

        if (made == 1 && request.len < 9) /* our name, at least */
            abort();
        if (made < 0 && !err.text[0])
            abort();
    }
    if (r < 0 && !err.text[0])
        abort();
    return 0;
}
