/* rotate.c - a file that is written without end is cut into pieces while it is written: the writer
 * holds it open and knows nothing of it. See rotate.h.
 *
 *     NAME.part   a copy that is being made
 *     NAME.cut    one that is complete, just before and just after the file itself is cut
 *     NAME.1, …   pieces, in their order; NAME itself holds what comes after the last of them
 *
 *     copy the first bytes to NAME.part ──► rename to NAME.cut ──► collapse them out of NAME
 *       ──► rename NAME.cut to NAME.n
 *
 * A reader that finds neither NAME.cut nor the next piece after it has read knows that the file was
 * not cut before. NAME.cut may stay for long: who cuts may be stopped, or killed, with the piece
 * taken off and not named yet. Then the file no longer begins with it, and it is read in NAME.cut.
 * Output may repeat itself, so NAME.cut has with it (as an attribute, where the file system takes
 * it) how long the file was: a shorter one is cut. */
#include "base/rotate.h"
#include "base/path.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#define CHUNK (64 * KIB)
#define TRIES 100 /* of a millisecond each: longer than a cut takes, mostly */
#define SIZE_ATTRIBUTE "user.ydl.size"

static char *other(const struct rotate *r, const char *end)
{
    return str_printf("%s.%s", r->path, end);
}

static char *piece_path(const struct rotate *r, uint32_t number)
{
    return str_printf("%s.%u", r->path, number);
}

static uint64_t rotate_size_of(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* Of the file itself, whatever its name is by now. */
static uint64_t size_of_rest(const struct rotate *r)
{
    struct stat st;

    if (r->kept <= 0)
        return rotate_size_of(r->path);
    return fstat(r->kept, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* ---- what there is ---- */

static void rotate_note_piece(struct rotate *r, const char *text)
{
    int64_t n = 0;

    if (*text == '0' || str_to_i64(text, 1, UINT32_MAX - 1, &n) < 0)
        return;
    if (r->first == 0 || (uint32_t)n < r->first)
        r->first = (uint32_t)n;
    if ((uint32_t)n > r->last)
        r->last = (uint32_t)n;
}

/* Its pieces all have the size of the last one. */
static int find_size(struct rotate *r)
{
    AUTO_FREE char *path = r->last ? piece_path(r, r->last) : NULL;

    if (r->last && !path)
        return -ENOMEM;
    r->piece = path ? rotate_size_of(path) : 0;
    if (r->piece == 0)
        r->first = r->last = 0;
    return 0;
}

int rotate_look(struct rotate *r, const char *path)
{
    AUTO_FREE char *dir = path_dir(path);
    AUTO_FREE char *base = path_base(path);
    size_t n = base ? strlen(base) : 0;
    const struct dirent *e;
    DIR *d;

    *r = (struct rotate){ .path = path };
    if (!dir || !base)
        return -ENOMEM;
    d = opendir(dir);
    if (!d)
        return errno == ENOENT ? 0 : -errno;
    while ((e = readdir(d)))
        if (strncmp(e->d_name, base, n) == 0 && e->d_name[n] == '.')
            rotate_note_piece(r, e->d_name + n + 1);
    closedir(d);
    return find_size(r);
}

uint64_t rotate_begin(const struct rotate *r)
{
    return r->last ? (r->first - 1) * r->piece : 0;
}

/* ---- reading ---- */

static ssize_t rotate_read_file(const char *path, uint64_t at, void *p, size_t n)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    ssize_t got;

    if (fd < 0)
        return -errno;
    got = pread(fd, p, n, (off_t)at);
    return got < 0 ? -errno : got;
}

static ssize_t read_rest(const struct rotate *r, uint64_t at, void *p, size_t n)
{
    ssize_t got;

    if (r->kept <= 0)
        return rotate_read_file(r->path, at, p, n);
    got = pread(r->kept, p, n, (off_t)at);
    return got < 0 ? -errno : got;
}

/* Pieces go in their order: where the last that we know is gone, the next may be too. */
static bool is_lost(const struct rotate *r)
{
    AUTO_FREE char *path = r->last ? piece_path(r, r->last) : NULL;

    return path && !is_there(path);
}

/* 1 when there are more pieces than before. There are fewer only when somebody removed them,
 * perhaps with the directory: what they held was written all the same. */
static int rotate_look_again(struct rotate *r)
{
    struct rotate now;
    int e = rotate_look(&now, r->path);

    if (e < 0 || now.last <= r->last)
        return e;
    now.never = r->never;
    now.kept = r->kept;
    *r = now;
    return 1;
}

/* Does the file begin with what is in the other one? -ENOMEM. */
static int begins_with(const char *path, int copy, uint64_t size)
{
    AUTO_FREE char *a = malloc(CHUNK);
    AUTO_FREE char *b = malloc(CHUNK);

    if (!a || !b)
        return -ENOMEM;
    for (uint64_t at = 0; at < size;) {
        ssize_t n = pread(copy, a, CHUNK, (off_t)at);

        if (n <= 0 || rotate_read_file(path, at, b, (size_t)n) != n || memcmp(a, b, (size_t)n) != 0)
            return 0;
        at += (uint64_t)n;
    }
    return 1;
}

/* The file's size before it is cut, for taken_off(). Without it contents alone decide. */
static void rotate_note_size(const struct rotate *r, const char *part)
{
    uint64_t size = rotate_size_of(r->path);

    (void)setxattr(part, SIZE_ATTRIBUTE, &size, sizeof(size), 0);
}

static bool is_shorter(const struct rotate *r, int cut)
{
    uint64_t size = 0;

    return fgetxattr(cut, SIZE_ATTRIBUTE, &size, sizeof(size)) == sizeof(size) &&
           rotate_size_of(r->path) < size;
}

/* How many bytes NAME.cut holds that are no longer in the file; 0: none; -ENOMEM. Three tests, from
 * cheap to dear: the file is so short that no cut was due; it is shorter than it was noted to be;
 * its beginning differs from the copy. */
static int64_t taken_off(const struct rotate *r, const char *cut)
{
    AUTO_CLOSE int fd = open(cut, O_RDONLY | O_CLOEXEC);
    struct stat st;
    int same;

    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0)
        return 0;
    if (rotate_size_of(r->path) <= (uint64_t)st.st_size ||
        is_shorter(r, fd)) /* so small none is cut */
        return st.st_size;
    same = begins_with(r->path, fd, (uint64_t)st.st_size);
    return same < 0 ? same : same ? 0 : st.st_size;
}

static void count_piece(struct rotate *r, uint64_t size, bool unnamed)
{
    r->piece = size;
    r->last++;
    r->first = r->first ? r->first : r->last;
    r->unnamed = unnamed;
}

/* Has it been cut since `r` was last right? Then `r` is now. 1: yes, 0: no. A cut shows in one of
 * three ways:
 *
 *     NAME.n+1 is there                  it was cut, and all is done
 *     NAME.cut is there for a moment     somebody is cutting: wait for the name
 *     NAME.cut stays                     who cut was stopped: taken_off() tells whether before it
 *
 * The name is looked for once more after taken_off(), which takes long enough for it to appear. */
static int rotate_catch_up(struct rotate *r)
{
    AUTO_FREE char *cut = other(r, "cut");
    AUTO_FREE char *next = piece_path(r, r->last + 1);
    const struct timespec moment = { .tv_nsec = 1000000 };
    bool unnamed = false;
    uint64_t size;

    if (!cut || !next)
        return -ENOMEM;
    for (int i = 0; i < TRIES && is_there(cut) && !is_lost(r); i++)
        (void)nanosleep(&moment, NULL);
    size = rotate_size_of(next);
    if (size == 0 && is_lost(r))
        return rotate_look_again(r);
    if (size == 0) {
        int64_t off = taken_off(r, cut);

        if (off < 0)
            return (int)off;
        size = rotate_size_of(next); /* it may have got its name meanwhile */
        unnamed = size == 0 && off > 0;
        size = unnamed ? (uint64_t)off : size;
    }
    if (size > 0)
        count_piece(r, size, unnamed);
    return size > 0;
}

/* Asked again after every cut that happened meanwhile: the sum of two looks at different times
 * would count a piece twice, or not at all. */
uint64_t rotate_size(struct rotate *r)
{
    uint64_t size;

    do
        size = r->last * r->piece + size_of_rest(r);
    while (rotate_catch_up(r) > 0);
    return size;
}

static ssize_t read_piece(const struct rotate *r, uint64_t at, void *p, size_t n)
{
    uint32_t number = (uint32_t)(at / r->piece) + 1;
    AUTO_FREE char *path = piece_path(r, number);
    AUTO_FREE char *cut = other(r, "cut");
    ssize_t got;

    if (!path || !cut)
        return -ENOMEM;
    got = rotate_read_file(path, at % r->piece, p, n);
    if (got == -ENOENT && number == r->last && r->unnamed) {
        got = rotate_read_file(cut, at % r->piece, p, n);
        if (is_there(path)) /* then that was the next one, maybe */
            got = rotate_read_file(path, at % r->piece, p, n);
    }
    return got == -ENOENT ? -ESTALE : got;
}

/* Read first, look for a cut afterwards: if there was one, the bytes may be from the wrong place,
 * and the read is done again with what is known by then. */
ssize_t rotate_read(struct rotate *r, uint64_t at, void *p, size_t n)
{
    for (;;) {
        uint64_t base = r->last * r->piece;
        ssize_t got;
        int cut;

        if (at < rotate_begin(r))
            return -ESTALE;
        if (at < base)
            return read_piece(r, at, p, n);
        got = read_rest(r, at - base, p, n);
        cut = rotate_catch_up(r);
        if (cut < 0)
            return cut;
        if (cut == 0)
            return got == -ENOENT ? 0 : got;
    }
}

/* ---- cutting ---- */

static uint64_t size_of_pieces(const struct rotate *r, uint64_t piece)
{
    return r->piece ? r->piece : piece;
}

bool rotate_due(const struct rotate *r, uint64_t piece)
{
    piece = size_of_pieces(r, piece);
    /* The kernel does not cut off all there is; and who has written little more may soon end. */
    return piece > 0 && !r->never && rotate_size_of(r->path) > piece + piece / 8;
}

/* By the file system itself where it can, which may then not even need room for it. */
static ssize_t rotate_copy_some(int from, int to, uint64_t at, size_t n)
{
    off_t in = (off_t)at, out = (off_t)at;
    AUTO_FREE char *p = NULL;
    ssize_t got = copy_file_range(from, &in, to, &out, n, 0);

    if (got > 0 ||
        (got < 0 && errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS))
        return got < 0 ? -errno : got;
    p = malloc(CHUNK);
    if (!p)
        return -ENOMEM;
    got = pread(from, p, n < CHUNK ? n : CHUNK, (off_t)at);
    if (got > 0)
        got = pwrite(to, p, (size_t)got, (off_t)at);
    return got < 0 ? -errno : got;
}

/* `most` bytes a call, because the caller has other things to do: 0 means that there is more to
 * copy. What a predecessor copied is gone on with. */
int rotate_copy(const struct rotate *r, uint64_t piece, uint64_t most)
{
    AUTO_FREE char *part = other(r, "part");
    AUTO_CLOSE int from = open(r->path, O_RDONLY | O_CLOEXEC);
    AUTO_CLOSE int to = -1;
    struct stat st;
    uint64_t at, end;

    if (!part)
        return -ENOMEM;
    if (from < 0 || fstat(from, &st) < 0)
        return -errno;
    to = open(part, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, st.st_mode & 0777);
    if (to < 0)
        return -errno;
    (void)fchmod(to, st.st_mode & 0777);
    piece = size_of_pieces(r, piece);
    at = rotate_size_of(part);
    end = piece - at < most ? piece : at + most;
    while (at < end) {
        ssize_t n = rotate_copy_some(from, to, at, (size_t)(end - at));

        if (n <= 0)
            return n < 0 ? (int)n : -EIO;
        at += (uint64_t)n;
    }
    if (at < piece)
        return 0;
    /* Data not yet on the disk when the file is cut has to be waited for then, by all its users. */
    return fdatasync(from) == 0 ? 1 : -errno;
}

void rotate_drop(const struct rotate *r)
{
    AUTO_FREE char *part = other(r, "part");

    if (part)
        (void)unlink(part);
}

/* 1 when it is cut, 0 when it cannot be. The range is taken out in the file system's map of blocks:
 * nothing is copied, and the writer, whose descriptor appends, goes on at the new end. */
static int collapse(const struct rotate *r, uint64_t piece)
{
    AUTO_CLOSE int fd = open(r->path, O_RDWR | O_CLOEXEC);

    if (fd < 0)
        return -errno;
    if (fallocate(fd, FALLOC_FL_COLLAPSE_RANGE, 0, (off_t)piece) == 0)
        return 1;
    return errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL ? 0 : -errno;
}

/* The copy in NAME.cut becomes the next piece. */
static int rotate_settle(struct rotate *r, const char *cut, uint64_t piece)
{
    bool counted = r->unnamed && is_lost(r);
    AUTO_FREE char *next = piece_path(r, counted ? r->last : r->last + 1);

    if (!next)
        return -ENOMEM;
    if (rename(cut, next) < 0)
        return -errno;
    r->unnamed = false;
    if (!counted)
        count_piece(r, piece, false);
    return 0;
}

static void remove_old(struct rotate *r, uint32_t keep)
{
    while (keep > 0 && r->last - r->first >= keep) {
        AUTO_FREE char *path = piece_path(r, r->first);

        if (!path || (unlink(path) < 0 && errno != ENOENT))
            return; /* next time */
        r->first++;
    }
}

/* What a predecessor left. If the file still begins with the copy, it was not cut yet, and that is
 * done now; otherwise only the name is missing. Without FALLOC_FL_COLLAPSE_RANGE the copy is thrown
 * away, and the file stays whole. */
int rotate_mend(struct rotate *r)
{
    AUTO_FREE char *cut = other(r, "cut");
    uint64_t size;
    int64_t off;
    int done = 1;

    if (!cut)
        return -ENOMEM;
    rotate_drop(r);
    if (!is_there(cut))
        return 0;
    size = rotate_size_of(cut);
    off = taken_off(r, cut);
    if (off < 0)
        return (int)off;
    if (off == 0 && size > 0)
        done = collapse(r, size);
    if (done > 0 && size > 0)
        return rotate_settle(r, cut, size);
    (void)unlink(cut);
    return done < 0 ? done : 0;
}

int rotate_cut(struct rotate *r, uint64_t piece, uint32_t keep)
{
    AUTO_FREE char *part = other(r, "part");
    AUTO_FREE char *cut = other(r, "cut");
    int done;

    piece = size_of_pieces(r, piece);
    if (!part || !cut)
        return -ENOMEM;
    if (is_there(cut))
        return rotate_mend(r); /* the one before has no name yet, and there is no other copy */
    if (rotate_size_of(part) != piece)
        return -EIO;
    rotate_note_size(r, part);
    if (rename(part, cut) < 0)
        return -errno;
    done = collapse(r, piece);
    if (done <= 0) {
        (void)unlink(cut);
        r->never = done == 0;
        return done;
    }
    done = rotate_settle(r, cut, piece);
    if (done == 0)
        remove_old(r, keep);
    return done;
}
