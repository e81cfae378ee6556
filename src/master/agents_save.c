/* agents_save.c - the end of a job: agents save what tasks left, and leave.
 *
 *     job has ended ──► that is in HDFS ──► every agent is asked to save ──► Saved, or its
 *     container ends ──► all have
 *
 * Who is away then is asked when it is back. An agent that saves does not look for its master any
 * more: when its connection or the master is lost meanwhile, the end of its container tells. So
 * that it does, the agent stays until a master after us would know what it has said:
 *
 *     the last Saved ──► journal ──► its copy ──► SavedAck ──► the agent leaves */
#include "master/master_private.h"

#define REPORT_MS 10000 /* from the end of their time to ours */

/* Who is late says so while we still listen. */
static int64_t time_to_save(const struct master *m)
{
    int64_t left = m->save.until - loop_now(m->loop);

    if (!m->save.until)
        return 0;
    left -= left / 4 < REPORT_MS ? left / 4 : REPORT_MS;
    return left > 1 ? left : 1;
}

/* Results that are not any task's own are the first one's to save. */
static void ask_to_save(struct agent_conn *a, int64_t grace, bool spared)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__Shutdown body = AGENT__SHUTDOWN__INIT;
    struct outcome o = { .state = JOB_FAILED };

    engine_outcome(a->master->engine, &o);
    body.grace_ms = grace;
    body.failed = o.state != JOB_SUCCEEDED;
    body.spared = spared;
    body.save_ms = time_to_save(a->master);
    msg.body_case = AGENT__TO_AGENT__BODY_SHUTDOWN;
    msg.shutdown = &body;
    outbox_send(a, &msg);
    a->asked = true;
}

static bool any_asked(const struct master *m)
{
    for (uint32_t i = 0; i < m->agents.n; i++)
        if (m->agents.v[i] && m->agents.v[i]->asked)
            return true;
    return false;
}

/* An agent arrives while the job is ending. A new one has run nothing, so it counts as saved and
 * may go at once; one that is back may hold the only copy of a task's output. */
void agents_save_late(struct agent_conn *a)
{
    struct master *m = a->master;

    if (m->save.until && a->comes == AGENT_NEW)
        a->saved = true;
    if (m->ended || (m->save.until && a->saved))
        agents_leave(m, a->number);
    else if (m->save.until && !m->save.ask_by) /* until then all are asked together */
        ask_to_save(a, 0, any_asked(m));
}

/* On one machine an agent whose connection broke is dead. In a container it may come back, or its
 * container's end is reported by the ResourceManager. */
bool agents_will_be_heard(const struct agent_conn *a)
{
    const struct master *m = a->master;

    return m->platform->ops->apart && a->node[0] && (!a->leaving || a->adopted) &&
           !(m->client.gone && agents_at_client(a));
}

void agents_tell_saved(struct agent_conn *a, bool results)
{
    if (a->saved)
        return;
    a->saved = true;
    a->results_left = !results;
    agents_tell(a, "saved");
    if (results)
        engine_on_saved(a->master->engine, a->number);
    else
        engine_on_results_left(a->master->engine, a->number);
}

/* ---- what they said is written down ---- */

#define ACK_UNTOLD                                                                                 \
    UINT64_MAX /* ack_at: the journal has not got it yet; 0: nothing is waited for                 \
                */

/* Behind the end of the job nothing is written any more, and that end says it all. */
void agents_ack_later(struct agent_conn *a)
{
    struct master *m = a->master;

    a->ack_at = m->ended ? m->journal.size : ACK_UNTOLD;
    m->save.acks++;
    if (m->ended)
        agents_ack(m);
}

void agents_ack_told(struct master *m)
{
    for (uint32_t i = 0; m->save.acks > 0 && i < m->agents.n; i++)
        if (m->agents.v[i]->ack_at == ACK_UNTOLD)
            m->agents.v[i]->ack_at = m->journal.size;
    agents_ack(m);
}

/* Counts them anew: one that was waited for may be gone for good. */
void agents_ack(struct master *m)
{
    Agent__ToAgent msg = AGENT__TO_AGENT__INIT;
    Agent__SavedAck body = AGENT__SAVED_ACK__INIT;
    uint32_t wait = 0;

    msg.body_case = AGENT__TO_AGENT__BODY_SAVED_ACK;
    msg.saved_ack = &body;
    for (uint32_t i = 0; m->save.acks > 0 && i < m->agents.n; i++) {
        struct agent_conn *a = m->agents.v[i];

        if (a->ack_at == ACK_UNTOLD || (a->ack_at && !m->ops->copy->has(m, a->ack_at))) {
            wait++;
        } else if (a->ack_at) {
            a->ack_at = 0;
            outbox_send(a, &msg);
        }
    }
    m->save.acks = wait;
}

/* ---- what is not ---- */

void agents_unsaved(struct master *m, uint32_t number, const char *why)
{
    struct agent_conn *a = agents_get(m, number);
    AUTO_FREE char *text = NULL;

    if (!a || a->lost || a->saved || !m->save.until || m->ended || !agents_will_be_heard(a))
        return;
    text = str_printf("not everything could be saved that is on '%s': %s", a->node, why);
    master_unsaved(m, text ? text : "not everything could be saved");
}

/* Told to leave by a master before us, which cannot have written down what it said after that. */
void agents_leaver_gone(struct master *m, uint32_t number, enum platform_left how, const char *why)
{
    struct agent_conn *a = agents_get(m, number);
    AUTO_FREE char *text = NULL;

    if (!a || a->lost || !a->adopted)
        return;
    if (how == PLATFORM_LEFT_UNSAVED) {
        text = str_printf("not everything could be saved that is on '%s': %s", a->node, why);
        master_unsaved(m, text ? text : "not everything could be saved");
    } else if (how == PLATFORM_LEFT_LOST) {
        agents_unsaved(m, number, why);
    }
    if (how == PLATFORM_LEFT_SAVED) {
        m->ops->owed->left(m, number);
        agents_tell_saved(a, true);
    } else {
        m->ops->owed->lost(m, number, why);
        agents_tell(a, "lost");
    }
    a->adopted = false;
    a->lost = true;
    master_wake(m);
}

/* Agents save at the end of the job. Where a container is gone before, and on a machine of its own,
 * so is what its tasks left. */
void agents_tell_lost_results(struct master *m)
{
    struct outcome o = { .state = JOB_FAILED };
    char name[ENGINE_NAME_MAX] = "";
    AUTO_FREE char *text = NULL;
    uint32_t n = 0;

    engine_outcome(m->engine, &o);
    if (o.state != JOB_SUCCEEDED || !m->platform->ops->apart || m->save.told_lost)
        return;
    m->save.told_lost = true;
    for (uint32_t i = 0; i < engine_n_tasks(m->engine); i++)
        if (engine_lost_results(m->engine, i) && n++ == 0)
            (void)engine_task_name(m->engine, i, name);
    if (n == 0)
        return;
    text = n == 1 ? str_printf("the results of %s were lost with its container", name)
                  : str_printf("the results of %s and %u more task%s were lost with their "
                               "containers",
                               name, n - 1, n == 2 ? "" : "s");
    master_unsaved(m, text ? text : "results were lost with their containers");
}

/* The first agent that is connected saves what belongs to no task; `spared` tells the others not
 * to. */
void agents_shutdown(struct master *m, int64_t grace)
{
    bool spared = false;

    for (uint32_t i = 0; i < m->agents.n; i++)
        if (m->agents.v[i] && m->agents.v[i]->channel) {
            ask_to_save(m->agents.v[i], grace, spared);
            spared = true;
        }
    if (!spared && m->save.until)
        m->ops->nobody_saves(m);
}

bool agents_saved(const struct master *m)
{
    for (uint32_t i = 0; i < m->agents.n; i++) {
        const struct agent_conn *a = m->agents.v[i];

        if (a && !a->lost && !a->saved && (a->channel || agents_will_be_heard(a)))
            return false;
    }
    return true;
}
