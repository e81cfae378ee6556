/* kv_move_test.c - a task asks who is to leave, and moves them. */
#include "base/str.h"
#include "rendezvous/kv.h"
#include "test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct world {
    char said[400], moved[80];
};

static void on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words, size_t n)
{
    struct world *w = user;
    size_t used = strlen(w->said);

    (void)task;
    (void)id;
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(w->said + used, sizeof(w->said) - used, "%s%.*s", i ? " " : "",
                                 (int)words[i].n, (const char *)words[i].p);
}

static int on_leaving(void *user, const struct kv_word *roles, size_t n, struct buf *out)
{
    (void)user;
    for (size_t i = 0; i < n; i++)
        if (buf_printf(out, "%.*s:0,4,node,-1,nm1 ", (int)roles[i].n, (const char *)roles[i].p) < 0)
            return -ENOMEM;
    return 0;
}

static int on_move(void *user, uint32_t task, const char *which, uint32_t attempt, struct err *err)
{
    struct world *w = user;

    if (strcmp(which, "worker:0") != 0)
        return err_set(err, -ENOENT, "there is no task '%s'", which);
    snprintf(w->moved, sizeof(w->moved), "%u %s %u", task, which, attempt);
    return 0;
}

static unsigned no_size(void *user, uint32_t task)
{
    (void)user;
    (void)task;
    return 1;
}

static void assert_answer(struct kv *k, struct world *w, const char *line, const char *wanted)
{
    static uint64_t id;
    AUTO_STRS parts = { 0 };
    struct kv_word words[4];
    size_t n = 0;

    assert_int_equal(strs_split(&parts, line, " "), 0);
    for (; n < parts.n && n < COUNT_OF(words); n++)
        words[n] = (struct kv_word){ parts.v[n], strlen(parts.v[n]) };
    w->said[0] = '\0';
    assert_int_equal(
        kv_request(k, &(struct kv_ask){ .task = 1, .id = ++id, .words = words, .n = n }, NULL), 0);
    assert_string_equal(w->said, wanted);
}

static void a_task_can_ask_who_leaves_and_move_them(void **state)
{
    struct world w = { 0 };
    struct kv_events on = { .user = &w,
                            .on_reply = on_reply,
                            .on_role_size = no_size,
                            .on_leaving = on_leaving,
                            .on_move = on_move };
    AUTO_KV *k = NULL;

    (void)state;
    assert_int_equal(kv_new(&on, &k, NULL), 0);
    assert_answer(k, &w, "leaving worker ps", "value worker:0,4,node,-1,nm1 ps:0,4,node,-1,nm1 ");
    assert_answer(k, &w, "move worker:0 4", "ok");
    assert_string_equal(w.moved, "1 worker:0 4");
    assert_answer(k, &w, "leaving", "error leaving: 0 words are too few");
    assert_answer(k, &w, "move worker:0", "error move: 1 words are too few");
    assert_answer(k, &w, "move worker:0 x", "error move: ATTEMPT is a whole number from 0 on");
    assert_answer(k, &w, "move ps:0 1", "error move: there is no task 'ps:0'");
}

static void where_nothing_can_leave_nothing_does(void **state)
{
    struct world w = { 0 };
    struct kv_events on = { .user = &w, .on_reply = on_reply, .on_role_size = no_size };
    AUTO_KV *k = NULL;

    (void)state;
    assert_int_equal(kv_new(&on, &k, NULL), 0);
    assert_answer(k, &w, "leaving worker", "value ");
    assert_answer(k, &w, "move worker:0 4", "error the tasks of this job cannot be moved");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_can_ask_who_leaves_and_move_them),
        cmocka_unit_test(where_nothing_can_leave_nothing_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
