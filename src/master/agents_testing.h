/* agents_testing.h - for agents_test.c: a master's desk to which agents come, over its own socket;
 * the agents are the test's, and the platform does nothing. */
#pragma once
#include "base/listen.h"
#include "base/path.h"
#include "master/master_private.h"
#include "test.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#define ENOUGH 20000
#define TESTING __attribute__((unused)) static

struct desk {
    char dir[TEST_PATH];
    struct loop *loop;
    struct job_dir job;
    struct master_options opt;
    struct spec_role role;
    struct master m;
    void (*body)(struct desk *d);
};

/* A platform that remembers who is gone, and has forgotten the container of agent 2. */
struct test_platform {
    struct platform base;
    uint32_t gone;
    char why[64];
};

TESTING void keep_agent_gone(struct platform *p, uint32_t agent, const char *why)
{
    struct test_platform *x = (struct test_platform *)p;

    x->gone = agent;
    (void)snprintf(x->why, sizeof(x->why), "%s", why);
}

TESTING bool is_second(struct platform *p, uint32_t agent)
{
    (void)p;
    return agent == 2;
}

static const struct platform_ops nobody = {
    .name = "test", .apart = true, .agent_gone = keep_agent_gone, .forgotten = is_second
};

TESTING int on_desk(void *arg)
{
    struct desk *d = arg;
    struct master *m = &d->m;
    const struct engine_options opt = { 0 };
    struct test_platform platform = { .base = { .ops = &nobody } };
    AUTO_FREE char *journal = path_join(d->dir, "events.jsonl");
    AUTO_FREE char *sock = path_join(d->dir, "agents.sock");
    AUTO_FREE char *join = path_join(d->dir, "join.json");

    d->role = (struct spec_role){
        .name = (char *)"w", .count = 1, .procs = 1, .side = -1, .decides = -1
    };
    *m = (struct master){
        .loop = d->loop, .opt = &d->opt, .wall = 1000, .platform = &platform.base
    };
    m->mono = loop_now(d->loop);
    m->spec = (struct spec){ .roles = &d->role, .n_roles = 1, .gang_retry = SPEC_FOREVER };
    m->agents_path = sock;
    m->join_file = join;
    m->log_dir = m->work_dir = d->dir;
    assert_int_equal(journal_open(&m->journal, journal, NULL), 0);
    assert_int_equal(engine_new(&m->spec, &opt, &m->engine, NULL), 0);
    assert_int_equal(agents_listen(m, NULL), 0);
    d->body(d);
    agents_hang_up(m);
    agents_done(m);
    journal_done(&m->journal);
    m->engine = engine_free(m->engine);
    free(m->busy.v);
    return 0;
}

TESTING void with_desk(void (*body)(struct desk *d))
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    d->body = body;
    d->job.id = (char *)"job-1";
    d->opt.dir = &d->job;
    assert_non_null(test_dir(d->dir, "agents"));
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, on_desk, d, false), 0);
    loop_free(d->loop);
    assert_int_equal(path_remove(d->dir, NULL), 0);
    free(d);
}

/* ---- an agent ---- */

TESTING struct channel *dial(struct desk *d)
{
    const struct channel_limits limits = { .frame_max = MIB, .queue_max = MIB };
    struct channel *c = NULL;
    struct stream *stream = NULL;
    struct sock *s = NULL;

    assert_int_equal(
        sock_connect_unix(d->loop, d->m.agents_path, loop_in(d->loop, ENOUGH), &s, NULL), 0);
    assert_int_equal(stream_plain(s, &stream, NULL), 0);
    assert_int_equal(channel_new(d->loop, stream, &limits, &c, NULL), 0);
    return c;
}

TESTING Agent__ToAgent__BodyCase next_kind(struct desk *d, struct channel *c)
{
    ProtobufCMessage *raw = NULL;
    Agent__ToAgent__BodyCase kind;

    assert_int_equal(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, ENOUGH), &raw, NULL), 1);
    kind = ((Agent__ToAgent *)raw)->body_case;
    protobuf_c_message_free_unpacked(raw, NULL);
    return kind;
}

/* Returns when it is here, and nobody reads what it says: it has said nothing. */
TESTING struct channel *come(struct desk *d, uint32_t number, bool again)
{
    struct channel *c = dial(d);
    Agent__Hello hello = AGENT__HELLO__INIT;
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;

    hello.version = (uint32_t)protocol_number(PROTOCOL_AGENT);
    hello.job = d->job.id;
    hello.key = (ProtobufCBinaryData){ sizeof(d->m.key.key), d->m.key.key };
    hello.agent = number;
    hello.node = (char *)"node";
    hello.again = again;
    hello.knows_owners = true;
    msg.hello = &hello;
    msg.body_case = AGENT__TO_MASTER__BODY_HELLO;
    assert_int_equal(channel_send(c, &msg.base, NULL), 0);
    assert_int_equal(next_kind(d, c), AGENT__TO_AGENT__BODY_WELCOME);
    while (admission_serving(d->m.listener) > 0)
        assert_int_equal(fiber_yield(d->loop), 0);
    return c;
}

TESTING void expect_end(struct desk *d, struct channel *c)
{
    ProtobufCMessage *raw = NULL;

    assert_true(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, ENOUGH), &raw, NULL) <= 0);
    assert_null(raw);
    (void)channel_close(c);
}
