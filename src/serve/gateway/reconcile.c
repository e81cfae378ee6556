/* reconcile.c - both lists are put in order by name and walked side by side. */
#include "serve/gateway/reconcile.h"

#include <stdlib.h>
#include <string.h>

static int names_order(const char *backend, const char *name, const char *other_backend,
                       const char *other_name)
{
    int order = strcmp(backend, other_backend);

    return order ? order : strcmp(name, other_name);
}

static int wanted_order(const void *a, const void *b)
{
    const struct reconcile_wanted *x = *(void *const *)a, *y = *(void *const *)b;

    return names_order(x->backend, x->name, y->backend, y->name);
}

static int found_order(const void *a, const void *b)
{
    const struct haproxy_server *x = *(void *const *)a, *y = *(void *const *)b;

    return names_order(x->backend, x->name, y->backend, y->name);
}

struct plan {
    struct reconcile_step *steps;
    size_t n;
    bool waiting;
};

static void plan_add(struct plan *p, enum reconcile_action action, const char *backend,
                     const char *name, const struct reconcile_wanted *w)
{
    p->steps[p->n++] = (struct reconcile_step){ action, backend, name, w };
}

/* It should be there and is. At most one step: the next look shows what is left. */
static void plan_wanted(struct plan *p, const struct reconcile_wanted *w,
                        const struct haproxy_server *f)
{
    if (f->maintenance)
        plan_add(p, RECONCILE_READY, f->backend, f->name, w);
    else if (w->drain && !f->draining)
        plan_add(p, RECONCILE_DRAIN, f->backend, f->name, w);
    else if (!w->drain && f->draining)
        plan_add(p, RECONCILE_UNDRAIN, f->backend, f->name, w);
    else if (f->weight != w->weight)
        plan_add(p, RECONCILE_WEIGHT, f->backend, f->name, w);
}

/* The last servers of a backend stay until one of those that follow them is up. */
static bool plan_holds(const struct haproxy_server *f, const struct reconcile_input *in)
{
    bool followed = false;

    if (!f->up)
        return false;
    for (size_t i = 0; i < in->n_wanted; i++) {
        if (strcmp(in->wanted[i].backend, f->backend) != 0 || in->wanted[i].drain)
            continue;
        followed = true;
        for (size_t k = 0; k < in->n_found; k++)
            if (in->found[k].up && in->found[k].weight > 0 &&
                names_order(in->found[k].backend, in->found[k].name, in->wanted[i].backend,
                            in->wanted[i].name) == 0)
                return false;
    }
    return followed;
}

/* A step for one look. What is drained is looked at again until it is idle, because a server that
 * still has requests or idle connections cannot be deleted; CUT ends the former, and the next look
 * deletes. */
static void plan_unwanted(struct plan *p, const struct haproxy_server *f,
                          const struct reconcile_input *in)
{
    bool idle = f->in_use == 0;

    p->waiting = true;
    if (!f->draining && !f->maintenance && plan_holds(f, in))
        return;
    if (!f->draining && !f->maintenance)
        plan_add(p, RECONCILE_DRAIN, f->backend, f->name, NULL);
    else if (idle)
        plan_add(p, RECONCILE_DELETE, f->backend, f->name, NULL);
    else if (f->since_ms >= in->drain_ms)
        plan_add(p, RECONCILE_CUT, f->backend, f->name, NULL);
}

static void plan_make(struct plan *p, const struct reconcile_wanted **w,
                      const struct haproxy_server **f, const struct reconcile_input *in)
{
    size_t i = 0, k = 0;

    while (i < in->n_wanted || k < in->n_found) {
        int order = i == in->n_wanted ? 1
                    : k == in->n_found
                        ? -1
                        : names_order(w[i]->backend, w[i]->name, f[k]->backend, f[k]->name);

        if (order < 0)
            plan_add(p, RECONCILE_ADD, w[i]->backend, w[i]->name, w[i]);
        else if (order > 0)
            plan_unwanted(p, f[k], in);
        else
            plan_wanted(p, w[i], f[k]);
        i += order <= 0;
        k += order >= 0;
    }
}

int reconcile(const struct reconcile_input *in, struct reconcile_step **ret, size_t *ret_n,
              bool *ret_waiting, struct err *err)
{
    AUTO_FREE const struct reconcile_wanted **w = calloc(in->n_wanted + 1, sizeof(*w));
    AUTO_FREE const struct haproxy_server **f = calloc(in->n_found + 1, sizeof(*f));
    struct plan p = { calloc(in->n_wanted + in->n_found + 1, sizeof(*p.steps)), 0, false };

    if (!w || !f || !p.steps) {
        free(p.steps);
        return err_oom(err);
    }
    for (size_t i = 0; i < in->n_wanted; i++)
        w[i] = &in->wanted[i];
    for (size_t i = 0; i < in->n_found; i++)
        f[i] = &in->found[i];
    qsort(w, in->n_wanted, sizeof(*w), wanted_order);
    qsort(f, in->n_found, sizeof(*f), found_order);
    plan_make(&p, w, f, in);
    *ret = p.steps;
    *ret_n = p.n;
    *ret_waiting = p.waiting;
    return 0;
}
