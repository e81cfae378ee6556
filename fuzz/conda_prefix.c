/* conda_prefix.c - hostile bytes where a file of an environment should be: told a longer and a
 * shorter place, as a text and as a program. No change may reach past the end, or over another one.
 */
#include "pyenv/conda_prefix.h"
#include "base/path.h"
#include "fuzz.h"

#include <stdlib.h>
#include <sys/mman.h>

static void check(const struct conda_prefix_patches *p, size_t size)
{
    uint64_t end = 0;

    for (size_t i = 0; i < p->n; i++) {
        if (p->v[i].at < end || p->v[i].at + p->v[i].n > size)
            abort();
        end = p->v[i].at + p->v[i].n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const to[] = { "/e", "/a/longer/place" };
    char one[] = "/hold", two[] = "/x/hold", *both[] = { one, two, NULL };
    struct strs from = { both, 2 };
    AUTO_CLOSE int fd = memfd_create("place", MFD_CLOEXEC);

    if (fd < 0 || size == 0 || path_write_fd(fd, data, size) < 0)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        const struct conda_prefix_move m = { &from, to[i] };
        AUTO_CONDA_PATCHES patches = { 0 };
        AUTO_BUF out = { .max = MIB };
        size_t stuck = 0;

        (void)conda_prefix_text(&m, (const char *)data, size, &out);
        if (conda_prefix_binary(&m, fd, size, &patches, &stuck) == 0)
            check(&patches, size);
    }
    return 0;
}
