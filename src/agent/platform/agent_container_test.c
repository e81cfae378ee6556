/* agent_container_test.c - see agent_container.h */
#include "agent/platform/agent_container.h"
#include "base/path.h"
#include "test.h"

#include <string.h>

struct world {
    char dir[TEST_PATH];
    char *tokens, *logs;
};

static int write_tokens(const struct world *w, const char *address)
{
    AUTO_CREDENTIALS *c = NULL;
    struct yarn_boot b = { .job = (char *)"application_1_0001",
                           .base = (char *)"hdfs://ns/b",
                           .conf = (char *)"<configuration/>",
                           .address = (char *)address };

    return credentials_new(&c, NULL) < 0 || yarn_boot_add(&b, c, NULL) < 0 ||
                   credentials_save(c, w->tokens, NULL) < 0
               ? -1
               : 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;

    (void)path_remove(w->dir, NULL);
    free(w->tokens);
    free(w->logs);
    free(w);
    return 0;
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    if (!w)
        return -1;
    *state = w;
    w->tokens = test_dir(w->dir, "container") ? path_join(w->dir, "container_tokens") : NULL;
    w->logs = w->tokens ? str_printf("/no/such/disk, %s", w->dir) : NULL;
    if (!w->logs || write_tokens(w, "tcp:10.0.0.5:4000") < 0) {
        tear_down(state);
        return -1;
    }
    setenv("CONTAINER_ID", "container_e17_1_0001_01_000002", 1);
    setenv("NM_HOST", "node-3.example.com", 1);
    setenv("LOG_DIRS", w->logs, 1);
    setenv("HADOOP_TOKEN_FILE_LOCATION", w->tokens, 1);
    return 0;
}

static void everything_is_read_and_the_key_removed(void **state)
{
    struct world *w = *state;
    AUTO_CONTAINER c = { 0 };
    struct err err = ERR_INIT;

    assert_int_equal(agent_container_read(&c, &err), 0);
    assert_string_equal(c.id, "container_e17_1_0001_01_000002");
    assert_string_equal(c.node, "node-3.example.com");
    assert_string_equal(c.log_dir, w->dir); /* the other one cannot be written to */
    assert_string_equal(c.staging, "hdfs://ns/b/jobs/application_1_0001");
    assert_string_equal(c.boot.address, "tcp:10.0.0.5:4000");
    assert_int_equal(access(w->tokens, F_OK), -1);
}

static void outside_a_container_it_is_said(void **state)
{
    static const char *const names[] = { "CONTAINER_ID", "NM_HOST", "LOG_DIRS",
                                         "HADOOP_TOKEN_FILE_LOCATION" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_FREE char *was = strdup(getenv(names[i]));
        AUTO_CONTAINER c = { 0 };
        struct err err = ERR_INIT;

        assert_non_null(was);
        unsetenv(names[i]);
        assert_int_equal(agent_container_read(&c, &err), -ENOENT);
        assert_non_null(strstr(err.text, names[i]));
        setenv(names[i], was, 1);
    }
}

static void what_cannot_be_used_is_refused(void **state)
{
    struct world *w = *state;
    AUTO_CONTAINER odd = { 0 }, nobody = { 0 };
    struct err err = ERR_INIT;

    setenv("CONTAINER_ID", "container=1", 1);
    assert_int_equal(agent_container_read(&odd, &err), -EBADMSG);
    setenv("CONTAINER_ID", "container_1", 1);
    assert_int_equal(write_tokens(w, NULL), 0);
    assert_int_equal(agent_container_read(&nobody, &err), -EBADMSG);
    assert_int_equal(access(w->tokens, F_OK), 0); /* for who looks into it */
}

static void tasks_get_the_environment_without_yarns_leftovers(void **state)
{
    static const char *const from[] = { "PATH=/bin",
                                        "CONTAINER_ID=c",
                                        "NM_HOST=h",
                                        "NM_AUX_SERVICE_mapreduce_shuffle=AAA",
                                        "NMAP=mine",
                                        "PORT=8042",
                                        "PORTS=mine",
                                        "MALLOC_ARENA_MAX=",
                                        "JAVA_HOME=/java",
                                        "no variable",
                                        "HADOOP_TOKEN_FILE_LOCATION=/x",
                                        "_=/usr/bin/env",
                                        "__=mine",
                                        "PRELAUNCH_OUT=/x",
                                        NULL };
    static const char *const kept[] = { "PATH=/bin", "NMAP=mine", "PORTS=mine", "JAVA_HOME=/java",
                                        "__=mine" };
    const struct agent_container c = { 0 };
    AUTO_ENV e = { 0 };

    (void)state;
    assert_int_equal(agent_container_env(&c, (char *const *)from, &e), 0);
    assert_int_equal(e.n, COUNT_OF(kept));
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        assert_string_equal(e.v[i], kept[i]);
}

static void beside_the_client_a_directory_says_it(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *given = path_join(w->dir, AGENT_CONTAINER_CREDENTIALS);
    AUTO_FREE char *logs = path_join(w->dir, "logs");
    AUTO_FREE char *here = getcwd(NULL, 0);
    AUTO_CONTAINER c = { 0 };
    struct err err = ERR_INIT;

    assert_true(given && logs && here);
    assert_int_equal(rename(w->tokens, given), 0);
    unsetenv("CONTAINER_ID");
    assert_int_equal(agent_container_read_client(w->dir, &c, &err), 0);
    assert_true(c.client);
    assert_string_equal(c.id, "client_application_1_0001");
    assert_string_equal(c.dir, here);
    assert_string_equal(c.own, w->dir);
    assert_string_equal(c.log_dir, logs);
    assert_string_equal(c.boot.address, "tcp:10.0.0.5:4000");
    assert_int_equal(access(given, F_OK), -1);
}

static void beside_the_client_tasks_have_the_users_environment(void **state)
{
    static const char *const from[] = {
        "HOME=/home/me", "YDL_TRACE=rpc", "PORT=8042", "YDL_ON=yarn",
        "PWD=/home/me",  "YDL_MINE=1",    NULL
    };
    static const char *const kept[] = { "HOME=/home/me", "PORT=8042", "PWD=/home/me",
                                        "YDL_MINE=1" };
    const struct agent_container c = { .client = true };
    AUTO_ENV e = { 0 };

    (void)state;
    assert_int_equal(agent_container_env(&c, (char *const *)from, &e), 0);
    assert_int_equal(e.n, COUNT_OF(kept));
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        assert_string_equal(e.v[i], kept[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(everything_is_read_and_the_key_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(outside_a_container_it_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_cannot_be_used_is_refused, set_up, tear_down),
        cmocka_unit_test(tasks_get_the_environment_without_yarns_leftovers),
        cmocka_unit_test_setup_teardown(beside_the_client_a_directory_says_it, set_up, tear_down),
        cmocka_unit_test(beside_the_client_tasks_have_the_users_environment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
