/* client_yarn_test.c - claims about client.h for jobs on YARN. */
#include "client/client_yarn_testing.h"
#include "client/job_call.h"
#include "terminal/format.h"

/* ---- claims ---- */

static void ask_status(struct world *w, struct client *c)
{
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    start_master(w);
    put_key(w);
    assert_int_equal(client_alive(c, &err), 1);
    assert_int_equal(client_status(c, true, &v, &err), 0);
    assert_string_equal(format_text(v, "state"), "RUNNING");
    assert_string_equal(client_where(c), "yarn");
    assert_string_equal(client_id(c), APP);
    assert_true(str_ends(client_logs(c), "/logs/" APP));
    assert_true(str_starts(client_home(c), "file://"));
    assert_int_equal(client_put(c, "/v1/stop", &err), -EBUSY);
    assert_string_equal(err.text, "it is stopping already");
}

static void a_running_job_is_asked_with_its_key(void **state)
{
    struct world w = { 0 };

    run(state, ask_status, &w);
}

static void be_refused(struct world *w, struct client *c)
{
    struct err err = ERR_INIT;
    AUTO_JSON *v = NULL;

    assert_int_equal(client_alive(c, &err), str_eq(w->type, "ydl") ? -EACCES : -ENOENT);
    assert_non_null(
        strstr(err.text, str_eq(w->type, "ydl") ? "a job of 'mallory'" : "not a ydl job"));
    err_clear(&err);
    assert_true(client_status(c, true, &v, &err) < 0);
}

static void what_is_not_ours_is_refused_in_words(void **state)
{
    struct world other = { .user = "mallory" }, spark = { .type = "SPARK" };

    run(state, be_refused, &other);
    run(state, be_refused, &spark);
}

static void look_before_the_master(struct world *w, struct client *c)
{
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(client_status(c, true, &v, &err), 0);
    assert_string_equal(format_text(v, "name"), "mnist");
    assert_string_equal(format_text(v, "waiting"), "a container for its master: the queue is full");
    assert_false(json_is_integer(json_object_get(v, "exit")));
    /* There is nobody to ask: YARN ends it. */
    assert_int_equal(client_end(c, "/v1/stop", false, &err), 0);
    assert_int_equal(w->kills, 1);
    assert_int_equal(client_alive(c, &err), 0);
}

static void a_job_without_a_master_says_what_it_waits_for(void **state)
{
    struct world w = { .take_key = true, .diagnostics = "[Mon Nov 16] the queue is full" };

    run(state, look_before_the_master, &w);
}

static void read_the_past(struct world *w, struct client *c)
{
    AUTO(spool) struct spool *spool = NULL;
    AUTO_LOGFILES files = { 0 };
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    put_log(w, "events-1.jsonl",
            "{\"seq\":0,\"t\":1000,\"event\":\"job\",\"state\":\"NEW\",\"name\":\"m\"}\n");
    put_log(w, "worker-0.out", "hello\n");
    assert_int_equal(client_alive(c, &err), 0);
    assert_int_equal(client_status(c, true, &v, &err), 0);
    assert_string_equal(format_text(v, "state"), w->unknown ? "FAILED" : "KILLED");
    assert_string_equal(format_text(v, "reason"),
                        w->unknown ? "its master was killed" : "killed by root");
    assert_int_equal(json_int_or(v, "exit", -1), w->unknown ? 70 : 143);
    assert_int_equal(client_output(c, NULL, &files, &spool, &err), 0);
    assert_int_equal(files.n, 1);
    assert_string_equal(files.v[0].task, "worker:0");
}

static void an_ended_job_is_read_from_its_files(void **state)
{
    struct world w = { .state = STATE(KILLED),
                       .final = FINAL(KILLED),
                       .diagnostics = "[Mon] killed by root" };
    struct world forgotten = { .unknown = true };

    run(state, read_the_past, &w);
    run(state, read_the_past, &forgotten);
}

static void look_at_what_was_taken_back(struct world *w, struct client *c)
{
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    (void)w;
    assert_int_equal(client_status(c, true, &v, &err), 0);
    assert_string_equal(format_text(v, "state"), "FAILED");
    assert_string_equal(format_text(v, "reason"), "the submission failed: no space");
    assert_int_equal(json_int_or(v, "exit", -1), 73);
}

static void a_job_that_could_not_be_submitted_was_not_killed_by_a_person(void **state)
{
    struct world w = { .state = STATE(KILLED),
                       .final = FINAL(KILLED),
                       .diagnostics = "Application " APP " was killed by user a with diagnostic "
                                      "message: the submission failed (exit code 73): no space" };

    run(state, look_at_what_was_taken_back, &w);
}

static void look_at_what_failed(struct client *c, int exit, const char *reason)
{
    AUTO_JSON *v = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(client_status(c, true, &v, &err), 0);
    assert_string_equal(format_text(v, "state"), "FAILED");
    assert_string_equal(format_text(v, "reason"), reason);
    assert_int_equal(json_int_or(v, "exit", -1), exit);
}

static void look_at_what_was_refused(struct world *w, struct client *c)
{
    w->attempt = -1; /* what Hadoop says where there was none */
    /* -EREMOTEIO of yarn_submit() */
    look_at_what_failed(c, 1, "the ResourceManager refused '" APP "': unknown queue: x");
}

static void look_without_permission(struct world *w, struct client *c)
{
    w->attempt = -1;
    look_at_what_failed(c, 70, "YARN does not say why");
}

static void look_at_what_ran(struct world *w, struct client *c)
{
    w->attempt = 2;
    look_at_what_failed(c, 70, "unknown queue: x");
}

static void who_looks_at_a_refused_job_learns_what_its_submitter_did(void **state)
{
    struct world refused = { .state = STATE(FAILED),
                             .final = FINAL(FAILED),
                             .diagnostics = "unknown queue: x" };
    struct world ran = refused, hidden = refused;

    run(state, look_at_what_was_refused, &refused);
    run(state, look_at_what_ran, &ran);
    hidden.diagnostics = "N/A";
    run(state, look_without_permission, &hidden);
}

static void look_for_nothing(struct world *w, struct client *c)
{
    struct err err = ERR_INIT;

    (void)w;
    assert_int_equal(client_alive(c, &err), -ENOENT);
    assert_string_equal(err.text, "there is no job '" APP "'");
}

static void a_job_that_nobody_knows_is_said_so(void **state)
{
    struct world w = { .unknown = true };

    run(state, look_for_nothing, &w);
}

/* ---- from one master to the next ---- */

struct got {
    int seqs[32];
    size_t n;
};

static int on_line(void *arg, const char *line, size_t n)
{
    struct got *g = arg;
    char text[96];

    assert_true(n < sizeof(text) && g->n < COUNT_OF(g->seqs));
    memcpy(text, line, n);
    text[n] = '\0';
    assert_int_equal(sscanf(text, "{\"seq\":%d,", &g->seqs[g->n++]), 1);
    return 0;
}

/* The first one is dead; after some looks there is a second. */
static void bring_another(struct world *w)
{
    if (w->cut && w->server && w->reports > 1) {
        w->port = 0;
        w->state = STATE(ACCEPTED);
        w->attempt = 2;
    }
    if (w->reports == 6) {
        w->cut = w->dead = false;
        w->last = 10;
        w->server = http_server_stop(w->server);
        start_master(w);
    }
}

static void follow_events(struct world *w, struct client *c)
{
    struct got got = { .n = 0 };
    struct err err = ERR_INIT;

    start_master(w);
    put_key(w);
    w->last = 5;
    w->cut = true;
    w->on_report = bring_another;
    assert_int_equal(client_events(c, true, on_line, &got, &err), 0);
    assert_int_equal(got.n, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(got.seqs[i], i);
    assert_true(w->notes <= 1);
}

static void events_go_on_with_the_next_master(void **state)
{
    struct world w = { 0 };

    run(state, follow_events, &w);
}

#define OLD_RECORDS 3000 /* more than are known by their texts (event_dedup.h) */

/* The second master has found nothing of the first one's log, and has a short one of its own. */
static int send_two_logs(void *user, struct http_call *c, struct err *err)
{
    struct world *w = user;
    const char *from = http_query(c, "from"), *log = w->cut ? "old" : "new";
    int n = w->cut ? OLD_RECORDS : 10, r = http_reply_begin(c, 200, "application/jsonl", err);
    int64_t first = 0;
    char line[96];

    assert_int_equal(str_to_i64(from, 0, OLD_RECORDS, &first), 0);
    for (int i = (int)first; r == 0 && i < n; i++)
        r = http_reply_write(
            c, line,
            (size_t)snprintf(line, sizeof(line),
                             "{\"seq\":%d,\"t\":%d,\"event\":\"%s\",\"log\":\"%s\"}\n", i, i,
                             i == 9 && !w->cut ? "end" : "note", log),
            err);
    if (r == 0 && w->cut) {
        w->dead = true;
        return err_set(err, -EIO, "killed");
    }
    return r < 0 ? r : http_reply_end(c, err);
}

struct two_logs {
    int of_old, of_new;
};

static int on_two_logs(void *arg, const char *line, size_t n)
{
    struct two_logs *got = arg;

    if (memmem(line, n, "\"new\"", 5))
        got->of_new++;
    else
        got->of_old++;
    return 0;
}

static void follow_two_logs(struct world *w, struct client *c)
{
    struct two_logs got = { 0 };
    struct err err = ERR_INIT;

    start_master(w);
    put_key(w);
    w->instead = send_two_logs;
    w->cut = true;
    w->on_report = bring_another;
    assert_int_equal(client_events(c, true, on_two_logs, &got, &err), 0);
    assert_int_equal(got.of_old, OLD_RECORDS);
    assert_int_equal(got.of_new, 10);
}

static void events_of_a_log_that_begins_anew_are_all_shown(void **state)
{
    struct world w = { 0 };

    run(state, follow_two_logs, &w);
}

/* The application ends while nobody writes its end. */
static void end_it(struct world *w)
{
    if (w->reports > 3) {
        w->state = STATE(FAILED);
        w->final = FINAL(FAILED);
        w->port = 0;
    }
}

static void follow_to_an_end(struct world *w, struct client *c)
{
    struct got got = { .n = 0 };
    struct err err = ERR_INIT;
    char text[1024] = "";

    start_master(w);
    put_key(w);
    w->last = 5;
    w->cut = true;
    w->on_report = end_it;
    for (int i = 0; i < 8; i++) /* more than the stream brought */
        (void)record(i, text + strlen(text), sizeof(text) - strlen(text));
    put_log(w, "events-1.jsonl", text);
    assert_int_equal(client_events(c, true, on_line, &got, &err), 0);
    assert_int_equal(got.n, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(got.seqs[i], i);
}

static void the_rest_of_the_events_is_in_the_files(void **state)
{
    struct world w = { 0 };

    run(state, follow_to_an_end, &w);
}

static void give_up(struct world *w, struct client *c)
{
    struct err err = ERR_INIT;
    AUTO_BUF body = { .max = 4096 };

    w->state = STATE(RUNNING);
    w->port = 1;
    w->attempt = 2;
    w->down = 2; /* a ResourceManager that is away is waited for too */
    put_key(w);
    client_set_patience(c, 150);
    assert_int_equal(client_get(c, "/v1/spec", &body, &err), -ENOTCONN);
    assert_non_null(strstr(err.text, "has not answered for"));
}

static void patience_has_an_end(void **state)
{
    struct world w = { 0 };

    run(state, give_up, &w);
}

static void fetch_output(struct world *w, struct client *c)
{
    AUTO(spool) struct spool *spool = NULL;
    AUTO_LOGFILES files = { 0 };
    struct err err = ERR_INIT;
    AUTO_LOGREADER *r = NULL;

    start_master(w);
    assert_int_equal(client_output(c, NULL, &files, &spool, &err), 0);
    assert_int_equal(files.n, 2);
    assert_string_equal(files.v[0].task, "worker:0");
    assert_string_equal(files.v[1].task, "worker:1");
    assert_int_equal(logreader_open(&files.v[1], &r, &err), 0);
    assert_int_equal(logreader_size(r), 8);
    assert_int_equal(spool_missing(spool)->n, 1);
    assert_string_equal(spool_missing(spool)->v[0], "worker:0: late");
}

/* worker:1 was somewhere else before, and its agent there has saved what it wrote. */
static void fetch_output_of_moved(struct world *w, struct client *c)
{
    AUTO(spool) struct spool *spool = NULL;
    AUTO_LOGFILES files = { 0 }, earlier = { 0 };
    struct err err = ERR_INIT;

    start_master(w);
    put_log(w, "worker-1.out", "zero\n");
    assert_int_equal(client_output(c, NULL, &files, &spool, &err), 0);
    assert_int_equal(files.n, 3);
    assert_string_equal(files.v[1].task, "worker:1");
    assert_true(files.v[1].earlier && files.v[1].path);
    assert_true(!files.v[2].earlier && files.v[2].spool);
    assert_int_equal(client_earlier_output(c, NULL, &earlier, &err), 0);
    assert_int_equal(earlier.n, 1);
    assert_true(earlier.v[0].earlier);
    assert_int_equal(w->notes, 0);
}

static void output_of_a_task_that_moved_comes_from_its_files_too(void **state)
{
    struct world w = { .take_key = true,
                       .document = "{\"state\":\"RUNNING\",\"tasks\":[{\"task\":\"worker:1\","
                                   "\"state\":\"RUNNING\",\"attempt\":1}]}" };

    run(state, fetch_output_of_moved, &w);
}

static void output_of_a_running_job_comes_from_its_master(void **state)
{
    struct world w = { .take_key = true };

    run(state, fetch_output, &w);
}

struct looking {
    struct world *w;
    bool ends;
};

static int fail_to_look(void *arg, struct client *c, struct err *err)
{
    const struct looking *l = arg;

    l->w->state = l->ends ? STATE(FINISHED) : STATE(RUNNING);
    return err_set(err, -EIO, "%s does not answer", client_id(c));
}

static void look_at_all(struct world *w, struct client *c)
{
    struct job_where where = { .on = JOB_YARN };
    const struct cli cli = { .args = &where };
    const struct globals globals = { .quiet = true };
    struct job_call x = {
        .cli = &cli, .globals = &globals, .loop = w->loop, .looked = true, .net.session = w->session
    };
    struct looking l = { .w = w };
    struct err err = ERR_INIT;

    (void)c;
    w->state = STATE(RUNNING);
    assert_int_equal(job_each(&x, JOB_EACH_RUNNING, SIZE_MAX, fail_to_look, &l, &err), -EIO);
    err_clear(&err);
    l.ends = true;
    assert_int_equal(job_each(&x, JOB_EACH_RUNNING, SIZE_MAX, fail_to_look, &l, &err), 0);
    assert_int_equal(err.code, 0);
    x.yarn = yarn_jobs_unref(x.yarn);
}

static void a_job_that_ends_while_it_is_looked_at_is_passed_over(void **state)
{
    struct world w = { 0 };

    run(state, look_at_all, &w);
}

#define CLAIM(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_running_job_is_asked_with_its_key),
        CLAIM(what_is_not_ours_is_refused_in_words),
        CLAIM(a_job_without_a_master_says_what_it_waits_for),
        CLAIM(an_ended_job_is_read_from_its_files),
        CLAIM(a_job_that_could_not_be_submitted_was_not_killed_by_a_person),
        CLAIM(who_looks_at_a_refused_job_learns_what_its_submitter_did),
        CLAIM(a_job_that_nobody_knows_is_said_so),
        CLAIM(events_go_on_with_the_next_master),
        CLAIM(events_of_a_log_that_begins_anew_are_all_shown),
        CLAIM(the_rest_of_the_events_is_in_the_files),
        CLAIM(patience_has_an_end),
        CLAIM(output_of_a_running_job_comes_from_its_master),
        CLAIM(output_of_a_task_that_moved_comes_from_its_files_too),
        CLAIM(a_job_that_ends_while_it_is_looked_at_is_passed_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
