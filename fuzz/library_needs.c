/* library_needs.c - what a library or program loads besides itself, by its ELF file. */
#include "native/library_needs.h"
#include "fuzz.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_STRS found = { 0 };
    char path[48];
    int fd = memfd_create("library", MFD_CLOEXEC);

    if (fd < 0)
        return 0;
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size)
        (void)library_needs(path, false, &found, NULL);
    close(fd);
    return 0;
}
