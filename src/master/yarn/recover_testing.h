/* recover_testing.h - one master after the other, for tests: HDFS is a directory, and the agents do
 * at once what they are told. */
#pragma once
#include "base/path.h"
#include "job/engine/engine_testing.h"
#include "job/segment.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/missing_output.h"
#include "master/yarn/recover.h"

struct desk {
    char dir[TEST_PATH];
    struct loop *loop;
    struct fs_set *set;
    struct master_container container;
    struct job_dir job;
    struct master_options opt;
    struct master_yarn side;
    struct master m;
    struct bench b; /* the job, whose engine is the present master's */
    void (*body)(struct desk *d);
    bool summaries; /* segments begin with them, as often as can be */
};

TESTING void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    (void)user;
    (void)task;
    (void)id;
    (void)words;
    (void)n;
}

/* What the engine has said goes into the journal, and from there into HDFS. */
TESTING void keep_events(struct desk *d)
{
    AUTO_BUF lines = { .max = MIB };

    assert_int_equal(engine_events(d->b.e, &lines), 0);
    if (d->b.log.len > 0)
        journal_append(&d->m.journal, d->b.log.data, d->b.log.len);
    buf_reset(&d->b.log);
    if (lines.len > 0)
        journal_append(&d->m.journal, lines.data, lines.len);
    d->side.summary.len = 0;
    if (d->summaries)
        summary_look(&d->m);
}

TESTING void say_master(struct desk *d)
{
    struct event e;

    engine_event(d->b.e, EVENT_MASTER, d->b.now, &e);
    event_int(&e, "attempt", d->container.attempt);
    assert_int_equal(event_end(&e), 0);
}

/* The master of the next attempt, on a machine of its own, has read the log. */
TESTING void open_master(struct desk *d)
{
    struct kv_events on = { .user = &d->m, .on_reply = on_reply };
    AUTO_FREE char *path = NULL;

    d->container.attempt++;
    d->side = (struct master_yarn)MASTER_YARN_INIT(&d->container);
    d->m = (struct master){
        .loop = d->loop, .opt = &d->opt, .ops = &master_yarn_ops, .side = &d->side, .left = true
    };
    d->m.journal.fd = -1;
    d->side.summary.every = 1;
    assert_int_equal(blacklist_new(BLACKLIST_NODES_FAULT, 0, &d->m.avoid, NULL), 0);
    free(d->job.path);
    d->job.path = str_printf("%s/attempt-%d", d->dir, d->container.attempt);
    assert_non_null(d->job.path);
    assert_int_equal(path_mkdirs(d->job.path, 0700, NULL), 0);
    path = path_join(d->job.path, "events.jsonl");
    assert_non_null(path);
    assert_int_equal(journal_open(&d->m.journal, path, NULL), 0);
    assert_int_equal(kv_new(&on, &d->m.kv, NULL), 0);
    begin(&d->b);
    d->m.engine = d->b.e;
    assert_int_equal(recover_read(&d->m, NULL), 0);
    say_master(d);
}

/* … and goes on with the job. */
TESTING void next_master(struct desk *d)
{
    open_master(d);
    if (d->container.attempt == 1)
        assert_int_equal(engine_start(d->b.e, d->b.now, NULL), 0);
    else
        assert_int_equal(engine_resume(d->b.e, d->b.now, NULL), 0);
    assert_int_equal(mirror_start(&d->m, NULL), 0);
    work(&d->b);
    keep_events(d);
}

/* Its agents come back, with what they had. */
TESTING void agents_return(struct desk *d)
{
    for (uint32_t i = 0; i < engine_n_tasks(d->b.e); i++) {
        const struct task *t = engine_task(d->b.e, i);
        struct engine_held held = { .task = i,
                                    .generation = t->generation,
                                    .attempt = t->attempt,
                                    .pid = t->pid,
                                    .ports = t->port,
                                    .n_ports = t->n_ports };

        assert_int_equal(engine_on_held(d->b.e, &held, d->b.now, NULL), 0);
    }
    for (uint32_t i = 0; i < engine_n_slots(d->b.e); i++)
        assert_int_equal(engine_on_agent_up(d->b.e, i, d->b.now, NULL), 0);
    work(&d->b);
    keep_events(d);
}

/* Killed; what is in HDFS stays. */
TESTING void kill_master(struct desk *d)
{
    (void)mirror_stop(&d->m, LOOP_NEVER);
    outputs_done(&d->m);
    agents_done(&d->m);
    journal_done(&d->m.journal);
    kvlog_done(&d->m);
    summary_done(&d->side.summary);
    d->m.avoid = blacklist_free(d->m.avoid);
    d->m.kv = kv_free(d->m.kv);
    recover_done(&d->m);
    d->b.e = engine_free(d->b.e);
}

/* Agent `number`, on which the task has been started. */
TESTING struct agent_conn *agent_with(struct desk *d, uint32_t number, const char *name,
                                      uint32_t attempt)
{
    struct agent_conn *a;
    uint32_t id = 0;

    assert_int_equal(agents_expect(&d->m, number, NULL), 0);
    assert_int_equal(engine_find_task(d->b.e, name, &id, NULL), 0);
    a = agents_get(&d->m, number);
    (void)snprintf(a->node, sizeof(a->node), "n%u", number);
    outputs_started(&d->m, a, id, attempt);
    return a;
}

/* What is said at the end of output that is missing. */
TESTING void assert_missing(struct desk *d, const char *const *said)
{
    AUTO_BUF lines = { .max = MIB };
    size_t n = 0, wanted = 0;

    outputs_tell(&d->m);
    assert_int_equal(engine_events(d->b.e, &lines), 0);
    for (; *said; said++, wanted++)
        if (!lines.len || !memmem(lines.data, lines.len, *said, strlen(*said)))
            fail_msg("'%s' is not in %.*s", *said, (int)lines.len, (const char *)lines.data);
    for (size_t i = 0; i + 9 < lines.len; i++)
        n += memcmp(lines.data + i, "\"missing\"", 9) == 0;
    assert_int_equal(n, wanted);
}

TESTING int on_desk(void *arg)
{
    struct desk *d = arg;
    AUTO_FREE char *path = NULL;

    assert_int_equal(fs_set_new(d->loop, NULL, &d->set, NULL), 0);
    assert_int_equal(fs_find(d->set, d->dir, FS_ON_LOCAL, &d->container.fs, &path, NULL), 0);
    d->container.jobs = path_join(d->dir, "jobs");
    d->container.logs = path_join(d->dir, "logs");
    assert_non_null(d->container.jobs);
    assert_non_null(d->container.logs);
    assert_int_equal(path_mkdirs(d->container.jobs, 0700, NULL), 0);
    assert_int_equal(path_mkdirs(d->container.logs, 0700, NULL), 0);
    d->body(d);
    free(d->container.jobs);
    free(d->container.logs);
    free(d->job.path);
    buf_done(&d->b.log);
    d->set = fs_set_free(d->set);
    return 0;
}

TESTING void with_desk_of(const char *name, unsigned count, enum spec_policy policy, int64_t max,
                          void (*body)(struct desk *d))
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    d->body = body;
    d->opt = (struct master_options){ .dir = &d->job };
    bench_init(&d->b, policy, max);
    (void)role(&d->b, name, count);
    assert_non_null(test_dir(d->dir, "recover"));
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, on_desk, d, false), 0);
    loop_free(d->loop);
    assert_int_equal(path_remove(d->dir, NULL), 0);
    free(d);
}

TESTING void with_desk(enum spec_policy policy, int64_t max, void (*body)(struct desk *d))
{
    with_desk_of("w", 3, policy, max, body);
}
