/* follow_test.c - who stays to the end of a job whose master is cut off in the middle of a word. */
#include "client/client_yarn_testing.h"
#include "follow/follow.h"

#include <fcntl.h>

#define PIECE_ONE "{\"task\":\"worker:1\",\"stream\":\"out\",\"offset\":0,\"len\":4}\none\n"
#define THE_END                                                                                    \
    "{\"event\":{\"seq\":0,\"t\":1,\"event\":\"end\",\"state\":\"SUCCEEDED\",\"exit\":0}}\n"

#define THE_KILL                                                                                   \
    "{\"event\":{\"seq\":0,\"t\":1,\"event\":\"job\",\"state\":\"NEW\",\"roles\":[{\"name\":"      \
    "\"worker\","                                                                                  \
    "\"count\":2,\"procs\":1}]}}\n"                                                                \
    "{\"event\":{\"seq\":1,\"t\":1,\"event\":\"task\",\"task\":\"worker:1\",\"state\":\"LOST\","   \
    "\"code\":143,\"class\":\"person\"}}\n"                                                        \
    "{\"event\":{\"seq\":2,\"t\":1,\"event\":\"end\",\"state\":\"KILLED\",\"exit\":143}}\n"

static const char *told; /* by the master, until it breaks off */

/* The last record comes, and not all that was written before. The agents are gone by then: who asks
 * for output once more gets as little. */
static int break_off(void *user, struct http_call *c, struct err *err)
{
    int r;

    (void)user;
    if (str_eq(http_path(c), "/v1/logs"))
        return http_reply(c, 200, "application/x-ydl-pieces", PIECE_ONE, sizeof(PIECE_ONE) - 1,
                          err);
    assert_string_equal(http_path(c), "/v1/attach");
    r = http_reply_begin(c, 200, "application/x-ydl-pieces", err);
    if (r == 0)
        r = http_reply_write(c, told, strlen(told), err);
    return r < 0 ? r : err_set(err, -EIO, "killed");
}

/* Our own output goes into a file meanwhile. */
static int turn_aside(int fd, const char *path)
{
    AUTO_CLOSE int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    int before = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    assert_true(file >= 0 && before >= 0);
    assert_int_equal(dup2(file, fd), fd);
    return before;
}

static void turn_back(int fd, int before)
{
    assert_int_equal(dup2(before, fd), fd);
    close(before);
}

static void follow_it(struct world *w, struct client *c, http_handler *master, struct buf *out,
                      struct buf *said)
{
    AUTO_FREE char *to = path_join(w->dir, "shown");
    AUTO_FREE char *notes = path_join(w->dir, "said");
    const struct follow_options o = { .streams = { true, true }, .quiet = true };
    struct follow_result end = { 0 };
    struct err err = ERR_INIT;
    int fds[2], r;

    assert_true(to && notes);
    start_master(w);
    w->instead = master;
    fds[0] = turn_aside(STDOUT_FILENO, to);
    fds[1] = turn_aside(STDERR_FILENO, notes);
    r = follow_job(c, &o, &end, &err);
    turn_back(STDOUT_FILENO, fds[0]);
    turn_back(STDERR_FILENO, fds[1]);
    assert_int_equal(r, 0);
    assert_non_null(end.status);
    json_decref(end.status);
    assert_int_equal(path_read(to, out, NULL), 0);
    assert_int_equal(path_read(notes, said, NULL), 0);
    assert_true(buf_text(out) && buf_text(said));
}

static void see_the_rest(struct world *w, struct client *c)
{
    AUTO_BUF out = { .max = KIB };
    AUTO_BUF said = { .max = KIB };

    put_log(w, "worker-1.out", "one\ntwo\n");
    told = PIECE_ONE THE_END;
    follow_it(w, c, break_off, &out, &said);
    assert_string_equal(buf_text(&out), "one\ntwo\n");
    assert_string_equal(buf_text(&said), "");
}

static void what_the_stream_lacks_is_in_the_files(void **state)
{
    struct world w = { .take_key = true };

    run(state, see_the_rest, &w);
}

/* It sends the job's last record, and nothing else: it never had an agent. */
static int tell_the_end(void *user, struct http_call *c, struct err *err)
{
    (void)user;
    return http_reply(c, 200, "application/x-ydl-pieces", told, strlen(told), err);
}

static void see_what_the_last_master_never_had(struct world *w, struct client *c)
{
    AUTO_BUF out = { .max = KIB };
    AUTO_BUF said = { .max = KIB };

    put_log(w, "worker-1.out", "one\ntwo\n");
    w->attempt = 2;
    told = THE_END;
    follow_it(w, c, tell_the_end, &out, &said);
    assert_string_equal(buf_text(&out), "one\ntwo\n");
    assert_string_equal(buf_text(&said), "");
}

static void what_a_master_lacks_that_found_the_job_ended_is_in_the_files(void **state)
{
    struct world w = { .take_key = true };

    run(state, see_what_the_last_master_never_had, &w);
}

static void hear_of_the_rest(struct world *w, struct client *c)
{
    AUTO_BUF out = { .max = KIB };
    AUTO_BUF said = { .max = KIB };

    put(w->dir, "logs", "no directory"); /* so that nothing in it can be read */
    told = PIECE_ONE THE_END;
    follow_it(w, c, break_off, &out, &said);
    assert_string_equal(buf_text(&out), "one\n");
    assert_non_null(strstr(buf_text(&said), "ydl: some output could not be shown: "));
    assert_non_null(strstr(buf_text(&said), "see 'ydl logs " APP "'"));
}

static void what_cannot_be_shown_is_said(void **state)
{
    struct world w = { .take_key = true };

    run(state, hear_of_the_rest, &w);
}

static void hear_of_late_output(struct world *w, struct client *c)
{
    AUTO_BUF out = { .max = KIB };
    AUTO_BUF said = { .max = KIB };

    told = PIECE_ONE THE_KILL;
    follow_it(w, c, break_off, &out, &said);
    assert_string_equal(buf_text(&out), "one\n");
    assert_string_equal(buf_text(&said), "ydl: the application was killed: output may be missing; "
                                         "see 'ydl logs " APP "'\n");
}

/* Its agents may save after the end, and nobody waits for them. */
static void who_followed_a_killed_application_is_told_where_output_is(void **state)
{
    struct world w = { .take_key = true };

    run(state, hear_of_late_output, &w);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(what_the_stream_lacks_is_in_the_files),
        CLAIM(what_a_master_lacks_that_found_the_job_ended_is_in_the_files),
        CLAIM(what_cannot_be_shown_is_said),
        CLAIM(who_followed_a_killed_application_is_told_where_output_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
