/* deployment_story_test.c - what people read of updates; see deployment_story.h. Plans are changed
 * as the controller changes them. */
#include "base/str.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_request.h"
#include "serve/deployment/deployment_story.h"
#include "serve/deployment/deployment_update.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

struct told {
    json_t *plan;
    char said[4 * STORY_MAX]; /* each sentence with a newline, since the last look */
    unsigned asked;
};

static int on_sentence(void *arg, const char *text)
{
    struct told *t = arg;
    size_t n = strlen(t->said);

    assert_null(strchr(text, '\n'));
    (void)snprintf(t->said + n, sizeof(t->said) - n, "%s\n", text);
    return 0;
}

static void told_begin(struct told *t)
{
    static const char text[] = "{\"name\":\"m\",\"serial\":1,\"models\":[{\"name\":\"m\",\"serve\":"
                               "1,\"groups\":[\"a\",\"b\"],"
                               "\"replicas\":2,\"versions\":[{\"version\":1,\"group\":\"a\","
                               "\"serial\":1,\"path\":\"/1\"}]}]}";

    *t = (struct told){ 0 };
    assert_int_equal(deployment_plan_parse("plan", text, &t->plan, NULL), 0);
}

/* The plan is this one from now on. */
static void told_take(struct told *t, json_t *plan)
{
    assert_int_equal(deployment_story(t->plan, plan, on_sentence, t), 0);
    json_decref(t->plan);
    t->plan = plan;
}

static void told_ask(struct told *t, const char *text)
{
    json_t *plan = json_deep_copy(t->plan);
    char id[20];

    (void)snprintf(id, sizeof(id), "q%u", ++t->asked);
    assert_int_equal(deployment_request(plan, id, text, 1000 + t->asked, NULL), 1);
    assert_null(json_object_get(deployment_answer(plan, id), "error"));
    told_take(t, plan);
}

/* The gateway reports this of the model, and what is to be stopped is. */
static void told_see(struct told *t, const char *report)
{
    json_t *plan = json_deep_copy(t->plan);
    AUTO_JSON *said = NULL;
    struct update_seen seen = { .now = 2000, .told = true, .stopped = true };

    assert_int_equal(json_parse("report", report, strlen(report), &said, NULL), 0);
    seen.report = said;
    assert_int_equal(deployment_update_step(plan, deployment_model(plan, NULL), &seen, NULL), 1);
    told_take(t, plan);
}

#define UPDATE_TO(version, percent, by)                                                            \
    "{\"do\":\"update\",\"version\":{\"version\":" version                                         \
    ",\"path\":\"/v\"},\"percent\":" percent                                                       \
    ",\"errors\":1,\"slower\":2,\"requests\":200,\"watch\":5000,\"warm\":60000,\"by\":\"" by "\"}"

#define assert_told(t, text)                                                                       \
    do {                                                                                           \
        assert_string_equal((t)->said, text);                                                      \
        (t)->said[0] = '\0';                                                                       \
    } while (0)

/* From the decision on; the other version has nothing left to answer. */
static void told_to_the_end(struct told *t, const char *serves)
{
    AUTO_FREE char *routed = str_printf("{\"serves\":%s}", serves);

    told_see(t, routed);
    told_see(t, "{\"versions\":[{\"version\":1,\"replicas\":[]},{\"version\":2,\"replicas\":[]}]}");
    assert_told(t, "");
    told_see(t, "{}");
}

static void a_canary_that_is_kept_and_a_rollback(void **state)
{
    struct told t;

    (void)state;
    told_begin(&t);
    told_ask(&t, UPDATE_TO("2", "12.5", "alice"));
    assert_told(&t, "m: update from version 1 to 2 asked for by alice, first with 12.5 % of the "
                    "requests\n");
    told_see(&t, "{\"versions\":[{\"version\":2,\"ready\":2}]}");
    assert_told(&t,
                "m: version 2 is ready (2 replicas are ready) and gets 12.5 % of the requests\n");
    told_see(&t, "{\"canary\":{\"version\":2,\"state\":\"done\",\"why\":\"no worse\"}}");
    assert_told(&t, "m: version 2 gets all requests: no worse\n");
    told_to_the_end(&t, "2");
    assert_told(&t, "m: update from version 1 to 2 finished: version 2 serves, the replicas of "
                    "version 1 are stopped\n");
    told_ask(&t, UPDATE_TO("1", "100", "bob\\n\\u001b[2J"));
    assert_told(&t, "m: rollback from version 2 to 1 asked for by bob\\n\\x1b[2J\n");
    told_see(&t, "{\"versions\":[{\"version\":1,\"ready\":2}]}");
    assert_told(&t, "m: version 1 is ready (2 replicas are ready) and gets all requests\n");
    told_see(&t, "{\"canary\":{\"version\":1,\"state\":\"done\",\"why\":\"no worse\"}}");
    assert_told(&t, "m: version 1 is kept: no worse\n");
    json_decref(t.plan);
}

static void a_version_that_is_given_up(void **state)
{
    struct told t;

    (void)state;
    told_begin(&t);
    told_ask(&t, UPDATE_TO("2", "100", "alice"));
    told_see(&t, "{\"versions\":[{\"version\":2,\"ready\":2}]}");
    t.said[0] = '\0';
    told_see(&t, "{\"canary\":{\"version\":2,\"state\":\"returned\",\"why\":\"9 of 100 failed\"}}");
    assert_told(&t, "m: version 2 is given up, version 1 gets all requests: 9 of 100 failed\n");
    told_to_the_end(&t, "1");
    assert_told(&t, "m: update from version 1 to 2 returned: version 1 serves, the replicas of "
                    "version 2 are stopped\n");
    told_ask(&t, "{\"do\":\"scale\",\"replicas\":3}"); /* is in the events anyway */
    assert_told(&t, "");
    json_decref(t.plan);
}

/* One update takes the place of another: the end of the first and the beginning of the second are
 * one change. */
static void an_update_that_is_replaced(void **state)
{
    struct told t;

    (void)state;
    told_begin(&t);
    told_ask(&t, UPDATE_TO("2", "100", "alice"));
    t.said[0] = '\0';
    told_ask(&t, "{\"do\":\"update\",\"version\":{\"version\":3,\"path\":\"/v\"},\"percent\":100,"
                 "\"errors\":1,\"slower\":2,\"requests\":200,\"watch\":5000,\"warm\":60000,"
                 "\"replace\":true,\"by\":\"bob\"}");
    assert_told(&t,
                "m: version 2 is given up, version 1 gets all requests: another update took its "
                "place\n");
    told_to_the_end(&t, "1");
    assert_told(&t, "m: update from version 1 to 2 returned: version 1 serves, the replicas of "
                    "version 2 are stopped\n"
                    "m: update from version 1 to 3 asked for by bob\n");
    json_decref(t.plan);
}

static void a_number_of_replicas_is_told_with_its_reason(void **state)
{
    struct told t;
    json_t *plan, *model;

    (void)state;
    told_begin(&t);
    told_ask(&t, "{\"do\":\"scale\",\"replicas\":3}");
    told_ask(&t, "{\"do\":\"scale\",\"autoscale\":{\"target\":4,\"min\":1,\"max\":3,"
                 "\"cool_down\":60000}}");
    assert_string_equal(t.said, "");
    plan = json_deep_copy(t.plan);
    model = deployment_model(plan, NULL);
    assert_int_equal(json_object_set_new(model, "replicas", json_integer(1)), 0);
    assert_int_equal(
        json_object_set_new(model, "scaled", json_pack("{s:i, s:s}", "to", 1, "why", "too few")),
        0);
    told_take(&t, plan);
    assert_string_equal(t.said, "m: scaled from 3 to 1 replicas: too few\n");
    json_decref(t.plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_of_replicas_is_told_with_its_reason),
        cmocka_unit_test(a_canary_that_is_kept_and_a_rollback),
        cmocka_unit_test(a_version_that_is_given_up),
        cmocka_unit_test(an_update_that_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
