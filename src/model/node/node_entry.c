/* node_entry.c - see node_entry.h. The manifest is written last, so that a file whose inode has a
 * later time was touched by somebody afterwards. Times can be wrong; the model server hashes
 * everything once more before a library reads it. */
#include "model/node/node_entry.h"
#include "base/path.h"
#include "base/str.h"
#include "loop/work.h"
#include "model/layout.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE MIB

struct checking {
    const char *dir, *hash;
    bool all;
    struct timespec since; /* of the manifest */
    struct manifest m;
    struct err *why;
    struct sha256 *sha;
    uint8_t *piece;
};

static int entry_bad(struct err *why, const char *path, const char *what)
{
    err_set(why, -EBADMSG, "'%s' %s", path, what);
    return 0;
}

int node_entry_manifest(const char *dir, const char *hash, struct manifest *ret, struct err *why)
{
    AUTO_FREE char *path = path_join(dir, LAYOUT_MANIFEST);
    AUTO_BUF text = { .max = MANIFEST_MOST };
    int r = path ? path_read(path, &text, why) : err_oom(why);

    if (r == 0)
        r = manifest_parse(path, text.data, text.len, ret, why);
    if (r == -ENOENT || r == -ENOTDIR || r == -EBADMSG || r == -E2BIG || r == -EPROTONOSUPPORT)
        return 0;
    if (r < 0 || str_eq(ret->sha256, hash))
        return r < 0 ? r : 1;
    manifest_done(ret);
    return entry_bad(why, path, "is not the manifest of its version");
}

static bool entry_is_later(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

static int entry_hash(struct checking *c, int fd, const char *path, const char *wanted)
{
    char text[SHA256_TEXT];
    ssize_t n = 1;
    int r = sha256_begin(c->sha, c->why);

    while (r == 0 && n != 0) {
        n = read(fd, c->piece, PIECE);
        if (n < 0 && errno != EINTR) /* a bad sector: another copy may do */
            return entry_bad(c->why, path, "cannot be read");
        if (n > 0)
            r = sha256_add(c->sha, c->piece, (size_t)n, c->why);
    }
    if (r == 0)
        r = sha256_end(c->sha, text, c->why);
    if (r < 0)
        return r;
    return str_eq(text, wanted) ? 1 : entry_bad(c->why, path, "was changed");
}

static int entry_check_file(struct checking *c, const struct manifest_file *f)
{
    AUTO_FREE char *path = path_join(c->dir, f->path);
    AUTO_CLOSE int fd = -1;
    struct stat st;

    if (!path)
        return err_oom(c->why);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return entry_bad(c->why, path, "cannot be opened");
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (uint64_t)st.st_size != f->size)
        return entry_bad(c->why, path, "does not have the size of the manifest");
    if (!c->all && !entry_is_later(&st.st_ctim, &c->since))
        return 1;
    return entry_hash(c, fd, path, f->sha256);
}

static int entry_run(void *arg)
{
    struct checking *c = arg;
    AUTO_FREE char *path = path_join(c->dir, LAYOUT_MANIFEST);
    struct stat st;
    int r;

    if (!path)
        return err_oom(c->why);
    if (lstat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? entry_bad(c->why, path, "is missing")
                                                   : err_sys(c->why, "look at '%s'", path);
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return entry_bad(c->why, path, "is not a file of ours");
    c->since = st.st_ctim;
    r = node_entry_manifest(c->dir, c->hash, &c->m, c->why);
    for (size_t i = 0; r == 1 && i < c->m.n; i++)
        r = entry_check_file(c, &c->m.files[i]);
    return r;
}

int node_entry_check(struct loop *l, const char *dir, const char *hash, bool all,
                     struct manifest *ret, struct err *why)
{
    AUTO_SHA256 *sha = NULL;
    AUTO_FREE uint8_t *piece = malloc(PIECE);
    struct err own = ERR_INIT;
    struct checking c = {
        .dir = dir, .hash = hash, .all = all, .why = why ? why : &own, .piece = piece
    };
    int r = piece ? sha256_new(&sha, c.why) : err_oom(c.why);

    c.sha = sha;
    if (r == 0)
        r = work_run(l, entry_run, &c);
    if (r == 1 && ret)
        *ret = c.m;
    else
        manifest_done(&c.m);
    return r;
}
