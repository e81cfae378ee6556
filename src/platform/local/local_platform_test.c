/* local_platform_test.c - what jobs on one machine share: GPUs, memory, and nothing left of a
 * killed agent.
 */
#include "base/path.h"
#include "loop/proc.h"
#include "platform/local/local_jobs.h"
#include "platform/local/local_platform_private.h"
#include "test.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Devices that no machine has, and of this process alone: a number is locked for the whole machine,
 * and other tests run at the same time. */
static struct gpus gpus_of_nobody(unsigned n)
{
    struct gpus made = { .n = n };

    for (unsigned i = 0; i < n; i++)
        made.v[i] = 1000000000 + (uint32_t)getpid() * 4 + i;
    return made;
}

static void a_gpu_is_never_given_twice(void **state)
{
    int a[PLATFORM_GPUS_MAX], b[PLATFORM_GPUS_MAX];
    uint32_t gpus_a[PLATFORM_GPUS_MAX], gpus_b[PLATFORM_GPUS_MAX];
    const struct gpus all = gpus_of_nobody(3);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(local_gpus_take(&all, 2, a, gpus_a, &err), 0);
    assert_int_equal(local_gpus_take(&all, 2, b, gpus_b, &err), -EAGAIN);
    assert_int_equal(local_gpus_take(&all, 1, b, gpus_b, &err), 0);
    assert_true(gpus_b[0] != gpus_a[0] && gpus_b[0] != gpus_a[1]);
    local_gpus_release(a, 2);
    local_gpus_release(b, 1);
    assert_int_equal(local_gpus_take(&all, 3, a, gpus_a, &err), 0);
    local_gpus_release(a, 3);
}

/* Needs root, to be somebody else for a moment. */
static void a_gpu_that_another_user_holds_is_said_to_be_theirs(void **state)
{
    const struct gpus all = gpus_of_nobody(1);
    int locks[PLATFORM_GPUS_MAX], ready[2], done[2];
    uint32_t gpus[PLATFORM_GPUS_MAX];
    struct err err = ERR_INIT;
    pid_t pid;
    char c;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(ready) | pipe(done), 0);
    pid = fork();
    if (pid == 0) {
        close(done[1]);
        if (setuid(65534) < 0 || local_gpus_take(&all, 1, locks, gpus, NULL) < 0 ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        _exit(read(done[0], &c, 1) == 0 ? 0 : 1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(local_gpus_take(&all, 1, locks, gpus, &err), -EAGAIN);
    assert_string_equal(err.text, "waiting for 1 GPU: 0 of 1 free; 1 held by other users "
                                  "(uid 65534)");
    close(done[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(done[0]);
}

static void more_gpus_than_there_are_is_not_a_matter_of_waiting(void **state)
{
    int locks[PLATFORM_GPUS_MAX];
    uint32_t gpus[PLATFORM_GPUS_MAX];
    struct gpus all;
    struct err err = ERR_INIT;

    (void)state;
    setenv("YDL_GPUS", "3", 1);
    local_gpus_find(&all);
    assert_int_equal(local_gpus_take(&all, 4, locks, gpus, &err), -ENODEV);
    assert_string_equal(err.text, "the job asks for 4 GPUs; this machine has 3");
}

/* A container is shown the files of its own devices alone. */
static void devices_are_found_where_numbers_are_missing(void **state)
{
    static const char *const names[] = { "nvidia10",    "nvidia2",  "nvidiactl", "nvidia-uvm",
                                         "nvidia-caps", "nvidia3x", "sda",       "nvidia63" };
    char dir[TEST_PATH], path[TEST_PATH + 32];
    int locks[PLATFORM_GPUS_MAX], more[PLATFORM_GPUS_MAX];
    uint32_t as_counted[PLATFORM_GPUS_MAX];
    struct err err = ERR_INIT;
    struct gpus all;

    (void)state;
    assert_true(test_dir(dir, "gpus"));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        assert_int_equal(path_write(path, "", 0, 0600, NULL), 0);
    }
    local_gpus_in(dir, &all);
    assert_int_equal(all.n, 3);
    assert_true(all.v[0] == 2 && all.v[1] == 10 && all.v[2] == 63);
    all = gpus_of_nobody(2);
    assert_int_equal(local_gpus_take(&all, 2, locks, as_counted, &err), 0);
    assert_true(as_counted[0] == 0 && as_counted[1] == 1);
    all = (struct gpus){ .v = { all.v[1] }, .n = 1 }; /* the same device, seen from elsewhere */
    assert_int_equal(local_gpus_take(&all, 1, more, as_counted, &err), -EAGAIN);
    local_gpus_release(locks, 2);
    assert_int_equal(path_remove(dir, NULL), 0);
    local_gpus_in(dir, &all);
    assert_int_equal(all.n, 0);
}

static void memory_of_a_living_job_counts_and_of_a_dead_one_does_not(void **state)
{
    char dir[TEST_PATH];
    AUTO_JOB_DIR a = JOB_DIR_INIT;
    AUTO_JOB_DIR b = JOB_DIR_INIT;
    struct local_options oa = { .state_dir = dir }, ob = { .state_dir = dir };
    struct local_machine machine;
    struct err err = ERR_INIT;

    (void)state;
    assert_true(test_dir(dir, "local"));
    local_machine(&machine);
    assert_int_equal(jobs_create(dir, &a, &err), 0);
    assert_int_equal(jobs_create(dir, &b, &err), 0);
    oa.job_dir = a.path;
    ob.job_dir = b.path;
    assert_int_equal(local_ledger_take(&oa, 0, machine.memory / 2, &err), 0);
    assert_int_equal(local_ledger_take(&ob, 0, machine.memory - machine.memory / 4, &err), -EAGAIN);
    assert_int_equal(local_ledger_take(&ob, 0, machine.memory / 4, &err), 0);
    close(take_fd(a.lock)); /* its master dies */
    assert_int_equal(local_ledger_take(&ob, machine.memory / 4, machine.memory / 2, &err), 0);
    assert_int_equal(jobs_remove(&a, NULL), 0);
    assert_int_equal(jobs_remove(&b, NULL), 0);
    assert_int_equal(path_remove(dir, NULL), 0);
}

static bool is_known(void *arg, pid_t pid)
{
    return pid == *(pid_t *)arg;
}

/* A child that has children of its own and is in another session, as a daemon is. */
static pid_t start_family(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        setsid();
        for (int i = 0; i < 3; i++)
            if (fork() == 0)
                break;
        for (;;)
            pause();
    }
    return pid;
}

static void strays_are_killed_with_their_children_and_the_known_live(void **state)
{
    pid_t known, stray;

    (void)state;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    known = fork();
    if (known == 0)
        for (;;)
            pause();
    stray = start_family();
    proc_kill_strays(is_known, &known);
    assert_int_equal(kill(stray, 0), -1);
    assert_int_equal(kill(-stray, 0), -1);
    assert_int_equal(kill(known, 0), 0);
    (void)kill(known, SIGKILL);
    assert_int_equal(waitpid(known, NULL, 0), known);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gpu_is_never_given_twice),
        cmocka_unit_test(a_gpu_that_another_user_holds_is_said_to_be_theirs),
        cmocka_unit_test(more_gpus_than_there_are_is_not_a_matter_of_waiting),
        cmocka_unit_test(devices_are_found_where_numbers_are_missing),
        cmocka_unit_test(memory_of_a_living_job_counts_and_of_a_dead_one_does_not),
        cmocka_unit_test(strays_are_killed_with_their_children_and_the_known_live),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
