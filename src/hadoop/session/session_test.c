/* session_test.c - claims about who a session says we are, and what it refuses. */
#include "base/str.h"
#include "hadoop/session/session.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct world {
    struct loop *loop;
    char dir[TEST_PATH];
};

static void write_file(const struct world *w, const char *name, const char *text)
{
    AUTO_FREE char *path = str_printf("%s/%s", w->dir, name);
    FILE *f = path ? fopen(path, "w") : NULL;

    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void set_security(const struct world *w, const char *authentication)
{
    AUTO_FREE char *text = str_printf("<configuration><property>"
                                      "<name>hadoop.security.authentication</name>"
                                      "<value>%s</value></property></configuration>",
                                      authentication);

    assert_non_null(text);
    write_file(w, "core-site.xml", text);
}

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof(*w));

    if (!mkdtemp(test_template(w->dir, "session_test")) || loop_new(&w->loop, NULL) < 0) {
        (void)rmdir(w->dir);
        free(w);
        return -1;
    }
    set_security(w, "simple");
    setenv("HADOOP_CONF_DIR", w->dir, 1);
    unsetenv("HADOOP_USER_NAME");
    unsetenv("HADOOP_PROXY_USER");
    unsetenv("HADOOP_TOKEN_FILE_LOCATION");
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    static const char *const names[] = { "core-site.xml", "tokens" };
    struct world *w = *state;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        AUTO_FREE char *path = str_printf("%s/%s", w->dir, names[i]);

        if (path)
            unlink(path);
    }
    rmdir(w->dir);
    loop_free(w->loop);
    free(w);
    return 0;
}

static void without_kerberos_the_environment_names_the_user(void **state)
{
    struct world *w = *state;
    struct session_options options = { 0 };
    AUTO_SESSION *s = NULL;

    setenv("HADOOP_USER_NAME", "alice", 1);
    assert_int_equal(session_new(w->loop, &options, &s, NULL), 0);
    assert_string_equal(session_user(s), "alice");
    assert_null(session_identity(s)->real_user);
    assert_false(session_secure(s));
}

/* Needs root, to be somebody else for a moment. */
static void without_variables_the_account_has_its_name(void **state)
{
    static const struct {
        const char *user, *logname, *want;
    } rows[] = { { NULL, NULL, "nobody" }, { "", "", "nobody" }, { NULL, "bob", "bob" } };
    const struct session_options options = { .conf_text = "<configuration/>" };
    struct world *w = *state;

    if (geteuid() != 0)
        skip();
    assert_int_equal(setresuid(65534, 65534, 0), 0);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_SESSION *s = NULL;

        (void)(rows[i].user ? setenv("USER", rows[i].user, 1) : unsetenv("USER"));
        (void)(rows[i].logname ? setenv("LOGNAME", rows[i].logname, 1) : unsetenv("LOGNAME"));
        assert_int_equal(session_new(w->loop, &options, &s, NULL), 0);
        assert_string_equal(session_user(s), rows[i].want);
    }
    assert_int_equal(setresuid(0, 0, 0), 0);
}

static void with_kerberos_a_claimed_name_does_not_count(void **state)
{
    struct world *w = *state;
    struct session_options options = { 0 };
    AUTO_SESSION *s = NULL;

    set_security(w, "kerberos");
    setenv("HADOOP_USER_NAME", "mallory", 1);
    assert_int_equal(session_new(w->loop, &options, &s, NULL), 0);
    assert_string_not_equal(session_user(s), "mallory");
    assert_true(session_secure(s));
}

static int whoami_ad(const struct rpc_identity *who, char **ret, int64_t *ret_seconds,
                     struct err *err)
{
    (void)who;
    (void)ret_seconds;
    *ret = strdup("Alice@AD");
    return *ret ? 0 : err_oom(err);
}

static int find_twice(void *arg)
{
    struct session *s = arg;
    int r = session_find_user(s, NULL);
    const char *before = session_user(s);

    if (r == 0)
        r = session_find_user(s, NULL);
    return r < 0 ? r : session_user(s) != before; /* who holds on to it can go on */
}

static void the_clusters_rules_make_a_name_of_the_ticket(void **state)
{
    static const struct rpc_kerberos fake = { .whoami = whoami_ad };
    const struct session_options options = {
        .kerberos = &fake,
        .conf_text = "<configuration><property><name>hadoop.security.authentication</name>"
                     "<value>kerberos</value></property><property>"
                     "<name>hadoop.security.auth_to_local</name>"
                     "<value>RULE:[1:$1@$0](.*@AD)s/@.*//L DEFAULT</value></property>"
                     "</configuration>",
    };
    struct world *w = *state;
    AUTO_SESSION *s = NULL;

    assert_int_equal(session_new(w->loop, &options, &s, NULL), 0);
    assert_int_equal(loop_run(w->loop, find_twice, s, false), 0);
    assert_string_equal(session_user(s), "alice");
}

static void a_proxy_user_is_seen_and_we_stand_behind(void **state)
{
    struct world *w = *state;
    struct session_options options = { .as_user = "bob" };
    AUTO_SESSION *s = NULL;

    setenv("HADOOP_USER_NAME", "alice", 1);
    assert_int_equal(session_new(w->loop, &options, &s, NULL), 0);
    assert_string_equal(session_identity(s)->user, "bob");
    assert_string_equal(session_identity(s)->real_user, "alice");
}

static void half_of_a_keytab_login_is_refused(void **state)
{
    struct world *w = *state;
    struct session_options options = { .principal = "alice" };
    struct err err = ERR_INIT;
    AUTO_SESSION *s = NULL;

    assert_int_equal(session_new(w->loop, &options, &s, &err), -EINVAL);
    assert_string_equal(err.text, "--principal and --keytab must be given together");
}

static void a_broken_token_file_is_named(void **state)
{
    struct world *w = *state;
    AUTO_FREE char *path = str_printf("%s/tokens", w->dir);
    struct session_options options = { 0 };
    struct err err = ERR_INIT;
    AUTO_SESSION *s = NULL;

    assert_non_null(path);
    write_file(w, "tokens", "HDTS");
    setenv("HADOOP_TOKEN_FILE_LOCATION", path, 1);
    assert_true(session_new(w->loop, &options, &s, &err) < 0);
    assert_non_null(strstr(err.text, path));
}

static void no_configuration_says_where_it_was_looked_for(void **state)
{
    struct world *w = *state;
    struct session_options options = { .conf_dir = "/nonexistent/conf" };
    struct err err = ERR_INIT;
    AUTO_SESSION *s = NULL;

    assert_int_equal(session_new(w->loop, &options, &s, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/nonexistent/conf"));
}

static void a_container_is_told_everything(void **state)
{
    static const char conf[] = "<configuration><property><name>fs.defaultFS</name>"
                               "<value>hdfs://told</value></property></configuration>";
    struct world *w = *state;
    AUTO_CREDENTIALS *tokens = NULL;
    struct session_options options = { .conf_text = conf, .user = "bob" };
    AUTO_SESSION *s = NULL;
    AUTO_FREE char *fs = NULL;
    size_t n = 0;

    setenv("HADOOP_CONF_DIR", "/no/such/directory", 1);
    setenv("HADOOP_USER_NAME", "alice", 1);
    setenv("HADOOP_TOKEN_FILE_LOCATION", "/no/such/file", 1);
    assert_int_equal(credentials_new(&tokens, NULL), 0);
    assert_int_equal(credentials_add_secret(tokens, "a", "b", 1, NULL), 0);
    options.credentials = tokens;
    assert_int_equal(session_new(w->loop, &options, &s, NULL), 0);
    assert_string_equal(session_user(s), "bob");
    assert_int_equal(conf_str(session_conf(s), "fs.defaultFS", &fs, NULL), 0);
    assert_string_equal(fs, "hdfs://told");
    credentials_remove_secret(tokens, "a"); /* the session has a copy */
    assert_null(credentials_secret(tokens, "a", &n));
    assert_non_null(credentials_secret(session_credentials(s), "a", &n));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_kerberos_the_environment_names_the_user, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(without_variables_the_account_has_its_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(with_kerberos_a_claimed_name_does_not_count, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_clusters_rules_make_a_name_of_the_ticket, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_proxy_user_is_seen_and_we_stand_behind, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(half_of_a_keytab_login_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_broken_token_file_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_configuration_says_where_it_was_looked_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_container_is_told_everything, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
