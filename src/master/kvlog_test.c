/* kvlog_test.c - the store of one master is the next one's; see kvlog.c. HDFS is a directory here.
 */
#include "base/path.h"
#include "master/master_private.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

struct bench {
    char dir[TEST_PATH];
    uint64_t id; /* of the last request */
    struct loop *loop;
    struct fs_set *set;
    struct container container;
    struct job_dir job;
    struct master_options opt;
    struct master m;
    void (*body)(struct bench *b);
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    (void)user;
    (void)task;
    (void)id;
    (void)words;
    (void)n;
}

/* The master of the next attempt, in a directory of its own. */
static void begin(struct bench *b)
{
    struct kv_events on = { .user = &b->m, .on_reply = on_reply, .on_change = kvlog_change };
    uint64_t most = b->m.kv_log_max;

    b->container.attempt++;
    b->m = (struct master){ .loop = b->loop, .opt = &b->opt, .left = true, .kv_log_max = most };
    b->m.kv_journal.fd = -1;
    free(b->job.path);
    b->job.path = str_printf("%s/attempt-%d", b->dir, b->container.attempt);
    assert_non_null(b->job.path);
    assert_int_equal(path_mkdirs(b->job.path, 0700, NULL), 0);
    assert_int_equal(kv_new(&on, &b->m.kv, NULL), 0);
    assert_int_equal(kvlog_restore(&b->m, NULL), 0);
}

static void end(struct bench *b)
{
    (void)mirror_stop(&b->m, LOOP_NEVER);
    kvlog_done(&b->m);
    b->m.kv = kv_free(b->m.kv);
}

static int run(void *arg)
{
    struct bench *b = arg;
    AUTO_FREE char *path = NULL;

    assert_int_equal(fs_set_new(b->loop, NULL, &b->set, NULL), 0);
    assert_int_equal(fs_find(b->set, b->dir, FS_ON_LOCAL, &b->container.fs, &path, NULL), 0);
    b->container.jobs = str_printf("%s/jobs", b->dir);
    assert_non_null(b->container.jobs);
    assert_int_equal(path_mkdirs(b->container.jobs, 0700, NULL), 0);
    begin(b);
    b->body(b);
    end(b);
    free(b->container.jobs);
    free(b->job.path);
    b->set = fs_set_free(b->set);
    return 0;
}

static void with_bench(void (*body)(struct bench *b))
{
    struct bench b = { .body = body };

    b.opt = (struct master_options){ .container = &b.container, .dir = &b.job };
    assert_non_null(test_dir(b.dir, "kvlog"));
    assert_int_equal(loop_new(&b.loop, NULL), 0);
    assert_int_equal(loop_run(b.loop, run, &b, false), 0);
    loop_free(b.loop);
    assert_int_equal(path_remove(b.dir, NULL), 0);
}

static void ask(struct bench *b, const char *verb, const char *key, const char *value)
{
    struct kv_word words[] = { { verb, strlen(verb) }, { key, strlen(key) }, { value, 0 } };
    struct kv_ask a = { 1, ++b->id, words, value ? 3 : 2, 0 };

    words[2].n = value ? strlen(value) : 0;
    assert_int_equal(kv_request(b->m.kv, &a, NULL), 0);
}

/* "key=value " of all keys, in the order of their names. */
struct shown {
    char *v[64];
    size_t n;
};

static int show(void *arg, const struct kv_word *key, const struct kv_word *value)
{
    struct shown *s = arg;

    s->v[s->n] = str_printf("%.*s=%.*s ", (int)key->n, (const char *)key->p, (int)value->n,
                            (const char *)value->p);
    return s->v[s->n++] ? 0 : -ENOMEM;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void assert_store(struct bench *b, const char *want)
{
    struct shown s = { 0 };
    AUTO_BUF all = { .max = 4 * KIB };

    assert_int_equal(kv_each(b->m.kv, show, &s), 0);
    qsort(s.v, s.n, sizeof(*s.v), by_text);
    for (size_t i = 0; i < s.n; i++) {
        assert_non_null(s.v[i]);
        assert_int_equal(buf_add_str(&all, s.v[i]), 0);
        free(s.v[i]);
    }
    assert_string_equal(buf_text(&all), want);
}

static void keeping(struct bench *b)
{
    ask(b, "put", "a", "1");
    ask(b, "put", "b", "x y\nz");
    ask(b, "put", "pmi/1", "old");
    kv_generation(b->m.kv);
    ask(b, "put", "pmi/2", "new");
    ask(b, "add", "n", "5");
    ask(b, "add", "n", "5");
    ask(b, "del", "a", NULL);
    end(b);
    begin(b);
    assert_store(b, "b=x y\nz n=10 pmi/2=new ");
    end(b); /* it has changed nothing */
    begin(b);
    ask(b, "add", "n", "1");
    ask(b, "del", "b", NULL);
    end(b);
    begin(b);
    assert_store(b, "n=11 pmi/2=new ");
}

static void the_next_master_has_the_same_store(void **state)
{
    (void)state;
    with_bench(keeping);
}

static size_t count_files(const struct bench *b)
{
    DIR *d = opendir(b->container.jobs);
    size_t n = 0;

    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += strstr(e->d_name, "kv-") == e->d_name;
    closedir(d);
    return n;
}

static void growing(struct bench *b)
{
    char text[32];

    b->m.kv_log_max = 500;
    ask(b, "put", "fixed", "1");
    for (int i = 0; i < 200; i++) {
        snprintf(text, sizeof(text), "%d", i);
        ask(b, "put", "k", text);
        if (i % 10 == 0)
            assert_int_equal(fiber_yield(b->loop), 0);
        assert_true(b->m.kv_journal.size < 600);
    }
    assert_true(b->m.kv_journal.round > 3);
    end(b);
    assert_true(count_files(b) <= 2);
    begin(b);
    assert_store(b, "fixed=1 k=199 ");
}

static void a_journal_that_grows_long_begins_anew(void **state)
{
    (void)state;
    with_bench(growing);
}

static void silent(struct bench *b)
{
    kv_generation(b->m.kv);
    ask(b, "get", "a", NULL);
    end(b);
    assert_int_equal(count_files(b), 0);
    begin(b);
}

static void a_job_that_stores_nothing_has_no_file(void **state)
{
    (void)state;
    with_bench(silent);
}

/* Whatever the file is cut to, what is read is a beginning of what was written. */
static void cutting(struct bench *b)
{
    AUTO_FREE char *path = str_printf("%s/kv-1.log", b->container.jobs);
    AUTO_BUF all = { .max = KIB };

    assert_non_null(path);
    ask(b, "put", "a", "1");
    ask(b, "put", "b", "2");
    end(b);
    assert_int_equal(path_read(path, &all, NULL), 0);
    for (size_t n = 0; n < all.len; n++) {
        assert_int_equal(unlink(path), 0);
        assert_int_equal(path_write_new(path, all.data, n, 0600, NULL), 0);
        begin(b);
        assert_store(b, n < 20 ? "" : "a=1 "); /* a beginning, twice the first, the second */
        end(b);
    }
    begin(b);
}

static void a_journal_that_is_cut_short_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    with_bench(cutting);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_master_has_the_same_store),
        cmocka_unit_test(a_journal_that_grows_long_begins_anew),
        cmocka_unit_test(a_job_that_stores_nothing_has_no_file),
        cmocka_unit_test(a_journal_that_is_cut_short_is_read_as_far_as_it_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
