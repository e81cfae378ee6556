/* agents_testing.h - a master's desk to which agents come, over its own socket; the agents are the
 * test's, and the platform does nothing. */
#pragma once
#include "base/path.h"
#include "loop/listen.h"
#include "master/local/master_local_private.h"
#include "master/yarn/missing_output.h"
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
    struct master_yarn side; /* of one that is on YARN */
    struct spec_role role;
    struct master m;
    void (*body)(struct desk *d);
    void *arg; /* the body's own */
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

TESTING int no_ask(struct platform *p, uint32_t slot, const struct spec_role *role, struct err *err)
{
    (void)p;
    (void)slot;
    (void)role;
    (void)err;
    return 0;
}

TESTING void no_release(struct platform *p, uint32_t slot)
{
    (void)p;
    (void)slot;
}

static const struct platform_ops nobody = { .name = "test",
                                            .apart = true,
                                            .ask = no_ask,
                                            .release = no_release,
                                            .agent_gone = keep_agent_gone,
                                            .forgotten = is_second };

TESTING void no_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    (void)user;
    (void)task;
    (void)id;
    (void)words;
    (void)n;
}

TESTING void free_desk(struct master *m)
{
    agents_hang_up(m);
    agents_done(m);
    journal_done(&m->journal);
    m->engine = engine_free(m->engine);
    m->kv = kv_free(m->kv);
    m->avoid = blacklist_free(m->avoid);
    m->hub = hub_free(m->hub);
    if (m->side)
        outputs_done(m);
    free(m->save.unsaved);
    slots_done(&m->slots);
    outbox_done(&m->outbox);
}

/* From here on it is the master of a container, which is the test's. */
TESTING void be_on_yarn(struct desk *d, struct master_container *c)
{
    d->side = (struct master_yarn)MASTER_YARN_INIT(c);
    d->m.ops = &master_yarn_ops;
    d->m.side = &d->side;
}

TESTING int on_desk(void *arg)
{
    struct desk *d = arg;
    struct master *m = &d->m;
    struct kv_events on = { .user = m, .on_reply = no_reply };
    const struct engine_options opt = { 0 };
    struct test_platform platform = { .base = { .ops = &nobody } };
    AUTO_FREE char *journal = path_join(d->dir, "events.jsonl");
    AUTO_FREE char *sock = path_join(d->dir, "agents.sock");
    AUTO_FREE char *join = path_join(d->dir, "join.json");

    if (!d->role.count)
        d->role = (struct spec_role){ .count = 1, .procs = 1 };
    d->role.name = (char *)"w";
    d->role.side = d->role.decides = -1;
    d->role.restart.max = -1;
    *m = (struct master){ .loop = d->loop,
                          .opt = &d->opt,
                          .ops = &master_local_ops,
                          .wall = 1000,
                          .platform = &platform.base };
    m->mono = loop_now(d->loop);
    m->spec = (struct spec){ .roles = &d->role, .n_roles = 1, .gang_retry = SPEC_FOREVER };
    m->paths.agents = sock;
    m->paths.join = join;
    m->paths.logs = m->paths.work = d->dir;
    assert_int_equal(journal_open(&m->journal, journal, NULL), 0);
    assert_int_equal(hub_new(&m->hub, NULL), 0);
    assert_int_equal(engine_new(&m->spec, &opt, &m->engine, NULL), 0);
    assert_int_equal(kv_new(&on, &m->kv, NULL), 0);
    assert_int_equal(blacklist_new(BLACKLIST_NODES_FAULT, 0, &m->avoid, NULL), 0);
    assert_int_equal(framework_find("none", &m->framework, NULL), 0);
    assert_int_equal(agents_listen(m, NULL), 0);
    d->body(d);
    free_desk(m);
    return 0;
}

TESTING void run_desk(struct desk *d)
{
    d->job.id = (char *)"job-1";
    d->opt.dir = &d->job;
    assert_non_null(test_dir(d->dir, "agents"));
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, on_desk, d, false), 0);
    loop_free(d->loop);
    assert_int_equal(path_remove(d->dir, NULL), 0);
}

TESTING void with_desk(void (*body)(struct desk *d))
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    d->body = body;
    run_desk(d);
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
        sock_connect_unix(d->loop, d->m.paths.agents, loop_in(d->loop, ENOUGH), &s, NULL), 0);
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

TESTING struct channel *say_hello(struct desk *d, Agent__Hello *hello)
{
    struct channel *c = dial(d);
    Agent__ToMaster msg = AGENT__TO_MASTER__INIT;
    char node[16];

    (void)snprintf(node, sizeof(node), "n%u", hello->agent);
    hello->version = (uint32_t)protocol_number(PROTOCOL_AGENT);
    hello->job = d->job.id;
    hello->key = (ProtobufCBinaryData){ sizeof(d->m.key.key), d->m.key.key };
    hello->node = node;
    hello->knows_owners = true;
    msg.hello = hello;
    msg.body_case = AGENT__TO_MASTER__BODY_HELLO;
    assert_int_equal(channel_send(c, &msg.base, NULL), 0);
    return c;
}

/* Says hello, and returns when it is here and nobody reads what it says: it has said nothing. */
TESTING struct channel *come_with(struct desk *d, Agent__Hello *hello)
{
    struct channel *c = say_hello(d, hello);

    assert_int_equal(next_kind(d, c), AGENT__TO_AGENT__BODY_WELCOME);
    while (admission_serving(d->m.agents.listener) > 0)
        assert_int_equal(fiber_yield(d->loop), 0);
    return c;
}

TESTING struct channel *come(struct desk *d, uint32_t number, bool again)
{
    Agent__Hello hello = AGENT__HELLO__INIT;

    hello.agent = number;
    hello.again = again;
    return come_with(d, &hello);
}

TESTING void expect_end(struct desk *d, struct channel *c)
{
    ProtobufCMessage *raw = NULL;

    assert_true(
        channel_read(c, &agent__to_agent__descriptor, loop_in(d->loop, ENOUGH), &raw, NULL) <= 0);
    assert_null(raw);
    (void)channel_close(c);
}
