/* drive.c - carries out what the engine wants, turn by turn.
 *
 * Everything that happens in one turn of the loop is told to the engine first; then one pass here
 * takes all of its actions, so that they go out in batches. */
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define FAULT_EXIT 70 /* a fault of ours */

int64_t master_now(const struct master *m)
{
    return m->wall + (loop_now(m->loop) - m->mono);
}

void master_wake(struct master *m)
{
    cond_wake_all(&m->work);
}

void master_note(struct master *m, const char *text)
{
    struct err err = ERR_INIT;

    if (engine_note(m->engine, "warning", text, master_now(m), &err) < 0)
        log_error(LOG_MASTER, "%s", err.text);
    master_wake(m);
}

void master_fault(struct master *m, const struct err *err)
{
    log_error(LOG_MASTER, "%s", err->text);
    master_note(m, err->text);
}

/* ---- the platform's side ---- */

static int grow_slots(struct master *m, uint32_t slot, struct err *err)
{
    uint32_t n = m->n_slots ? m->n_slots : 16;
    struct slot_info *v;

    while (n <= slot)
        n *= 2;
    if (n == m->n_slots)
        return 0;
    v = realloc(m->slots, n * sizeof(*v));
    if (!v)
        return err_oom(err);
    memset(v + m->n_slots, 0, (n - m->n_slots) * sizeof(*v));
    m->slots = v;
    m->n_slots = n;
    return 0;
}

static int set_slot(struct master *m, uint32_t slot, uint32_t agent, const uint32_t *gpus, size_t n,
                    struct err *err)
{
    struct slot_info *s = &m->slots[slot];

    free(take(s->gpus));
    s->n_gpus = 0;
    s->agent = agent;
    if (n == 0)
        return 0;
    s->gpus = malloc(n * sizeof(*gpus));
    if (!s->gpus)
        return err_oom(err);
    memcpy(s->gpus, gpus, n * sizeof(*gpus));
    s->n_gpus = n;
    return 0;
}

static void on_granted(void *user, uint32_t slot, uint32_t agent, const uint32_t *gpus, size_t n)
{
    struct master *m = user;
    struct err err = ERR_INIT;
    struct agent_conn *a;
    int r = agents_expect(m, agent, &err);

    if (r == 0)
        r = set_slot(m, slot, agent, gpus, n, &err);
    if (r == 0)
        r = engine_on_granted(m->engine, slot, agent, master_now(m), &err);
    a = agents_get(m, agent);
    if (r == 0 && a->channel) /* it serves other slots already */
        r = engine_on_agent_up(m->engine, slot, master_now(m), &err);
    if (r < 0)
        master_fault(m, &err);
    master_wake(m);
}

static void on_lost(void *user, uint32_t slot, enum fail_class cls, const char *text)
{
    struct master *m = user;
    struct err err = ERR_INIT;
    struct agent_conn *a = agents_get(m, m->slots[slot].agent);
    uint32_t role, first, n;

    if (a && !a->lost) {
        a->lost = true;
        agents_tell(a, "lost");
    }
    engine_slot(m->engine, slot, &role, &first, &n);
    for (uint32_t i = 0; i < n; i++) {
        kv_forget(m->kv, first + i);
        hub_task_lost(m, first + i);
    }
    (void)set_slot(m, slot, 0, NULL, 0, &err);
    if (engine_on_lost(m->engine, slot, cls, text, master_now(m), &err) < 0)
        master_fault(m, &err);
    master_wake(m);
}

static void on_platform_note(void *user, const char *text)
{
    master_note(user, text);
}

const struct platform_events drive_platform_events = {
    .on_granted = on_granted,
    .on_lost = on_lost,
    .on_note = on_platform_note,
};

/* ---- the store's side ---- */

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
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

static void on_progress(void *user, uint32_t task, int64_t step, int64_t total, const char *metrics)
{
    struct master *m = user;

    engine_on_progress(m->engine, task, step, total, metrics, master_now(m));
    master_wake(m);
}

static unsigned on_role_size(void *user, uint32_t task)
{
    struct master *m = user;
    uint32_t role = task == MASTER_API_TASK ? UINT32_MAX : engine_task(m->engine, task)->role;

    return role < m->cluster.n ? (unsigned)m->cluster.roles[role].n : 1;
}

const struct kv_events drive_kv_events = {
    .on_reply = on_reply,
    .on_progress = on_progress,
    .on_role_size = on_role_size,
};

/* ---- actions ---- */

static int do_ask(struct master *m, const struct action *a, struct err *err)
{
    uint32_t role, first, n;
    int r = grow_slots(m, a->id, err);

    if (r < 0)
        return r;
    engine_slot(m->engine, a->id, &role, &first, &n);
    return m->platform->ops->ask(m->platform, a->id, &m->spec.roles[role], err);
}

static int do_release(struct master *m, const struct action *a, struct err *err)
{
    uint32_t role, first, n;
    int r = 0;

    engine_slot(m->engine, a->id, &role, &first, &n);
    for (uint32_t i = 0; i < n && r == 0; i++)
        r = outbox_drop(m, first + i, err);
    m->platform->ops->release(m->platform, a->id);
    if (a->id < m->n_slots)
        (void)set_slot(m, a->id, 0, NULL, 0, err);
    return r;
}

static int do_prepare(struct master *m, const struct action *a, struct err *err)
{
    return outbox_prepare(m, a->id, err);
}

static int do_form(struct master *m, const struct action *a, struct err *err)
{
    int r = form_generation(m, err);

    (void)a;
    if (r < 0) {
        struct err cause = *err;

        log_error(LOG_MASTER, "%s", cause.text);
        return engine_abort(m->engine, FAULT_EXIT, cause.text, master_now(m), err);
    }
    return engine_on_formed(m->engine, master_now(m), err);
}

static int do_start(struct master *m, const struct action *a, struct err *err)
{
    int r = form_include(m, a->id, err);

    return r < 0 ? r : outbox_start(m, a->id, err);
}

static int do_stop(struct master *m, const struct action *a, struct err *err)
{
    return outbox_stop(m, a->id, a->grace, err);
}

static int do_end(struct master *m, const struct action *a, struct err *err)
{
    (void)a;
    (void)err;
    m->ended = true;
    return 0;
}

static void act_all(struct master *m)
{
    static int (*const act[])(struct master *, const struct action *, struct err *) = {
        [ACTION_ASK] = do_ask,   [ACTION_RELEASE] = do_release, [ACTION_PREPARE] = do_prepare,
        [ACTION_FORM] = do_form, [ACTION_START] = do_start,     [ACTION_STOP] = do_stop,
        [ACTION_END] = do_end,
    };
    struct action a;

    while (engine_next_action(m->engine, &a)) {
        struct err err = ERR_INIT;

        if (act[a.kind](m, &a, &err) < 0)
            master_fault(m, &err);
    }
    outbox_flush(m);
}

static void write_events(struct master *m)
{
    AUTO_BUF lines = { .max = 256 * MIB };

    if (engine_events(m->engine, &lines) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
    if (lines.len == 0)
        return;
    journal_append(&m->journal, lines.data, lines.len);
    hub_wake(m);
}

static int64_t next_deadline(const struct master *m)
{
    int64_t a = engine_deadline(m->engine), b = kv_deadline(m->kv), at = a < b ? a : b;

    return at == INT64_MAX ? LOOP_NEVER : at - m->wall + m->mono;
}

static void on_time(struct master *m)
{
    int64_t now = master_now(m);
    struct err err = ERR_INIT;

    if (kv_deadline(m->kv) <= now)
        kv_on_time(m->kv, now);
    if (engine_deadline(m->engine) <= now && engine_on_time(m->engine, now, &err) < 0)
        master_fault(m, &err);
}

int drive_job(struct master *m, struct err *err)
{
    int r = engine_start(m->engine, master_now(m), err);

    while (r == 0) {
        on_time(m);
        act_all(m);
        write_events(m);
        if (m->ended)
            break;
        r = cond_wait(m->loop, &m->work, next_deadline(m));
        if (r == -ETIMEDOUT)
            r = 0;
        if (r == -ECANCELED && !m->interrupted) { /* a signal: end as if a person had asked */
            m->interrupted = true;
            fiber_shield(m->loop, true);
            r = engine_stop(m->engine, "a signal", master_now(m), err);
        }
    }
    return r;
}
