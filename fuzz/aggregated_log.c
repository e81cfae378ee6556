/* aggregated_log.c - a hostile file of aggregated logs, in either format. */
#include "base/auto.h"
#include "fuzz.h"
#include "hadoop/logs/app_log_format.h"

#include <string.h>

struct bytes {
    const uint8_t *p;
    size_t n;
};

static ssize_t from_memory(void *arg, uint64_t offset, void *p, size_t n, struct err *err)
{
    const struct bytes *b = arg;

    (void)err;
    if (offset >= b->n)
        return 0;
    if (n > b->n - offset)
        n = b->n - (size_t)offset;
    memcpy(p, b->p + offset, n);
    return (ssize_t)n;
}

/* Every other file is read, the others are skipped. */
static void go_through(const struct log_format *f, void *file)
{
    struct log_item item = { 0 };
    char p[1000];
    uint64_t most = 4 * MIB;

    for (int i = 0; most && f->next(file, &item, NULL) > 0; i++) {
        ssize_t n;

        if (strlen(item.name) == 0 || strchr(item.name, '/') || strchr(item.container, '/'))
            abort();
        while (i % 2 == 0 && most && (n = f->read(file, p, sizeof(p), NULL)) > 0)
            most -= most < (uint64_t)n ? most : (uint64_t)n;
        most -= most > 100 ? 100 : most;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = { data, size };
    const struct log_source s = { .pread = from_memory, .arg = &b, .length = size };
    const struct log_about about = { .app = "application_1794824292826_0004", .end = UINT64_MAX };
    const struct log_format *f = NULL;
    void *file = NULL;

    if (log_format_find(&s, &about, &f, NULL) < 0)
        return 0;
    if (f->open(&s, &about, &file, NULL) < 0)
        return 0;
    go_through(f, file);
    f->close(file);
    return 0;
}
