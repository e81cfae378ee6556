/* inbox.c - what agents report, told to the engine.
 *
 * An agent may speak only of tasks that are its own; one that does not is broken or hostile and is
 * let go. Reports about an earlier life of a task (they crossed with a restart) are dropped. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

/* The task, if it is this agent's to speak of. */
static int own_task(const struct agent_conn *a, uint32_t id, const struct task **ret,
                    struct err *err)
{
    const struct master *m = a->master;

    *ret = id < engine_n_tasks(m->engine) ? engine_task(m->engine, id) : NULL;
    if (*ret)
        return 0;
    err_set(err, -EPROTO, "it spoke of task %u, which does not exist", id);
    return -EPROTO;
}

/* Is it still there? A task that moved meanwhile belongs to somebody else. */
static bool is_current(const struct agent_conn *a, const struct task *t)
{
    return !a->lost && t->agent == a->number && t->state != TASK_WAITING && t->state != TASK_LOST;
}

/* A report that the engine cannot use is our fault or bad luck, not the agent's: it is noted and
 * the connection stays. Only without memory is it ended; the agent comes back and says everything
 * again. */
static int engine_said(struct agent_conn *a, int r, const struct err *err)
{
    if (r < 0)
        master_fault(a->master, err);
    return r == -ENOMEM ? r : 0;
}

/* An agent that is back says for each task what it has: only prepared, running, or ended. That
 * replaces all reports that were lost with the connection, or told to a master that died. The end
 * itself, with its exit code, follows as an ordinary Exited (resync.c of the agent). */
static int held_one(struct agent_conn *a, const Agent__HeldTask *h, struct err *err)
{
    struct master *m = a->master;
    uint16_t ports[CLUSTER_PORTS_MAX];
    const struct task *t = NULL;
    struct engine_held held = { .task = h->task,
                                .generation = h->generation,
                                .attempt = h->attempt,
                                .pid = h->pid,
                                .ports = ports,
                                .n_ports = (unsigned)h->n_ports,
                                .ready = h->ready,
                                .ended = h->ended };
    int r = own_task(a, h->task, &t, err);

    if (r < 0)
        return r;
    if (h->n_ports > CLUSTER_PORTS_MAX)
        return err_set(err, -EPROTO, "it has task %u in no known way", h->task);
    for (size_t i = 0; i < h->n_ports; i++)
        ports[i] = (uint16_t)h->ports[i];
    if (h->pid || h->ended)
        m->ops->owed->started(m, a, h->task, h->attempt);
    r = engine_on_held(m->engine, &held, master_now(m), err);
    if (r == 0)
        hub_task_held(m, h);
    return engine_said(a, r, err);
}

int inbox_held(struct agent_conn *a, const Agent__Hello *h, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < h->n_tasks && r == 0; i++)
        r = held_one(a, h->tasks[i], err);
    return r;
}

/* The client's machine is none that we could avoid. */
static void inbox_blame(struct agent_conn *a, enum fail_class cls)
{
    if (!agents_at_client(a))
        node_faults_node(a->master, a->node, cls);
}

int inbox_prepared(struct agent_conn *a, uint32_t task, const uint16_t *ports, unsigned n,
                   struct err *err)
{
    struct master *m = a->master;
    const struct task *t = engine_task(m->engine, task);
    int r;

    if (!is_current(a, t) || t->state != TASK_PREPARING)
        return 0;
    r = engine_on_prepared(m->engine, task, ports, n, master_now(m), err);
    return engine_said(a, r, err);
}

static int prepared_one(struct agent_conn *a, const Agent__PreparedTask *p, struct err *err)
{
    struct master *m = a->master;
    uint16_t ports[CLUSTER_PORTS_MAX];
    const struct task *t = NULL;
    struct engine_end end = { .when = master_now(m), .text = p->text };
    int r = own_task(a, p->task, &t, err);

    if (r < 0 || !is_current(a, t) || t->state != TASK_PREPARING)
        return r;
    if (p->fail >= FAIL_CLASSES_ || p->n_ports > CLUSTER_PORTS_MAX)
        return err_set(err, -EPROTO, "it prepared task %u in no known way", p->task);
    if (p->fail != FAIL_NONE) {
        end.cls = (enum fail_class)p->fail;
        inbox_blame(a, end.cls);
        r = engine_on_ended(m->engine, p->task, &end, end.when, err);
        return engine_said(a, r, err);
    }
    for (size_t i = 0; i < p->n_ports; i++)
        ports[i] = (uint16_t)p->ports[i];
    if (m->ops->names->hold(a, p->task, ports, (unsigned)p->n_ports))
        return 0; /* it comes back once others can find it */
    return inbox_prepared(a, p->task, ports, (unsigned)p->n_ports, err);
}

static int on_prepared(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < msg->prepared->n_tasks && r == 0; i++)
        r = prepared_one(a, msg->prepared->tasks[i], err);
    return r;
}

static int on_started(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    struct master *m = a->master;
    int r = 0;

    for (size_t i = 0; i < msg->started->n_tasks && r == 0; i++) {
        const Agent__StartedTask *s = msg->started->tasks[i];
        const struct task *t = NULL;

        r = own_task(a, s->task, &t, err);
        if (r == 0)
            m->ops->owed->started(m, a, s->task, s->attempt);
        if (r < 0 || !is_current(a, t) || s->attempt != t->attempt)
            continue;
        r = engine_on_started(m->engine, s->task, s->pid, master_now(m), err);
        r = engine_said(a, r, err);
        hub_task_place(m, s);
        hub_task_started(m, s->task);
    }
    return r;
}

static int inbox_on_ready(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    struct master *m = a->master;
    int r = 0;

    for (size_t i = 0; i < msg->ready->n_tasks && r == 0; i++) {
        const struct task *t = NULL;

        r = own_task(a, msg->ready->tasks[i], &t, err);
        if (r < 0 || !is_current(a, t) || t->state != TASK_RUNNING)
            continue;
        r = engine_on_ready(m->engine, msg->ready->tasks[i], master_now(m), err);
        r = engine_said(a, r, err);
    }
    return r;
}

/* What a framework left in its error file tells more than an exit code, and when it was. */
static char *better_text(const struct master *m, const Agent__ExitedTask *x, int64_t *when)
{
    char *text = NULL;
    int64_t t = 0;

    if (!m->framework->error || x->error_file.len == 0)
        return NULL;
    if (m->framework->error(x->error_file.data, x->error_file.len, &text, &t) < 0)
        return NULL;
    if (t > 0 && t < *when)
        *when = t;
    return text;
}

/* An end may come twice (the agent repeats it after each reconnect), late (the task was restarted
 * elsewhere, or its slot is lost), or from a lost container that we wait for (lost.c). Only the
 * first end of the current attempt reaches the engine; a repeated one still brings the sizes of the
 * output, which the hub of a new master does not know. Whether the node is to blame is decided
 * before the engine is told, because the engine changes `stopping`. */
static int exited_one(struct agent_conn *a, const Agent__ExitedTask *x, struct err *err)
{
    struct master *m = a->master;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *lines = NULL;
    const struct task *t = NULL;
    struct engine_end end = {
        .code = x->code,
        .signal = x->signal,
        .when = x->when,
        .lived = x->lived_ms,
        .results = x->results,
    };
    bool own; /* how it ended is its own doing, or its node's */
    int r = own_task(a, x->task, &t, err);

    if (r == 0 && a->lost)
        lost_task_ended(a, t, x->attempt);
    if (r < 0 || !is_current(a, t) || x->attempt != t->attempt)
        return r;
    if (t->state == TASK_DONE || t->state == TASK_FAILED) {
        /* Told again by an agent that had lost its connection, perhaps to a master before us. */
        hub_task_ended(m, x->task, x->out_bytes, x->err_bytes);
        return 0;
    }
    if (x->fail >= FAIL_CLASSES_)
        return err_set(err, -EPROTO, "task %u ended in no known way", x->task);
    end.asked = x->asked;
    own = !x->asked && !t->stopping;
    kv_forget(m->kv, x->task);
    text = better_text(m, x, &end.when);
    lines = x->lines.len ? strndup((const char *)x->lines.data, x->lines.len) : strdup("");
    if (!lines)
        return err_oom(err);
    end.cls = (enum fail_class)x->fail;
    end.text = text ? text : (x->text && *x->text ? x->text : NULL);
    end.lines = *lines ? lines : NULL;
    r = engine_on_ended(m->engine, x->task, &end, master_now(m), err);
    hub_task_ended(m, x->task, x->out_bytes, x->err_bytes);
    if (own)
        inbox_blame(a, end.cls);
    return engine_said(a, r, err);
}

static int on_exited(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < msg->exited->n_tasks && r == 0; i++)
        r = exited_one(a, msg->exited->tasks[i], err);
    return r;
}

static int inbox_on_output(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < msg->output->n_pieces && r == 0; i++) {
        const struct task *t = NULL;

        r = own_task(a, msg->output->pieces[i]->task, &t, err);
        if (r == 0)
            hub_output(a, msg->output->pieces[i]);
    }
    return r;
}

/* Requests of a task that has moved, or whose container is lost, are dropped: an answer would find
 * nobody, and a put by the old life of a rank must not be seen by the new one. */
static int on_kv(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    struct master *m = a->master;
    int r = 0;

    for (size_t i = 0; i < msg->kv->n_requests && r == 0; i++) {
        const Agent__KvRequest *q = msg->kv->requests[i];
        struct kv_word words[KV_WORDS_MAX];
        const struct task *t = NULL;
        size_t n = q->n_words < KV_WORDS_MAX ? q->n_words : KV_WORDS_MAX;

        r = own_task(a, q->task, &t, err);
        if (r < 0 || t->agent != a->number || a->lost)
            continue;
        for (size_t w = 0; w < n; w++)
            words[w] = (struct kv_word){ q->words[w].data, q->words[w].len };
        r = kv_request(m->kv, &(struct kv_ask){ q->task, q->id, words, n, master_now(m) }, err);
    }
    return r;
}

static int inbox_on_note(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    (void)err;
    log_info(LOG_MASTER, "agent %u: %s", a->number, msg->note->text);
    return 0;
}

static int on_pong(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    (void)err;
    a->answered = msg->pong->seq;
    return 0;
}

static int on_usage(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < msg->usage->n_tasks && r == 0; i++) {
        const struct task *t = NULL;

        r = own_task(a, msg->usage->tasks[i]->task, &t, err);
        if (r == 0 && is_current(a, t) && usage_set(a->master, msg->usage->tasks[i]) < 0)
            r = err_oom(err);
    }
    return r;
}

/* Output that could not be copied may be in YARN's logs all the same, and is told of at the end,
 * task by task; results are nowhere else. */
static int on_saved(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    struct master *m = a->master;
    const Agent__Saved *s = msg->saved;
    const char *rest = m->ops->results_waiting(m, s->to);
    bool output = m->ops->owed->saved(a, s);
    AUTO_FREE char *text = NULL;

    if (s->last) {
        agents_tell_saved(a, !s->output_only);
        agents_ack_later(a);
    }
    if (!*s->fail || output)
        return 0;
    text = str_printf("not everything could be saved to '%s': %s%s%s%s", s->to, s->fail,
                      rest ? "; it is still in '" : "", rest ? rest : "", rest ? "'" : "");
    if (!text)
        return err_oom(err);
    master_unsaved(m, text);
    return 0;
}

static int on_owner(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    (void)err;
    own_peer_answer(a, msg->owner);
    return 0;
}

int inbox_message(struct agent_conn *a, const Agent__ToMaster *msg, struct err *err)
{
    static int (*const handlers[])(struct agent_conn *, const Agent__ToMaster *, struct err *) = {
        [AGENT__TO_MASTER__BODY_PREPARED] = on_prepared,
        [AGENT__TO_MASTER__BODY_STARTED] = on_started,
        [AGENT__TO_MASTER__BODY_READY] = inbox_on_ready,
        [AGENT__TO_MASTER__BODY_EXITED] = on_exited,
        [AGENT__TO_MASTER__BODY_OUTPUT] = inbox_on_output,
        [AGENT__TO_MASTER__BODY_KV] = on_kv,
        [AGENT__TO_MASTER__BODY_PONG] = on_pong,
        [AGENT__TO_MASTER__BODY_NOTE] = inbox_on_note,
        [AGENT__TO_MASTER__BODY_SAVED] = on_saved,
        [AGENT__TO_MASTER__BODY_USAGE] = on_usage,
        [AGENT__TO_MASTER__BODY_OWNER] = on_owner,
    };
    size_t kind = (size_t)msg->body_case;

    if (kind >= COUNT_OF(handlers) || !handlers[kind])
        return err_set(err, -EPROTO, "it sent a message of an unknown kind (%zu)", kind);
    return handlers[kind](a, msg, err);
}
