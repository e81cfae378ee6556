/* descriptors.c - see descriptors.h. */
#include "serve/engine/descriptors.h"
#include "base/log.h"

#include <stdint.h>
#include <sys/resource.h>

#define OWN 128      /* of the loop, libraries, logs and files of the model */
#define STRANGERS 16 /* a share of all goes to connections that have not asked yet: admission.h */

/* Admission keeps a sixteenth for connections that have not asked anything yet, so that `n`
 * connections need n * 16/15 descriptors; the way back takes 15/16 of what there is. */
size_t descriptors_room(size_t connections, size_t each, size_t others)
{
    size_t wanted = (connections * each + others + OWN) / (STRANGERS - 1) * STRANGERS + STRANGERS;
    struct rlimit files;
    size_t room;

    if (connections > UINT32_MAX || getrlimit(RLIMIT_NOFILE, &files) < 0 ||
        files.rlim_cur == RLIM_INFINITY || files.rlim_cur >= wanted)
        return connections;
    files.rlim_cur =
        files.rlim_max == RLIM_INFINITY || files.rlim_max > wanted ? wanted : files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (getrlimit(RLIMIT_NOFILE, &files) < 0 || files.rlim_cur >= wanted)
        return connections;
    room = files.rlim_cur / STRANGERS * (STRANGERS - 1);
    room = room > others + OWN ? (room - others - OWN) / each : 0;
    room = room > 0 ? room : 1;
    log_warn(LOG_MAIN,
             "--connections %zu needs %zu open files, and %llu are allowed here (ulimit -n): at "
             "most %zu connections",
             connections, wanted, (unsigned long long)files.rlim_cur, room);
    return room;
}
