/* state_test.c - the tables: what can happen, what cannot, and what comes too late. */
#include "job/engine/state.h"
#include "test.h"

static void a_task_walks_through_its_states(void **state)
{
    static const struct {
        enum task_event ev;
        enum task_state to;
    } way[] = {
        { TASK_EV_GRANT, TASK_GRANTED },   { TASK_EV_UP, TASK_PREPARING },
        { TASK_EV_PREPARED, TASK_READY },  { TASK_EV_STARTED, TASK_RUNNING },
        { TASK_EV_READY, TASK_RUNNING },   { TASK_EV_FAIL, TASK_FAILED },
        { TASK_EV_AGAIN, TASK_PREPARING }, { TASK_EV_PREPARED, TASK_READY },
        { TASK_EV_STARTED, TASK_RUNNING }, { TASK_EV_LOST, TASK_LOST },
        { TASK_EV_MOVE, TASK_WAITING },
    };
    enum task_state s = TASK_WAITING;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(way); i++) {
        assert_int_equal(task_state_next(s, way[i].ev, "t", &s, NULL), 0);
        assert_int_equal(s, way[i].to);
    }
}

static void what_cannot_happen_is_a_sentence(void **state)
{
    struct err err = ERR_INIT;
    enum task_state t = TASK_PREPARING;
    enum job_state j = JOB_SUCCEEDED;

    (void)state;
    assert_int_equal(task_state_next(t, TASK_EV_STARTED, "worker:1", &t, &err), -EPROTO);
    assert_string_equal(err.text, "task 'worker:1': started while PREPARING");
    assert_int_equal(t, TASK_PREPARING);
    assert_int_equal(job_state_next(j, JOB_EV_START, &j, &err), -EPROTO);
    assert_string_equal(err.text, "job: started while SUCCEEDED");
}

static void reports_of_a_container_that_is_gone_come_too_late(void **state)
{
    static const struct {
        enum task_state in;
        enum task_event from, to;
    } late[] = {
        { TASK_WAITING, TASK_EV_UP, TASK_EV_FAIL },
        { TASK_DONE, TASK_EV_STARTED, TASK_EV_FAIL },
        { TASK_FAILED, TASK_EV_STARTED, TASK_EV_FAIL },
        { TASK_LOST, TASK_EV_UP, TASK_EV_FAIL },
    };
    enum task_state t;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(late); i++)
        for (int ev = late[i].from; ev <= (int)late[i].to; ev++)
            assert_int_equal(task_state_next(late[i].in, (enum task_event)ev, "t", &t, NULL),
                             -EALREADY);
}

static void a_job_that_has_ended_stays_so(void **state)
{
    enum job_state j;

    (void)state;
    for (int s = JOB_SUCCEEDED; s < JOB_STATES_; s++)
        for (int ev = 0; ev < JOB_EVENTS_; ev++)
            assert_int_equal(job_state_next((enum job_state)s, (enum job_event)ev, &j, NULL),
                             -EPROTO);
}

static void names_are_read_back(void **state)
{
    enum task_state t;
    enum job_state j;

    (void)state;
    for (int i = 0; i < TASK_STATES_; i++) {
        assert_int_equal(task_state_from(task_state_name((enum task_state)i), &t), 0);
        assert_int_equal(t, i);
    }
    for (int i = 0; i < JOB_STATES_; i++) {
        assert_int_equal(job_state_from(job_state_name((enum job_state)i), &j), 0);
        assert_int_equal(j, i);
    }
    assert_int_equal(task_state_from("running", &t), -EINVAL);
    assert_int_equal(job_state_from("", &j), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_walks_through_its_states),
        cmocka_unit_test(what_cannot_happen_is_a_sentence),
        cmocka_unit_test(reports_of_a_container_that_is_gone_come_too_late),
        cmocka_unit_test(a_job_that_has_ended_stays_so),
        cmocka_unit_test(names_are_read_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
