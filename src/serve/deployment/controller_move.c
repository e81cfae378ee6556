/* controller_move.c - replicas whose containers will be taken away: what the job says of them
 * becomes another plan (deployment_move.h), and whose turn it is, the job is told to start
 * elsewhere. */
#include "base/str.h"
#include "serve/deployment/controller_private.h"
#include "serve/deployment/deployment_move.h"

#include <string.h>

/* Asking for them also tells the job that somebody looks after these groups. NULL: not known, as it
 * is while the job's master is replaced. */
static int ask_leaving(struct controller *x, char **ret, struct err *err)
{
    const json_t *models = json_object_get(x->plan, "models"), *m;
    AUTO_BUF roles = { .max = KIB };
    size_t i;
    int r = 0;

    json_array_foreach(models, i, m)
    {
        const json_t *v = deployment_version(m, json_int_or(m, "serve", 0));
        const char *group = json_string_value(json_object_get(v, "group"));

        if (r == 0 && group)
            r = buf_printf(&roles, "%s%s", roles.len ? " " : "", group);
    }
    if (r < 0 || !buf_text(&roles))
        return err_oom(err);
    return task_store_leaving(&x->store, buf_text(&roles), ret, err);
}

static int move_one(void *arg, const char *group, int64_t index, int64_t attempt)
{
    struct controller *x = arg;
    struct err err = ERR_INIT;
    int r = task_store_move(&x->store, group, index, attempt, &err);

    /* Told again soon; the job may just be taken over. */
    return r == -ECANCELED || r == -ENOMEM ? r : 0;
}

static int move_model(struct controller *x, size_t at, const json_t *report,
                      const struct strs *keys, const char *leaving, struct err *err)
{
    const json_t *old = json_array_get(json_object_get(x->plan, "models"), at);
    const char *name = json_string_value(json_object_get(old, "name"));
    const struct move_seen seen = {
        .now = loop_wall(),
        .report = report ? deployment_model(report, name) : NULL,
        .keys = keys,
        .leaving = leaving,
        .old = json_int_or(json_object_get(report, "haproxy"), "leaving", 0),
        .told = x->applied && controller_gateways_know(x),
        .direct = deployment_is_direct(x->plan),
    };
    json_t *plan = json_deep_copy(x->plan);
    int r =
        plan ? deployment_move_step(json_array_get(json_object_get(plan, "models"), at), &seen, err)
             : err_oom(err);

    if (r <= 0) {
        json_decref(plan);
        return r;
    }
    return controller_take_plan(x, plan, err);
}

int controller_moves(struct controller *x, const json_t *report, const struct strs *keys,
                     struct err *err)
{
    size_t n = json_array_size(json_object_get(x->plan, "models"));
    AUTO_FREE char *leaving = NULL;
    int r = ask_leaving(x, &leaving, err);

    if (r < 0 || (!*leaving && !deployment_is_moving(x->plan)))
        return r;
    for (size_t i = 0; i < n && r == 0; i++)
        r = move_model(x, i, report, keys, leaving, err);
    for (size_t i = 0; i < n && r == 0; i++)
        r = deployment_move_each(json_array_get(json_object_get(x->plan, "models"), i), move_one,
                                 x);
    return r;
}
