/* keytab_test.c - what a helper answers, and when it is asked; see keytab.h */
#include "base/path.h"
#include "hadoop/token/ident.h"
#include "master/yarn/keytab.h"
#include "platform/yarn/yarn_keytab.h"
#include "test.h"

#include <string.h>
#include <sys/stat.h>

/* Owner a, renewer rm; issued and ending at small numbers, each one byte. */
static void add_token(struct credentials *c, const char *kind, const char *service, uint8_t issued,
                      uint8_t ends)
{
    uint8_t id[] = { 0, 1, 'a', 2, 'r', 'm', 0, issued, ends, 1, 1 };
    const struct token t = { .id = id,
                             .id_len = sizeof(id),
                             .password = id,
                             .password_len = 1,
                             .kind = (char *)kind,
                             .service = (char *)service };

    assert_int_equal(credentials_add(c, service, &t, NULL), 0);
}

static void tokens_are_replaced_when_three_quarters_of_the_first_have_passed(void **state)
{
    AUTO_CREDENTIALS *c = NULL;

    (void)state;
    assert_int_equal(credentials_new(&c, NULL), 0);
    assert_true(keytab_due(c) == INT64_MAX);
    add_token(c, KIND_RM, "rm", 1, 5);
    assert_true(keytab_due(c) == INT64_MAX); /* not for HDFS */
    add_token(c, KIND_HDFS, "n1", 20, 120);
    assert_int_equal(keytab_due(c), 95);
    add_token(c, KIND_HDFS, "n2", 20, 60);
    assert_int_equal(keytab_due(c), 50);
}

static void pauses_grow_but_not_past_what_tokens_live(void **state)
{
    static const struct {
        unsigned failures;
        int64_t span, expected;
    } rows[] = {
        { 1, 0, 1000 },     { 2, 0, 2000 },     { 5, 0, 16000 },     { 99, 0, 600000 },
        { 1, 30000, 1000 }, { 3, 30000, 3750 }, { 99, 30000, 3750 }, { 99, 86400000, 600000 },
        { 99, 4000, 1000 }, { 1, 4000, 1000 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(keytab_pause(rows[i].failures, rows[i].span), rows[i].expected);
}

static void an_answer_is_a_time_and_tokens(void **state)
{
    AUTO_CREDENTIALS *c = NULL;
    AUTO_CREDENTIALS *got = NULL;
    AUTO_BUF text = { .max = MIB };
    struct err err = ERR_INIT;
    int64_t ms = 0;

    (void)state;
    assert_int_equal(credentials_new(&c, NULL), 0);
    add_token(c, KIND_HDFS, "n1", 1, 2);
    assert_int_equal(buf_add_str(&text, "30000\n"), 0);
    assert_int_equal(credentials_write(c, &text, &err), 0);
    assert_int_equal(keytab_answer(text.data, text.len, &got, &ms, &err), 0);
    assert_int_equal(ms, 30000);
    assert_non_null(credentials_find(got, KIND_HDFS, "n1"));
}

static void other_answers_are_refused(void **state)
{
#define NO_TOKENS "HDTS\0\0\0"
#define ROW(text)                                                                                  \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
    static const struct {
        const char *text;
        size_t n;
    } rows[] = {
        ROW(""),
        ROW("30000"),
        ROW("x\n" NO_TOKENS),
        ROW("0\n" NO_TOKENS),
        ROW("-1\n" NO_TOKENS),
        ROW("9999999999999999999999999999\n" NO_TOKENS),
        ROW("30000\n"),
        ROW("30000\nHDTS"),
        ROW("30000\nJUNK\0\0\0"),
    };
#undef ROW
#undef NO_TOKENS

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CREDENTIALS *got = NULL;
        struct err err = ERR_INIT;
        int64_t ms = 0;

        assert_int_equal(keytab_answer(rows[i].text, rows[i].n, &got, &ms, &err), -EBADMSG);
        assert_null(got);
    }
}

static void a_complaint_becomes_one_sentence_and_its_hint(void **state)
{
    static const struct {
        const char *said;
        int status;
        const char *text, *hint;
    } rows[] = {
        { "ydl: Kerberos: no library\n  hint: install it\n", 69 << 8, "Kerberos: no library",
          "install it" },
        { "./ydl-helper: version `GLIBC_2.99' not found\nmore\n", 1 << 8,
          "./ydl-helper: version `GLIBC_2.99' not found", "" },
        { "", 7 << 8, "the helper ended with code 7", "" },
        { "\n", 9, "the helper was ended by signal 9", "" },
        { "no end of line", 1 << 8, "no end of line", "" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct err err = ERR_INIT;

        keytab_complaint(rows[i].said, rows[i].status, &err);
        assert_string_equal(err.text, rows[i].text);
        assert_string_equal(err.hint, rows[i].hint);
    }
}

/* ---- the helper itself: a script here ---- */

/* A container's directory with a keytab in it; we are in it from then on. */
struct place {
    char name[TEST_PATH];
    struct yarn_boot boot;
};

static int enter(void **state)
{
    AUTO_FREE struct place *p = calloc(1, sizeof(*p));
    AUTO_YARN_KEYTAB k = { 0 };
    AUTO_BUF sealed = { .max = YARN_KEYTAB_SEALED_MAX };

    yarn_keytab_init(&k);
    k.principal = strdup("alice@EXAMPLE.COM");
    if (!p || !k.principal || !test_dir(p->name, "keytab") || chdir(p->name) < 0)
        return -1;
    p->boot.job = (char *)"application_1_0001";
    p->boot.conf = (char *)"<conf/>";
    memcpy(p->boot.key.identity, p->boot.job, strlen(p->boot.job) + 1);
    if (mkdir("run", 0700) < 0 || strs_add(&k.places, "hdfs://ns/") < 0 ||
        buf_add(&k.keytab, "secret", 6) < 0 ||
        yarn_keytab_seal(&k, &p->boot.key, &sealed, NULL) < 0 ||
        path_write_new(YARN_KEYTAB_FILE, sealed.data, sealed.len, 0600, NULL) < 0)
        return -1;
    *state = take(p);
    return 0;
}

static int leave(void **state)
{
    AUTO_FREE struct place *p = *state;

    return chdir("/") < 0 ? -1 : path_remove(p->name, NULL);
}

static void put_helper(const char *script)
{
    assert_int_equal(path_write_new(YARN_KEYTAB_HELPER, script, strlen(script), 0700, NULL), 0);
}

struct get {
    struct loop *loop;
    struct keytab *keytab;
    struct credentials *tokens;
    int64_t ms;
    struct err err;
};

static int run_get(void *arg)
{
    struct get *g = arg;

    return keytab_get(g->loop, g->keytab, &g->tokens, &g->ms, &g->err);
}

/* What came of it, on a fiber; `g` needs get_done(). */
static int get(const struct place *p, struct get *g)
{
    int r = loop_new(&g->loop, &g->err);

    if (r == 0)
        r = keytab_open(&p->boot, "run", &g->keytab, &g->err);
    return r < 0 ? r : loop_run(g->loop, run_get, g, false);
}

static void get_done(struct get *g)
{
    credentials_free(g->tokens);
    keytab_free(g->keytab);
    loop_free(g->loop);
}

static inline void auto_get_(struct get *g)
{
    get_done(g);
}

static void a_helper_has_the_keytab_and_nothing_that_says_who_we_are(void **state)
{
    AUTO(get) struct get g = { 0 };

    assert_int_equal(setenv("HADOOP_TOKEN_FILE_LOCATION", "/x", 1), 0);
    put_helper("#!/bin/sh\n"
               "[ \"$(cat /proc/self/fd/0)\" = secret ] || { echo no keytab >&2; exit 1; }\n"
               "[ -z \"$HADOOP_TOKEN_FILE_LOCATION\" ] || { echo who >&2; exit 1; }\n"
               "[ \"$*\" = 'tokens --conf run/conf --keytab /proc/self/fd/0 --principal "
               "alice@EXAMPLE.COM -- hdfs://ns/' ] || { echo \"$*\" >&2; exit 1; }\n"
               "[ \"$(cat run/conf/core-site.xml)\" = '<conf/>' ] || { echo conf >&2; exit 1; }\n"
               "printf '5000\\nHDTS\\000\\000\\000'\n");
    if (get(*state, &g) < 0)
        fail_msg("%s", g.err.text);
    assert_int_equal(g.ms, 5000);
    assert_int_equal(credentials_count(g.tokens), 0);
}

static void a_helper_that_cannot_run_is_told_of(void **state)
{
    static const struct {
        const char *script, *text;
    } rows[] = {
        { NULL, "No such file or directory" },
        { "#!/bin/sh\necho 'ydl: no libgssapi' >&2; exit 1\n", "keytab: no libgssapi" },
        { "#!/bin/sh\nkill -9 $$\n", "ended by signal 9" },
        { "#!/bin/sh\nexit 0\n", "no beginning" },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO(get) struct get g = { 0 };

        (void)unlink(YARN_KEYTAB_HELPER);
        assert_int_equal(path_remove("run/conf", NULL), 0);
        if (rows[i].script)
            put_helper(rows[i].script);
        assert_true(get(*state, &g) < 0);
        if (!strstr(g.err.text, "newer tokens cannot be got with the job's keytab") ||
            !strstr(g.err.text, rows[i].text))
            fail_msg("%s", g.err.text);
        assert_null(g.tokens);
    }
}

static void a_job_without_a_keytab_has_none(void **state)
{
    const struct place *p = *state;
    struct keytab *k = NULL;

    assert_int_equal(unlink(YARN_KEYTAB_FILE), 0);
    assert_int_equal(keytab_open(&p->boot, "run", &k, NULL), 0);
    assert_null(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_helper_has_the_keytab_and_nothing_that_says_who_we_are,
                                        enter, leave),
        cmocka_unit_test_setup_teardown(a_helper_that_cannot_run_is_told_of, enter, leave),
        cmocka_unit_test_setup_teardown(a_job_without_a_keytab_has_none, enter, leave),
        cmocka_unit_test(tokens_are_replaced_when_three_quarters_of_the_first_have_passed),
        cmocka_unit_test(pauses_grow_but_not_past_what_tokens_live),
        cmocka_unit_test(an_answer_is_a_time_and_tokens),
        cmocka_unit_test(other_answers_are_refused),
        cmocka_unit_test(a_complaint_becomes_one_sentence_and_its_hint),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
