/* ifile.c - logs in YARN's indexed format.
 *
 *     mark, log files, index, its length, mark;  log files, index, its length, mark; ...
 *
 * The mark is a digest of the application's id. Each time a node adds logs it writes an index of
 * everything so far: a Java object. The last one counts, unless another file says that the node
 * was just adding when it stopped; then it is the last one before that place (log_about.end). */
#include "base/array.h"
#include "base/buf.h"
#include "hadoop/logs/app_log_format.h"
#include "hadoop/logs/java.h"

#include <openssl/evp.h>
#include <string.h>

#define MARK_BYTES 32
#define INDEX_MAX (32 * MIB)
/* Objects may be referred to from several places, so the files can be more than the values. */
#define FILES_MAX ((size_t)1 << 18)

struct indexed {
    struct log_region region;
    int64_t mtime;
    char *container; /* owns the name too */
    char *name;
};

struct ifile {
    const struct log_source *src;
    const struct log_codec *codec;
    struct indexed *files;
    size_t n_files, at;
    struct log_stream *stream; /* the present file's, once something was read */
};

/* It is the SHA-256 of the application's id as text. Anybody can compute it: it tells where an
 * index ends, and proves nothing. */
static bool mark_of(const char *app, uint8_t out[MARK_BYTES])
{
    unsigned n = 0;

    return EVP_Digest(app, strlen(app), out, &n, EVP_sha256(), NULL) == 1 && n == MARK_BYTES;
}

static bool ifile_is(const uint8_t head[32], const struct log_about *about)
{
    uint8_t mark[MARK_BYTES];

    return mark_of(about->app, mark) && memcmp(head, mark, sizeof(mark)) == 0;
}

static int ifile_broken(struct err *err)
{
    return err_set(err, -EBADMSG, "its index is broken");
}

/* ---- the index ---- */

static int ifile_number(const struct java_value *v, const char *name, uint64_t *ret,
                        struct err *err)
{
    int64_t n;

    if (java_number(v, name, &n) < 0 || n < 0)
        return ifile_broken(err);
    *ret = (uint64_t)n;
    return 0;
}

static int copy_names(struct indexed *x, struct view container, struct view name, struct err *err)
{
    char a[LOG_NAME_MAX], b[LOG_NAME_MAX];
    int r = log_name(container.p, container.n, a, err);

    if (r == 0)
        r = log_name(name.p, name.n, b, err);
    if (r < 0)
        return r;
    x->container = malloc(container.n + name.n + 2);
    if (!x->container)
        return err_oom(err);
    x->name = x->container + container.n + 1;
    memcpy(x->container, a, container.n + 1);
    memcpy(x->name, b, name.n + 1);
    return 0;
}

static int ifile_add_file(struct ifile *f, const struct java_value *v, struct err *err)
{
    struct indexed x = { .mtime = 0 };
    int r;

    if (f->n_files >= FILES_MAX)
        return err_set(err, -EBADMSG, "its index has more files than can be");
    if (ARRAY_ROOM(f->files, f->n_files) < 0)
        return err_oom(err);
    r = ifile_number(v, "startIndex", &x.region.offset, err);
    if (r == 0)
        r = ifile_number(v, "fileCompressedSize", &x.region.stored, err);
    if (r == 0)
        r = ifile_number(v, "fileSize", &x.region.length, err);
    if (r == 0)
        r = copy_names(&x, java_text(v, "containerId"), java_text(v, "fileName"), err);
    if (r < 0)
        return r;
    (void)java_number(v, "lastModifiedTime", &x.mtime);
    f->files[f->n_files++] = x;
    return 0;
}

/* One time that logs were added: a map from containers to lists of files. The list holds keys and
 * values in turn; the keys (containers) are in the values too. */
static int add_cycle(struct ifile *f, const struct java_value *cycle, struct err *err)
{
    const struct java_value *map = java_field(cycle, "logMetas");
    int r = 0;

    if (!map)
        return ifile_broken(err);
    for (size_t i = 1; i < map->n_items && r == 0; i += 2) {
        const struct java_value *list = map->items[i];

        for (size_t k = 0; list && k < list->n_items && r == 0; k++)
            r = ifile_add_file(f, list->items[k], err);
    }
    return r;
}

static int ifile_add_all(struct ifile *f, const struct java_value *index, struct err *err)
{
    const struct java_value *cycles = java_field(index, "logMetas");
    struct view codec = java_text(index, "compressName");
    int r = cycles ? log_codec_find(codec.p, codec.n, &f->codec, err) : ifile_broken(err);

    for (size_t i = 0; r == 0 && i < cycles->n_items; i++)
        r = add_cycle(f, cycles->items[i], err);
    return r;
}

/*     … log files | index | length (4 bytes) | mark (32 bytes)
 * Read from the end, or from the place where it was last known to be complete. */
static int read_index(struct ifile *f, const struct log_about *about, struct err *err)
{
    const uint64_t end = about->end < f->src->length ? about->end : f->src->length;
    uint8_t tail[4 + MARK_BYTES] = { 0 }, mark[MARK_BYTES];
    AUTO(java) struct java *index = NULL;
    AUTO_FREE uint8_t *bytes = NULL;
    struct view v = view_of(tail, sizeof(tail));
    size_t n;
    int r;

    if (end < MARK_BYTES + sizeof(tail))
        return err_set(err, -EBADMSG, "the file ends too early");
    r = log_source_read(f->src, end - sizeof(tail), tail, sizeof(tail), err);
    if (r < 0)
        return r;
    n = view_be32(&v);
    if (!mark_of(about->app, mark))
        return err_oom(err);
    if (memcmp(tail + 4, mark, sizeof(mark)) != 0)
        return err_set(err, -EBADMSG, "the file is incomplete: its end is missing");
    if (n > INDEX_MAX || n > end - sizeof(tail) - MARK_BYTES)
        return ifile_broken(err);
    bytes = malloc(n + 1);
    if (!bytes)
        return err_oom(err);
    r = log_source_read(f->src, end - sizeof(tail) - n, bytes, n, err);
    if (r == 0)
        r = java_parse(bytes, n, &index, err);
    return r == 0 ? ifile_add_all(f, java_root(index), err) : r;
}

static void ifile_close(void *file)
{
    struct ifile *f = file;

    log_stream_close(f->stream);
    for (size_t i = 0; i < f->n_files; i++)
        free(f->files[i].container);
    free(f->files);
    free(f);
}

/* The mark of a file in which nothing was ever completed is not looked for: it has no index, which
 * is not an error while an application runs. */
static int ifile_open(const struct log_source *s, const struct log_about *about, void **ret,
                      struct err *err)
{
    struct ifile *f = calloc(1, sizeof(*f));
    int r;

    if (!f)
        return err_oom(err);
    f->src = s;
    r = about->end ? read_index(f, about, err) : 0; /* 0: nothing was ever complete */
    if (r < 0)
        ifile_close(f);
    else
        *ret = f;
    return r;
}

/* ---- the files ---- */

static int ifile_next(void *file, struct log_item *ret, struct err *err)
{
    struct ifile *f = file;
    const struct indexed *x;

    (void)err;
    f->stream = log_stream_close(f->stream);
    if (f->at == f->n_files)
        return 0;
    x = &f->files[f->at++];
    *ret = (struct log_item){
        .container = x->container, .name = x->name, .length = x->region.length, .mtime = x->mtime
    };
    return 1;
}

static ssize_t ifile_read(void *file, void *p, size_t n, struct err *err)
{
    struct ifile *f = file;
    int r = 0;

    if (f->at == 0)
        return 0;
    if (!f->stream)
        r = log_stream_open(f->src, &f->files[f->at - 1].region, f->codec, &f->stream, err);
    return r < 0 ? r : log_stream_read(f->stream, p, n, err);
}

const struct log_format log_ifile = { .name = "IndexedFile",
                                      .is = ifile_is,
                                      .open = ifile_open,
                                      .next = ifile_next,
                                      .read = ifile_read,
                                      .close = ifile_close };
