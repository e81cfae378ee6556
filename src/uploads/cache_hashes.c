/* cache_hashes.c - the file is read whole, and at the end read again, merged with what is new here,
 * and replaced by a rename: of two programs that write at the same time one may lose an entry,
 * which is then hashed again.
 *
 *     ydl-hashes 1
 *     KEY HASH USED        one line a file; KEY: source_key(), USED: seconds since 1970
 *
 * See cache_hashes.h. */
#include "uploads/cache_hashes.h"
#include "base/array.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>
#include <time.h>

#define HEAD "ydl-hashes 1\n"
#define LINE_MOST 160
#define DAY 86400 /* how exactly the last use is kept: not worth a write each time */

struct row {
    char key[SHA256_TEXT], hash[SHA256_TEXT];
    int64_t used; /* seconds since 1970 */
    bool changed; /* not yet in the file */
};

struct hashes {
    char *path;
    struct row *v;
    size_t n;
    bool dirty;
};

bool hashes_is_hash(const char *text, size_t n)
{
    return n == SHA256_TEXT - 1 && strspn(text, "0123456789abcdef") >= n;
}

static struct row *cache_hashes_find(const struct hashes *h, const char *key)
{
    for (size_t i = 0; i < h->n; i++)
        if (str_eq(h->v[i].key, key))
            return &h->v[i];
    return NULL;
}

static void hashes_put(struct hashes *h, const struct row *row)
{
    struct row *old = cache_hashes_find(h, row->key);

    if (old)
        *old = *row;
    else
        (void)ARRAY_ADD(h->v, h->n, *row); /* out of memory, it is not remembered */
}

/* ---- the file ---- */

static bool hashes_parse(char *line, struct row *ret)
{
    char *hash, *used;

    if (strlen(line) < (size_t)2 * SHA256_TEXT + 1)
        return false;
    hash = line + SHA256_TEXT;
    used = hash + SHA256_TEXT;
    if (hash[-1] != ' ' || used[-1] != ' ')
        return false;
    hash[-1] = used[-1] = '\0';
    if (!hashes_is_hash(line, strlen(line)) || !hashes_is_hash(hash, strlen(hash)) ||
        str_to_i64(used, 0, INT64_MAX, &ret->used) < 0)
        return false;
    memcpy(ret->key, line, SHA256_TEXT);
    memcpy(ret->hash, hash, SHA256_TEXT);
    return true;
}

/* Lines that make no sense are passed over: somebody may have written into the file. */
static void hashes_load(struct hashes *h)
{
    AUTO_BUF text = { .max = (size_t)HASHES_MOST * LINE_MOST };
    struct row row = { 0 };
    char *line, *end;

    if (path_read(h->path, &text, NULL) < 0 || !buf_text(&text) ||
        !str_starts((const char *)text.data, HEAD))
        return;
    for (line = (char *)text.data + strlen(HEAD); (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (h->n < HASHES_MOST && hashes_parse(line, &row))
            (void)ARRAY_ADD(h->v, h->n, row);
    }
}

static int hashes_newest_first(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (x->used != y->used)
        return x->used < y->used ? 1 : -1;
    return strcmp(x->key, y->key);
}

static void hashes_write_all(const struct hashes *h)
{
    AUTO_BUF out = { .max = (size_t)HASHES_MOST * LINE_MOST };
    AUTO_FREE char *dir = path_dir(h->path);
    int r = buf_add_str(&out, HEAD);

    for (size_t i = 0; r == 0 && i < h->n && i < HASHES_MOST; i++)
        r = buf_printf(&out, "%s %s %lld\n", h->v[i].key, h->v[i].hash, (long long)h->v[i].used);
    if (r == 0 && dir && path_mkdirs(dir, 0700, NULL) == 0)
        (void)path_write(h->path, out.data, out.len, 0600, NULL);
}

/* Ours into what others have written meanwhile. */
static void save(const struct hashes *ours)
{
    struct hashes all = { .path = ours->path };

    hashes_load(&all);
    for (size_t i = 0; i < ours->n; i++)
        if (ours->v[i].changed)
            hashes_put(&all, &ours->v[i]);
    if (all.n > 1)
        qsort(all.v, all.n, sizeof(*all.v), hashes_newest_first);
    hashes_write_all(&all);
    free(all.v);
}

/* ---- the interface ---- */

struct hashes *hashes_open(const char *path)
{
    struct hashes *h = calloc(1, sizeof(*h));

    if (!h)
        return NULL;
    h->path = path ? strdup(path) : NULL;
    if (path && !h->path) {
        free(h);
        return NULL;
    }
    if (h->path)
        hashes_load(h);
    return h;
}

struct hashes *hashes_close(struct hashes *h)
{
    if (!h)
        return NULL;
    if (h->path && h->dirty)
        save(h);
    free(h->path);
    free(h->v);
    free(h);
    return NULL;
}

static int64_t now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec;
}

bool hashes_find(struct hashes *h, const char key[SHA256_TEXT], char ret[SHA256_TEXT])
{
    struct row *row = cache_hashes_find(h, key);
    int64_t now = now_s();

    if (!row)
        return false;
    memcpy(ret, row->hash, SHA256_TEXT);
    if (now - row->used > DAY) {
        row->used = now;
        row->changed = h->dirty = true;
    }
    return true;
}

void hashes_add(struct hashes *h, const char key[SHA256_TEXT], const char hash[SHA256_TEXT])
{
    struct row row = { .used = now_s(), .changed = true };

    memcpy(row.key, key, SHA256_TEXT);
    memcpy(row.hash, hash, SHA256_TEXT);
    hashes_put(h, &row);
    h->dirty = true;
}
