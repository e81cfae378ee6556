/* engine_sim_testing.h - a pretended world for the engine: containers that come late, agents that
 * answer when they like, processes that die, machines that vanish. All from one seed. */
#pragma once
#include "job/engine/engine.h"
#include "job/engine/outcome.h"
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SIM_TASKS 64
#define SIM_QUEUE 4096
#define SIM_T0 INT64_C(1763274830000)

/* Assertions name the run that they failed in. */
#define CHECK(w, cond)                                                                             \
    do {                                                                                           \
        if (!(cond))                                                                               \
            fail_msg("seed %u, step %u: %s", (w)->seed0, (w)->steps, #cond);                       \
    } while (0)

enum sim_kind {
    SIM_GRANTED,
    SIM_REFUSED,
    SIM_UP,
    SIM_PREPARED,
    SIM_EXEC, /* the agent starts the process */
    SIM_STARTED,
    SIM_READY,
    SIM_DIES, /* the process ends, by itself or not */
    SIM_ENDED,
    SIM_LOST,
    SIM_LEAVING, /* it will be */
    SIM_AGAIN,   /* the agent dies, and another one stands in its place */
    SIM_FORMED,
    SIM_AWAY, /* an agent's connection breaks */
    SIM_BACK, /* it finds its master again, or a new one */
};

struct sim_message {
    int64_t at;
    uint32_t order; /* of equal times */
    enum sim_kind kind;
    uint32_t id;   /* slot or task */
    uint32_t life; /* of the container or the process: when it is another one by now, too late */
    uint32_t attempt;
    bool again; /* it has been told before */
    struct engine_end end;
};

enum sim_place { SIM_NOTHING, SIM_PREPARING, SIM_HELD, SIM_STARTING, SIM_ALIVE };

struct sim_task {
    enum sim_place place;
    uint32_t life;
    bool open;       /* started, as far as the engine was told to, and no end told */
    bool deaf;       /* does not end when told to */
    bool stopped;    /* ACTION_STOP was given */
    bool down;       /* failed, and not started since */
    bool restarts;   /* a person wants it to, and it has not begun to */
    int64_t stop_at; /* when */
    uint32_t starts, generation;
    uint16_t port, started_port; /* 0: none */
    uint16_t lost_port;          /* of the last container */
    bool new_port;
    bool dead;             /* has run, and was not started since: how it ended is told again */
    uint32_t attempt;      /* of the last start, as its agent was told */
    struct engine_end end; /* how it ended */
};

struct sim_slot {
    bool asked, held, up, leaving;
    bool orphan; /* no master knows of it */
    bool fresh;  /* its agent died while no master was there */
    uint32_t life, container;
    int64_t last; /* messages of one agent keep their order */
};

struct sim {
    uint32_t seed0, seed, steps;
    struct spec spec;
    struct spec_role roles[3];
    struct spec_after after;
    struct engine_options opt;
    struct engine *e;
    int64_t now;
    struct sim_task tasks[SIM_TASKS];
    struct sim_slot slots[SIM_TASKS];
    struct sim_message queue[SIM_QUEUE];
    uint32_t n_queue, order;
    uint16_t next_port;
    bool ended, forming;
    bool named;  /* tasks know each other by names */
    bool alone;  /* there is no master at the moment */
    bool gaps;   /* what was said was lost, or is told again */
    bool behind; /* what a master wrote last was lost, once at least */
    uint32_t masters;
    bool summaries;         /* the log begins with one now and then */
    bool calm;              /* nobody wants anything, and ports can be had again */
    unsigned trouble;       /* in a hundred */
    uint32_t workers;       /* containers of them that a person wants */
    uint32_t workers_since; /* the generation in which one started, and 1 */
    /* What the log said. */
    struct buf log;  /* what the engines said that counts */
    struct buf disk; /* what was written */
    size_t read, written;
    uint32_t n_down;
    int64_t story; /* the earliest failure since everybody was well; INT64_MAX: none */
    bool finishing;
    bool reforming; /* everybody is being stopped, to start again */
};

/* The number of the agent in the container that a slot has. */
static inline uint32_t sim_agent(const struct sim *w, uint32_t slot)
{
    return w->slots[slot].container * SIM_TASKS + slot;
}

static inline uint32_t draw(struct sim *w, uint32_t n)
{
    w->seed = w->seed * 1664525 + 1013904223;
    return (w->seed >> 8) % n;
}

static inline bool chance(struct sim *w, unsigned percent)
{
    return draw(w, 100) < percent;
}

/* So much later than it should be: mostly not at all. */
static inline int64_t sim_late(struct sim *w)
{
    return !w->calm && chance(w, w->trouble / 6) ? 5000 + draw(w, 60000) : 0;
}

static inline void post(struct sim *w, enum sim_kind kind, uint32_t id, int64_t delay)
{
    struct sim_message *m = &w->queue[w->n_queue++];

    CHECK(w, w->n_queue < SIM_QUEUE);
    *m = (struct sim_message){ .at = w->now + delay, .order = w->order++, .kind = kind, .id = id };
}

/* From the agent of a slot: in order. */
static inline struct sim_message *tell(struct sim *w, enum sim_kind kind, uint32_t task,
                                       int64_t delay)
{
    struct sim_slot *s = &w->slots[engine_task(w->e, task)->slot];
    struct sim_message *m = &w->queue[w->n_queue];

    post(w, kind, task, delay);
    if (m->at < s->last)
        m->at = s->last;
    s->last = m->at;
    m->life = s->life;
    m->attempt = w->tasks[task].attempt;
    return m;
}

static inline bool earlier(const struct sim_message *a, const struct sim_message *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static inline struct sim_message take_first(struct sim *w)
{
    uint32_t best = 0;
    struct sim_message m;

    for (uint32_t i = 1; i < w->n_queue; i++)
        if (earlier(&w->queue[i], &w->queue[best]))
            best = i;
    m = w->queue[best];
    w->queue[best] = w->queue[--w->n_queue];
    return m;
}

static inline int64_t first_time(const struct sim *w)
{
    int64_t at = INT64_MAX;

    for (uint32_t i = 0; i < w->n_queue; i++)
        if (w->queue[i].at < at)
            at = w->queue[i].at;
    return at;
}

/* How a process will end: mostly well, else in any of the ways there are. */
static inline struct engine_end sim_fate(struct sim *w)
{
    static const struct engine_end bad[] = {
        { .cls = FAIL_EXIT, .code = 1 },      { .cls = FAIL_EXIT, .code = 2 },
        { .cls = FAIL_SIGNAL, .signal = 9 },  { .cls = FAIL_SIGNAL, .signal = 11 },
        { .cls = FAIL_MEMORY, .signal = 9 },  { .cls = FAIL_NOT_READY, .signal = 9 },
        { .cls = FAIL_DISK, .code = 1 },      { .cls = FAIL_PORT, .code = 1 },
        { .cls = FAIL_PERSON, .signal = 15 }, { .cls = FAIL_EXIT, .code = 127 },
    };
    struct engine_end well = { .cls = FAIL_NONE };
    uint32_t i = draw(w, COUNT_OF(bad));

    if (!chance(w, w->trouble))
        return well;
    return i + 1 == COUNT_OF(bad) && chance(w, 70) ? bad[0] : bad[i];
}
