/* kv_test.c - claims about kv.h. A request is written as one line; what is answered is collected as
 * "TASK:ID WORDS…;" in the order in which it came. */
#include "rendezvous/kv.h"
#include "rendezvous/kv_private.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct world {
    struct kv *kv;
    char said[4096]; /* answers since the last look */
    size_t n;
    size_t answers;
    char progress[512];
    int64_t now;
    uint64_t id;   /* of the last request */
    bool quiet;    /* count answers only */
    unsigned gone; /* of the three tasks 0 to 2, the highest so many */
};

static void say(struct world *w, const void *p, size_t n)
{
    if (w->n + n < sizeof(w->said)) {
        memcpy(w->said + w->n, p, n);
        w->n += n;
        w->said[w->n] = 0;
    }
}

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct world *w = user;
    char head[40];

    w->answers++;
    if (w->quiet)
        return;
    say(w, head, (size_t)snprintf(head, sizeof(head), "%u:%llu", task, (unsigned long long)id));
    for (size_t i = 0; i < n; i++) {
        say(w, " ", 1);
        say(w, words[i].p, words[i].n);
    }
    say(w, ";", 1);
}

static void on_progress(void *user, uint32_t task, int64_t step, int64_t total, const char *metrics)
{
    struct world *w = user;

    snprintf(w->progress, sizeof(w->progress), "%u %lld %lld %s", task, (long long)step,
             (long long)total, metrics);
}

static int on_scale(void *user, uint32_t task, const char *role, unsigned count, struct err *err)
{
    struct world *w = user;

    if (strcmp(role, "worker") != 0)
        return err_set(err, -ENOENT, "there is no role '%s'", role);
    snprintf(w->progress, sizeof(w->progress), "%u %s %u", task, role, count);
    return 0;
}

static unsigned role_size(void *user, uint32_t task)
{
    const struct world *w = user;
    unsigned n = task < 10 ? 3 - w->gone : 2;

    return w->gone && task < 10 && task >= n ? 0 : n;
}

static int open_world(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct kv_events on = { w, on_reply, on_progress, role_size, .on_scale = on_scale };

    assert_non_null(w);
    *state = w;
    assert_int_equal(kv_new(&on, &w->kv, NULL), 0);
    return 0;
}

static int close_world(void **state)
{
    struct world *w = *state;

    w->kv = kv_free(w->kv);
    free(w);
    return 0;
}

/* Asks with the next id. */
static void ask(struct world *w, uint32_t task, const char *line)
{
    struct kv_word words[KV_WORDS_MAX + 1];
    size_t n = 0;

    while (*line) {
        size_t len = strcspn(line, " ");

        words[n++] = (struct kv_word){ line, len };
        line += len + (line[len] == ' ');
    }
    struct kv_ask ask = { task, ++w->id, words, n, w->now };

    assert_int_equal(kv_request(w->kv, &ask, NULL), 0);
}

#define assert_said(w, text)                                                                       \
    do {                                                                                           \
        assert_string_equal((w)->said, text);                                                      \
        (w)->n = 0;                                                                                \
        (w)->said[0] = 0;                                                                          \
    } while (0)

static void every_request_has_its_answer(void **state)
{
    static const struct {
        const char *ask, *want;
    } rows[] = {
        { "get a", "none" },
        { "put a 1", "ok" },
        { "get a", "value 1" },
        { "wait a", "value 1" },
        { "wait a 0", "value 1" },
        { "put a 22", "ok" },
        { "get a", "value 22" },
        { "putnew a 3", "exists 22" },
        { "get a", "value 22" },
        { "putnew new 3", "ok" },
        { "putnew new 4", "exists 3" },
        { "get new", "value 3" },
        { "del new", "ok" },
        { "putnew a", "error putnew: 1 words are too few" },
        { "del a", "ok" },
        { "del a", "none" },
        { "wait a 0", "timeout" },
        { "add n 5", "value 5" },
        { "add n -7", "value -2" },
        { "get n", "value -2" },
        { "put x/2 b", "ok" },
        { "put x/10 b", "ok" },
        { "list", "keys n x/10 x/2" },
        { "list x/", "keys x/10 x/2" },
        { "list y", "keys" },
        { "barrier b 1", "ok" },
        { "barrier b 2 0", "timeout" },
        { "", "error '' is no request" },
        { "frob x", "error 'frob' is no request" },
        { "put a", "error put: 1 words are too few" },
        { "get a b", "error get: 2 words are too many" },
        { "add x/2 1", "error add: 'x/2' holds no number" },
        { "add n 1.5", "error add: '1.5' is not a whole number" },
        { "add n 9223372036854775807", "value 9223372036854775805" },
        { "add n 3", "error add: the sum in 'n' is too large" },
        { "wait q soon", "error 'soon' is not a number of milliseconds" },
        { "barrier b 0", "error barrier: '0' is not a count from 1 to 1000000" },
        { "progress now", "error progress: 'now' is not a step" },
        { "progress 1 loss", "error progress: 'loss' is not NAME=NUMBER with a new name" },
        { "progress 1 a=1 a=2", "error progress: 'a=2' is not NAME=NUMBER with a new name" },
        { "progress 1 a=1x", "error progress: 'a=1x' is not NAME=NUMBER with a new name" },
        { "progress 1 a\"=1", "error progress: 'a\"=1' is not NAME=NUMBER with a new name" },
    };
    struct world *w = *state;
    char want[200];

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ask(w, 7, rows[i].ask);
        snprintf(want, sizeof(want), "7:%llu %s;", (unsigned long long)w->id, rows[i].want);
        assert_said(w, want);
    }
}

static void progress_is_told_with_its_metrics(void **state)
{
    static const struct {
        const char *ask, *want;
    } rows[] = {
        { "progress 3", "4 3 0 {}" },
        { "progress 3 10", "4 3 10 {}" },
        { "progress 3 loss=0.25", "4 3 0 {\"loss\":0.25}" },
        { "progress 3 10 loss=nan lr=1e-3 n=12", "4 3 10 {\"loss\":null,\"lr\":0.001,\"n\":12}" },
        { "progress 9223372036854775807 x=-inf", "4 9223372036854775807 0 {\"x\":null}" },
    };
    struct world *w = *state;

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        ask(w, 4, rows[i].ask);
        assert_string_equal(w->progress, rows[i].want);
    }
    assert_int_equal(w->answers, COUNT_OF(rows));
}

static void a_put_wakes_all_who_wait_for_that_key_once(void **state)
{
    struct world *w = *state;

    ask(w, 1, "wait k");
    ask(w, 2, "wait k 500");
    ask(w, 3, "wait other");
    ask(w, 1, "wait k 100");
    assert_said(w, "");
    assert_int_equal(kv_deadline(w->kv), 100);
    ask(w, 9, "put k v");
    assert_said(w, "1:1 value v;2:2 value v;1:4 value v;9:5 ok;");
    assert_int_equal(kv_deadline(w->kv), INT64_MAX);
    ask(w, 9, "put k w");
    assert_said(w, "9:6 ok;");
    ask(w, 9, "add other 4");
    assert_said(w, "3:3 value 4;9:7 value 4;");
}

static void waits_end_at_their_own_time(void **state)
{
    struct world *w = *state;

    ask(w, 1, "wait k 300");
    ask(w, 2, "wait k 100");
    ask(w, 3, "wait j 200");
    ask(w, 4, "barrier b 2 250");
    kv_on_time(w->kv, 99);
    assert_said(w, "");
    assert_int_equal(kv_deadline(w->kv), 100);
    kv_on_time(w->kv, 250);
    assert_said(w, "2:2 timeout;3:3 timeout;4:4 timeout;");
    ask(w, 5, "put k v");
    assert_said(w, "1:1 value v;5:5 ok;");
    kv_on_time(w->kv, 1000);
    assert_said(w, "");
    ask(w, 6, "barrier b 3"); /* the one that gave up has left no trace, not even its count */
    assert_said(w, "");
}

static void a_barrier_opens_for_all_and_can_be_used_again(void **state)
{
    struct world *w = *state;

    for (int round = 0; round < 2; round++) {
        ask(w, 0, "barrier epoch");
        ask(w, 1, "barrier epoch");
        assert_said(w, "");
        ask(w, 2, "barrier epoch");
        assert_said(w, round ? "0:4 ok;1:5 ok;2:6 ok;" : "0:1 ok;1:2 ok;2:3 ok;");
    }
    ask(w, 10, "barrier epoch"); /* a role of two */
    ask(w, 0, "barrier epoch");
    assert_said(w, "0:8 error barrier 'epoch' waits for 2, not for 3;");
    ask(w, 11, "barrier epoch");
    assert_said(w, "10:7 ok;11:9 ok;");
}

static void a_task_counts_once_in_a_barrier(void **state)
{
    struct world *w = *state;

    ask(w, 0, "barrier b 3");
    ask(w, 0, "barrier b 3");
    assert_said(w, "0:1 error barrier 'b': this task came again;");
    ask(w, 0, "barrier b 3");
    ask(w, 1, "barrier b 3");
    assert_said(w, "0:2 error barrier 'b': this task came again;");
    ask(w, 2, "barrier b 3");
    assert_said(w, "0:3 ok;1:4 ok;2:5 ok;");
}

static void a_barrier_waits_for_the_tasks_that_the_role_has_now(void **state)
{
    struct world *w = *state;

    ask(w, 0, "barrier all");
    ask(w, 2, "barrier all");
    ask(w, 0, "barrier three 3");
    w->gone = 1; /* task 2, which waits */
    kv_resized(w->kv);
    assert_said(w, "2:2 error barrier: this task has been scaled away;");
    ask(w, 2, "barrier all");
    assert_said(w, "2:4 error barrier: this task has been scaled away;");
    ask(w, 1, "barrier all");
    assert_said(w, "0:1 ok;1:5 ok;");
    ask(w, 0, "barrier all");
    w->gone = 2;
    kv_resized(w->kv); /* the one that is left is there already */
    assert_said(w, "0:6 ok;");
    w->gone = 1;
    ask(w, 0, "barrier all");
    w->gone = 0;
    kv_resized(w->kv);
    ask(w, 1, "barrier all");
    assert_said(w, "");
    ask(w, 2, "barrier all");
    assert_said(w, "0:7 ok;1:8 ok;2:9 ok;");
}

static void a_task_can_scale_a_role(void **state)
{
    struct world *w = *state;

    ask(w, 1, "scale worker 5");
    assert_said(w, "1:1 ok;");
    assert_string_equal(w->progress, "1 worker 5");
    ask(w, 1, "scale ps 1");
    ask(w, 1, "scale worker -1");
    ask(w, 1, "scale worker");
    assert_said(w, "1:2 error scale: there is no role 'ps';"
                   "1:3 error scale: COUNT is a whole number from 0 on;"
                   "1:4 error scale: 1 words are too few;");
}

static void what_a_forgotten_task_asked_is_never_answered(void **state)
{
    struct world *w = *state;

    ask(w, 1, "wait k 100");
    ask(w, 1, "barrier b 2");
    ask(w, 2, "wait k");
    kv_forget(w->kv, 1);
    kv_forget(w->kv, 77);
    assert_int_equal(kv_deadline(w->kv), INT64_MAX);
    ask(w, 3, "put k v");
    assert_said(w, "2:3 value v;3:4 ok;");
    ask(w, 3, "barrier b 2");
    assert_said(w, "");
}

static void a_generation_drops_waits_and_pmi_keys_only(void **state)
{
    struct world *w = *state;

    ask(w, 1, "put pmi/card 1");
    ask(w, 1, "put pmi 2");
    ask(w, 1, "put pm 3");
    ask(w, 1, "wait k 10");
    ask(w, 2, "wait pmi/x");
    ask(w, 2, "barrier b 2 10");
    w->n = 0;
    kv_generation(w->kv);
    assert_int_equal(kv_deadline(w->kv), INT64_MAX);
    ask(w, 3, "barrier b 2");
    ask(w, 3, "list");
    assert_said(w, "3:8 keys pm pmi;");
}

/* ---- limits ---- */

static void put_bytes(struct world *w, const char *key, size_t key_n, const char *value, size_t n)
{
    struct kv_word words[] = { { "put", 3 }, { key, key_n }, { value, n } };

    assert_int_equal(kv_request(w->kv, &(struct kv_ask){ 1, ++w->id, words, 3, w->now }, NULL), 0);
}

static void names_and_values_have_limits(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *big = calloc(1, MIB + 1);

    assert_non_null(big);
    put_bytes(w, big, 257, "v", 1);
    assert_said(w, "1:1 error put: a name has 1 to 256 bytes, not 257;");
    put_bytes(w, "", 0, "v", 1);
    assert_said(w, "1:2 error put: a name has 1 to 256 bytes, not 0;");
    put_bytes(w, big, 256, "v", 1); /* any bytes, and the longest */
    assert_said(w, "1:3 ok;");
    put_bytes(w, "k", 1, big, MIB + 1);
    assert_said(w, "1:4 error a value of 1048577 bytes is too long: 1048576 are allowed;");
    put_bytes(w, "k", 1, big, 0);
    assert_said(w, "1:5 ok;");
    ask(w, 1, "get k");
    assert_said(w, "1:6 value ;");
}

static void the_store_has_a_most(void **state)
{
    struct world *w = *state;

    w->kv->bytes = KV_TOTAL_MAX - 10; /* as if others had filled it */
    put_bytes(w, "key", 3, "12345678", 8);
    assert_said(w, "1:1 error the store is full: it has 67108854 of 67108864 bytes;");
    put_bytes(w, "key", 3, "1234567", 7);
    assert_said(w, "1:2 ok;");
    put_bytes(w, "key", 3, "abcdefg", 7); /* what replaces needs room for the difference only */
    assert_said(w, "1:3 ok;");
    put_bytes(w, "k", 1, "", 0);
    assert_said(w, "1:4 error the store is full: it has 67108864 of 67108864 bytes;");
    ask(w, 1, "del key");
    assert_said(w, "1:5 ok;");
    put_bytes(w, "k", 1, "123456789", 9);
    assert_said(w, "1:6 ok;");
}

static void a_task_may_wait_for_so_much_and_no_more(void **state)
{
    struct world *w = *state;
    char line[40];

    for (int i = 0; i < KV_TASK_WAITS_MAX; i++) {
        snprintf(line, sizeof(line), "wait k%d 1000", i);
        ask(w, 1, line);
    }
    assert_said(w, "");
    ask(w, 1, "wait more");
    assert_said(w, "1:257 error 256 requests of this task wait already;");
    ask(w, 1, "barrier more");
    assert_said(w, "1:258 error 256 requests of this task wait already;");
    ask(w, 2, "wait more");
    assert_said(w, "");
}

/* ---- size ---- */

static bool tortured(void)
{
    return ydl_torture_spare_thread != NULL; /* each allocation is a run: small numbers will do */
}

static double seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void ten_thousand_tasks_pass_a_barrier_quickly(void **state)
{
    struct world *w = *state;
    unsigned n = tortured() ? 40 : 10000;
    char line[40];
    double t;

    w->quiet = true;
    snprintf(line, sizeof(line), "barrier all %u 60000", n);
    t = seconds();
    for (unsigned i = 0; i < n; i++)
        ask(w, i, line);
    print_message("%u tasks through a barrier: %.1f ms of the processor\n", n,
                  (seconds() - t) * 1e3);
    assert_int_equal(w->answers, n);
    assert_int_equal(kv_deadline(w->kv), INT64_MAX);
    for (unsigned i = 1; i < n; i++)
        ask(w, i, line);
    kv_generation(w->kv);
    assert_int_equal(w->answers, n);
}

static void a_hundred_thousand_keys_fit_and_no_more(void **state)
{
    struct world *w = *state;
    unsigned n = tortured() ? 200 : KV_KEYS_MAX;
    char line[40];

    w->quiet = true;
    for (unsigned i = 0; i < n; i++) {
        snprintf(line, sizeof(line), "put key/%u %u", i, i);
        ask(w, 1, line);
    }
    w->quiet = false;
    w->id = 0;
    ask(w, 1, "get key/199");
    assert_said(w, "1:1 value 199;");
    ask(w, 1, "list key/19");
    assert_true(strncmp(w->said, "1:2 keys key/19 key/190 key/1", 28) == 0);
    w->n = 0;
    ask(w, 1, "put one more");
    assert_said(w,
                n < KV_KEYS_MAX ? "1:3 ok;" : "1:3 error the store is full: it has 100000 keys;");
    ask(w, 1, "put key/7 new");
    assert_said(w, "1:4 ok;");
    ask(w, 1, "wait one/more 50"); /* waiting makes no key */
    assert_said(w, "");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)
    const struct CMUnitTest tests[] = {
        T(every_request_has_its_answer),
        T(progress_is_told_with_its_metrics),
        T(a_put_wakes_all_who_wait_for_that_key_once),
        T(waits_end_at_their_own_time),
        T(a_barrier_opens_for_all_and_can_be_used_again),
        T(a_task_counts_once_in_a_barrier),
        T(a_barrier_waits_for_the_tasks_that_the_role_has_now),
        T(a_task_can_scale_a_role),
        T(what_a_forgotten_task_asked_is_never_answered),
        T(a_generation_drops_waits_and_pmi_keys_only),
        T(names_and_values_have_limits),
        T(the_store_has_a_most),
        T(a_task_may_wait_for_so_much_and_no_more),
        T(ten_thousand_tasks_pass_a_barrier_quickly),
        T(a_hundred_thousand_keys_fit_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
