/* output_spool.c - every stream is a list of extents in the one file. A piece that begins before
 * the end of its stream has been seen before, and only its new bytes are kept. See
 * output_spool.h. */
#include "client/output_spool.h"
#include "base/array.h"
#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Bytes that lie together, in the stream and in the file. */
struct run {
    uint64_t offset, at, n;
};

struct lane {
    char task[PIECE_TASK_MAX];
    enum piece_stream stream;
    uint64_t saved;
    struct run *runs;
    size_t n;
};

struct spool {
    int fd;
    uint64_t size;
    struct lane *lanes;
    size_t n;
    struct strs missing;
};

/* ---- life ---- */

static int nameless_file(struct err *err)
{
    const char *env = getenv("TMPDIR"), *dir = env && *env ? env : "/tmp";
    AUTO_FREE char *name = str_printf("%s/ydl-XXXXXX", dir);
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd >= 0)
        return fd;
    if (!name)
        return err_oom(err);
    fd = mkostemp(name, O_CLOEXEC); /* a file system that knows no nameless ones */
    if (fd < 0)
        return err_sys(err, "make a file in '%s'", dir);
    (void)unlink(name);
    return fd;
}

int spool_new(struct spool **ret, struct err *err)
{
    AUTO(spool) struct spool *s = calloc(1, sizeof(*s));

    if (!s)
        return err_oom(err);
    s->fd = nameless_file(err);
    if (s->fd < 0)
        return s->fd;
    *ret = take(s);
    return 0;
}

struct spool *spool_free(struct spool *s)
{
    if (!s)
        return NULL;
    for (size_t i = 0; i < s->n; i++)
        free(s->lanes[i].runs);
    free(s->lanes);
    strs_done(&s->missing);
    if (s->fd >= 0)
        close(s->fd);
    free(s);
    return NULL;
}

/* ---- adding ---- */

static struct lane *spool_lane_of(struct spool *s, const struct piece *p)
{
    struct lane *l;

    /* Pieces of one stream come in bursts: the newest lanes are the likeliest. */
    for (size_t i = s->n; i > 0; i--)
        if (s->lanes[i - 1].stream == p->stream && str_eq(s->lanes[i - 1].task, p->task))
            return &s->lanes[i - 1];
    if (strlen(p->task) >= sizeof(l->task) ||
        ARRAY_ADD(s->lanes, s->n, (struct lane){ .stream = p->stream }) < 0)
        return NULL;
    l = &s->lanes[s->n - 1];
    memcpy(l->task, p->task, strlen(p->task) + 1);
    return l;
}

static uint64_t spool_end_of(const struct lane *l)
{
    return l->n ? l->runs[l->n - 1].offset + l->runs[l->n - 1].n : 0;
}

/* The two streams of a task end one after the other: it is named once. */
static int add_missing(struct spool *s, const struct piece *p, struct err *err)
{
    AUTO_FREE char *text = str_printf("%s: %.200s", p->task, p->missing);

    if (!text)
        return err_oom(err);
    if (s->missing.n > 0 && str_eq(s->missing.v[s->missing.n - 1], text))
        return 0;
    return strs_take(&s->missing, take(text)) < 0 ? err_oom(err) : 0;
}

const struct strs *spool_missing(const struct spool *s)
{
    return &s->missing;
}

/* Bytes that continue the newest extent, in the stream and in the file, make it longer; all others
 * begin a new one. A gap in the stream stays a gap: spool_read() goes on behind it. */
int spool_add(struct spool *s, const struct piece *p, struct err *err)
{
    struct lane *l;
    struct run *last;
    uint64_t have;
    int r;

    if (p->kind == PIECE_END && p->missing)
        return add_missing(s, p, err);
    if (p->kind != PIECE_OUTPUT || p->n == 0)
        return 0;
    l = spool_lane_of(s, p);
    if (!l)
        return err_oom(err);
    l->saved = p->saved;
    have = spool_end_of(l) > p->offset ? spool_end_of(l) - p->offset : 0;
    if (have >= p->n)
        return 0;
    r = path_write_fd(s->fd, p->data + have, p->n - have);
    if (r < 0)
        return err_code(err, r, "keep output in a temporary file");
    last = l->n ? &l->runs[l->n - 1] : NULL;
    if (last && last->at + last->n == s->size && spool_end_of(l) == p->offset + have) {
        last->n += p->n - have;
    } else if (ARRAY_ADD(l->runs, l->n, (struct run){ p->offset + have, s->size, p->n - have }) <
               0) {
        return err_oom(err);
    }
    s->size += p->n - have;
    return 0;
}

/* ---- reading ---- */

bool spool_stream(const struct spool *s, size_t i, const char **ret_task,
                  enum piece_stream *ret_stream)
{
    if (i >= s->n)
        return false;
    *ret_task = s->lanes[i].task;
    *ret_stream = s->lanes[i].stream;
    return true;
}

uint64_t spool_size(const struct spool *s, size_t i)
{
    return spool_end_of(&s->lanes[i]);
}

uint64_t spool_begin(const struct spool *s, size_t i)
{
    return s->lanes[i].n ? s->lanes[i].runs[0].offset : 0;
}

uint64_t spool_saved(const struct spool *s, size_t i)
{
    return s->lanes[i].saved;
}

/* *offset may lie in a gap, which an agent that was killed has left: it moves to the next byte that
 * there is, and the caller sees by it that something is missing. */
ssize_t spool_read(const struct spool *s, size_t i, uint64_t *offset, void *p, size_t n)
{
    const struct lane *l = &s->lanes[i];
    size_t low = 0, high = l->n;
    const struct run *run;
    uint64_t skip;
    ssize_t got;

    while (low < high) { /* the first run that ends behind the offset */
        size_t mid = low + (high - low) / 2;

        if (l->runs[mid].offset + l->runs[mid].n <= *offset)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == l->n)
        return 0;
    run = &l->runs[low];
    if (*offset < run->offset)
        *offset = run->offset;
    skip = *offset - run->offset;
    if (n > run->n - skip)
        n = run->n - skip;
    got = pread(s->fd, p, n, (off_t)(run->at + skip));
    return got < 0 ? -errno : got;
}
