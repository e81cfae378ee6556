/* output_kept.c - the output files of a task, also when they are not where they were.
 *
 * When a NodeManager restarts it may remove the log directory of a running container. The tasks go
 * on writing to their open files. We read these through descriptors of our own: to send output to
 * readers, to quote the last lines of a failure, and to save it. */
#include "agent/agent_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

void output_keep(struct stream_out *s)
{
    AUTO_CLOSE int before = s->kept;
    struct stat old, now;

    s->kept = open(s->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    s->cut.kept = s->kept > 0 ? s->kept : 0;
    if (before < 0 || fstat(before, &old) < 0 || old.st_size == 0)
        return;
    if (s->kept < 0 || fstat(s->kept, &now) < 0 || now.st_dev != old.st_dev ||
        now.st_ino != old.st_ino)
        s->gone = true; /* one is kept, not more: the master is to know */
}

const char *output_name(const struct stream_out *s, char room[OUTPUT_NAME])
{
    if (s->kept < 0 || access(s->path, F_OK) == 0)
        return s->path;
    (void)snprintf(room, OUTPUT_NAME, "/proc/self/fd/%d", s->kept);
    return room;
}
