/* controller_autoscale.c - models whose number of replicas follows their load: what the gateway
 * says becomes a decision (autoscale.h), and a decision another plan, as if somebody had asked for
 * it. While a model is updated nothing is decided: the load is not one version's. */
#include "base/str.h"
#include "serve/deployment/controller_private.h"

#include <string.h>

#define AGE_MS 3000 /* numbers of the gateway that are older than that are not known any more */

bool controller_autoscales(const struct controller *x)
{
    const json_t *models = json_object_get(x->plan, "models"), *m;
    struct autoscale rule;
    size_t i;

    json_array_foreach(models, i, m)
    {
        if (autoscale_of(m, &rule))
            return true;
    }
    return false;
}

/* The same model in another plan. */
static int autoscale_plan(const struct controller *x, size_t at, unsigned n, const char *why,
                          json_t **ret)
{
    AUTO_JSON *plan = json_deep_copy(x->plan);
    json_t *model = json_array_get(json_object_get(plan, "models"), at);

    if (!plan ||
        json_object_set_new(model, "scaled",
                            json_pack("{s:I, s:i, s:I, s:o}", "from",
                                      (json_int_t)json_int_or(model, "replicas", 0), "to", (int)n,
                                      "at", (json_int_t)loop_wall(), "why", json_text(why))) < 0 ||
        json_object_set_new(model, "replicas", json_integer(n)) < 0)
        return -ENOMEM;
    *ret = take(plan);
    return 0;
}

static int autoscale_model(struct controller *x, size_t at, const json_t *report, struct err *err)
{
    const json_t *model = json_array_get(json_object_get(x->plan, "models"), at);
    const char *name = json_string_value(json_object_get(model, "name"));
    const json_t *haproxy = json_object_get(report, "haproxy");
    struct autoscale_seen seen = { .now = loop_now(x->o->loop),
                                   .partial = json_int_or(haproxy, "leaving", 1) > 0,
                                   .replicas = (unsigned)json_int_or(model, "replicas", 0) };
    AUTO_FREE char *called = name ? strdup(name) : NULL; /* `model` goes with its plan */
    char why[AUTOSCALE_WHY];
    struct autoscale rule;
    json_t *plan = NULL;
    unsigned n;
    int r;

    if (!called || !autoscale_of(model, &rule) || deployment_update_phase(model) != UPDATE_NONE)
        return 0;
    seen.load = autoscale_load(model, deployment_model(report, name), &seen.ready);
    n = autoscale_look(&rule, &x->loads[at], &seen, why);
    if (n == seen.replicas)
        return 0;
    r = autoscale_plan(x, at, n, why, &plan);
    r = r < 0 ? err_oom(err) : controller_take_plan(x, plan, err);
    if (r == 0)
        controller_note(x, "%s: scaled from %u to %u replicas: %s", called, seen.replicas, n, why);
    return r;
}

int controller_autoscale(struct controller *x, const json_t *report, struct err *err)
{
    size_t n = json_array_size(json_object_get(x->plan, "models"));
    int64_t age = json_int_or(report, "age_ms", -1);
    int r = 0;

    if (!report || !x->applied || age < 0 || age > AGE_MS)
        return 0;
    for (size_t i = 0; i < n && r == 0; i++)
        r = autoscale_model(x, i, report, err);
    return r;
}
