/* local_platform.c - see local_platform.h.
 *
 *     ask ──► pending ──(granter: memory, GPUs)──► on_granted, and the place's agent is started
 *     agent ends ──(its watcher)──► strays are killed ──► on_lost for the slots it had
 *
 * A *place* is a pretended machine's seat for an agent. An agent that was lost is replaced in the
 * same place under a new number, so that nobody can take one for the other. */
#include "platform/local/local_platform.h"
#include "base/array.h"
#include "base/log.h"
#include "loop/fiber.h"
#include "loop/proc.h"
#include "platform/local/local_platform_private.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define AGENT_TASKS_MAX 250
#define TASK_FDS 8        /* descriptors that an agent needs for one task, at most */
#define ROOM_RETRY_MS 500 /* between looks at what other jobs hold */
#define MINDED_MS 4000
#define MINDED_PAUSE_MS 20
#define LEAVE_MS 2000 /* for an agent without work, before it is killed */
#define SHORT_MS 1000 /* what an agent lives at least that did not end of how it was started */
#define PAUSE_MS 500  /* before the third agent of a place when two lived shorter, then doubled */
#define PAUSE_DOUBLED 4

struct agent_proc {
    struct local *local;
    struct agent_proc *next;
    uint32_t number, place;
    int64_t since;
    struct proc *proc;
    bool ended;
};

struct agent_place {
    struct agent_proc *agent; /* or NULL */
    unsigned short_lived;     /* agents, one after the other */
    int64_t next;             /* the next one is not started before this time */
};

struct seat {       /* of a slot */
    uint32_t agent; /* 0: none */
    bool pending;
    const struct spec_role *role;
    uint64_t memory; /* that it was given */
    int gpu_locks[PLATFORM_GPUS_MAX];
    uint32_t gpus[PLATFORM_GPUS_MAX];
    size_t n_gpus;
};

struct local {
    struct platform base;
    struct local_options opt;
    struct agent_proc *agents;
    struct agent_place *places;
    uint32_t n_places, nodes, next_number, living;
    struct seat **seats; /* by slot */
    uint32_t n_seats, n_pending;
    uint64_t held; /* bytes of memory, in the ledger */
    struct fiber *granter;
    struct cond work, ended;
    bool closing, noted;
};

/* ---- room ---- */

/* Gives back what the slot has been given, however it came to lose it. */
static void local_platform_vacate(struct local *p, struct seat *s)
{
    local_gpus_release(s->gpu_locks, s->n_gpus);
    s->n_gpus = 0;
    s->agent = 0;
    if (!s->memory)
        return;
    p->held -= s->memory;
    s->memory = 0;
    local_ledger_set(&p->opt, p->held);
}

/* ---- agents ---- */

static void lose_slots(struct local *p, uint32_t number, const char *text)
{
    for (uint32_t i = 0; i < p->n_seats && !p->closing; i++) {
        struct seat *s = p->seats[i];

        if (!s || s->agent != number)
            continue;
        local_platform_vacate(p, s);
        p->base.on.on_lost(p->base.on.user, i, FAIL_NODE, text);
    }
}

static bool is_agent(void *arg, pid_t pid)
{
    struct local *p = arg;

    for (struct agent_proc *a = p->agents; a; a = a->next)
        if (!a->ended && proc_pid(a->proc) == pid)
            return true;
    return false;
}

static bool is_agent_or_minded(void *arg, pid_t pid)
{
    return is_agent(arg, pid) || proc_is_minded(NULL, pid);
}

/* What an agent left behind. Its containers end when it does, and then their docker clients: nobody
 * is to start the tasks again before that. */
static void local_platform_end_rest(struct local *p)
{
    int64_t deadline = loop_in(p->opt.loop, MINDED_MS);

    proc_kill_strays(is_agent_or_minded, p);
    while (proc_minded_left() && loop_now(p->opt.loop) < deadline)
        if (fiber_sleep(p->opt.loop, MINDED_PAUSE_MS) < 0)
            break;
    proc_kill_strays(is_agent, p);
}

static void forget_proc(struct agent_proc *a)
{
    struct agent_proc **at = &a->local->agents;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    free(a);
}

/* One that was killed is replaced at once. Where agents end as soon as they begin, whatever the
 * reason, each end costs records in the log, and they are started ever more rarely. */
static void leave_place(struct local *p, const struct agent_proc *a)
{
    struct agent_place *place = &p->places[a->place];
    unsigned twice;

    place->agent = NULL;
    if (loop_now(p->opt.loop) - a->since >= SHORT_MS)
        place->short_lived = 0;
    else if (++place->short_lived > 1) {
        twice = place->short_lived - 2 < PAUSE_DOUBLED ? place->short_lived - 2 : PAUSE_DOUBLED;
        place->next = loop_in(p->opt.loop, PAUSE_MS << twice);
    }
}

/* Its end, however it came. */
static void bury_agent(void *arg)
{
    struct agent_proc *a = arg;
    struct local *p = a->local;
    char text[96];
    int status = 0, r;

    r = proc_wait(a->proc, LOOP_NEVER, &status);
    if (r < 0)
        (void)proc_signal_group(a->proc, SIGKILL); /* we are being ended ourselves */
    a->ended = true;
    if (p->places[a->place].agent == a)
        leave_place(p, a);
    a->proc = proc_free(a->proc);
    (void)snprintf(text, sizeof(text), "agent %u ended with code %d", a->number,
                   proc_exit_code(status));
    trace(LOG_PLATFORM, "%s", text);
    local_platform_end_rest(p);
    p->living--;
    cond_wake_all(&p->ended);
    lose_slots(p, a->number, text);
    forget_proc(a);
}

/* Nobody waits for it: of a thousand agents, a stack for each would be a sixth of our memory.
 * Without one for this slot the reason is reported again from time to time. */
static void on_agent_end(void *user)
{
    struct agent_proc *a = user;

    if (fiber_start(a->local->opt.loop, bury_agent, a, NULL, NULL) < 0)
        (void)proc_on_end(a->proc, on_agent_end, a);
}

static int open_log(const char *path)
{
    return path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
}

static int start_proc(struct local *p, struct agent_proc *a, struct err *err)
{
    char number[16], node[64], host[32];
    char *argv[] = { (char *)"ydl-node",
                     (char *)"agent",
                     (char *)"--join",
                     (char *)p->opt.join_file,
                     (char *)"--number",
                     number,
                     (char *)"--node",
                     node,
                     (char *)"--host",
                     host,
                     NULL };
    AUTO_CLOSE int log = open_log(p->opt.log_path);
    struct proc_spec spec = { .program = p->opt.node_program,
                              .argv = argv,
                              .fds = { -1, -1, log } };
    uint32_t machine = a->place % p->nodes;

    (void)snprintf(number, sizeof(number), "%u", a->number);
    if (p->nodes == 1)
        (void)snprintf(node, sizeof(node), "%s", p->opt.host_name);
    else
        (void)snprintf(node, sizeof(node), "node%u", machine);
    /* Every address of 127/8 is this machine: pretended nodes have different ones, as real nodes
     * would. */
    (void)snprintf(host, sizeof(host), "127.0.%u.%u", machine / 250, machine % 250 + 1);
    return proc_start(p->opt.loop, &spec, &a->proc, err);
}

static int local_platform_start_agent(struct local *p, uint32_t place, struct err *err)
{
    struct agent_proc *a = calloc(1, sizeof(*a));
    int r;

    if (!a)
        return err_oom(err);
    *a = (struct agent_proc){
        .local = p, .number = ++p->next_number, .place = place, .since = loop_now(p->opt.loop)
    };
    r = start_proc(p, a, err);
    if (r == 0)
        r = proc_on_end(a->proc, on_agent_end, a);
    if (r < 0) {
        a->proc = proc_free(a->proc);
        free(a);
        return err_wrap(err, r, "start an agent");
    }
    a->next = p->agents;
    p->agents = a;
    p->places[place].agent = a;
    p->living++;
    return 0;
}

static void local_platform_agent_gone(struct platform *base, uint32_t number, const char *why)
{
    struct local *p = (struct local *)base;

    for (struct agent_proc *a = p->agents; a; a = a->next)
        if (a->number == number && !a->ended) {
            trace(LOG_PLATFORM, "agent %u: %s, killed", number, why);
            (void)proc_signal_group(a->proc, SIGKILL);
        }
}

/* ---- slots ---- */

/* Machines take turns; within one, its agents do. */
static uint32_t local_platform_place_of(const struct local *p, uint32_t slot)
{
    uint32_t per_node = p->n_places / p->nodes;

    return slot % p->nodes + p->nodes * (slot / p->nodes % per_node);
}

/* Memory is booked in a ledger that all jobs of the user share, GPUs by locks that all users do.
 * Both or neither: what was booked goes back when there is no GPU. */
static int find_room(struct local *p, struct seat *s, struct err *err)
{
    struct gpus gpus = { 0 };
    int r;

    if (s->role->memory) {
        r = local_ledger_take(&p->opt, p->held, s->role->memory, err);
        if (r < 0)
            return r;
    }
    if (s->role->gpus)
        local_gpus_find(&gpus);
    r = local_gpus_take(&gpus, s->role->gpus, s->gpu_locks, s->gpus, err);
    if (r < 0) {
        if (s->role->memory)
            local_ledger_set(&p->opt, p->held);
        return r;
    }
    s->n_gpus = s->role->gpus;
    s->memory = s->role->memory;
    p->held += s->memory;
    return 0;
}

/* An agent is started for the first slot of its place and serves those that follow. */
static int grant(struct local *p, uint32_t slot, struct err *err)
{
    struct seat *s = p->seats[slot];
    uint32_t place = local_platform_place_of(p, slot);
    int r = find_room(p, s, err);

    if (r == 0 && !p->places[place].agent)
        r = local_platform_start_agent(p, place, err);
    if (r < 0 || !p->places[place].agent) {
        local_platform_vacate(p, s);
        return r;
    }
    s->pending = false;
    p->n_pending--;
    s->agent = p->places[place].agent->number;
    p->base.on.on_granted(p->base.on.user, slot, s->agent, s->gpus, s->n_gpus);
    return 0;
}

static bool is_pausing(const struct local *p, uint32_t slot)
{
    const struct agent_place *place = &p->places[local_platform_place_of(p, slot)];

    return !place->agent && loop_now(p->opt.loop) < place->next;
}

/* The reason for waiting is reported once, until something can be granted again. */
static void grant_all(struct local *p)
{
    for (uint32_t i = 0; i < p->n_seats && !p->closing; i++) {
        struct err err = ERR_INIT;
        int r;

        if (!p->seats[i] || !p->seats[i]->pending || is_pausing(p, i))
            continue;
        r = grant(p, i, &err);
        if (r == 0) {
            p->noted = false;
            continue;
        }
        if (r != -EAGAIN) { /* not a matter of waiting for others' jobs */
            p->seats[i]->pending = false;
            p->n_pending--;
            p->base.on.on_refused(p->base.on.user, i, true, err.text);
            continue;
        }
        if (!p->noted)
            p->base.on.on_note(p->base.on.user, err.text);
        p->noted = true;
    }
}

static void run_granter(void *arg)
{
    struct local *p = arg;
    int r = 0;

    while (r != -ECANCELED && !p->closing) {
        if (p->n_pending > 0)
            grant_all(p);
        r = cond_wait(p->opt.loop, &p->work,
                      p->n_pending ? loop_in(p->opt.loop, ROOM_RETRY_MS) : LOOP_NEVER);
    }
    p->granter = NULL;
    cond_wake_all(&p->ended);
}

static int local_platform_grow_seats(struct local *p, uint32_t slot, struct err *err)
{
    while (p->n_seats <= slot)
        if (ARRAY_ADD(p->seats, p->n_seats, NULL) < 0)
            return err_oom(err);
    if (!p->seats[slot])
        p->seats[slot] = calloc(1, sizeof(struct seat));
    return p->seats[slot] ? 0 : err_oom(err);
}

static int local_platform_ask(struct platform *base, uint32_t slot, const struct spec_role *role,
                              struct err *err)
{
    struct local *p = (struct local *)base;
    int r = local_platform_grow_seats(p, slot, err);

    if (r < 0)
        return r;
    if (p->seats[slot]->pending || p->seats[slot]->agent)
        return err_set(err, -EALREADY, "slot %u is asked for twice", slot);
    p->seats[slot]->role = role;
    p->seats[slot]->pending = true;
    p->n_pending++;
    cond_wake_all(&p->work);
    return 0;
}

static void local_platform_release(struct platform *base, uint32_t slot)
{
    struct local *p = (struct local *)base;
    struct seat *s = slot < p->n_seats ? p->seats[slot] : NULL;

    if (!s)
        return;
    if (s->pending) {
        s->pending = false;
        p->n_pending--;
        return;
    }
    if (!s->agent)
        return;
    local_platform_vacate(p, s);
}

/* ---- the end ---- */

/* First patience, then SIGKILL, then five seconds for the kernel; what is left after that are
 * strays, which are ours to end as a child subreaper. */
static int local_platform_on_close(struct platform *base, int64_t deadline, struct err *err)
{
    struct local *p = (struct local *)base;
    int r = 0;

    (void)err;
    p->closing = true;
    cond_wake_all(&p->work);
    while (r == 0 && (p->living > 0 || p->granter))
        r = cond_wait(p->opt.loop, &p->ended, deadline);
    for (struct agent_proc *a = p->agents; a; a = a->next)
        if (!a->ended)
            (void)proc_signal_group(a->proc, SIGKILL);
    fiber_shield(p->opt.loop, true);
    while (p->living > 0 && cond_wait(p->opt.loop, &p->ended, loop_in(p->opt.loop, 5000)) == 0)
        ;
    fiber_shield(p->opt.loop, false);
    proc_kill_strays(is_agent, p);
    local_ledger_set(&p->opt, 0);
    return 0;
}

static struct platform *local_platform_on_free(struct platform *base)
{
    struct local *p = (struct local *)base;
    struct agent_proc *next;

    for (struct agent_proc *a = p->agents; a; a = next) {
        next = a->next;
        a->proc = proc_free(a->proc);
        free(a);
    }
    for (uint32_t i = 0; i < p->n_seats; i++) {
        if (p->seats[i])
            local_gpus_release(p->seats[i]->gpu_locks, p->seats[i]->n_gpus);
        free(p->seats[i]);
    }
    free(p->seats);
    free(p->places);
    free(p);
    return NULL;
}

static const struct platform_ops local_ops = {
    .name = "local",
    .ask = local_platform_ask,
    .release = local_platform_release,
    .agent_gone = local_platform_agent_gone,
    .close = local_platform_on_close,
    .free = local_platform_on_free,
};

/* Agents for one machine: enough for all tasks it could get, by our limit and the system's. */
static uint32_t agents_per_node(const struct local_options *o, uint32_t nodes)
{
    size_t tasks = (spec_tasks(o->spec) + nodes - 1) / nodes, room = AGENT_TASKS_MAX;
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max / TASK_FDS < room)
        room = files.rlim_max / TASK_FDS ? files.rlim_max / TASK_FDS : 1;
    return (uint32_t)(tasks ? (tasks + room - 1) / room : 1);
}

int local_new(const struct local_options *opt, const struct platform_events *on,
              struct platform **ret, struct err *err)
{
    AUTO_FREE struct local *p = calloc(1, sizeof(*p));
    int r;

    if (!p)
        return err_oom(err);
    p->base = (struct platform){ .ops = &local_ops, .on = *on };
    p->opt = *opt;
    p->nodes = opt->nodes ? opt->nodes : 1;
    p->n_places = p->nodes * agents_per_node(opt, p->nodes);
    p->places = calloc(p->n_places, sizeof(*p->places));
    if (!p->places)
        return err_oom(err);
    /* What a killed agent leaves behind becomes our child, so that we can end it. */
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    r = fiber_start(opt->loop, run_granter, p, &p->granter, err);
    if (r < 0) {
        free(p->places);
        return r;
    }
    *ret = &take(p)->base;
    return 0;
}
