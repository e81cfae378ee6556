/* job_submission_context.c - what the submission and job.json say of the cluster: where the files
 * are, which nodes have room, and the limits that YARN is to keep in case the master never
 * starts. See job_submission_private.h. */
#include "base/str.h"
#include "hadoop/yarn/submission.h"
#include "launch/job_submission_private.h"

#include <string.h>

#define ATTEMPTS 2
#define ENDING_S 1800 /* beside saving, from the end of the tasks to that of the application */
#define FAILURES_WINDOW_MS ((int64_t)60 * 60 * 1000)

/* ---- what the master is told ---- */

/* Borrowed from the upload. */
static struct yarn_facts_file facts_file(const struct cache_file *f)
{
    return (struct yarn_facts_file){
        .to = f->to,
        .role = f->role,
        .url = f->url,
        .size = (int64_t)f->size,
        .timestamp = f->timestamp,
        .archive = f->archive,
    };
}

static int64_t room_of(const struct deploy_node *n, int type)
{
    return type < 0 ? 0 : n->total.v[type] - n->used.v[type];
}

/* Nodes with room, those with most of it first: more than a job can use are not worth carrying. */
static int by_room(const void *a, const void *b)
{
    const struct yarn_facts_node *x = a, *y = b;

    return x->memory < y->memory ? 1 : x->memory > y->memory ? -1 : strcmp(x->host, y->host);
}

static int fill_nodes(const struct deploy_facts *f, struct yarn_facts *ret, struct err *err)
{
    int gpu = deploy_type(f, DEPLOY_GPU);

    ret->nodes = calloc(f->n_nodes ? f->n_nodes : 1, sizeof(*ret->nodes));
    if (!ret->nodes)
        return err_oom(err);
    for (size_t i = 0; i < f->n_nodes; i++) {
        const struct deploy_node *n = &f->nodes[i];

        if (!n->running || *n->label)
            continue;
        ret->nodes[ret->n_nodes++] = (struct yarn_facts_node){
            .host = n->host,
            .rack = n->rack,
            .label = n->label,
            .memory = room_of(n, DEPLOY_MEMORY),
            .vcores = room_of(n, DEPLOY_CORES),
            .gpus = room_of(n, gpu),
        };
    }
    qsort(ret->nodes, ret->n_nodes, sizeof(*ret->nodes), by_room);
    return 0;
}

int submit_add_facts(const struct submission *x, json_t *job, struct err *err)
{
    const struct conf *conf = session_conf(x->o->session);
    struct yarn_facts facts = { 0 };
    int r = fill_nodes(x->o->facts, &facts, err);

    (void)conf_ms(conf, "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms", &facts.heartbeat,
                  NULL);
    facts.files = calloc(x->files.n + 1, sizeof(*facts.files));
    if (r == 0 && !facts.files)
        r = err_oom(err);
    for (size_t i = 0; r == 0 && i < x->files.n; i++) {
        if (str_eq(x->files.v[i].to, "ydl-node") && !x->files.v[i].role)
            facts.program = facts_file(&x->files.v[i]);
        else
            facts.files[facts.n_files++] = facts_file(&x->files.v[i]);
    }
    if (r == 0 && x->keytab.url)
        facts.files[facts.n_files++] = x->keytab;
    if (r == 0)
        r = yarn_facts_write(&facts, job, err);
    free(facts.files); /* what they point to is borrowed */
    free(facts.nodes);
    return r;
}

/* ---- what YARN is told ---- */

int submit_add_acls(const struct submission *x, Yarn__ContainerLaunchContext *c, struct err *err)
{
    const struct spec_acl *acl = &x->o->spec->acl;
    int r = yarn_launch_acl(c, YARN__APPLICATION_ACCESS_TYPE__ACCESS_VIEW_APP,
                            acl->view ? acl->view : " ", err);

    return r < 0 ? r
                 : yarn_launch_acl(c, YARN__APPLICATION_ACCESS_TYPE__ACCESS_MODIFY_APP,
                                   acl->modify ? acl->modify : " ", err);
}

/* The master keeps the time limit and then saves what there is. YARN gets a later one, for a job
 * that never got a master. */
static int64_t lifetime(const struct spec *s)
{
    return s->timeout > 0 ? (s->timeout + s->grace + s->save_time) / 1000 + ENDING_S : 0;
}

int submit_context(const struct submission *x, const Yarn__ContainerLaunchContext *launch,
                   Yarn__ApplicationSubmissionContext **ret, struct err *err)
{
    const struct spec *s = x->o->spec;
    const struct capacity_master m = capacity_master(s);
    const struct yarn_submission a = {
        .name = s->name,
        .type = "ydl",
        .queue = s->queue,
        .has_priority = s->priority >= 0,
        .priority = (int32_t)s->priority,
        .tags = (const char *const *)s->tags.v,
        .n_tags = s->tags.n,
        .master = { .memory_mb = m.memory_mb, .vcores = m.cores },
        .launch = launch,
        .label = s->label && *s->label ? s->label : NULL,
        .master_label = s->master.label && *s->master.label ? s->master.label : NULL,
        .max_attempts = s->attempts ? (int32_t)s->attempts : ATTEMPTS,
        .failures_window_ms = s->master.window > 0 ? s->master.window : FAILURES_WINDOW_MS,
        .keep_containers = true,
        .lifetime_s = lifetime(s),
    };

    return yarn_submission_message(&a, x->ret->app, NULL, ret, err);
}
