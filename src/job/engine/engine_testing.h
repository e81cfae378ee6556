/* engine_testing.h - what the tests of the engine share: a specification written by hand, a master
 * that does what it is told at once, and what the log says. */
#pragma once
#include "job/engine/engine.h"
#include "job/history.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* Not every test uses all of it. */
#define TESTING __attribute__((unused)) static

#define T0 INT64_C(1763274830000)
#define ROLES 4
#define EVERYBODY UINT32_MAX

struct bench {
    struct spec spec;
    struct spec_role roles[ROLES];
    struct spec_after after[ROLES];
    struct engine_options opt;
    struct engine *e;
    int64_t now;
    uint32_t done[ACTION_END + 1]; /* how many actions of each kind were seen */
    uint32_t last[ACTION_END + 1]; /* the last one's id */
    int64_t last_grace;
    bool lazy; /* actions are only counted */
    uint16_t next_port;
    struct buf log;
};

/* Roles are added with role(); then begin() makes the engine. */
TESTING void bench_init(struct bench *b, enum spec_policy policy, int64_t max)
{
    *b = (struct bench){ .now = T0, .next_port = 10000 };
    b->spec = (struct spec){ .roles = b->roles,
                             .restart = { policy, max, 0 },
                             .gang_hold = 300000,
                             .gang_retry = SPEC_FOREVER,
                             .grace = 30000 };
    buf_init(&b->log, 64 * MIB);
}

TESTING struct spec_role *role(struct bench *b, const char *name, unsigned count)
{
    struct spec_role *r = &b->roles[b->spec.n_roles++];

    *r = (struct spec_role){ .name = (char *)name,
                             .count = count,
                             .procs = 1,
                             .restart = { .max = -1 },
                             .side = -1,
                             .decides = -1,
                             .ports = 1 };
    return r;
}

/* `r` starts after `other` has come so far. */
TESTING void after(struct bench *b, struct spec_role *r, const char *other, enum spec_when when)
{
    struct spec_after *a = &b->after[r - b->roles];

    *a = (struct spec_after){ (char *)other, when };
    r->after = (struct spec_afters){ a, 1 };
}

TESTING void begin(struct bench *b)
{
    assert_int_equal(engine_new(&b->spec, &b->opt, &b->e, NULL), 0);
}

TESTING int bench_done(void **state)
{
    struct bench *b = *state;

    engine_free(b->e);
    buf_done(&b->log);
    free(b);
    return 0;
}

TESTING int bench_setup(void **state)
{
    *state = calloc(1, sizeof(struct bench));
    return *state ? 0 : -1;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_done)

TESTING const struct task *task(const struct bench *b, const char *name)
{
    uint32_t id = 0;

    assert_int_equal(engine_find_task(b->e, name, &id, NULL), 0);
    return engine_task(b->e, id);
}

TESTING uint32_t id_of(const struct bench *b, const char *name)
{
    return task(b, name)->id;
}

TESTING enum task_state state_of(const struct bench *b, const char *name)
{
    return task(b, name)->state;
}

/* ---- a master and agents that do everything at once ---- */

TESTING void do_prepare(struct bench *b, uint32_t id)
{
    const struct task *t = engine_task(b->e, id);
    uint16_t port = t->n_ports ? t->port[0] : b->next_port++;

    assert_int_equal(engine_on_prepared(b->e, id, &port, 1, b->now, NULL), 0);
}

TESTING void do_action(struct bench *b, const struct action *a)
{
    if (a->kind == ACTION_ASK) {
        assert_int_equal(engine_on_granted(b->e, a->id, 100 + a->id, b->now, NULL), 0);
        assert_int_equal(engine_on_agent_up(b->e, a->id, b->now, NULL), 0);
    } else if (a->kind == ACTION_PREPARE) {
        do_prepare(b, a->id);
    } else if (a->kind == ACTION_FORM) {
        assert_int_equal(engine_on_formed(b->e, b->now, NULL), 0);
    } else if (a->kind == ACTION_START) {
        assert_int_equal(engine_on_started(b->e, a->id, 1000 + (int)a->id, b->now, NULL), 0);
    } else if (a->kind == ACTION_STOP) {
        struct engine_end end = { .cls = FAIL_SIGNAL, .signal = 15, .when = b->now };

        assert_int_equal(engine_on_ended(b->e, a->id, &end, b->now, NULL), 0);
    }
}

/* Carries out what there is to do, or with `lazy` only counts it. */
TESTING void work(struct bench *b)
{
    struct action a;

    while (engine_next_action(b->e, &a)) {
        b->done[a.kind]++;
        b->last[a.kind] = a.id;
        if (a.kind == ACTION_STOP)
            b->last_grace = a.grace;
        if (!b->lazy)
            do_action(b, &a);
        if (a.kind == ACTION_END)
            engine_close(b->e, b->now);
    }
    assert_int_equal(engine_events(b->e, &b->log), 0);
}

TESTING void forget_counts(struct bench *b)
{
    memset(b->done, 0, sizeof(b->done));
}

/* To RUNNING, with everybody started. */
TESTING void run_all(struct bench *b)
{
    begin(b);
    assert_int_equal(engine_start(b->e, b->now, NULL), 0);
    work(b);
    assert_int_equal(engine_state(b->e), JOB_RUNNING);
    forget_counts(b);
}

/* Time goes on to `ms` later; the engine is called whenever it wants to be. */
TESTING void pass(struct bench *b, int64_t ms)
{
    int64_t until = b->now + ms;

    while (engine_deadline(b->e) <= until) {
        if (engine_deadline(b->e) > b->now)
            b->now = engine_deadline(b->e);
        assert_int_equal(engine_on_time(b->e, b->now, NULL), 0);
        work(b);
    }
    b->now = until;
}

TESTING void ended_as(struct bench *b, const char *name, struct engine_end end)
{
    if (end.when == 0)
        end.when = b->now;
    assert_int_equal(engine_on_ended(b->e, id_of(b, name), &end, b->now, NULL), 0);
    work(b);
}

TESTING void ended(struct bench *b, const char *name, int code)
{
    ended_as(b, name, (struct engine_end){ .cls = code ? FAIL_EXIT : FAIL_NONE, .code = code });
}

TESTING void lost(struct bench *b, const char *name, enum fail_class cls)
{
    assert_int_equal(engine_on_lost(b->e, task(b, name)->slot, cls, NULL, b->now, NULL), 0);
    work(b);
}

TESTING struct outcome outcome_of(const struct bench *b)
{
    struct outcome o;

    engine_outcome(b->e, &o);
    return o;
}

TESTING void assert_ended(const struct bench *b, enum job_state state, int exit)
{
    assert_string_equal(job_state_name(engine_state(b->e)), job_state_name(state));
    assert_int_equal(outcome_of(b).exit, exit);
}

/* Whether a line of the log has all of these pieces; the second may be NULL. */
TESTING bool logged(struct bench *b, const char *one, const char *two)
{
    const char *line, *end;

    assert_int_equal(engine_events(b->e, &b->log), 0);
    for (line = buf_text(&b->log); line && *line; line = end + 1) {
        const char *x = strstr(line, one), *y = two ? strstr(line, two) : line;

        end = strchr(line, '\n');
        if (x && x < end && y && y < end)
            return true;
    }
    return false;
}
