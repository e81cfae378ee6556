/* conf_path_test.c - see conf_path.h */
#include "hadoop/conf/conf_path.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define P(name, value) "<property><name>" name "</name><value>" value "</value></property>\n"
#define MOUNT(table, what, target) P("fs.viewfs.mounttable." table "." what, target)

/* Several mount tables, so that one configuration serves every row. */
static const char xml[] = "<configuration>" P("fs.defaultFS", "hdfs://ns")
    MOUNT("v", "link./data", "hdfs://ns1/d%20ata/") MOUNT("v", "link./data/deep", "hdfs://ns2/deep")
        MOUNT("v", "link./tmp", "file:///var/tmp") MOUNT("v", "link./other", "viewfs://f/there")
            MOUNT("v", "link./gone", "s3a://bucket/x") MOUNT("v", "link./bad", "hdfs://ns1/%zz")
                MOUNT("v", "linkMerge./m", "hdfs://a/,hdfs://b/")
                    MOUNT("v", "linkNfly.min.replication=1./n", "hdfs://a/,hdfs://b/")
                        MOUNT("v", "link./plain", "/plain") MOUNT("v", "homedir", "/data/home")
                            MOUNT("f", "link./a", "hdfs://ns1/a") MOUNT("f", "linkFallback",
                                                                        "hdfs://ns2/base")
                                MOUNT("s", "linkMergeSlash", "hdfs://ns1/slash")
                                    MOUNT("both", "linkMergeSlash",
                                          "hdfs://ns1/") MOUNT("both", "link./a", "hdfs://ns1/a")
                                        MOUNT("top", "link./", "hdfs://ns1/")
                                            MOUNT("re", "linkRegex.^/x", "hdfs://ns1/")
                                                MOUNT("c1", "link./a", "viewfs://c2/a")
                                                    MOUNT("c2", "link./a", "viewfs://c1/a")
                                                        MOUNT("default", "link./d",
                                                              "hdfs://ns9/d") "</configuration>";

/* "hdfs://ns/a b". A new string, or NULL when out of memory. */
static char *fs_path_text(const struct fs_path *p)
{
    return str_printf("%s://%s%s", p->scheme, p->authority, p->path);
}

static struct conf *conf_of(const char *text)
{
    struct conf *c = NULL;
    struct err err = ERR_INIT;

    assert_int_equal(conf_parse("t-site.xml", text, strlen(text), &c, &err), 0);
    return c;
}

static void paths_are_resolved_and_names_survive(void **state)
{
    static const struct {
        const char *text, *result;
    } rows[] = {
        { "/", "hdfs://ns/" },
        { "/a/b", "hdfs://ns/a/b" },
        { "a/b", "hdfs://ns/user/me/a/b" },
        { ".", "hdfs://ns/user/me" },
        { "../you/x", "hdfs://ns/user/you/x" },
        { "/a//b/./c/../d/", "hdfs://ns/a/b/d" },
        { "//a/b", "hdfs://ns/a/b" },
        { "hdfs://other:9000/x", "hdfs://other:9000/x" },
        { "HDFS://ns1/x", "hdfs://ns1/x" },
        { "hdfs://ns1", "hdfs://ns1/" },
        { "hdfs:///x", "hdfs://ns/x" },
        { "hdfs:/x", "hdfs://ns/x" },
        { "/a b", "hdfs://ns/a b" },
        { "/%41%2F+?x=1&y#z", "hdfs://ns/%41%2F+?x=1&y#z" },
        { "/[a]{b}*'\"\\|<>~`!@$^();,=", "hdfs://ns/[a]{b}*'\"\\|<>~`!@$^();,=" },
        { "/\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80",
          "hdfs://ns/\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80" },
        { "/a\nb\x01\x7f\xc2\x85", "hdfs://ns/a\nb\x01\x7f\xc2\x85" },
        { "/...", "hdfs://ns/..." },
        { "/ ", "hdfs://ns/ " },
        { "file:///x/y", "file:///x/y" },
        { "file:/x:y", "file:///x:y" },
        { "file:///a/../b", "file:///b" },
        { "file:///\xff", "file:///\xff" },
        { "viewfs://v/data/x y", "hdfs://ns1/d ata/x y" },
        { "viewfs://v/data", "hdfs://ns1/d ata" },
        { "viewfs://v/data/deep/x", "hdfs://ns2/deep/x" },
        { "viewfs://v/data/deeper", "hdfs://ns1/d ata/deeper" },
        { "viewfs://v/tmp/a:b", "file:///var/tmp/a:b" },
        { "viewfs://v/other/z", "hdfs://ns2/base/there/z" },
        { "viewfs://f/a/x", "hdfs://ns1/a/x" },
        { "viewfs://f/b/x", "hdfs://ns2/base/b/x" },
        { "viewfs://f/", "hdfs://ns2/base" },
        { "viewfs://s/p/q", "hdfs://ns1/slash/p/q" },
        { "viewfs://s/", "hdfs://ns1/slash" },
        { "viewfs:///d/x", "hdfs://ns9/d/x" },
    };
    AUTO_CONF *c = conf_of(xml);

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FS_PATH p = { 0 };
        AUTO_FREE char *text = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(conf_path(c, rows[i].text, "me", &p, &err), 0);
        text = fs_path_text(&p);
        assert_string_equal(text, rows[i].result);
    }
}

struct refused {
    const char *text;
    int r;
    const char *error;
};

static void assert_refused(const struct refused *rows, size_t n)
{
    AUTO_CONF *c = conf_of(xml);

    for (size_t i = 0; i < n; i++) {
        AUTO_FS_PATH p = { 0 };
        struct err err = ERR_INIT;

        assert_int_equal(conf_path(c, rows[i].text, "me", &p, &err), rows[i].r);
        assert_string_equal(err.text, rows[i].error);
    }
}

static void what_is_no_path_is_refused_with_a_sentence(void **state)
{
    static const struct refused rows[] = {
        { "", -EINVAL, "a path is empty" },
        { "/..", -EINVAL, "'/..' leads above the root" },
        { "/a/../../b", -EINVAL, "'/a/../../b' leads above the root" },
        { "../../../x", -EINVAL, "'../../../x' leads above the root" },
        { "/a:b", -EINVAL, "'/a:b': HDFS allows no ':' in a name" },
        { "a:b", -EINVAL, "'a:b': names cannot contain ':'" },
        { "./a:b", -EINVAL, "'/user/me/a:b': HDFS allows no ':' in a name" },
        { "/\xff", -EILSEQ, "'/\xff': names in HDFS are UTF-8, this one is not" },
        { "/\xed\xa0\x80", -EILSEQ, "'/\xed\xa0\x80': names in HDFS are UTF-8, this one is not" },
        { "/\xc0\xaf", -EILSEQ, "'/\xc0\xaf': names in HDFS are UTF-8, this one is not" },
        { "hdfs:x", -EINVAL, "'hdfs:x' needs an absolute path after 'hdfs:'" },
        { "hdfs://u@h/x", -EINVAL, "'hdfs://u@h/x': 'u@h' is not a host or name service" },
        { "file://host/x", -EINVAL, "'file://host/x': a local file has no host" },
        { "s3a://b/x", -EOPNOTSUPP,
          "'s3a://b/x': the file system 's3a' is not supported (hdfs, viewfs, file are)" },
    };

    (void)state;
    assert_refused(rows, COUNT_OF(rows));
}

static void mount_tables_that_lead_nowhere_are_refused_with_a_sentence(void **state)
{
    static const struct refused rows[] = {
        { "viewfs://v/nope", -ENOENT,
          "no mount point of the table 'v' covers '/nope'; it has: /bad, /data, /data/deep, /gone, "
          "/other, /plain, /tmp, /m, /n" },
        { "viewfs://v/", -ENOENT,
          "'/' is a directory of the mount table 'v' itself, which has: /bad, /data, /data/deep, "
          "/gone, /other, /plain, /tmp, /m, /n" },
        { "viewfs://nope/x", -ENOENT, "there is no mount table 'nope' for viewfs" },
        { "viewfs://v/gone/x", -EOPNOTSUPP,
          "mount table 'v': 's3a://bucket/x': the file system 's3a' is not supported (hdfs, "
          "viewfs, "
          "file are)" },
        { "viewfs://v/bad", -EINVAL, "mount table 'v': 'hdfs://ns1/%zz' is not a URI" },
        { "viewfs://v/m/x", -EOPNOTSUPP,
          "'fs.viewfs.mounttable.v.linkMerge./m': mount points with several targets are not "
          "supported" },
        { "viewfs://v/n", -EOPNOTSUPP,
          "'fs.viewfs.mounttable.v.linkNfly.min.replication=1./n': mount points with several "
          "targets are not supported" },
        { "viewfs://both/a", -EINVAL,
          "mount table 'both' has both 'fs.viewfs.mounttable.both.linkMergeSlash' and links" },
        { "viewfs://top/a", -EINVAL,
          "'fs.viewfs.mounttable.top.link./' names no mount point; for all of a file system there "
          "is linkMergeSlash" },
        { "viewfs://re/a", -EOPNOTSUPP,
          "'fs.viewfs.mounttable.re.linkRegex.^/x': mount points by regular expression are not "
          "supported" },
        { "viewfs://v/plain/x", -EINVAL, "mount table 'v': '/plain' is not a URI" },
        { "viewfs://c1/a", -ELOOP, "'viewfs://c1/a': mount tables refer to each other in a loop" },
    };

    (void)state;
    assert_refused(rows, COUNT_OF(rows));
}

static void directories_of_a_mount_table_have_its_mount_points(void **state)
{
    static const struct {
        const char *text, *names, *path; /* path NULL: it is none */
    } rows[] = {
        { "viewfs://t/", "data user deep deeper ", "/" },
        { "/", "data user deep deeper ", "/" },
        { "/deep/", "er x ", "/deep" },
        { "/deep/er", "est ", "/deep/er" },
        { "/deep/x", "", NULL },
        { "/data", "", NULL },
        { "/data/a", "", NULL },
        { "/user/me", "", NULL },
        { "/nope", "", NULL },
        { "hdfs://n/", "", NULL },
    };
    AUTO_CONF *c = conf_of(
        "<configuration>" P("fs.defaultFS", "viewfs://t/") MOUNT("t", "link./data", "hdfs://n/data")
            MOUNT("t", "link./data/more", "hdfs://n/more") MOUNT("t", "link./user", "hdfs://n/user")
                MOUNT("t", "link./deep/er/est", "hdfs://n/e") MOUNT("t", "link./deeper/y",
                                                                    "hdfs://n/y")
                    MOUNT("t", "link./deep/x", "hdfs://n/x") MOUNT("t", "linkFallback", "hdfs://n/")
                        MOUNT("t", "homedir", "/user") "</configuration>");

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_STRS names = { 0 };
        AUTO_FREE char *path = NULL;
        char all[200] = "";

        assert_int_equal(conf_mounts(c, rows[i].text, "me", &names, &path, NULL), 0);
        for (size_t k = 0; k < names.n; k++)
            snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s ", names.v[k]);
        assert_int_equal(strlen(all), strlen(rows[i].names)); /* in any order */
        for (size_t k = 0; k < names.n; k++)
            assert_non_null(strstr(rows[i].names, names.v[k]));
        assert_int_equal(path != NULL, rows[i].path != NULL);
        if (path)
            assert_string_equal(path, rows[i].path);
    }
}

static void the_default_file_system_decides_where_plain_paths_are(void **state)
{
    static const struct {
        const char *default_fs, *text, *result; /* NULL: an error */
    } rows[] = {
        { "hdfs://h:9000/ignored", "/x", "hdfs://h:9000/x" },
        { " hdfs://h ", "x", "hdfs://h/user/me/x" },
        { "h:9000", "/x", "hdfs://h:9000/x" },
        { "local", "/x", "file:///x" },
        { "file:///", "/x", "file:///x" },
        { "viewfs://v/", "/x", "hdfs://n/x" },
        { "viewfs://v/", "a", "hdfs://n/user/me/a" },
        { "viewfs://v/", "hdfs:///a", NULL },
        { "/no/scheme", "/a", NULL },
        { "s3a://b/", "/a", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text =
            str_printf("<configuration>" P("fs.defaultFS", "%s")
                           MOUNT("v", "linkFallback", "hdfs://n/") "</configuration>",
                       rows[i].default_fs);
        AUTO_FREE char *result = NULL;
        AUTO_CONF *c = conf_of(text ? text : "");
        AUTO_FS_PATH p = { 0 };
        struct err err = ERR_INIT;
        int r = conf_path(c, rows[i].text, "me", &p, &err);

        if (!rows[i].result) {
            assert_true(r < 0 && err.text[0]);
            continue;
        }
        assert_int_equal(r, 0);
        result = fs_path_text(&p);
        assert_string_equal(result, rows[i].result);
    }
}

static void a_relative_local_path_begins_in_the_working_directory(void **state)
{
    AUTO_CONF *c = conf_of("<configuration/>"); /* Hadoop's own default: file:/// */
    AUTO_FREE char *cwd = getcwd(NULL, 0), *expected = NULL;
    AUTO_FS_PATH p = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    expected = str_printf("%s/x y", cwd);
    assert_int_equal(conf_path(c, "x y", "me", &p, &err), 0);
    assert_string_equal(p.path, expected);
    assert_string_equal(p.scheme, "file");
}

static void mount_tables_behind_hdfs_are_refused(void **state)
{
    AUTO_CONF *c = conf_of("<configuration>" P("fs.defaultFS", "hdfs://ns") P(
        "fs.hdfs.impl",
        "org.apache.hadoop.fs.viewfs.ViewFileSystemOverloadScheme") "</configuration>");
    AUTO_FS_PATH p = { 0 };
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(conf_path(c, "/x", "me", &p, &err), -EOPNOTSUPP);
    assert_non_null(strstr(err.text, "mount tables behind hdfs:// are not supported"));
}

static void joining_is_plain(void **state)
{
    static const struct {
        const char *base, *path, *result;
    } rows[] = {
        { "/a", "b", "/a/b" },      { "/a/", "/b", "/b" }, { "/", "", "/" },
        { "/a/b", "../c", "/a/c" }, { "/", ".", "/" },     { "/a", "..", "/" },
    };
    AUTO_FREE char *big = malloc(70 * KIB), *none = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *r = NULL;

        assert_int_equal(fs_path_join(rows[i].base, rows[i].path, &r), 0);
        assert_string_equal(r, rows[i].result);
    }
    assert_int_equal(fs_path_join("/", "..", &none), -EINVAL);
    assert_non_null(big);
    memset(big, 'x', 70 * KIB - 1);
    big[70 * KIB - 1] = '\0';
    assert_int_equal(fs_path_join("/", big, &none), -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_resolved_and_names_survive),
        cmocka_unit_test(what_is_no_path_is_refused_with_a_sentence),
        cmocka_unit_test(mount_tables_that_lead_nowhere_are_refused_with_a_sentence),
        cmocka_unit_test(directories_of_a_mount_table_have_its_mount_points),
        cmocka_unit_test(the_default_file_system_decides_where_plain_paths_are),
        cmocka_unit_test(a_relative_local_path_begins_in_the_working_directory),
        cmocka_unit_test(mount_tables_behind_hdfs_are_refused),
        cmocka_unit_test(joining_is_plain),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
