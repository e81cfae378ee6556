/* drive_testing.h - a driver for tests: the platform does nothing, and the test is the agent. */
#pragma once
#include "base/path.h"
#include "master/local/master_local_private.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_yarn_private.h"
#include "wire/wire_testing.h"

#include <stdio.h>
#include <string.h>

struct desk {
    char dir[TEST_PATH];
    struct loop *loop;
    struct job_dir job;
    struct master_options opt;
    struct master_yarn side; /* of one that is on YARN */
    struct spec_role role;
    struct master m;
    void (*body)(struct desk *d);
    void (*later)(struct desk *d); /* while the driver waits */
    struct fiber *driver;
    bool done;      /* with what came later */
    bool hdfs_away; /* nothing can be written there */
};

static inline void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words,
                            size_t n)
{
    (void)user;
    (void)task;
    (void)id;
    (void)words;
    (void)n;
}

static inline int no_ask(struct platform *p, uint32_t slot, const struct spec_role *role,
                         struct err *err)
{
    (void)p;
    (void)slot;
    (void)role;
    (void)err;
    return 0;
}

static inline void no_release(struct platform *p, uint32_t slot)
{
    (void)p;
    (void)slot;
}

static const struct platform_ops nobody = { .name = "test", .ask = no_ask, .release = no_release };

static inline void run_later(void *arg)
{
    struct desk *d = arg;

    d->later(d);
    d->done = true;
}

static inline void drive(struct desk *d)
{
    struct platform platform = { .ops = &nobody };
    struct err err = ERR_INIT;

    d->m.platform = &platform;
    d->driver = fiber_self(d->loop);
    if (d->later)
        assert_int_equal(fiber_start(d->loop, run_later, d, NULL, NULL), 0);
    assert_int_equal(drive_job(&d->m, false, &err), 0);
    assert_true(d->m.ended);
    while (d->later && !d->done)
        (void)fiber_yield(d->loop);
    d->m.platform = NULL;
}

/* From here on it is the master of a container, which is the test's; NULL: of this machine. */
static inline void be_on_yarn(struct desk *d, struct master_container *c)
{
    d->side = (struct master_yarn)MASTER_YARN_INIT(c);
    d->m.ops = c ? &master_yarn_ops : &master_local_ops;
    d->m.side = c ? &d->side : NULL;
}

static inline int on_desk(void *arg)
{
    struct desk *d = arg;
    struct master *m = &d->m;
    struct kv_events on = { .user = m, .on_reply = on_reply };
    const struct engine_options opt = { 0 };
    AUTO_FREE char *path = path_join(d->dir, "events.jsonl");

    d->role = (struct spec_role){ .name = (char *)"w",
                                  .count = 1,
                                  .procs = 1,
                                  .side = -1,
                                  .decides = -1,
                                  .restart = { .max = -1 } };
    *m = (struct master){ .loop = d->loop, .opt = &d->opt, .ops = &master_local_ops, .wall = 1000 };
    m->mono = loop_now(d->loop);
    m->spec = (struct spec){
        .roles = &d->role, .n_roles = 1, .gang_retry = SPEC_FOREVER, .save_time = 60000
    };
    assert_non_null(path);
    assert_int_equal(journal_open(&m->journal, path, NULL), 0);
    assert_int_equal(hub_new(&m->hub, NULL), 0);
    assert_int_equal(engine_new(&m->spec, &opt, &m->engine, NULL), 0);
    assert_int_equal(kv_new(&on, &m->kv, NULL), 0);
    assert_int_equal(blacklist_new(BLACKLIST_NODES_FAULT, 0, &m->avoid, NULL), 0);
    d->body(d);
    journal_done(&m->journal);
    m->engine = engine_free(m->engine);
    m->kv = kv_free(m->kv);
    m->avoid = blacklist_free(m->avoid);
    agents_done(m);
    m->hub = hub_free(m->hub);
    free(m->save.unsaved);
    slots_done(&m->slots);
    outbox_done(&m->outbox);
    return 0;
}

static inline void with_desk(void (*body)(struct desk *d), void (*later)(struct desk *d))
{
    struct desk *d = calloc(1, sizeof(*d));

    assert_non_null(d);
    d->body = body;
    d->later = later;
    d->opt.dir = &d->job;
    assert_non_null(test_dir(d->dir, "drive"));
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, on_desk, d, false), 0);
    loop_free(d->loop);
    assert_int_equal(path_remove(d->dir, NULL), 0);
    free(d);
}

/* The last line of the log. */
static inline void assert_last(struct desk *d, const char *one, const char *two)
{
    AUTO_FREE char *path = path_join(d->dir, "events.jsonl");
    AUTO_BUF text = { .max = MIB };
    char *last;

    assert_non_null(path);
    assert_int_equal(path_read(path, &text, NULL), 0);
    assert_true(text.len > 1);
    assert_int_equal(buf_add(&text, "", 1), 0);
    text.data[text.len - 2] = '\0';
    last = strrchr((char *)text.data, '\n');
    last = last ? last + 1 : (char *)text.data;
    if (!strstr(last, one) || !strstr(last, two))
        fail_msg("the last line is %s", last);
}
