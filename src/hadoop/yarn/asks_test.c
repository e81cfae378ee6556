/* asks_test.c - claims about asks.h, am_blacklist.h and containers.h. */
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/yarn/am_blacklist.h"
#include "hadoop/yarn/asks.h"
#include "hadoop/yarn/containers.h"
#include "hadoop/yarn/message.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

AUTO_DEFINE(asks, struct asks *, asks_free);
#define AUTO_ASKS AUTO(asks) struct asks

static struct asks *table(void)
{
    struct asks *t = asks_new();

    assert_non_null(t);
    return t;
}

static Yarn__AllocateRequest *request(void)
{
    Yarn__AllocateRequest *m = MESSAGE_NEW(yarn__allocate_request);

    assert_non_null(m);
    return m;
}

static const struct yarn_resource small = { 64, 1, NULL, 0 }, large = { 128, 1, NULL, 0 };

/* The rows of the next request as text: "P/ID NAME=COUNT" with '!' where locality is strict. */
static const char *rows(struct asks *t, char *out, size_t size)
{
    AUTO_MESSAGE Yarn__AllocateRequest *m = request();
    size_t n = 0;

    out[0] = '\0';
    assert_int_equal(asks_build(t, m), 0);
    for (size_t i = 0; i < m->n_ask; i++) {
        const Yarn__ResourceRequest *r = m->ask[i];

        assert_true(r->priority && r->priority->has_priority); /* or the RM breaks later */
        assert_true(r->capability && r->capability->has_memory);
        assert_true(r->has_allocation_request_id && r->has_num_containers);
        assert_true(r->num_containers >= 0);
        /* or one that hands out opportunistic containers fails at every heartbeat */
        assert_true(r->execution_type_request && r->execution_type_request->has_type);
        n += (size_t)snprintf(out + n, size - n, "%s%d/%d %s%s=%d", i ? " " : "",
                              r->priority->priority, (int)r->allocation_request_id,
                              r->resource_name, r->relax_locality ? "" : "!", r->num_containers);
    }
    return out;
}
#define ROWS(t) rows(t, text, sizeof(text))

static void answered(struct asks *t)
{
    asks_sent(t);
    asks_settled(t);
}

static void granted(struct asks *t, int64_t id, const char *host)
{
    asks_sent(t);
    assert_true(asks_granted(t, 1, id, host));
    asks_settled(t);
}

static void a_host_brings_its_rack_and_everywhere(void **state)
{
    static const struct ask_place places[] = { { "h1", NULL }, { "h2", "/r2" }, { NULL, "/r3" } };
    static const struct {
        size_t n_places;
        bool strict;
        const char *rows;
    } cases[] = {
        { 0, false, "1/7 *=2" },
        { 0, true, "1/7 *=2" },
        { 1, false, "1/7 *=2 1/7 /default-rack=2 1/7 h1=2" },
        { 1, true, "1/7 *!=2 1/7 /default-rack!=2 1/7 h1=2" },
        { 2, true, "1/7 *!=2 1/7 /default-rack!=2 1/7 h1=2 1/7 /r2!=2 1/7 h2=2" },
        { 3, true, "1/7 *!=2 1/7 /default-rack!=2 1/7 h1=2 1/7 /r2!=2 1/7 h2=2 1/7 /r3=2" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ask ask = { .priority = 1,
                           .id = 7,
                           .count = 2,
                           .resource = small,
                           .places = places,
                           .n_places = cases[i].n_places,
                           .strict = cases[i].strict };
        AUTO_ASKS *t = table();
        char text[256];

        assert_int_equal(asks_add(t, &ask, NULL), 0);
        assert_string_equal(ROWS(t), cases[i].rows);
        assert_int_equal(asks_pending(t), 2);
    }
}

static void two_hosts_of_a_rack_count_once_there(void **state)
{
    static const struct ask_place either[] = { { "h1", NULL }, { "h2", NULL } };
    struct ask ask = {
        .priority = 1, .count = 1, .resource = small, .places = either, .n_places = 2
    };
    AUTO_ASKS *t = table();
    char text[256];

    (void)state;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1/0 *=1 1/0 /default-rack=1 1/0 h1=1 1/0 h2=1");
    answered(t);
    granted(t, 0, "h2");
    assert_string_equal(ROWS(t), "1/0 h1=0"); /* the RM counted down the others itself */
    answered(t);
    assert_string_equal(ROWS(t), "");
}

static void a_row_that_the_rm_counted_down_itself_is_not_sent(void **state)
{
    static const struct ask_place h1 = { "h1", NULL }, h2 = { "h2", NULL };
    struct ask ask = { .priority = 1, .count = 3, .resource = small, .n_places = 1 };
    AUTO_ASKS *t = table();
    char text[256];

    (void)state;
    ask.places = &h1;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ask.places = &h2;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1/0 *=6 1/0 /default-rack=6 1/0 h1=3 1/0 h2=3");
    answered(t);
    assert_string_equal(ROWS(t), "");
    granted(t, 0, "h1"); /* an answer to a request without rows */
    assert_false(asks_changed(t));
    assert_string_equal(ROWS(t), "");
    assert_int_equal(asks_pending(t), 5);
    granted(t, 0, "h9"); /* somewhere else: only "*" is sure to have been counted down */
    assert_string_equal(ROWS(t), "1/0 /default-rack=4");
}

/* The RM decides grants before it reads the rows that come with the same heartbeat. */
static void a_grant_that_crosses_a_row_is_told(void **state)
{
    struct ask ask = { .priority = 1, .count = 4, .resource = small };
    AUTO_ASKS *t = table();
    char text[256];

    (void)state;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1/0 *=4");
    answered(t);
    ask.count = 1;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1/0 *=5"); /* overwrites the RM's 4 - 1 */
    granted(t, 0, "h1");
    assert_string_equal(ROWS(t), "1/0 *=4");
    answered(t);
    assert_string_equal(ROWS(t), "");
}

static void what_changes_while_a_request_is_under_way_goes_with_the_next(void **state)
{
    struct ask ask = { .priority = 1, .count = 2, .resource = small };
    AUTO_ASKS *t = table();
    char text[256];

    (void)state;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1/0 *=2");
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    answered(t);
    assert_string_equal(ROWS(t), "1/0 *=4");
    assert_int_equal(asks_cancel(t, 1, 0, 1), 1);
    asks_failed(t);
    assert_string_equal(ROWS(t), "1/0 *=3");
    answered(t);
    assert_string_equal(ROWS(t), "");
}

static void a_count_is_never_negative(void **state)
{
    static const struct ask_place h1 = { "h1", NULL };
    struct ask ask = { .priority = 1, .count = 2, .resource = small, .places = &h1, .n_places = 1 };
    AUTO_ASKS *t = table();
    char text[256];

    (void)state;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ROWS(t);
    answered(t);
    assert_int_equal(asks_cancel(t, 1, 0, 100), 2);
    assert_int_equal(asks_cancel(t, 1, 0, 100), 0);
    assert_int_equal(asks_cancel(t, 1, 9, -1), 0);
    assert_false(asks_granted(t, 1, 0, "h1"));
    assert_string_equal(ROWS(t), "1/0 *=0 1/0 /default-rack=0 1/0 h1=0");
    answered(t);
    assert_false(asks_granted(t, 1, 0, "h1"));
    assert_int_equal(asks_pending(t), 0);
    ask.count = 0;
    assert_int_equal(asks_add(t, &ask, NULL), -EINVAL);
    ask.count = -1;
    assert_int_equal(asks_add(t, &ask, NULL), -EINVAL);
}

static void two_shapes_under_one_key_are_refused(void **state)
{
    static const struct ask_place h1 = { "h1", NULL };
    struct ask ask = { .priority = 1, .count = 1, .resource = small };
    AUTO_ASKS *t = table();
    struct err err = ERR_INIT;
    char text[256];

    (void)state;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ask.resource = large;
    assert_int_equal(asks_add(t, &ask, &err), -EEXIST);
    assert_string_equal(err.text,
                        "priority 1, request 0 already asks for containers of another size");
    ask.id = 1; /* another id may have it */
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ask.label = "gpu";
    assert_int_equal(asks_add(t, &ask, NULL), -EEXIST);
    ask.label = NULL;
    ask.strict = true; /* means nothing without a place */
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ask.places = &h1;
    ask.n_places = 1;
    assert_int_equal(asks_add(t, &ask, NULL), -EEXIST);
    assert_string_equal(ROWS(t), "1/0 *=1 1/1 *=2");
    answered(t);
    assert_int_equal(asks_cancel(t, 1, 1, -1), 2); /* then the key is free for it */
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1/1 *!=1 1/1 /default-rack!=1 1/1 h1=1");
}

static void relaxing_sends_the_flag_again(void **state)
{
    static const struct ask_place h1 = { "h1", "/r" };
    struct ask ask = {
        .priority = 1, .count = 2, .resource = small, .places = &h1, .n_places = 1, .strict = true
    };
    AUTO_ASKS *t = table();
    char text[256];

    (void)state;
    assert_int_equal(asks_relax(t, 1, 0), -ENOENT);
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1/0 *!=2 1/0 /r!=2 1/0 h1=2");
    assert_int_equal(asks_relax(t, 1, 0), 0); /* while the request is under way */
    answered(t);
    assert_string_equal(ROWS(t), "1/0 *=2 1/0 /r=2");
    assert_int_equal(asks_relax(t, 1, 0), 0);
    answered(t);
    assert_string_equal(ROWS(t), "");
}

static void count_refused(void *arg, int32_t priority, int64_t id)
{
    int *n = arg;

    assert_int_equal(priority, 1);
    *n += 1 + (int)id;
}

static void a_refusal_drops_what_was_under_way_only(void **state)
{
    struct ask ask = { .priority = 1, .count = 2, .resource = small };
    AUTO_ASKS *t = table();
    char text[256];
    int n = 0;

    (void)state;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ROWS(t);
    answered(t);
    ask.id = 10;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1/10 *=2");
    asks_refused(t, count_refused, &n);
    assert_int_equal(n, 11);
    assert_int_equal(asks_pending(t), 2);
    assert_string_equal(ROWS(t), "");
}

static void after_a_restart_everything_is_sent_again(void **state)
{
    static const struct ask_place h1 = { "h1", NULL };
    struct ask ask = { .priority = 1, .count = 2, .resource = small, .places = &h1, .n_places = 1 };
    AUTO_ASKS *t = table();
    char text[256];

    (void)state;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ROWS(t);
    answered(t);
    granted(t, 0, "h1");
    ask.id = 1;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ROWS(t);
    answered(t);
    asks_cancel(t, 1, 1, -1); /* never told: the new RM has nothing of it anyway */
    asks_forgotten(t);
    assert_string_equal(ROWS(t), "1/0 *=1 1/0 /default-rack=1 1/0 h1=1");
    answered(t);
    asks_unknown(t);
    assert_string_equal(ROWS(t), "1/0 *=1 1/0 /default-rack=1 1/0 h1=1");
}

static void labels_and_types_stand_where_the_rm_wants_them(void **state)
{
    static const struct ask_place h1 = { "h1", NULL };
    struct ask ask = { .priority = 1,
                       .count = 1,
                       .resource = small,
                       .places = &h1,
                       .n_places = 1,
                       .label = "gpu",
                       .opportunistic = true };
    AUTO_ASKS *t = table();
    AUTO_MESSAGE Yarn__AllocateRequest *m = request();

    (void)state;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_int_equal(asks_build(t, m), 0);
    assert_string_equal(m->ask[0]->node_label_expression, "gpu");
    assert_null(m->ask[1]->node_label_expression);
    assert_null(m->ask[2]->node_label_expression);
    assert_true(m->ask[2]->execution_type_request->enforce);
}

/* ---- the blacklist ---- */

static const char *names(struct am_blacklist *b, char *out, size_t size)
{
    AUTO_MESSAGE Yarn__AllocateRequest *m = request();
    const Yarn__ResourceBlacklistRequest *r;
    size_t n = 0;

    out[0] = '\0';
    assert_int_equal(am_blacklist_build(b, m), 0);
    r = m->blacklist_request;
    for (size_t i = 0; r && i < r->n_additions; i++)
        n += (size_t)snprintf(out + n, size - n, "+%s", r->additions[i]);
    for (size_t i = 0; r && i < r->n_removals; i++)
        n += (size_t)snprintf(out + n, size - n, "-%s", r->removals[i]);
    return out;
}
#define NAMES(b) names(b, text, sizeof(text))

static void only_changes_of_the_blacklist_are_sent(void **state)
{
    AUTO_DONE(am_blacklist_done) struct am_blacklist b = { 0 };
    char text[64];

    (void)state;
    assert_int_equal(am_blacklist_set(&b, "*", true), -EINVAL);
    assert_int_equal(am_blacklist_set(&b, "", true), -EINVAL);
    assert_int_equal(am_blacklist_set(&b, "h0", false), 0);
    assert_int_equal(am_blacklist_set(&b, "h1", true), 0);
    assert_int_equal(am_blacklist_set(&b, "h2", true), 0);
    assert_string_equal(NAMES(&b), "+h1+h2");
    assert_int_equal(am_blacklist_set(&b, "h2", false), 0);
    assert_int_equal(am_blacklist_set(&b, "h3", true), 0);
    am_blacklist_sent(&b);
    assert_string_equal(NAMES(&b), "+h3-h2");
    am_blacklist_failed(&b);
    assert_int_equal(am_blacklist_set(&b, "h3", false), 0);
    assert_string_equal(NAMES(&b), "-h2-h3"); /* it may have heard of h3 */
    am_blacklist_sent(&b);
    assert_string_equal(NAMES(&b), "");
    am_blacklist_forgotten(&b);
    assert_string_equal(NAMES(&b), "+h1"); /* all that is on it */
}

static void the_fate_of_many_containers_is_remembered(void **state)
{
    AUTO_DONE(containers_done) struct containers c = { 0 };

    (void)state;
    assert_int_equal(containers_get(&c, (struct yarn_container_id){ 0 }), CONTAINER_UNHEARD);
    for (int64_t i = 0; i < 5000; i++) {
        struct yarn_container_id id = { { { 1, 1 }, 1 }, i % 2 << 40 | i };

        assert_int_equal(containers_reserve(&c, 1), 0);
        assert_int_equal(containers_get(&c, id), CONTAINER_UNHEARD);
        containers_set(&c, id, CONTAINER_HELD);
        if (i % 3 == 0)
            containers_set(&c, id, CONTAINER_ENDED);
    }
    assert_int_equal(c.used, 5000);
    for (int64_t i = 0; i < 5000; i++) {
        struct yarn_container_id id = { { { 1, 1 }, 1 }, i % 2 << 40 | i };

        assert_int_equal(containers_get(&c, id), i % 3 == 0 ? CONTAINER_ENDED : CONTAINER_HELD);
        id.attempt.attempt = 2;
        assert_int_equal(containers_get(&c, id), CONTAINER_UNHEARD);
    }
}

static void an_rm_without_ids_gets_a_priority_for_each(void **state)
{
    AUTO_ASKS *t = table();
    struct ask ask = { .priority = 1, .id = 0, .count = 1, .resource = small };
    Yarn__Priority priority = YARN__PRIORITY__INIT;
    Yarn__Container c = YARN__CONTAINER__INIT;
    int32_t found = 0;
    int64_t id = 0;
    char text[400];

    (void)state;
    asks_without_ids(t);
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ask.id = 5;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    ask.priority = 2;
    ask.id = 0;
    assert_int_equal(asks_add(t, &ask, NULL), 0);
    assert_string_equal(ROWS(t), "1048576/0 *=1 1048581/5 *=1 2097152/0 *=1");
    asks_sent(t);
    c.priority = &priority;
    priority.priority = 1048581;
    asks_key(t, &c, &found, &id);
    assert_int_equal(found, 1);
    assert_int_equal(id, 5);
    assert_true(asks_granted(t, found, id, "h"));
    asks_settled(t);
    ask.id = 1 << 20;
    assert_int_equal(asks_add(t, &ask, NULL), -EOVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_brings_its_rack_and_everywhere),
        cmocka_unit_test(two_hosts_of_a_rack_count_once_there),
        cmocka_unit_test(a_row_that_the_rm_counted_down_itself_is_not_sent),
        cmocka_unit_test(a_grant_that_crosses_a_row_is_told),
        cmocka_unit_test(what_changes_while_a_request_is_under_way_goes_with_the_next),
        cmocka_unit_test(a_count_is_never_negative),
        cmocka_unit_test(two_shapes_under_one_key_are_refused),
        cmocka_unit_test(relaxing_sends_the_flag_again),
        cmocka_unit_test(a_refusal_drops_what_was_under_way_only),
        cmocka_unit_test(after_a_restart_everything_is_sent_again),
        cmocka_unit_test(labels_and_types_stand_where_the_rm_wants_them),
        cmocka_unit_test(only_changes_of_the_blacklist_are_sent),
        cmocka_unit_test(an_rm_without_ids_gets_a_priority_for_each),
        cmocka_unit_test(the_fate_of_many_containers_is_remembered),
    };

    return cmocka_run_group_tests_name("yarn asks", tests, NULL, NULL);
}
