/* tfile.c - logs in Hadoop's TFile, the default format.
 *
 *     magic, data blocks, other blocks, index of the other blocks, where that index is, magic
 *
 * One of the other blocks lists the data blocks. A data block is a run of records: a key and a
 * value in chunks. A key is a container's id, its value all log files of that container, each with
 * name, length and bytes. */
#include "base/buf.h"
#include "base/str.h"
#include "hadoop/logs/app_log_format.h"
#include "hadoop/logs/vlong.h"

#include <string.h>

#define TAIL_BYTES 28 /* where the index is, two version numbers, magic */
#define INDEX_MAX (4 * MIB - 1)
#define LIST_NAME "data:BCFile.index"

static const uint8_t magic[16] = { 0xd1, 0x11, 0xd3, 0x68, 0x91, 0xb5, 0xd7, 0xb6,
                                   0x39, 0xdf, 0x41, 0x40, 0x92, 0xba, 0xe1, 0x50 };

struct tfile {
    const struct log_source *src;
    const struct log_codec *codec;
    struct log_region *blocks;
    size_t n_blocks, at_block;
    struct log_stream *block; /* the present one, or NULL */
    bool in_value;            /* of a container */
    uint64_t chunk_left;      /* of the value's present chunk */
    bool chunk_last;
    uint64_t file_left; /* of the log file that is the present one */
    char container[LOG_NAME_MAX];
    char name[LOG_NAME_MAX];
};

static int tfile_bad(struct err *err, const char *what)
{
    return err_set(err, -EBADMSG, "its %s is broken", what);
}

static bool tfile_is(const uint8_t head[32], const struct log_about *about)
{
    (void)about;
    return memcmp(head, magic, sizeof(magic)) == 0;
}

/* ---- the indexes ---- */

static struct log_region read_region(struct view *v)
{
    int64_t offset = vlong_read(v), stored = vlong_read(v), length = vlong_read(v);

    if (offset < 0 || stored < 0 || length < 0)
        v->bad = true;
    return (struct log_region){ (uint64_t)offset, (uint64_t)stored, (uint64_t)length };
}

static struct view tfile_read_text(struct view *v)
{
    int64_t n = vlong_read(v);

    if (n < 0 || (uint64_t)n > v->n)
        v->bad = true;
    return view_sub(v, v->bad ? 0 : (size_t)n);
}

/* Finds the block that lists the data blocks. */
static int find_list(struct view v, struct log_region *ret, const struct log_codec **ret_codec,
                     struct err *err)
{
    int64_t n = vlong_read(&v);

    for (int64_t i = 0; i < n && !v.bad; i++) {
        struct view name = tfile_read_text(&v), codec = tfile_read_text(&v);
        struct log_region r = read_region(&v);

        if (v.bad || name.n != strlen(LIST_NAME) || memcmp(name.p, LIST_NAME, name.n) != 0)
            continue;
        *ret = r;
        return log_codec_find(codec.p, codec.n, ret_codec, err);
    }
    return tfile_bad(err, "index");
}

static int parse_list(struct tfile *t, struct view v, struct err *err)
{
    struct view codec = tfile_read_text(&v);
    int64_t n = vlong_read(&v);
    int r;

    /* A region takes three bytes at least, so the count cannot ask for more memory than a small
     * multiple of what was read. */
    if (v.bad || n < 0 || (uint64_t)n > v.n / 3)
        return tfile_bad(err, "list of blocks");
    r = log_codec_find(codec.p, codec.n, &t->codec, err);
    if (r < 0)
        return r;
    t->blocks = calloc((size_t)n + 1, sizeof(*t->blocks));
    if (!t->blocks)
        return err_oom(err);
    t->n_blocks = (size_t)n;
    for (size_t i = 0; i < t->n_blocks; i++)
        t->blocks[i] = read_region(&v);
    return v.bad ? tfile_bad(err, "list of blocks") : 0;
}

static int read_list(struct tfile *t, const struct log_region *r, const struct log_codec *codec,
                     struct err *err)
{
    AUTO(log_stream) struct log_stream *s = NULL;
    AUTO_BUF bytes = { .max = INDEX_MAX + 1 };
    uint8_t *room;
    int rc;

    if (r->length > INDEX_MAX)
        return tfile_bad(err, "list of blocks");
    rc = log_stream_open(t->src, r, codec, &s, err);
    if (rc == 0 && buf_room(&bytes, (size_t)r->length + 1, &room) < 0)
        rc = err_oom(err);
    if (rc == 0)
        rc = log_stream_exact(s, room, (size_t)r->length, err);
    return rc == 0 ? parse_list(t, view_of(room, (size_t)r->length), err) : rc;
}

/* Read from the end, as the format is made: the last 28 bytes say where the index is, the index
 * where the list of blocks is. Each place is checked against the file's length before it is read.
 *
 *     … | index | offset of the index, 8 | 00 01 | 00 00 | magic, 16
 *                                           version 1.0
 *
 *     index = VInt n, n times { "data:" name, compression, region }
 *     region = VLong offset, length as stored, length of the content */
static int read_indexes(struct tfile *t, struct err *err)
{
    const struct log_source *s = t->src;
    uint8_t tail[TAIL_BYTES] = { 0 };
    AUTO_BUF bytes = { .max = INDEX_MAX + 1 };
    const struct log_codec *codec = NULL;
    struct view v = view_of(tail, sizeof(tail));
    struct log_region list;
    uint64_t at, n;
    uint8_t *room;
    int r;

    if (s->length < sizeof(magic) + TAIL_BYTES)
        return err_set(err, -EBADMSG, "the file ends too early");
    r = log_source_read(s, s->length - TAIL_BYTES, tail, sizeof(tail), err);
    if (r < 0)
        return r;
    at = view_be64(&v);
    if (view_be16(&v) != 1 || memcmp(tail + 12, magic, sizeof(magic)) != 0)
        return err_set(err, -EBADMSG, "the file is incomplete: its end is missing");
    if (at > s->length - TAIL_BYTES)
        return tfile_bad(err, "index");
    n = s->length - TAIL_BYTES - at;
    if (n > INDEX_MAX)
        return tfile_bad(err, "index");
    if (buf_room(&bytes, (size_t)n + 1, &room) < 0)
        return err_oom(err);
    r = log_source_read(s, at, room, (size_t)n, err);
    if (r == 0)
        r = find_list(view_of(room, (size_t)n), &list, &codec, err);
    return r == 0 ? read_list(t, &list, codec, err) : r;
}

static void tfile_close(void *file)
{
    struct tfile *t = file;

    log_stream_close(t->block);
    free(t->blocks);
    free(t);
}

static int tfile_open(const struct log_source *s, const struct log_about *about, void **ret,
                      struct err *err)
{
    struct tfile *t = calloc(1, sizeof(*t));
    int r;

    (void)about;
    if (!t)
        return err_oom(err);
    t->src = s;
    r = read_indexes(t, err);
    if (r < 0)
        tfile_close(t);
    else
        *ret = t;
    return r;
}

/* ---- records ---- */

static int block_vlong(struct tfile *t, int64_t *ret, struct err *err)
{
    uint8_t bytes[VLONG_MAX];
    struct view v;
    int r = log_stream_exact(t->block, bytes, 1, err);

    if (r == 0)
        r = log_stream_exact(t->block, bytes + 1, vlong_more(bytes[0]), err);
    if (r < 0)
        return r;
    v = view_of(bytes, 1 + vlong_more(bytes[0]));
    *ret = vlong_read(&v);
    return v.bad ? tfile_bad(err, "record") : 0;
}

/* Goes to the next chunk while the present one is used up; 0 bytes left then means the end. A
 * chunk's length is negative when another one follows, and the last one's is not. */
static int next_chunk(struct tfile *t, struct err *err)
{
    while (t->chunk_left == 0 && !t->chunk_last) {
        int64_t n = 0;
        int r = block_vlong(t, &n, err);

        if (r < 0)
            return r;
        if (n < -INT32_MAX || n > INT32_MAX)
            return tfile_bad(err, "record");
        t->chunk_last = n >= 0;
        t->chunk_left = (uint64_t)(n < 0 ? -n : n);
    }
    return 0;
}

/* Some bytes of the value, into `p` or, when that is NULL, nowhere; 0 at its end. */
static int64_t value_some(struct tfile *t, void *p, uint64_t n, struct err *err)
{
    int64_t r = next_chunk(t, err);

    if (n > t->chunk_left)
        n = t->chunk_left;
    if (r < 0 || n == 0)
        return r;
    r = p ? log_stream_read(t->block, p, (size_t)n, err) : log_stream_skip(t->block, n, err);
    if (!p && r == 0)
        r = (int64_t)n;
    if (r > 0)
        t->chunk_left -= (uint64_t)r;
    return r == 0 ? tfile_bad(err, "record") : r;
}

static int value_exact(struct tfile *t, void *p, uint64_t n, struct err *err)
{
    while (n > 0) {
        int64_t got = value_some(t, p, n, err);

        if (got <= 0)
            return got < 0 ? (int)got : tfile_bad(err, "record");
        p = p ? (uint8_t *)p + got : NULL;
        n -= (uint64_t)got;
    }
    return 0;
}

static int skip_value(struct tfile *t, struct err *err)
{
    int64_t r;

    do {
        r = value_some(t, NULL, UINT64_MAX, err);
    } while (r > 0);
    return (int)r;
}

/* A string as Java's writeUTF makes it: two bytes of length before it. */
static int value_text(struct tfile *t, char out[LOG_NAME_MAX], struct err *err)
{
    uint8_t bytes[LOG_NAME_MAX], head[2] = { 0 };
    size_t n;
    int r = value_exact(t, head, sizeof(head), err);

    if (r < 0)
        return r;
    n = (size_t)head[0] << 8 | head[1];
    if (n >= sizeof(bytes))
        return tfile_bad(err, "record");
    r = value_exact(t, bytes, n, err);
    return r == 0 ? log_name(bytes, n, out, err) : r;
}

/* The next container; 1, or 0 when it was something else and has been skipped. Other keys are
 * VERSION, APPLICATION_OWNER and APPLICATION_ACL. A key has its length twice: as the record's VInt,
 * and in front of its text as writeUTF has it. */
static int tfile_read_key(struct tfile *t, struct err *err)
{
    uint8_t key[LOG_NAME_MAX + 2];
    int64_t n = 0;
    int r = block_vlong(t, &n, err);

    if (r < 0)
        return r;
    if (n < 2 || n > (int64_t)sizeof(key))
        return tfile_bad(err, "record");
    r = log_stream_exact(t->block, key, (size_t)n, err);
    if (r == 0 && ((int64_t)key[0] << 8 | key[1]) != n - 2)
        r = tfile_bad(err, "record");
    if (r == 0)
        r = log_name(key + 2, (size_t)n - 2, t->container, err);
    if (r < 0)
        return r;
    t->chunk_left = 0;
    t->chunk_last = false;
    t->in_value = str_starts(t->container, "container_");
    return t->in_value ? 1 : skip_value(t, err);
}

/* 1 when there is a record to read, 0 at the end of the file. */
static int next_block(struct tfile *t, struct err *err)
{
    while (!t->block || log_stream_left(t->block) == 0) {
        int r;

        t->block = log_stream_close(t->block);
        if (t->at_block == t->n_blocks)
            return 0;
        r = log_stream_open(t->src, &t->blocks[t->at_block++], t->codec, &t->block, err);
        if (r < 0)
            return r;
    }
    return 1;
}

/* The next log file of the present container; 0 when it has no more.
 *
 *     name, as writeUTF | length in decimal digits, as writeUTF | bytes | name …
 *
 * up to the end of the value: nothing says beforehand how many files a container has. */
static int next_file(struct tfile *t, struct log_item *ret, struct err *err)
{
    char digits[LOG_NAME_MAX];
    int64_t length = 0;
    int r = next_chunk(t, err);

    if (r == 0 && t->chunk_left == 0)
        t->in_value = false;
    if (r < 0 || !t->in_value)
        return r;
    r = value_text(t, t->name, err);
    if (r == 0)
        r = value_text(t, digits, err);
    if (r == 0 && str_to_i64(digits, 0, INT64_MAX, &length) < 0)
        r = tfile_bad(err, "record");
    if (r < 0)
        return r;
    t->file_left = (uint64_t)length;
    *ret = (struct log_item){ .container = t->container, .name = t->name, .length = t->file_left };
    return 1;
}

/* What the caller left of the present log file is skipped: the format has no way to jump over
 * it. */
static int tfile_next(void *file, struct log_item *ret, struct err *err)
{
    struct tfile *t = file;
    int r = value_exact(t, NULL, t->file_left, err);

    t->file_left = 0;
    while (r == 0) {
        if (t->in_value)
            r = next_file(t, ret, err);
        if (r != 0 || t->in_value)
            break;
        r = next_block(t, err);
        if (r <= 0)
            return r;
        r = tfile_read_key(t, err);
        r = r < 0 ? r : 0;
    }
    return r;
}

static ssize_t tfile_read(void *file, void *p, size_t n, struct err *err)
{
    struct tfile *t = file;
    int64_t got;

    if (n > t->file_left)
        n = (size_t)t->file_left;
    if (n == 0)
        return 0;
    got = value_some(t, p, n, err);
    if (got > 0)
        t->file_left -= (uint64_t)got;
    return got == 0 ? tfile_bad(err, "record") : (ssize_t)got;
}

const struct log_format log_tfile = { .name = "TFile",
                                      .is = tfile_is,
                                      .open = tfile_open,
                                      .next = tfile_next,
                                      .read = tfile_read,
                                      .close = tfile_close };
