/* yarn_silent_test.c - when the slot of a silent agent counts as lost, and that nothing which comes
 * late or twice is taken for news of another container. */
#include "platform/yarn/yarn_platform_private.h"
#include "test.h"

static void a_slot_is_lost_when_its_container_is_gone_or_cut_off(void **state)
{
    static const struct {
        enum yarn_silent_news news;
        int64_t waited;
        bool rm_answers, over;
    } rows[] = {
        { YARN_SILENT_ENDED, 0, false, true },
        { YARN_SILENT_ENDED, 0, true, true },
        { YARN_SILENT_UNREACHED, 1300, true, true },
        { YARN_SILENT_UNREACHED, 1300, false, false }, /* we may be the ones who are cut off */
        { YARN_SILENT_UNREACHED, 20000, false, false },
        { YARN_SILENT_UNREACHED, 31000, false, true },
        { YARN_SILENT_THERE, 1300, true, false }, /* told to stop it, or hanging */
        { YARN_SILENT_THERE, 4900, false, false },
        { YARN_SILENT_THERE, 5000, true, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (yarn_silent_is_over(rows[i].news, rows[i].waited, rows[i].rm_answers) != rows[i].over)
            fail_msg("row %zu", i);
}

/* ---- one slot, whose container 7 is being ended ---- */

struct world {
    struct spec_role role;
    struct spec spec;
    struct yarn_seat seat;
    struct yarn_seat *list[1];
    struct yarn_platform p;
    unsigned lost;
};

static void on_lost(void *user, uint32_t slot, enum fail_class cls, const char *text)
{
    struct world *w = user;

    assert_int_equal(slot, 0);
    assert_int_equal(cls, FAIL_NODE);
    assert_string_equal(text, "it does not answer");
    w->lost++;
}

static void begin(struct world *w)
{
    *w = (struct world){ .role = { .name = (char *)"w" },
                         .seat = { .state = SEAT_SILENT, .agent = 3, .container = { .id = 7 } } };
    w->spec.roles = &w->role;
    w->spec.n_roles = 1;
    w->seat.role = &w->role;
    w->seat.node = YARN_SPREAD_ANYWHERE;
    w->list[0] = &w->seat;
    w->p.seats = w->list;
    w->p.n_seats = 1;
    w->p.opt.spec = &w->spec;
    w->p.base.on.user = w;
    w->p.base.on.on_lost = on_lost;
    w->p.spread = yarn_spread_new(NULL, 0);
    assert_non_null(w->p.spread);
}

static void tell(struct world *w, int64_t container)
{
    struct yarn_container_id id = { .id = container };

    yarn_silent_told(&w->p, 0, id, "it does not answer");
}

static void the_loss_is_told_once_and_only_of_that_container(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    tell(&w, 6); /* one that the slot had before */
    assert_int_equal(w.lost, 0);
    tell(&w, 7);
    assert_int_equal(w.lost, 1);
    assert_int_equal(w.seat.state, SEAT_EMPTY);
    tell(&w, 7);
    assert_int_equal(w.lost, 1);
    w.seat.state = SEAT_RUNNING; /* the slot's next one */
    w.seat.container.id = 8;
    tell(&w, 7);
    tell(&w, 8);
    assert_int_equal(w.lost, 1);
    assert_int_equal(w.seat.state, SEAT_RUNNING);
    yarn_spread_free(w.p.spread);
}

static void what_the_resource_manager_says_of_a_container_taken_back_is_no_news(void **state)
{
    Yarn__ContainerId id = YARN__CONTAINER_ID__INIT;
    Yarn__ContainerStatus status = YARN__CONTAINER_STATUS__INIT;
    struct yarn_grants none = { 0 };
    struct amrm_event e = { .type = AMRM_COMPLETED, .status = &status };
    struct world w;

    (void)state;
    begin(&w);
    id.has_id = true;
    id.id = 7;
    status.container_id = &id;
    status.exit_status = -100;
    status.diagnostics = (char *)"Container released by application";
    e.id = yarn_container_id_of(&id);
    assert_int_equal(yarn_digest(&w.p, &e, &none), 0);
    assert_int_equal(w.lost, 0);
    assert_int_equal(w.seat.state, SEAT_SILENT);
    tell(&w, 7);
    assert_int_equal(w.lost, 1);
    yarn_spread_free(w.p.spread);
}

static void at_the_end_of_the_job_nobody_is_told(void **state)
{
    struct world w;

    (void)state;
    begin(&w);
    w.p.closing = true;
    tell(&w, 7);
    assert_int_equal(w.lost, 0);
    assert_int_equal(w.seat.state, SEAT_EMPTY); /* so that nobody waits for it */
    yarn_spread_free(w.p.spread);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_is_lost_when_its_container_is_gone_or_cut_off),
        cmocka_unit_test(the_loss_is_told_once_and_only_of_that_container),
        cmocka_unit_test(what_the_resource_manager_says_of_a_container_taken_back_is_no_news),
        cmocka_unit_test(at_the_end_of_the_job_nobody_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
