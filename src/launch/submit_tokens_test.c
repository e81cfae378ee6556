/* submit_tokens_test.c - where a job's things are; tokens themselves need a cluster. See
 * submit_tokens.h */
#include "hadoop/sasl/sasl.h"
#include "launch/submit_tokens.h"
#include "test.h"

#include <string.h>

static void every_place_in_hdfs_counts_once(void **state)
{
    static const char job[] =
        "files: [a.py, /abs, file:///x, hdfs://n1/f, hdfs://n1/f: again, s3a://b/x]\n"
        "archives: [viewfs://c/a.tgz]\n"
        "output: {out/: hdfs:///o, b: /plain, c: hdfs://n2/o}\n"
        "tensorboard: hdfs://n3/tb\n"
        "roles: {w: {files: [hdfs://n4/g, local], archives: [hdfs://n5/e.zip]}}\n";
    static const char *const expected[] = {
        "/",           "hdfs://n0/.ydl", "hdfs://n1/f", "viewfs://c/a.tgz", "hdfs:///o",
        "hdfs://n2/o", "hdfs://n3/tb",   "hdfs://n4/g", "hdfs://n5/e.zip"
    };
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_STRS places = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&s);
    assert_int_equal(spec_parse("j", job, strlen(job), &s, &f), 0);
    assert_int_equal(deploy_places(&s, "hdfs://n0/.ydl", &places, &err), 0);
    assert_int_equal(places.n, COUNT_OF(expected));
    for (size_t i = 0; i < places.n; i++)
        assert_string_equal(places.v[i], expected[i]);
}

static void a_job_that_names_nothing_still_has_the_default(void **state)
{
    AUTO_SPEC s = { 0 };
    AUTO_STRS places = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&s);
    assert_int_equal(deploy_places(&s, NULL, &places, &err), 0);
    assert_int_equal(places.n, 1);
    assert_string_equal(places.v[0], "/");
}

/* The identifier of a delegation token: version, owner, renewer, real user, issued, expires,
 * sequence, key; numbers as Hadoop packs them. */
static int add_token(struct credentials *c, const char *kind, const char *service, uint8_t life)
{
    uint8_t id[] = { 0, 1, 'a', 2, 'r', 'm', 0, 100, life, 1, 1 };
    const struct token t = { .id = id,
                             .id_len = sizeof(id),
                             .password = id,
                             .password_len = 1,
                             .kind = (char *)kind,
                             .service = (char *)service };

    return credentials_add(c, service, &t, NULL);
}

static void tokens_live_as_long_as_the_first_that_ends(void **state)
{
    AUTO_CREDENTIALS *c = NULL;

    (void)state;
    assert_int_equal(credentials_new(&c, NULL), 0);
    assert_int_equal(deploy_tokens_life(c), 0);
    assert_int_equal(add_token(c, "RM_DELEGATION_TOKEN", "rm", 101), 0);
    assert_int_equal(deploy_tokens_life(c), 0); /* not for HDFS */
    assert_int_equal(add_token(c, "HDFS_DELEGATION_TOKEN", "n1", 127), 0);
    assert_int_equal(deploy_tokens_life(c), 27);
    assert_int_equal(add_token(c, "HDFS_DELEGATION_TOKEN", "n2", 120), 0);
    assert_int_equal(deploy_tokens_life(c), 20);
}

static void sending_a_keytab_is_warned_of_where_somebody_could_read_it(void **state)
{
    static const struct {
        unsigned mode, qops;
        bool file, network;
    } rows[] = {
        { 0100600, SASL_QOP_BIT(SASL_CONF), false, false },
        { 0100640, SASL_QOP_BIT(SASL_CONF), true, false },
        { 0100600, SASL_QOP_BIT(SASL_AUTH), false, true },
        { 0100600, SASL_QOP_BIT(SASL_INT), false, true },
        { 0100644, SASL_QOP_ANY, true, true },
        { 0100600, 0, false, true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *note = NULL;

        assert_int_equal(deploy_keytab_warn("k", rows[i].mode, rows[i].qops, &note, NULL), 0);
        assert_int_equal(note && strstr(note, "others can read the keytab 'k'"), rows[i].file);
        assert_int_equal(note && strstr(note, "hadoop.rpc.protection is not 'privacy'"),
                         rows[i].network);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sending_a_keytab_is_warned_of_where_somebody_could_read_it),
        cmocka_unit_test(every_place_in_hdfs_counts_once),
        cmocka_unit_test(a_job_that_names_nothing_still_has_the_default),
        cmocka_unit_test(tokens_live_as_long_as_the_first_that_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
