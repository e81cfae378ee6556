/* name_lock_test.c - see name_lock.h */
#include "base/auto.h"
#include "base/name_lock.h"
#include "base/str.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define OTHER 65534

struct event_dedup {
    unsigned n;
    char rest[32];
    uid_t owner;
};

static void look(void *arg, const char *rest, uid_t owner)
{
    struct event_dedup *s = arg;

    s->n++;
    s->owner = owner;
    (void)snprintf(s->rest, sizeof(s->rest), "%s", rest);
}

static void a_name_is_locked_once_and_says_whose_it_is(void **state)
{
    AUTO_FREE char *prefix = str_printf("ydl-test-%d-", (int)getpid());
    AUTO_FREE char *name = prefix ? str_printf("%s7", prefix) : NULL;
    struct event_dedup s = { 0 };
    int fd;

    (void)state;
    assert_non_null(name);
    fd = name_lock(name);
    assert_true(fd >= 0);
    assert_int_equal(name_lock(name), -EADDRINUSE);
    name_lock_owners(prefix, look, &s);
    assert_int_equal(s.n, 1);
    assert_string_equal(s.rest, "7");
    assert_int_equal(s.owner, geteuid());
    close(fd);
    fd = name_lock(name);
    assert_true(fd >= 0);
    close(fd);
}

/* Needs root, to be somebody else for a moment. */
static void a_name_that_another_user_holds_is_known_as_theirs(void **state)
{
    AUTO_FREE char *prefix = str_printf("ydl-test-%d-", (int)getpid());
    AUTO_FREE char *name = prefix ? str_printf("%sx", prefix) : NULL;
    struct event_dedup s = { 0 };
    int ready[2], done[2];
    char c;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_non_null(name);
    assert_int_equal(pipe(ready) | pipe(done), 0);
    pid = fork();
    if (pid == 0) {
        close(done[1]);
        if (setuid(OTHER) < 0 || name_lock(name) < 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        _exit(read(done[0], &c, 1) == 0 ? 0 : 1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(name_lock(name), -EADDRINUSE);
    name_lock_owners(prefix, look, &s);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.owner, OTHER);
    close(done[1]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ready[0]);
    close(done[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_locked_once_and_says_whose_it_is),
        cmocka_unit_test(a_name_that_another_user_holds_is_known_as_theirs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
