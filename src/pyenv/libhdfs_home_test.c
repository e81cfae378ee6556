/* libhdfs_home_test.c - see libhdfs_home.h */
#include "base/path.h"
#include "pyenv/libhdfs_home.h"
#include "test.h"

#include <string.h>

struct rig {
    char dir[TEST_PATH];
    struct strs vars; /* "NAME=value" */
};

static int make(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));

    *state = rig;
    return rig && test_dir(rig->dir, "hadoop") ? 0 : -1;
}

static int unmake(void **state)
{
    struct rig *rig = *state;
    int r = path_remove(rig->dir, NULL);

    strs_done(&rig->vars);
    free(rig);
    return r;
}

static void put(const struct rig *rig, const char *name)
{
    AUTO_FREE char *path = path_join(rig->dir, name);
    AUTO_FREE char *dir = path ? path_dir(path) : NULL;

    assert_true(path && dir);
    assert_int_equal(path_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(path_write_new(path, "", 0, 0600, NULL), 0);
}

static void put_all(const struct rig *rig, const char *const *names)
{
    for (; *names; names++)
        put(rig, *names);
}

/* A variable that names a place in the directory. */
static void say(struct rig *rig, const char *name, const char *place)
{
    assert_int_equal(strs_take(&rig->vars, str_printf("%s=%s/%s", name, rig->dir, place)), 0);
}

static const char *get(void *arg, const char *name)
{
    const struct strs *vars = arg;
    size_t n = strlen(name);

    for (size_t i = 0; i < vars->n; i++)
        if (strncmp(vars->v[i], name, n) == 0 && vars->v[i][n] == '=')
            return vars->v[i] + n + 1;
    return NULL;
}

static struct hadoop_env env_of(struct rig *rig)
{
    return (struct hadoop_env){ get, &rig->vars, rig->dir };
}

/* Every appearance of the directory's name is cut out, so that texts can be compared. */
static char *short_of(const struct rig *rig, const char *text)
{
    char *out = strdup(text), *p = out;
    size_t n = strlen(rig->dir);

    while (p && (p = strstr(p, rig->dir)))
        memmove(p, p + n, strlen(p + n) + 1);
    return out;
}

static void check(const struct rig *rig, const struct strs *got, const char *name, const char *want)
{
    const char *text = get((void *)got, name);
    AUTO_FREE char *cut = text ? short_of(rig, text) : NULL;

    if (!text || !want)
        assert_null(want ? want : text);
    else
        assert_string_equal(cut, want);
}

static void what_apache_packs_is_found(void **state)
{
    static const char *const files[] = { "jdk/lib/server/libjvm.so",
                                         "h/share/hadoop/common/hadoop-common-3.4.jar",
                                         "h/share/hadoop/common/hadoop-common-3.4-tests.jar",
                                         "h/share/hadoop/common/lib/guava.jar",
                                         "h/share/hadoop/hdfs/hadoop-hdfs-3.4.jar",
                                         "h/share/hadoop/hdfs/readme",
                                         "h/etc/hadoop/core-site.xml",
                                         "h/lib/native/libhdfs.so",
                                         NULL };
    struct rig *rig = *state;
    const struct hadoop_env e = env_of(rig);
    AUTO_HADOOP_HOME h = { 0 };
    AUTO_STRS got = { 0 };

    put_all(rig, files);
    say(rig, "JAVA_HOME", "jdk");
    say(rig, "HADOOP_COMMON_HOME", "h");
    assert_int_equal(hadoop_home_find(&e, &h), 0);
    assert_null(hadoop_home_missing(&h));
    assert_int_equal(hadoop_home_vars(&h, &e, &got), 0);
    check(rig, &got, "JAVA_HOME", NULL); /* it is said already */
    check(rig, &got, "HADOOP_HOME", "/h");
    check(rig, &got, "HADOOP_HDFS_HOME", "/h");
    check(rig, &got, "HADOOP_CONF_DIR", "/h/etc/hadoop");
    check(rig, &got, "LIBHDFS_OPTS", "-Xmx128m");
    check(rig, &got, "LD_LIBRARY_PATH", "/h/lib/native:/jdk/lib/server");
    check(rig, &got, "CLASSPATH",
          "/h/etc/hadoop:/h/share/hadoop/common/lib/guava.jar:"
          "/h/share/hadoop/common/hadoop-common-3.4.jar:/h/share/hadoop/hdfs/hadoop-hdfs-3.4.jar");
}

static void what_a_distribution_spreads_out_is_found(void **state)
{
    static const char *const files[] = { "usr/lib/jvm/default-java/jre/lib/amd64/server/libjvm.so",
                                         "usr/lib/hadoop/hadoop-common.jar",
                                         "usr/lib/hadoop/lib/guava.jar",
                                         "usr/lib/hadoop-hdfs/hadoop-hdfs.jar",
                                         "etc/hadoop/conf/core-site.xml",
                                         "usr/lib64/libhdfs.so",
                                         NULL };
    struct rig *rig = *state;
    const struct hadoop_env e = env_of(rig);
    AUTO_HADOOP_HOME h = { 0 };
    AUTO_STRS got = { 0 };

    put_all(rig, files);
    assert_int_equal(hadoop_home_find(&e, &h), 0);
    assert_null(hadoop_home_missing(&h));
    assert_int_equal(hadoop_home_vars(&h, &e, &got), 0);
    check(rig, &got, "HADOOP_HDFS_HOME", "/usr/lib/hadoop/../hadoop-hdfs");
    check(rig, &got, "CLASSPATH",
          "/etc/hadoop/conf:/usr/lib/hadoop/lib/guava.jar:/usr/lib/hadoop/hadoop-common.jar:"
          "/usr/lib/hadoop/../hadoop-hdfs/hadoop-hdfs.jar");
}

static void what_the_job_says_stands_first(void **state)
{
    static const char *const files[] = { "jdk/lib/server/libjvm.so", "h/a.jar", "h/lib/libhdfs.so",
                                         NULL };
    struct rig *rig = *state;
    const struct hadoop_env e = env_of(rig);
    AUTO_HADOOP_HOME h = { 0 };
    AUTO_STRS got = { 0 };

    put_all(rig, files);
    say(rig, "JAVA_HOME", "jdk");
    say(rig, "HADOOP_HOME", "h");
    say(rig, "CLASSPATH", "mine.jar");
    say(rig, "LD_LIBRARY_PATH", "jdk/lib/server");
    say(rig, "DMLC_HDFS_OPTS", "x");
    assert_int_equal(hadoop_home_find(&e, &h), 0);
    assert_int_equal(hadoop_home_vars(&h, &e, &got), 0);
    check(rig, &got, "HADOOP_HOME", NULL);
    check(rig, &got, "LIBHDFS_OPTS", "/x");
    check(rig, &got, "LD_LIBRARY_PATH", "/jdk/lib/server:/h/lib");
    check(rig, &got, "CLASSPATH", "/mine.jar:/h/a.jar");
}

static void what_is_missing_is_named(void **state)
{
    static const struct {
        const char *file, *variable, *place, *missing;
    } steps[] = {
        { "x", "X", "", "JAVA_HOME" },
        { "jdk/lib/server/libjvm.so", "JAVA_HOME", "jdk", "HADOOP_HOME" },
        { "h/share/hadoop/common/c.jar", "HADOOP_HOME", "h", "HADOOP_HDFS_HOME" },
        { "h/share/hadoop/hdfs/h.jar", "X", "", "libhdfs.so" },
        { "h/lib/native/libhdfs.so", "X", "", NULL },
    };
    struct rig *rig = *state;
    const struct hadoop_env e = env_of(rig);

    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        AUTO_HADOOP_HOME h = { 0 };
        const char *text;

        put(rig, steps[i].file);
        say(rig, steps[i].variable, steps[i].place);
        assert_int_equal(hadoop_home_find(&e, &h), 0);
        text = hadoop_home_missing(&h);
        assert_int_equal(text == NULL, steps[i].missing == NULL);
        if (text)
            assert_non_null(strstr(text, steps[i].missing));
    }
}

static void nothing_there_sets_nothing(void **state)
{
    struct rig *rig = *state;
    const struct hadoop_env e = env_of(rig);
    AUTO_HADOOP_HOME h = { 0 };
    AUTO_STRS got = { 0 };

    assert_int_equal(hadoop_home_find(&e, &h), 0);
    assert_int_equal(hadoop_home_vars(&h, &e, &got), 0);
    assert_int_equal(got.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_apache_packs_is_found, make, unmake),
        cmocka_unit_test_setup_teardown(what_a_distribution_spreads_out_is_found, make, unmake),
        cmocka_unit_test_setup_teardown(what_the_job_says_stands_first, make, unmake),
        cmocka_unit_test_setup_teardown(what_is_missing_is_named, make, unmake),
        cmocka_unit_test_setup_teardown(nothing_there_sets_nothing, make, unmake),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
