/* node_lock.c - locks of open file descriptions, one byte for each. See node_lock.h. */
#include "model/node/node_lock.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int node_lock_open(const char *path, int *ret, struct err *err)
{
    struct stat st;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

    if (fd < 0 || fstat(fd, &st) < 0) {
        int r = err_sys(err, "open '%s'", path);

        if (fd >= 0)
            close(fd);
        return r;
    }
    if (!S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
        close(fd);
        return err_set(err, -EPERM, "'%s' is not a file of ours", path);
    }
    *ret = fd;
    return 0;
}

/* Locks of the open file (F_OFD_SETLK), not of the process: those would be lost as soon as the
 * process closes any descriptor of the same file, which looking and pruning do, and would not pass
 * through exec(2) to the model server. They end when the last copy of the descriptor is closed, by
 * whatever end.
 *
 * None of them waits: whoever does not get one looks again, and so cannot be part of a deadlock. */
int node_lock_take(int fd, enum node_lock which, enum node_lock_how how, struct err *err)
{
    static const short types[] = {
        [NODE_LOCK_NONE] = F_UNLCK, [NODE_LOCK_SHARED] = F_RDLCK, [NODE_LOCK_ALONE] = F_WRLCK
    };
    struct flock l = {
        .l_type = types[how], .l_whence = SEEK_SET, .l_start = (off_t)which, .l_len = 1
    };

    if (fcntl(fd, F_OFD_SETLK, &l) == 0)
        return 1;
    if (errno == EAGAIN || errno == EACCES)
        return 0;
    return err_sys(err, "lock a version of a model");
}

bool node_lock_is_there(int fd, const char *path)
{
    struct stat mine, there;

    return fstat(fd, &mine) == 0 && lstat(path, &there) == 0 && mine.st_ino == there.st_ino &&
           mine.st_dev == there.st_dev;
}

void node_lock_used(int fd)
{
    (void)futimens(fd, NULL);
}

#define DIGITS 19 /* of the largest size of a file */

/* Always as long, so that nobody reads half of an older and longer text. */
void node_lock_tell(int fd, uint64_t done, uint64_t total)
{
    char text[2 * DIGITS + 3];
    int n = snprintf(text, sizeof(text), "%019" PRIu64 " %019" PRIu64 "\n", done & INT64_MAX,
                     total & INT64_MAX);

    if (pwrite(fd, text, (size_t)n, 0) < 0)
        return; /* a full disk: it is a note */
}

bool node_lock_told(int fd, uint64_t *ret_done, uint64_t *ret_total)
{
    char text[2 * DIGITS + 2] = "";
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    int64_t done, total;

    if (n != sizeof(text) - 1 || text[DIGITS] != ' ')
        return false;
    text[DIGITS] = '\0';
    if (str_to_i64(text, 0, INT64_MAX, &done) < 0 ||
        str_to_i64(text + DIGITS + 1, 0, INT64_MAX, &total) < 0)
        return false;
    *ret_done = (uint64_t)done;
    *ret_total = (uint64_t)total;
    return true;
}
