/* client_yarn_end_test.c - claims about how a job on YARN is ended: by its master, or through YARN.
 */
#include "client/client_yarn_testing.h"
#include "terminal/format.h"

/* The ResourceManager was restarted, and the master has not registered with it again. */
static void stop_after_a_restart(struct world *w, struct client *c)
{
    AUTO_FREE char *logs = path_join(w->dir, "logs/" APP);
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    w->state = STATE(ACCEPTED);
    w->attempt = 1;
    assert_non_null(logs);
    assert_int_equal(path_mkdirs(logs, 0700, NULL), 0);
    put(logs, "events-1.jsonl", "{\"seq\":0,\"t\":1,\"event\":\"master\",\"attempt\":1}\n");
    assert_int_equal(client_end(c, "/v1/stop", false, &err), -ENOTCONN);
    assert_int_equal(w->kills, 0);
    assert_int_equal(client_status(c, true, &v, NULL), 0);
    assert_null(strstr(format_text(v, "waiting"), "a container"));
}

static void a_job_that_has_a_master_is_stopped_by_it_alone(void **state)
{
    struct world w = { 0 };

    run(state, stop_after_a_restart, &w);
}

static void kill_without_master(struct world *w, struct client *c)
{
    struct err err = ERR_INIT;

    w->state = STATE(RUNNING);
    w->port = 1; /* nobody listens there */
    w->attempt = 2;
    put_key(w);
    assert_int_equal(client_end(c, "/v1/stop", false, &err), -ENOTCONN);
    assert_int_equal(w->kills, 0);
    err_clear(&err);
    assert_int_equal(client_end(c, "/v1/kill", true, &err), 0);
    assert_int_equal(w->kills, 1);
    assert_string_equal(w->noted, "the master of " APP " does not answer: killing it through YARN");
}

static void a_kill_needs_no_master(void **state)
{
    struct world w = { 0 };

    run(state, kill_without_master, &w);
}

/* Between a look at it and the request it has ended. */
static void kill_ended(struct world *w, struct client *c)
{
    struct err err = ERR_INIT;

    start_master(w);
    put_key(w);
    assert_int_equal(client_alive(c, &err), 1);
    w->dead = true;
    w->state = STATE(FINISHED);
    w->final = FINAL(SUCCEEDED);
    assert_int_equal(client_end(c, "/v1/kill", true, &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(w->kills, 0);
    assert_int_equal(w->notes, 0);
}

static void a_job_that_has_just_ended_is_not_killed(void **state)
{
    struct world w = { 0 };

    run(state, kill_ended, &w);
}

/* Its master was killed between saying how the job ended and putting its things away. */
static void tidy_after(struct world *w, struct client *c)
{
    AUTO_FREE char *dir = path_join(w->dir, "jobs/" APP);
    const struct {
        int state;
        bool stays;
    } rows[] = { { STATE(RUNNING), true }, { STATE(FINISHED), false } };
    struct err err = ERR_INIT;

    assert_non_null(dir);
    w->final = FINAL(SUCCEEDED);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_key(w);
        w->state = rows[i].state;
        assert_true(client_alive(c, &err) >= 0);
        client_tidy(c);
        assert_int_equal(access(dir, F_OK) == 0, rows[i].stays);
    }
    client_tidy(c); /* nothing is there */
}

static void what_a_master_left_is_removed_when_its_job_has_ended(void **state)
{
    struct world w = { 0 };

    run(state, tidy_after, &w);
}

/* A stop is the master's to carry out; a kill is not. */
static void kill_deaf_master(struct world *w, struct client *c)
{
    struct err err = ERR_INIT;

    start_master(w);
    put_key(w);
    assert_int_equal(client_end(c, "/v1/stop", false, &err),
                     w->leaves ? -EAGAIN : -EPROTONOSUPPORT);
    assert_int_equal(w->kills, 0);
    err_clear(&err);
    assert_int_equal(client_end(c, "/v1/kill", true, &err), 0);
    assert_int_equal(err.code, 0);
    assert_int_equal(w->kills, 1);
    assert_int_equal(w->notes, 1);
    assert_true(str_ends(w->noted, ": killing it through YARN"));
    assert_non_null(strstr(w->noted, w->leaves ? "it is leaving" : "version 2 is newer"));
    assert_int_equal(client_alive(c, &err), 0);
}

static void a_kill_needs_no_master_that_understands_us(void **state)
{
    struct world newer = { .speaks = "Ydl-Protocol: 2\r\n" }, leaving = { .leaves = true };

    run(state, kill_deaf_master, &newer);
    run(state, kill_deaf_master, &leaving);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_kill_needs_no_master),
        CLAIM(a_job_that_has_just_ended_is_not_killed),
        CLAIM(what_a_master_left_is_removed_when_its_job_has_ended),
        CLAIM(a_job_that_has_a_master_is_stopped_by_it_alone),
        CLAIM(a_kill_needs_no_master_that_understands_us),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
