/* outbox.c - what the agents are told, in batches: one message of each kind for an agent and turn
 * of the loop, cut into pieces where it would get too large. */
#include "base/log.h"
#include "base/path.h"
#include "master/master_private.h"

#include <string.h>

#define PIECE_TASKS 500 /* of one Prepare */

int numbers_add(struct numbers *l, uint32_t id)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        uint32_t *v = realloc(l->v, cap * sizeof(*v));

        if (!v)
            return -ENOMEM;
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = id;
    return 0;
}

void outbox_done(struct outbox *o)
{
    free(o->busy.v);
    free(o->starting.v);
    *o = (struct outbox){ 0 };
}

/* ---- collecting ---- */

/* Puts a task on one of its agent's lists; `list` is the list's offset in struct agent_conn. The
 * agent itself is queued once for a turn, however many lists it is on. */
static int outbox_collect(struct master *m, uint32_t task, size_t list, struct agent_conn **ret,
                          struct err *err)
{
    struct agent_conn *a = agents_get(m, engine_task(m->engine, task)->agent);

    if (!a || a->lost)
        return 0; /* its loss is on the way to the engine */
    if (!a->queued) {
        if (numbers_add(&m->outbox.busy, a->number) < 0)
            return err_oom(err);
        a->queued = true;
    }
    if (numbers_add((struct numbers *)((char *)a + list), task) < 0)
        return err_oom(err);
    if (ret)
        *ret = a;
    return 0;
}

int outbox_prepare(struct master *m, uint32_t task, struct err *err)
{
    return outbox_collect(m, task, offsetof(struct agent_conn, prepare), NULL, err);
}

int outbox_start(struct master *m, uint32_t task, struct err *err)
{
    return outbox_collect(m, task, offsetof(struct agent_conn, start), NULL, err);
}

int outbox_drop(struct master *m, uint32_t task, struct err *err)
{
    return outbox_collect(m, task, offsetof(struct agent_conn, drop), NULL, err);
}

/* ---- sending ---- */

void outbox_send(struct agent_conn *a, Agent__ToAgent *msg)
{
    struct err err = ERR_INIT;

    if (!a->channel)
        return;
    if (channel_send(a->channel, &msg->base, &err) < 0) {
        log_warn(LOG_MASTER, "agent %u: %s", a->number, err.text);
        agents_close(a); /* its reader sees that and tells the rest */
    }
}

static void send_numbers(struct agent_conn *a, struct numbers *l, bool stop)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Stop s = AGENT__STOP__INIT;
    Agent__Drop d = AGENT__DROP__INIT;

    if (l->n == 0)
        return;
    if (stop) {
        s.tasks = l->v;
        s.n_tasks = l->n;
        s.grace_ms = a->stop_grace;
        s.deadline = master_now(a->master) + a->stop_grace;
        msg.body_case = AGENT__TO_AGENT__BODY_STOP;
        msg.stop = &s;
    } else {
        d.tasks = l->v;
        d.n_tasks = l->n;
        msg.body_case = AGENT__TO_AGENT__BODY_DROP;
        msg.drop = &d;
    }
    outbox_send(a, &msg);
    l->n = 0;
}

/* One Stop message has one grace period for all of its tasks. A task with another one flushes those
 * collected before it, and a Start that still waits goes first: an agent that got the Stop before
 * the Start would run a task that nobody wants any more. */
int outbox_stop(struct master *m, uint32_t task, int64_t grace, struct err *err)
{
    struct agent_conn *a = agents_get(m, engine_task(m->engine, task)->agent);

    if (a && a->stop.n > 0 && a->stop_grace != grace) {
        outbox_start_first(a);
        send_numbers(a, &a->stop, true);
    }
    if (a)
        a->stop_grace = grace;
    return outbox_collect(m, task, offsetof(struct agent_conn, stop), NULL, err);
}

/* ---- Prepare ---- */

struct prepare_piece {
    Agent__PrepareTask tasks[PIECE_TASKS];
    Agent__PrepareTask *list[PIECE_TASKS];
    uint32_t ports[PIECE_TASKS][CLUSTER_PORTS_MAX];
    char names[PIECE_TASKS][ENGINE_NAME_MAX];
};

/* The job's files and then the role's, as links; one list serves all tasks of the role. */
struct links {
    Agent__FileLink *v;
    Agent__FileLink **list;
    size_t n;
    struct strs words; /* what they point to */
};

static void links_done(struct links *l)
{
    free(l->v);
    free(l->list);
    strs_done(&l->words);
    *l = (struct links){ 0 };
}

/* A copy without slashes at its end, owned by the links; NULL when out of memory. */
static char *keep_path(struct links *l, char *path)
{
    size_t n = path ? strlen(path) : 0;

    while (n > 1 && path[n - 1] == '/')
        path[--n] = '\0';
    return strs_take(&l->words, path) < 0 ? NULL : l->words.v[l->words.n - 1];
}

/* A relative name means the same to the task as it meant to the user; of an absolute one the last
 * part is left. */
static int outbox_add_link(const struct master *m, struct links *l, const struct spec_file *f,
                           bool archive)
{
    Agent__FileLink *x = &l->v[l->n];

    agent__file_link__init(x);
    x->from = keep_path(l, path_join(m->facts.cwd ? m->facts.cwd : "", f->from));
    if (f->to)
        x->to = keep_path(l, strdup(f->to));
    else
        x->to = keep_path(l, *f->from == '/' ? path_base(f->from) : strdup(f->from));
    x->archive = archive;
    l->list[l->n++] = x;
    return x->from && x->to ? 0 : -ENOMEM;
}

/* On YARN the NodeManager or the agent has put the files in place before a task is prepared; only
 * on one machine does each task get links to where the user's files are. */
static int make_links(const struct master *m, const struct spec_role *role, struct links *ret)
{
    const struct spec_files *lists[] = { &m->spec.files, &role->files, &m->spec.archives,
                                         &role->archives };
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        n += lists[i]->n;
    if (n == 0 || m->ops->files_in_place)
        return 0;
    ret->v = calloc(n, sizeof(*ret->v));
    ret->list = calloc(n, sizeof(*ret->list));
    if (!ret->v || !ret->list)
        return -ENOMEM;
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (size_t k = 0; k < lists[i]->n && r == 0; k++)
            r = outbox_add_link(m, ret, &lists[i]->v[k], i >= 2);
    return r;
}

/* The image that the agent is to run it in, if that is the agent's business. */
static void fill_image(const struct master *m, const struct spec_role *role, Agent__PrepareTask *x)
{
    const char *image = role->image ? role->image : m->spec.image;

    if (!image || (m->images_by_platform && role->place == SPEC_PLACE_CLUSTER))
        return;
    x->image = (char *)image;
    x->mounts = m->spec.mounts.v;
    x->n_mounts = m->spec.mounts.n;
    x->cpus = role->cpus;
}

/* The memory of a container is for its processes together. Images that an agent runs are each in a
 * container of their own, and have a share each. */
static void fill_memory(const struct spec_role *role, Agent__PrepareTask *x)
{
    bool many = role->procs > 1, image = x->image && *x->image;

    x->memory = many && image ? role->memory / role->procs : role->memory;
    x->memory_shared = many && !image;
}

/* Those that it had, or those that its role is to have; 0: any will do. */
static size_t fill_ports(const struct spec_role *role, const struct task *t,
                         uint32_t ret[CLUSTER_PORTS_MAX])
{
    bool first = t->n_ports == 0 && role->port > 0 && role->ports > 0;
    size_t n = first ? (size_t)role->ports : t->n_ports;

    for (size_t i = 0; i < n && i < CLUSTER_PORTS_MAX; i++)
        ret[i] = first ? role->port + (uint32_t)i : t->port[i];
    return n;
}

static void fill_prepare(struct master *m, uint32_t id, struct prepare_piece *p, size_t at,
                         const struct links *links)
{
    const struct task *t = engine_task(m->engine, id);
    const struct spec_role *role = &m->spec.roles[t->role];
    const struct slot_info *slot = &m->slots.v[t->slot];
    Agent__PrepareTask *x = &p->tasks[at];

    agent__prepare_task__init(x);
    x->task = id;
    x->name = (char *)engine_task_name(m->engine, id, p->names[at]);
    x->ports_wanted = role->ports > 0 ? (uint32_t)role->ports : 0;
    x->ports = p->ports[at];
    x->n_ports = fill_ports(role, t, p->ports[at]);
    x->share_ports = m->framework->port == FRAMEWORK_PORT_SHARE;
    x->gpus = slot->gpus;
    x->n_gpus = slot->n_gpus;
    x->gpu_count = m->platform->ops->apart ? role->gpus : 0;
    x->slot = t->slot;
    hub_base(m, id, &x->out_base, &x->err_base);
    x->log_began = hub_began(m, id);
    x->files = links->list;
    x->n_files = links->n;
    fill_image(m, role, x);
    fill_memory(role, x);
    p->list[at] = x;
}

static void send_prepare_piece(struct agent_conn *a, struct prepare_piece *p, size_t n)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Prepare body = AGENT__PREPARE__INIT;

    body.tasks = p->list;
    body.n_tasks = n;
    msg.body_case = AGENT__TO_AGENT__BODY_PREPARE;
    msg.prepare = &body;
    if (n > 0)
        outbox_send(a, &msg);
}

/* A message is cut at PIECE_TASKS and wherever the role changes, because all tasks in one message
 * point to the same list of links. The list is freed only after the message that borrows it has
 * been packed by outbox_send(). */
static int send_prepare(struct agent_conn *a)
{
    struct master *m = a->master;
    AUTO_FREE struct prepare_piece *p = calloc(1, sizeof(*p));
    struct links links = { 0 };
    uint32_t role = UINT32_MAX;
    size_t n = 0;
    int r = p ? 0 : -ENOMEM;

    for (size_t i = 0; i < a->prepare.n && r == 0; i++) {
        uint32_t next = engine_task(m->engine, a->prepare.v[i])->role;

        if (n == PIECE_TASKS || (next != role && n > 0)) {
            send_prepare_piece(a, p, n);
            n = 0;
        }
        if (next != role) {
            links_done(&links);
            r = make_links(m, &m->spec.roles[next], &links);
            role = next;
        }
        if (r == 0)
            fill_prepare(m, a->prepare.v[i], p, n++, &links);
    }
    if (r == 0)
        send_prepare_piece(a, p, n);
    links_done(&links);
    a->prepare.n = 0;
    return r;
}

/* The order of kinds is the order in which an agent must see them: Drop frees the ports and
 * directories that a Prepare of the same task takes again, and a Start comes after both. Only Start
 * is paced (outbox_pace.c), since it is the only large one; outbox_start_first() keeps a Start that
 * waits from being overtaken by what is sent here. */
void outbox_flush(struct master *m)
{
    for (size_t i = 0; i < m->outbox.busy.n; i++) {
        struct agent_conn *a = agents_get(m, m->outbox.busy.v[i]);
        struct err err = ERR_INIT;

        if (!a)
            continue;
        a->queued = false;
        outbox_start_first(a);
        send_numbers(a, &a->drop, false);
        send_numbers(a, &a->stop, true);
        if (send_prepare(a) < 0) {
            err_oom(&err);
            master_fault(m, &err);
            continue;
        }
        outbox_start_later(a);
    }
    m->outbox.busy.n = 0;
}

/* An answer for a task that has moved goes to the agent it is on now, which knows no such request
 * and ignores it. One that is lost with a connection is asked for again by the agent
 * (relay_again()) under the same id, so nothing is kept here. */
void outbox_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct master *m = user;
    struct agent_conn *a;
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__KvReplies body = AGENT__KV_REPLIES__INIT;
    Agent__KvReply reply = AGENT__KV_REPLY__INIT, *list[] = { &reply };
    AUTO_FREE ProtobufCBinaryData *data = calloc(n ? n : 1, sizeof(*data));

    if (task == MASTER_API_TASK) {
        api_kv_reply(m, id, words, n);
        return;
    }
    a = agents_get(m, engine_task(m->engine, task)->agent);
    if (!a || !data)
        return;
    for (size_t i = 0; i < n; i++) {
        data[i].data = (uint8_t *)words[i].p;
        data[i].len = words[i].n;
    }
    reply.task = task;
    reply.id = id;
    reply.words = data;
    reply.n_words = n;
    body.replies = list;
    body.n_replies = 1;
    msg.body_case = AGENT__TO_AGENT__BODY_KV;
    msg.kv = &body;
    outbox_send(a, &msg);
}
