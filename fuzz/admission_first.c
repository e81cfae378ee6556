/* admission_first.c - the first bytes that anybody sends to a port of ours: more of them never turn
 * a refusal into an admission, and what is complete stays so. */
#include "fuzz.h"
#include "wire/admission.h"

#include <stdlib.h>

static void look_at(admission_first *fn, const uint8_t *data, size_t size)
{
    int before = 0;

    for (size_t n = 1; n <= size && n <= 512; n++) {
        struct err err = ERR_INIT;
        int r = fn(data, n, &err);

        if (r > 1 || (r < 0) != (err.text[0] != '\0'))
            abort();
        if ((before < 0 && r >= 0) || (before > 0 && r <= 0))
            abort();
        before = r;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    look_at(admission_first_tls, data, size);
    look_at(admission_first_http, data, size);
    return 0;
}
