/* worker_region.c - a sealed memfd and its mapping. See worker_region.h. */
#include "serve/worker/worker_region.h"
#include "base/auto.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define FIRST (64 * KIB)
#define KEPT (4 * MIB) /* stays after a large use */

static int region_map(struct worker_region *r, size_t size, struct err *err)
{
    void *p = r->p ? mremap(r->p, r->size, size, MREMAP_MAYMOVE)
                   : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);

    if (p == MAP_FAILED)
        return err_sys(err, "map %zu bytes of shared memory", size);
    r->p = p;
    r->size = size;
    return 0;
}

/* The seals are what makes a mapping safe that somebody else can write to: without F_SEAL_SHRINK a
 * worker could cut the file, and our next look at a page behind its end would be a SIGBUS.
 * F_SEAL_SEAL keeps it from adding seals of its own, which could keep us from growing the file, or
 * from writing. */
int worker_region_init(struct worker_region *r, const char *name, size_t max, struct err *err)
{
    int e;

    *r = (struct worker_region){ .fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING),
                                 .max = max < FIRST ? FIRST : max };
    if (r->fd < 0)
        return err_sys(err, "make shared memory");
    if (ftruncate(r->fd, (off_t)FIRST) < 0 ||
        fcntl(r->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) < 0)
        e = err_sys(err, "make shared memory");
    else
        e = region_map(r, FIRST, err);
    if (e < 0)
        worker_region_done(r);
    return e;
}

void worker_region_done(struct worker_region *r)
{
    if (r->p)
        (void)munmap(r->p, r->size);
    if (r->fd >= 0)
        close(r->fd);
    *r = (struct worker_region)WORKER_REGION_INIT;
}

/* Doubled until it is enough, or the ceiling. */
static size_t region_size_for(const struct worker_region *r, size_t n)
{
    size_t size = r->size;

    while (size < n)
        size = size > r->max / 2 ? r->max : size * 2;
    return size;
}

int worker_region_reserve(struct worker_region *r, size_t n, struct err *err)
{
    struct stat st;
    size_t size;

    if (n <= r->size)
        return 0;
    if (n > r->max)
        return err_set(err, -E2BIG, "%zu bytes of tensors: at most %zu are possible", n, r->max);
    size = region_size_for(r, n);
    /* The worker may have made it larger, which is its right; smaller it cannot become. */
    if (fstat(r->fd, &st) < 0 || (st.st_size < (off_t)size && ftruncate(r->fd, (off_t)size) < 0))
        return err_sys(err, "grow shared memory to %zu bytes", size);
    return region_map(r, size, err);
}

int worker_region_follow(struct worker_region *r, uint64_t n, struct err *err)
{
    struct stat st;

    if (n <= r->size)
        return 0;
    if (n > r->max)
        return err_set(err, -EPROTO, "the worker's answer has %llu bytes: at most %zu are possible",
                       (unsigned long long)n, r->max);
    if (fstat(r->fd, &st) < 0)
        return err_sys(err, "look at shared memory");
    if (st.st_size < (off_t)n)
        return err_set(err, -EPROTO, "the worker's answer points out of its memory");
    return region_map(r, (size_t)n, err);
}

/* A sealed file cannot be cut: its pages are given back instead, and read as zeros from then on. */
void worker_region_trim(struct worker_region *r, size_t n)
{
    if (n > 2 * KEPT)
        (void)fallocate(r->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)KEPT,
                        (off_t)(n - KEPT));
}
