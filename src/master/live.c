/* live.c - lines that are shown to who looks at the job, and stand in no log: progress.
 *
 * They are kept for a moment, so that a reader who is a little behind sees them; the latest values
 * are the engine's, and `status` asks it. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define LIVE_BYTES (512 * KIB)
#define LIVE_ROOM (8 * MIB) /* more than the engine has at a time */

void live_take(struct master *m)
{
    struct live *l = &m->live;

    engine_watch(m->engine, m->watchers > 0);
    if (l->lines.max == 0)
        buf_init(&l->lines, LIVE_ROOM);
    if (l->lines.len > LIVE_BYTES) {
        const uint8_t *nl =
            memchr(l->lines.data + l->lines.len / 2, '\n', l->lines.len - l->lines.len / 2);
        size_t n = (size_t)(nl + 1 - l->lines.data);

        buf_eat(&l->lines, n);
        l->begin += n;
    }
    if (engine_live(m->engine, &l->lines) < 0)
        trace(LOG_MASTER, "no memory for what is shown of progress");
}

uint64_t live_end(const struct live *l)
{
    return l->begin + l->lines.len;
}

size_t live_read(const struct live *l, uint64_t *at, char *p, size_t n)
{
    size_t from, len;
    const uint8_t *nl;

    if (*at < l->begin)
        *at = l->begin;
    if (*at >= live_end(l))
        return 0;
    from = (size_t)(*at - l->begin);
    len = l->lines.len - from;
    if (len > n) {
        nl = memrchr(l->lines.data + from, '\n', n);
        len = nl ? (size_t)(nl + 1 - (l->lines.data + from)) : 0;
        if (len == 0) { /* one that does not fit at all */
            nl = memchr(l->lines.data + from, '\n', l->lines.len - from);
            *at += (uint64_t)(nl + 1 - (l->lines.data + from));
            return 0;
        }
    }
    memcpy(p, l->lines.data + from, len);
    *at += len;
    return len;
}
