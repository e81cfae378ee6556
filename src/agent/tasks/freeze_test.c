/* freeze_test.c - all processes of tasks stand still, with sessions of their own and while they
 * make others; and go on, but for what somebody else had stopped. */
#include "agent/agent_private.h"
#include "agent/tasks/freeze.h"
#include "agent/tasks/process_tree.h"
#include "loop/fiber.h"
#include "test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define FORKS 4

/* Makes processes for as long as it lives; each lives for a moment. */
static void keep_forking(void)
{
    (void)signal(SIGCHLD, SIG_IGN);
    for (;;) {
        if (fork() == 0) {
            (void)usleep(1000);
            _exit(0);
        }
        (void)usleep(200);
    }
}

/* A process with a child in a session of its own, both of which make others. */
static pid_t start_family(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        if (fork() == 0)
            (void)setsid();
        keep_forking();
    }
    assert_true(pid > 0);
    return pid;
}

static pid_t start_stopped(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0)
        for (;;)
            (void)pause();
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    return pid;
}

/* How many processes below us are stopped, and how many are not; ended ones are neither. */
static void count(size_t *stopped, size_t *others)
{
    AUTO_TREE t = { 0 };

    tree_init(&t);
    assert_int_equal(tree_read(&t, getpid(), NULL, NULL), 0);
    *stopped = *others = 0;
    for (size_t i = 0; i < t.n; i++) {
        *stopped += t.v[i].state == 'T';
        *others += t.v[i].state != 'T' && t.v[i].state != 'Z' && t.v[i].state != 'X';
    }
}

static int run_all(void *arg)
{
    struct agent *a = arg;
    size_t stopped = 0, others = 0;

    freeze_tasks(a);
    count(&stopped, &others);
    assert_int_equal(others, 0);
    assert_true(stopped >= 2 * FORKS + 1);
    thaw_tasks(a);
    while (count(&stopped, &others), stopped != 1) /* they go on as they come to it */
        (void)fiber_sleep(a->loop, 1);
    assert_true(others >= 2 * FORKS);
    return 0;
}

static void what_was_stopped_before_stays_so(void **state)
{
    struct agent a = { 0 };
    struct err err = ERR_INIT;
    struct tree_proc p;
    pid_t pids[FORKS], own;

    (void)state;
    for (size_t i = 0; i < FORKS; i++)
        pids[i] = start_family();
    own = start_stopped();
    assert_int_equal(loop_new(&a.loop, &err), 0);
    assert_int_equal(loop_run(a.loop, run_all, &a, false), 0);
    assert_true(tree_look(own, &p));
    assert_int_equal(p.state, 'T');
    a.loop = loop_free(a.loop);
    freeze_done(&a);
    for (size_t i = 0; i < FORKS; i++)
        (void)kill(pids[i], SIGKILL);
    (void)kill(own, SIGKILL);
    for (AUTO_TREE t = { 0 }; tree_init(&t), tree_read(&t, getpid(), NULL, NULL) == 0 && t.n > 0;) {
        for (size_t i = 0; i < t.n; i++)
            (void)tree_signal(&t.v[i], SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_was_stopped_before_stays_so) };

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
