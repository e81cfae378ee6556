/* rabit_map_test.c - claims about rabit_map.h. The reference builds lists, reverses and renumbers
 * them, as the first tracker did; the code under test does none of that. */
#include "rendezvous/rabit_map.h"
#include "test.h"

#include <stdbool.h>
#include <string.h>

#define WORLD_MAX 300

/* The ring below `place` as a list of places; returns its length. */
static int reference_ring(int place, int world, int *out)
{
    int child[2], children = 0, n = 0;

    out[n++] = place;
    for (int c = 2 * place + 1; c <= 2 * place + 2; c++) {
        if (c < world)
            child[children++] = c;
    }
    for (int i = 0; i < children; i++) {
        int *part = out + n, len = reference_ring(child[i], world, part);

        for (int a = 0, b = len - 1; i == children - 1 && a < b; a++, b--) {
            int swap = part[a];

            part[a] = part[b];
            part[b] = swap;
        }
        n += len;
    }
    return n;
}

static struct rabit_node *map_of(unsigned world)
{
    struct rabit_node *m = NULL;

    assert_int_equal(rabit_map_new(world, &m, NULL), 0);
    return m;
}

static bool linked(const struct rabit_node *n, int32_t rank)
{
    for (int32_t i = 0; i < n->n_links; i++) {
        if (n->links[i] == rank)
            return true;
    }
    return false;
}

static void every_world_has_the_first_trackers_tree_and_ring(void **state)
{
    int ring[WORLD_MAX], rank_of[WORLD_MAX];

    (void)state;
    for (int world = 1; world <= WORLD_MAX; world += world < 70 ? 1 : 23) {
        AUTO_FREE struct rabit_node *m = map_of((unsigned)world);

        assert_int_equal(reference_ring(0, world, ring), world);
        for (int i = 0; i < world; i++)
            rank_of[ring[i]] = i;
        for (int i = 0; i < world; i++) {
            const struct rabit_node *n = &m[rank_of[ring[i]]];
            int place = ring[i], next = ring[(i + 1) % world], prev = ring[(i + world - 1) % world];

            assert_int_equal(n->parent, place ? rank_of[(place - 1) / 2] : -1);
            assert_int_equal(n->next, world > 1 ? rank_of[next] : -1);
            assert_int_equal(n->prev, world > 1 ? rank_of[prev] : -1);
            assert_int_equal(n->n_tree,
                             (place > 0) + (2 * place + 1 < world) + (2 * place + 2 < world));
        }
    }
}

static void links_are_mutual_few_and_never_to_oneself(void **state)
{
    (void)state;
    for (int world = 1; world <= WORLD_MAX; world += world < 70 ? 1 : 23) {
        AUTO_FREE struct rabit_node *m = map_of((unsigned)world);

        for (int32_t r = 0; r < world; r++) {
            assert_in_range(m[r].n_links, world > 1, RABIT_LINKS_MAX);
            assert_false(linked(&m[r], r));
            for (int32_t i = 0; i < m[r].n_links; i++)
                assert_true(linked(&m[m[r].links[i]], r));
            for (int32_t i = 0; i < m[r].n_tree; i++)
                assert_true(linked(&m[r], m[r].tree[i]));
        }
    }
}

static void seven_workers_stand_like_this(void **state)
{
    /* By the published tracker: parent by rank. */
    static const int32_t parent[] = { -1, 0, 1, 1, 6, 6, 0 };
    AUTO_FREE struct rabit_node *m = map_of(7);

    (void)state;
    for (int32_t r = 0; r < 7; r++) {
        assert_int_equal(m[r].parent, parent[r]);
        assert_int_equal(m[r].next, (r + 1) % 7);
    }
}

static void a_worker_alone_has_nobody(void **state)
{
    AUTO_FREE struct rabit_node *m = map_of(1);

    (void)state;
    assert_int_equal(m[0].parent, -1);
    assert_int_equal(m[0].prev, -1);
    assert_int_equal(m[0].next, -1);
    assert_int_equal(m[0].n_tree + m[0].n_links, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_world_has_the_first_trackers_tree_and_ring),
        cmocka_unit_test(links_are_mutual_few_and_never_to_oneself),
        cmocka_unit_test(seven_workers_stand_like_this),
        cmocka_unit_test(a_worker_alone_has_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
