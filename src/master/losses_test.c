/* losses_test.c - a job that loses 20,000 agents, one after the other, and has had enough restarts
 * allowed for that: what its masters keep of them. YDL_LOSSES=N makes it another number. HDFS is a
 * directory here. */
#include "base/path.h"
#include "job/engine/engine_testing.h"
#include "job/history_private.h"
#include "master/yarn/missing_output.h"
#include "master/yarn/recover.h"

#include <malloc.h>

#define TASKS 8
#define WARM 2000 /* losses before the first look at the memory */

struct losses {
    char dir[TEST_PATH];
    struct loop *loop;
    struct fs_set *set;
    struct master_container container;
    struct master_options opt;
    struct bench b;
    struct history *history;
    struct journal j;
    uint32_t agent; /* the last number */
    uint32_t most;  /* agents that the history knew at a time */
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    (void)user;
    (void)task;
    (void)id;
    (void)words;
    (void)n;
}

/* As agents_tell() writes it. */
static void tell_agent(struct losses *x, uint32_t agent, const char *state)
{
    char container[32];
    struct event e;

    (void)snprintf(container, sizeof(container), "container_%u", agent);
    engine_event(x->b.e, EVENT_AGENT, x->b.now, &e);
    event_int(&e, "agent", agent);
    event_str(&e, "state", state);
    event_str(&e, "node", "a-node-of-the-cluster.example.com:8041");
    event_str(&e, "host", "10.11.12.13");
    event_str(&e, "container", container);
    assert_int_equal(event_end(&e), 0);
}

/* What was asked for is there at once, with an agent of a new number. */
static void serve(struct losses *x)
{
    struct action a;

    while (engine_next_action(x->b.e, &a)) {
        if (a.kind == ACTION_ASK) {
            assert_int_equal(engine_on_granted(x->b.e, a.id, ++x->agent, x->b.now, NULL), 0);
            tell_agent(x, x->agent, "up");
            assert_int_equal(engine_on_agent_up(x->b.e, a.id, x->b.now, NULL), 0);
        } else {
            do_action(&x->b, &a);
        }
    }
    assert_int_equal(engine_events(x->b.e, &x->b.log), 0);
}

static void keep(struct losses *x)
{
    const char *line = buf_text(&x->b.log), *end;

    assert_int_equal(journal_append(&x->j, x->b.log.data, x->b.log.len), 0);
    for (; (end = strchr(line, '\n')); line = end + 1)
        assert_int_equal(history_apply(x->history, line, (size_t)(end - line), NULL), 0);
    x->most = x->history->agents.n > x->most ? x->history->agents.n : x->most;
    buf_reset(&x->b.log);
}

static void lose(struct losses *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t slot = i % TASKS, old = engine_slot_agent(x->b.e, slot);

        x->b.now += 60000;
        tell_agent(x, old, "lost");
        assert_int_equal(engine_on_lost(x->b.e, slot, FAIL_NODE, "it is gone", x->b.now, NULL), 0);
        serve(x);
        while (engine_task(x->b.e, slot)->state != TASK_RUNNING) {
            x->b.now = engine_deadline(x->b.e);
            assert_int_equal(engine_on_time(x->b.e, x->b.now, NULL), 0);
            serve(x);
        }
        if (x->b.log.len > 256 * KIB)
            keep(x);
    }
    keep(x);
}

/* Every task is shown where it is. */
static void assert_known(const struct losses *x, const struct agent_log *l)
{
    assert_in_range(l->n, TASKS, 4 * TASKS + 256);
    for (uint32_t i = 0; i < TASKS; i++) {
        const struct logged_agent *a = agent_log_find(l, engine_slot_agent(x->b.e, i));

        assert_non_null(a);
        assert_false(a->lost);
        assert_true(strlen(a->container) > strlen("container_"));
    }
}

static void take_over(struct losses *x)
{
    struct kv_events on = { .on_reply = on_reply };
    struct master_yarn side = MASTER_YARN_INIT(&x->container);
    struct master m = { .loop = x->loop, .opt = &x->opt, .ops = &master_yarn_ops, .side = &side };
    AUTO_FREE char *path = path_join(x->dir, "events.jsonl");
    size_t memory;

    x->b.e = engine_free(x->b.e);
    x->container.attempt = 2;
    assert_non_null(path);
    assert_int_equal(journal_open(&m.journal, path, NULL), 0);
    assert_int_equal(kv_new(&on, &m.kv, NULL), 0);
    begin(&x->b);
    m.engine = x->b.e;
    memory = mallinfo2().uordblks;
    assert_int_equal(recover_read(&m, NULL), 0);
    assert_int_equal(engine_resume(m.engine, x->b.now, NULL), 0);
    print_message("read back with %zu KiB\n", (mallinfo2().uordblks - memory) / 1024);
    assert_true(mallinfo2().uordblks < memory + 256 * KIB);
    assert_int_equal(engine_last_agent(m.engine), x->agent);
    assert_known(x, recover_agents(&m));
    journal_done(&m.journal);
    m.kv = kv_free(m.kv);
    recover_done(&m);
    outputs_done(&m);
}

static int run_losses(void *arg)
{
    struct losses *x = arg;
    AUTO_FREE char *here = NULL;
    AUTO_FREE char *path = path_join(x->container.logs, "events-1.jsonl");
    const char *count = getenv("YDL_LOSSES");
    size_t memory;

    assert_non_null(path);
    assert_int_equal(fs_set_new(x->loop, NULL, &x->set, NULL), 0);
    assert_int_equal(fs_find(x->set, x->dir, FS_ON_LOCAL, &x->container.fs, &here, NULL), 0);
    assert_int_equal(journal_open(&x->j, path, NULL), 0);
    assert_int_equal(history_new(&x->history, NULL), 0);
    begin(&x->b);
    assert_int_equal(engine_created(x->b.e, &(struct engine_facts){ .job = "j" }, x->b.now, NULL),
                     0);
    assert_int_equal(engine_start(x->b.e, x->b.now, NULL), 0);
    serve(x);
    assert_int_equal(engine_state(x->b.e), JOB_RUNNING);
    lose(x, WARM);
    memory = mallinfo2().uordblks;
    lose(x, (count ? (uint32_t)strtoul(count, NULL, 10) : 20000) - WARM);
    print_message("%u agents: a log of %.1f MB, %lld bytes more in memory\n", x->agent,
                  (double)x->j.size / 1e6, (long long)(mallinfo2().uordblks - memory));
    assert_true(mallinfo2().uordblks < memory + 64 * KIB);
    assert_in_range(x->most, TASKS, 4096); /* a batch of lines is applied at a time */
    assert_known(x, &x->history->agents);
    journal_done(&x->j);
    take_over(x);
    x->history = history_free(x->history);
    x->b.e = engine_free(x->b.e);
    x->set = fs_set_free(x->set);
    return 0;
}

static void agents_that_are_lost_take_no_memory(void **state)
{
    struct losses *x = calloc(1, sizeof(*x));

    (void)state;
    assert_non_null(x);
    assert_non_null(test_dir(x->dir, "losses"));
    x->container = (struct master_container){ .attempt = 1,
                                              .logs = path_join(x->dir, "logs"),
                                              .jobs = path_join(x->dir, "jobs") };
    assert_int_equal(path_mkdirs(x->container.logs, 0700, NULL), 0);
    assert_int_equal(path_mkdirs(x->container.jobs, 0700, NULL), 0);
    bench_init(&x->b, SPEC_RESTART_TASK, 1000000);
    x->b.opt.losses_max = UINT32_MAX;
    x->b.opt.elastic = true;
    (void)role(&x->b, "w", TASKS);
    assert_int_equal(loop_new(&x->loop, NULL), 0);
    assert_int_equal(loop_run(x->loop, run_losses, x, false), 0);
    loop_free(x->loop);
    assert_int_equal(path_remove(x->dir, NULL), 0);
    free(x->container.logs);
    free(x->container.jobs);
    buf_done(&x->b.log);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agents_that_are_lost_take_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
