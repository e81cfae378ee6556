/* amrm_model_test.c - a master and a model of a ResourceManager play thousands of random rounds:
 * asks, cancels, grants, lost answers, restarts. Whatever happens, the RM's table must come to say
 * what the master wants, and the master must get what it asked for, no more and no less. */
#include "hadoop/yarn/amrm_testing.h"

#define KEYS 4
#define HOSTS 3
#define ROWS (HOSTS + 2) /* "*", the rack, the hosts */
#define GRANTS 64

static const char *const row_names[ROWS] = { "*", "/default-rack", "h0", "h1", "h2" };

struct model {
    uint32_t seed;
    struct amrm *am;
    /* the RM */
    bool registered;
    int32_t last_id;
    Yarn__AllocateResponse *last; /* kept for a repeated heartbeat */
    int32_t rows[KEYS][ROWS];
    int64_t next_container;
    struct {
        int64_t id;
        int key, host;
    } granted[GRANTS]; /* decided, not told */
    size_t n_granted;
    size_t released;
    /* the master */
    int64_t wanted[KEYS], got[KEYS], cancelled[KEYS];
    size_t surplus;
};

static uint32_t draw(struct model *m, uint32_t n)
{
    m->seed = m->seed * 1664525 + 1013904223;
    return (m->seed >> 8) % n;
}

/* ---- the RM ---- */

static void apply(struct model *m, const Yarn__AllocateRequest *q)
{
    for (size_t i = 0; i < q->n_ask; i++) {
        const Yarn__ResourceRequest *r = q->ask[i];
        size_t row = 0;

        assert_true(r->num_containers >= 0 && r->capability && r->priority);
        while (row < ROWS && !str_eq(row_names[row], r->resource_name))
            row++;
        assert_true(row < ROWS);
        m->rows[r->allocation_request_id][row] = r->num_containers;
    }
    m->released += q->n_release;
}

/* Between two heartbeats: a node reports, and may be given something. */
static void schedule(struct model *m)
{
    int key = (int)draw(m, KEYS), host = (int)draw(m, HOSTS);
    int32_t *rows = m->rows[key];
    bool local = rows[2 + host] > 0 && rows[1] > 0;

    if (!m->registered || rows[0] <= 0 || m->n_granted == GRANTS)
        return;
    rows[0]--;
    if (local) {
        rows[1]--;
        rows[2 + host]--;
    } else if (rows[1] > 0) {
        rows[1]--;
    }
    m->granted[m->n_granted].id = ++m->next_container;
    m->granted[m->n_granted].key = key;
    m->granted[m->n_granted++].host = host;
}

static Yarn__Container *container_of(int64_t id, int key, int host)
{
    AUTO_MESSAGE Yarn__Container *c = MESSAGE_NEW(yarn__container);

    assert_non_null(c);
    c->id = yarn_container_id_new(cid(id));
    c->node_id = MESSAGE_NEW(yarn__node_id);
    c->priority = MESSAGE_NEW(yarn__priority);
    c->container_token = MESSAGE_NEW(hadoop__token);
    assert_true(c->id && c->node_id && c->priority && c->container_token);
    assert_int_equal(MESSAGE_TEXT(c->node_id->host, row_names[2 + host]), 0);
    c->node_id->port = 1;
    c->priority->priority = 1;
    c->allocation_request_id = key;
    return take(c);
}

/* The answer to a heartbeat, which the RM keeps; NULL with *ret_lost when it does not know us. */
static const Yarn__AllocateResponse *heartbeat(struct model *m, const Yarn__AllocateRequest *q)
{
    Yarn__AllocateResponse *a;

    if (m->last && q->response_id + 1 == m->last_id)
        return m->last; /* seen before: nothing in it counts */
    assert_int_equal(q->response_id, m->last_id);
    apply(m, q);
    a = MESSAGE_NEW(yarn__allocate_response);
    assert_non_null(a);
    a->response_id = ++m->last_id;
    for (size_t i = 0; i < m->n_granted; i++)
        assert_int_equal(
            MESSAGE_ADD(a, allocated_containers,
                        container_of(m->granted[i].id, m->granted[i].key, m->granted[i].host)),
            0);
    m->n_granted = 0;
    message_free(m->last);
    m->last = a;
    return a;
}

/* Containers that were decided and not told are lost with it, and so is what it was asked for. */
static void restart(struct model *m)
{
    m->registered = false;
    m->n_granted = 0;
    memset(m->rows, 0, sizeof(m->rows));
    m->last = message_free(m->last);
}

/* ---- the master ---- */

static void want(struct model *m)
{
    int64_t key = draw(m, KEYS);
    struct ask_place places[2] = { { row_names[2 + draw(m, HOSTS)], NULL },
                                   { row_names[2 + draw(m, HOSTS)], NULL } };
    struct ask ask = { .priority = 1,
                       .id = key,
                       .count = 1 + (int32_t)draw(m, 3),
                       .resource = small,
                       .places = places,
                       .n_places = draw(m, 2) };

    assert_int_equal(amrm_ask(m->am, &ask, NULL), 0);
    m->wanted[key] += ask.count;
}

static void want_less(struct model *m)
{
    int64_t key = draw(m, KEYS);

    m->cancelled[key] += amrm_cancel(m->am, 1, key, 1 + (int32_t)draw(m, 2));
}

static void note(struct model *m, const struct amrm_events *e)
{
    for (size_t i = 0; i < e->n; i++) {
        if (e->v[i].type == AMRM_GRANTED)
            m->got[e->v[i].container->allocation_request_id]++;
        m->surplus += e->v[i].type == AMRM_SURPLUS;
    }
}

static void exchange(struct model *m, bool faults)
{
    AUTO_AMRM_EVENTS e = { 0 };
    const void *q = NULL;
    enum amrm_call call = next(m->am, &q);

    if (call == AMRM_CALL_REGISTER) {
        Yarn__RegisterApplicationMasterResponse r =
            YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;

        m->registered = true;
        m->last_id = 0;
        answer(m->am, &r, &e);
    } else if (faults && draw(m, 8) == 0) {
        assert_int_equal(fault(m->am, NULL, "request lost", &e), AMRM_LATER);
    } else if (!m->registered) {
        assert_int_equal(fault(m->am, NOT_REGISTERED, "", &e), AMRM_AGAIN);
    } else {
        const Yarn__AllocateResponse *a = heartbeat(m, q);

        if (faults && draw(m, 8) == 0)
            assert_int_equal(fault(m->am, NULL, "answer lost", &e), AMRM_LATER);
        else
            answer(m->am, a, &e);
    }
    note(m, &e);
}

static void play(struct model *m, int rounds, bool restarts)
{
    for (int i = 0; i < rounds; i++) {
        uint32_t what = draw(m, 10);

        if (what < 2)
            want(m);
        else if (what == 2)
            want_less(m);
        else if (what < 6)
            schedule(m);
        else if (what == 6 && restarts && draw(m, 20) == 0)
            restart(m);
        else
            exchange(m, true);
    }
}

/* No more faults and no more wishes: what is outstanding on both sides must agree. */
static void settle(struct model *m)
{
    int64_t pending = 0;

    for (int i = 0; i < 10; i++)
        exchange(m, false);
    assert_false(amrm_has_news(m->am));
    for (int key = 0; key < KEYS; key++) {
        int64_t open = m->wanted[key] - m->got[key] - m->cancelled[key];

        assert_int_equal(m->rows[key][0], open);
        for (int row = 1; row < ROWS; row++)
            assert_in_range(m->rows[key][row], 0, open);
        pending += open;
    }
    assert_int_equal(amrm_pending(m->am), pending);
    assert_int_equal(m->released, m->surplus);
}

static void model_done(struct model *m)
{
    amrm_free(m->am);
    message_free(m->last);
}

static void both_tables_come_to_agree(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct model m = { .seed = seed, .am = master() };

        play(&m, 400, false);
        settle(&m);
        model_done(&m);
    }
}

/* A release told twice, before and after a restart, is counted twice here; the rest holds. */
static void they_do_so_after_restarts_too(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        struct model m = { .seed = seed * 7919, .am = master() };

        play(&m, 400, true);
        m.released = m.surplus = 0;
        for (int i = 0; i < 10; i++)
            exchange(&m, false);
        m.released = m.surplus;
        settle(&m);
        model_done(&m);
    }
}

/* With time, everything that is still wanted is granted, exactly. */
static void all_that_is_wanted_is_granted_in_the_end(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        struct model m = { .seed = seed, .am = master() };

        play(&m, 300, false);
        for (int i = 0; i < 5000 && amrm_pending(m.am) > 0; i++) {
            schedule(&m);
            exchange(&m, false);
        }
        assert_int_equal(amrm_pending(m.am), 0);
        settle(&m);
        model_done(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_tables_come_to_agree),
        cmocka_unit_test(they_do_so_after_restarts_too),
        cmocka_unit_test(all_that_is_wanted_is_granted_in_the_end),
    };

    return cmocka_run_group_tests_name("yarn amrm, model", tests, NULL, NULL);
}
