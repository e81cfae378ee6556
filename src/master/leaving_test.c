/* leaving_test.c - nodes and containers that will be taken away: who is told of them, what is done
 * where nobody looks after them, and what the next master knows. */
#include "base/json.h"
#include "master/local/master_local_private.h"
#include "test.h"

#include <string.h>

#define T0 INT64_C(1763274830000)

/* A platform whose slots are on nm0, nm1 … */
static const char *node_of(struct platform *p, uint32_t slot)
{
    static char name[8];

    (void)p;
    (void)snprintf(name, sizeof(name), "nm%u", slot);
    return name;
}

static const struct platform_ops ops = { .name = "fake", .node = node_of };

struct bench {
    struct platform platform;
    struct spec_role roles[2];
    struct slot_info slots[3];
    struct master m;
    struct buf log;
};

static int teardown(void **state)
{
    struct bench *b = *state;

    if (!b)
        return 0;
    leaving_done(&b->m);
    blacklist_free(b->m.avoid);
    engine_free(b->m.engine);
    if (b->m.loop)
        loop_free(b->m.loop);
    buf_done(&b->log);
    free(b);
    return 0;
}

/* What the engine wants is done at once. */
static void obey(struct bench *b)
{
    struct action a;

    while (engine_next_action(b->m.engine, &a)) {
        const struct engine_end end = { .cls = FAIL_SIGNAL, .signal = 15, .when = T0 };
        const uint16_t port = 7000;
        struct engine *e = b->m.engine;

        if (a.kind == ACTION_ASK) {
            b->slots[a.id].agent = a.id + 1;
            assert_int_equal(engine_on_granted(e, a.id, a.id + 1, T0, NULL), 0);
            assert_int_equal(engine_on_agent_up(e, a.id, T0, NULL), 0);
        } else if (a.kind == ACTION_PREPARE) {
            assert_int_equal(engine_on_prepared(e, a.id, &port, 1, T0, NULL), 0);
        } else if (a.kind == ACTION_FORM) {
            assert_int_equal(engine_on_formed(e, T0, NULL), 0);
        } else if (a.kind == ACTION_START) {
            assert_int_equal(engine_on_started(e, a.id, 7, T0, NULL), 0);
        } else if (a.kind == ACTION_STOP) {
            leaving_forget(&b->m, engine_task(e, a.id)->slot); /* as a new container does */
            assert_int_equal(engine_on_ended(e, a.id, &end, T0, NULL), 0);
        }
    }
}

static void be_at(struct bench *b, int64_t now)
{
    b->m.wall += now - master_now(&b->m);
}

static int setup(void **state)
{
    struct bench *b = calloc(1, sizeof(*b));
    struct engine_options o = { .elastic = true };

    *state = b;
    if (!b)
        return -1;
    b->platform.ops = &ops;
    b->log.max = MIB;
    b->roles[0] = (struct spec_role){
        .name = (char *)"gateway", .count = 1, .procs = 1, .ports = 1, .side = -1, .decides = -1
    };
    b->roles[1] = b->roles[0];
    b->roles[1].name = (char *)"a";
    b->roles[1].count = 2;
    for (int i = 0; i < 2; i++)
        b->roles[i].restart.max = -1;
    b->m = (struct master){ .ops = &master_local_ops,
                            .platform = &b->platform,
                            .slots = { .v = b->slots, .n = 3 },
                            .spec = { .roles = b->roles,
                                      .n_roles = 2,
                                      .restart = { SPEC_RESTART_TASK, 100, 0 },
                                      .gang_retry = SPEC_FOREVER } };
    if (loop_new(&b->m.loop, NULL) < 0 || engine_new(&b->m.spec, &o, &b->m.engine, NULL) < 0 ||
        blacklist_new(BLACKLIST_NODES_FAULT, 0, &b->m.avoid, NULL) < 0) {
        (void)teardown(state); /* nobody else does */
        return -1;
    }
    b->m.mono = loop_now(b->m.loop);
    b->m.wall = T0;
    assert_int_equal(engine_start(b->m.engine, T0, NULL), 0);
    obey(b);
    assert_int_equal(engine_state(b->m.engine), JOB_RUNNING);
    return 0;
}

/* The answer to "leaving ROLE" and what it costs: times of master_now() stand still within it. */
static void assert_leaving(struct bench *b, const char *role, const char *wanted)
{
    const struct kv_word word = { role, strlen(role) };
    AUTO_BUF out = { .max = KIB };

    assert_int_equal(leaving_list(&b->m, &word, 1, &out), 0);
    assert_string_equal(out.len ? buf_text(&out) : "", wanted);
}

static bool said(struct bench *b, const char *what)
{
    assert_int_equal(engine_events(b->m.engine, &b->log), 0);
    return strstr(b->log.len ? buf_text(&b->log) : "", what) != NULL;
}

static bool stops(struct bench *b, uint32_t task)
{
    return engine_task(b->m.engine, task)->stopping;
}

static void who_asks_hears_of_a_node_and_nothing_happens_there(void **state)
{
    struct bench *b = *state;

    assert_leaving(b, "a", "");
    leaving_node_news(&b->m, "nm2", true, -1);
    leaving_node_news(&b->m, "nm0", true, -1);
    assert_leaving(b, "a", "a:1,0,node,-1,nm2");
    assert_leaving(b, "gateway", "gateway:0,0,node,-1,nm0");
    assert_leaving(b, "b", "");
    assert_true(said(b, "node 'nm2' is leaving the cluster"));
    assert_false(stops(b, 2));
    assert_int_equal(leaving_deadline(&b->m), INT64_MAX);
    leaving_node_news(&b->m, "nm2", false, -1);
    assert_leaving(b, "a", "");
    assert_true(said(b, "node 'nm2' stays in the cluster after all"));
}

static void nodes_on_which_there_is_nothing_are_not_talked_of(void **state)
{
    struct bench *b = *state;

    leaving_node_news(&b->m, "elsewhere", true, 60000);
    leaving_node_news(&b->m, "elsewhere", false, -1);
    leaving_node_news(&b->m, "nm1", false, -1);
    assert_false(said(b, "\"event\":\"note\""));
    leaving_node_news(&b->m, "", true, 60000);
    leaving_node_news(&b->m, "two names", true, 60000);
    leaving_node_news(&b->m, "a,b", true, 60000);
    assert_int_equal(b->m.leaving.n, 0);
}

static void after_thousands_of_them_the_next_one_is_heard_of(void **state)
{
    struct bench *b = *state;
    char name[16];

    leaving_node_news(&b->m, "nm2", true, -1);
    for (unsigned i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof(name), "gone%u", i);
        leaving_node_news(&b->m, name, true, -1);
    }
    leaving_node_news(&b->m, "nm1", true, -1);
    assert_leaving(b, "a", "a:0,0,node,-1,nm1 a:1,0,node,-1,nm2");
    assert_true(b->m.leaving.n < 4096);
}

static void the_time_that_is_left_is_told(void **state)
{
    struct bench *b = *state;
    char text[64] = "";
    const struct kv_word word = { "a", 1 };
    AUTO_BUF out = { .max = KIB };
    long long ms = 0;

    leaving_node_news(&b->m, "nm1", true, 600000);
    assert_true(said(b, "within 600 s"));
    be_at(b, T0 + 100000);
    assert_int_equal(leaving_list(&b->m, &word, 1, &out), 0);
    assert_int_equal(sscanf(buf_text(&out), "a:0,0,node,%lld,%63s", &ms, text), 2);
    assert_true(ms < 550000 && ms > 400000);
    assert_string_equal(text, "nm1");
}

static void a_node_that_is_avoided_is_to_be_left_too(void **state)
{
    struct bench *b = *state;

    assert_int_equal(blacklist_restore(b->m.avoid, "nm1", true), 0);
    assert_leaving(b, "a", "a:0,0,avoided,-1,nm1");
    assert_int_equal(blacklist_restore(b->m.avoid, "nm1", false), 0);
    assert_leaving(b, "a", "");
}

static void a_container_is_left_at_once_if_nobody_looks_after_it(void **state)
{
    struct bench *b = *state;

    leaving_slot(&b->m, 2, 9000, "wanted elsewhere");
    assert_true(stops(b, 2));
    assert_true(said(b, "wanted elsewhere"));
    assert_int_equal(leaving_deadline(&b->m), INT64_MAX);
}

static void who_looks_after_it_has_two_thirds_of_the_time(void **state)
{
    struct bench *b = *state;
    int64_t at;

    assert_leaving(b, "a", "");
    leaving_slot(&b->m, 2, 9000000, "wanted elsewhere");
    leaving_slot(&b->m, 2, 9000000, "told again");
    assert_false(said(b, "told again"));
    assert_false(stops(b, 2));
    at = leaving_deadline(&b->m);
    assert_true(at > T0 + 5000000 && at <= T0 + 7000000);
    leaving_on_time(&b->m);
    assert_false(stops(b, 2));
    be_at(b, at);
    leaving_on_time(&b->m);
    assert_true(stops(b, 2));
    assert_int_equal(leaving_deadline(&b->m), INT64_MAX);
}

static void who_has_not_asked_for_long_looks_after_nothing(void **state)
{
    struct bench *b = *state;

    assert_leaving(b, "a", "");
    be_at(b, T0 + 60000);
    leaving_slot(&b->m, 2, 9000, "wanted elsewhere");
    assert_true(stops(b, 2));
    leaving_slot(&b->m, 0, 9000, "the gateway's: it never was");
    assert_true(stops(b, 0));
}

static void one_that_is_moved_is_not_told_again(void **state)
{
    struct bench *b = *state;

    assert_leaving(b, "a", "");
    leaving_slot(&b->m, 2, 9000, "wanted elsewhere");
    assert_int_equal(engine_move(b->m.engine, 2, 0, "gateway:0", T0, NULL), 0);
    assert_leaving(b, "a", "");
    obey(b);
    assert_int_equal(engine_task(b->m.engine, 2)->attempt, 1);
    assert_int_equal(leaving_deadline(&b->m), INT64_MAX);
    assert_leaving(b, "a", "");
}

/* The notes of one master are the list of the next. */
static void be_the_next_master(struct bench *b)
{
    const char *line, *end;

    assert_true(said(b, "nm1"));
    leaving_done(&b->m);
    assert_leaving(b, "a", "");
    for (line = buf_text(&b->log); *line; line = end + 1) {
        AUTO_JSON *v = NULL;

        end = strchr(line, '\n');
        assert_int_equal(json_parse("log", line, (size_t)(end - line), &v, NULL), 0);
        assert_int_equal(leaving_restore(&b->m, v), 0);
    }
}

static void the_next_master_knows(void **state)
{
    struct bench *b = *state;

    leaving_node_news(&b->m, "nm1", true, 600000);
    leaving_node_news(&b->m, "nm2", true, -1);
    leaving_node_news(&b->m, "nm1", false, -1);
    be_the_next_master(b);
    assert_leaving(b, "a", "a:1,0,node,-1,nm2");
}

/* The job has left it by then, and may come back to it. */
static void the_next_master_knows_of_a_node_that_stays_after_all(void **state)
{
    struct bench *b = *state;
    uint32_t agent = b->slots[1].agent;

    leaving_node_news(&b->m, "nm1", true, 600000);
    b->slots[1].agent = 0;
    leaving_node_news(&b->m, "nm1", false, -1);
    assert_true(said(b, "node 'nm1' stays in the cluster after all"));
    be_the_next_master(b);
    b->slots[1].agent = agent;
    assert_leaving(b, "a", "");
    leaving_node_news(&b->m, "nm1", true, -1); /* and those after that, too */
    be_the_next_master(b);
    assert_leaving(b, "a", "a:0,0,node,-1,nm1");
    b->slots[1].agent = 0;
    leaving_node_news(&b->m, "nm1", false, -1);
    be_the_next_master(b);
    b->slots[1].agent = agent;
    assert_leaving(b, "a", "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_asks_hears_of_a_node_and_nothing_happens_there),
        TEST(nodes_on_which_there_is_nothing_are_not_talked_of),
        TEST(after_thousands_of_them_the_next_one_is_heard_of),
        TEST(the_time_that_is_left_is_told),
        TEST(a_node_that_is_avoided_is_to_be_left_too),
        TEST(a_container_is_left_at_once_if_nobody_looks_after_it),
        TEST(who_looks_after_it_has_two_thirds_of_the_time),
        TEST(who_has_not_asked_for_long_looks_after_nothing),
        TEST(one_that_is_moved_is_not_told_again),
        TEST(the_next_master_knows),
        TEST(the_next_master_knows_of_a_node_that_stays_after_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
