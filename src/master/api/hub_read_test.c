/* hub_read_test.c - claims about readers of a job's events: records of every length, over a real
 * HTTP connection. A record that is not passed on would be tried again without pause, and the test
 * would not end. */
#include "base/path.h"
#include "loop/listen.h"
#include "master/api/hub_private.h"
#include "master/local/master_local_private.h"
#include "test.h"

#include <string.h>

#define ENOUGH 60000

struct desk {
    char dir[TEST_PATH];
    struct loop *loop;
    struct master_options opt;
    struct spec_role role;
    struct follow_options follow;
    struct master m;
    char *sock;
    struct buf got, want;
};

static int stream_to_reader(void *user, struct http_call *c, struct err *err)
{
    struct desk *d = user;

    return hub_stream(&d->m, c, &d->follow, err);
}

/* A record of `n` bytes and its newline. */
static void append_record(struct desk *d, size_t n, bool passed_on)
{
    AUTO_FREE char *line = malloc(n + 1);

    assert_non_null(line);
    memset(line, 'x', n);
    memcpy(line, "{\"event\":\"", 10);
    memcpy(line + n - 2, "\"}\n", 3);
    assert_int_equal(journal_append(&d->m.journal, line, n + 1), 0);
    if (!passed_on)
        return;
    assert_int_equal(buf_add_str(&d->want, "{\"event\":"), 0);
    assert_int_equal(buf_add(&d->want, line, n), 0);
    assert_int_equal(buf_add_str(&d->want, "}\n"), 0);
}

static void append_all(struct desk *d)
{
    static const size_t sizes[] = { 40,           64 * KIB - 2,       64 * KIB - 1,
                                    64 * KIB,     64 * KIB + 1,       900 * KIB,
                                    200,          EVENT_LINE_MAX - 1, EVENT_LINE_MAX,
                                    900 * KIB,    EVENT_LINE_MAX + 1, 50,
                                    3 * MIB + 17, 2 * EVENT_LINE_MAX, 60 };

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        append_record(d, sizes[i], sizes[i] <= EVENT_LINE_MAX);
}

/* Returns how it ended: 0, or a negative errno. */
static ssize_t read_stream(struct desk *d)
{
    const struct http_request q = { .method = "GET", .target = "/" };
    struct http_client *c = NULL;
    struct http_answer answer;
    struct stream *stream = NULL;
    struct sock *s = NULL;
    ssize_t n = 1;

    assert_int_equal(sock_connect_unix(d->loop, d->sock, loop_in(d->loop, ENOUGH), &s, NULL), 0);
    assert_int_equal(stream_plain(s, &stream, NULL), 0);
    assert_int_equal(http_client_new(d->loop, stream, "master", NULL, &c, NULL), 0);
    assert_int_equal(http_ask(c, &q, loop_in(d->loop, ENOUGH), &answer, NULL), 0);
    assert_int_equal(answer.status, 200);
    while (n > 0) {
        uint8_t *room = NULL;

        assert_int_equal(buf_room(&d->got, 64 * KIB, &room), 0);
        n = http_read(c, room, 64 * KIB, loop_in(d->loop, ENOUGH), NULL);
        d->got.len += n > 0 ? (size_t)n : 0;
    }
    (void)http_client_free(c);
    return n;
}

static void read_all(struct desk *d)
{
    assert_int_equal(read_stream(d), 0);
}

static void expect_all(struct desk *d)
{
    assert_int_equal(d->got.len, d->want.len);
    assert_memory_equal(d->got.data, d->want.data, d->want.len);
    assert_true(d->m.journal.passed_over > 0); /* each was warned of, and is not again */
    assert_true(d->m.journal.passed_over < d->m.journal.size);
    buf_reset(&d->got);
}

static void open_master(struct desk *d)
{
    struct master *m = &d->m;
    const struct engine_options opt = { 0 };
    AUTO_FREE char *journal = path_join(d->dir, "events.jsonl");
    struct http_server_options o = { .loop = d->loop, .handler = stream_to_reader, .user = d };

    d->role = (struct spec_role){
        .name = (char *)"w", .count = 1, .procs = 1, .side = -1, .decides = -1
    };
    *m = (struct master){ .loop = d->loop, .opt = &d->opt, .ops = &master_local_ops };
    m->spec = (struct spec){ .roles = &d->role, .n_roles = 1, .gang_retry = SPEC_FOREVER };
    assert_int_equal(journal_open(&m->journal, journal, NULL), 0);
    assert_int_equal(hub_new(&m->hub, NULL), 0);
    assert_int_equal(engine_new(&m->spec, &opt, &m->engine, NULL), 0);
    assert_int_equal(listen_unix(d->sock, &o.fd, NULL), 0);
    assert_int_equal(http_server_start(&o, &m->api.server, NULL), 0);
}

static void close_master(struct desk *d)
{
    struct master *m = &d->m;

    m->api.server = http_server_stop(m->api.server);
    m->hub = hub_free(m->hub);
    journal_done(&m->journal);
    buf_done(&m->live.lines);
    m->engine = engine_free(m->engine);
}

static int read_records(void *arg)
{
    struct desk *d = arg;

    open_master(d);
    append_all(d);
    read_all(d);
    expect_all(d);
    d->follow.follow = true; /* it is told of the end by `ended` */
    d->m.ended = true;
    read_all(d);
    expect_all(d);
    close_master(d);
    return 0;
}

/* What its agent had not sent before it was gone. */
static int follow_lost(void *arg)
{
    static const struct {
        bool apart, lost, ended, follow, wanted;
        uint64_t size;
        bool whole;
    } rows[] = {
        { .apart = true, .lost = true, .ended = true, .follow = true, .wanted = true, .size = 9 },
        { .apart = true, .lost = true, .follow = true, .wanted = true }, /* nobody knows */
        { .apart = true,
          .lost = true,
          .ended = true,
          .follow = true,
          .wanted = true,
          .whole = true },
        { .apart = true, .lost = true, .ended = true, .wanted = true, .size = 9, .whole = true },
        { .apart = true, .lost = true, .ended = true, .follow = true, .size = 9, .whole = true },
        { .lost = true, .ended = true, .follow = true, .wanted = true, .size = 9, .whole = true },
    };
    struct desk *d = arg;
    struct platform_ops ops = { 0 };
    struct platform platform = { .ops = &ops };

    open_master(d);
    d->m.platform = &platform;
    d->m.paths.logs = d->dir;
    d->m.ended = true;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(hub_grow_feeds(&d->m), 0);
        ops.apart = rows[i].apart;
        d->m.hub->feeds[0] = (struct feed){ .started = true, .lost = rows[i].lost };
        d->m.hub->feeds[0].ended = rows[i].ended;
        d->m.hub->feeds[0].size[OUT] = rows[i].size;
        d->follow = (struct follow_options){
            .follow = rows[i].follow, .logs = true, .out = rows[i].wanted, .err = !rows[i].wanted
        };
        buf_reset(&d->got);
        if ((read_stream(d) == 0) != rows[i].whole)
            fail_msg("row %zu", i);
        if ((d->got.len > 0) != (rows[i].whole && !rows[i].follow)) /* it is told instead */
            fail_msg("row %zu: %s", i, d->got.len ? buf_text(&d->got) : "nothing");
    }
    close_master(d);
    return 0;
}

/* Its agent was killed while the job had no master, and is not heard of again. */
static int follow_untold(void *arg)
{
    struct desk *d = arg;
    struct platform_ops ops = { .apart = true };
    struct platform platform = { .ops = &ops };

    open_master(d);
    d->m.platform = &platform;
    d->m.paths.logs = d->dir;
    d->m.ended = true;
    d->follow = (struct follow_options){ .follow = true, .logs = true, .out = true, .err = true };
    read_all(d);
    hub_task_ran(&d->m, 0);
    assert_true(read_stream(d) < 0); /* the reader looks for it where it was saved */
    d->m.hub->feeds[0].started = d->m.hub->feeds[0].ended = true;
    read_all(d);
    assert_int_equal(d->got.len, 0);
    close_master(d);
    return 0;
}

/* Its agent was killed between the start and the word of it. */
static int follow_unheard(void *arg)
{
    static const char line[] = "one\n";
    struct desk *d = arg;
    struct platform_ops ops = { 0 };
    struct platform platform = { .ops = &ops };
    AUTO_FREE char *path = path_join(d->dir, "w-0.out");

    open_master(d);
    d->m.platform = &platform;
    d->m.paths.logs = d->dir;
    d->m.ended = true;
    d->follow = (struct follow_options){ .follow = true, .logs = true, .out = true, .err = true };
    assert_int_equal(path_write(path, line, strlen(line), 0600, NULL), 0);
    ops.apart = true; /* nobody knows whether it was started; there is no such file here */
    hub_task_lost(&d->m, 0);
    read_all(d);
    assert_int_equal(d->got.len, 0);
    ops.apart = false;
    hub_task_lost(&d->m, 0);
    read_all(d);
    assert_non_null(memmem(d->got.data, d->got.len, line, strlen(line)));
    assert_int_equal(hub_began(&d->m, 0), 1); /* the next attempt writes on in that file */
    close_master(d);
    return 0;
}

#define HEAD "{\"task\":\"w:0\",\"stream\":\"out\",\"offset\":0,\"len\":1"

/* What a reader is sent tells it. */
static void assert_head(struct desk *d, const char *wanted)
{
    struct place place = { .wanted = true };
    struct follower f = { .master = &d->m, .opt = &d->follow, .places = &place, .n_places = 1 };

    buf_init(&f.queue, HUB_QUEUE_MAX);
    assert_int_equal(hub_put(&f, 0, OUT, (const uint8_t *)"x", 1), 0);
    assert_string_equal(buf_text(&f.queue), wanted);
    buf_done(&f.queue);
}

/* Readers leave out what was saved while an agent sends it again, and no longer. */
static int ask_what_is_saved(void *arg)
{
    struct desk *d = arg;
    Agent__HeldTask held = AGENT__HELD_TASK__INIT;
    struct platform_ops ops = { .apart = true };
    struct platform platform = { .ops = &ops };

    open_master(d);
    d->m.platform = &platform;
    held.out_saved = held.err_saved = 17;
    for (int turn = 0; turn < 2; turn++) {
        AUTO_JSON *status = json_pack("{s:[{s:s}]}", "tasks", "task", "w:0");
        json_t *task = json_array_get(json_object_get(status, "tasks"), 0);

        hub_task_held(&d->m, &held);
        if (turn)
            hub_task_lost(&d->m, 0);
        assert_int_equal(hub_add_saved(&d->m, status, NULL), 0);
        assert_int_equal(json_object_get(task, "saved_files") == NULL, turn);
        assert_head(d, turn ? HEAD "}\nx" : HEAD ",\"saved\":17}\nx");
    }
    close_master(d);
    return 0;
}

/* Nobody is there to be asked. */
static int read_silent(void *arg)
{
    struct desk *d = arg;
    static const char missing[] = "its agent has sent nothing for 0.03 s";

    open_master(d);
    assert_int_equal(hub_grow_feeds(&d->m), 0);
    d->follow = (struct follow_options){ .logs = true, .out = true, .err = true, .silent_ms = 30 };
    d->m.hub->feeds[0] = (struct feed){ .started = true, .ended = true }; /* it wrote nothing */
    read_all(d);
    assert_int_equal(d->got.len, 0);
    d->m.hub->feeds[0].size[ERR] = 9;
    assert_int_equal(buf_printf(&d->want,
                                "{\"task\":\"w:0\",\"stream\":\"err\",\"end\":true,"
                                "\"missing\":\"%s\"}\n",
                                missing),
                     0);
    read_all(d);
    assert_string_equal(buf_text(&d->got), buf_text(&d->want));
    buf_reset(&d->got);
    buf_reset(&d->want);
    d->follow.plain = true;
    assert_int_equal(buf_printf(&d->want, "[the rest is missing: %s]\n", missing), 0);
    read_all(d);
    assert_string_equal(buf_text(&d->got), buf_text(&d->want));
    close_master(d);
    return 0;
}

static void on_desk(int (*claim)(void *desk))
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    d->follow = (struct follow_options){ .events = true };
    buf_init(&d->got, 64 * MIB);
    buf_init(&d->want, 64 * MIB);
    assert_non_null(test_dir(d->dir, "hub"));
    d->sock = path_join(d->dir, "api.sock");
    assert_non_null(d->sock);
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, claim, d, false), 0);
    loop_free(d->loop);
    assert_int_equal(path_remove(d->dir, NULL), 0);
    buf_done(&d->got);
    buf_done(&d->want);
    free(d->sock);
    free(d);
}

static void a_reader_gets_records_of_every_length(void **state)
{
    (void)state;
    on_desk(read_records);
}

static void a_stream_that_lacks_output_of_a_lost_agent_has_no_end(void **state)
{
    (void)state;
    on_desk(follow_lost);
}

static void output_of_a_task_that_was_started_unheard_is_read_where_its_files_are(void **state)
{
    (void)state;
    on_desk(follow_unheard);
}

static void output_of_a_task_that_nobody_tells_of_has_no_end(void **state)
{
    (void)state;
    on_desk(follow_untold);
}

static void what_was_saved_is_named_while_an_agent_sends_it_again(void **state)
{
    (void)state;
    on_desk(ask_what_is_saved);
}

static void who_asks_for_output_of_a_silent_agent_is_told_what_is_missing(void **state)
{
    (void)state;
    on_desk(read_silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_gets_records_of_every_length),
        cmocka_unit_test(a_stream_that_lacks_output_of_a_lost_agent_has_no_end),
        cmocka_unit_test(output_of_a_task_that_was_started_unheard_is_read_where_its_files_are),
        cmocka_unit_test(output_of_a_task_that_nobody_tells_of_has_no_end),
        cmocka_unit_test(what_was_saved_is_named_while_an_agent_sends_it_again),
        cmocka_unit_test(who_asks_for_output_of_a_silent_agent_is_told_what_is_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
