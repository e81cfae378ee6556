/* path_spread.c - asks the file system to spread what is made below a directory; see path.h. */
#include "base/path.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>

void path_spread(const char *dir)
{
    AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int flags = 0; /* the kernel writes an int, whatever the request's name says */

    if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 || (flags & FS_TOPDIR_FL))
        return;
    flags |= FS_TOPDIR_FL;
    (void)ioctl(fd, FS_IOC_SETFLAGS, &flags);
}
