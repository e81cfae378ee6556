/* deployment_move_test.c - see deployment_move.h. Beside single steps: a deployment that is made of
 * nothing but its rules, with nodes that leave at any moment, no room for others at times, and a
 * controller that is killed. */
#include "base/buf.h"
#include "serve/deployment/deployment_move.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_story.h"
#include "serve/deployment/deployment_update.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static json_t *plan_new(int replicas)
{
    AUTO_FREE char *text = str_printf(
        "{\"name\":\"m\",\"serial\":1,\"models\":[{\"name\":\"m\",\"serve\":1,\"groups\":[\"a\","
        "\"b\"],\"replicas\":%d,\"versions\":[{\"version\":1,\"group\":\"a\",\"serial\":4,"
        "\"path\":\"/1\"}]}]}",
        replicas);
    json_t *plan = NULL;

    assert_int_equal(deployment_plan_parse("plan", text, &plan, NULL), 0);
    return plan;
}

static json_t *model_of(const json_t *plan)
{
    return deployment_model(plan, NULL);
}

static unsigned size_of(const json_t *plan)
{
    return deployment_group_size(model_of(plan), "a");
}

/* ---- single steps ---- */

struct bench {
    json_t *plan;
    struct strs keys;
    int64_t now;
    struct buf said; /* the story */
};

static int keep_said(void *arg, const char *text)
{
    return buf_printf(arg, "%s;", text);
}

/* `states`: of a-0, a-1 …: 'r' ready, 'n' not ready; ' ' the gateway does not have it, 'l' only its
 * address is left. */
static json_t *report_of(const char *states)
{
    json_t *list = json_array();

    for (int i = 0; states[i]; i++) {
        bool left = states[i] == 'l';

        if (states[i] == ' ')
            continue;
        json_array_append_new(list,
                              json_pack("{s:o, s:o, s:s}", "name",
                                        left ? json_sprintf("h%d:1", i) : json_sprintf("a-%d", i),
                                        "address", json_sprintf("h%d:1", i), "state",
                                        left               ? "leaving"
                                        : states[i] == 'r' ? "ready"
                                                           : "not ready"));
    }
    return json_pack("{s:i, s:[{s:i, s:o}]}", "serves", 1, "versions", "version", 1, "replicas",
                     list);
}

static int step_seen(struct bench *b, const char *leaving, const char *states, bool direct)
{
    AUTO_JSON *report = states ? report_of(states) : NULL;
    AUTO_JSON *before = json_deep_copy(b->plan);
    const struct move_seen seen = { .now = b->now,
                                    .report = report,
                                    .keys = &b->keys,
                                    .leaving = leaving,
                                    .told = true,
                                    .direct = direct };
    int r = deployment_move_step(model_of(b->plan), &seen, NULL);

    assert_true(r >= 0);
    assert_int_equal(r, !json_equal(before, b->plan));
    assert_int_equal(deployment_story(before, b->plan, keep_said, &b->said), 0);
    return r;
}

static void step(struct bench *b, const char *leaving, const char *states, unsigned size)
{
    (void)step_seen(b, leaving, states, false);
    assert_int_equal(size_of(b->plan), size);
}

static void came_back(struct bench *b, int index, int attempt)
{
    assert_int_equal(strs_printf(&b->keys, DEPLOYMENT_AT "a/4/%d/%d/new:1", index, attempt), 0);
}

static int keep_move(void *arg, const char *group, int64_t index, int64_t attempt)
{
    return buf_printf(arg, "%s:%lld/%lld ", group, (long long)index, (long long)attempt);
}

static void assert_moves(const struct bench *b, const char *wanted)
{
    AUTO_BUF told = { .max = KIB };

    assert_int_equal(deployment_move_each(model_of(b->plan), keep_move, &told), 0);
    assert_string_equal(told.len ? buf_text(&told) : "", wanted);
}

static bool leaves(const struct bench *b, int index, int attempt)
{
    const json_t *m = model_of(b->plan);

    return deployment_move_leaves(m, deployment_version(m, 1), index, attempt);
}

static int bench_setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));

    *state = b;
    if (!b)
        return -1;
    b->plan = plan_new(2);
    b->now = 1000;
    b->said.max = MIB;
    for (int i = 0; i < 2; i++)
        assert_int_equal(strs_printf(&b->keys, DEPLOYMENT_AT "a/4/%d/0/h%d:1", i, i), 0);
    return 0;
}

static int bench_done(void **state)
{
    struct bench *b = *state;

    json_decref(b->plan);
    strs_done(&b->keys);
    buf_done(&b->said);
    free(b);
    return 0;
}

#define LEAVES "a:1,0,node,60000,nm3"

static void another_one_is_ready_before_it_gets_no_more_requests(void **state)
{
    struct bench *b = *state;

    step(b, "", "rr", 2);
    assert_false(deployment_is_moving(b->plan));
    step(b, LEAVES, NULL, 3);
    step(b, LEAVES, "rr", 3);
    step(b, LEAVES, "rrn", 3);
    assert_false(leaves(b, 1, 0));
    step(b, LEAVES, "rrr", 3);
    assert_true(leaves(b, 1, 0) && !leaves(b, 0, 0) && !leaves(b, 1, 1));
    assert_moves(b, "");
    step(b, LEAVES, "rlr", 3); /* it answers what it has */
    assert_moves(b, "");
    step(b, LEAVES, "r r", 3);
    assert_moves(b, "a:1/0 ");
    step(b, "", "r r", 3); /* it ends */
    assert_moves(b, "a:1/0 ");
    came_back(b, 1, 1);
    step(b, "", "rnr", 3); /* as many as there should be, with the one that is too many */
    assert_moves(b, "");
    step(b, "", "rrr", 2);
    assert_false(deployment_is_moving(b->plan));
    assert_string_equal(
        buf_text(&b->said),
        "m: a-1 is to move: its node nm3 leaves the cluster; another replica is started first;"
        "m: a-1 gets no more requests: as many others as there should be are ready;"
        "m: a-1 has answered what it had, and is started elsewhere;"
        "m: a-1 has moved;");
}

static void without_another_one_it_stays_until_it_is_taken(void **state)
{
    struct bench *b = *state;

    step(b, LEAVES, "rr", 3);
    b->now += 10000000;
    step(b, LEAVES, "rr ", 3);
    assert_false(leaves(b, 1, 0));
    step(b, "", "rn", 3); /* YARN took it; the job starts it again */
    came_back(b, 1, 1);
    step(b, "", "rn", 3);
    step(b, "", "rr", 2);
    assert_false(deployment_is_moving(b->plan));
}

static void a_node_that_stays_keeps_its_replica(void **state)
{
    struct bench *b = *state;

    step(b, LEAVES, "rr", 3);
    step(b, LEAVES, "rrr", 3);
    assert_true(leaves(b, 1, 0));
    step(b, NULL, "rlr", 3); /* nobody knows: a new master, perhaps */
    assert_true(leaves(b, 1, 0));
    step(b, "", "rlr", 3);
    assert_false(leaves(b, 1, 0));
    step(b, "", "rrr", 2);
    assert_false(deployment_is_moving(b->plan));
}

static void two_of_a_node_move_as_others_become_ready(void **state)
{
    struct bench *b = *state;
    const char *both = "a:0,0,node,-1,nm3 a:1,0,node,-1,nm3";

    step(b, both, "rr", 4);
    step(b, both, "rrr", 4);
    assert_int_equal(leaves(b, 0, 0) + leaves(b, 1, 0), 1);
    step(b, both, "rrrr", 4);
    assert_true(leaves(b, 0, 0) && leaves(b, 1, 0));
    step(b, both, "  rr", 4);
    assert_moves(b, "a:0/0 a:1/0 ");
    came_back(b, 0, 1);
    came_back(b, 1, 1);
    step(b, "", "nnrr", 4);
    step(b, "", "rnrr", 3);
    step(b, "", "rrr", 2);
}

static void one_that_is_taken_back_is_drained_at_once_if_others_are_ready(void **state)
{
    struct bench *b = *state;
    const char *taken = "a:1,0,container,8000,nm3";

    step(b, taken, "nr", 2);
    assert_false(leaves(b, 1, 0)); /* the last one */
    step(b, taken, "rr", 2);
    assert_true(leaves(b, 1, 0));
    step(b, taken, "r ", 2);
    assert_moves(b, "a:1/0 ");
    came_back(b, 1, 1);
    step(b, "", "rn", 2);
    assert_false(deployment_is_moving(b->plan));
    assert_true(strstr(buf_text(&b->said), "the cluster takes its container back;") != NULL);
}

static void who_watches_addresses_gets_a_while_to_see_it(void **state)
{
    struct bench *b = *state;

    (void)step_seen(b, LEAVES, "rr", true);
    (void)step_seen(b, LEAVES, "rrr", true);
    b->now += MOVE_LINGER_MS - 1;
    (void)step_seen(b, LEAVES, "r r", true);
    assert_moves(b, "");
    b->now++;
    (void)step_seen(b, LEAVES, "r r", true);
    assert_moves(b, "a:1/0 ");
}

static void the_one_that_was_started_first_may_have_to_move_itself(void **state)
{
    struct bench *b = *state;

    step(b, LEAVES, "rr", 3);
    step(b, LEAVES " a:2,0,avoided,-1,nm4", "rrr", 3);
    assert_true(leaves(b, 1, 0) && !leaves(b, 2, 0));
    step(b, LEAVES " a:2,0,avoided,-1,nm4", "r r", 3);
    came_back(b, 1, 1);
    step(b, "a:2,0,avoided,-1,nm4", "rnr", 3);
    assert_false(leaves(b, 2, 0));
    step(b, "a:2,0,avoided,-1,nm4", "rrr", 2); /* nobody needs it any more */
    step(b, "a:2,0,avoided,-1,nm4", "rr", 2);
    assert_false(deployment_is_moving(b->plan));
}

static void nothing_that_is_said_wrongly_counts(void **state)
{
    static const char *const wrong[] = {
        "a",
        "a:1",
        "a:1,0,node",
        "a:1,0,node,x,nm",
        "a:1,0,fire,5,nm",
        "b:1,0,node,5,nm",
        "a:-1,0,node,5,nm",
        "a:256,0,node,5,nm",
        "a:2,0,node,5,nm",
        "a:1,-1,node,5,nm",
        "a:1,0,node,99999999999999999,nm",
        "aa:1,0,node,5,nm",
        "a:1,0,node,5,nm,6",
        ",,,,",
    };
    struct bench *b = *state;

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        step(b, wrong[i], "rr", 2);
        assert_false(deployment_is_moving(b->plan));
    }
}

static void the_spec_has_them_until_they_leave(void **state)
{
    static const struct deployment_here here = { .listen = "127.0.0.1:1",
                                                 .key_file = "/key",
                                                 .dir = "/" };
    struct bench *b = *state;
    AUTO_FREE char *before = NULL;
    AUTO_FREE char *after = NULL;

    step(b, LEAVES, "rr", 3);
    assert_int_equal(deployment_spec(b->plan, &here, &b->keys, &before, NULL), 0);
    assert_non_null(strstr(before, "h1:1"));
    assert_null(strstr(before, "moving"));
    step(b, LEAVES, "rrr", 3);
    assert_int_equal(deployment_spec(b->plan, &here, &b->keys, &after, NULL), 0);
    assert_null(strstr(after, "h1:1"));
    assert_non_null(strstr(after, "h0:1"));
    assert_false(deployment_is_past(b->plan, DEPLOYMENT_AT "a/4/2/0/h2:1", &b->keys));
}

/* ---- the simulation ---- */

#define MOST 4
#define HOSTS 5

/* Replicas on nodes, of which some leave; a gateway and a job that do what they are told, later. */
struct world {
    json_t *plan, *spec; /* the store's; what the gateway was last told, as a plan */
    struct {
        bool running, ready, away; /* away: the gateway does not have it */
        int attempt, node, since;
    } at[MOST];
    bool leaves[HOSTS];
    unsigned seed, size;
    int64_t now;
    bool full; /* no container is to be had */
};

static unsigned draw(struct world *w, unsigned n)
{
    w->seed = w->seed * 1103515245 + 12345;
    return (w->seed >> 16) % n;
}

static void world_grant(struct world *w, unsigned i)
{
    int node = (int)draw(w, HOSTS);

    if (w->full || w->leaves[node])
        return;
    w->at[i].running = true;
    w->at[i].ready = false;
    w->at[i].node = node;
    w->at[i].attempt++;
}

static int world_move(void *arg, const char *group, int64_t index, int64_t attempt)
{
    struct world *w = arg;

    assert_string_equal(group, "a");
    if (index < MOST && w->at[index].running && w->at[index].attempt == attempt) {
        assert_true(w->at[index].away); /* never one that gets requests */
        w->at[index].running = w->at[index].ready = false;
    }
    return 0;
}

static void world_goes_on(struct world *w)
{
    unsigned node = draw(w, HOSTS);

    w->full = draw(w, 10) == 0 ? !w->full : w->full;
    if (draw(w, 30) == 0)
        w->leaves[node] = !w->leaves[node];
    for (unsigned i = 0; i < MOST; i++) {
        if (i >= w->size)
            w->at[i].running = w->at[i].ready = false;
        else if (!w->at[i].running)
            world_grant(w, i);
        else if (draw(w, 3) == 0)
            w->at[i].ready = true;
        w->at[i].away = deployment_move_leaves(
            model_of(w->spec), deployment_version(model_of(w->spec), 1), i, w->at[i].attempt);
    }
}

static int world_ready(const struct world *w)
{
    int n = 0;

    for (unsigned i = 0; i < w->size; i++)
        n += w->at[i].ready && !w->at[i].away;
    return n;
}

static void world_look(struct world *w)
{
    AUTO_STRS keys = { 0 };
    AUTO_BUF leaving = { .max = KIB };
    AUTO_JSON *report = NULL;
    AUTO_JSON *tried = json_deep_copy(w->plan);
    char states[MOST + 1] = "";
    struct move_seen seen = { .now = w->now, .keys = &keys, .told = true };

    if (draw(w, 4) == 0)
        return; /* nobody answers */
    json_decref(w->spec);
    w->spec = json_deep_copy(w->plan);
    if (draw(w, 3) > 0)
        w->size = size_of(w->plan);
    world_goes_on(w);
    assert_true(size_of(w->plan) <= MOST);
    for (unsigned i = 0; i < w->size; i++) {
        states[i] = !w->at[i].running || w->at[i].away ? ' ' : w->at[i].ready ? 'r' : 'n';
        if (w->at[i].running)
            assert_int_equal(
                strs_printf(&keys, DEPLOYMENT_AT "a/4/%u/%d/h%u:1", i, w->at[i].attempt, i), 0);
        if (w->at[i].running && w->leaves[w->at[i].node])
            assert_int_equal(buf_printf(&leaving, "%sa:%u,%d,node,-1,nm%d", leaving.len ? " " : "",
                                        i, w->at[i].attempt, w->at[i].node),
                             0);
    }
    report = report_of(states);
    seen.report = draw(w, 6) == 0 ? NULL : report;
    seen.leaving = draw(w, 6) == 0 ? NULL : leaving.len ? buf_text(&leaving) : "";
    for (unsigned i = 0; i <= draw(w, 2); i++) /* twice at times */
        assert_true(deployment_move_step(model_of(tried), &seen, NULL) >= 0);
    if (draw(w, 5) > 0) { /* it reached the store */
        json_decref(w->plan);
        w->plan = json_incref(tried);
        assert_int_equal(deployment_move_each(model_of(w->plan), world_move, w), 0);
    }
}

static void world_run(unsigned seed)
{
    struct world w = { .plan = plan_new(2), .seed = seed, .size = 2, .now = 1000 };

    for (unsigned i = 0; i < MOST; i++)
        w.at[i].attempt = -1;
    for (int i = 0; i < 100 && world_ready(&w) < 2; i++) {
        w.spec = w.spec ? w.spec : json_deep_copy(w.plan);
        memset(w.leaves, 0, sizeof(w.leaves));
        world_goes_on(&w);
    }
    for (int i = 0; i < 400; i++) {
        int before = world_ready(&w);

        world_look(&w);
        if (before >= 2 && world_ready(&w) < 2)
            fail_msg("seed %u, look %d: fewer are ready than there should be", seed, i);
        w.now += 200;
    }
    memset(w.leaves, 0, sizeof(w.leaves));
    for (int i = 0; i < 2000 && deployment_is_moving(w.plan); i++) {
        w.full = false;
        world_look(&w);
        memset(w.leaves, 0, sizeof(w.leaves));
        w.now += 1000;
    }
    assert_false(deployment_is_moving(w.plan));
    assert_int_equal(size_of(w.plan), 2);
    json_decref(w.plan);
    json_decref(w.spec);
}

static void whatever_leaves_there_are_always_as_many_ready_as_there_should_be(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 300; seed++)
        world_run(seed);
}

#define T(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_done)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(another_one_is_ready_before_it_gets_no_more_requests),
        T(without_another_one_it_stays_until_it_is_taken),
        T(a_node_that_stays_keeps_its_replica),
        T(two_of_a_node_move_as_others_become_ready),
        T(one_that_is_taken_back_is_drained_at_once_if_others_are_ready),
        T(who_watches_addresses_gets_a_while_to_see_it),
        T(the_one_that_was_started_first_may_have_to_move_itself),
        T(nothing_that_is_said_wrongly_counts),
        T(the_spec_has_them_until_they_leave),
        cmocka_unit_test(whatever_leaves_there_are_always_as_many_ready_as_there_should_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
