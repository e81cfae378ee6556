/* yarn_start_test.c - answers of NodeManagers that come when the slot has another container, and
 * containers that are lost before they are started. */
#include "platform/yarn/yarn_platform_private.h"
#include "test.h"

#include <string.h>

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

/* ---- agents that a master before us had told to leave ---- */

struct leaver_story {
    uint32_t agent;
    enum platform_left how;
    char text[100];
};

static void on_leaver(void *user, uint32_t agent, enum platform_left how, const char *text)
{
    struct leaver_story *s = user;

    s->agent = agent;
    s->how = how;
    (void)snprintf(s->text, sizeof(s->text), "%s", text);
}

/* The ResourceManager says that it is there, and then how it ended. */
static void digest_leaver(struct yarn_platform *p, int32_t exit_status)
{
    Yarn__ContainerId id = YARN__CONTAINER_ID__INIT;
    Yarn__NodeId node = YARN__NODE_ID__INIT;
    Yarn__Container container = YARN__CONTAINER__INIT;
    Yarn__ContainerStatus status = YARN__CONTAINER_STATUS__INIT;
    struct yarn_grants none = { 0 };
    struct amrm_event e = { .type = AMRM_PREVIOUS, .container = &container };

    id.has_id = true;
    id.id = 4;
    node.host = (char *)"n1";
    node.has_port = true;
    node.port = 1;
    container.id = &id;
    container.node_id = &node;
    assert_int_equal(yarn_digest(p, &e, &none), 0); /* it is not given back: there is no `am` */
    assert_false(yarn_is_forgotten(&p->base, 9));
    status.container_id = &id;
    status.exit_status = exit_status;
    status.diagnostics = (char *)"";
    e = (struct amrm_event){ .type = AMRM_COMPLETED, .id = yarn_container_id_of(&id) };
    e.status = &status;
    assert_int_equal(yarn_digest(p, &e, &none), 0);
}

static void how_an_agent_left_that_saved_without_a_master_is_told(void **state)
{
    static const struct {
        int32_t exit_status;
        enum platform_left how;
        const char *text;
    } rows[] = {
        { 0, PLATFORM_LEFT_SAVED, "" },
        { 73, PLATFORM_LEFT_UNSAVED, "could not save everything" },
        { -100, PLATFORM_LEFT_LOST, "" },
    };
    struct yarn_platform p = { 0 };
    struct leaver_story story = { 0 };
    struct yarn_container_id id = { .id = 4 };
    char name[YARN_CONTAINER_ID_TEXT];

    (void)state;
    p.base.on.user = &story;
    p.base.on.on_leaver = on_leaver;
    assert_int_equal(loop_new(&p.loop, NULL), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        story = (struct leaver_story){ 0 };
        assert_int_equal(yarn_adopt_leaver(&p.base, 9, yarn_container_id_text(id, name), NULL), 0);
        assert_true(yarn_is_forgotten(&p.base, 9)); /* until YARN names it */
        digest_leaver(&p, rows[i].exit_status);
        assert_int_equal(story.agent, 9);
        assert_int_equal(story.how, rows[i].how);
        assert_non_null(strstr(story.text, rows[i].text));
        assert_null(p.leavers);
    }
    loop_free(p.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_is_about_the_container_that_was_to_be_started),
        cmocka_unit_test(what_is_given_and_taken_away_at_once_is_lost),
        cmocka_unit_test(how_an_agent_left_that_saved_without_a_master_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
