/* descriptors_test.c - the limit of open files, soft and hard; see descriptors.h */
#include "base/auto.h"
#include "serve/engine/descriptors.h"
#include "test.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* In a process of its own: a hard limit cannot be raised again. Its exit status is the claim. */
static int with_limits(rlim_t soft, rlim_t hard, int (*claim)(void))
{
    int status = -1;
    pid_t pid = fork();

    if (pid == 0) {
        const struct rlimit files = { soft, hard };

        (void)!freopen("/dev/null", "w", stderr);
        _exit(setrlimit(RLIMIT_NOFILE, &files) < 0 ? 99 : claim());
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

static rlim_t soft_limit(void)
{
    struct rlimit files = { 0, 0 };

    (void)getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur;
}

static int is_raised(void)
{
    return descriptors_room(300, 1, 0) == 300 && soft_limit() >= 428 && soft_limit() < 600 ? 0 : 1;
}

static int is_enough(void)
{
    return descriptors_room(10, 2, 50) == 10 && soft_limit() == 512 ? 0 : 1;
}

static int is_lowered(void)
{
    size_t room = descriptors_room(100000, 2, 50);

    return room > 100 && room < (512 - 50) / 2 && soft_limit() == 512 ? 0 : 1;
}

static int is_never_none(void)
{
    return descriptors_room(100, 3, 5000) == 1 ? 0 : 1;
}

static void the_limit_is_raised_as_far_as_it_may_be(void **state)
{
    (void)state;
    assert_int_equal(with_limits(64, 1000, is_raised), 0);
    assert_int_equal(with_limits(512, 1000, is_enough), 0);
}

static void fewer_connections_are_taken_when_it_may_not(void **state)
{
    (void)state;
    assert_int_equal(with_limits(64, 512, is_lowered), 0);
    assert_int_equal(with_limits(64, 512, is_never_none), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_raised_as_far_as_it_may_be),
        cmocka_unit_test(fewer_connections_are_taken_when_it_may_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
