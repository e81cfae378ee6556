/* freeze_test.c - all processes of tasks stand still, with sessions of their own and while they
 * make others; and go on, but for what somebody else had stopped. */
#include "agent/agent_private.h"
#include "agent/tasks/freeze.h"
#include "agent/tasks/process_tree.h"
#include "loop/fiber.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FORKS 4
#define ENOUGH 20000

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

/* ---- a process whose first thread has ended ---- */

static void *keep_counting(void *shared)
{
    volatile pid_t *tid = shared;

    for (*tid = (pid_t)syscall(SYS_gettid);;)
        (void)usleep(1000);
    return NULL;
}

static bool has_state(pid_t pid, char state)
{
    struct tree_proc p;

    return tree_look(pid, &p) && p.state == state;
}

static void await_state(struct agent *a, pid_t pid, char state, bool is)
{
    for (int i = 0; has_state(pid, state) != is && i < ENOUGH; i++)
        (void)fiber_sleep(a->loop, 1);
    assert_int_equal(has_state(pid, state), is);
}

static int run_headless(void *arg)
{
    struct agent *a = arg;
    volatile pid_t *tid =
        mmap(NULL, sizeof(*tid), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid;

    assert_ptr_not_equal(tid, MAP_FAILED);
    pid = fork();
    if (pid == 0) {
        pthread_t thread;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* should the test fail */
        if (pthread_create(&thread, NULL, keep_counting, (void *)tid) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    await_state(a, pid, 'Z', true);
    for (int i = 0; !*tid && i < ENOUGH; i++)
        (void)fiber_sleep(a->loop, 1);
    assert_int_not_equal(*tid, 0);
    freeze_tasks(a);
    await_state(a, *tid, 'T', true);
    thaw_tasks(a);
    await_state(a, *tid, 'T', false);
    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(munmap((void *)tid, sizeof(*tid)), 0);
    return 0;
}

static void threads_are_stopped_that_outlive_the_first_one(void **state)
{
    struct agent a = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(loop_new(&a.loop, &err), 0);
    assert_int_equal(loop_run(a.loop, run_headless, &a, false), 0);
    a.loop = loop_free(a.loop);
    freeze_done(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_stopped_before_stays_so),
        cmocka_unit_test(threads_are_stopped_that_outlive_the_first_one),
    };

    if (prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
