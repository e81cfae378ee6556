/* submission_test.c - claims about submission.h and records.h. */
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/yarn/launch_context.h"
#include "hadoop/yarn/submission.h"
#include "test.h"

#include <string.h>

static const struct yarn_app_id app = { 1794718682665, 75 };

static void all_of_it_reaches_the_message(void **state)
{
    static const char *const tags[] = { "ydl", "Team:Vision" };
    static const struct yarn_amount gpu = { "yarn.io/gpu", 1 };
    AUTO_MESSAGE Yarn__ContainerLaunchContext *launch = yarn_launch_new();
    AUTO_MESSAGE Yarn__ApplicationSubmissionContext *m = NULL;
    struct yarn_submission s = {
        .name = "mnist",
        .type = "ydl",
        .queue = "root.prod",
        .has_priority = true,
        .priority = 3,
        .tags = tags,
        .n_tags = 2,
        .master = { 4096, 2, &gpu, 1 },
        .launch = launch,
        .label = "gpu",
        .master_label = "fast",
        .max_attempts = 4,
        .failures_window_ms = 60000,
        .keep_containers = true,
        .lifetime_s = 3600,
    };

    (void)state;
    assert_non_null(launch);
    assert_int_equal(yarn_launch_script(launch, "run", NULL), 0);
    assert_int_equal(yarn_submission_message(&s, app, NULL, &m, NULL), 0);
    assert_int_equal(m->application_id->id, 75);
    assert_string_equal(m->application_name, "mnist");
    assert_string_equal(m->queue, "root.prod");
    assert_int_equal(m->priority->priority, 3);
    assert_string_equal(m->application_tags[1], "team:vision");
    assert_string_equal(m->am_container_spec->command[0], "run");
    assert_int_equal(m->max_app_attempts, 4);
    assert_true(m->keep_containers_across_attempts);
    assert_int_equal(m->application_timeouts[0]->timeout, 3600);
    assert_string_equal(m->node_label_expression, "gpu");
    assert_int_equal(m->n_am_container_resource_requests, 1);
    assert_string_equal(m->am_container_resource_requests[0]->node_label_expression, "fast");
    assert_string_equal(m->am_container_resource_requests[0]->resource_name, "*");
}

/* 4096 MB, 2 cores, 1 GPU: units and kind are written although they say nothing. */
static void a_resource_has_the_bytes_that_were_captured(void **state)
{
    static const struct yarn_amount gpu = { "yarn.io/gpu", 1 };
    static const struct yarn_resource r = { 4096, 2, &gpu, 1 };
    AUTO_MESSAGE Yarn__Resource *m = yarn_resource_new(&r);
    AUTO_FREE char *hex = NULL;
    uint8_t packed[64];

    (void)state;
    assert_non_null(m);
    assert_int_equal(str_hex(packed, yarn__resource__pack(m, packed), &hex), 0);
    assert_string_equal(hex, "08802010021a130a0b7961726e2e696f2f67707510011a002000");
}

static const char *const eleven[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k" };
static const char *const control[] = { "a\nb" };
static const char *const none[] = { "" };
static const struct yarn_amount minus = { "yarn.io/gpu", -1 }, many = { "yarn.io/gpu", 3 };
static const Yarn__ContainerLaunchContext launch = YARN__CONTAINER_LAUNCH_CONTEXT__INIT;
static const struct {
    struct yarn_submission s;
    const char *text;
} bad_rows[] = {
    { { .master = { 64, 1, NULL, 0 }, .launch = &launch }, "the application has no name" },
    { { .name = "x", .master = { 64, 1, NULL, 0 } },
      "the application has no command for its master" },
    { { .name = "x", .launch = &launch }, "the master's container: memory of 0 MB is not a size" },
    { { .name = "x", .launch = &launch, .master = { 64, 0, NULL, 0 } },
      "the master's container: 0 cores is not a number of cores" },
    { { .name = "x", .launch = &launch, .master = { 9000, 1, NULL, 0 } },
      "the master's container: 9000 of 'memory-mb' is more than a container can have here, "
      "8192" },
    { { .name = "x", .launch = &launch, .master = { 64, 1, &minus, 1 } },
      "the master's container: -1 of 'yarn.io/gpu' is not an amount" },
    { { .name = "x", .launch = &launch, .master = { 64, 1, &many, 1 } },
      "the master's container: 3 of 'yarn.io/gpu' is more than a container can have here, 0" },
    { { .name = "x",
        .launch = &launch,
        .master = { 64, 1, NULL, 0 },
        .tags = eleven,
        .n_tags = 11 },
      "11 tags, at most 10 are allowed" },
    { { .name = "x",
        .launch = &launch,
        .master = { 64, 1, NULL, 0 },
        .tags = control,
        .n_tags = 1 },
      "a tag may have printable ASCII characters only" },
    { { .name = "x", .launch = &launch, .master = { 64, 1, NULL, 0 }, .tags = none, .n_tags = 1 },
      "tag '' has 0 characters, 1 to 100 are allowed" },
    { { .name = "x", .launch = &launch, .master = { 64, 1, NULL, 0 }, .label = "a && b" },
      "'a && b' is not a node label (YARN accepts exactly one)" },
    { { .name = "x", .launch = &launch, .master = { 64, 1, NULL, 0 }, .queue = "" },
      "the queue has no name" },
    { { .name = "x",
        .launch = &launch,
        .master = { 64, 1, NULL, 0 },
        .type = "longer than twenty bytes" },
      "application type 'longer than twenty bytes' is longer than 20 characters" },
    { { .name = "x", .launch = &launch, .master = { 64, 1, NULL, 0 }, .lifetime_s = -1 },
      "a lifetime of -1 s is not valid" },
    { { .name = "x", .launch = &launch, .master = { 64, 1, NULL, 0 }, .max_attempts = -1 },
      "-1 attempts is not a number of attempts" },
};

static void what_the_rm_would_answer_badly_is_refused_here(void **state)
{
    Yarn__Resource max = YARN__RESOURCE__INIT;

    (void)state;
    max.memory = 8192;
    max.virtual_cores = 4;
    for (size_t i = 0; i < COUNT_OF(bad_rows); i++) {
        Yarn__ApplicationSubmissionContext *m = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(yarn_submission_message(&bad_rows[i].s, app, &max, &m, &err), -EINVAL);
        assert_string_equal(err.text, bad_rows[i].text);
        assert_null(m);
    }
}

static void a_resource_the_cluster_lacks_is_not_dropped_in_silence(void **state)
{
    static const struct yarn_amount amount = { "yarn.io/gpu", 1 };
    static const struct yarn_resource r = { 64, 1, &amount, 1 };
    Yarn__ResourceTypeInfo type = YARN__RESOURCE_TYPE_INFO__INIT, *types[] = { &type };
    struct err err = ERR_INIT;

    (void)state;
    type.name = "memory-mb";
    assert_int_equal(yarn_resource_check(&r, NULL, types, 1, &err), -EINVAL);
    assert_string_equal(err.text, "the cluster has no resource 'yarn.io/gpu'");
    type.name = "yarn.io/gpu";
    assert_int_equal(yarn_resource_check(&r, NULL, types, 1, NULL), 0);
    assert_int_equal(yarn_resource_check(&r, NULL, NULL, 0, NULL), 0);
}

static void names_are_those_of_the_rm(void **state)
{
    Yarn__ApplicationState s = 0;
    Yarn__NodeState n = 0;
    struct err err = ERR_INIT;

    (void)state;
    assert_string_equal(yarn_app_state_name(YARN__APPLICATION_STATE__APP_NEW_SAVING), "NEW_SAVING");
    assert_string_equal(yarn_final_status_name(0), "UNDEFINED");
    assert_string_equal(yarn_attempt_state_name(9), "FINISHING");
    assert_string_equal(yarn_node_state_name(7), "DECOMMISSIONING");
    assert_string_equal(yarn_app_state_name(0), "UNKNOWN");
    assert_string_equal(yarn_app_state_name((Yarn__ApplicationState)-5), "UNKNOWN");
    assert_string_equal(yarn_node_state_name((Yarn__NodeState)99), "UNKNOWN");
    assert_int_equal(yarn_app_state_parse("running", &s, NULL), 0);
    assert_int_equal(s, YARN__APPLICATION_STATE__APP_RUNNING);
    assert_int_equal(yarn_node_state_parse("LOST", &n, NULL), 0);
    assert_int_equal(yarn_app_state_parse("RUNING", &s, &err), -EINVAL);
    assert_string_equal(err.hint, "did you mean 'RUNNING'?");
    assert_true(yarn_app_state_final(YARN__APPLICATION_STATE__APP_KILLED));
    assert_false(yarn_app_state_final(YARN__APPLICATION_STATE__APP_RUNNING));
    assert_non_null(yarn_exit_text(-104));
    assert_null(yarn_exit_text(1));
}

static void resources_are_told_in_words(void **state)
{
    static const struct yarn_amount gpu = { "yarn.io/gpu", 2 };
    static const struct yarn_resource r = { 512, 1, &gpu, 1 };
    AUTO_MESSAGE Yarn__Resource *m = yarn_resource_new(&r);
    char text[64], tiny[8];

    (void)state;
    assert_non_null(m);
    assert_string_equal(yarn_resource_text(m, text, sizeof(text)), "512 MB, 1 core, 2 yarn.io/gpu");
    assert_string_equal(yarn_resource_text(NULL, text, sizeof(text)), "0 MB, 0 cores");
    assert_string_equal(yarn_resource_text(m, tiny, sizeof(tiny)), "512 MB,");
    assert_int_equal(yarn_amount_of(m, "vcores"), 1);
    assert_int_equal(yarn_amount_of(m, "yarn.io/gpu"), 2);
    assert_int_equal(yarn_amount_of(m, "x"), 0);
    assert_int_equal(yarn_amount_of(NULL, "x"), 0);
}

static void exceptions_inside_answers_become_errors(void **state)
{
    Yarn__SerializedException e = YARN__SERIALIZED_EXCEPTION__INIT;
    struct err err = ERR_INIT;

    (void)state;
    e.class_name = "org.apache.hadoop.yarn.exceptions.InvalidContainerException";
    e.message = "\nContainer x rejected as it is allocated by a previous RM\n\tat y";
    assert_int_equal(yarn_exception_err(&e, &err), -EINVAL);
    assert_string_equal(err.text, "InvalidContainerException: Container x rejected as it is "
                                  "allocated by a previous RM");
    assert_int_equal(yarn_exception_err(NULL, NULL), -EREMOTEIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_it_reaches_the_message),
        cmocka_unit_test(a_resource_has_the_bytes_that_were_captured),
        cmocka_unit_test(what_the_rm_would_answer_badly_is_refused_here),
        cmocka_unit_test(a_resource_the_cluster_lacks_is_not_dropped_in_silence),
        cmocka_unit_test(names_are_those_of_the_rm),
        cmocka_unit_test(resources_are_told_in_words),
        cmocka_unit_test(exceptions_inside_answers_become_errors),
    };

    return cmocka_run_group_tests_name("yarn submission", tests, NULL, NULL);
}
