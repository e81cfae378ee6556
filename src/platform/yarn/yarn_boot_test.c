/* yarn_boot_test.c - see yarn_boot.h */
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"
#include "hadoop/token/ident.h"
#include "platform/yarn/yarn_boot.h"
#include "test.h"

#include <string.h>

/* One letter shorter, and jansson overruns its buffer when it cannot grow it for the last quote. */
#define JOB "application_1700000000000_12345"
#define KEY "0123456789abcdef0123456789abcdef"

static struct yarn_boot sample(void)
{
    struct yarn_boot b = { .job = (char *)JOB,
                           .base = (char *)"hdfs://ns/user/me/.ydl",
                           .user = (char *)"me",
                           .conf = (char *)"<configuration a='\"'>\n</configuration>",
                           .address = (char *)"tcp:10.0.0.5:40123" };

    memcpy(b.key.key, KEY, STREAM_KEY);
    return b;
}

static struct credentials *empty(void)
{
    struct credentials *c = NULL;

    assert_int_equal(credentials_new(&c, NULL), 0);
    return c;
}

static void what_is_added_is_what_is_read(void **state)
{
    const struct yarn_boot b = sample();
    AUTO_YARN_BOOT got = { 0 };
    AUTO_CREDENTIALS *c = empty();
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(yarn_boot_add(&b, c, &err), 0);
    assert_int_equal(yarn_boot_read(c, &got, &err), 0);
    assert_string_equal(got.job, b.job);
    assert_string_equal(got.base, b.base);
    assert_string_equal(got.user, b.user);
    assert_string_equal(got.conf, b.conf);
    assert_string_equal(got.address, b.address);
    assert_string_equal(got.key.identity, b.job);
    assert_memory_equal(got.key.key, KEY, STREAM_KEY);
}

static void address_and_user_may_be_missing(void **state)
{
    struct yarn_boot b = sample();
    AUTO_YARN_BOOT got = { 0 };
    AUTO_CREDENTIALS *c = empty();

    (void)state;
    b.address = b.user = NULL;
    assert_int_equal(yarn_boot_add(&b, c, NULL), 0);
    assert_int_equal(yarn_boot_read(c, &got, NULL), 0);
    assert_null(got.address);
    assert_null(got.user);
}

static void credentials_without_a_job_are_not_ours(void **state)
{
    AUTO_YARN_BOOT got = { 0 };
    AUTO_CREDENTIALS *c = empty();
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(yarn_boot_read(c, &got, &err), -ENOKEY);
    assert_int_equal(credentials_add_secret(c, YARN_BOOT_KEY, KEY, STREAM_KEY, NULL), 0);
    assert_int_equal(yarn_boot_read(c, &got, &err), -ENOKEY);
}

static void broken_facts_are_refused(void **state)
{
    static const struct {
        const char *facts;
        size_t key;
    } rows[] = {
        { "{\"job\":\"a\",\"base\":\"b\",\"conf\":\"c\"}", STREAM_KEY - 1 },
        { "{\"job\":\"a\",\"base\":\"b\",\"conf\":\"c\"}", 0 },
        { "{\"job\":\"a\",\"base\":\"b\",\"conf\":\"c\"", STREAM_KEY },
        { "", STREAM_KEY },
        { "[]", STREAM_KEY },
        { "{\"job\":\"a\",\"base\":\"b\"}", STREAM_KEY },
        { "{\"job\":1,\"base\":\"b\",\"conf\":\"c\"}", STREAM_KEY },
        { "{\"job\":\"\",\"base\":\"b\",\"conf\":\"c\"}", STREAM_KEY },
        { "{\"job\":\"..\",\"base\":\"b\",\"conf\":\"c\"}", STREAM_KEY },
        { "{\"job\":\"a/b\",\"base\":\"b\",\"conf\":\"c\"}", STREAM_KEY },
        { "{\"job\":\"a\",\"base\":\"b\",\"conf\":\"c\",\"address\":7}", STREAM_KEY },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_YARN_BOOT got = { 0 };
        AUTO_CREDENTIALS *c = empty();

        assert_int_equal(credentials_add_secret(c, YARN_BOOT_KEY, KEY, rows[i].key, NULL), 0);
        assert_int_equal(
            credentials_add_secret(c, YARN_BOOT_FACTS, rows[i].facts, strlen(rows[i].facts), NULL),
            0);
        assert_int_equal(yarn_boot_read(c, &got, NULL), -EBADMSG);
    }
}

static void an_id_too_long_for_a_key_is_refused(void **state)
{
    struct yarn_boot b = sample();
    AUTO_CREDENTIALS *c = empty();
    AUTO_FREE char *id = str_printf("%0200d", 1);

    (void)state;
    b.job = id;
    assert_non_null(id);
    assert_int_equal(yarn_boot_add(&b, c, NULL), -EBADMSG);
}

static void add_token(struct credentials *c, const char *kind)
{
    const struct token t = { .id = (uint8_t *)"i",
                             .id_len = 1,
                             .password = (uint8_t *)"p",
                             .password_len = 1,
                             .kind = (char *)kind,
                             .service = (char *)"s" };

    assert_int_equal(credentials_add(c, kind, &t, NULL), 0);
}

static void a_task_gets_the_tokens_but_neither_key_nor_amrm_token(void **state)
{
    const struct yarn_boot b = sample();
    AUTO_CREDENTIALS *c = empty();
    AUTO_CREDENTIALS *got = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;

    (void)state;
    add_token(c, KIND_AMRM);
    add_token(c, KIND_HDFS);
    add_token(c, KIND_RM);
    assert_int_equal(credentials_add_secret(c, "theirs", "x", 1, &err), 0);
    assert_int_equal(yarn_boot_add(&b, c, &err), 0);
    assert_int_equal(yarn_boot_strip(c, &got, &err), 0);
    assert_int_equal(credentials_count(got), 2);
    assert_null(credentials_find(got, KIND_AMRM, NULL));
    assert_non_null(credentials_find(got, KIND_HDFS, NULL));
    assert_null(credentials_secret(got, YARN_BOOT_KEY, &n));
    assert_null(credentials_secret(got, YARN_BOOT_FACTS, &n));
    assert_non_null(credentials_secret(got, "theirs", &n));
    assert_non_null(credentials_secret(c, YARN_BOOT_KEY, &n)); /* the original is as it was */
}

static void homes_are_where_the_header_says(void **state)
{
    static const struct {
        enum yarn_home what;
        const char *job, *name, *path;
    } rows[] = {
        { YARN_HOME_JOBS, NULL, NULL, "hdfs://ns/b/jobs" },
        { YARN_HOME_JOBS, "app", NULL, "hdfs://ns/b/jobs/app" },
        { YARN_HOME_JOBS, "app", "key", "hdfs://ns/b/jobs/app/key" },
        { YARN_HOME_LOGS, "app", "job.json", "hdfs://ns/b/logs/app/job.json" },
        { YARN_HOME_CACHE, "hash", "a.tgz", "hdfs://ns/b/cache/hash/a.tgz" },
        { YARN_HOME_OUT, "app", NULL, "hdfs://ns/b/out/app" },
        { YARN_HOME_MODELS, "id", NULL, "hdfs://ns/b/models/id" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *p = yarn_home("hdfs://ns/b", rows[i].what, rows[i].job, rows[i].name);

        assert_non_null(p);
        assert_string_equal(p, rows[i].path);
    }
}

static void the_clients_agent_is_called_after_its_job(void **state)
{
    AUTO_FREE char *name = yarn_boot_client("application_1_0001");

    (void)state;
    assert_non_null(name);
    assert_string_equal(name, "client_application_1_0001");
}

/* As `text` says it, with a key. */
static int read_facts(const void *text, size_t n, struct yarn_boot *ret, struct err *err)
{
    AUTO_CREDENTIALS *c = empty();

    assert_int_equal(credentials_add_secret(c, YARN_BOOT_FACTS, text, n, NULL), 0);
    assert_int_equal(credentials_add_secret(c, YARN_BOOT_KEY, KEY, STREAM_KEY, NULL), 0);
    return yarn_boot_read(c, ret, err);
}

/* Without a number it is of version 1. */
static void the_number_is_looked_at(void **state)
{
    static const char golden[] = YDL_SOURCE_DIR "/test/golden/0.1.0-5c3a05b/boot.json";
    static const char later[] = "{\"format\": 2, \"whatever\": 1}";
    AUTO_BUF text = { .max = 4 * KIB };
    AUTO_YARN_BOOT got = { 0 };
    AUTO_YARN_BOOT none = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(path_read(golden, &text, &err), 0);
    assert_int_equal(read_facts(text.data, text.len, &got, &err), 0);
    assert_string_equal(got.job, "application_1794962330713_0001");
    assert_string_equal(got.user, "alice");
    assert_string_equal(got.address, "tcp:127.0.0.11:42001");
    assert_int_equal(read_facts(later, sizeof(later) - 1, &none, &err), -EPROTONOSUPPORT);
    assert_string_equal(err.text, "credentials: the job's boot document: version 2 is newer than "
                                  "this ydl understands (1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_added_is_what_is_read),
        cmocka_unit_test(address_and_user_may_be_missing),
        cmocka_unit_test(credentials_without_a_job_are_not_ours),
        cmocka_unit_test(broken_facts_are_refused),
        cmocka_unit_test(an_id_too_long_for_a_key_is_refused),
        cmocka_unit_test(a_task_gets_the_tokens_but_neither_key_nor_amrm_token),
        cmocka_unit_test(homes_are_where_the_header_says),
        cmocka_unit_test(the_clients_agent_is_called_after_its_job),
        cmocka_unit_test(the_number_is_looked_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
