/* yarn_start_test.c - answers of NodeManagers that come when the slot has another container, and
 * containers that are lost before they are started. */
#include "platform/yarn/yarn_platform_private.h"
#include "test.h"

static void an_answer_is_about_the_container_that_was_to_be_started(void **state)
{
    struct yarn_seat seat = { .state = SEAT_STARTING, .container = { .id = 7 } };
    struct yarn_seat *list[] = { &seat };
    struct yarn_platform p = { .seats = list, .n_seats = 1 };
    struct yarn_container_id before = seat.container;
    struct err well = ERR_INIT, late = { .code = -ETIMEDOUT, .text = "no answer" };

    (void)state;
    before.id = 6; /* given back, and replaced by 7 on another node */
    yarn_start_answered(&p, 0, before, &late);
    assert_int_equal(seat.state, SEAT_STARTING);
    yarn_start_answered(&p, 0, before, &well);
    assert_int_equal(seat.state, SEAT_STARTING);
    yarn_start_answered(&p, 0, seat.container, &well);
    assert_int_equal(seat.state, SEAT_RUNNING);
    yarn_start_answered(&p, 0, seat.container, &late); /* said twice */
    assert_int_equal(seat.state, SEAT_RUNNING);
}

/* ---- one answer of the ResourceManager that gives a container and takes it away ---- */

struct slot_story {
    uint32_t agent;         /* the slot's; 0: it has none */
    unsigned granted, lost; /* how often */
};

static void on_granted(void *user, uint32_t slot, uint32_t agent, const uint32_t *gpus, size_t n)
{
    struct slot_story *s = user;

    (void)gpus;
    assert_int_equal(slot + n, 0);
    assert_int_not_equal(agent, 0);
    s->agent = agent;
    s->granted++;
}

static void on_lost(void *user, uint32_t slot, enum fail_class cls, const char *text)
{
    struct slot_story *s = user;

    (void)cls;
    (void)text;
    assert_int_equal(slot, 0);
    assert_int_not_equal(s->agent, 0); /* whoever waits for it is told only of what was granted */
    s->agent = 0;
    s->lost++;
}

static void digest_both(struct yarn_platform *p, struct yarn_grants *g)
{
    Yarn__ContainerId id = YARN__CONTAINER_ID__INIT;
    Yarn__NodeId node = YARN__NODE_ID__INIT;
    Hadoop__Token token = HADOOP__TOKEN__INIT;
    Yarn__Container container = YARN__CONTAINER__INIT;
    Yarn__ContainerStatus status = YARN__CONTAINER_STATUS__INIT;
    struct amrm_event e = { .type = AMRM_GRANTED, .container = &container };

    id.has_id = true;
    id.id = 4;
    node.host = (char *)"gone";
    node.has_port = true;
    node.port = 1;
    container.id = &id;
    container.node_id = &node;
    container.container_token = &token;
    assert_int_equal(yarn_digest(p, &e, g), 0);
    status.container_id = &id;
    status.exit_status = -100;
    status.diagnostics = (char *)"Container released on a *lost* node";
    e = (struct amrm_event){ .type = AMRM_COMPLETED, .id = yarn_container_id_of(&id) };
    e.status = &status;
    assert_int_equal(yarn_digest(p, &e, g), 0);
}

static void what_is_given_and_taken_away_at_once_is_lost(void **state)
{
    struct spec_role role = { .name = (char *)"w" };
    struct spec spec = { .roles = &role, .n_roles = 1 };
    struct yarn_seat seat = { .state = SEAT_ASKED, .role = &role };
    struct yarn_seat *list[] = { &seat };
    struct yarn_platform p = { .seats = list, .n_seats = 1 };
    uint32_t slots[2];
    Hadoop__Token *tokens[2] = { 0 };
    struct yarn_grants g = { .slots = slots, .tokens = tokens };
    struct slot_story story = { 0 };

    (void)state;
    p.opt.spec = &spec;
    p.base.on.user = &story;
    p.base.on.on_granted = on_granted;
    p.base.on.on_lost = on_lost;
    p.spread = yarn_spread_new(NULL, 0);
    assert_non_null(p.spread);
    assert_int_equal(loop_new(&p.loop, NULL), 0);
    digest_both(&p, &g);
    assert_int_equal(story.granted, 1);
    assert_int_equal(story.lost, 1);
    yarn_start_grants(&p, &g);
    assert_int_equal(p.starting, 0); /* there is nothing to start */
    yarn_spread_free(p.spread);
    loop_free(p.loop);
    free(seat.host);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_about_the_container_that_was_to_be_started),
        cmocka_unit_test(what_is_given_and_taken_away_at_once_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
