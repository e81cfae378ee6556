/* export_try.c - retries one step of saving while HDFS is unreachable: it may be restarting. */
#include "agent/agent_private.h"
#include "agent/output/export_private.h"
#include "agent/tasks/agent_tasks.h"
#include "base/log.h"

#define TRIES_MAX 60
#define PAUSE_FIRST 250
#define PAUSE_MOST 4000

/* Errors that a retry would not change. A NameNode answers the same for DataNodes that are full and
 * for those that are still starting or too busy, so -ENOSPC from it is not final. */
static bool is_final(const struct fs *fs, int r)
{
    static const int all[] = { EACCES,       EPERM,     ENOTDIR, EISDIR, EDQUOT, EINVAL,
                               EOPNOTSUPP,   ENOMEM,    E2BIG,   ENOENT, EEXIST, ECANCELED,
                               ENAMETOOLONG, ENOTEMPTY, ELOOP,   EBADMSG };

    for (size_t i = 0; i < COUNT_OF(all); i++)
        if (r == -all[i])
            return true;
    return r == -ENOSPC && fs_is_local(fs);
}

int export_try(struct export *x, const struct fs *fs, int (*fn)(void *arg, struct err *err),
               void *arg, struct err *err)
{
    int64_t pause = PAUSE_FIRST;
    int r = fn(arg, err);

    for (int i = 0; i < TRIES_MAX && r < 0 && !is_final(fs, r) && !x->stop; i++) {
        if (i == 0)
            log_warn(LOG_AGENT, "%s; trying again", err->text);
        if (fiber_sleep(x->agent->loop, pause) < 0)
            break;
        pause = 2 * pause < PAUSE_MOST ? 2 * pause : PAUSE_MOST;
        err_clear(err);
        r = fn(arg, err);
    }
    return r;
}

struct renaming {
    const struct export_move *m;
    bool asked; /* before: it may have been done */
};

/* 1: yes, 0: no, or why that is not known. */
static int is_moved(const struct export_move *m, struct err *err)
{
    AUTO_FS_ENTRY from = { 0 }, to = { 0 };
    int r = fs_exists(m->fs, m->from, &from, err);

    return r == 0 ? fs_exists(m->fs, m->to, &to, err) : r > 0 ? 0 : r;
}

/* A rename whose answer was lost may have been carried out: the retry then finds no source. If the
 * target is there, it was. */
static int rename_once(void *arg, struct err *err)
{
    struct renaming *x = arg;
    const struct export_move *m = x->m;
    int r = fs_rename(m->fs, m->from, m->to, m->overwrite, err);

    if (r == -ENOENT && x->asked) {
        struct err why = ERR_INIT;
        int moved = is_moved(m, &why);

        if (moved > 0) {
            err_clear(err);
            r = 0;
        } else if (moved < 0 && !is_final(m->fs, moved)) { /* unreachable again: retry everything */
            *err = why;
            r = moved;
        }
    }
    x->asked = true;
    return r;
}

int export_rename(struct export *x, const struct export_move *m, struct err *err)
{
    struct renaming one = { .m = m };

    return export_try(x, m->fs, rename_once, &one, err);
}
