/* log_mirror.c - a journal in HDFS: a copy that outlives the master, from which a new one takes
 * over and people read the past. Behind by a fraction of a second; a NameNode that cannot be
 * reached does not hold the job up. */
#include "master/yarn/log_mirror.h"
#include "base/log.h"
#include "master/yarn/master_yarn_private.h"

#define PAUSE_MS 50 /* what comes within is one write */
#define PIECE (64 * KIB)
#define AGAIN_MS 2000

struct mirror {
    struct master *m;
    struct mirror_options opt;
    struct fs_writer *out;
    struct fiber *fiber;
    uint64_t at;    /* bytes of the journal that are there … */
    unsigned round; /* … since it last began anew */
    unsigned part;  /* the next one's number */
    unsigned first; /* parts before this one are not needed any more */
    bool unused;    /* the last part that was opened has nothing in it that counts */
    bool ending;
    bool needed;  /* once it ends: what is left is to be copied */
    bool stuck;   /* the last try has failed */
    int64_t away; /* it fails since then, loop's clock; 0: it does not */
    int result;   /* negative: that is not all there */
    struct cond ended;
};

/* A segment that broke is left as it is: the next one goes on behind it. */
static int open_segment(struct mirror *x, struct err *err)
{
    const struct fs_create how = { .mode = 0600, .overwrite = true, .parents = true, .keep = true };
    struct master_container *c = yarn_of(x->m)->container;
    AUTO_FREE char *path = parts_name(&x->opt.parts, c->attempt, x->part);

    x->part++;
    x->unused = true;
    return path ? fs_create(c->fs, path, &how, &x->out, err) : err_oom(err);
}

/* The journal has begun anew: so does the copy, and when it is there the older parts go. */
static void begin_anew(struct mirror *x)
{
    if (x->out && fs_close(take(x->out), NULL) < 0)
        trace(LOG_MASTER, "%s: a part that is not needed was not closed", x->opt.what);
    x->round = x->opt.journal->round;
    x->at = 0;
}

static void remove_older(struct mirror *x)
{
    struct master_container *c = yarn_of(x->m)->container;

    for (; x->round > 0 && x->first + 1 < x->part; x->first++) {
        AUTO_FREE char *path = parts_name(&x->opt.parts, c->attempt, x->first);

        if (path)
            (void)fs_delete(c->fs, path, false, NULL);
    }
}

/* Everything before the summary is there: the next segment begins with it. */
static int begin_with_summary(struct mirror *x, struct err *err)
{
    struct buf *text = &x->opt.summary->text;
    int r = x->out ? fs_close(take(x->out), err) : 0;

    if (r == 0)
        r = open_segment(x, err);
    if (r == 0)
        r = fs_write(x->out, text->data, text->len, err);
    if (r == 0)
        r = fs_hflush(x->out, err);
    if (r == 0)
        buf_done(text);
    return r;
}

/* How far the segment goes: to the end, or to where the next one has to begin. */
static uint64_t segment_end(const struct mirror *x)
{
    const struct summary *s = x->opt.summary;

    return s && s->text.len > 0 && s->at > x->at ? s->at : x->opt.journal->size;
}

/* `at` moves only after hflush: until then nothing is certain to be there, and a failed round is
 * copied again from the same place into the next segment; readers skip what they have seen
 * (segment_seen_before()). The journal may begin anew (`round`) while a write waits: then what was
 * copied is not counted. */
static int copy_new(struct mirror *x, struct err *err)
{
    const struct journal *j = x->opt.journal;
    const struct summary *s = x->opt.summary;
    AUTO_FREE char *p = malloc(PIECE);
    uint64_t at = x->at;
    bool fresh = !x->out;
    int r = p ? 0 : err_oom(err);

    if (r == 0 && s && s->text.len > 0 && s->at == at)
        r = begin_with_summary(x, err);
    else if (r == 0 && !x->out)
        r = open_segment(x, err);
    while (r == 0 && at < segment_end(x) && j->round == x->round) {
        uint64_t left = segment_end(x) - at;
        ssize_t n = journal_read(j, at, p, left < PIECE ? (size_t)left : PIECE);

        if (n <= 0)
            return err_code(err, n < 0 ? (int)n : -EIO, "read the journal");
        r = fs_write(x->out, p, (size_t)n, err);
        at += (uint64_t)n;
    }
    if (r == 0)
        r = fs_hflush(x->out, err);
    if (r == 0)
        x->unused = false;
    if (r == 0 && j->round == x->round)
        x->at = at;
    if (r == 0 && fresh && at > 0 && j->round == x->round)
        remove_older(x);
    return r;
}

/* One that nothing reached is tried under the same name: a NameNode without DataNodes would have a
 * new file every other second. */
static void forget_part(struct mirror *x)
{
    x->part -= x->unused;
    x->unused = false;
}

static bool is_behind(const struct mirror *x)
{
    return x->at != x->opt.journal->size || x->round != x->opt.journal->round;
}

/* Nothing more is to be copied. */
static bool is_done(const struct mirror *x)
{
    return x->ending && (!x->needed || !is_behind(x));
}

/* Closes the file; negative when its end is not there. */
static int mirror_finish(struct mirror *x, int r, struct err *err)
{
    if (x->out && (!x->needed || r < 0))
        x->out = fs_abort(x->out);
    if (x->out)
        r = fs_close(take(x->out), err);
    return x->needed ? r : 0;
}

/* A NameNode that is away comes back; a refusal stays until a person does something. */
static void mirror_tell(const struct mirror *x, int r, const struct err *why)
{
    bool refused = r == -EDQUOT || r == -ENOSPC || r == -EACCES || r == -EPERM;
    AUTO_FREE char *text = NULL;

    log_warn(LOG_MASTER, "%s cannot be copied to HDFS: %s", x->opt.what, why->text);
    if (!refused || !x->opt.summary)
        return;
    text = str_printf("%s cannot be copied to HDFS: %s; if the master is restarted now, it knows "
                      "nothing of what is not there",
                      x->opt.what, why->text);
    if (text)
        master_note(x->m, text);
}

/* The end of the job, or an agent that has saved all and wants to leave. */
static bool is_waited_for(const struct master *m)
{
    return m->save.ask_by || m->save.acks > 0;
}

/* One fiber for each log, with no deadline of its own: a NameNode may be away for an hour, and the
 * job goes on meanwhile. It tries every AGAIN_MS then, each time in a new segment (unless nothing
 * had reached the last one), because the old file's pipeline may be broken. While somebody waits
 * for a record it does not pause. */
static void run_mirror(void *arg)
{
    struct mirror *x = arg;
    struct master *m = x->m;
    struct err err = ERR_INIT;
    bool told = false;
    int r = 0;

    while (r != -ECANCELED && !is_done(x)) {
        err_clear(&err);
        if (!is_behind(x)) {
            r = cond_wait(m->loop, &x->opt.journal->grown, LOOP_NEVER);
            if (r == 0 && !x->ending && !is_waited_for(m) && x->opt.pause > 0)
                r = fiber_sleep(m->loop, x->opt.pause);
            continue;
        }
        if (x->round != x->opt.journal->round)
            begin_anew(x);
        r = copy_new(x, &err);
        x->stuck = r < 0;
        if (x->opt.on_copied && r != -ECANCELED)
            x->opt.on_copied(m);
        x->away = r == 0 ? 0 : x->away ? x->away : loop_now(m->loop);
        if (r == 0 && m->save.ask_by)
            master_wake(m);
        if (r == 0 || r == -ECANCELED)
            continue;
        if (!told)
            mirror_tell(x, r, &err);
        told = true;
        x->out = fs_abort(x->out);
        forget_part(x);
        r = fiber_sleep(m->loop, AGAIN_MS);
    }
    x->result = mirror_finish(x, r == -ECANCELED ? r : 0, &err);
    x->fiber = NULL;
    cond_wake_all(&x->ended);
}

int mirror_begin(struct master *m, const struct mirror_options *o, struct mirror **ret,
                 struct err *err)
{
    struct mirror *x = calloc(1, sizeof(*x));
    int r;

    if (!x)
        return err_oom(err);
    x->m = m;
    x->opt = *o;
    x->at = o->from;
    x->round = o->journal->round;
    r = fiber_start(m->loop, run_mirror, x, &x->fiber, err);
    if (r < 0)
        free(x);
    else
        *ret = x;
    return r;
}

/* It copies what is left, if that is needed; otherwise a write that is under way is given up. */
static struct mirror *begin_end(struct mirror *x, bool needed)
{
    if (!x)
        return NULL;
    x->ending = true;
    x->needed = needed;
    cond_wake_all(&x->opt.journal->grown);
    if (!needed && x->fiber)
        fiber_cancel(x->fiber);
    return x;
}

/* The fiber works with `x`, so it is waited for after the cancellation too, before that is freed.
 */
static int await_end(struct mirror *x, int64_t deadline)
{
    int r = 0;

    if (!x)
        return 0;
    while (x->fiber && r != -ETIMEDOUT)
        r = cond_wait(x->m->loop, &x->ended, deadline);
    if (x->fiber)
        fiber_cancel(x->fiber);
    while (x->fiber)
        (void)cond_wait(x->m->loop, &x->ended, LOOP_NEVER);
    r = x->result;
    if (r < 0)
        log_warn(LOG_MASTER, "the end of %s is not in HDFS", x->opt.what);
    free(x);
    return r;
}

static void mirror_on_copied(struct master *m)
{
    api_copied(m);
    agents_ack(m);
}

int mirror_start(struct master *m, struct err *err)
{
    const struct mirror_options o = {
        .parts = { yarn_of(m)->container->logs, "events", "jsonl" },
        .journal = &m->journal,
        .what = "the events log",
        .from = yarn_of(m)->recovered,
        .pause = PAUSE_MS,
        .summary = &yarn_of(m)->summary,
        .on_copied = mirror_on_copied,
    };

    return mirror_begin(m, &o, &yarn_of(m)->mirror, err);
}

/* True also when waiting has no use: no copy, one that is failing, or one that ends. */
bool mirror_holds(const struct mirror *x, unsigned round, uint64_t bytes)
{
    return !x || x->stuck || x->ending || (x->round == round && x->at >= bytes);
}

bool mirror_has(const struct master *m, uint64_t bytes)
{
    return !yarn_of(m)->mirror || yarn_of(m)->mirror->at >= bytes;
}

bool mirror_holds_events(const struct master *m, uint64_t bytes)
{
    return mirror_holds(yarn_of(m)->mirror, m->journal.round, bytes);
}

int64_t mirror_away(const struct master *m)
{
    return yarn_of(m)->mirror ? yarn_of(m)->mirror->away : 0;
}

int mirror_stop(struct master *m, int64_t deadline)
{
    struct mirror *kv, *events;

    yarn_of(m)->kv.unlogged = true; /* whoever asks now does not begin another log in its place */
    kv = begin_end(take(yarn_of(m)->kv.mirror), m->left); /* nobody asks for it after the end */
    events =
        begin_end(take(yarn_of(m)->mirror), true); /* at the same time: they share the deadline */
    (void)await_end(kv, deadline);
    return await_end(events, deadline);
}
