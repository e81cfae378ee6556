/* conf_test.c - finding and loading configuration directories; see conf.h */
#include "hadoop/conf/conf.h"
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* A directory of its own for every test, emptied afterwards. */
struct dir {
    char path[TEST_PATH];
    struct strs files;
};

static int make_dir(void **state)
{
    struct dir *d = calloc(1, sizeof(*d));

    *state = d;
    return d && mkdtemp(test_template(d->path, "conf_test")) ? 0 : -1;
}

static int remove_dir(void **state)
{
    struct dir *d = *state;

    if (!d)
        return 0;
    for (size_t i = d->files.n; i > 0; i--)
        (void)remove(d->files.v[i - 1]);
    (void)rmdir(d->path);
    strs_done(&d->files);
    free(d);
    return 0;
}

static void put(struct dir *d, const char *name, const char *text)
{
    char *path = str_printf("%s/%s", d->path, name);
    FILE *f;

    assert_non_null(text);
    assert_non_null(path);
    f = fopen(path, "we");
    assert_int_equal(strs_take(&d->files, path), 0);
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void put_sub(struct dir *d, const char *name)
{
    char *path = str_printf("%s/%s", d->path, name);

    assert_non_null(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(strs_take(&d->files, path), 0);
}

#define CONF(inner)                                                                                \
    "<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n" inner "</configuration>\n"
#define PROP(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"
#define FINAL(name, value)                                                                         \
    "<property><name>" name "</name><value>" value "</value><final>true</final></property>\n"
#define INCLUDE(href) "<xi:include href=\"" href "\"/>\n"

static void assert_value(const struct conf *c, const char *key, const char *expected)
{
    AUTO_FREE char *value = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(conf_str(c, key, &value, &err), 0);
    if (expected)
        assert_string_equal(value, expected);
    else
        assert_null(value);
}

static void later_files_win_unless_earlier_ones_are_final(void **state)
{
    struct dir *d = *state;
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;

    put(d, "core-site.xml", CONF(PROP("a", "core") FINAL("b", "core") PROP("c", "core")));
    put(d, "hdfs-site.xml", CONF(PROP("a", "hdfs") PROP("b", "hdfs") FINAL("b", "hdfs2")));
    put(d, "yarn-site.xml", CONF(PROP("a", "yarn") PROP("b", "yarn")));
    put(d, "resource-types.xml", CONF(PROP("yarn.resource-types", "yarn.io/gpu")));
    put(d, "mapred-site.xml", CONF(PROP("c", "mapred")));
    assert_int_equal(conf_load(d->path, &c, &err), 0);
    assert_value(c, "a", "yarn");
    assert_value(c, "b", "core");
    assert_value(c, "c", "core");
    assert_value(c, "yarn.resource-types", "yarn.io/gpu");
    assert_string_equal(conf_dir(c), d->path);
}

static void one_file_of_the_three_is_enough(void **state)
{
    struct dir *d = *state;
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;
    char text[256];

    put(d, "resource-types.xml", CONF(""));
    snprintf(text, sizeof(text), "'%s' has no core-site.xml, hdfs-site.xml or yarn-site.xml",
             d->path);
    assert_int_equal(conf_load(d->path, &c, &err), -ENOENT);
    assert_string_equal(err.text, text);
    assert_non_null(strstr(err.hint, "HADOOP_CONF_DIR"));
    put(d, "yarn-site.xml", CONF(PROP("a", "1")));
    assert_int_equal(conf_load(d->path, &c, &err), 0);
    assert_value(c, "a", "1");
}

static void a_file_that_cannot_be_read_is_an_error(void **state)
{
    struct dir *d = *state;
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;
    char text[256];

    put(d, "core-site.xml", CONF(""));
    put_sub(d, "hdfs-site.xml");
    assert_int_equal(conf_load(d->path, &c, &err), -EINVAL);
    snprintf(text, sizeof(text), "cannot read '%s/hdfs-site.xml': not a regular file", d->path);
    assert_string_equal(err.text, text);
    assert_int_equal(conf_load("/no/such/dir", &c, &err), -ENOENT);
    assert_string_equal(err.text,
                        "configuration directory '/no/such/dir': No such file or directory");
}

static void a_broken_file_is_named_with_line_and_column(void **state)
{
    struct dir *d = *state;
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;
    char text[256];

    put(d, "core-site.xml", CONF(""));
    put(d, "yarn-site.xml", "<configuration>\n<property>\n</configuration>\n");
    assert_int_equal(conf_load(d->path, &c, &err), -EBADMSG);
    snprintf(text, sizeof(text), "%s/yarn-site.xml:3:3: mismatched tag", d->path);
    assert_string_equal(err.text, text);
}

static void included_files_stand_where_they_are_included(void **state)
{
    struct dir *d = *state;
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;
    int64_t v;

    put_sub(d, "sub");
    put(d, "core-site.xml",
        CONF(PROP("a", "1") PROP("b", "1") INCLUDE("sub/inc.xml") PROP("b", "3")));
    put(d, "sub/inc.xml",
        CONF(PROP("a", "2") PROP("b", "2") INCLUDE("both.xml") INCLUDE("beside.xml")
                 FINAL("n", "x")));
    put(d, "both.xml", CONF(PROP("both", "dir")));
    put(d, "sub/both.xml", CONF(PROP("both", "sub")));
    put(d, "sub/beside.xml", CONF(PROP("beside", "yes")));
    assert_int_equal(conf_load(d->path, &c, &err), 0);
    assert_value(c, "a", "2");
    assert_value(c, "b", "3");
    assert_value(c, "both", "dir"); /* the configuration directory comes first, as in Hadoop */
    assert_value(c, "beside", "yes");
    assert_int_equal(conf_int(c, "n", &v, &err), -EINVAL);
    assert_string_equal(err.text, "sub/inc.xml:6: 'n' is 'x', not a number");
}

static void an_absolute_include_and_a_file_url_work(void **state)
{
    struct dir *d = *state;
    AUTO_FREE char *xml =
        str_printf(CONF(INCLUDE("%s/a.xml") INCLUDE("file://%s/b.xml")), d->path, d->path);
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;

    put(d, "core-site.xml", xml);
    put(d, "a.xml", CONF(PROP("a", "1")));
    put(d, "b.xml", CONF(PROP("b", "1")));
    assert_int_equal(conf_load(d->path, &c, &err), 0);
    assert_value(c, "a", "1");
    assert_value(c, "b", "1");
}

static void includes_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *inner;
        int r;
        const char *text;
    } rows[] = {
        { INCLUDE("core-site.xml"), -ELOOP, "includes itself" },
        { INCLUDE("other.xml"), -ELOOP, "includes itself" },
        { INCLUDE("http://conf.example.com/x.xml"), -EPROTONOSUPPORT,
          "/core-site.xml:2: cannot include 'http://conf.example.com/x.xml': only files can be "
          "included" },
        { INCLUDE("jar:file:/x!/y.xml"), -EPROTONOSUPPORT, "only files can be included" },
        { INCLUDE("file://host/x.xml"), -EINVAL, "not a plain file: URL" },
        { INCLUDE("none.xml"), -ENOENT,
          "/core-site.xml:2: there is no file, and no fallback, for the included 'none.xml'" },
        { INCLUDE("deep0.xml"), -ELOOP, "files include each other more than 16 deep" },
        { INCLUDE("wide0.xml"), -E2BIG, "more than 200 files are included" },
    };
    struct dir *d = *state;
    AUTO_CONF *c = NULL;

    put(d, "other.xml", CONF(INCLUDE("core-site.xml")));
    for (int i = 0; i < 20; i++) {
        AUTO_FREE char *deep = str_printf("deep%d.xml", i), *wide = str_printf("wide%d.xml", i);
        AUTO_FREE char *one = str_printf(CONF(INCLUDE("deep%d.xml")), i + 1);
        AUTO_FREE char *two =
            i < 9 ? str_printf(CONF(INCLUDE("wide%d.xml") INCLUDE("wide%d.xml")), i + 1, i + 1)
                  : strdup(CONF(""));

        put(d, deep, one);
        put(d, wide, two);
    }
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *xml = str_printf(
            "<configuration xmlns:xi=\"http://www.w3.org/2001/XInclude\">\n%s</configuration>",
            rows[i].inner);
        struct err err = ERR_INIT;

        put(d, "core-site.xml", xml);
        assert_int_equal(conf_load(d->path, &c, &err), rows[i].r);
        assert_non_null(strstr(err.text, rows[i].text));
    }
}

static void too_many_settings_are_refused(void **state)
{
    struct dir *d = *state;
    AUTO_FREE char *path = str_printf("%s/core-site.xml", d->path);
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;
    FILE *f;

    put(d, "core-site.xml", "<configuration>");
    assert_non_null(path);
    f = fopen(path, "ae");
    assert_non_null(f);
    for (int i = 0; i < 100001; i++)
        fprintf(f, "<property name='k%d' value='v'/>\n", i);
    fputs("</configuration>", f);
    fclose(f);
    assert_int_equal(conf_load(d->path, &c, &err), -E2BIG);
    assert_string_equal(err.text, "core-site.xml:100001: more than 100000 settings");
}

static void a_file_of_more_than_16_mib_is_refused(void **state)
{
    struct dir *d = *state;
    AUTO_FREE char *path = str_printf("%s/core-site.xml", d->path);
    AUTO_CONF *c = NULL;
    struct err err = ERR_INIT;

    assert_non_null(path);
    put(d, "core-site.xml", CONF(""));
    assert_int_equal(truncate(path, (16 << 20) + 5), 0);
    assert_int_equal(conf_load(d->path, &c, &err), -E2BIG);
    assert_non_null(strstr(err.text, "larger than 16 MiB"));
}

static void the_directory_is_looked_for_in_order(void **state)
{
    struct dir *d = *state;
    AUTO_FREE char *found = NULL, *home = NULL, *yarn = NULL, *etc = NULL;
    struct err err = ERR_INIT;

    unsetenv("HADOOP_CONF_DIR");
    unsetenv("YARN_CONF_DIR");
    unsetenv("HADOOP_HOME");
    if (access("/etc/hadoop/conf", F_OK) < 0) {
        assert_int_equal(conf_find_dir(NULL, &found, &err), -ENOENT);
        assert_string_equal(err.text, "no Hadoop configuration: looked at --conf (not given), "
                                      "HADOOP_CONF_DIR (not set), YARN_CONF_DIR (not set), "
                                      "HADOOP_HOME (not set), '/etc/hadoop/conf' (no such "
                                      "directory)");
    }
    put_sub(d, "etc");
    put_sub(d, "etc/hadoop");
    put_sub(d, "yarn");
    home = str_printf("%s/etc/hadoop", d->path);
    yarn = str_printf("%s/yarn", d->path);
    etc = str_printf("%s/etc", d->path);
    assert_true(home && yarn && etc);
    setenv("HADOOP_HOME", d->path, 1);
    assert_int_equal(conf_find_dir(NULL, &found, &err), 0);
    assert_string_equal(found, home);
    free(take(found));
    setenv("YARN_CONF_DIR", yarn, 1);
    assert_int_equal(conf_find_dir(NULL, &found, &err), 0);
    assert_string_equal(found, yarn);
    free(take(found));
    setenv("HADOOP_CONF_DIR", "/no/such", 1);
    assert_int_equal(conf_find_dir(NULL, &found, &err), -ENOENT);
    assert_string_equal(err.text, "configuration directory '/no/such', named by HADOOP_CONF_DIR: "
                                  "No such file or directory");
    assert_int_equal(conf_find_dir(etc, &found, &err), 0);
    assert_string_equal(found, etc);
    assert_int_equal(conf_find_dir("/dev/null", &found, &err), -ENOTDIR);
}

int main(void)
{
#define IN_DIR(test) cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        IN_DIR(later_files_win_unless_earlier_ones_are_final),
        IN_DIR(one_file_of_the_three_is_enough),
        IN_DIR(a_file_that_cannot_be_read_is_an_error),
        IN_DIR(a_broken_file_is_named_with_line_and_column),
        IN_DIR(included_files_stand_where_they_are_included),
        IN_DIR(an_absolute_include_and_a_file_url_work),
        IN_DIR(includes_that_cannot_be_are_refused),
        IN_DIR(too_many_settings_are_refused),
        IN_DIR(a_file_of_more_than_16_mib_is_refused),
        IN_DIR(the_directory_is_looked_for_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
