/* gateway_totals.c - what `totals` answers: all that went through each version since it is in the
 * spec. Who asks twice knows what there was in between, also if an answer was lost. */
#include "serve/gateway/gateway_private.h"
#include "serve/gateway/histogram_json.h"

static int totals_version(struct gateway *g, const struct gateway_model *m,
                          const struct gateway_version *v, json_t *list, struct err *err)
{
    AUTO_FREE struct traffic_sum *s = calloc(1, sizeof(*s));
    char backend[HAPROXY_BACKEND];
    json_t *one = NULL;
    int r;

    if (!s)
        return err_oom(err);
    if (traffic_all(g->traffic, haproxy_backend(backend, m, v->number), "", s) < 0)
        return 0; /* it was added a moment ago */
    r = json_make(&one, err, "{s:s, s:I, s:I, s:I, s:o}", "model", m->name, "version",
                  (json_int_t)v->number, "requests", (json_int_t)s->requests, "errors",
                  (json_int_t)s->errors, "times", histogram_json(&s->times));
    if (r == 0 && json_array_append_new(list, one) < 0)
        r = err_oom(err);
    return r;
}

int gateway_totals_json(struct gateway *g, json_t **ret, struct err *err)
{
    AUTO_JSON *list = json_array();
    int r = list ? 0 : err_oom(err);

    for (size_t i = 0; i < g->spec->n; i++)
        for (size_t k = 0; k < g->spec->models[i].n && r == 0; k++)
            r = totals_version(g, &g->spec->models[i], &g->spec->models[i].versions[k], list, err);
    return r < 0 ? r : json_make(ret, err, "{s:b, s:O}", "ok", 1, "totals", list);
}
