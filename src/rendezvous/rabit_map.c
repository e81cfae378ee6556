/* rabit_map.c - see rabit_map.h.
 *
 * The tree's places are numbered as in a heap: 0 is the root, 2i+1 and 2i+2 are the children of i.
 * The ring visits a place, then its first child's part, then its last child's part backwards:
 *
 *     ring(i) = i, ring(2i+1), reverse(ring(2i+2))
 *
 * so that a part ends beside its root, and the whole ring beside the place where it began. The
 * position in the ring becomes the rank. */
#include "rendezvous/rabit_map.h"

#include <stdbool.h>

/* Seven workers, as places and as ranks (the ring is 0 1 2 3 4 5 6 0):
 *
 *              0                        0
 *          1       2                1       6
 *        3   4   5   6            2   3   5   4
 *
 * Neighbours in the ring are often neighbours in the tree too, and such a link serves both: a
 * worker has five links at most (parent, two children, two neighbours), and mostly fewer. */
struct walk {
    uint32_t world;
    uint32_t next;  /* rank to give */
    int32_t *ranks; /* by place */
};

/* Gives ranks to the part below `place`, in the ring's order or against it. As deep as the tree. */
static void walk_part(struct walk *w, uint32_t place, bool backwards)
{
    uint32_t first = 2 * place + 1, last = 2 * place + 2;
    bool only = last >= w->world; /* then the first child is the last one, too */

    if (!backwards)
        w->ranks[place] = (int32_t)w->next++;
    if (backwards && !only)
        walk_part(w, last, false);
    if (first < w->world)
        walk_part(w, first, only ? !backwards : backwards);
    if (!backwards && !only)
        walk_part(w, last, true);
    if (backwards)
        w->ranks[place] = (int32_t)w->next++;
}

static void rabit_map_add_link(struct rabit_node *n, int32_t rank)
{
    for (int32_t i = 0; i < n->n_links; i++) {
        if (n->links[i] == rank)
            return;
    }
    n->links[n->n_links++] = rank;
}

static void rabit_map_fill(struct rabit_node *n, const struct walk *w, uint32_t place)
{
    int32_t rank = w->ranks[place], world = (int32_t)w->world;

    n->parent = place ? w->ranks[(place - 1) / 2] : -1;
    if (place)
        n->tree[n->n_tree++] = n->parent;
    for (uint32_t child = 2 * place + 1; child <= 2 * place + 2 && child < w->world; child++)
        n->tree[n->n_tree++] = w->ranks[child];
    n->prev = world > 1 ? (rank + world - 1) % world : -1;
    n->next = world > 1 ? (rank + 1) % world : -1;
    for (int32_t i = 0; i < n->n_tree; i++)
        rabit_map_add_link(n, n->tree[i]);
    if (world > 1) {
        rabit_map_add_link(n, n->prev);
        rabit_map_add_link(n, n->next);
    }
}

int rabit_map_new(unsigned world, struct rabit_node **ret, struct err *err)
{
    AUTO_FREE struct rabit_node *nodes = calloc(world, sizeof(*nodes));
    AUTO_FREE int32_t *ranks = calloc(world, sizeof(*ranks));
    struct walk w = { .world = world, .ranks = ranks };

    if (!nodes || !ranks)
        return err_oom(err);
    walk_part(&w, 0, false);
    for (uint32_t place = 0; place < world; place++)
        rabit_map_fill(&nodes[ranks[place]], &w, place);
    *ret = take(nodes);
    return 0;
}
