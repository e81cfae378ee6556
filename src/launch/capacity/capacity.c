/* capacity.c - see capacity.h. The queue, the labels, the images, and the order of it all; single
 * asks are looked at in capacity_ask.c, all of them together in capacity_packing.c. */
#include "launch/capacity/capacity_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int capacity_fault(struct capacity_job *j, const char *key, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text = NULL;
        return -ENOMEM;
    }
    return spec_fault(j->faults, 0, key, "%s", text) == -ENOMEM ? -ENOMEM : 0;
}

/* ---- the queue ---- */

/* "" or " (did you mean 'x'?)". */
static const char *hint(const char *word, const char *const *known, size_t n, char out[96])
{
    const char *near = str_nearest(word, known, n);

    snprintf(out, 96, near ? " (did you mean '%.64s'?)" : "%s", near ? near : "");
    return out;
}

/* "default, prod, …" */
static const char *capacity_list(const struct strs *l, char *out, size_t cap)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < l->n; i++) {
        bool full = at + strlen(l->v[i]) + 8 > cap;

        snprintf(out + at, cap - at, "%s%s", i ? ", " : "", full ? "…" : l->v[i]);
        if (full)
            break;
        at = strlen(out);
    }
    return out;
}

static int capacity_check_queue(struct capacity_job *j)
{
    const struct deploy_queue *q = &j->f->queue;
    const char *dot = strrchr(q->name, '.');
    char text[256], name[80];

    str_clean(name, sizeof(name), q->name);
    if (!q->found && q->may_come)
        return 0;
    if (!q->found)
        return capacity_fault(
            j, "queue", "there is no queue '%s'%s", name,
            hint(dot ? dot + 1 : q->name, (const char *const *)q->others.v, q->others.n, text));
    if (!q->leaf)
        return capacity_fault(j, "queue",
                              "'%s' is a parent queue and takes no jobs (its queues: %s)", name,
                              capacity_list(&q->others, text, sizeof(text)));
    if (!q->running)
        return capacity_fault(j, "queue", "'%s' is stopped and takes no jobs (queues: %s)", name,
                              capacity_list(&q->others, text, sizeof(text)));
    if (q->may_submit == 0)
        return capacity_fault(j, "queue", "%s may not submit to '%s'", j->f->user, name);
    return 0;
}

/* ---- labels ---- */

static bool capacity_is_label(const struct deploy_facts *f, const char *label)
{
    for (size_t i = 0; i < f->n_labels; i++)
        if (str_eq(f->labels[i].name, label))
            return true;
    return false;
}

static int no_label(struct capacity_job *j, const char *key, const char *label)
{
    const struct deploy_facts *f = j->f;
    AUTO_FREE const char **names = calloc(f->n_labels + 1, sizeof(*names));
    char text[96];

    if (!names)
        return -ENOMEM;
    for (size_t i = 0; i < f->n_labels; i++)
        names[i] = f->labels[i].name;
    if (f->n_labels == 0)
        return capacity_fault(j, key, "'%s' cannot be used: the cluster has no node labels", label);
    return capacity_fault(j, key, "there is no node label '%s'%s", label,
                          hint(label, names, f->n_labels, text));
}

static int capacity_check_label(struct capacity_job *j, const char *key, const char *label)
{
    const struct deploy_queue *q = &j->f->queue;
    char text[256];

    if (!label || !*label)
        return 0;
    if (!capacity_is_label(j->f, label))
        return no_label(j, key, label);
    if (!q->found || strs_has(&q->labels, "*") || strs_has(&q->labels, label))
        return 0;
    return capacity_fault(j, key, "the queue '%s' may not use the label '%s'%s%s", q->name, label,
                          q->labels.n ? "; it may use " : "",
                          capacity_list(&q->labels, text, sizeof(text)));
}

static int check_labels(struct capacity_job *j)
{
    int r = capacity_check_label(j, "label", j->s->label);

    if (r == 0)
        r = capacity_check_label(j, "master.label", j->s->master.label);
    for (size_t i = 0; i < j->s->n_roles && r == 0; i++) {
        char key[80];

        snprintf(key, sizeof(key), "roles.%.40s.label", j->s->roles[i].name);
        r = capacity_check_label(j, key, j->s->roles[i].label);
    }
    return r;
}

/* ---- images ---- */

static int capacity_check_image(struct capacity_job *j, const char *key, const char *image)
{
    const char *why = image ? image_name_fault(image) : NULL;
    char shown[128];

    if (!why)
        return 0;
    str_clean(shown, sizeof(shown), image);
    return capacity_fault(j, key, "'%s' is not an image name: %s", shown, why);
}

static int check_images(struct capacity_job *j)
{
    int r = capacity_check_image(j, "image", j->s->image);

    for (size_t i = 0; i < j->s->n_roles && r == 0; i++) {
        char key[80];

        snprintf(key, sizeof(key), "roles.%.40s.image", j->s->roles[i].name);
        r = capacity_check_image(j, key, j->s->roles[i].image);
    }
    return r;
}

/* ---- nodes ---- */

static int capacity_check_nodes(struct capacity_job *j)
{
    size_t running = 0;

    for (size_t i = 0; i < j->f->n_nodes; i++)
        running += j->f->nodes[i].running;
    if (running)
        return 0;
    return capacity_fault(j, NULL, "the cluster has no running node%s",
                          j->f->n_nodes ? ": all are lost, unhealthy or decommissioned" : "");
}

static int add_classes(struct capacity_job *j, const struct capacity_master *m)
{
    int r = capacity_add_class(j, NULL, m);

    for (size_t i = 0; i < j->s->n_roles && r == 0; i++) {
        const struct spec_role *role = &j->s->roles[i];

        if (role->count && role->place == SPEC_PLACE_CLUSTER)
            r = capacity_add_class(j, role, m);
    }
    return r;
}

/* All faults of queue, labels, images and nodes are told together; sizes are judged only when there
 * are none of them. */
int capacity_check(const struct spec *s, const struct deploy_facts *f,
                   const struct capacity_master *m, struct spec_faults *faults,
                   struct capacity *ret)
{
    AUTO_FREE struct capacity_job *j = calloc(1, sizeof(*j));
    struct capacity_master usual = capacity_master(s);
    size_t before = faults->n;
    int r;

    *ret = (struct capacity){ 0 };
    if (!j)
        return -ENOMEM;
    *j = (struct capacity_job){ .s = s, .f = f, .faults = faults };
    r = capacity_check_queue(j);
    if (r == 0)
        r = check_labels(j);
    if (r == 0)
        r = check_images(j);
    if (r == 0)
        r = capacity_check_nodes(j);
    /* Against a label or a cluster that is not there everything would be too large. */
    if (r == 0 && faults->n == before)
        r = add_classes(j, m ? m : &usual);
    if (r == 0 && faults->n == before)
        r = capacity_pack(j, ret);
    if (r < 0)
        return r;
    return faults->n > before ? -EINVAL : 0;
}
