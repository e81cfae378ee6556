/* yarn_client_slots_test.c - slots beside the client: who is granted when */
#include "platform/yarn/yarn_platform_private.h"
#include "test.h"

#define SEATS 4

struct world {
    struct spec spec;
    struct spec_role roles[2]; /* of the cluster; of the client */
    struct yarn_boot boot;
    struct yarn_platform p;
    struct yarn_seat seats[SEATS], *list[SEATS];
    uint32_t granted[SEATS]; /* agents, by slot; 0: not */
    unsigned n_granted;
};

static void on_granted(void *user, uint32_t slot, uint32_t agent, const uint32_t *gpus, size_t n)
{
    struct world *w = user;

    (void)gpus;
    assert_int_equal(n, 0);
    w->granted[slot] = agent;
    w->n_granted++;
}

/* Slots 0 and 1 are the cluster's, 2 and 3 the client's. */
static void world_init(struct world *w)
{
    *w = (struct world){ .boot = { .job = (char *)"application_1_0001" } };
    w->roles[1].place = SPEC_PLACE_CLIENT;
    w->spec.roles = w->roles;
    w->spec.n_roles = 2;
    for (uint32_t i = 0; i < SEATS; i++) {
        w->seats[i].role = &w->roles[i / 2];
        w->list[i] = &w->seats[i];
    }
    w->p.opt.spec = &w->spec;
    w->p.opt.boot = &w->boot;
    w->p.seats = w->list;
    w->p.n_seats = SEATS;
    w->p.base.on.user = w;
    w->p.base.on.on_granted = on_granted;
}

static void world_ask(struct world *w)
{
    w->seats[0].state = w->seats[1].state = SEAT_ASKED;
    yarn_client_ask(&w->p, 2);
    yarn_client_ask(&w->p, 3);
}

static void without_a_role_there_nobody_is_expected(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    w.spec.n_roles = 1;
    assert_int_equal(yarn_client_begin(&w.p, NULL), 0);
    assert_int_equal(w.p.client_agent, 0);
    assert_null(w.p.client_name);
    assert_int_equal(w.p.next_agent, 0);
}

static void all_slots_there_share_the_first_agent(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_int_equal(yarn_client_begin(&w.p, NULL), 0);
    assert_string_equal(w.p.client_name, "client_application_1_0001");
    yarn_client_ask(&w.p, 2);
    yarn_client_ask(&w.p, 3);
    yarn_client_grant(&w.p);
    assert_int_equal(w.n_granted, 2);
    assert_int_equal(w.granted[2], 1);
    assert_int_equal(w.granted[3], 1);
    yarn_client_grant(&w.p); /* not twice */
    assert_int_equal(w.n_granted, 2);
    free(w.p.client_name);
}

static void what_is_there_anyway_does_not_begin_a_hold(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_int_equal(yarn_client_begin(&w.p, NULL), 0);
    world_ask(&w);
    yarn_client_grant(&w.p);
    assert_int_equal(w.n_granted, 0);
    w.seats[1].state = SEAT_STARTING; /* the first of two: now we hold something in any case */
    yarn_client_grant(&w.p);
    assert_int_equal(w.n_granted, 2);
    free(w.p.client_name);
}

static void at_the_end_nothing_is_granted(void **state)
{
    struct world w;

    (void)state;
    world_init(&w);
    assert_int_equal(yarn_client_begin(&w.p, NULL), 0);
    yarn_client_ask(&w.p, 2);
    w.p.closing = true;
    yarn_client_grant(&w.p);
    assert_int_equal(w.n_granted, 0);
    free(w.p.client_name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_role_there_nobody_is_expected),
        cmocka_unit_test(all_slots_there_share_the_first_agent),
        cmocka_unit_test(what_is_there_anyway_does_not_begin_a_hold),
        cmocka_unit_test(at_the_end_nothing_is_granted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
