/* fence_test.c - what a fence does when the master is back at an unlucky moment; see fence.h. */
#include "agent/agent_private.h"
#include "agent/link/fence.h"
#include "agent/tasks/freeze.h"
#include "agent/tasks/process_tree.h"
#include "test.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define ENOUGH 20000

static const struct agent_platform on_cluster = { .cut_off = true };

/* A process that is not stopped as long as its child has not run another program, nor ended: so
 * processes that start others are for a moment. */
static pid_t start_stubborn(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) == 0)
            for (;;)
                (void)pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

static size_t count_stopped(void)
{
    AUTO_TREE t = { 0 };
    size_t n = 0;

    tree_init(&t);
    assert_int_equal(tree_read(&t, getpid(), NULL, NULL), 0);
    for (size_t i = 0; i < t.n; i++)
        n += t.v[i].state == 'T';
    return n;
}

static bool has_state(pid_t pid, char state)
{
    struct tree_proc p;

    return tree_look(pid, &p) && p.state == state;
}

static void be_welcomed(struct agent *a, uint32_t silence)
{
    Agent__Welcome m = AGENT__WELCOME__INIT;

    a->link.said_hello = a->link.last_ping = loop_now(a->loop);
    m.silence_ms = silence;
    assert_int_equal(fence_on_welcome(a, &m, NULL), 0);
}

static void be_pinged(struct agent *a, uint64_t seq)
{
    Agent__Ping m = AGENT__PING__INIT;

    m.seq = seq;
    fence_on_ping(a, &m);
}

/* Nobody can be reached; the master is back while processes are still being stopped. */
static int run_back(void *arg)
{
    struct agent *a = arg;
    pid_t pid = start_stubborn();
    size_t stopped = 1;

    for (int i = 0; !has_state(pid, 'D') && i < ENOUGH; i++)
        assert_int_equal(fiber_sleep(a->loop, 1), 0);
    be_welcomed(a, 90);
    for (int i = 0; !count_stopped() && i < ENOUGH; i++)
        assert_int_equal(fiber_sleep(a->loop, 1), 0);
    assert_true(a->fence.frozen);
    be_welcomed(a, 3600000);
    be_pinged(a, 1);
    assert_false(a->fence.frozen);
    for (int i = 0; a->fence.welcomed && i < ENOUGH; i++) /* the fiber has come out of it */
        assert_int_equal(fiber_sleep(a->loop, 1), 0);
    assert_false(a->fence.welcomed);
    for (int i = 0; (stopped = count_stopped()) > 0 && i < ENOUGH / 10; i++)
        assert_int_equal(fiber_sleep(a->loop, 1), 0); /* they go on as they come to it */
    assert_int_equal(stopped, 0);
    fence_end(a);
    while (a->fence.fiber)
        assert_int_equal(fiber_sleep(a->loop, 1), 0);
    return 0;
}

static void end_all(void)
{
    for (AUTO_TREE t = { 0 }; tree_init(&t), tree_read(&t, getpid(), NULL, NULL) == 0 && t.n > 0;) {
        for (size_t i = 0; i < t.n; i++)
            (void)tree_signal(&t.v[i], SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

static void tasks_go_on_for_a_master_that_is_back_while_they_are_being_stopped(void **state)
{
    struct agent a = { .platform = &on_cluster };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(loop_new(&a.loop, &err), 0);
    assert_int_equal(loop_run(a.loop, run_back, &a, false), 0);
    a.loop = loop_free(a.loop);
    freeze_done(&a);
    end_all();
}

/* However long we take from there to here: the master may have read the pong at once. */
static void a_pong_counts_from_the_time_before_it_was_sent(void **state)
{
    struct agent a = { .platform = &on_cluster };
    Agent__Ping ping = AGENT__PING__INIT;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(loop_new(&a.loop, &err), 0);
    fence_clock_start(&a.fence.clock, 9000, 100, 100);
    a.link.last_ping = 2100;
    be_pinged(&a, 1);
    ping.seq = 2;
    ping.answered = 1;
    fence_on_ping(&a, &ping);
    assert_int_equal(a.fence.clock.heard, 2100);
    a.loop = loop_free(a.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_go_on_for_a_master_that_is_back_while_they_are_being_stopped),
        cmocka_unit_test(a_pong_counts_from_the_time_before_it_was_sent),
    };

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
