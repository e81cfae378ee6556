/* api_test.c - claims about requests that change a job: who is answered finds it in the log, and a
 * master that hands over answers nobody any more. Over a real connection; the driver is the test.
 */
#include "base/path.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_yarn_private.h"
#include "test.h"

#include <string.h>

#define ENOUGH 60000

struct desk {
    char dir[TEST_PATH];
    struct loop *loop;
    struct job_dir job;
    struct master_container container;
    struct master_options opt;
    struct master_yarn side;
    struct spec_role role;
    struct master m;
    void (*body)(struct desk *d);
    /* one request, in a fiber of its own */
    const char *target;
    int status; /* of the answer; negative: there was none */
    bool asked, over;
    char said[512];
};

/* ---- a client ---- */

static int ask(struct desk *d, const char *target)
{
    const struct http_request q = { .method = "PUT", .target = target, .body = "v", .size = 1 };
    int64_t deadline = loop_in(d->loop, ENOUGH);
    AUTO(http_client) struct http_client *c = NULL;
    struct http_answer answer = { 0 };
    struct stream *stream = NULL;
    struct sock *s = NULL;
    int r = sock_connect(d->loop, "127.0.0.1", d->side.api_port, deadline, &s, NULL);

    if (r == 0)
        r = stream_tls_client(s, &d->m.key, deadline, &stream, NULL);
    if (r == 0)
        r = http_client_new(d->loop, stream, "master", NULL, &c, NULL);
    d->asked = true;
    if (r == 0)
        r = http_ask(c, &q, deadline, &answer, NULL);
    if (r == 0)
        (void)http_read(c, d->said, sizeof(d->said) - 1, deadline, NULL);
    return r < 0 ? r : answer.status;
}

static void run_client(void *arg)
{
    struct desk *d = arg;

    d->status = ask(d, d->target);
    d->over = true;
}

static void start_asking(struct desk *d, const char *target)
{
    d->target = target;
    d->over = d->asked = false;
    memset(d->said, 0, sizeof(d->said));
    assert_int_equal(fiber_start(d->loop, run_client, d, NULL, NULL), 0);
    while (!d->over && d->m.api.n_asking == 0)
        assert_int_equal(fiber_yield(d->loop), 0);
}

static void await_answer(struct desk *d)
{
    while (!d->over)
        assert_int_equal(fiber_yield(d->loop), 0);
}

/* ---- the master ---- */

static bool journal_has(struct desk *d, const char *text)
{
    AUTO_BUF lines = { .max = JOURNAL_LINES_MAX };
    uint64_t at = 0;

    return journal_lines(&d->m.journal, &at, &lines) > 0 &&
           memmem(lines.data, lines.len, text, strlen(text));
}

static int on_desk(void *arg)
{
    struct desk *d = arg;
    struct master *m = &d->m;
    const struct engine_options opt = { 0 };
    struct kv_events kv = { .user = m, .on_reply = kvanswer_reply, .on_change = kvlog_change };
    AUTO_FREE char *journal = path_join(d->dir, "events.jsonl");
    AUTO_FREE char *unused = NULL;
    AUTO(fs_set) struct fs_set *set = NULL;

    d->role = (struct spec_role){
        .name = (char *)"w", .count = 1, .procs = 1, .side = -1, .decides = -1
    };
    d->side = (struct master_yarn)MASTER_YARN_INIT(&d->container);
    *m = (struct master){ .loop = d->loop,
                          .opt = &d->opt,
                          .ops = &master_yarn_ops,
                          .side = &d->side,
                          .wall = 1000,
                          .facts = { .user = (char *)"me" } };
    m->mono = loop_now(d->loop);
    m->spec = (struct spec){ .roles = &d->role, .n_roles = 1, .gang_retry = SPEC_FOREVER };
    memcpy(m->key.identity, "job-1", 6);
    assert_int_equal(fs_set_new(d->loop, NULL, &set, NULL), 0);
    assert_int_equal(fs_find(set, d->dir, FS_ON_LOCAL, &d->container.fs, &unused, NULL), 0);
    assert_int_equal(journal_open(&m->journal, journal, NULL), 0);
    assert_int_equal(hub_new(&m->hub, NULL), 0);
    assert_int_equal(engine_new(&m->spec, &opt, &m->engine, NULL), 0);
    assert_int_equal(engine_start(m->engine, 1000, NULL), 0);
    assert_int_equal(kv_new(&kv, &m->kv, NULL), 0);
    assert_int_equal(api_start(m, NULL), 0);
    d->body(d);
    m->api.server = m->api.server ? http_server_stop(m->api.server) : NULL;
    (void)mirror_stop(m, loop_in(d->loop, ENOUGH));
    kvanswer_done(m);
    kvlog_done(m);
    journal_done(&m->journal);
    buf_done(&m->live.lines);
    m->hub = hub_free(m->hub);
    m->kv = kv_free(m->kv);
    m->engine = engine_free(m->engine);
    return 0;
}

static void with_desk(void (*body)(struct desk *d))
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    d->body = body;
    assert_non_null(test_dir(d->dir, "api"));
    d->job = (struct job_dir){ .id = (char *)"job-1", .path = d->dir, .run = d->dir };
    d->container =
        (struct master_container){ .attempt = 1, .api_fd = -1, .jobs = d->dir, .logs = d->dir };
    d->opt = (struct master_options){ .dir = &d->job };
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, on_desk, d, false), 0);
    loop_free(d->loop);
    assert_int_equal(path_remove(d->dir, NULL), 0);
    free(d);
}

/* ---- claims ---- */

static void be_answered(struct desk *d)
{
    start_asking(d, "/v1/kill");
    for (int k = 0; k < 20; k++)
        assert_int_equal(fiber_yield(d->loop), 0);
    assert_false(d->over); /* nobody has written it down */
    assert_false(journal_has(d, "\"kill\""));
    tell_events(&d->m);
    await_answer(d);
    assert_int_equal(d->status, 200);
    assert_true(journal_has(d, "\"kill\""));
}

static void who_is_answered_finds_it_in_the_log(void **state)
{
    (void)state;
    with_desk(be_answered);
}

static void wait_and_be_left(struct desk *d)
{
    start_asking(d, "/v1/kill");
    assert_false(d->over);
    d->m.left = true;
    api_hand_over(&d->m);
    await_answer(d);
    assert_int_equal(d->status, 503);
    assert_non_null(strstr(d->said, "handing the job over"));
}

static void who_waits_is_told_that_another_master_comes(void **state)
{
    (void)state;
    with_desk(wait_and_be_left);
}

/* What the driver has written down goes to HDFS with the end of the log: who were told to ask again
 * would have it twice. `kept`: HDFS takes it. */
static void be_left_with_it_in_the_log(struct desk *d, bool kept)
{
    AUTO_FREE char *logs = path_join(d->dir, kept ? "logs" : "events.jsonl/logs");
    AUTO_FREE char *copy = path_join(d->dir, "logs/events-1.jsonl");
    AUTO_BUF text = { .max = MIB };

    assert_true(logs && copy);
    d->container.logs = logs;
    if (kept)
        assert_int_equal(path_mkdirs(logs, 0700, NULL), 0);
    start_asking(d, "/v1/kill");
    tell_events(&d->m);
    assert_int_equal(mirror_start(&d->m, NULL), 0);
    d->m.left = true;
    api_hand_over(&d->m);
    assert_false(d->over);
    api_handed_over(&d->m, mirror_stop(&d->m, loop_in(d->loop, kept ? ENOUGH : 0)) == 0);
    await_answer(d);
    assert_int_equal(d->status, kept ? 200 : 503);
    if (kept) {
        assert_int_equal(path_read(copy, &text, NULL), 0);
        assert_non_null(memmem(text.data, text.len, "\"kill\"", 6));
    }
    assert_null(d->m.api.server); /* nobody is heard any more */
    d->container.logs = d->dir;
}

static void be_left_and_kept(struct desk *d)
{
    be_left_with_it_in_the_log(d, true);
}

static void be_left_and_not_kept(struct desk *d)
{
    be_left_with_it_in_the_log(d, false);
}

static void what_the_next_master_knows_is_not_to_be_asked_again(void **state)
{
    (void)state;
    with_desk(be_left_and_kept);
    with_desk(be_left_and_not_kept);
}

/* From the moment on in which a master is to leave, whatever it has to do before it is gone. */
static void come_too_late(struct desk *d)
{
    static const char *const targets[] = { "/v1/kv/key", "/v1/stop", "/v1/restart", "/v1/tokens" };

    start_asking(d, "/v1/kv/before");
    await_answer(d);
    assert_int_equal(d->status, 200);
    d->m.left = true;
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        start_asking(d, targets[i]);
        await_answer(d);
        assert_int_equal(d->status, 503);
    }
    api_hand_over(&d->m);
    (void)mirror_stop(&d->m, loop_in(d->loop, ENOUGH));
    start_asking(d, "/v1/kv/key");
    await_answer(d);
    assert_true(d->status < 0);
}

static void a_master_that_leaves_takes_no_requests(void **state)
{
    (void)state;
    with_desk(come_too_late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_is_answered_finds_it_in_the_log),
        cmocka_unit_test(who_waits_is_told_that_another_master_comes),
        cmocka_unit_test(what_the_next_master_knows_is_not_to_be_asked_again),
        cmocka_unit_test(a_master_that_leaves_takes_no_requests),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
