/* yarn_register.c - see yarn_platform.h: registers a master before it knows its job. */
#include "base/auto.h"
#include "platform/yarn/yarn_platform_private.h"

/* A master registers early when it has to wait for tokens, as YARN would kill a silent one; or when
 * it has no job to run, as only a registered one can say why it ends. */
int yarn_register(struct session *s, const struct conf *node, const struct amrm_conf *shown,
                  struct yarn_early **ret, struct err *err)
{
    AUTO_YARN_EARLY *e = calloc(1, sizeof(*e));
    struct am_conf conf = { .shown = *shown, .node = node };
    int r = e ? nm_pool_new(s, 0, &e->nodes, err) : err_oom(err);

    if (r < 0)
        return r;
    conf.nodes = e->nodes; /* whose tokens come with the registration, and never again */
    r = am_new(s, &conf, &e->am, err);
    if (r == 0)
        r = am_start(e->am, err);
    if (r < 0)
        return r;
    *ret = take(e);
    return 0;
}

bool yarn_early_over(const struct yarn_early *e)
{
    return amrm_state(am_rm(e->am)) == AMRM_OVER || am_error(e->am)->code != 0;
}

int yarn_early_finish(struct yarn_early *e, Yarn__FinalStatus status, const char *text,
                      int64_t deadline, struct err *err)
{
    return am_finish(e->am, status, text, "", deadline, err);
}

struct yarn_early *yarn_early_free(struct yarn_early *e)
{
    if (!e)
        return NULL;
    e->am = am_free(e->am);
    e->nodes = nm_pool_free(e->nodes);
    free(e);
    return NULL;
}
