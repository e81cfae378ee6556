/* earlier_output_test.c - see earlier_output.h */
#include "client/client_files_testing.h"
#include "client/earlier_output.h"

static json_t *status_with(const char *state)
{
    json_t *v = NULL;

    assert_int_equal(json_make(&v, NULL, "{s:[{s:s, s:s, s:i}]}", "tasks", "task", "worker:0",
                               "state", state, "attempt", 2),
                     0);
    return v;
}

/* What the present agent sends: its file begins behind 14 bytes of others, or with those of a file
 * that was saved. */
static void send_piece(struct spool *s, const char *text, uint64_t saved)
{
    struct piece p = { .kind = PIECE_OUTPUT,
                       .task = "worker:0",
                       .stream = PIECE_OUT,
                       .offset = 14,
                       .saved = saved,
                       .data = text,
                       .n = strlen(text) };

    assert_int_equal(spool_add(s, &p, NULL), 0);
}

static const struct {
    const char *state, *sent; /* sent: NULL: the master was not asked */
    size_t kept;              /* of the two files of worker:0 */
} rows[] = {
    { "RUNNING", "three\n", 2 }, /* the same line again, of another attempt */
    { "RUNNING", NULL, 2 },      { "WAITING", NULL, 2 },   { "LOST", NULL, 2 },
    { "DONE", "three\n", 1 },    { "DONE", "threE\n", 2 }, { "DONE", "three\nfour\n", 2 },
    { "FAILED", NULL, 1 },
};

static void what_is_saved_is_shown_once(void **state)
{
    put(*state, "worker-0.1.out", "one\ntwo\n");
    put(*state, "worker-0.out", "three\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_JSON *status = status_with(rows[i].state);
        AUTO(spool) struct spool *spool = NULL;
        AUTO_FS_SET *set = NULL;
        AUTO_LOGFILES sent = { 0 }, saved = { 0 };
        size_t lanes = rows[i].sent ? 1 : 0;

        assert_int_equal(logfiles_list(local_files(&set), *state, NULL, &saved, NULL), 0);
        assert_int_equal(spool_new(&spool, NULL), 0);
        if (rows[i].sent)
            send_piece(spool, rows[i].sent, 0);
        assert_int_equal(logfiles_add(spool, NULL, &sent, NULL), 0);
        assert_int_equal(earlier_keep(status, rows[i].sent ? &sent : NULL, &saved, NULL), 0);
        assert_int_equal(logfiles_move(&saved, &sent), 0);
        if (sent.n != rows[i].kept + lanes)
            fail_msg("row %zu: %zu files", i, sent.n);
        for (size_t k = 0; k < sent.n; k++)
            assert_int_equal(sent.v[k].earlier, k < rows[i].kept); /* and before what is sent */
        assert_int_equal(sent.v[0].part, 1);
    }
}

static void what_the_next_agent_in_the_container_sends_again_is_left_out(void **state)
{
    AUTO_JSON *status = status_with("RUNNING");
    AUTO_FS_SET *set = NULL;
    AUTO_LOGFILES saved = { 0 };

    put(*state, "worker-0.1.out", "one\ntwo\n");
    put(*state, "worker-0.out", "three\n");
    assert_int_equal(logfiles_list(local_files(&set), *state, NULL, &saved, NULL), 0);
    assert_int_equal(saved.n, 2);
    assert_true(saved.v[1].id != 0 && saved.v[1].id != saved.v[0].id);
    json_object_set_new(json_array_get(json_object_get(status, "tasks"), 0), "saved_files",
                        json_pack("[I, i]", (json_int_t)saved.v[1].id, 0));
    assert_int_equal(earlier_keep(status, NULL, &saved, NULL), 0);
    assert_int_equal(saved.n, 1);
    assert_int_equal(saved.v[0].part, 1);
}

/* The agent came after the document was made, and before output was asked for. */
static void what_an_agent_says_that_it_sends_again_is_left_out(void **state)
{
    AUTO_JSON *status = status_with("RUNNING");
    AUTO(spool) struct spool *spool = NULL;
    AUTO_FS_SET *set = NULL;
    AUTO_LOGFILES sent = { 0 }, saved = { 0 };

    put(*state, "worker-0.1.out", "one\ntwo\n");
    put(*state, "worker-0.out", "three\n");
    assert_int_equal(logfiles_list(local_files(&set), *state, NULL, &saved, NULL), 0);
    assert_int_equal(spool_new(&spool, NULL), 0);
    send_piece(spool, "three\nfour\n", saved.v[1].id);
    assert_int_equal(logfiles_add(spool, NULL, &sent, NULL), 0);
    assert_int_equal(earlier_keep(status, &sent, &saved, NULL), 0);
    assert_int_equal(saved.n, 1);
    assert_int_equal(saved.v[0].part, 1);
}

/* The agent of its first start is gone, and the next one has not come. */
static void a_task_that_waits_for_its_next_container_may_have_some(void **state)
{
    static const char *const states[] = { "WAITING", "GRANTED", "PREPARING", "READY", "LOST" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(states); i++) {
        AUTO_JSON *status = status_with(states[i]);

        (void)json_object_set_new(json_array_get(json_object_get(status, "tasks"), 0), "attempt",
                                  json_integer(0));
        assert_true(earlier_any(status, NULL));
    }
}

static void only_a_job_with_a_second_start_has_any(void **state)
{
    AUTO_JSON *status = status_with("RUNNING");
    AUTO_STRS other = { 0 };

    (void)state;
    assert_true(earlier_any(status, NULL));
    assert_int_equal(strs_add(&other, "ps"), 0);
    assert_false(earlier_any(status, &other));
    (void)json_object_set_new(json_array_get(json_object_get(status, "tasks"), 0), "attempt",
                              json_integer(0));
    assert_false(earlier_any(status, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_saved_is_shown_once, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(
            what_the_next_agent_in_the_container_sends_again_is_left_out, make_dir, remove_dir),
        cmocka_unit_test_setup_teardown(what_an_agent_says_that_it_sends_again_is_left_out,
                                        make_dir, remove_dir),
        cmocka_unit_test(a_task_that_waits_for_its_next_container_may_have_some),
        cmocka_unit_test(only_a_job_with_a_second_start_has_any),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
