/* launch_context_test.c - claims about launch_context.h, with a real bash at the end. */
#include "base/buf.h"
#include "base/str.h"
#include "hadoop/yarn/launch_context.h"
#include "test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

static Yarn__ContainerLaunchContext *fresh(void)
{
    Yarn__ContainerLaunchContext *c = yarn_launch_new();

    assert_non_null(c);
    return c;
}

/* ---- what a NodeManager does with the text, with a real bash at the end ---- */

static void replace(struct buf *b, const char *from, const char *to)
{
    AUTO_BUF out = { .max = MIB };
    const char *p, *at;

    assert_non_null(buf_text(b));
    for (p = buf_text(b); (at = strstr(p, from)) != NULL; p = at + strlen(from)) {
        assert_int_equal(buf_add(&out, p, (size_t)(at - p)), 0);
        assert_int_equal(buf_add_str(&out, to), 0);
    }
    assert_int_equal(buf_add_str(&out, p), 0);
    buf_reset(b);
    assert_int_equal(buf_add(b, out.data, out.len), 0);
}

static void replace_markers(struct buf *b)
{
    replace(b, "<LOG_DIR>", "/the/log dir");
    replace(b, "<CPS>", ":");
    replace(b, "<ADD_OPENS>", "--opens");
    replace(b, "{{", "$");
    replace(b, "}}", "");
}

static void run_bash(struct buf *script, struct buf *out)
{
    int to[2], from[2], status;
    pid_t pid;
    ssize_t n;
    uint8_t *room;

    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        execl("/bin/bash", "bash", "-s", NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    assert_int_equal(write(to[1], script->data, script->len), script->len);
    close(to[1]);
    do {
        assert_int_equal(buf_room(out, 4096, &room), 0);
        n = read(from[0], room, 4096);
        out->len += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    close(from[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static const char *const nasty[] = {
    "plain",
    "",
    "two words",
    "it's",
    "'",
    "''",
    "\"quoted\"",
    "$HOME ${HOME} $(id) $$ $1",
    "`id`",
    "back\\slash \\$ \\\\ \\\" \\n",
    "ends in \\",
    "a;b & c | d > /dev/null < x",
    "{{PWD}} {{{ }}} }} {",
    "<LOG_DIR> <CPS> <ADD_OPENS> <<LOG_DIR>> <",
    "!history! #comment ~ * ? [a] (b)",
    "line\nfeed\ttab",
    "\xc3\xa9\xe2\x82\xac",
    "-n",
    "'\\''$'\\x41'",
};

static void every_value_arrives_as_it_is(void **state)
{
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = fresh();
    AUTO_BUF script = { .max = MIB };
    AUTO_BUF out = { .max = MIB };
    size_t at = 0;

    (void)state;
    assert_int_equal(buf_add_str(&script, "set -o pipefail -e\n"), 0);
    for (size_t i = 0; i < COUNT_OF(nasty); i++) {
        AUTO_BUF value = { .max = MIB };

        assert_int_equal(yarn_launch_env(c, "V_1", nasty[i], NULL), 0);
        assert_int_equal(buf_add_str(&value, c->environment[i]->value), 0);
        replace_markers(&value);
        assert_non_null(buf_text(&value));
        assert_int_equal(
            buf_printf(&script, "export V_1=\"%s\"\nprintf '%%s\\0' \"$V_1\"\n", buf_text(&value)),
            0);
    }
    run_bash(&script, &out);
    for (size_t i = 0; i < COUNT_OF(nasty); i++) {
        assert_string_equal((char *)out.data + at, nasty[i]);
        at += strlen(nasty[i]) + 1;
    }
}

static void a_command_is_shell_text_with_live_markers(void **state)
{
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = fresh();

    (void)state;
    assert_int_equal(yarn_launch_script(c, "exec ./run \"$HOME\" 1><LOG_DIR>/stdout", NULL), 0);
    assert_string_equal(c->command[0], "exec ./run \\\"\\$HOME\\\" 1><LOG_DIR>/stdout");
}

static void names_that_bash_cannot_export_are_refused(void **state)
{
    static const char *const bad[] = { "", "1A", "A-B", "A B", "A=B", "A\n", "\xc3\xa9", "a$" };
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = fresh();

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(yarn_launch_env(c, bad[i], "x", NULL), -EINVAL);
    assert_int_equal(c->n_environment, 0);
}

/* ---- files ---- */

static void a_url_always_has_a_port(void **state)
{
    static const struct {
        const char *text, *scheme, *user, *host;
        int32_t port;
        const char *file;
    } rows[] = {
        { "hdfs://ns/a/b", "hdfs", "", "ns", -1, "/a/b" },
        { "hdfs://nn.example:8020/a b%20", "hdfs", "", "nn.example", 8020, "/a b%20" },
        { "file:///tmp/x", "file", "", "", -1, "/tmp/x" },
        { "viewfs://c@d:1/", "viewfs", "c", "d", 1, "/" },
        { "hdfs://[::1]:8020/x", "hdfs", "", "[::1]", 8020, "/x" },
        { "hdfs://[fe80::1]/x:y", "hdfs", "", "[fe80::1]", -1, "/x:y" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_MESSAGE Yarn__StringLocalResourceMap *m = NULL;
        struct yarn_file file = { .url = rows[i].text };
        const Yarn__Url *u;

        assert_int_equal(yarn_file_resource("x", &file, &m, NULL), 0);
        u = m->value->url;
        assert_string_equal(u->scheme, rows[i].scheme);
        assert_string_equal(u->user_info ? u->user_info : "", rows[i].user);
        assert_string_equal(u->host ? u->host : "", rows[i].host);
        assert_true(u->has_port);
        assert_int_equal(u->port, rows[i].port);
        assert_string_equal(u->file, rows[i].file);
    }
}

static void what_is_no_url_is_refused(void **state)
{
    static const char *const bad[] = { "",
                                       "/a",
                                       "hdfs:/a",
                                       "://h/a",
                                       "hdfs://ns",
                                       "hdfs://h:/a",
                                       "hdfs://h:0/a",
                                       "hdfs://h:x/a",
                                       "hdfs://h:65536/a" };
    Yarn__StringLocalResourceMap *m = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct yarn_file file = { .url = bad[i] };

        assert_int_equal(yarn_file_resource("x", &file, &m, NULL), -EINVAL);
    }
    assert_null(m);
}

static void names_that_the_launch_script_would_run_are_refused(void **state)
{
    static const char *const bad_names[] = {
        "",    "/abs", "..",   "a/../b", "../x",  "*",     "a\"b",
        "a$b", "a`b",  "a\\b", "a\nb",   "a b/c", "a;b/c",
    };
    static const char *const good_names[] = { "x", "a b", "a..b", "..a", "dir/x", "env", "a'b" };
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = fresh();
    struct yarn_file file = { .url = "hdfs://ns/x", .timestamp = 5 };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(bad_names); i++)
        assert_int_equal(yarn_launch_file(c, bad_names[i], &file, NULL), -EINVAL);
    for (size_t i = 0; i < COUNT_OF(good_names); i++)
        assert_int_equal(yarn_launch_file(c, good_names[i], &file, NULL), 0);
    assert_int_equal(yarn_launch_file(c, "x", &file, NULL), -EEXIST);
    file.url = "hdfs://ns/a$b";
    assert_int_equal(yarn_launch_file(c, "y", &file, NULL), -EINVAL);
    file.url = "hdfs://ns/a$b/c";
    assert_int_equal(yarn_launch_file(c, "y", &file, NULL), 0);
}

/* Otherwise NodeManagers make one link only. */
static void a_file_under_two_names_is_two_files_to_yarn(void **state)
{
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = fresh();
    struct yarn_file file = { .url = "hdfs://ns/x", .timestamp = 5 };

    (void)state;
    assert_int_equal(yarn_launch_file(c, "a", &file, NULL), 0);
    assert_int_equal(yarn_launch_file(c, "b", &file, NULL), 0);
    file.timestamp = 6;
    assert_int_equal(yarn_launch_file(c, "c", &file, NULL), 0);
    file.url = "hdfs://ns/y";
    assert_int_equal(yarn_launch_file(c, "d", &file, NULL), 0);
    assert_null(c->local_resources[0]->value->pattern);
    assert_string_equal(c->local_resources[1]->value->pattern, "b");
    assert_null(c->local_resources[2]->value->pattern);
    assert_null(c->local_resources[3]->value->pattern);
}

/* ---- bytes ---- */

static void a_context_has_the_bytes_that_were_captured(void **state)
{
    /* One variable and one command, as a NodeManager accepted them. */
    static const char golden[] = "22410a064e505f4f555412372f646174612f6c61622f6e61746976652d70726f"
                                 "746f2f742f6170706c69636174696f6e5f313739343731383638323636355f30"
                                 "3037352a07736c6565702031";
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = fresh();
    AUTO_FREE char *hex = NULL;
    uint8_t packed[256];
    size_t n;

    (void)state;
    assert_int_equal(yarn_launch_env(c, "NP_OUT",
                                     "/data/lab/native-proto/t/application_1794718682665_0075",
                                     NULL),
                     0);
    assert_int_equal(yarn_launch_script(c, "sleep 1", NULL), 0);
    n = yarn__container_launch_context__pack(c, packed);
    assert_int_equal(str_hex(packed, n, &hex), 0);
    assert_string_equal(hex, golden);
}

static void all_other_parts_are_carried(void **state)
{
    static const int32_t codes[] = { 7, 9 };
    struct yarn_retry retry = { .policy = YARN__CONTAINER_RETRY_POLICY__RETRY_ON_SPECIFIC_ERRORS,
                                .codes = codes,
                                .n_codes = 2,
                                .max = 3,
                                .interval_ms = 500 };
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = fresh();
    AUTO_MESSAGE Yarn__ContainerLaunchContext *copy = NULL;
    struct yarn_file file = { .url = "file:///a.tgz", .size = 3, .timestamp = 4, .archive = true };

    (void)state;
    assert_int_equal(yarn_launch_tokens(c, "HDTS\0\0\0", 7, NULL), 0);
    assert_int_equal(yarn_launch_tokens(c, "x", 1, NULL), -EEXIST);
    assert_int_equal(
        yarn_launch_acl(c, YARN__APPLICATION_ACCESS_TYPE__ACCESS_VIEW_APP, "bob ", NULL), 0);
    assert_int_equal(yarn_launch_retry(c, &retry, NULL), 0);
    assert_int_equal(yarn_launch_retry(c, &retry, NULL), 0);
    assert_int_equal(yarn_launch_file(c, "env", &file, NULL), 0);
    copy = message_copy(c);
    assert_non_null(copy);
    assert_int_equal(copy->tokens.len, 7);
    assert_string_equal(copy->application_acls[0]->acl, "bob ");
    assert_int_equal(copy->retry_context->error_codes[1], 9);
    assert_int_equal(copy->retry_context->failures_validity_interval, -1);
    assert_int_equal(copy->local_resources[0]->value->type,
                     YARN__LOCAL_RESOURCE_TYPE__RESOURCE_ARCHIVE);
    assert_int_equal(copy->local_resources[0]->value->visibility,
                     YARN__LOCAL_RESOURCE_VISIBILITY__VISIBLE_APPLICATION);
    assert_int_equal(copy->local_resources[0]->value->url->port, -1);
}

static void text_beyond_reason_is_refused(void **state)
{
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = fresh();
    AUTO_FREE char *long_text = calloc(1, 200 * KIB);
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(long_text);
    memset(long_text, 'x', 200 * KIB - 1);
    assert_int_equal(yarn_launch_script(c, long_text, &err), -E2BIG);
    assert_string_equal(err.text, "a word of the command is longer than 131072 bytes");
    assert_int_equal(yarn_launch_env(c, "A", long_text, NULL), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_arrives_as_it_is),
        cmocka_unit_test(a_command_is_shell_text_with_live_markers),
        cmocka_unit_test(names_that_bash_cannot_export_are_refused),
        cmocka_unit_test(a_url_always_has_a_port),
        cmocka_unit_test(what_is_no_url_is_refused),
        cmocka_unit_test(names_that_the_launch_script_would_run_are_refused),
        cmocka_unit_test(a_file_under_two_names_is_two_files_to_yarn),
        cmocka_unit_test(a_context_has_the_bytes_that_were_captured),
        cmocka_unit_test(all_other_parts_are_carried),
        cmocka_unit_test(text_beyond_reason_is_refused),
    };

    return cmocka_run_group_tests_name("yarn launch", tests, NULL, NULL);
}
