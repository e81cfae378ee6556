/* kv_told_test.c - claims about requests that come twice: from an agent that lost its connection,
 * and so asks again, under the same id, what was not answered. What is answered is collected as
 * "TASK:ID WORDS…;" in the order in which it came. */
#include "rendezvous/kv.h"
#include "rendezvous/kv_private.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

struct world {
    struct kv *kv;
    char said[512]; /* answers since the last look */
    int64_t now;
    uint64_t id;   /* of the last request */
    char late[64]; /* "NAME: TASK TASK … of NEED", of the last barrier that somebody gave up */
};

static void say(struct world *w, const void *p, size_t n)
{
    size_t len = strlen(w->said);

    if (len + n < sizeof(w->said)) {
        memcpy(w->said + len, p, n);
        w->said[len + n] = '\0';
    }
}

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct world *w = user;
    char head[40];

    say(w, head, (size_t)snprintf(head, sizeof(head), "%u:%llu", task, (unsigned long long)id));
    for (size_t i = 0; i < n; i++) {
        say(w, " ", 1);
        say(w, words[i].p, words[i].n);
    }
    say(w, ";", 1);
}

static void on_late(void *user, const struct kv_late *l)
{
    struct world *w = user;
    int n = snprintf(w->late, sizeof(w->late), "%.*s:", (int)l->name.n, (const char *)l->name.p);

    for (size_t i = 0; i < l->n_came; i++)
        n += snprintf(w->late + n, sizeof(w->late) - (size_t)n, " %u", l->came[i].task);
    snprintf(w->late + n, sizeof(w->late) - (size_t)n, " of %zu%s", l->need,
             l->usual ? ", the role" : "");
}

static int open_world(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct kv_events on = { .user = w, .on_reply = on_reply, .on_late = on_late };

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

/* Asks with the id that w->id has. */
static void ask_again(struct world *w, uint32_t task, const char *line)
{
    struct kv_word words[8];
    struct kv_ask ask = { .task = task, .id = w->id, .words = words, .now = w->now };

    while (*line) {
        size_t len = strcspn(line, " ");

        words[ask.n++] = (struct kv_word){ line, len };
        line += len + (line[len] == ' ');
    }
    assert_int_equal(kv_request(w->kv, &ask, NULL), 0);
}

/* Asks with the next id. */
static void ask(struct world *w, uint32_t task, const char *line)
{
    w->id++;
    ask_again(w, task, line);
}

#define assert_said(w, text)                                                                       \
    do {                                                                                           \
        assert_string_equal((w)->said, text);                                                      \
        (w)->said[0] = '\0';                                                                       \
    } while (0)

static void a_request_that_comes_twice_is_carried_out_once(void **state)
{
    struct world *w = *state;

    ask(w, 0, "barrier b 2 100");
    w->now = 50;
    ask_again(w, 0, "barrier b 2 100");
    assert_said(w, ""); /* it waits on, as it did … */
    w->now = 100;
    kv_on_time(w->kv, w->now);
    assert_said(w, "0:1 timeout;"); /* … and no longer */
    ask_again(w, 0, "barrier b 2 100");
    assert_said(w, "0:1 timeout;");
    assert_int_equal(kv_deadline(w->kv), INT64_MAX);

    ask(w, 0, "barrier b 2");
    ask(w, 1, "barrier b 2");
    assert_said(w, "0:2 ok;1:3 ok;");
    w->id = 2; /* the answer was lost */
    ask_again(w, 0, "barrier b 2");
    assert_said(w, "0:2 ok;");
    w->id = 3;
    ask(w, 1, "add n 5");
    ask_again(w, 1, "add n 5");
    assert_said(w, "1:4 value 5;1:4 value 5;");
    ask(w, 1, "put k 007");
    ask(w, 2, "del k");
    ask_again(w, 2, "del k");
    w->id = 5;
    ask_again(w, 1, "put k 007");
    assert_said(w, "1:5 ok;2:6 ok;2:6 ok;1:5 ok;");
    ask(w, 0, "get k");
    ask(w, 0, "get n");
    assert_said(w, "0:6 none;0:7 value 5;");
    ask(w, 1, "putnew k 1");
    ask(w, 2, "putnew k 007");
    ask_again(w, 2, "putnew k 007");
    assert_said(w, "1:8 ok;2:9 exists 1;2:9 exists 1;");
    w->id = 8;
    ask_again(w, 1, "putnew k 1");
    assert_said(w, "1:8 ok;");
}

static void a_wait_that_comes_twice_is_answered_once(void **state)
{
    struct world *w = *state;

    ask(w, 0, "wait k");
    ask_again(w, 0, "wait k");
    ask(w, 1, "put k 007");
    assert_said(w, "0:1 value 007;1:2 ok;");
    w->id = 1;
    ask_again(w, 0, "wait k"); /* a value is looked at again */
    assert_said(w, "0:1 value 007;");
}

static void a_new_life_of_a_task_asks_anew(void **state)
{
    struct world *w = *state;

    ask(w, 0, "add n 1");
    kv_forget(w->kv, 0);
    ask_again(w, 0, "add n 1");
    kv_generation(w->kv);
    ask_again(w, 0, "add n 1");
    assert_said(w, "0:1 value 1;0:1 value 2;0:1 value 3;");
    for (int i = 0; i < 3 * KV_TOLD_MAX; i++)
        ask(w, 0, "add n 1");
    w->said[0] = '\0';
    ask_again(w, 0, "add n 1");
    assert_said(w, "0:205 value 207;");
}

static void who_gives_up_tells_who_came(void **state)
{
    struct world *w = *state;

    ask(w, 0, "barrier b 3 100");
    ask(w, 1, "barrier b 3 200");
    w->now = 100;
    kv_on_time(w->kv, w->now);
    assert_string_equal(w->late, "b: 0 1 of 3");
    w->late[0] = 0;
    w->now = 200;
    kv_on_time(w->kv, w->now);
    assert_string_equal(w->late, ""); /* the first one is missing only since it gave up */
    ask(w, 0, "barrier b 3 0");
    assert_string_equal(w->late, ""); /* who looks does not wait */
    ask(w, 2, "wait k 50");
    w->now = 300;
    kv_on_time(w->kv, w->now);
    assert_string_equal(w->late, "");
    ask(w, 1, "barrier b 3");
    ask(w, 0, "barrier b 3 100");
    w->now = 400;
    kv_on_time(w->kv, w->now);
    assert_string_equal(w->late, "b: 1 0 of 3");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, open_world, close_world)
    const struct CMUnitTest tests[] = {
        T(a_request_that_comes_twice_is_carried_out_once),
        T(a_wait_that_comes_twice_is_answered_once),
        T(a_new_life_of_a_task_asks_anew),
        T(who_gives_up_tells_who_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
