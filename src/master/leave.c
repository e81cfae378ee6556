/* leave.c - the last word of a master in a container: what YARN's pages show, and nothing left. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define FINISH_MS 30000 /* for the ResourceManager to hear the end */

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

void leave_yarn(struct master *m)
{
    struct err err = ERR_INIT;
    struct outcome o = { .task = UINT32_MAX, .state = JOB_FAILED };
    AUTO_FREE char *text = NULL;

    if (m->engine)
        engine_outcome(m->engine, &o);
    text = m->engine ? last_words(m, &o) : NULL;
    mirror_stop(m);
    if (m->platform && yarn_finish(m->platform, final_status(&o), text ? text : "",
                                   loop_in(m->loop, FINISH_MS), &err) < 0)
        log_warn(LOG_MASTER, "%s", err.text);
    if (container_clean(m->opt->container, &err) < 0)
        log_warn(LOG_MASTER, "%s", err.text);
}
