/* kvlog_test.c - the store of one master is the next one's; see kvlog.c. HDFS is a directory here.
 */
#include "base/path.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_yarn_private.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

struct bench {
    char dir[TEST_PATH];
    uint64_t id;    /* of the last request */
    char said[256]; /* answers since the last look: "TASK:ID WORDS;" */
    bool held;      /* answers go the master's way, through kvanswer.c */
    struct loop *loop;
    struct fs_set *set;
    struct master_container container;
    struct job_dir job;
    struct master_options opt;
    struct master_yarn side;
    struct master m;
    void (*body)(struct bench *b);
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct bench *b = (struct bench *)((char *)user - offsetof(struct bench, m));
    size_t at = strlen(b->said);

    at += (size_t)snprintf(b->said + at, sizeof(b->said) - at, "%u:%llu", task,
                           (unsigned long long)id);
    for (size_t i = 0; i < n && at < sizeof(b->said); i++)
        at += (size_t)snprintf(b->said + at, sizeof(b->said) - at, " %.*s", (int)words[i].n,
                               (const char *)words[i].p);
    if (at < sizeof(b->said))
        (void)snprintf(b->said + at, sizeof(b->said) - at, ";");
}

/* The master of the next attempt, in a directory of its own. */
static void begin(struct bench *b)
{
    struct kv_events on = { .user = &b->m,
                            .on_reply = b->held ? kvanswer_reply : on_reply,
                            .on_change = kvlog_change };
    uint64_t most = b->side.kv.max;

    b->container.attempt++;
    b->side = (struct master_yarn)MASTER_YARN_INIT(&b->container);
    b->side.kv.max = most;
    b->m = (struct master){
        .loop = b->loop, .opt = &b->opt, .ops = &master_yarn_ops, .side = &b->side, .left = true
    };
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
    kvanswer_done(&b->m);
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

    b.opt = (struct master_options){ .dir = &b.job };
    assert_non_null(test_dir(b.dir, "kvlog"));
    assert_int_equal(loop_new(&b.loop, NULL), 0);
    assert_int_equal(loop_run(b.loop, run, &b, false), 0);
    loop_free(b.loop);
    assert_int_equal(path_remove(b.dir, NULL), 0);
}

/* Asks as `task` with the id that b->id has. */
static void ask_as(struct bench *b, uint32_t task, const char *verb, const char *key,
                   const char *value)
{
    struct kv_word words[] = { { verb, strlen(verb) }, { key, strlen(key) }, { value, 0 } };
    struct kv_ask a = { task, b->id, words, value ? 3 : 2, 0 };

    words[2].n = value ? strlen(value) : 0;
    assert_int_equal(kv_request(b->m.kv, &a, NULL), 0);
}

static void ask(struct bench *b, const char *verb, const char *key, const char *value)
{
    b->said[0] = '\0';
    b->id++;
    ask_as(b, 1, verb, key, value);
}

#define assert_said(b, text)                                                                       \
    do {                                                                                           \
        assert_string_equal((b)->said, text);                                                      \
        (b)->said[0] = '\0';                                                                       \
    } while (0)

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

    b->side.kv.max = 500;
    ask(b, "put", "fixed", "1");
    for (int i = 0; i < 1000; i++) {
        snprintf(text, sizeof(text), "%d", i);
        ask(b, "put", "k", text);
        if (i % 10 == 0)
            assert_int_equal(fiber_yield(b->loop), 0);
        assert_true(b->side.kv.journal.size < 4 * KIB); /* the last answers are in it */
    }
    assert_true(b->side.kv.journal.round > 3);
    end(b);
    assert_true(count_files(b) <= 2);
    begin(b);
    assert_store(b, "fixed=1 k=999 ");
    b->said[0] = '\0';
    ask_as(b, 1, "put", "k", "999");
    assert_said(b, "1:1001 ok;");
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
    size_t second;

    assert_non_null(path);
    ask(b, "put", "a", "1");
    second = b->side.kv.base;
    ask(b, "put", "b", "2");
    end(b);
    assert_int_equal(path_read(path, &all, NULL), 0);
    for (size_t n = 0; n < all.len; n++) {
        assert_int_equal(unlink(path), 0);
        assert_int_equal(path_write_new(path, all.data, n, 0600, NULL), 0);
        begin(b);
        /* Of what is there at the start all or nothing; then one record after the other. */
        assert_store(b, n < second ? "" : "a=1 ");
        end(b);
    }
    begin(b);
}

static void a_journal_that_is_cut_short_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    with_bench(cutting);
}

/* The master died when it had answered one of two, and the other asks again. */
static void halving(struct bench *b)
{
    b->id = 7;
    ask_as(b, 0, "barrier", "b", "2");
    b->id = 8;
    ask_as(b, 1, "barrier", "b", "2");
    assert_said(b, "0:7 ok;1:8 ok;");
    end(b);
    begin(b);
    ask_as(b, 1, "barrier", "b", "2");
    assert_said(b, "1:8 ok;");
    end(b); /* and the one after that, which has written a log of its own */
    begin(b);
    ask(b, "put", "a", "1");
    end(b);
    begin(b);
    b->id = 8;
    b->said[0] = '\0';
    ask_as(b, 1, "barrier", "b", "2");
    assert_said(b, "1:8 ok;");
    b->id = 20; /* the next time it waits as ever */
    ask_as(b, 1, "barrier", "b", "2");
    assert_said(b, "");
    b->id = 21;
    ask_as(b, 0, "barrier", "b", "2");
    assert_said(b, "1:20 ok;0:21 ok;");
}

static void a_barrier_that_was_half_answered_is_open(void **state)
{
    (void)state;
    with_bench(halving);
}

static void repeating(struct bench *b)
{
    ask(b, "add", "n", "5");
    assert_said(b, "1:1 value 5;");
    end(b);
    begin(b);
    ask_as(b, 1, "add", "n", "5");
    assert_said(b, "1:1 value 5;");
    ask(b, "put", "k", "x");
    ask(b, "del", "k", NULL);
    end(b);
    begin(b);
    b->said[0] = '\0';
    ask_as(b, 1, "del", "k", NULL);
    assert_said(b, "1:3 ok;");
    assert_store(b, "n=5 ");
    kv_generation(b->m.kv); /* its tasks are others, whatever numbers they have */
    ask(b, "put", "k", "y");
    end(b);
    begin(b);
    b->id = 1;
    ask_as(b, 1, "add", "n", "5");
    assert_store(b, "k=y n=10 ");
}

static void what_the_last_master_did_is_not_done_again(void **state)
{
    (void)state;
    with_bench(repeating);
}

static bool is_in_file(struct bench *b, const char *text)
{
    AUTO_FREE char *path = str_printf("%s/kv-%d.log", b->container.jobs, b->container.attempt);
    AUTO_BUF all = { .max = KIB };

    return path_read(path, &all, NULL) == 0 && memmem(all.data, all.len, text, strlen(text));
}

static void holding(struct bench *b)
{
    end(b);
    b->held = true;
    begin(b);
    for (int i = 0; i < 3; i++) {
        char key[] = { 'k', 'e', 'y', (char)('0' + i), 0 };

        b->id++;
        ask_as(b, MASTER_API_TASK, "put", key, "1");
        assert_non_null(b->side.kv.held.first);
        assert_false(is_in_file(b, key));
        b->id++;
        ask_as(b, MASTER_API_TASK, "get", key, NULL); /* the master may die, and it never was */
        assert_ptr_not_equal(b->side.kv.held.first, b->side.kv.held.last);
        while (b->side.kv.held.first)
            assert_int_equal(fiber_yield(b->loop), 0);
        assert_true(is_in_file(b, key));
    }
    b->id++;
    ask_as(b, MASTER_API_TASK, "get", "key0", NULL);
    assert_null(b->side.kv.held.first); /* nothing has changed */
    assert_false(b->side.kv.held.told);
}

static void who_is_answered_can_count_on_it(void **state)
{
    (void)state;
    with_bench(holding);
}

/* Tasks may ask while the log is being closed: what they say then is not in it. */
static void leaving(struct bench *b)
{
    ask(b, "put", "a", "1");
    (void)mirror_stop(&b->m, LOOP_NEVER);
    ask(b, "put", "b", "2");
    assert_said(b, "1:2 ok;");
    assert_null(b->side.kv.mirror);
    end(b);
    assert_int_equal(count_files(b), 1);
    begin(b);
    assert_store(b, "a=1 ");
}

static void a_log_that_has_ended_does_not_begin_anew(void **state)
{
    (void)state;
    with_bench(leaving);
}

static void failing(struct bench *b)
{
    end(b);
    assert_int_equal(rmdir(b->container.jobs), 0);
    assert_int_equal(path_write_new(b->container.jobs, "", 0, 0600, NULL), 0);
    b->held = true;
    b->m.kv = NULL;
    begin(b);
    b->id++;
    ask_as(b, MASTER_API_TASK, "put", "key", "1");
    assert_non_null(b->side.kv.held.first);
    while (b->side.kv.held.first) /* HDFS says no */
        assert_int_equal(fiber_yield(b->loop), 0);
    b->id++;
    ask_as(b, MASTER_API_TASK, "put", "key", "2");
    assert_null(b->side.kv.held.first);
    b->m.left = false; /* there is no place to leave it */
}

static void hdfs_does_not_hold_answers_up(void **state)
{
    (void)state;
    with_bench(failing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_master_has_the_same_store),
        cmocka_unit_test(a_journal_that_grows_long_begins_anew),
        cmocka_unit_test(a_job_that_stores_nothing_has_no_file),
        cmocka_unit_test(a_journal_that_is_cut_short_is_read_as_far_as_it_goes),
        cmocka_unit_test(a_barrier_that_was_half_answered_is_open),
        cmocka_unit_test(what_the_last_master_did_is_not_done_again),
        cmocka_unit_test(who_is_answered_can_count_on_it),
        cmocka_unit_test(hdfs_does_not_hold_answers_up),
        cmocka_unit_test(a_log_that_has_ended_does_not_begin_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
