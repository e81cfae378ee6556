/* slider_busy.c - one command at a time for a definition: a file that only one of them can make;
 * see slider_verb.h. */
#include "cmd/slider/slider_store.h"
#include "loop/fiber.h"
#include "loop/loop.h"

#define BUSY "busy"
#define BUSY_MS (INT64_C(10) * 60 * 1000) /* nobody takes longer: who held it is dead */

static int make_busy(struct slider *s, const char *path, struct err *err)
{
    const struct fs_create o = { .mode = 0600 };

    return fs_put(s->fs, path, &o, NULL, 0, err);
}

/* Takes away the mark of one that died: 1 when it did. */
static int clear_dead(struct slider *s, const char *path, struct err *err)
{
    AUTO_FS_ENTRY found = { 0 };
    int r = fs_exists(s->fs, path, &found, err);

    if (r <= 0)
        return r < 0 ? r : 1;
    if (loop_wall() - found.mtime < BUSY_MS)
        return 0;
    r = fs_delete(s->fs, path, false, err);
    return r < 0 && r != -ENOENT ? r : 1;
}

int slider_store_lock(struct slider *s, const char *name, struct err *err)
{
    AUTO_FREE char *path = str_printf("%s/%s/" BUSY, s->base, name);
    int r = path ? make_busy(s, path, err) : err_oom(err);

    if (r == -EEXIST) {
        err_clear(err);
        r = clear_dead(s, path, err);
        if (r > 0) {
            err_clear(err);
            r = make_busy(s, path, err);
        } else if (r == 0) {
            r = -EEXIST;
        }
    }
    if (r != -EEXIST)
        return r;
    slider_fail(s, SLIDER_IN_USE, -EBUSY, err, "another command is starting or changing '%s'",
                name);
    err_hint(err, "wait for it to finish; the lock of a killed command expires after ten minutes");
    return -EBUSY;
}

void slider_store_unlock(struct slider *s, const char *name)
{
    AUTO_FREE char *path = str_printf("%s/%s/" BUSY, s->base, name);

    fiber_shield(s->x->loop, true);
    if (path)
        (void)fs_delete(s->fs, path, false, NULL);
    fiber_shield(s->x->loop, false);
}
