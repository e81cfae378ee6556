/* node_cache_room_test.c - how full the cache makes a disk; see node_cache.h. */
#include "base/path.h"
#include "model/node/node_testing.h"

#include <dirent.h>
#include <string.h>
#include <sys/statvfs.h>

#define TOTAL 1000 /* MiB of each disk: 10 % of it are 100 */
#define VERSION 10 /* MiB that each version takes of it, as far as the disks say */

static uint64_t room[2]; /* MiB that are free in the two directories without versions */

/* What the two disks say: it stands before the C library's. */
int statvfs(const char *path, struct statvfs *ret)
{
    AUTO_DIR DIR *d = opendir(path);
    const struct dirent *e;
    uint64_t n = 0;

    while (d && (e = readdir(d)))
        n += *e->d_name != '.' && !strchr(e->d_name, '.');
    *ret = (struct statvfs){ .f_frsize = 1 << 20,
                             .f_blocks = TOTAL,
                             .f_bavail = room[strstr(path, "/two/") != NULL] - n * VERSION };
    return 0;
}

/* Gets a version; which of the directories has it then, or the failure. */
static int place(struct world *w, int version, uint64_t one, uint64_t two)
{
    int r;

    room[0] = one;
    room[1] = two;
    w->want.version = version;
    r = world_get(w);
    return r < 0 ? r : str_starts(w->got.path, w->dirs.v[1]);
}

static void a_disk_of_a_node_manager_does_not_become_too_full(void **state)
{
    struct world *w = *state;

    w->want.keep_free = NODE_CACHE_KEEP_FREE;
    assert_int_equal(place(w, 1, 110, 110), -ENOSPC);
    assert_non_null(strstr(w->err.text, "which needs 293 KB: 110 MB are free, and 116 MB are "
                                        "to stay free: No space left on device"));
    assert_int_equal(place(w, 1, 110, 130), 1);
}

static void a_disk_of_this_machine_may_become_full(void **state)
{
    assert_int_equal(place(*state, 1, 17, 900), 0);
}

/* It is in use by YARN all the same, which allows more than we thought. */
static void a_disk_that_others_have_filled_is_used(void **state)
{
    struct world *w = *state;

    w->want.keep_free = NODE_CACHE_KEEP_FREE;
    assert_int_equal(place(w, 1, 90, 16), 0);
    assert_int_equal(place(w, 2, 16, 16), -ENOSPC);
}

static void unused_versions_make_room(void **state)
{
    struct world *w = *state;

    w->want.keep_free = NODE_CACHE_KEEP_FREE;
    assert_int_equal(place(w, 1, 120, 900), 0);
    assert_int_equal(place(w, 2, 120, 900), 0);
    assert_int_equal(world_names(w, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(a_disk_of_a_node_manager_does_not_become_too_full),
        WORLD_TEST(a_disk_of_this_machine_may_become_full),
        WORLD_TEST(a_disk_that_others_have_filled_is_used),
        WORLD_TEST(unused_versions_make_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
