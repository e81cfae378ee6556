/* master_leave.c - the last word of a master in a container: what YARN's pages show, and nothing
 * left. */
#include "master/yarn/master_leave.h"
#include "base/log.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_tokens.h"
#include "master/yarn/missing_output.h"
#include "master/yarn/rival.h"

#include <string.h>

#define LOG_MS 60000    /* for the end of the events log to reach HDFS … */
#define AWAY_MS 120000  /* … and in all, when HDFS has been away before */
#define LEAST_MS 10000  /* at least */
#define FINISH_MS 30000 /* for the ResourceManager to hear the end */
#define CLEAN_MS 30000  /* for the job's directory in HDFS to be removed */
#define CANCEL_MS 3000  /* for tokens to be cancelled, which expire anyway */

static Yarn__FinalStatus final_status(const struct outcome *o)
{
    return o->state == JOB_SUCCEEDED ? YARN__FINAL_STATUS__FINAL_SUCCEEDED
           : o->state == JOB_KILLED  ? YARN__FINAL_STATUS__FINAL_KILLED
                                     : YARN__FINAL_STATUS__FINAL_FAILED;
}

/* What YARN's pages show of the end: the first failure, as the user is told. */
static char *last_words(const struct master *m, const struct outcome *o)
{
    char name[ENGINE_NAME_MAX] = "";
    struct err fault = ERR_INIT;

    if (engine_fault(m->engine, &fault) < 0)
        return strdup(fault.text);
    if (o->state == JOB_SUCCEEDED)
        return strdup("");
    if (o->task != UINT32_MAX)
        (void)engine_task_name(m->engine, o->task, name);
    return str_printf("%s%s%s%s%s%s%s", name, *name ? ": " : "", fail_name(o->cls),
                      o->text ? ": " : "", o->text ? o->text : "", o->lines ? "\n" : "",
                      o->lines ? o->lines : "");
}

static int leave_add_line(struct buf *out, const char *line)
{
    return buf_printf(out, "%s%s", out->len ? "\n" : "", line);
}

/* What has to be said besides: where the log is not in HDFS, it stands nowhere else. */
static char *with_missing(const struct master *m, char *text, int r)
{
    AUTO_FREE char *words = text;
    AUTO_BUF all = { .max = 64 * KIB };

    if (r == 0 || !words)
        return take(words);
    r = buf_add_str(&all, words);
    if (r == 0)
        r = leave_add_line(&all,
                           "HDFS could not be reached: the end of the events log is not there");
    if (r == 0 && m->save.unsaved)
        r = leave_add_line(&all, m->save.unsaved);
    if (r == 0 && *outputs_told(m))
        r = leave_add_line(&all, outputs_told(m));
    return r == 0 && buf_text(&all) ? strdup(buf_text(&all)) : take(words);
}

/* What belongs to another master by now is not ours to remove. */
static int clean(void *arg, struct err *err)
{
    struct master *m = arg;

    return rival_has_job(m) ? 0 : master_container_clean(yarn_of(m)->container, err);
}

static int cancel_tokens(void *arg, struct err *err)
{
    (void)err;
    tokens_cancel(arg);
    return 0;
}

/* Runs fn(m) in a fiber of its own, which is cancelled when the time is over. */
static int do_by(struct master *m, int (*fn)(void *arg, struct err *err), int64_t deadline,
                 struct err *err)
{
    struct group g;
    int r, ended;

    group_init(&g, m->loop, 0);
    r = group_go(&g, fn, m, err);
    while (r == 0 && g.running > 0)
        r = cond_wait(m->loop, &g.changed, deadline);
    group_cancel(&g);
    ended = group_wait(&g, err);
    return r < 0 ? r : ended;
}

/* What cannot be removed in time stays: a later client sweeps it. Tokens are cancelled when nothing
 * is done in HDFS any more, and only where it answers. */
static void clean_up(struct master *m, int64_t deadline)
{
    struct err err = ERR_INIT;

    if (do_by(m, clean, deadline, &err) < 0)
        log_warn(LOG_MASTER, "%s", err.code ? err.text : "the job's directory is left in HDFS");
    else if (yarn_of(m)->container->got.n > 0)
        (void)do_by(m, cancel_tokens, loop_in(m->loop, CANCEL_MS), NULL);
}

/* HDFS may be away for an hour, and nobody waits that long for a job that has ended.
 * LEAST_MS in any case, because HDFS may have come back just now; LOG_MS as a rule; and AWAY_MS
 * counted from when HDFS went away, so that two minutes without it are enough in all. */
static int64_t log_deadline(const struct master *m)
{
    int64_t by = master_end_by(m, LOG_MS), least = loop_in(m->loop, LEAST_MS),
            away = mirror_away(m);

    if (away && away + AWAY_MS < by)
        by = away + AWAY_MS;
    return by > least ? by : least;
}

/* The log has its time, then the ResourceManager is told, and all else has what is left. */
void leave_yarn(struct master *m)
{
    struct err err = ERR_INIT;
    struct outcome o = { .task = UINT32_MAX, .state = JOB_FAILED };
    AUTO_FREE char *text = NULL;
    int r;

    if (m->engine)
        engine_outcome(m->engine, &o);
    r = mirror_stop(m, log_deadline(m));
    text = m->engine ? with_missing(m, last_words(m, &o), r) : NULL;
    if (m->platform && yarn_finish(m->platform, final_status(&o), text ? text : "",
                                   loop_in(m->loop, FINISH_MS), &err) < 0)
        log_warn(LOG_MASTER, "%s", err.text);
    clean_up(m, loop_in(m->loop, r < 0 ? CLEAN_MS / 10 : CLEAN_MS));
}
