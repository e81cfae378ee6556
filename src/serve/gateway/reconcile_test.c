/* Random deployments against a model of HAProxy: it always ends as wanted, and on the way no server
 * is deleted that still has something to do. */
#include "serve/gateway/reconcile.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define SERVERS 12

static const char *const names[SERVERS] = { "a", "b", "c", "d", "e", "f",
                                            "g", "h", "i", "j", "k", "l" };
static const char *const backends[2] = { "m:1", "m:2" };

struct model {
    unsigned seed;
    bool wanted[SERVERS], drained[SERVERS], there[SERVERS], alive[SERVERS];
    struct haproxy_server at[SERVERS];
};

/* The same numbers in every run. */
static unsigned chance(struct model *m)
{
    m->seed = m->seed * 1103515245U + 12345U;
    return m->seed >> 16;
}

static const char *backend_of(unsigned i)
{
    return backends[i % 2];
}

static unsigned place_of(const char *name)
{
    return (unsigned)(name[0] - 'a');
}

static void model_do(struct model *m, const struct reconcile_step *s)
{
    unsigned i = place_of(s->name);
    struct haproxy_server *x = &m->at[i];

    assert_string_equal(s->backend, backend_of(i));
    assert_true(m->there[i] == (s->action != RECONCILE_ADD));
    switch (s->action) {
    case RECONCILE_ADD:
        *x = (struct haproxy_server){ .backend = s->backend, .name = s->name, .maintenance = true };
        m->there[i] = true;
        break;
    case RECONCILE_READY:
        assert_true(x->maintenance);
        x->maintenance = false;
        x->weight = s->wanted->weight;
        x->up = m->alive[i];
        break;
    case RECONCILE_WEIGHT:
        x->weight = s->wanted->weight;
        break;
    case RECONCILE_DRAIN:
    case RECONCILE_UNDRAIN:
        x->draining = s->action == RECONCILE_DRAIN;
        x->since_ms = 0;
        break;
    case RECONCILE_CUT:
        assert_true(x->since_ms >= 5000);
        x->in_use = 0;
        break;
    case RECONCILE_DELETE:
        assert_true(x->in_use == 0 && !m->wanted[i] && (x->draining || x->maintenance));
        m->there[i] = false;
        break;
    default:
        fail();
    }
}

/* One look and its steps; how many there were. */
static size_t model_turn(struct model *m, bool *waiting)
{
    struct reconcile_wanted wanted[SERVERS];
    struct haproxy_server found[SERVERS];
    struct reconcile_input in = { wanted, 0, found, 0, 5000 };
    AUTO_FREE struct reconcile_step *steps = NULL;
    size_t n = 0;

    for (unsigned k = 0; k < SERVERS; k++) {
        unsigned i = (k * 5) % SERVERS; /* in no order */

        if (m->wanted[i])
            wanted[in.n_wanted++] =
                (struct reconcile_wanted){ backend_of(i), names[i], 1 + i, m->drained[i], NULL };
        if (m->there[k])
            found[in.n_found++] = m->at[k];
    }
    assert_int_equal(reconcile(&in, &steps, &n, waiting, NULL), 0);
    for (size_t i = 0; i < n; i++)
        model_do(m, &steps[i]);
    return n;
}

static void model_settle(struct model *m)
{
    bool waiting = true;

    for (int turn = 0; turn < 100; turn++) {
        if (model_turn(m, &waiting) == 0 && !waiting)
            break;
        for (unsigned i = 0; i < SERVERS; i++) {
            m->at[i].since_ms += 1000;
            if (chance(m) % 3 == 0 && m->at[i].in_use > 0)
                m->at[i].in_use--;
        }
    }
    assert_false(waiting);
    for (unsigned i = 0; i < SERVERS; i++) {
        assert_int_equal(m->there[i], m->wanted[i]);
        if (m->wanted[i])
            assert_true(!m->at[i].maintenance && m->at[i].draining == m->drained[i] &&
                        m->at[i].weight == 1 + i);
    }
}

static void any_change_ends_as_wanted(void **state)
{
    struct model m = { .seed = 7 };

    (void)state;
    for (int round = 0; round < 500; round++) {
        for (unsigned i = 0; i < SERVERS; i++) {
            m.wanted[i] = chance(&m) % 2;
            m.drained[i] = chance(&m) % 4 == 0;
            m.alive[i] = true;
            m.at[i].in_use = chance(&m) % 30;
        }
        model_settle(&m);
    }
}

static void the_last_server_stays_until_its_successor_is_up(void **state)
{
    struct model m = { 0 };
    bool waiting;

    (void)state;
    m.wanted[0] = m.alive[0] = true;
    model_settle(&m);
    m.wanted[0] = false;
    m.wanted[2] = true; /* the same backend; it is not alive yet */
    for (int i = 0; i < 20; i++)
        (void)model_turn(&m, &waiting);
    assert_true(m.there[0] && !m.at[0].draining && waiting);
    m.at[2].up = true;
    model_settle(&m);
    assert_true(m.there[2] && !m.there[0]);
}

static void a_busy_server_is_cut_off_after_its_time(void **state)
{
    struct model m = { 0 };
    bool waiting;

    (void)state;
    m.wanted[0] = m.alive[0] = true;
    model_settle(&m);
    m.wanted[0] = false;
    m.at[0].in_use = 3;
    (void)model_turn(&m, &waiting);
    assert_true(m.at[0].draining);
    assert_int_equal(model_turn(&m, &waiting), 0);
    assert_true(waiting);
    m.at[0].since_ms = 5000;
    assert_int_equal(model_turn(&m, &waiting), 1);
    assert_int_equal(m.at[0].in_use, 0);
    (void)model_turn(&m, &waiting);
    assert_false(m.there[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_change_ends_as_wanted),
        cmocka_unit_test(the_last_server_stays_until_its_successor_is_up),
        cmocka_unit_test(a_busy_server_is_cut_off_after_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
