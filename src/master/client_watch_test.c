/* client_watch_test.c - which ends of its connection mean that the client is gone. */
#include "job/engine/engine_testing.h"
#include "loop/fiber.h"
#include "master/client_watch.h"
#include "master/local/master_local_private.h"

struct desk {
    struct loop *loop;
    struct bench b;
    struct master_options opt;
    struct master m;
};

static void make_master(struct desk *d)
{
    bench_init(&d->b, SPEC_RESTART_TASK, 0);
    (void)role(&d->b, "w", 1);
    begin(&d->b);
    assert_int_equal(engine_start(d->b.e, d->b.now, NULL), 0);
    d->m = (struct master){
        .loop = d->loop, .opt = &d->opt, .ops = &master_local_ops, .engine = d->b.e
    };
}

static int end_connections(void *arg)
{
    static const struct {
        int code;
        bool clients, ended;
        bool gone, waits;
    } rows[] = {
        { .code = -ECONNRESET, .gone = true }, /* its process ended */
        { .code = -EPIPE, .gone = true },
        { .code = -ETIMEDOUT, .waits = true }, /* its network: it comes back by itself */
        { .code = -EHOSTUNREACH, .waits = true },
        { .code = -ENETUNREACH, .waits = true },
        { .code = -ECANCELED },                   /* it was us */
        { .code = -ECONNRESET, .clients = true }, /* it is back already */
        { .code = -ETIMEDOUT, .clients = true },
        { .code = -ECONNRESET, .ended = true },
    };
    struct desk *d = arg;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        make_master(d);
        d->m.client.n = rows[i].clients;
        d->m.ended = rows[i].ended;
        client_watch_broken(&d->m, rows[i].code);
        if (d->m.client.gone != rows[i].gone || (d->m.client.watcher != NULL) != rows[i].waits)
            fail_msg("row %zu", i);
        d->m.client.n = 1; /* whoever waits for it sees it */
        while (d->m.client.watcher)
            assert_int_equal(fiber_sleep(d->loop, 10), 0);
        assert_int_equal(d->m.client.gone, rows[i].gone);
        d->b.e = engine_free(d->b.e);
        buf_done(&d->b.log);
    }
    return 0;
}

static void only_what_the_network_does_is_waited_for(void **state)
{
    struct desk *d = calloc(1, sizeof(*d));

    (void)state;
    assert_non_null(d);
    assert_int_equal(loop_new(&d->loop, NULL), 0);
    assert_int_equal(loop_run(d->loop, end_connections, d, false), 0);
    loop_free(d->loop);
    free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_the_network_does_is_waited_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
