/* amrm_end_test.c - claims about amrm.h: how a master ends, and what it does when the RM restarts.
 */
#include "hadoop/yarn/amrm_testing.h"

/* ---- the end ---- */

static void an_attempt_that_is_no_more_is_over(void **state)
{
    static const struct {
        const char *class_name, *text;
    } rows[] = {
        { NOT_FOUND, "Application attempt x doesn't exist in ApplicationMasterService cache." },
        { INVALID_TOKEN, "appattempt_x not found in AMRMTokenSecretManager" },
        { BAD_REQUEST, "Application doesn't exist in cache appattempt_x" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_AMRM *a = running();
        AUTO_AMRM_EVENTS e = { 0 };
        const void *m = NULL;

        hold(a, 1, 2);
        next_allocate(a);
        assert_int_equal(fault(a, rows[i].class_name, rows[i].text, &e), AMRM_STOP);
        assert_int_equal(amrm_state(a), AMRM_OVER);
        assert_int_equal(event_at(&e, 0)->type, AMRM_ENDED);
        assert_non_null(strstr(e.why.text, rows[i].text));
        assert_int_equal(next(a, &m), AMRM_CALL_NONE); /* not even a finish */
        assert_int_equal(amrm_finish(a, 1, "", "", NULL), -EPROTO);
    }
}

static void whoever_finished_and_is_forgotten_is_done(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    const void *m;

    (void)state;
    assert_int_equal(amrm_finish(a, 1, "ok", NULL, NULL), 0);
    assert_int_equal(amrm_finish(a, 1, "ok", NULL, NULL), -EALREADY);
    assert_int_equal(next(a, &m), AMRM_CALL_FINISH);
    assert_int_equal(fault(a, INVALID_TOKEN, "gone", &e), AMRM_STOP);
    assert_int_equal(amrm_state(a), AMRM_DONE);
    assert_int_equal(event_at(&e, 0)->type, AMRM_FINISHED);
}

static void an_unregistered_master_registers_in_order_to_finish(void **state)
{
    Yarn__RegisterApplicationMasterResponse r = YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    const void *m;

    (void)state;
    assert_int_equal(amrm_finish(a, 1, "ok", NULL, NULL), 0);
    assert_int_equal(next(a, &m), AMRM_CALL_FINISH);
    assert_int_equal(fault(a, NOT_REGISTERED, "trying to unregister before", &e), AMRM_AGAIN);
    assert_int_equal(next(a, &m), AMRM_CALL_REGISTER);
    answer(a, &r, &e);
    assert_true(event_at(&e, 0)->again);
    assert_int_equal(next(a, &m), AMRM_CALL_FINISH);
}

static void so_does_one_that_never_was_registered(void **state)
{
    Yarn__RegisterApplicationMasterResponse r = YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;
    AUTO_AMRM *a = master();
    AUTO_AMRM_EVENTS e = { 0 };
    const void *m;

    (void)state;
    assert_int_equal(amrm_finish(a, 2, "no", NULL, NULL), 0);
    assert_int_equal(next(a, &m), AMRM_CALL_REGISTER);
    answer(a, &r, &e);
    assert_int_equal(next(a, &m), AMRM_CALL_FINISH);
}

static void signing_in_may_fail_a_few_times(void **state)
{
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };

    (void)state;
    next_allocate(a);
    for (int i = 0; i < 4; i++)
        assert_int_equal(fault(a, "javax.security.sasl.SaslException", "eof", &e), AMRM_LATER);
    assert_int_equal(fault(a, "javax.security.sasl.SaslException", "eof", &e), AMRM_STOP);
}

/* ---- the RM restarts ---- */

/* As measured: the heartbeat is refused, registration works at once, ids start at 0, everything
 * asked for, given back and blacklisted is told again. */
static void after_a_restart_the_rm_is_told_everything(void **state)
{
    Yarn__RegisterApplicationMasterResponse reg = YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;
    AUTO_AMRM *a = running();
    AUTO_AMRM_EVENTS e = { 0 };
    const Yarn__AllocateRequest *m;
    const void *any;
    struct answer r;

    (void)state;
    hold(a, 1, 2);
    hold(a, 2, 3);
    ask_for(a, 4, 9);
    assert_int_equal(amrm_release(a, cid(3), NULL), 0);
    assert_int_equal(amrm_blacklist(a, "h7", true, NULL), 0);
    next_allocate(a);
    response(&r, 3);
    answer(a, &r.m, &e);
    m = next_allocate(a);
    assert_int_equal(m->n_ask + m->n_release, 0);

    assert_int_equal(fault(a, NULL, "connection refused", &e), AMRM_LATER);
    assert_int_equal(fault(a, NOT_REGISTERED, "AM should re-register.", &e), AMRM_AGAIN);
    assert_int_equal(amrm_state(a), AMRM_RESYNC);
    ask_for(a, 1, 9);
    assert_int_equal(next(a, &any), AMRM_CALL_REGISTER);
    answer(a, &reg, &e);
    assert_int_equal(event_at(&e, 0)->type, AMRM_REGISTERED);
    assert_true(event_at(&e, 0)->again);
    m = next_allocate(a);
    assert_int_equal(m->response_id, 0);
    assert_int_equal(m->n_ask, 1);
    assert_int_equal(m->ask[0]->num_containers, 5);
    assert_int_equal(m->n_release, 1);
    assert_int_equal(m->release[0]->id, 3);
    assert_string_equal(m->blacklist_request->additions[0], "h7");

    response(&r, 1); /* a container that ended meanwhile, and one of the new epoch */
    complete(&r, 2, 0);
    grant(&r, INT64_C(1) << 40 | 1, 9);
    answer(a, &r.m, &e);
    assert_int_equal(e.n, 2);
    assert_int_equal(event_at(&e, 0)->type, AMRM_GRANTED);
    assert_int_equal(event_at(&e, 1)->type, AMRM_COMPLETED);
}

static void a_registration_whose_answer_was_lost_counts(void **state)
{
    AUTO_AMRM *a = master();
    AUTO_AMRM_EVENTS e = { 0 };
    const void *m;

    (void)state;
    assert_int_equal(next(a, &m), AMRM_CALL_REGISTER);
    assert_int_equal(fault(a, BAD_REQUEST, "Application Master is already registered : x", &e),
                     AMRM_AGAIN);
    assert_int_equal(amrm_state(a), AMRM_RUNNING);
    assert_int_equal(event_at(&e, 0)->type, AMRM_REGISTERED);
    assert_int_equal(next_allocate(a)->response_id, 0);
}

static void containers_of_earlier_attempts_are_found_early_or_late(void **state)
{
    Yarn__RegisterApplicationMasterResponse reg = YARN__REGISTER_APPLICATION_MASTER_RESPONSE__INIT;
    AUTO_AMRM *a = master();
    AUTO_AMRM_EVENTS e = { 0 };
    struct answer r, late;
    const void *m;

    (void)state;
    next(a, &m);
    response(&r, 1);
    grant(&r, 2, 0);
    reg.containers_from_previous_attempts = r.containers;
    reg.n_containers_from_previous_attempts = 1;
    answer(a, &reg, &e);
    assert_int_equal(e.n, 2);
    assert_int_equal(event_at(&e, 1)->type, AMRM_PREVIOUS);
    next_allocate(a);
    response(&late, 1);
    grant(&late, 3, 0);
    late.m.containers_from_previous_attempts = late.containers;
    late.m.n_containers_from_previous_attempts = 1;
    late.m.n_allocated_containers = 0;
    answer(a, &late.m, &e);
    assert_int_equal(e.n, 1);
    assert_int_equal(event_at(&e, 0)->type, AMRM_PREVIOUS);
    assert_int_equal(amrm_release(a, cid(2), NULL), 0); /* both are ours now */
    assert_int_equal(amrm_release(a, cid(3), NULL), 0);
    next_allocate(a);
    response(&late, 2);
    grant(&late, 3, 0); /* again */
    late.m.containers_from_previous_attempts = late.containers;
    late.m.n_containers_from_previous_attempts = 1;
    late.m.n_allocated_containers = 0;
    answer(a, &late.m, &e);
    assert_int_equal(e.n, 0);
}

/* ---- hostile answers ---- */

/* Answers that differ in a few bytes from a good one: whatever they say, nothing breaks. */
static void broken_answers_do_no_harm(void **state)
{
    uint8_t good[256], bytes[256];
    size_t n, digested = 0;
    uint32_t seed = 1;
    struct answer r;

    (void)state;
    response(&r, 1);
    grant(&r, 2, 0);
    r.token.kind = r.token.service = "kind";
    r.node.has_port = r.priority.has_priority = r.container.has_allocation_request_id = true;
    complete(&r, 3, 1);
    n = yarn__allocate_response__pack(&r.m, good);
    for (int i = 0; i < 20000; i++) {
        AUTO_AMRM_EVENTS e = { 0 };
        AUTO_AMRM *a = NULL;
        AUTO_MESSAGE Yarn__AllocateResponse *m = NULL;

        memcpy(bytes, good, n);
        for (uint32_t k = 0; k < 2; k++) {
            seed = seed * 1664525 + 1013904223;
            bytes[2 + (seed >> 8) % (n - 2)] = (uint8_t)(seed >> 24);
        }
        m = yarn__allocate_response__unpack(NULL, n, bytes);
        if (!m)
            continue;
        a = running();
        ask_for(a, 1, 0);
        next_allocate(a);
        digested += amrm_on_response(a, m, &e, NULL) == 0;
        (void)amrm_release(a, cid(2), NULL);
        next_allocate(a);
    }
    assert_true(digested > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_that_is_no_more_is_over),
        cmocka_unit_test(whoever_finished_and_is_forgotten_is_done),
        cmocka_unit_test(an_unregistered_master_registers_in_order_to_finish),
        cmocka_unit_test(so_does_one_that_never_was_registered),
        cmocka_unit_test(signing_in_may_fail_a_few_times),
        cmocka_unit_test(after_a_restart_the_rm_is_told_everything),
        cmocka_unit_test(a_registration_whose_answer_was_lost_counts),
        cmocka_unit_test(containers_of_earlier_attempts_are_found_early_or_late),
        cmocka_unit_test(broken_answers_do_no_harm),
    };

    return cmocka_run_group_tests_name("yarn amrm, end and restart", tests, NULL, NULL);
}
