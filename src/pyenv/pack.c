/* pack.c - the bytes of an archive, one piece after the other. See pack.h. */
#include "base/str.h"
#include "pyenv/pack_private.h"

#include <string.h>

#define END ((size_t)2 * PACK_BLOCK) /* zeroes that end an archive */

struct pack {
    struct pack_list *list; /* borrowed */
    size_t next;            /* the entry that comes after this one */
    struct buf ready;       /* headers and padding … */
    size_t given;           /* … of which so many bytes are out */
    int fd;                 /* the file whose bytes come now, or -1 … */
    const char *memory;     /* … or bytes that stand in its place, or NULL */
    uint64_t left;          /* bytes of it */
    bool ended;             /* the end is in `ready` */
};

static size_t pack_padding(uint64_t size)
{
    return (PACK_BLOCK - size % PACK_BLOCK) % PACK_BLOCK;
}

/* The size must be known before the first byte is read: HDFS files are looked for by it, and a
 * progress bar needs it. It is exact, because entries are sorted and headers depend on nothing
 * else. */
uint64_t pack_size(struct pack_list *l)
{
    uint64_t size = END;

    if (pack_settle(l, NULL) < 0)
        return 0;
    for (size_t i = 0; i < l->n; i++) {
        AUTO_BUF head = { .max = 256 * KIB };

        if (pack_header(&l->v[i], &head) < 0)
            return 0;
        size += head.len;
        size += pack_entry_size(&l->v[i]) + pack_padding(pack_entry_size(&l->v[i]));
    }
    return size;
}

int pack_open(struct pack_list *l, struct pack **ret, struct err *err)
{
    struct pack *k;
    int r = pack_settle(l, err);

    if (r < 0)
        return r;
    k = calloc(1, sizeof(*k));
    if (!k)
        return err_oom(err);
    k->list = l;
    k->fd = -1;
    buf_init(&k->ready, 256 * KIB);
    *ret = k;
    return 0;
}

struct pack *pack_close(struct pack *k)
{
    if (!k)
        return NULL;
    if (k->fd >= 0)
        close(k->fd);
    buf_done(&k->ready);
    free(k);
    return NULL;
}

static int open_file(struct pack *k, const struct pack_entry *e, struct err *err)
{
    k->left = e->stamp.size;
    return pack_stamp_open(e->path, &e->stamp, &k->fd, err);
}

static int add_zeroes(struct pack *k, size_t n, struct err *err)
{
    static const char zeroes[END];

    return buf_add(&k->ready, zeroes, n) < 0 ? err_oom(err) : 0;
}

/* `n` bytes of a file, from `at` on, as they are to be in the archive. A patch may begin in one
 * piece and end in the next one, so both of its ends are cut to the piece. */
static void pack_apply(const struct conda_prefix_patches *patches, uint64_t at, uint8_t *p,
                       size_t n)
{
    for (size_t i = 0; i < patches->n; i++) {
        const struct conda_prefix_patch *x = &patches->v[i];
        uint64_t from = x->at > at ? x->at : at, end = x->at + x->n;

        end = end < at + n ? end : at + n;
        if (from < end)
            memcpy(p + (from - at), x->bytes + (from - x->at), (size_t)(end - from));
    }
}

/* The bytes of the open file; when it is at its end, its padding. */
static ssize_t give_file(struct pack *k, void *p, size_t n, struct err *err)
{
    const struct pack_entry *e = &k->list->v[k->next - 1];
    ssize_t got = 0;
    int r;

    if (k->left > 0) {
        do
            got = read(k->fd, p, n < k->left ? n : (size_t)k->left);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return err_sys(err, "read '%s'", e->path);
        if (got == 0)
            return pack_stamp_changed(e->path, err);
        pack_apply(&e->patches, e->stamp.size - k->left, p, (size_t)got);
        k->left -= (uint64_t)got;
        return got;
    }
    r = pack_stamp_check(k->fd, e->path, &e->stamp, err);
    if (r == 0)
        r = add_zeroes(k, pack_padding(e->stamp.size), err);
    close(take_fd(k->fd));
    return r;
}

/* The same for bytes that are in memory. */
static ssize_t give_memory(struct pack *k, void *p, size_t n, struct err *err)
{
    const struct pack_entry *e = &k->list->v[k->next - 1];
    size_t some = k->left < n ? (size_t)k->left : n;

    if (some == 0) {
        k->memory = NULL;
        return add_zeroes(k, pack_padding(e->n_data), err);
    }
    memcpy(p, k->memory, some);
    k->memory += some;
    k->left -= some;
    return (ssize_t)some;
}

static int begin_next(struct pack *k, struct err *err)
{
    const struct pack_entry *e;

    if (k->next == k->list->n) {
        k->ended = true;
        return add_zeroes(k, END, err);
    }
    e = &k->list->v[k->next++];
    if (pack_header(e, &k->ready) < 0)
        return err_set(err, -ENOMEM, "out of memory, or the name of '%s' is too long", e->path);
    if (e->type != PACK_FILE)
        return 0;
    if (!e->data)
        return open_file(k, e, err);
    k->memory = e->data;
    k->left = e->n_data;
    return 0;
}

/* Bytes from `ready`, when there are some. */
static size_t give_ready(struct pack *k, void *p, size_t n)
{
    size_t some = k->ready.len - k->given;

    some = some < n ? some : n;
    if (some)
        memcpy(p, k->ready.data + k->given, some);
    k->given += some;
    if (k->given == k->ready.len) {
        buf_reset(&k->ready);
        k->given = 0;
    }
    return some;
}

/*     header (ready) ──► the file's bytes, or those in memory ──► padding (ready) ──► next entry
 *                                                                    └─ none: two empty blocks */
ssize_t pack_read(struct pack *k, void *p, size_t n, struct err *err)
{
    uint8_t *to = p;
    size_t done = 0;

    while (done < n) {
        size_t some = give_ready(k, to + done, n - done);
        ssize_t r;

        done += some;
        if (some > 0)
            continue;
        if (k->fd >= 0)
            r = give_file(k, to + done, n - done, err);
        else if (k->memory)
            r = give_memory(k, to + done, n - done, err);
        else if (k->ended)
            break;
        else
            r = begin_next(k, err);
        if (r < 0)
            return r;
        done += (size_t)r;
    }
    return (ssize_t)done;
}
