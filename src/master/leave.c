/* leave.c - the last word of a master in a container: what YARN's pages show, and nothing left. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define LOG_MS 60000    /* for the end of the events log to reach HDFS */
#define FINISH_MS 30000 /* for the ResourceManager to hear the end */
#define CLEAN_MS 30000  /* for the job's directory in HDFS to be removed */

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

/* What has to be said besides: somebody will look for it. */
static char *with_missing(char *text, int r)
{
    AUTO_FREE char *words = text;

    if (r == 0 || !words)
        return take(words);
    return str_printf("%s%sHDFS could not be reached: the end of the events log is not there",
                      words, *words ? "\n" : "");
}

static int clean(void *arg, struct err *err)
{
    return container_clean(arg, err);
}

/* What cannot be removed in time stays: a later client sweeps it. */
static void clean_up(struct master *m, int64_t deadline)
{
    struct err err = ERR_INIT;
    struct group g;
    int r;

    group_init(&g, m->loop, 0);
    r = group_go(&g, clean, m->opt->container, &err);
    while (r == 0 && g.running > 0)
        r = cond_wait(m->loop, &g.changed, deadline);
    group_cancel(&g);
    if (group_wait(&g, &err) < 0 || r < 0)
        log_warn(LOG_MASTER, "%s", err.code ? err.text : "the job's directory is left in HDFS");
}

/* HDFS may be away for an hour, and nobody waits that long for a job that has ended: the log has
 * its time, then the ResourceManager is told, and all else has what is left. */
void leave_yarn(struct master *m)
{
    struct err err = ERR_INIT;
    struct outcome o = { .task = UINT32_MAX, .state = JOB_FAILED };
    AUTO_FREE char *text = NULL;
    int r;

    if (m->engine)
        engine_outcome(m->engine, &o);
    r = mirror_stop(m, loop_in(m->loop, LOG_MS));
    text = m->engine ? with_missing(last_words(m, &o), r) : NULL;
    if (m->platform && yarn_finish(m->platform, final_status(&o), text ? text : "",
                                   loop_in(m->loop, FINISH_MS), &err) < 0)
        log_warn(LOG_MASTER, "%s", err.text);
    clean_up(m, loop_in(m->loop, r < 0 ? CLEAN_MS / 10 : CLEAN_MS));
}
