/* cache_source.c - one struct hides whether the bytes are a file's or those of an archive that is
 * packed while it is read. Before and after, size and times are compared: a file that changes
 * while it is read is an error, not a wrong hash. See cache_source.h. */
#include "uploads/cache_source.h"
#include "base/str.h"

#include <string.h>
#include <time.h>

#define COARSE_NS (INT64_C(2) * 1000000000)

/* The same source is read twice, once to hash and once to send; source_begin() goes back to its
 * start. */
struct source {
    char *path, *name;
    struct pack_list own;    /* of a directory */
    struct pack_list *files; /* of an archive of ours: `own` or the list's; NULL for a file */
    struct pack *pack;       /* while it is read */
    int fd;
    struct pack_stamp stamp; /* of a file */
    uint64_t size, left;
    struct sha256 *sum;
    struct timespec seen; /* when it was looked at */
};

/* ---- looking ---- */

static int source_look_at_files(struct source *s, struct err *err)
{
    s->size = pack_size(s->files);
    return s->size ? 0 : err_oom(err);
}

static int source_look(struct source *s, struct uploads_list *list, const struct uploads_item *item,
                       struct err *err)
{
    struct stat st;
    int r;

    clock_gettime(CLOCK_REALTIME, &s->seen);
    if (!item) {
        s->files = &list->bundle;
        return source_look_at_files(s, err);
    }
    if (item->tree) {
        s->files = item->tree;
        return source_look_at_files(s, err);
    }
    if (item->directory) {
        s->files = &s->own;
        r = pack_add(&s->own, item->from, "", NULL, err);
        return r < 0 ? r : source_look_at_files(s, err);
    }
    if (stat(item->from, &st) < 0)
        return err_sys(err, "'%s' cannot be read", item->from);
    s->stamp = pack_stamp_of(&st);
    s->size = s->stamp.size;
    return 0;
}

int source_new(struct uploads_list *list, const struct uploads_item *item, struct source **ret,
               struct err *err)
{
    AUTO_SOURCE *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return err_oom(err);
    s->fd = -1;
    s->path = strdup(item ? item->from : UPLOADS_BUNDLE);
    s->name = strdup(item ? item->to : UPLOADS_BUNDLE);
    if (!s->path || !s->name)
        return err_oom(err);
    r = sha256_new(&s->sum, err);
    if (r == 0)
        r = source_look(s, list, item, err);
    if (r < 0)
        return r;
    *ret = take(s);
    return 0;
}

struct source *source_free(struct source *s)
{
    if (!s)
        return NULL;
    pack_close(s->pack);
    pack_list_done(&s->own);
    if (s->fd >= 0)
        close(s->fd);
    sha256_free(s->sum);
    free(s->path);
    free(s->name);
    free(s);
    return NULL;
}

uint64_t source_size(const struct source *s)
{
    return s->size;
}

const char *source_name(const struct source *s)
{
    return s->name;
}

bool source_packed(const struct source *s)
{
    return s->files != NULL;
}

/* ---- what it is now ---- */

/* Texts with their NUL, so that no two lists of them look alike. */
static bool source_add_text(struct sha256 *sum, const char *text)
{
    return sha256_add(sum, text, strlen(text) + 1, NULL) == 0;
}

/* Some file systems count time in steps of two seconds: a file changed within the last step could
 * change again without showing it, so its hash is not remembered. */
static bool settled(const struct source *s, const struct pack_stamp *stamp)
{
    int64_t now = (int64_t)s->seen.tv_sec * 1000000000 + s->seen.tv_nsec;

    return stamp->mtime < now - COARSE_NS && stamp->ctime < now - COARSE_NS;
}

/* What is made by us (data, patches of a conda prefix) goes in as it is; of files it is name, size
 * and times that count. */
static bool source_add_entry(const struct source *s, struct sha256 *sum, const struct pack_entry *e)
{
    const unsigned char kind[] = { (unsigned char)e->type, e->executable };

    if (e->type == PACK_FILE && !e->data && !settled(s, &e->stamp))
        return false;
    if (e->data && (sha256_add(sum, &e->n_data, sizeof(e->n_data), NULL) < 0 ||
                    sha256_add(sum, e->data, e->n_data, NULL) < 0))
        return false;
    for (size_t i = 0; i < e->patches.n; i++) {
        const struct conda_prefix_patch *x = &e->patches.v[i];

        if (sha256_add(sum, &x->at, sizeof(x->at), NULL) < 0 ||
            sha256_add(sum, x->bytes, x->n, NULL) < 0)
            return false;
    }
    return source_add_text(sum, e->path) && source_add_text(sum, e->name) &&
           source_add_text(sum, e->link ? e->link : "") &&
           sha256_add(sum, kind, sizeof(kind), NULL) == 0 &&
           sha256_add(sum, &e->stamp, sizeof(e->stamp), NULL) == 0;
}

static bool source_add_all(const struct source *s, struct sha256 *sum)
{
    if (!source_add_text(sum, s->files ? "pack 1" : "file 1"))
        return false;
    if (!s->files)
        return settled(s, &s->stamp) && source_add_text(sum, s->path) &&
               sha256_add(sum, &s->stamp, sizeof(s->stamp), NULL) == 0;
    for (size_t i = 0; i < s->files->n; i++)
        if (!source_add_entry(s, sum, &s->files->v[i]))
            return false;
    return true;
}

/* A hash of everything that would change if the content did: names, sizes and times, not the bytes
 * themselves. False: no key would be reliable now. */
bool source_key(struct source *s, char ret[SHA256_TEXT])
{
    return sha256_begin(s->sum, NULL) == 0 && source_add_all(s, s->sum) &&
           sha256_end(s->sum, ret, NULL) == 0;
}

/* ---- its bytes ---- */

int source_begin(struct source *s, struct err *err)
{
    int r = sha256_begin(s->sum, err);

    if (r < 0)
        return r;
    s->pack = pack_close(s->pack);
    if (s->fd >= 0)
        close(take_fd(s->fd));
    s->left = s->size;
    if (s->files)
        return pack_open(s->files, &s->pack, err);
    return pack_stamp_open(s->path, &s->stamp, &s->fd, err);
}

static ssize_t source_read_file(struct source *s, uint8_t *p, size_t n, struct err *err)
{
    size_t done = 0;

    n = n < s->left ? n : (size_t)s->left;
    while (done < n) {
        ssize_t got = read(s->fd, p + done, n - done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, "read '%s'", s->path);
        if (got == 0)
            return pack_stamp_changed(s->path, err);
        done += (size_t)got;
    }
    return (ssize_t)done;
}

ssize_t source_read(struct source *s, void *p, size_t n, struct err *err)
{
    ssize_t got = s->files ? pack_read(s->pack, p, n, err) : source_read_file(s, p, n, err);
    int r;

    if (got <= 0)
        return got;
    s->left -= (uint64_t)got < s->left ? (uint64_t)got : s->left;
    r = sha256_add(s->sum, p, (size_t)got, err);
    return r < 0 ? r : got;
}

int source_end(struct source *s, char ret[SHA256_TEXT], struct err *err)
{
    int r = 0;

    if (s->left > 0)
        return pack_stamp_changed(s->path, err);
    if (s->fd >= 0) {
        r = pack_stamp_check(s->fd, s->path, &s->stamp, err);
        close(take_fd(s->fd));
    }
    s->pack = pack_close(s->pack);
    if (r < 0)
        return r;
    return sha256_end(s->sum, ret, err);
}
