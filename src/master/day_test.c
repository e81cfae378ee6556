/* day_test.c - a day of a large job, as fast as it goes: what its log and its master's memory grow
 * by, and how long a new master takes to read it all. HDFS is a directory here.
 *
 * 1,000 tasks report their progress each second, and every two minutes one of them fails and starts
 * again: 720 times. Where that is the whole gang the log grows by 0.6 MB each time, and what a new
 * master reads of it does not: a smaller gang shows that within two hours. With YDL_DAY_HOURS=N
 * both are jobs of 1,000 tasks that live for N hours. */
#include "base/path.h"
#include "job/engine/engine_testing.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_yarn_private.h"
#include "master/yarn/recover.h"

#include <malloc.h>
#include <time.h>

#define TASKS 1000
#define RESTART_S 120    /* from one to the next */
#define PER_RESTART 2048 /* bytes of the log */
#define TAKE_OVER_MS 3000
#define PER_TASK 1024 /* bytes of the log for each task of a gang that starts again */
#define GANG_TASKS 200
#define GANG_HOURS 2
#define GANG_SUMMARY MIB        /* of records, from one summary to the next … */
#define USUAL_SUMMARY (8 * MIB) /* … and as it is with YDL_DAY_HOURS */

struct day {
    char dir[TEST_PATH];
    struct loop *loop;
    struct fs_set *set;
    struct master_container container;
    struct master_options opt;
    struct master_yarn side;
    struct master m; /* the first one */
    struct bench b;
    int hours;
    uint32_t tasks;
    bool gang; /* all of them start again */
};

struct used {
    uint64_t log;
    size_t memory;
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    (void)user;
    (void)task;
    (void)id;
    (void)words;
    (void)n;
}

/* HDFS gets it while the next second passes. */
static void take_lines(struct day *d, struct journal *j)
{
    work(&d->b);
    if (d->b.log.len == 0)
        return;
    assert_int_equal(journal_append(j, d->b.log.data, d->b.log.len), 0);
    buf_reset(&d->b.log);
    d->m.engine = d->b.e;
    summary_look(&d->m);
    while (!mirror_has(&d->m, j->size))
        assert_int_equal(fiber_yield(d->loop), 0);
}

static void open_log(struct day *d)
{
    const struct mirror_options o = { .parts = { d->container.logs, "events", "jsonl" },
                                      .journal = &d->m.journal,
                                      .what = "the events log",
                                      .summary = &d->side.summary };
    AUTO_FREE char *path = path_join(d->dir, "first.jsonl");

    assert_non_null(path);
    d->side = (struct master_yarn)MASTER_YARN_INIT(&d->container);
    d->m = (struct master){
        .loop = d->loop, .opt = &d->opt, .ops = &master_yarn_ops, .side = &d->side
    };
    d->side.summary.every = d->tasks == GANG_TASKS ? GANG_SUMMARY : 0;
    assert_int_equal(journal_open(&d->m.journal, path, NULL), 0);
    assert_int_equal(mirror_begin(&d->m, &o, &d->side.mirror, NULL), 0);
}

static void close_log(struct day *d)
{
    assert_int_equal(mirror_stop(&d->m, LOOP_NEVER), 0);
    journal_done(&d->m.journal);
    summary_done(&d->side.summary);
}

static struct used used_by(const struct journal *j)
{
    return (struct used){ j->size, mallinfo2().uordblks };
}

/* Each second, with `reports` of each task. */
static void live_for(struct day *d, struct journal *j, int seconds, int reports)
{
    char name[32];

    for (int s = 1; s <= seconds; s++) {
        for (int k = 0; k < reports; k++)
            for (uint32_t i = 0; i < d->tasks; i++)
                engine_on_progress(d->b.e, i, s, 1000000, NULL, d->b.now);
        if (s % RESTART_S == 0) {
            (void)snprintf(name, sizeof(name), "w:%d", s / RESTART_S % (int)d->tasks);
            ended(&d->b, name, 3);
        }
        pass(&d->b, 1000);
        take_lines(d, j);
    }
}

static void assert_bounded(const struct day *d, const struct used *from, const struct used *to)
{
    uint64_t hours = (uint64_t)d->hours - 1, restarts = hours * 3600 / RESTART_S;
    uint64_t per_restart = d->gang ? d->tasks * PER_TASK : PER_RESTART;
    /* One report an hour of each task stands in the log, however many there were. */
    uint64_t reports = hours * d->tasks * 160;

    assert_true(to->log - from->log < restarts * per_restart + reports);
    assert_true(to->memory < from->memory + restarts * 256 + 64 * KIB);
}

static int64_t clock_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A master after this one. Its time is that of the processor, so that no other load decides. */
static void take_over(struct day *d, uint64_t bytes)
{
    struct kv_events on = { .on_reply = on_reply };
    struct master_yarn side = MASTER_YARN_INIT(&d->container);
    struct master m = { .loop = d->loop, .opt = &d->opt, .ops = &master_yarn_ops, .side = &side };
    AUTO_FREE char *path = path_join(d->dir, "events.jsonl");
    struct task before = *engine_task(d->b.e, 77);
    uint32_t generation = engine_generation(d->b.e);
    int64_t began, took;
    size_t memory;

    d->b.e = engine_free(d->b.e);
    d->container.attempt = 2;
    assert_non_null(path);
    assert_int_equal(journal_open(&m.journal, path, NULL), 0);
    assert_int_equal(kv_new(&on, &m.kv, NULL), 0);
    assert_int_equal(history_new(&m.status.history, NULL), 0);
    begin(&d->b);
    m.engine = d->b.e;
    memory = mallinfo2().uordblks;
    began = clock_ms();
    assert_int_equal(recover_read(&m, NULL), 0);
    assert_int_equal(engine_resume(m.engine, d->b.now, NULL), 0);
    took = clock_ms() - began;
    print_message("%d hours: a log of %.1f MB, of which %.1f MB are read in %lld ms with %zu KiB\n",
                  d->hours, (double)bytes / 1e6, (double)m.journal.size / 1e6, (long long)took,
                  (mallinfo2().uordblks - memory) / 1024);
    if (d->gang)
        assert_true(m.journal.size < (d->side.summary.every ? GANG_SUMMARY : USUAL_SUMMARY) +
                                         (uint64_t)d->tasks * 4096);
    else
        assert_int_equal(m.journal.size, bytes);
    assert_int_equal(engine_generation(m.engine), generation);
    assert_int_equal(engine_task(m.engine, 77)->attempt, before.attempt);
    assert_int_equal(engine_task(m.engine, 77)->state, before.state);
    if (d->hours <= 24)
        assert_true(took <= TAKE_OVER_MS);
    journal_done(&m.journal);
    m.kv = kv_free(m.kv);
    m.status.history = history_free(m.status.history);
    recover_done(&m);
}

static int run_day(void *arg)
{
    struct day *d = arg;
    AUTO_FREE char *here = NULL;
    struct journal *j = &d->m.journal;
    struct used first, half, last;

    assert_int_equal(fs_set_new(d->loop, NULL, &d->set, NULL), 0);
    assert_int_equal(fs_find(d->set, d->dir, FS_ON_LOCAL, &d->container.fs, &here, NULL), 0);
    open_log(d);
    run_all(&d->b);
    live_for(d, j, 3600, 1);
    first = used_by(j);
    live_for(d, j, (d->hours - 1) * 1800, 1);
    half = used_by(j);
    live_for(d, j, (d->hours - 1) * 1800, 1);
    last = used_by(j);
    assert_bounded(d, &first, &last);
    assert_true(last.memory < half.memory + 64 * KIB);
    /* Ten times as many reports are not one byte more. */
    first = last;
    live_for(d, j, RESTART_S - 1, 1);
    half = used_by(j);
    live_for(d, j, RESTART_S - 1, 10);
    last = used_by(j);
    assert_true(last.log - half.log <= half.log - first.log + 64 * KIB);
    close_log(d);
    take_over(d, last.log);
    d->b.e = engine_free(d->b.e);
    d->set = fs_set_free(d->set);
    return 0;
}

static void live_a_day(enum spec_policy policy, int usual)
{
    struct day *d = calloc(1, sizeof(*d));
    const char *hours = getenv("YDL_DAY_HOURS");

    assert_non_null(d);
    d->gang = policy == SPEC_RESTART_GANG;
    d->tasks = d->gang && !hours ? GANG_TASKS : TASKS;
    d->hours = hours ? (int)strtol(hours, NULL, 10) : usual;
    assert_non_null(test_dir(d->dir, "day"));
    d->container = (struct master_container){ .attempt = 1,
                                              .logs = path_join(d->dir, "logs"),
                                              .jobs = path_join(d->dir, "jobs") };
    assert_int_equal(path_mkdirs(d->container.logs, 0700, NULL), 0);
    assert_int_equal(path_mkdirs(d->container.jobs, 0700, NULL), 0);
    bench_init(&d->b, policy, 1000000);
    (void)role(&d->b, "w", d->tasks);
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, run_day, d, false), 0);
    loop_free(d->loop);
    assert_int_equal(path_remove(d->dir, NULL), 0);
    free(d->container.logs);
    free(d->container.jobs);
    buf_done(&d->b.log);
    free(d);
}

static void a_day_leaves_little_behind(void **state)
{
    (void)state;
    live_a_day(SPEC_RESTART_TASK, 24);
}

static void a_gang_that_starts_again_for_long_is_taken_over_as_fast(void **state)
{
    (void)state;
    live_a_day(SPEC_RESTART_GANG, GANG_HOURS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_day_leaves_little_behind),
        cmocka_unit_test(a_gang_that_starts_again_for_long_is_taken_over_as_fast),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
