/* mirror.c - the events log in HDFS: a copy of the journal that outlives the master, from which a
 * new one takes over and people read the past. Behind by a fraction of a second; a NameNode that
 * cannot be reached does not hold the job up. */
#include "base/log.h"
#include "master/master_private.h"

#define PAUSE_MS 50 /* what comes within is one write */
#define PIECE (64 * KIB)
#define AGAIN_MS 2000

struct mirror {
    struct master *m;
    struct fs_writer *out;
    struct fiber *fiber;
    uint64_t at; /* bytes of the journal that are there */
    unsigned part;
    bool ending;
    struct cond ended;
};

/* A segment that broke is left as it is: the next one goes on behind it. */
static int open_segment(struct mirror *x, struct err *err)
{
    const struct fs_create how = { .mode = 0600, .overwrite = true, .parents = true, .keep = true };
    struct container *c = x->m->opt->container;
    AUTO_FREE char *path = x->part == 0
                               ? str_printf("%s/events-%d.jsonl", c->logs, c->attempt)
                               : str_printf("%s/events-%d.%u.jsonl", c->logs, c->attempt, x->part);

    x->part++;
    return path ? fs_create(c->fs, path, &how, &x->out, err) : err_oom(err);
}

static int copy_new(struct mirror *x, struct err *err)
{
    const struct journal *j = &x->m->journal;
    AUTO_FREE char *p = malloc(PIECE);
    uint64_t at = x->at;
    int r = p ? 0 : err_oom(err);

    if (r == 0 && !x->out)
        r = open_segment(x, err);
    while (r == 0 && at < j->size) {
        ssize_t n = journal_read(j, at, p, PIECE);

        if (n <= 0)
            return err_code(err, n < 0 ? (int)n : -EIO, "read the events log");
        r = fs_write(x->out, p, (size_t)n, err);
        at += (uint64_t)n;
    }
    if (r == 0)
        r = fs_hflush(x->out, err);
    if (r == 0)
        x->at = at;
    return r;
}

static void run_mirror(void *arg)
{
    struct mirror *x = arg;
    struct master *m = x->m;
    bool told = false;
    int r = 0;

    while (r != -ECANCELED && !x->ending) {
        struct err err = ERR_INIT;

        if (x->at == m->journal.size) {
            r = cond_wait(m->loop, &m->journal.grown, LOOP_NEVER);
            if (r == 0 && !x->ending)
                r = fiber_sleep(m->loop, PAUSE_MS);
            continue;
        }
        r = copy_new(x, &err);
        if (r == 0 || r == -ECANCELED)
            continue;
        if (!told)
            log_warn(LOG_MASTER, "the events log cannot be copied to HDFS: %s", err.text);
        told = true;
        x->out = fs_abort(x->out);
        r = fiber_sleep(m->loop, AGAIN_MS);
    }
    x->fiber = NULL;
    cond_wake_all(&x->ended);
}

int mirror_start(struct master *m, struct err *err)
{
    struct mirror *x = calloc(1, sizeof(*x));
    int r;

    if (!x)
        return err_oom(err);
    x->m = m;
    r = fiber_start(m->loop, run_mirror, x, &x->fiber, err);
    if (r < 0)
        free(x);
    else
        m->mirror = x;
    return r;
}

void mirror_stop(struct master *m)
{
    struct mirror *x = take(m->mirror);
    struct err err = ERR_INIT;

    if (!x)
        return;
    x->ending = true;
    cond_wake_all(&m->journal.grown);
    while (x->fiber)
        (void)cond_wait(m->loop, &x->ended, LOOP_NEVER);
    if (x->at < m->journal.size && copy_new(x, &err) < 0)
        log_warn(LOG_MASTER, "the end of the events log is not in HDFS: %s", err.text);
    if (x->out && fs_close(take(x->out), &err) < 0)
        log_warn(LOG_MASTER, "close the events log in HDFS: %s", err.text);
    free(x);
}
