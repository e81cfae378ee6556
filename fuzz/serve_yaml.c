/* serve_yaml.c - a deployment's file. */
#include "cmd/serve/serve_file.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SERVE_FILE s = { 0 };

    if (serve_file_parse("shop.yaml", data, size, &s, &f) == 0)
        (void)serve_file_resolve(&s, "/srv");
    return 0;
}
