/* page_access_test.c - who may look at a job's page, by address and by name. */
#include "base/auto.h"
#include "base/str.h"
#include "master/yarn/page_access.h"
#include "test.h"

#include <errno.h>

#define BOB "proxy-user=bob"

/* What the cluster says of bob; of others nothing can be learned. */
static int groups(void *arg, const char *user, struct strs *ret, struct err *err)
{
    (void)arg;
    if (!str_eq(user, "bob"))
        return err_set(err, -ETIMEDOUT, "nobody answers");
    return strs_split(ret, "team,staff", ",");
}

static struct page_access job_of_alice(bool secure, const char *view)
{
    return (struct page_access){ .owner = "alice",
                                 .view = view,
                                 .host = "10.0.0.7",
                                 .secure = secure,
                                 .groups = groups,
                                 .proxies = { "10.0.0.1", "10.0.0.2" },
                                 .n_proxies = 2 };
}

static void only_the_owner_and_who_is_listed_may_look(void **state)
{
    static const struct {
        const char *view, *cookie;
        bool may;
    } rows[] = {
        { NULL, "proxy-user=alice", true },
        { NULL, "a=b; proxy-user=alice", true },
        { " ", "proxy-user=alice", true },
        { "bob", "proxy-user=alice", true },
        { NULL, NULL, false },
        { NULL, "", false },
        { NULL, "proxy-user=", false },
        { NULL, "proxy-user=%", false },
        { NULL, "user.name=alice", false },
        { NULL, BOB, false },
        { NULL, "proxy-user=alice2", false },
        { NULL, "proxy-user=Alice", false },
        { NULL, "proxy-user=%61lice", true },
        { NULL, BOB "; proxy-user=alice", false },
        { " ", BOB, false },
        { "carol", BOB, false },
        { "bobby", BOB, false },
        { "carol,bob", BOB, true },
        { "carol,bob office", BOB, true },
        { "carol office,bob", BOB, false }, /* a group of that name */
        { " bob", BOB, false },
        { "staff", BOB, false },
        { " staff", BOB, true },
        { "carol office, team", BOB, true },
        { " staff", "proxy-user=dan", false },
        { " staff", "proxy-user=alice", true },
        { "dan staff", "proxy-user=dan", true },
        { "*", BOB, true },
        { " *", BOB, true },
        { "*,carol", BOB, false }, /* as in Hadoop */
        { "*", NULL, false },
        { "*", "proxy-user=", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct page_access a = job_of_alice(true, rows[i].view);
        struct err err = ERR_INIT;

        assert_int_equal(page_access_check(&a, rows[i].cookie, &err), rows[i].may ? 0 : -EACCES);
        assert_int_equal(err.text[0] == '\0', rows[i].may);
    }
}

static void who_is_refused_is_told_why(void **state)
{
    struct page_access a = job_of_alice(true, NULL);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(page_access_check(&a, BOB, &err), -EACCES);
    assert_string_equal(err.text, "'bob' may not look at this job");
    assert_string_equal(err.hint,
                        "it is alice's, whose job file says under acl.view who else may look");
}

static void names_count_for_nothing_where_nobody_proves_them(void **state)
{
    struct page_access a = job_of_alice(false, NULL);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(page_access_check(&a, NULL, &err), 0);
    assert_int_equal(page_access_check(&a, "proxy-user=dr.who", &err), 0);
}

static void only_the_proxy_is_listened_to_in_a_secure_cluster(void **state)
{
    static const struct {
        const char *address;
        bool secure, simple;
    } rows[] = {
        { "10.0.0.1", true, true },   { "10.0.0.2", true, true },  { "10.0.0.7", false, true },
        { "10.0.0.3", false, false }, { "10.0.0.", false, false }, { "", false, false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct page_access secure = job_of_alice(true, "*"), simple = job_of_alice(false, NULL);

        assert_int_equal(page_access_from(&secure, rows[i].address), rows[i].secure);
        assert_int_equal(page_access_from(&simple, rows[i].address), rows[i].simple);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_owner_and_who_is_listed_may_look),
        cmocka_unit_test(who_is_refused_is_told_why),
        cmocka_unit_test(names_count_for_nothing_where_nobody_proves_them),
        cmocka_unit_test(only_the_proxy_is_listened_to_in_a_secure_cluster),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
