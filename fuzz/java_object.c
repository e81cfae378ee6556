/* java_object.c - hostile bytes where Java's serialized objects should be. */
#include "fuzz.h"
#include "hadoop/logs/java.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO(java) struct java *j = NULL;
    int64_t n;

    if (java_parse(data, size, &j, NULL) < 0)
        return 0;
    (void)java_field(java_root(j), "logMetas");
    (void)java_text(java_root(j), "compressName");
    (void)java_number(java_root(j), "version", &n);
    return 0;
}
