/* drive_test.c - how the driver ends a job; see drive.c. Nobody else is there: no agent, and a
 * platform that does nothing. */
#include "base/path.h"
#include "job/engine_private.h"
#include "master/master_private.h"
#include "test.h"

#include <string.h>

struct desk {
    char dir[TEST_PATH];
    struct loop *loop;
    struct job_dir job;
    struct master_options opt;
    struct spec_role role;
    struct master m;
    void (*body)(struct desk *d);
    void (*later)(struct desk *d); /* while the driver waits */
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    (void)user;
    (void)task;
    (void)id;
    (void)words;
    (void)n;
}

static int no_ask(struct platform *p, uint32_t slot, const struct spec_role *role, struct err *err)
{
    (void)p;
    (void)slot;
    (void)role;
    (void)err;
    return 0;
}

static void no_release(struct platform *p, uint32_t slot)
{
    (void)p;
    (void)slot;
}

static const struct platform_ops nobody = { .name = "test", .ask = no_ask, .release = no_release };

static void run_later(void *arg)
{
    struct desk *d = arg;

    d->later(d);
}

static void drive(struct desk *d)
{
    struct platform platform = { .ops = &nobody };
    struct err err = ERR_INIT;

    d->m.platform = &platform;
    if (d->later)
        assert_int_equal(fiber_start(d->loop, run_later, d, NULL, NULL), 0);
    assert_int_equal(drive_job(&d->m, false, &err), 0);
    assert_true(d->m.ended);
    d->m.platform = NULL;
}

static int on_desk(void *arg)
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
    *m = (struct master){ .loop = d->loop, .opt = &d->opt, .wall = 1000 };
    m->mono = loop_now(d->loop);
    m->spec = (struct spec){ .roles = &d->role, .n_roles = 1, .gang_retry = SPEC_FOREVER };
    assert_non_null(path);
    assert_int_equal(journal_open(&m->journal, path, NULL), 0);
    assert_int_equal(engine_new(&m->spec, &opt, &m->engine, NULL), 0);
    assert_int_equal(kv_new(&on, &m->kv, NULL), 0);
    assert_int_equal(avoid_new(AVOID_NODES_FAULT, 0, &m->avoid, NULL), 0);
    d->body(d);
    journal_done(&m->journal);
    m->engine = engine_free(m->engine);
    m->kv = kv_free(m->kv);
    m->avoid = avoid_free(m->avoid);
    free(m->slots);
    free(m->busy.v);
    return 0;
}

static void with_desk(void (*body)(struct desk *d), void (*later)(struct desk *d))
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
static void assert_last(struct desk *d, const char *one, const char *two)
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

static void kill_it(struct desk *d)
{
    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), NULL), 0);
    master_unsaved(&d->m, "said after it had been decided");
    master_wake(&d->m);
}

static void ends_killed(struct desk *d)
{
    drive(d);
    assert_last(d, "\"event\":\"end\"", "\"KILLED\"");
}

static void the_end_is_the_last_record(void **state)
{
    (void)state;
    with_desk(ends_killed, kill_it);
}

static void spoil_it(struct desk *d)
{
    struct err err = ERR_INIT;

    engine_oom(d->m.engine);
    assert_int_equal(engine_kill(d->m.engine, "me", master_now(&d->m), &err), -ENOMEM);
    master_fault(&d->m, &err);
}

static void ends_by_itself(struct desk *d)
{
    drive(d);
    assert_last(d, "\"event\":\"end\"", "\"exit\":70");
    assert_last(d, "\"FAILED\"", "ran out of memory");
}

static void an_engine_without_memory_ends_the_job(void **state)
{
    (void)state;
    with_desk(ends_by_itself, spoil_it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_end_is_the_last_record),
        cmocka_unit_test(an_engine_without_memory_ends_the_job),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
