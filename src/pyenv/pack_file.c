/* pack_file.c - a stream of three stages, pulled from its end: the archive's bytes are hashed,
 * then compressed, then written. See pack_file.h. */
#include "pyenv/pack_file.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>
#include <zlib.h>

#define CHUNK (256 * KIB)
#define TURN (4 * MIB)
#define GZIP 16 /* added to the size of the window: gzip's header and sum around it */

struct pack_file {
    struct pack *pack;
    int fd;
    bool compress;
    z_stream z;
    struct sha256 *sum;
    uint8_t *in, *out; /* CHUNK bytes each */
    uint64_t done, written;
};

static int start_gzip(struct pack_file *f, int level, struct err *err)
{
    if (level == 0)
        return 0;
    if (deflateInit2(&f->z, level, Z_DEFLATED, MAX_WBITS + GZIP, MAX_MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return err_oom(err);
    f->compress = true;
    return 0;
}

int pack_file_new(struct pack_list *list, int fd, int level, struct pack_file **ret,
                  struct err *err)
{
    AUTO_PACK_FILE *f = calloc(1, sizeof(*f));
    int r;

    if (!f)
        return err_oom(err);
    f->fd = fd;
    f->in = malloc(CHUNK);
    f->out = malloc(CHUNK);
    if (!f->in || !f->out)
        return err_oom(err);
    r = sha256_new(&f->sum, err);
    if (r == 0)
        r = start_gzip(f, level, err);
    if (r == 0)
        r = pack_open(list, &f->pack, err);
    if (r == 0)
        *ret = take(f);
    return r;
}

struct pack_file *pack_file_free(struct pack_file *f)
{
    if (!f)
        return NULL;
    if (f->compress)
        (void)deflateEnd(&f->z);
    pack_close(f->pack);
    sha256_free(f->sum);
    free(f->in);
    free(f->out);
    free(f);
    return NULL;
}

static int write_out(struct pack_file *f, const void *p, size_t n, struct err *err)
{
    int r = path_write_fd(f->fd, p, n);

    if (r < 0)
        return err_code(err, r, "write the archive");
    f->written += n;
    return 0;
}

/* `n` bytes of `in`; none at the end. The hash is that of the archive before it is compressed,
 * since gzip's bytes depend on the library that makes them. */
static int compress_some(struct pack_file *f, size_t n, struct err *err)
{
    int flush = n ? Z_NO_FLUSH : Z_FINISH, r = 0;

    f->z.next_in = f->in;
    f->z.avail_in = (uInt)n;
    do {
        f->z.next_out = f->out;
        f->z.avail_out = CHUNK;
        (void)deflate(&f->z, flush); /* fails only when it is called wrongly */
        r = write_out(f, f->out, CHUNK - f->z.avail_out, err);
    } while (r == 0 && f->z.avail_out == 0);
    return r;
}

/* In turns of 4 MiB, so that the caller's thread can look at an interruption and show progress: 1
 * to be called again, 0 at the end. */
int pack_file_some(struct pack_file *f, struct err *err)
{
    for (uint64_t before = f->done; f->done < before + TURN;) {
        ssize_t n = pack_read(f->pack, f->in, CHUNK, err);
        int r;

        if (n < 0)
            return (int)n;
        r = sha256_add(f->sum, f->in, (size_t)n, err);
        if (r < 0)
            return r;
        f->done += (uint64_t)n;
        r = f->compress ? compress_some(f, (size_t)n, err) : write_out(f, f->in, (size_t)n, err);
        if (r < 0 || n == 0)
            return r;
    }
    return 1;
}

uint64_t pack_file_done(const struct pack_file *f)
{
    return f->done;
}

uint64_t pack_file_written(const struct pack_file *f)
{
    return f->written;
}

int pack_file_hash(struct pack_file *f, char ret[SHA256_TEXT], struct err *err)
{
    return sha256_end(f->sum, ret, err);
}
