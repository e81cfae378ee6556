/* rival_test.c - which master has the job, when the ResourceManager does not say it. HDFS is a
 * directory here. */
#include "base/path.h"
#include "master/yarn/rival.h"
#include "test.h"

#include <string.h>

struct place {
    char dir[TEST_PATH];
    struct loop *loop;
    struct master_container container;
    struct master_options opt;
    struct master_yarn side;
    struct platform platform;
    struct master m;
};

static int64_t silence; /* of the ResourceManager, ms */

static int64_t silence_of(struct platform *p)
{
    (void)p;
    return silence;
}

static const struct platform_ops ops = { .silence = silence_of };

static void write_newest(struct place *x, const char *text)
{
    AUTO_FREE char *path = path_join(x->container.jobs, "master.json");

    assert_non_null(path);
    if (text)
        assert_int_equal(path_write(path, text, strlen(text), 0600, NULL), 0);
    else
        (void)unlink(path);
}

static int ask_each(void *arg)
{
    static const struct {
        int64_t silence;
        const char *text;
        bool has;
    } rows[] = {
        { 60000, "{\"attempt\": 3, \"address\": \"tcp:127.0.0.1:1\"}", true },
        { 8000, "{\"attempt\": 3}", true },
        { 7999, "{\"attempt\": 3}", false },  /* it answers: it would say so */
        { 60000, "{\"attempt\": 2}", false }, /* ourselves */
        { 60000, "{\"attempt\": 1}", false }, /* whoever was before us */
        { 60000, NULL, false },               /* nobody knows */
        { 60000, "", false },
        { 60000, "{\"attempt\": ", false },
        { 60000, "{\"attempt\": \"3\"}", false },
        { 60000, "[3]", false },
    };
    struct place *x = arg;
    AUTO_FREE char *here = NULL;

    assert_int_equal(fs_set_new(x->loop, NULL, &x->container.set, NULL), 0);
    assert_int_equal(fs_find(x->container.set, x->dir, FS_ON_LOCAL, &x->container.fs, &here, NULL),
                     0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_newest(x, rows[i].text);
        silence = rows[i].silence;
        if (rival_has_job(&x->m) != rows[i].has)
            fail_msg("row %zu", i);
    }
    x->m.platform = NULL; /* not asked for anything yet */
    write_newest(x, rows[0].text);
    assert_false(rival_has_job(&x->m));
    x->container.set = fs_set_free(x->container.set);
    return 0;
}

static void a_newer_master_has_it_while_nobody_answers(void **state)
{
    struct place *x = calloc(1, sizeof(*x));

    (void)state;
    assert_non_null(x);
    assert_non_null(test_dir(x->dir, "rival"));
    x->container = (struct master_container){ .attempt = 2, .jobs = path_join(x->dir, "jobs") };
    assert_int_equal(path_mkdirs(x->container.jobs, 0700, NULL), 0);
    x->side = (struct master_yarn)MASTER_YARN_INIT(&x->container);
    x->platform.ops = &ops;
    x->m = (struct master){
        .opt = &x->opt, .ops = &master_yarn_ops, .side = &x->side, .platform = &x->platform
    };
    assert_int_equal(loop_new(&x->loop, NULL), 0);
    x->m.loop = x->loop;
    assert_int_equal(loop_run(x->loop, ask_each, x, false), 0);
    loop_free(x->loop);
    assert_int_equal(path_remove(x->dir, NULL), 0);
    free(x->container.jobs);
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_newer_master_has_it_while_nobody_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
