/* model_format.c - the files of a model, as whoever pushes it made them. The first byte chooses
 * their names; of two files the next two bytes are the length of the first one. */
#include "fuzz.h"
#include "model/format/formats.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[][2] = {
    { "m", NULL },
    { "saved_model.pb", NULL },
    { "model.py", NULL },
    { "command.json", NULL },
    { "n-0000.params", "n-symbol.json" },
    { "m.onnx", "w.bin" },
};

struct part {
    const uint8_t *p;
    size_t n;
};

static int read_part(void *arg, size_t file, uint64_t at, void *p, size_t n, struct err *err)
{
    const struct part *part = (const struct part *)arg + file;

    (void)err;
    if (at > part->n || n > part->n - at)
        abort();
    if (n)
        memcpy(p, part->p + at, n);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *const *which = size > 3 ? names[data[0] % COUNT_OF(names)] : NULL;
    struct format_file files[2] = { 0 };
    struct part parts[2] = { 0 };
    struct format_tree t = { .files = files, .n = 1, .read = read_part, .arg = parts };
    struct err err = ERR_INIT;
    AUTO_FORMAT_FACTS f = { 0 };

    if (!which)
        return 0;
    parts[0] = (struct part){ data + 3, size - 3 };
    if (which[1]) {
        size_t n = (size_t)(data[1] << 8 | data[2]);

        n = n < size - 3 ? n : size - 3;
        parts[0].n = n;
        parts[1] = (struct part){ data + 3 + n, size - 3 - n };
        t.n = 2;
    }
    for (size_t i = 0; i < t.n; i++)
        files[i] = (struct format_file){ which[i], parts[i].n };
    if (format_find(&t, &f, &err) == 0 ? !f.format || !f.entry || !f.framework
                                       : f.format || !err.text[0])
        abort();
    return 0;
}
