/* node_cache_prune_test.c - versions that nobody uses go; see node_cache.h. */
#include "base/path.h"
#include "model/node/node_testing.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void unused_versions_are_removed_and_the_oldest_first(void **state)
{
    struct world *w = *state;
    struct node_cache_prune how = { .keep = BYTES + 1, .before = INT64_MAX };
    AUTO_NODE_CACHE_ENTRIES all = { 0 };
    AUTO_NODE_CACHE_ENTRIES gone = { 0 };
    struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };

    assert_int_equal(world_get(w), 0);
    assert_int_equal(futimens(w->got.lock, long_ago), 0);
    world_drop(&w->got);
    w->want.version = 2;
    assert_int_equal(world_get(w), 0);
    w->got2 = w->got; /* stays in use */
    w->got = (struct node_cache_got){ .lock = -1 };
    assert_int_equal(node_cache_list(w->dirs.v[0], &all, &w->err), 0);
    assert_int_equal(all.n, 2);
    assert_int_equal(all.v[0].version, 2);
    assert_string_equal(all.v[1].model, "m");
    assert_true(!all.v[1].in_use && all.v[0].in_use);
    assert_int_equal(all.v[1].used_ms, 1000000);
    how.dry = true;
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), 0);
    assert_int_equal(gone.n, 1);
    assert_int_equal(world_names(w, 0), 2);
    node_cache_entries_done(&gone);
    how.dry = false;
    world_drop(&w->got2); /* either could go now */
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), 0);
    assert_int_equal(gone.n, 1);
    assert_int_equal(gone.v[0].version, 1);
    assert_int_equal(world_names(w, 0), 1);
    how = (struct node_cache_prune){ .before = 5000 }; /* long ago */
    node_cache_entries_done(&gone);
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), 0);
    assert_int_equal(gone.n, 0);
    w->want.limit = 1;
    w->want.version = 1;
    assert_int_equal(world_get(w), 0); /* more than the limit, and the other one goes */
    assert_int_equal(world_names(w, 0), 1);
    assert_int_equal(node_cache_prune(w->dirs.v[1], &how, &gone, &w->err), 0); /* not there */
}

/* However long ago it was begun to be used. */
static void what_is_in_use_is_used_last(void **state)
{
    struct world *w = *state;
    const struct node_cache_prune nothing = { .keep = INT64_MAX };
    struct node_cache_prune how = { .keep = BYTES + 1, .before = INT64_MAX };
    struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    struct timespec later[2] = { { .tv_sec = 2000 }, { .tv_sec = 2000 } };
    AUTO_NODE_CACHE_ENTRIES gone = { 0 };

    assert_int_equal(world_get(w), 0);
    w->got2 = w->got;
    w->got = (struct node_cache_got){ .lock = -1 };
    assert_int_equal(futimens(w->got2.lock, long_ago), 0);
    w->want.version = 2;
    assert_int_equal(world_get(w), 0);
    assert_int_equal(futimens(w->got.lock, later), 0);
    world_drop(&w->got);
    assert_int_equal(futimens(w->got2.lock, long_ago), 0);
    assert_int_equal(node_cache_prune(w->dirs.v[0], &nothing, &gone, &w->err), 0);
    world_drop(&w->got2); /* a moment later */
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), 0);
    assert_int_equal(gone.n, 1);
    assert_int_equal(gone.v[0].version, 2);
}

static void one_that_cannot_be_removed_keeps_no_other(void **state)
{
    struct world *w = *state;
    const struct node_cache_prune how = { .before = INT64_MAX };
    AUTO_FREE char *lock = world_lock(w, 1);
    AUTO_NODE_CACHE_ENTRIES all = { 0 };
    AUTO_NODE_CACHE_ENTRIES gone = { 0 };

    assert_int_equal(world_get(w), 0);
    w->want.version = 2;
    assert_int_equal(world_get(w), 0);
    world_drop(&w->got);
    assert_int_equal(unlink(lock), 0);
    assert_int_equal(mkdir(lock, 0700), 0);
    assert_int_equal(node_cache_list(w->dirs.v[0], &all, &w->err), 0);
    assert_int_equal(all.n, 2);
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), -EISDIR);
    assert_non_null(strstr(w->err.text, lock));
    assert_int_equal(gone.n, 1);
    assert_int_equal(gone.v[0].version, 2);
    assert_int_equal(world_names(w, 0), 1);
}

/* The prune of a child is killed when it has removed its first file: unlinkat() stands before the C
 * library's. */
static bool die_at_unlink;

int unlinkat(int dir, const char *name, int flags)
{
    int r = (int)syscall(SYS_unlinkat, dir, name, flags);

    if (die_at_unlink && r == 0)
        (void)kill(getpid(), SIGKILL);
    return r;
}

static void a_version_that_is_half_removed_has_no_name(void **state)
{
    struct world *w = *state;
    const struct node_cache_prune how = { .before = INT64_MAX };
    AUTO_NODE_CACHE_ENTRIES all = { 0 };
    AUTO_NODE_CACHE_ENTRIES gone = { 0 };
    int status = 0;
    pid_t child;

    assert_int_equal(world_get(w), 0);
    world_drop(&w->got);
    child = fork();
    if (child == 0) {
        die_at_unlink = true;
        (void)node_cache_prune(w->dirs.v[0], &how, &gone, NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(world_names(w, 0), 1);
    assert_int_equal(node_cache_list(w->dirs.v[0], &all, &w->err), 0);
    assert_int_equal(all.n, 0);
    assert_int_equal(node_cache_prune(w->dirs.v[0], &how, &gone, &w->err), 0);
    assert_int_equal(world_names(w, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(unused_versions_are_removed_and_the_oldest_first),
        WORLD_TEST(what_is_in_use_is_used_last),
        WORLD_TEST(one_that_cannot_be_removed_keeps_no_other),
        WORLD_TEST(a_version_that_is_half_removed_has_no_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
