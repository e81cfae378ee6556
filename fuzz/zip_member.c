/* zip_member.c - hostile bytes where a package should be: every member of it is read. */
#include "base/path.h"
#include "fuzz.h"
#include "pyenv/unzip.h"

#include <stdio.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLOSE int fd = memfd_create("zip", MFD_CLOEXEC);
    AUTO_UNZIP *z = NULL;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || path_write_fd(fd, data, size) < 0 || unzip_open(path, &z, NULL) < 0)
        return 0;
    for (size_t i = 0; i < unzip_count(z) && i < 16; i++) {
        AUTO_BUF text = { .max = 64 * KIB };

        (void)unzip_has(z, unzip_name(z, i));
        (void)unzip_read(z, unzip_name(z, i), &text, NULL);
    }
    return 0;
}
