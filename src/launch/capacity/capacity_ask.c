/* capacity_ask.c - one container at a time: what is asked for, and whether any node could give it.
 */
#include "launch/capacity/capacity_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- what is asked for ---- */

static const char *capacity_label_of(const char *own, const char *jobs)
{
    return own ? own : jobs ? jobs : "";
}

static int64_t megabytes(uint64_t bytes, int64_t otherwise)
{
    return bytes ? (int64_t)((bytes + MIB - 1) / MIB) : otherwise;
}

/* Each agent's connection costs the master some 25 KB, and more for a moment when all start. */
static int64_t master_mb(const struct spec *s)
{
    int64_t containers = 0;
    int64_t base = CAPACITY_MASTER_MB + (s->publish.name ? CAPACITY_PUBLISH_MB : 0);

    for (size_t i = 0; i < s->n_roles; i++)
        containers += s->roles[i].count;
    if (containers <= CAPACITY_MASTER_CONTAINERS)
        return base;
    return base +
           ((containers - CAPACITY_MASTER_CONTAINERS) * CAPACITY_MASTER_EACH_KB + 1023) / 1024;
}

struct capacity_master capacity_master(const struct spec *s)
{
    return (struct capacity_master){
        .memory_mb = megabytes(s->master.memory, master_mb(s)),
        .cores = s->master.cpus ? (int32_t)s->master.cpus : CAPACITY_MASTER_CORES,
        .label = capacity_label_of(s->master.label, s->label),
    };
}

struct capacity_ask capacity_ask(const struct spec *s, const struct spec_role *r)
{
    return (struct capacity_ask){
        .memory_mb = megabytes(r->memory, CAPACITY_ROLE_MB),
        .cores = r->cpus ? (int32_t)r->cpus : CAPACITY_ROLE_CORES,
        .gpus = r->gpus,
        .more = &r->resources,
        .label = capacity_label_of(r->label, s->label),
    };
}

/* ---- in words ---- */

const char *capacity_amount_text(const struct deploy_facts *f, size_t type, int64_t v,
                                 char out[CAPACITY_SIZE_TEXT])
{
    char size[STR_SIZE_MAX];

    if (type == DEPLOY_MEMORY && v > 0 && v % 1024 == 0)
        snprintf(out, CAPACITY_SIZE_TEXT, "%" PRId64 " GB", v / 1024);
    else if (type == DEPLOY_MEMORY)
        snprintf(out, CAPACITY_SIZE_TEXT, "%s", str_size((uint64_t)v * MIB, size));
    else if (type == DEPLOY_CORES)
        snprintf(out, CAPACITY_SIZE_TEXT, "%" PRId64 " core%s", v, v == 1 ? "" : "s");
    else if (str_eq(f->types.v[type], DEPLOY_GPU))
        snprintf(out, CAPACITY_SIZE_TEXT, "%" PRId64 " GPU%s", v, v == 1 ? "" : "s");
    else
        snprintf(out, CAPACITY_SIZE_TEXT, "%" PRId64 " %.80s", v, f->types.v[type]);
    return out;
}

const char *capacity_size_text(const struct deploy_facts *f, const struct deploy_size *s,
                               char out[CAPACITY_SIZE_TEXT])
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t t = 0; t < f->types.n && at + 1 < CAPACITY_SIZE_TEXT; t++) {
        char one[CAPACITY_SIZE_TEXT];

        if (s->v[t] == 0)
            continue;
        snprintf(out + at, CAPACITY_SIZE_TEXT - at, "%s%s", at ? ", " : "",
                 capacity_amount_text(f, t, s->v[t], one));
        at = strlen(out);
    }
    return out;
}

/* "roles.worker.memory", "master.cpus"; `what` "" is the role itself. */
static const char *capacity_key_of(const struct spec_role *role, const char *what, char out[192])
{
    if (role)
        snprintf(out, 192, "roles.%.40s%s%.120s", role->name, *what ? "." : "", what);
    else
        snprintf(out, 192, "master%s%.120s", *what ? "." : "", what);
    return out;
}

static const char *key_of_type(const struct capacity_job *j, const struct spec_role *role,
                               size_t type, char out[192])
{
    const char *name = j->f->types.v[type];
    char further[140];

    snprintf(further, sizeof(further), "resources.%.100s", name);
    return capacity_key_of(role,
                           type == DEPLOY_MEMORY      ? "memory"
                           : type == DEPLOY_CORES     ? "cpus"
                           : str_eq(name, DEPLOY_GPU) ? "gpus"
                                                      : further,
                           out);
}

/* ---- types ---- */

static int unknown_type(struct capacity_job *j, const struct spec_role *role, const char *name)
{
    const char *near = str_nearest(name, (const char *const *)j->f->types.v, j->f->types.n);
    char key[192], what[140];

    if (str_eq(name, DEPLOY_GPU))
        return capacity_fault(j, capacity_key_of(role, "gpus", key),
                              "the cluster does not schedule GPUs: it has no resource type '%s'",
                              DEPLOY_GPU);
    snprintf(what, sizeof(what), "resources.%.100s", name);
    return capacity_fault(j, capacity_key_of(role, what, key),
                          "the cluster has no such resource type%s%s%s",
                          near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static int add_type(struct capacity_job *j, const struct spec_role *role, const char *name,
                    int64_t v, struct deploy_size *out)
{
    int t = deploy_type(j->f, name);

    if (t >= 0)
        out->v[t] = v < DEPLOY_MOST ? v : DEPLOY_MOST;
    else if (!j->f->more_types) /* what we did not note down we cannot judge */
        return unknown_type(j, role, name);
    return 0;
}

static int capacity_size_of(struct capacity_job *j, const struct spec_role *role,
                            const struct capacity_master *m, struct deploy_size *out)
{
    struct capacity_ask ask;
    int r = 0;

    if (!role) {
        *out =
            (struct deploy_size){ { [DEPLOY_MEMORY] = m->memory_mb, [DEPLOY_CORES] = m->cores } };
        return 0;
    }
    ask = capacity_ask(j->s, role);
    *out = (struct deploy_size){ { [DEPLOY_MEMORY] = ask.memory_mb, [DEPLOY_CORES] = ask.cores } };
    if (ask.gpus)
        r = add_type(j, role, DEPLOY_GPU, ask.gpus, out);
    for (size_t i = 0; i < ask.more->n && r == 0; i++)
        r = add_type(j, role, ask.more->v[i].name, ask.more->v[i].value, out);
    return r;
}

/* ---- limits ---- */

/* The RM refuses this whatever the nodes have. It looks before it rounds. */
static int check_largest(struct capacity_job *j, const struct spec_role *role,
                         const struct deploy_size *asked)
{
    char key[192], is[CAPACITY_SIZE_TEXT], most[CAPACITY_SIZE_TEXT];
    int r = 0;

    for (size_t t = 0; t < j->f->types.n && r == 0; t++)
        if (asked->v[t] > j->f->largest.v[t])
            r = capacity_fault(j, key_of_type(j, role, t, key),
                               "%s: a container can have at most %s on this cluster",
                               capacity_amount_text(j->f, t, asked->v[t], is),
                               capacity_amount_text(j->f, t, j->f->largest.v[t], most));
    return r;
}

/* As the ResourceManager makes a container of what was asked: at least the least, then whole steps,
 * and never beyond the largest. A scheduler that looks at memory alone gives out any number of
 * cores. */
static void round_up(const struct deploy_facts *f, struct deploy_size *s)
{
    for (size_t t = 0; t < f->types.n; t++) {
        int64_t v = s->v[t], step = f->step.v[t];

        v = v < f->least.v[t] ? f->least.v[t] : v;
        if (step > 1)
            v = (v + step - 1) / step * step;
        s->v[t] = v < f->largest.v[t] ? v : f->largest.v[t];
    }
    if (!f->counts_cores)
        s->v[DEPLOY_CORES] = 0;
}

/* Nodes of a label that is not exclusive are lent to containers that ask for none, while they are
 * idle. */
bool capacity_usable(const struct deploy_facts *f, const struct deploy_node *n, const char *label)
{
    if (!n->running)
        return false;
    if (str_eq(n->label, label))
        return true;
    for (size_t i = 0; i < f->n_labels && !*label; i++)
        if (str_eq(f->labels[i].name, n->label))
            return !f->labels[i].exclusive;
    return false;
}

bool capacity_goes_into(const struct deploy_size *size, const struct deploy_size *into)
{
    for (size_t t = 0; t < DEPLOY_TYPES; t++)
        if (size->v[t] > into->v[t])
            return false;
    return true;
}

/* " with the label 'gpu'", or nothing. */
static const char *with_label(const char *label, char out[96])
{
    snprintf(out, 96, *label ? " with the label '%.64s'" : "%s", label);
    return out;
}

/* Somewhere there must be one node for it. Says which type is too much, or that all of them are
 * there, but on no node together. */
static int check_node(struct capacity_job *j, const struct capacity_class *c)
{
    const struct deploy_facts *f = j->f;
    struct deploy_size most = { { 0 } };
    char key[192], where[96], text[CAPACITY_SIZE_TEXT], has[CAPACITY_SIZE_TEXT];
    size_t nodes = 0, before = j->faults->n;
    int r = 0;

    for (size_t i = 0; i < f->n_nodes; i++) {
        if (!capacity_usable(f, &f->nodes[i], c->label))
            continue;
        if (capacity_goes_into(&c->size, &f->nodes[i].total))
            return 0;
        nodes++;
        for (size_t t = 0; t < f->types.n; t++)
            most.v[t] = f->nodes[i].total.v[t] > most.v[t] ? f->nodes[i].total.v[t] : most.v[t];
    }
    with_label(c->label, where);
    if (nodes == 0)
        return capacity_fault(j, capacity_key_of(c->role, "label", key), "no running node%s%s",
                              *where ? where : " is without a label",
                              *where ? "" : "; name a label with --label");
    for (size_t t = 0; t < f->types.n && r == 0; t++)
        if (c->size.v[t] > most.v[t])
            r = capacity_fault(j, key_of_type(j, c->role, t, key), "%s: the largest node%s has %s",
                               capacity_amount_text(f, t, c->size.v[t], text), where,
                               capacity_amount_text(f, t, most.v[t], has));
    if (r < 0 || j->faults->n > before)
        return r;
    return capacity_fault(j, capacity_key_of(c->role, "", key), "no node%s has %s together", where,
                          capacity_size_text(f, &c->size, text));
}

/* The queue puts its own label on what has none. */
static const char *effective_label(const struct deploy_facts *f, const char *label)
{
    return !*label && f->queue.default_label ? f->queue.default_label : label;
}

int capacity_add_class(struct capacity_job *j, const struct spec_role *role,
                       const struct capacity_master *m)
{
    struct capacity_class *c = &j->v[j->n];
    const char *label = role ? capacity_ask(j->s, role).label : m->label ? m->label : "";
    size_t before = j->faults->n;
    int r;

    *c = (struct capacity_class){
        .role = role,
        .label = effective_label(j->f, label),
        .count = role ? role->count : 1,
        .apart = role && role->spread == SPEC_SPREAD_NODE,
    };
    r = capacity_size_of(j, role, m, &c->size);
    if (r == 0)
        r = check_largest(j, role, &c->size);
    if (r < 0 || j->faults->n > before)
        return r;
    round_up(j->f, &c->size);
    j->n++;
    return check_node(j, c);
}
