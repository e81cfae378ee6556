/* yarn_image_test.c - see yarn_image.h */
#include "base/buf.h"
#include "base/str.h"
#include "platform/yarn/yarn_image.h"
#include "test.h"

#include <string.h>

static const char *variable(const Yarn__ContainerLaunchContext *c, const char *name)
{
    for (size_t i = 0; i < c->n_environment; i++)
        if (str_eq(c->environment[i]->key, name))
            return c->environment[i]->value;
    return NULL;
}

static void who_runs_images_is_asked_of_the_job_and_then_of_the_cluster(void **state)
{
    static const struct {
        enum spec_image_by by;
        const char *runtimes;
        bool yarn;
    } rows[] = {
        { SPEC_IMAGE_BY_AUTO, "", false },
        { SPEC_IMAGE_BY_AUTO, "default", false },
        { SPEC_IMAGE_BY_AUTO, "default,docker", true },
        { SPEC_IMAGE_BY_AUTO, " docker , default", true },
        { SPEC_IMAGE_BY_AUTO, "default,dockerish", false },
        { SPEC_IMAGE_BY_YARN, "default", true },
        { SPEC_IMAGE_BY_AGENT, "default,docker", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = str_printf(
            "<configuration><property><name>yarn.nodemanager.runtime.linux.allowed-runtimes</name>"
            "<value>%s</value></property></configuration>",
            rows[i].runtimes);
        AUTO_CONF *c = NULL;
        struct spec s = { .image_by = rows[i].by };
        bool yarn = !rows[i].yarn;

        assert_non_null(text);
        assert_int_equal(conf_parse("x", text, strlen(text), &c, NULL), 0);
        assert_int_equal(yarn_image_by_yarn(&s, c, &yarn, NULL), 0);
        assert_int_equal(yarn, rows[i].yarn);
    }
}

static void the_runtime_is_told_image_network_and_mounts(void **state)
{
    char *mounts[] = { (char *)"/a:/b", (char *)"/c:/d:ro", (char *)"/e:/f:rw", NULL };
    struct spec s = { .image = (char *)"job:1", .mounts = { .v = mounts, .n = 3 } };
    struct spec_role role = { .image = (char *)"role:1" };
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = yarn_launch_new();

    (void)state;
    assert_non_null(c);
    assert_int_equal(yarn_image_launch(&s, &role, c, NULL), 0);
    assert_string_equal(variable(c, "YARN_CONTAINER_RUNTIME_TYPE"), "docker");
    assert_string_equal(variable(c, "YARN_CONTAINER_RUNTIME_DOCKER_IMAGE"), "role:1");
    assert_string_equal(variable(c, "YARN_CONTAINER_RUNTIME_DOCKER_CONTAINER_NETWORK"), "host");
    assert_string_equal(variable(c, "YARN_CONTAINER_RUNTIME_DOCKER_MOUNTS"),
                        "/a:/b:rw,/c:/d:ro,/e:/f:rw");
}

static void a_role_without_an_image_is_left_alone(void **state)
{
    struct spec s = { 0 };
    struct spec_role role = { 0 };
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = yarn_launch_new();

    (void)state;
    assert_non_null(c);
    assert_int_equal(yarn_image_launch(&s, &role, c, NULL), 0);
    assert_int_equal(c->n_environment, 0);
}

static void a_container_that_never_was_is_told_by_its_image(void **state)
{
    static const struct {
        const char *image;
        int32_t status;
        const char *diagnostics, *text;
        enum fail_class cls; /* FAIL_NONE: it is something else */
    } rows[] = {
        { NULL, 7, "", "known", FAIL_NONE },
        { "i:1", 137, "", "known", FAIL_NONE },
        { "i:1", 7, "docker: Error response from daemon: no such image.\nmore",
          "YARN could not run the image 'i:1': no such image.", FAIL_IMAGE },
        { "i:1", 7, NULL, "YARN could not run the image 'i:1': known", FAIL_START },
        { "i:1", 7, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock.",
          "YARN could not run the image 'i:1': known", FAIL_START },
        { "i:1", 29,
          "Unable to find image 'i:1' locally\ndocker: Error response from daemon: pull "
          "access denied for i, repository does not exist.\n",
          "YARN could not run the image 'i:1': pull access denied for i, repository does not "
          "exist.",
          FAIL_IMAGE },
        { "i:1", 125,
          "docker: Error response from daemon: manifest for i:1 not found: manifest "
          "unknown.",
          "YARN could not run the image 'i:1': manifest for i:1 not found: manifest unknown.",
          FAIL_IMAGE },
        { "i:1", -1, "image: i:1 is not trusted.", "YARN could not run the image 'i:1': known",
          FAIL_IMAGE },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char text[200] = "known";

        assert_int_equal(yarn_image_failed(rows[i].image, rows[i].status, rows[i].diagnostics, text,
                                           sizeof(text)),
                         rows[i].cls);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_runs_images_is_asked_of_the_job_and_then_of_the_cluster),
        cmocka_unit_test(the_runtime_is_told_image_network_and_mounts),
        cmocka_unit_test(a_role_without_an_image_is_left_alone),
        cmocka_unit_test(a_container_that_never_was_is_told_by_its_image),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
