/* container_gpus.c - the devices of a container whose platform has only counted them.
 *
 * YARN says how many, and with its plugin it hides all others: then the container sees no more than
 * its own. Without the plugin it sees those of the whole machine, and which are its own is settled
 * among the agents there, by locks that last as long as they do. */
#include "agent/container_gpus.h"
#include "agent/agent_private.h"
#include "platform/local/gpus.h"

#include <fcntl.h>
#include <stdio.h>

#define PAUSE_MS 200
#define PATIENCE_MS 30000 /* a container that is ending may still hold them */

/* Devices that exist and that we may open. */
static void find_open(struct gpus *ret)
{
    struct gpus all;

    local_gpus_find(&all);
    ret->n = 0;
    for (unsigned i = 0; i < all.n; i++) {
        char path[32];
        int fd;

        (void)snprintf(path, sizeof(path), "/dev/nvidia%u", all.v[i]);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd >= 0 || errno != EPERM)
            ret->v[ret->n++] = all.v[i];
        if (fd >= 0)
            close(fd);
    }
}

static int gpus_choose(struct agent *a, const struct gpus *of, unsigned n, uint32_t *ids,
                       struct err *err)
{
    int64_t deadline = loop_in(a->loop, PATIENCE_MS);
    int r = local_gpus_take(of, n, a->gpus.locks, ids, err);

    while (r == -EAGAIN && loop_now(a->loop) < deadline && !a->leave.begun) {
        if (fiber_sleep(a->loop, PAUSE_MS) < 0)
            return err_set(err, -ECANCELED, "the agent is stopping");
        r = local_gpus_take(of, n, a->gpus.locks, ids, err);
    }
    if (r == 0)
        a->gpus.n = n;
    return r;
}

/* Decided once for all tasks of the container. With no more devices in sight than were granted they
 * are counted from 0, because CUDA numbers what it sees and not what the machine has. */
int gpus_of_container(struct agent *a, unsigned n, const char **ret, struct err *err)
{
    uint32_t ids[PLATFORM_GPUS_MAX] = { 0 };
    AUTO_BUF text = { .max = KIB };
    struct gpus seen;
    int r = 0;

    *ret = a->gpus.list;
    if (a->gpus.list || n == 0)
        return 0;
    find_open(&seen);
    if (seen.n <= n) { /* all of them are ours; none at all: they are of an unknown kind */
        for (unsigned i = 0; i < seen.n; i++)
            ids[i] = i;
        n = seen.n;
    } else {
        r = gpus_choose(a, &seen, n, ids, err);
    }
    for (unsigned i = 0; i < n && r == 0; i++)
        r = buf_printf(&text, "%s%u", i ? "," : "", ids[i]) < 0 ? err_oom(err) : 0;
    if (r < 0)
        return r;
    if (!buf_text(&text))
        return err_oom(err);
    *ret = a->gpus.list = (char *)take(text.data);
    return 0;
}

void gpus_done(struct agent *a)
{
    local_gpus_release(a->gpus.locks, a->gpus.n);
    a->gpus.n = 0;
    free(take(a->gpus.list));
}
