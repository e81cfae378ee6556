/* unzip.c - see unzip.h
 *
 *     member, member, … ──► table of contents ──► end record
 *     each with a local     a row for each member: name, sizes,
 *     header before it      checksum, where its header is
 *
 * Only the table counts: local headers are looked at for their length alone. */
#include "pyenv/unzip.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define END_MARK 0x06054b50
#define ROW_MARK 0x02014b50
#define HEAD_MARK 0x04034b50
#define END_BYTES 22
#define HEAD_BYTES 30
#define COMMENT_MAX 65535
#define ENCRYPTED 1
#define STORED 0
#define DEFLATED 8

/* One member. */
struct row {
    char *name;
    uint16_t flags, method;
    uint32_t crc, packed, size, at;
};

struct unzip {
    int fd;
    char *path; /* for errors */
    uint64_t bytes;
    struct row *rows;
    size_t n;
};

/* ---- bytes ---- */

static uint16_t le16(struct view *v)
{
    const uint8_t *p = view_bytes(v, 2);

    return p ? (uint16_t)(p[0] | p[1] << 8) : 0;
}

static uint32_t le32(struct view *v)
{
    uint32_t low = le16(v);

    return low | (uint32_t)le16(v) << 16;
}

static int unzip_broken(const struct unzip *z, const char *what, struct err *err)
{
    return err_set(err, -EINVAL, "'%s' is not a readable zip archive: %s", z->path, what);
}

/* Exactly `n` bytes from a place in the file. */
static int unzip_read_at(const struct unzip *z, uint64_t at, size_t n, struct buf *ret,
                         struct err *err)
{
    uint8_t *to;
    int r;

    if (at > z->bytes || n > z->bytes - at)
        return unzip_broken(z, "it ends too early", err);
    if (n == 0)
        return 0;
    r = buf_room(ret, n, &to);
    if (r < 0)
        return r == -ENOMEM ? err_oom(err) : err_set(err, r, "'%s': too large", z->path);
    while (n > 0) {
        ssize_t got = pread(z->fd, to, n, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? err_sys(err, "read '%s'", z->path)
                           : unzip_broken(z, "it ends too early", err);
        to += got;
        at += (uint64_t)got;
        n -= (size_t)got;
        ret->len += (size_t)got;
    }
    return 0;
}

/* ---- the table of contents ---- */

struct end {
    uint16_t members;
    uint32_t bytes, at;
};

/* The end record is the last one whose comment ends with the file.
 *
 *     mark(4) disks(6) members(2) | table: size(4) place(4) | length of the comment(2) | comment
 *
 * It is looked for from the end backwards, since the comment before which it stands has any length
 * and any bytes: a mark whose comment does not end with the file is part of a comment. */
static int unzip_find_end(const struct unzip *z, struct end *ret, struct err *err)
{
    AUTO_BUF tail = { .max = END_BYTES + COMMENT_MAX };
    size_t n = z->bytes < tail.max ? (size_t)z->bytes : tail.max;
    int r = n < END_BYTES ? unzip_broken(z, "it is too short", err)
                          : unzip_read_at(z, z->bytes - n, n, &tail, err);

    if (r < 0)
        return r;
    for (size_t i = n - END_BYTES + 1; i-- > 0;) {
        struct view v = view_of(tail.data + i, n - i);

        if (le32(&v) != END_MARK)
            continue;
        (void)view_bytes(&v, 6); /* numbers of disks */
        ret->members = le16(&v);
        ret->bytes = le32(&v);
        ret->at = le32(&v);
        if (le16(&v) != v.n)
            continue;
        if (ret->members == 0xffff || ret->bytes == UINT32_MAX || ret->at == UINT32_MAX)
            return err_set(err, -EOPNOTSUPP, "'%s': archives of more than 4 GB are not read",
                           z->path);
        return 0;
    }
    return unzip_broken(z, "it has no table of contents", err);
}

static int read_row(struct unzip *z, struct view *v, struct err *err)
{
    struct row row = { 0 };
    const uint8_t *name;
    size_t n, rest;

    if (le32(v) != ROW_MARK)
        return unzip_broken(z, "its table of contents is damaged", err);
    (void)view_bytes(v, 4); /* versions */
    row.flags = le16(v);
    row.method = le16(v);
    (void)view_bytes(v, 4); /* time */
    row.crc = le32(v);
    row.packed = le32(v);
    row.size = le32(v);
    n = le16(v);
    rest = le16(v);
    rest += le16(v);
    (void)view_bytes(v, 8); /* disk and attributes */
    row.at = le32(v);
    name = view_bytes(v, n);
    (void)view_bytes(v, rest);
    if (v->bad || n == 0 || memchr(name, '\0', n))
        return unzip_broken(z, "its table of contents is damaged", err);
    row.name = strndup((const char *)name, n);
    if (!row.name)
        return err_oom(err);
    z->rows[z->n++] = row;
    return 0;
}

static int unzip_read_table(struct unzip *z, struct err *err)
{
    AUTO_BUF table = { .max = UNZIP_LIST_MAX };
    struct end end = { 0 };
    struct view v;
    int r = unzip_find_end(z, &end, err);

    if (r == 0)
        r = unzip_read_at(z, end.at, end.bytes, &table, err);
    if (r < 0)
        return r;
    z->rows = calloc((size_t)end.members + 1, sizeof(*z->rows));
    if (!z->rows)
        return err_oom(err);
    v = view_of(table.data ? table.data : (const uint8_t *)"", table.len);
    for (size_t i = 0; r == 0 && i < end.members; i++)
        r = read_row(z, &v, err);
    return r;
}

int unzip_open(const char *path, struct unzip **ret, struct err *err)
{
    AUTO_UNZIP *z = calloc(1, sizeof(*z));
    struct stat st;
    int r;

    if (!z)
        return err_oom(err);
    z->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (z->fd < 0 || fstat(z->fd, &st) < 0)
        return err_sys(err, "read '%s'", path);
    z->path = strdup(path);
    if (!z->path)
        return err_oom(err);
    if (!S_ISREG(st.st_mode))
        return unzip_broken(z, "an entry is not a file", err);
    z->bytes = (uint64_t)st.st_size;
    r = unzip_read_table(z, err);
    if (r == 0)
        *ret = take(z);
    return r;
}

struct unzip *unzip_close(struct unzip *z)
{
    if (!z)
        return NULL;
    if (z->fd >= 0)
        close(z->fd);
    for (size_t i = 0; i < z->n; i++)
        free(z->rows[i].name);
    free(z->rows);
    free(z->path);
    free(z);
    return NULL;
}

size_t unzip_count(const struct unzip *z)
{
    return z->n;
}

const char *unzip_name(const struct unzip *z, size_t i)
{
    return z->rows[i].name;
}

bool unzip_has(const struct unzip *z, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < z->n; i++)
        if (strncmp(z->rows[i].name, name, n) == 0 &&
            (z->rows[i].name[n] == '\0' || z->rows[i].name[n] == '/'))
            return true;
    return false;
}

/* ---- a member ---- */

static int unzip_damaged(const struct unzip *z, const struct row *row, struct err *err)
{
    return err_set(err, -EINVAL, "'%s': '%s' in it is damaged", z->path, row->name);
}

/* Into exactly as many bytes as the table says. */
static int inflate_all(const struct unzip *z, const struct row *row, struct buf *packed,
                       uint8_t *to, struct err *err)
{
    z_stream s = { .next_in = packed->data, .avail_in = (uInt)packed->len };
    int r;

    s.next_out = to;
    s.avail_out = row->size;
    r = inflateInit2(&s, -MAX_WBITS);
    if (r != Z_OK)
        return err_oom(err);
    r = inflate(&s, Z_FINISH);
    (void)inflateEnd(&s);
    if (r == Z_MEM_ERROR)
        return err_oom(err);
    return r == Z_STREAM_END && s.avail_out == 0 ? 0 : unzip_damaged(z, row, err);
}

/* The local header has fields of its own for name and extra, and the lengths of these differ from
 * the table's. Where its sizes are 0 they stand behind the bytes instead, so only the table's are
 * used. */
static int read_packed(const struct unzip *z, const struct row *row, struct buf *ret,
                       struct err *err)
{
    AUTO_BUF head = { .max = HEAD_BYTES };
    size_t skip;
    struct view v;
    int r = unzip_read_at(z, row->at, HEAD_BYTES, &head, err);

    if (r < 0)
        return r;
    v = view_of(head.data, head.len);
    if (le32(&v) != HEAD_MARK)
        return unzip_damaged(z, row, err);
    (void)view_bytes(&v, 22);
    skip = le16(&v);
    skip += le16(&v);
    return unzip_read_at(z, (uint64_t)row->at + HEAD_BYTES + skip, row->packed, ret, err);
}

static int unzip_unpack(const struct unzip *z, const struct row *row, struct buf *ret,
                        struct err *err)
{
    /* What deflate makes of anything is hardly longer than it was. */
    AUTO_BUF packed = { .max = (size_t)row->size + row->size / 8 + 64 * KIB };
    uint8_t *to = NULL;
    int r = row->size > 0 ? buf_room(ret, row->size, &to) : 0;

    if (r < 0)
        return r == -ENOMEM ? err_oom(err)
                            : err_set(err, r, "'%s': '%s' in it is too large", z->path, row->name);
    r = read_packed(z, row, &packed, err);
    if (r == 0 && row->method == STORED && packed.len != row->size)
        r = unzip_damaged(z, row, err);
    if (r == 0 && row->size == 0)
        return 0;
    if (r == 0 && row->method == STORED)
        memcpy(to, packed.data, row->size);
    else if (r == 0)
        r = inflate_all(z, row, &packed, to, err);
    if (r == 0 && crc32(crc32(0, NULL, 0), to, row->size) != row->crc)
        r = unzip_damaged(z, row, err);
    if (r == 0)
        ret->len += row->size;
    return r;
}

int unzip_read(struct unzip *z, const char *name, struct buf *ret, struct err *err)
{
    for (size_t i = 0; i < z->n; i++) {
        const struct row *row = &z->rows[i];

        if (!str_eq(row->name, name))
            continue;
        if ((row->flags & ENCRYPTED) || (row->method != STORED && row->method != DEFLATED))
            return err_set(err, -EOPNOTSUPP, "'%s': '%s' in it is %s", z->path, name,
                           row->flags & ENCRYPTED ? "encrypted"
                                                  : "compressed by an unknown method");
        return unzip_unpack(z, row, ret, err);
    }
    return err_set(err, -ENOENT, "there is no '%s' in '%s'", name, z->path);
}
