/* model_call.c - opens the registry for a verb, and knows which failures hide nothing else. See
 * model_call.h. */
#include "cmd/model/model_call.h"
#include "hadoop/fs/fs.h"

#include <string.h>

struct model_job {
    const char *place;
    model_fn *fn;
};

/* A cluster's name without a cluster: what is missing was noticed before. */
static int model_unconfigured(struct connection *x, int r, struct err *err)
{
    if (r == -EINVAL && !x->session && err && strstr(err->text, "no cluster configuration")) {
        *err = x->unconfigured;
        return err->code;
    }
    return r;
}

static int model_run_job(struct connection *x, void *arg, struct err *err)
{
    const struct model_job *j = arg;
    struct model_call c = { .x = x };
    int r = connect_user(x, err);

    if (r == 0)
        r = fs_set_new(x->loop, x->session, &c.set, err);
    if (r == 0)
        r = models_open(x->loop, c.set, j->place, &c.r, err);
    if (r == 0)
        r = j->fn(&c, err);
    r = model_unconfigured(x, r, err);
    models_done(&c.r);
    fs_set_free(c.set);
    return r;
}

const struct cli_opt model_where_opts[] = { MODEL_REGISTRY_OPT, { 0 } };

int model_verb(struct cli *c, struct err *err)
{
    const struct model_where *where = c->args;
    struct model_job j = { where->registry, (model_fn *)c->verb->work };

    return connect_run(c, CONNECT_IF_CONFIGURED, model_run_job, &j, err);
}

int model_operand(const struct model_call *c, size_t i, struct model_ref *ret, struct err *err)
{
    int r = model_ref_parse(c->x->cli->operands[i], ret, err);

    return r == -EINVAL ? (err->code = CLI_USAGE) : r;
}

bool model_denied(int r)
{
    return r == -EACCES || r == -EPERM;
}

bool model_damaged(int r)
{
    return r == -EBADMSG || r == -EPROTONOSUPPORT;
}
