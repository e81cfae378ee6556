/* model_manifest.c - MANIFEST.json of a model's version, and the configuration that names the
 * registry. What was read can be written and read again, and no path leads out of the version. */
#include "fuzz.h"
#include "model/models.h"

#include <stdlib.h>
#include <string.h>

static void check(const struct manifest *m)
{
    char tree[SHA256_TEXT];

    if (m->n == 0 || !model_name_ok(m->name) || m->version < 1)
        abort();
    for (size_t i = 0; i < m->n; i++)
        if (!manifest_path_ok(m->files[i].path) ||
            (i > 0 && strcmp(m->files[i - 1].path, m->files[i].path) >= 0))
            abort();
    if (manifest_tree(m->files, m->n, tree, NULL) < 0 || strcmp(tree, m->tree) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    AUTO_MANIFEST m = { 0 };
    AUTO_FREE char *place = NULL;
    const struct view text = view_of(data, size);
    int r = manifest_parse("fuzz", data, size, &m, &err);

    if (r == 0)
        check(&m);
    else if (!err.text[0])
        abort();
    if (models_config_read("fuzz", &text, "registry", &place, &err) < 0 && place)
        abort();
    return 0;
}
