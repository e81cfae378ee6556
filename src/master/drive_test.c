/* drive_test.c - how the driver ends a job, and what it makes of a container that is lost; see
 * drive.c and lost.c. */
#include "job/engine/engine_private.h"
#include "master/drive_testing.h"

#include <sys/resource.h>

static void kill_it(struct desk *d)
{
    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    master_unsaved(&d->m, "said after it had been decided");
    d->m.journal.lost = 3;
    master_wake(&d->m);
}

static void ends_killed(struct desk *d)
{
    AUTO_FREE char *path = path_join(d->dir, "events.jsonl");
    AUTO_BUF text = { .max = MIB };

    drive(d);
    assert_last(d, "\"event\":\"end\"", "\"KILLED\"");
    assert_last(d, "\"event\":\"end\"", "\"unsaved\":true"); /* lists read nothing else */
    assert_int_equal(path_read(path, &text, NULL), 0);
    assert_non_null(memmem(text.data, text.len, "the disk was full: 3 pieces of this log", 39));
}

static void the_end_is_the_last_record(void **state)
{
    (void)state;
    with_desk(ends_killed, kill_it);
}

static void spoil_it(struct desk *d)
{
    struct err err = ERR_INIT;

    engine_oom(d->m.engine);
    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), &err), -ENOMEM);
    master_fault(&d->m, &err);
}

static void ends_by_itself(struct desk *d)
{
    drive(d);
    assert_last(d, "\"event\":\"end\"", "\"exit\":70");
    assert_last(d, "\"FAILED\"", "ran out of memory");
}

static void an_engine_without_memory_ends_the_job(void **state)
{
    (void)state;
    with_desk(ends_by_itself, spoil_it);
}

/* ---- with an agent ---- */

static const struct platform_ops elsewhere = {
    .name = "test", .apart = true, .ask = no_ask, .release = no_release
};

/* Agent 1, connected: *ret is its side. */
static struct agent_conn *bring_agent(struct desk *d, struct channel **ret)
{
    static const struct channel_limits limits = { .frame_max = MIB, .queue_max = MIB };
    struct stream *s[2] = { 0 };
    struct agent_conn *a;

    assert_int_equal(agents_expect(&d->m, 1, NULL), 0);
    a = agents_get(&d->m, 1);
    connected_streams(d->loop, s);
    assert_int_equal(channel_new(d->loop, s[0], &limits, &a->channel, NULL), 0);
    assert_int_equal(channel_new(d->loop, s[1], &limits, ret, NULL), 0);
    (void)snprintf(a->node, sizeof(a->node), "n1");
    return a;
}

/* What the agent is told next. */
static void assert_told(struct desk *d, struct channel *c, Agent__ToAgent__BodyCase what)
{
    ProtobufCMessage *msg = NULL;

    assert_int_equal(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, TEST_MS), &msg, NULL), 1);
    assert_int_equal(((Agent__ToAgent *)msg)->body_case, what);
    protobuf_c_message_free_unpacked(msg, NULL);
}

/* ---- the end, where a master may come after us ---- */

static void save_it(struct desk *d)
{
    AUTO_FREE char *path = path_join(d->dir, "logs/events-1.jsonl");
    AUTO_BUF text = { .max = MIB };
    struct channel *c = NULL;
    struct agent_conn *a = bring_agent(d, &c);

    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    master_wake(&d->m);
    assert_told(d, c, AGENT__TO_AGENT__BODY_SHUTDOWN);
    assert_non_null(path);
    assert_int_equal(path_read(path, &text, NULL), d->hdfs_away ? -ENOENT : 0);
    if (!d->hdfs_away)
        assert_non_null(memmem(text.data, text.len, "\"state\":\"KILLED\"", 16));
    agents_tell_saved(a, true);
    master_wake(&d->m);
    a->channel = channel_close(a->channel);
    c = channel_close(c);
}

static void ends_in_hdfs(struct desk *d)
{
    struct master_container container = { .attempt = 1 };
    struct fs_set *set = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *logs = path_join(d->dir, d->hdfs_away ? "events.jsonl/logs" : "logs");

    assert_non_null(logs);
    assert_int_equal(path_mkdirs(logs, 0700, NULL), d->hdfs_away ? -ENOTDIR : 0);
    assert_int_equal(fs_set_new(d->loop, NULL, &set, NULL), 0);
    assert_int_equal(fs_find(set, d->dir, FS_ON_LOCAL, &container.fs, &path, NULL), 0);
    container.logs = logs;
    be_on_yarn(d, &container);
    assert_int_equal(mirror_start(&d->m, NULL), 0);
    drive(d);
    assert_last(d, "\"event\":\"end\"", "\"KILLED\"");
    assert_int_equal(mirror_stop(&d->m, loop_in(d->loop, d->hdfs_away ? 0 : TEST_MS)) < 0,
                     d->hdfs_away);
    be_on_yarn(d, NULL);
    fs_set_free(set);
}

static void ends_without_hdfs(struct desk *d)
{
    d->hdfs_away = true;
    d->m.spec.save_time = 400; /* a quarter of it for HDFS */
    ends_in_hdfs(d);
}

static void agents_leave_when_the_end_is_in_hdfs(void **state)
{
    (void)state;
    with_desk(ends_in_hdfs, save_it);
    with_desk(ends_without_hdfs, save_it);
}

/* An agent of a container that was given back has saved all there is. */
static void say_all_saved(struct agent_conn *a)
{
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;
    Agent__Saved body = AGENT__SAVED__INIT;

    body.last = true;
    msg.saved = &body;
    msg.body_case = AGENT__TO_MASTER__BODY_SAVED;
    assert_int_equal(inbox_message(a, &msg, NULL), 0);
    master_wake(a->master);
}

static void assert_told_nothing(struct desk *d, struct channel *c)
{
    ProtobufCMessage *msg = NULL;

    assert_int_equal(channel_read(c, &agent__to_agent__descriptor, loop_now(d->loop), &msg, NULL),
                     -ETIMEDOUT);
}

static void leave_early(struct desk *d)
{
    AUTO_FREE char *path = path_join(d->dir, "logs/events-1.jsonl");
    AUTO_BUF text = { .max = MIB };
    struct channel *c = NULL;
    struct agent_conn *a = bring_agent(d, &c);

    assert_non_null(path);
    say_all_saved(a);
    if (d->hdfs_away) {
        while (!mirror_away(&d->m))
            assert_int_equal(fiber_sleep(d->loop, 5), 0);
        assert_told_nothing(d, c);
        assert_int_equal(d->m.save.acks, 1);
    } else {
        assert_told(d, c, AGENT__TO_AGENT__BODY_SAVED_ACK);
        assert_int_equal(path_read(path, &text, NULL), 0);
        assert_non_null(memmem(text.data, text.len, "\"state\":\"saved\"", 15));
        assert_int_equal(d->m.save.acks, 0);
    }
    a->channel = channel_close(a->channel);
    c = channel_close(c);
    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    master_wake(&d->m);
}

static void an_agent_may_leave_when_what_it_said_is_in_hdfs(void **state)
{
    (void)state;
    with_desk(ends_in_hdfs, leave_early);
    with_desk(ends_without_hdfs, leave_early);
}

/* Nobody comes after this master. */
static void leave_here(struct desk *d)
{
    struct channel *c = NULL;
    struct agent_conn *a = bring_agent(d, &c);

    say_all_saved(a);
    assert_told(d, c, AGENT__TO_AGENT__BODY_SAVED_ACK);
    d->m.ended = true; /* behind the last record nothing is written */
    say_all_saved(a);
    assert_told(d, c, AGENT__TO_AGENT__BODY_SAVED_ACK);
    d->m.ended = false;
    a->channel = channel_close(a->channel);
    c = channel_close(c);
    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    master_wake(&d->m);
}

static void on_this_machine_an_agent_may_leave_at_once(void **state)
{
    (void)state;
    with_desk(drive, leave_here);
}

/* ---- how long the end may take ---- */

static void looks_at_deadlines(struct desk *d)
{
    struct master *m = &d->m;
    int64_t now = loop_now(d->loop);

    assert_int_equal(master_end_by(m, 60000), now + 60000);
    m->save.until = now + 20000; /* the job's own limit, … */
    assert_int_equal(master_end_by(m, 60000), now + 20000);
    m->save.until = now - 1; /* … which others may have used up */
    assert_int_equal(master_end_by(m, 60000), now + 10000);
    assert_int_equal(master_end_by(m, 3000), now + 3000);
}

static void the_end_has_one_deadline(void **state)
{
    (void)state;
    with_desk(looks_at_deadlines, NULL);
}

/* ---- a disk that is full for a while ---- */

static void limit_files(rlim_t most)
{
    struct rlimit r;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &r), 0);
    r.rlim_cur = most < r.rlim_max ? most : r.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &r), 0);
}

static void make_room(struct desk *d)
{
    int64_t until = loop_in(d->loop, TEST_MS);

    while (d->m.journal.held.len == 0)
        assert_int_equal(fiber_yield(d->loop), 0);
    limit_files(RLIM_INFINITY);
    while (d->m.journal.held.len > 0 && loop_now(d->loop) < until)
        assert_int_equal(fiber_sleep(d->loop, 5), 0);
    assert_int_equal(d->m.journal.held.len, 0);
    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    master_wake(&d->m);
}

static void begins_on_a_full_disk(struct desk *d)
{
    limit_files(64 * KIB); /* less than what is reserved for the end */
    drive(d);
    assert_last(d, "\"event\":\"end\"", "\"KILLED\"");
}

static void what_is_held_is_written_although_nothing_else_happens(void **state)
{
    (void)state;
    with_desk(begins_on_a_full_disk, make_room);
}

/* ---- a signal while results are saved ---- */

static void interrupt_it(struct desk *d)
{
    struct channel *c = NULL;
    struct agent_conn *a = bring_agent(d, &c);

    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    master_wake(&d->m);
    assert_told(d, c, AGENT__TO_AGENT__BODY_SHUTDOWN);
    fiber_cancel(d->driver);
    while (!d->m.ended)
        assert_int_equal(fiber_yield(d->loop), 0);
    a->channel = channel_close(a->channel);
    c = channel_close(c);
}

static void ends_unsaved(struct desk *d)
{
    struct spec_file files[] = { { (char *)"a", (char *)"hdfs:/a" }, { (char *)"b", (char *)"c" } };

    d->m.spec.output = (struct spec_files){ .v = files, .n = 2 };
    drive(d);
    assert_non_null(d->m.save.unsaved);
    assert_last(d, "\"event\":\"end\"", "\"KILLED\"");
}

static void a_signal_does_not_keep_the_end_from_the_log(void **state)
{
    (void)state;
    with_desk(ends_unsaved, interrupt_it);
}

/* ---- whoever waits for a key while results are saved ---- */

static void wait_for_key(struct desk *d)
{
    struct kv_word words[] = { { "wait", 4 }, { "k", 1 }, { "1", 1 } };
    int64_t until = loop_in(d->loop, TEST_MS);
    struct channel *c = NULL;
    struct agent_conn *a = bring_agent(d, &c);

    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    master_wake(&d->m);
    assert_told(d, c, AGENT__TO_AGENT__BODY_SHUTDOWN);
    assert_int_equal(kv_request(d->m.kv,
                                &(struct kv_ask){ MASTER_API_TASK, 1, words, 3, master_now(&d->m) },
                                NULL),
                     0);
    assert_true(kv_deadline(d->m.kv) < INT64_MAX);
    master_wake(&d->m);
    while (kv_deadline(d->m.kv) < INT64_MAX && loop_now(d->loop) < until)
        assert_int_equal(fiber_yield(d->loop), 0);
    assert_true(kv_deadline(d->m.kv) == INT64_MAX); /* its time was over, and it has been told */
    agents_tell_saved(a, true);
    master_wake(&d->m);
    a->channel = channel_close(a->channel);
    c = channel_close(c);
}

static void ends_after_the_wait(struct desk *d)
{
    struct spec_file files[] = { { (char *)"a", (char *)"hdfs:/a" }, { (char *)"b", (char *)"c" } };

    d->m.spec.output = (struct spec_files){ .v = files, .n = 2 };
    drive(d);
    assert_null(d->m.save.unsaved);
}

static void a_wait_for_a_key_ends_in_time_while_results_are_saved(void **state)
{
    (void)state;
    with_desk(ends_after_the_wait, wait_for_key);
}

/* ---- a container that is lost, and its agent is not ---- */

static void drain(struct desk *d)
{
    struct action a;

    while (engine_next_action(d->m.engine, &a))
        ;
}

static void start_task(struct desk *d, struct platform *p, struct channel **c)
{
    struct master *m = &d->m;
    int64_t now = master_now(m);

    m->platform = p;
    assert_int_equal(engine_start(m->engine, now, NULL), 0);
    assert_int_equal(drive_set_slot(m, 0, 0, NULL), 0);
    drive_platform_events.on_granted(m, 0, 1, NULL, 0);
    (void)bring_agent(d, c);
    assert_int_equal(engine_on_agent_up(m->engine, 0, now, NULL), 0);
    assert_int_equal(engine_on_prepared(m->engine, 0, NULL, 0, now, NULL), 0);
    assert_int_equal(engine_on_formed(m->engine, now, NULL), 0);
    drain(d);
    assert_int_equal(engine_on_started(m->engine, 0, 17, now, NULL), 0);
    assert_int_equal(engine_task(m->engine, 0)->state, TASK_RUNNING);
}

static void say_exited(struct agent_conn *a)
{
    Agent__ExitedTask x = AGENT__EXITED_TASK__INIT, *list[] = { &x };
    Agent__Exited body = AGENT__EXITED__INIT;
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;

    x.code = 137;
    x.signal = 9;
    body.tasks = list;
    body.n_tasks = 1;
    msg.body_case = AGENT__TO_MASTER__BODY_EXITED;
    msg.exited = &body;
    assert_int_equal(inbox_message(a, &msg, NULL), 0);
}

static void be_lost(struct desk *d, void (*then)(struct master *m, struct agent_conn *a),
                    enum task_state before)
{
    struct platform platform = { .ops = &elsewhere };
    struct channel *c = NULL;
    struct master *m = &d->m;
    struct agent_conn *a;

    start_task(d, &platform, &c);
    a = agents_get(m, 1);
    a->heard = loop_now(d->loop) - (before == TASK_RUNNING ? 0 : 60000);
    drive_platform_events.on_lost(m, 0, FAIL_NODE, "its NodeManager has forgotten it");
    assert_true(a->lost);
    assert_told(d, c, AGENT__TO_AGENT__BODY_SHUTDOWN);
    assert_int_equal(engine_task(m->engine, 0)->state, before);
    assert_int_equal(m->slots.n_lost, before == TASK_RUNNING);
    if (then)
        then(m, a);
    assert_int_equal(engine_task(m->engine, 0)->state, TASK_LOST);
    assert_int_equal(m->slots.n_lost, 0);
    assert_true(lost_deadline(m) == INT64_MAX);
    assert_int_equal(m->slots.v[0].agent, 0);
    say_exited(a); /* old news */
    a->channel = channel_close(a->channel);
    c = channel_close(c);
    m->platform = NULL;
}

static void task_ends(struct master *m, struct agent_conn *a)
{
    (void)m;
    say_exited(a);
}

static void agent_hangs_up(struct master *m, struct agent_conn *a)
{
    (void)m;
    lost_hung_up(a);
}

static void time_passes(struct master *m, struct agent_conn *a)
{
    (void)a;
    assert_true(lost_deadline(m) > master_now(m));
    lost_on_time(m);
    assert_int_equal(engine_task(m->engine, 0)->state, TASK_RUNNING);
    m->slots.v[0].lost_until = master_now(m);
    lost_on_time(m);
}

static void lost_until_it_ends(struct desk *d)
{
    be_lost(d, task_ends, TASK_RUNNING);
}

static void lost_until_it_hangs_up(struct desk *d)
{
    be_lost(d, agent_hangs_up, TASK_RUNNING);
}

static void lost_until_its_time_is_up(struct desk *d)
{
    be_lost(d, time_passes, TASK_RUNNING);
}

static void lost_with_its_machine(struct desk *d)
{
    be_lost(d, NULL, TASK_LOST);
}

static void a_loss_counts_when_the_task_is_gone(void **state)
{
    (void)state;
    with_desk(lost_until_it_ends, NULL);
    with_desk(lost_until_it_hangs_up, NULL);
    with_desk(lost_until_its_time_is_up, NULL);
    with_desk(lost_with_its_machine, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_the_last_record),
        cmocka_unit_test(an_engine_without_memory_ends_the_job),
        cmocka_unit_test(agents_leave_when_the_end_is_in_hdfs),
        cmocka_unit_test(an_agent_may_leave_when_what_it_said_is_in_hdfs),
        cmocka_unit_test(on_this_machine_an_agent_may_leave_at_once),
        cmocka_unit_test(what_is_held_is_written_although_nothing_else_happens),
        cmocka_unit_test(the_end_has_one_deadline),
        cmocka_unit_test(a_signal_does_not_keep_the_end_from_the_log),
        cmocka_unit_test(a_wait_for_a_key_ends_in_time_while_results_are_saved),
        cmocka_unit_test(a_loss_counts_when_the_task_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
