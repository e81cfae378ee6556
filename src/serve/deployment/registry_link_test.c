/* registry_link_test.c - see registry_link.h: a registry on this machine. */
#include "base/path.h"
#include "base/str.h"
#include "loop/fiber.h"
#include "serve/deployment/registry_link.h"
#include "test.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const char plan_text[] =
    "{\"name\":\"shop\",\"use\":\"shop-1\",\"models\":[{\"name\":\"m\",\"serve\":1,\"versions\":[{"
    "\"version\":1}]}]}";

struct world {
    struct loop *loop;
    char dir[64], used[128], model[96];
    json_t *plan;
};

/* Was it written that the version is used? Then that is forgotten. */
static bool was_said(const struct world *w)
{
    return unlink(w->used) == 0;
}

static int say_what_was_removed(void *arg)
{
    struct world *w = arg;
    AUTO(registry_link) struct registry_link *x = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(registry_link_new(w->loop, NULL, w->dir, &x, &err), 0);
    assert_int_equal(registry_link_say(x, w->plan, &err), -ENOENT);
    assert_string_equal(err.text, "m:1 is not in the registry any more");
    assert_true(was_said(w));
    /* It is looked at again and again, and for a while nothing is done. */
    for (int i = 0; i < 3; i++) {
        struct err again = ERR_INIT;

        assert_int_equal(registry_link_say(x, w->plan, &again), -ENOENT);
        assert_string_equal(again.text, err.text);
        assert_false(was_said(w));
    }
    /* Who asks for something wants to know. */
    registry_link_hurry(x);
    assert_int_equal(registry_link_say(x, w->plan, NULL), -ENOENT);
    assert_true(was_said(w));
    return 0;
}

static void a_version_that_is_gone_is_not_looked_for_all_the_time(void **state)
{
    struct world w = { .dir = "/tmp/registry-link-XXXXXX" };
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(mkdtemp(w.dir));
    (void)snprintf(w.model, sizeof(w.model), "%s/m", w.dir);
    assert_int_equal(mkdir(w.model, 0700), 0);
    (void)snprintf(w.used, sizeof(w.used), "%s/m/deployments/shop-1.json", w.dir);
    assert_int_equal(json_parse("plan", plan_text, sizeof(plan_text) - 1, &w.plan, &err), 0);
    assert_int_equal(loop_new(&w.loop, &err), 0);
    assert_int_equal(loop_run(w.loop, say_what_was_removed, &w, false), 0);
    loop_free(w.loop);
    json_decref(w.plan);
    assert_int_equal(path_remove(w.dir, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_that_is_gone_is_not_looked_for_all_the_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
