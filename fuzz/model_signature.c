/* model_signature.c - a SavedModel's description, from the file to what a server tells its clients;
 * whoever made the model wrote every byte of it. */
#include "fuzz.h"
#include "serve/backend/disk_facts.h"

#include <stdlib.h>
#include <string.h>

struct whole {
    const uint8_t *p;
    size_t n;
};

static int read_whole(void *arg, size_t file, uint64_t at, void *p, size_t n, struct err *err)
{
    const struct whole *w = arg;

    (void)file;
    (void)err;
    if (at > w->n || n > w->n - at)
        abort();
    if (n)
        memcpy(p, w->p + at, n);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct format_file file = { "saved_model.pb", size };
    struct whole w = { data, size };
    struct format_tree t = { .files = &file, .n = 1, .read = read_whole, .arg = &w };
    AUTO_FORMAT_FACTS f = { 0 };
    const char *name;
    json_t *v;

    if (format_find(&t, &f, NULL) < 0)
        return 0;
    json_object_foreach(f.signatures, name, v)
    {
        AUTO_SIGNATURE s = { 0 };
        AUTO_SIGNATURE copy = { 0 };
        struct err err = ERR_INIT;

        if (disk_facts_signature(name, v, &s, &err) < 0) {
            if (!err.text[0])
                abort();
            continue;
        }
        if (s.outputs.n == 0 || !s.name || signature_copy(&s, &copy, NULL) < 0 ||
            copy.inputs.n != s.inputs.n)
            abort();
    }
    return 0;
}
