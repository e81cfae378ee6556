/* master_ops.c - hooks of a side that has nothing to do there: no copy for another master, no
 * output that is owed, no names for tasks. */
#include "master/master_private.h"

int master_do_nothing(struct master *m, struct err *err)
{
    (void)m;
    (void)err;
    return 0;
}

void master_no_action(struct master *m)
{
    (void)m;
}

/* ---- no copy ---- */

static void no_copy_change(void *user, const struct kv_change *c)
{
    (void)user;
    (void)c;
}

static int64_t no_copy_deadline(const struct master *m)
{
    (void)m;
    return INT64_MAX;
}

/* There is no copy to wait for, so it has everything. */
static bool no_copy_has(const struct master *m, uint64_t bytes)
{
    (void)m;
    (void)bytes;
    return true;
}

static int no_copy_end(struct master *m, int64_t deadline)
{
    (void)m;
    (void)deadline;
    return 0;
}

const struct copy_ops master_no_copy = {
    .reply = outbox_reply,
    .change = no_copy_change,
    .deadline = no_copy_deadline,
    .on_time = master_no_action,
    .look = master_no_action,
    .has = no_copy_has,
    .holds = no_copy_has,
    .end = no_copy_end,
};

/* ---- no output that is owed ---- */

static void no_owed_started(struct master *m, const struct agent_conn *a, uint32_t task,
                            uint32_t attempt)
{
    (void)m;
    (void)a;
    (void)task;
    (void)attempt;
}

static bool no_owed_saved(struct agent_conn *a, const Agent__Saved *s)
{
    (void)a;
    (void)s;
    return false;
}

static void no_owed_left(struct master *m, uint32_t agent)
{
    (void)m;
    (void)agent;
}

static void no_owed_lost(struct master *m, uint32_t agent, const char *why)
{
    (void)m;
    (void)agent;
    (void)why;
}

static bool no_owed_owes(const struct master *m, uint32_t agent)
{
    (void)m;
    (void)agent;
    return false;
}

static void no_owed_put(struct master *m, uint32_t agent, struct event *e)
{
    (void)m;
    (void)agent;
    (void)e;
}

const struct owed_ops master_no_owed = {
    .started = no_owed_started,
    .saved = no_owed_saved,
    .left = no_owed_left,
    .lost = no_owed_lost,
    .owes = no_owed_owes,
    .put = no_owed_put,
    .tell = master_no_action,
};

/* ---- no names ---- */

static bool no_names_hold(struct agent_conn *a, uint32_t task, const uint16_t *ports, unsigned n)
{
    (void)a;
    (void)task;
    (void)ports;
    (void)n;
    return false;
}

static void no_names_again(struct master *m, uint32_t task)
{
    (void)m;
    (void)task;
}

static const char *no_names_host(const struct master *m, const struct task *t, const char *number,
                                 char out[NAMES_TEXT])
{
    (void)m;
    (void)t;
    (void)out;
    return number;
}

static int no_names_add_status(const struct master *m, json_t *status, struct err *err)
{
    (void)m;
    (void)status;
    (void)err;
    return 0;
}

const struct names_ops master_no_names = {
    .hold = no_names_hold,
    .again = no_names_again,
    .decide = master_no_action,
    .host = no_names_host,
    .add_status = no_names_add_status,
};
