/* source.c - reads stretches of the file into one buffer and inflates them when they are
 * compressed; a stretch that gives fewer or more bytes than its index promised is damage. See
 * source.h. */
#include "hadoop/logs/source.h"

#include <string.h>
#include <zlib.h>

#define IN_BYTES (64 * KIB)

struct log_codec {
    const char *name;
    bool inflated;
    const char *refused; /* why it cannot be read, or NULL */
};

/* Hadoop's "gz" is a bare zlib stream, without gzip's header. */
static const struct log_codec codecs[] = {
    { "none", false, NULL },
    { "gz", true, NULL },
    { "lzo", false, "these logs are compressed by LZO, which ydl cannot read" },
};

struct log_stream {
    const struct log_source *src;
    const struct log_codec *codec;
    uint64_t at, end; /* what is left of it in the file */
    uint64_t left;    /* bytes still to be given */
    z_stream z;
    bool inflating; /* z is to be freed */
    bool ended;     /* z has said so */
    uint8_t in[];   /* IN_BYTES when inflated */
};

int log_source_read(const struct log_source *s, uint64_t offset, void *p, size_t n, struct err *err)
{
    ssize_t got;

    if (offset > s->length || n > s->length - offset)
        return err_set(err, -EBADMSG, "the file ends too early");
    got = s->pread(s->arg, offset, p, n, err);
    if (got < 0)
        return (int)got;
    return (size_t)got == n ? 0 : err_set(err, -EBADMSG, "the file ends too early");
}

int log_codec_find(const void *name, size_t n, const struct log_codec **ret, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        if (strlen(codecs[i].name) != n || memcmp(codecs[i].name, name, n) != 0)
            continue;
        if (codecs[i].refused) {
            err_set(err, -EOPNOTSUPP, "%s", codecs[i].refused);
            err_hint(err, "yarn logs -applicationId can, where the cluster has the codec");
            return -EOPNOTSUPP;
        }
        *ret = &codecs[i];
        return 0;
    }
    return err_set(err, -EOPNOTSUPP, "these logs are compressed in a way that ydl does not know");
}

static int start_inflating(struct log_stream *s, struct err *err)
{
    int r = inflateInit(&s->z);

    s->inflating = r == Z_OK;
    return s->inflating ? 0 : err_oom(err);
}

/* Places come from an index in the same file, which may be broken: they are checked before they are
 * used, and nothing is allocated by them. */
int log_stream_open(const struct log_source *src, const struct log_region *r,
                    const struct log_codec *codec, struct log_stream **ret, struct err *err)
{
    AUTO(log_stream) struct log_stream *s = NULL;
    int rc = 0;

    if (r->offset > src->length || r->stored > src->length - r->offset)
        return err_set(err, -EBADMSG, "an entry lies outside of the file");
    if (!codec->inflated && r->length > r->stored)
        return err_set(err, -EBADMSG, "an entry is longer than the file");
    s = calloc(1, sizeof(*s) + (codec->inflated ? IN_BYTES : 0));
    if (!s)
        return err_oom(err);
    s->src = src;
    s->codec = codec;
    s->at = r->offset;
    s->end = r->offset + r->stored;
    s->left = r->length;
    if (codec->inflated)
        rc = start_inflating(s, err);
    if (rc == 0)
        *ret = take(s);
    return rc;
}

struct log_stream *log_stream_close(struct log_stream *s)
{
    if (s && s->inflating)
        inflateEnd(&s->z);
    free(s);
    return NULL;
}

uint64_t log_stream_left(const struct log_stream *s)
{
    return s->left;
}

static int log_fill(struct log_stream *s, struct err *err)
{
    size_t n = s->end - s->at < IN_BYTES ? (size_t)(s->end - s->at) : IN_BYTES;
    int r = log_source_read(s->src, s->at, s->in, n, err);

    s->at += n;
    s->z.next_in = s->in;
    s->z.avail_in = (uInt)n;
    return r;
}

static ssize_t inflate_some(struct log_stream *s, uint8_t *p, size_t n, struct err *err)
{
    s->z.next_out = p;
    s->z.avail_out = (uInt)n;
    while (s->z.avail_out == n && !s->ended) {
        int r = s->z.avail_in == 0 && s->at < s->end ? log_fill(s, err) : 0;

        if (r < 0)
            return r;
        r = inflate(&s->z, Z_NO_FLUSH);
        if (r == Z_MEM_ERROR)
            return err_oom(err);
        s->ended = r == Z_STREAM_END;
        /* Z_BUF_ERROR: nothing more comes in, and nothing comes out. */
        if (r != Z_OK && !s->ended)
            return err_set(err, -EBADMSG, "the file's compressed data is damaged");
    }
    return (ssize_t)(n - s->z.avail_out);
}

static ssize_t log_copy_some(struct log_stream *s, void *p, size_t n, struct err *err)
{
    int r = log_source_read(s->src, s->at, p, n, err);

    s->at += n;
    return r < 0 ? r : (ssize_t)n;
}

/* At most 1 MiB at a time, because zlib counts in unsigned int and a caller may ask for more. */
ssize_t log_stream_read(struct log_stream *s, void *p, size_t n, struct err *err)
{
    ssize_t got;

    if (n > MIB)
        n = MIB;
    if (n > s->left)
        n = (size_t)s->left;
    if (n == 0)
        return 0;
    got = s->codec->inflated ? inflate_some(s, p, n, err) : log_copy_some(s, p, n, err);
    if (got == 0)
        return err_set(err, -EBADMSG, "an entry of the file is too short");
    if (got > 0)
        s->left -= (uint64_t)got;
    return got;
}

int log_stream_exact(struct log_stream *s, void *p, size_t n, struct err *err)
{
    if (n > s->left)
        return err_set(err, -EBADMSG, "an entry of the file is too short");
    while (n > 0) {
        ssize_t got = log_stream_read(s, p, n, err);

        if (got < 0)
            return (int)got;
        p = (uint8_t *)p + got;
        n -= (size_t)got;
    }
    return 0;
}

int log_stream_skip(struct log_stream *s, uint64_t n, struct err *err)
{
    uint8_t waste[4096];

    if (n > s->left)
        return err_set(err, -EBADMSG, "an entry of the file is too short");
    if (!s->codec->inflated) {
        s->at += n;
        s->left -= n;
        return 0;
    }
    while (n > 0) {
        size_t some = n < sizeof(waste) ? (size_t)n : sizeof(waste);
        int r = log_stream_exact(s, waste, some, err);

        if (r < 0)
            return r;
        n -= some;
    }
    return 0;
}
