/* live_lines.c - lines that are shown to who looks at the job, and stand in no log: progress.
 *
 * They are kept for a moment, so that a reader who is a little behind sees them; the latest values
 * are the engine's, and `status` asks it. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define LIVE_BYTES (512 * KIB)
#define READ_BYTES (64 * KIB)
#define LIVE_ROOM (8 * MIB) /* more than the engine has at a time */

/* Half of the lines go when there are too many: dropping from the front for each new one would move
 * the whole buffer each time. A reader who was further behind continues at `begin` (live_read()).
 */
void live_take(struct master *m)
{
    struct live *l = &m->live;

    engine_watch(m->engine, m->live.watchers > 0);
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

void live_done(struct live *l)
{
    buf_done(&l->lines);
}

uint64_t live_end(const struct live *l)
{
    return l->begin + l->lines.len;
}

int live_read(const struct live *l, uint64_t *at, struct buf *p)
{
    buf_reset(p);
    if (*at < l->begin)
        *at = l->begin;
    while (p->len == 0 && *at < live_end(l)) {
        const uint8_t *from = l->lines.data + (*at - l->begin), *nl;
        size_t left = (size_t)(live_end(l) - *at), n = left < READ_BYTES ? left : READ_BYTES;

        nl = memrchr(from, '\n', n);
        if (!nl)
            nl = memchr(from, '\n', left);
        n = nl ? (size_t)(nl + 1 - from) : left;
        *at += n;
        if (n <= p->max && buf_add(p, from, n) < 0)
            return -ENOMEM;
    }
    return 0;
}
