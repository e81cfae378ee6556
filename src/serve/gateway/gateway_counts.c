/* gateway_counts.c - several gateways of one deployment: what `counts` answers, and `add`, which
 * takes the answer of another gateway, in a file. What was added is in `status` and `totals`, and a
 * new version is judged by it. */
#include "base/path.h"
#include "serve/gateway/counts.h"
#include "serve/gateway/gateway_private.h"

#include <string.h>

static int counts_version(const struct gateway *g, const struct gateway_model *m,
                          const struct gateway_version *v, bool replicas, json_t *counts,
                          struct err *err)
{
    char backend[HAPROXY_BACKEND];
    int r = counts_put(counts, g->traffic, haproxy_backend(backend, m, v->number), "", err);

    for (size_t i = 0; replicas && i < v->n && r == 0; i++)
        r = counts_put(counts, g->traffic, backend, v->replicas[i].address, err);
    return r;
}

int gateway_counts_json(const struct gateway *g, bool replicas, json_t **ret, struct err *err)
{
    AUTO_JSON *counts = json_object();
    int r = counts ? 0 : err_oom(err);

    for (size_t i = 0; i < g->spec->n; i++)
        for (size_t k = 0; k < g->spec->models[i].n && r == 0; k++)
            r = counts_version(g, &g->spec->models[i], &g->spec->models[i].versions[k], replicas,
                               counts, err);
    return r < 0 ? r : json_make(ret, err, "{s:b, s:O}", "ok", 1, "counts", counts);
}

/* The first of a gateway that was there before us was counted by who was here before. */
int gateway_add_counts(struct gateway *g, const char *from, const char *path, bool base,
                       struct err *err)
{
    AUTO_JSON *now = NULL;
    const json_t *before = json_object_get(g->others, from);
    int r = json_parse_file(path, GATEWAY_COUNTS_MAX, &now, err);

    if (r == 0 && !base)
        r = counts_add(g->traffic, before, now, loop_now(g->loop), err);
    if (r < 0)
        return r;
    if (!g->others && !(g->others = json_object()))
        return err_oom(err);
    if (!before && json_object_size(g->others) >= GATEWAY_OTHERS)
        return err_set(err, -E2BIG, "more than %d other gateways", GATEWAY_OTHERS);
    return json_object_set(g->others, from, now) < 0 ? err_oom(err) : 0;
}
