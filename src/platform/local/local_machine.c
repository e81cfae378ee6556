/* local_machine.c - what this machine has; see local_platform.h. */
#include "base/path.h"
#include "base/str.h"
#include "platform/local/local_platform_private.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The limit of the control group we live in, or UINT64_MAX. Only the group itself is looked at: in
 * a container it is the root that is shown. */
static uint64_t cgroup_memory(void)
{
    static const char *const files[] = { "/sys/fs/cgroup/memory.max",
                                         "/sys/fs/cgroup/memory/memory.limit_in_bytes" };

    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_BUF text = { .max = 64 };
        uint64_t n = 0;
        char *s;

        if (path_read(files[i], &text, NULL) < 0)
            continue;
        s = (char *)buf_text(&text);
        if (!s)
            continue;
        s[strcspn(s, "\n")] = '\0';
        if (str_to_size(s, &n) == 0)
            return n;
    }
    return UINT64_MAX;
}

void local_machine(struct local_machine *ret)
{
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t limit = cgroup_memory();
    struct gpus gpus;
    cpu_set_t cpus;

    ret->memory = limit < all ? limit : all;
    ret->cpus = 1;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
        ret->cpus = (unsigned)CPU_COUNT(&cpus);
    local_gpus_find(&gpus);
    ret->gpus = gpus.n;
}
