/* credentials_test.c - see credentials.h. The files in testdata/ were written by Hadoop's own
 * Credentials class; their secrets are made up. */
#include "base/str.h"
#include "hadoop/token/credentials.h"
#include "hadoop/token/ident.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DATA YDL_SOURCE_DIR "/src/hadoop/token/testdata/"

static struct credentials *load(const char *path)
{
    struct credentials *c = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(credentials_load(path, &c, &err), 0);
    return c;
}

/* Adds a token whose identifier and password are what they are called. */
static int add(struct credentials *c, const char *alias, const char *kind, const char *service)
{
    const struct token t = { .id = (uint8_t *)"identifier",
                             .id_len = 10,
                             .password = (uint8_t *)"password",
                             .password_len = 8,
                             .kind = (char *)kind,
                             .service = (char *)service };
    struct err err = ERR_INIT;

    return credentials_add(c, alias, &t, &err);
}

static void both_formats_of_hadoop_are_read(void **state)
{
    static const char *const files[] = { DATA "v0.bin", DATA "v1.bin" };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        AUTO_CREDENTIALS *c = load(files[i]);
        const struct token *t;
        const char *alias;
        size_t n = 99;

        assert_int_equal(credentials_count(c), 3);
        t = credentials_find(c, KIND_HDFS, "ha-hdfs:ns");
        assert_non_null(t);
        assert_int_equal(t->id_len, 32);
        assert_int_equal(t->password_len, 20);
        assert_memory_equal(t->password, "dummy-hdfsdummy-hdfs", 20);
        t = credentials_find(c, KIND_AMRM, NULL);
        assert_non_null(t);
        assert_string_equal(t->service, "");
        assert_int_equal(t->id_len, 26);
        t = credentials_find(c, KIND_RM, NULL);
        assert_string_equal(t->service, "10.0.0.1:8032,10.0.0.2:8032");
        assert_null(credentials_find(c, KIND_HDFS, "ha-hdfs:other"));
        assert_null(credentials_find(c, "NMToken", NULL));
        for (size_t k = 0; k < 3; k++)
            if (credentials_at(c, k, &alias) == t)
                assert_string_equal(alias, "10.0.0.1:8032,10.0.0.2:8032");
        assert_memory_equal(credentials_secret(c, "my.secret", &n), "abc", 3);
        assert_int_equal(n, 3);
        assert_memory_equal(credentials_secret(c, "schl\xc3\xbcssel", &n), "\0\1\2\xff", 4);
        assert_int_equal(n, 4);
        assert_non_null(credentials_secret(c, "empty", &n));
        assert_int_equal(n, 0);
        assert_null(credentials_secret(c, "none", &n));
    }
}

static void what_is_written_is_what_hadoop_writes(void **state)
{
    AUTO_CREDENTIALS *c = load(DATA "v0.bin");
    AUTO_BUF b = { .max = 64 * KIB };
    struct err err = ERR_INIT;
    uint8_t file[512];
    FILE *f = fopen(DATA "v0.bin", "re");
    size_t n = f ? fread(file, 1, sizeof(file), f) : 0;

    (void)state;
    assert_non_null(f);
    fclose(f);
    assert_int_equal(credentials_write(c, &b, &err), 0);
    assert_int_equal(b.len, n);
    assert_memory_equal(b.data, file, n);
}

static void the_layout_is_the_documented_one(void **state)
{
    static const char expected[] = "4844545300"
                                   "01"
                                   "00"
                                   "0a6964656e746966696572"
                                   "0870617373776f7264"
                                   "105941524e5f414d5f524d5f544f4b454e"
                                   "00"
                                   "01"
                                   "096d792e736563726574"
                                   "03616263";
    AUTO_CREDENTIALS *c = NULL;
    AUTO_FREE char *hex = NULL;
    struct err err = ERR_INIT;
    AUTO_BUF b = { .max = 64 * KIB };

    (void)state;
    assert_int_equal(credentials_new(&c, &err), 0);
    assert_int_equal(add(c, "", KIND_AMRM, ""), 0);
    assert_int_equal(credentials_add_secret(c, "my.secret", "abc", 3, &err), 0);
    assert_int_equal(credentials_write(c, &b, &err), 0);
    assert_int_equal(str_hex(b.data, b.len, &hex), 0);
    assert_string_equal(hex, expected);
}

static void every_truncation_is_noticed(void **state)
{
    static const char *const files[] = { DATA "v0.bin", DATA "v1.bin" };
    uint8_t bytes[512];

    (void)state;
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        FILE *f = fopen(files[i], "re");
        size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

        assert_non_null(f);
        fclose(f);
        assert_true(n > 300);
        for (size_t cut = 0; cut < n; cut++) {
            AUTO_FREE uint8_t *exact = malloc(cut ? cut : 1);
            AUTO_CREDENTIALS *c = NULL;
            struct err err = ERR_INIT;
            char text[80];

            assert_non_null(exact);
            memcpy(exact, bytes, cut);
            assert_int_equal(credentials_parse(exact, cut, &c, &err), -EBADMSG);
            snprintf(text, sizeof(text), "credentials data is truncated at byte %zu", cut);
            assert_string_equal(err.text, text);
        }
    }
}

static void garbage_gets_a_sentence(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
        int r;
        const char *text;
    } rows[] = {
        { "hello, world", 12, -EBADMSG,
          "credentials data does not begin with HDTS: it is something else" },
        { "HDTS\x02...", 8, -EPROTONOSUPPORT, "credentials data has the unknown version 2" },
        { "HDTS\xff...", 8, -EPROTONOSUPPORT, "credentials data has the unknown version 255" },
        { "HDTS\0\xff", 6, -EBADMSG,
          "credentials data is damaged at byte 6: a number of entries that cannot be" },
        { "HDTS\0\x8c\x7f\xff\xff\xff", 10, -EBADMSG,
          "credentials data is damaged at byte 10: a number of entries that cannot be" },
        { "HDTS\0\1\xfe....", 11, -EBADMSG,
          "credentials data is damaged at byte 7: a length below zero" },
        { "HDTS\0\1\1a\xfe....", 13, -EBADMSG,
          "credentials data is damaged at byte 9: a length below zero" },
        { "HDTS\0\1\1a\x8c\x7f\xff\xff\xff...", 16, -EBADMSG,
          "credentials data is truncated at byte 16" },
        { "HDTS\0\1\2a\0\0\0\0\0\0", 14, -EBADMSG,
          "credentials data is damaged at byte 9: a NUL in a name" },
        { "HDTS\1\3\xff\xff\xff", 9, -EBADMSG,
          "credentials data is damaged at byte 6: not a list of tokens" },
        { "HDTS\1\x7f...", 9, -EBADMSG, "credentials data is truncated at byte 9" },
        { "HDTS\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", 15, -EBADMSG,
          "credentials data is truncated at byte 15" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CREDENTIALS *c = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(credentials_parse(rows[i].bytes, rows[i].n, &c, &err), rows[i].r);
        assert_string_equal(err.text, rows[i].text);
        assert_null(c);
    }
}

static void an_alias_is_there_once(void **state)
{
    AUTO_CREDENTIALS *c = NULL, *other = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;

    (void)state;
    assert_int_equal(credentials_new(&c, &err), 0);
    assert_int_equal(credentials_new(&other, &err), 0);
    assert_int_equal(add(c, "a", "K1", "s1"), 0);
    assert_int_equal(add(c, "b", "K2", "s2"), 0);
    assert_int_equal(add(c, "a", "K3", "s3"), 0);
    assert_int_equal(add(c, NULL, "K2", "s4"), 0);
    assert_int_equal(credentials_add_secret(c, "x", "1", 1, &err), 0);
    assert_int_equal(credentials_add_secret(c, "x", "22", 2, &err), 0);
    assert_int_equal(credentials_count(c), 3);
    assert_null(credentials_find(c, "K1", NULL));
    assert_string_equal(credentials_find(c, "K2", NULL)->service, "s2");
    assert_string_equal(credentials_find(c, "K2", "s4")->service, "s4");
    assert_memory_equal(credentials_secret(c, "x", &n), "22", 2);

    assert_int_equal(credentials_copy(other, c, (const char *const[]){ "K3", NULL }, &err), 0);
    assert_int_equal(credentials_count(other), 2);
    assert_null(credentials_find(other, "K3", NULL));
    assert_non_null(credentials_secret(other, "x", &n));
    assert_int_equal(credentials_copy(other, c, NULL, &err), 0);
    assert_int_equal(credentials_count(other), 3);
}

static void there_is_an_end_to_how_many(void **state)
{
    AUTO_CREDENTIALS *c = NULL;
    struct err err = ERR_INIT;
    int r = 0, n = 0;

    (void)state;
    assert_int_equal(credentials_new(&c, &err), 0);
    while (r == 0 && n < 5000) {
        char alias[16];

        snprintf(alias, sizeof(alias), "%d", n++);
        r = credentials_add_secret(c, alias, "", 0, &err);
    }
    assert_int_equal(r, -E2BIG);
    assert_int_equal(n, 4097);
    assert_string_equal(err.text, "more than 4096 tokens or secrets");
}

static void a_file_is_private_and_whole(void **state)
{
    char dir[TEST_PATH];
    AUTO_FREE char *path = NULL;
    AUTO_CREDENTIALS *c = load(DATA "v1.bin"), *again = NULL;
    struct err err = ERR_INIT;
    struct stat st;

    (void)state;
    assert_non_null(mkdtemp(test_template(dir, "credentials_test")));
    path = str_printf("%s/tokens", dir);
    assert_non_null(path);
    umask(0);
    assert_int_equal(credentials_save(c, path, &err), 0);
    assert_int_equal(credentials_save(c, path, &err), 0); /* over an old one */
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(credentials_load(path, &again, &err), 0);
    assert_int_equal(credentials_count(again), 3);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(dir), 0); /* nothing else was left in it */
    assert_int_equal(credentials_save(c, path, &err), -ENOENT);
    assert_non_null(strstr(err.text, "cannot create credentials file '"));
}

static void a_file_that_cannot_be_read_is_named(void **state)
{
    AUTO_CREDENTIALS *c = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(credentials_load("/no/such", &c, &err), -ENOENT);
    assert_string_equal(err.text,
                        "cannot read credentials file '/no/such': No such file or directory");
    assert_int_equal(credentials_load("/dev/null", &c, &err), -EINVAL);
    assert_string_equal(err.text, "credentials file '/dev/null' is not a regular file");
    assert_int_equal(credentials_load(DATA "hdfs.id", &c, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "testdata/hdfs.id' does not begin with HDTS"));
}

static void a_ceiling_of_the_callers_is_kept(void **state)
{
    AUTO_CREDENTIALS *c = load(DATA "v0.bin");
    struct err err = ERR_INIT;
    AUTO_BUF b = { .max = 100 };

    (void)state;
    assert_int_equal(credentials_write(c, &b, &err), -E2BIG);
    assert_string_equal(err.text, "credentials are larger than 100 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_formats_of_hadoop_are_read),
        cmocka_unit_test(what_is_written_is_what_hadoop_writes),
        cmocka_unit_test(the_layout_is_the_documented_one),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(garbage_gets_a_sentence),
        cmocka_unit_test(an_alias_is_there_once),
        cmocka_unit_test(there_is_an_end_to_how_many),
        cmocka_unit_test(a_file_is_private_and_whole),
        cmocka_unit_test(a_file_that_cannot_be_read_is_named),
        cmocka_unit_test(a_ceiling_of_the_callers_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
