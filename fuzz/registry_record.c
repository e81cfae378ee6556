/* registry_record.c - a hostile record, and hostile names, of the registry. */
#include "base/auto.h"
#include "fuzz.h"
#include "hadoop/registry/record.h"
#include "hadoop/registry/registry_names.h"

#include <string.h>

static void make_names(const char *text)
{
    char label[REGISTRY_LABEL];

    if (!registry_is_label(registry_label(text, label)) ||
        !registry_is_label(registry_user(text, label)) ||
        !registry_is_label(registry_container(text, label)))
        abort();
    (void)registry_check_path(text, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_FREE char *text = strndup((const char *)data, size);
    AUTO_JSON *v = NULL;

    if (text)
        make_names(text);
    if (registry_record_parse("fuzz", data, size, &v, NULL) == 0)
        (void)registry_record_text(v, "yarn:id");
    return 0;
}
