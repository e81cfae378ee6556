/* node_source_test.c - see node_source.h. */
#include "model/node/node_source.h"
#include "model/node/node_testing.h"

static int read_manifest(void *arg)
{
    struct world *w = arg;
    AUTO_BUF text = { .max = MANIFEST_MOST };
    AUTO_MANIFEST m = { 0 };
    struct node_source s;
    int r = buf_add_str(&text, "half of an answer");

    node_source_init(&s, w->loop, &w->want);
    s.moved = loop_now(w->loop) - (int64_t)3600 * 1000;
    node_source_begin(&s);
    if (r == 0)
        r = node_source_retry(&s, -EIO, &w->err);
    if (r == 0)
        r = node_source_manifest(&s, &text, &m, &w->err);
    assert_int_equal(s.failures, 0);
    s.moved = loop_now(w->loop) - (int64_t)3600 * 1000;
    s.failures = 1;
    node_source_begin(&s);
    assert_int_equal(node_source_retry(&s, -EIO, NULL), -EIO);
    node_source_done(&s);
    return r;
}

/* An hour in which another process fetched, before it was killed; and what came of an attempt that
 * failed. */
static void what_was_before_an_attempt_does_not_count(void **state)
{
    struct world *w = *state;

    assert_int_equal(loop_run(w->loop, read_manifest, w, false), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(what_was_before_an_attempt_does_not_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
