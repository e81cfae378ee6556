/* resolve_test.c - claims about names and addresses. */
#include "loop/loop.h"
#include "loop/resolve.h"
#include "test.h"

#include <ares.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MANY 1100 /* above what select() can name */

static int run_lookup(int (*fn)(void *arg))
{
    struct loop *l = NULL;
    int r;

    assert_int_equal(loop_new(&l, NULL), 0);
    r = loop_run(l, fn, l, false);
    loop_free(l);
    return r;
}

static int look_up_number(void *arg)
{
    struct resolve_addrs found = { 0 };
    char text[INET6_ADDRSTRLEN];
    struct err err = ERR_INIT;

    assert_int_equal(resolve_host(arg, "127.0.0.1", 80, loop_in(arg, 30000), &found, &err), 0);
    assert_int_equal(found.n, 1);
    assert_string_equal(resolve_text(&found.v[0], text), "127.0.0.1");
    return 0;
}

static void a_number_is_its_own_answer(void **state)
{
    (void)state;
    assert_int_equal(run_lookup(look_up_number), 0);
}

/* Nobody may have a name below .invalid, so this asks the machine's name servers, or fails to. */
static int look_up_nobody(void *arg)
{
    struct resolve_addrs found = { 0 };
    struct err err = ERR_INIT;

    assert_int_equal(resolve_host(arg, "nobody.invalid", 80, loop_in(arg, 60000), &found, &err),
                     -ENXIO);
    assert_null(strstr(err.text, ares_strerror(ARES_EDESTRUCTION))); /* it was not given up */
    return 0;
}

static void names_are_looked_up_with_many_descriptors_open(void **state)
{
    struct rlimit most = { 0 };
    int fds[MANY], n = 0;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
    if (most.rlim_max < MANY + 100)
        skip();
    most.rlim_cur = most.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
    while (n < MANY && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        n++;
    assert_int_equal(n, MANY);
    assert_int_equal(run_lookup(look_up_nobody), 0);
    while (n > 0)
        close(fds[--n]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_its_own_answer),
        cmocka_unit_test(names_are_looked_up_with_many_descriptors_open),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
