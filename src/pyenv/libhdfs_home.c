/* libhdfs_home.c - for each component a list of places in order: the job's variables, the PATH,
 * then where distributions put it. The first place that passes its test (a libjvm.so, a directory
 * with jars) counts. See libhdfs_home.h. */
#include "pyenv/libhdfs_home.h"
#include "base/buf.h"
#include "base/path.h"

#include <dirent.h>
#include <string.h>

#define JARS_MAX 5000
#define HEAP "-Xmx128m" /* of a reader: blocks go past it */

/* A way to look at a directory: yes (1), no (0) or -ENOMEM. */
typedef int test_fn(const char *dir);

static const char *hadoop_home_value(const struct hadoop_env *e, const char *name)
{
    const char *v = e->get(e->arg, name);

    return v && *v ? v : NULL;
}

/* The first of `names` below `dir` that has the file; *ret stays NULL when there is none. */
static int hadoop_home_find_below(const char *dir, const char *const *names, const char *file,
                                  char **ret)
{
    for (; *names && !*ret; names++) {
        AUTO_FREE char *path = path_join(dir, *names);
        int r = path ? path_has(path, file) : -ENOMEM;

        if (r < 0)
            return r;
        if (r > 0)
            *ret = take(path);
    }
    return 0;
}

/* Sets *ret to a place that passes the test, unless it is set. */
static int try_place(const char *place, test_fn *good, char **ret)
{
    int r = *ret || !place ? 0 : good(place);

    if (r > 0)
        *ret = strdup(place);
    return r < 0 || (r > 0 && !*ret) ? -ENOMEM : 0;
}

static int try_variables(const struct hadoop_env *e, const char *const *names, test_fn *good,
                         char **ret)
{
    int r = 0;

    for (; *names && r == 0; names++)
        r = try_place(hadoop_home_value(e, *names), good, ret);
    return r;
}

static int try_places(const struct hadoop_env *e, const char *const *places, test_fn *good,
                      char **ret)
{
    int r = 0;

    for (; *places && r == 0 && !*ret; places++) {
        AUTO_FREE char *path = str_printf("%s%s", e->root, *places);

        r = path ? try_place(path, good, ret) : -ENOMEM;
    }
    return r;
}

/* ---- Java ---- */

static const char *const jvm_dirs[] = {
    "lib/server",
    "jre/lib/server",
    "jre/lib/amd64/server",
    "jre/lib/aarch64/server",
    "jre/lib/ppc64le/server",
    "lib/amd64/server",
    NULL,
};

static int is_java(const char *dir)
{
    AUTO_FREE char *found = NULL;
    int r = hadoop_home_find_below(dir, jvm_dirs, "libjvm.so", &found);

    return r < 0 ? r : found != NULL;
}

/* "/usr/lib/jvm/java-17" of /usr/bin/java, which is a link into it. */
static int java_of_path(const struct hadoop_env *e, char **ret)
{
    AUTO_FREE char *link = str_printf("%s/usr/bin/java", e->root), *real = NULL, *bin = NULL,
                   *home = NULL;

    if (!link)
        return -ENOMEM;
    real = *ret ? NULL : realpath(link, NULL);
    bin = real ? path_dir(real) : NULL;
    home = bin ? path_dir(bin) : NULL;
    return try_place(home, is_java, ret);
}

static int find_java(const struct hadoop_env *e, struct hadoop_home *h)
{
    static const char *const variables[] = { "JAVA_HOME", NULL };
    static const char *const places[] = { "/usr/lib/jvm/default-java", "/usr/lib/jvm/java",
                                          "/usr/lib/jvm/jre",          "/usr/java/default",
                                          "/usr/java/latest",          NULL };
    int r = try_variables(e, variables, is_java, &h->java);

    if (r == 0)
        r = try_places(e, places, is_java, &h->java);
    if (r == 0)
        r = java_of_path(e, &h->java);
    return r == 0 && h->java ? hadoop_home_find_below(h->java, jvm_dirs, "libjvm.so", &h->jvm_dir)
                             : r;
}

/* ---- Hadoop ---- */

static bool is_jar(const char *name)
{
    return str_ends(name, ".jar") && !str_ends(name, "-tests.jar") &&
           !str_ends(name, "-sources.jar");
}

/* The jars of a directory by name; none when it is not there. */
static int list_jars(const char *dir, struct strs *ret)
{
    AUTO_DIR DIR *d = opendir(dir);
    struct dirent *entry;
    int r = 0;

    while (d && r == 0 && ret->n < JARS_MAX && (entry = readdir(d)))
        if (is_jar(entry->d_name))
            r = strs_take(ret, path_join(dir, entry->d_name));
    strs_sort(ret);
    return r;
}

static int has_jars(const char *dir)
{
    AUTO_STRS jars = { 0 };

    return list_jars(dir, &jars) < 0 ? -ENOMEM : jars.n > 0;
}

/* As Apache packs it, or as distributions spread it out: jars right in it. */
static int is_hadoop(const char *dir)
{
    int r = path_has(dir, "share/hadoop/common");

    return r != 0 ? r : has_jars(dir);
}

static int is_hdfs(const char *dir)
{
    int r = path_has(dir, "share/hadoop/hdfs");

    return r != 0 ? r : has_jars(dir);
}

static int is_conf(const char *dir)
{
    return path_has(dir, "core-site.xml");
}

/* A place named from where Hadoop is. */
static int try_beside(const struct hadoop_home *h, const char *name, test_fn *good, char **ret)
{
    AUTO_FREE char *path = h->home ? path_join(h->home, name) : NULL;

    if (!h->home || *ret)
        return 0;
    return path ? try_place(path, good, ret) : -ENOMEM;
}

/* Hadoop, HDFS and the configuration are looked for apart: Apache packs them into one directory,
 * distributions spread them over several. */
static int find_hadoop(const struct hadoop_env *e, struct hadoop_home *h)
{
    static const char *const homes[] = { "HADOOP_HOME", "HADOOP_COMMON_HOME", "HADOOP_PREFIX",
                                         "HADOOP_HDFS_HOME", NULL };
    static const char *const hdfs[] = { "HADOOP_HDFS_HOME", NULL };
    static const char *const confs[] = { "HADOOP_CONF_DIR", NULL };
    static const char *const places[] = { "/usr/lib/hadoop",
                                          "/opt/cloudera/parcels/CDH/lib/hadoop",
                                          "/usr/hdp/current/hadoop-client",
                                          "/opt/hadoop",
                                          "/usr/local/hadoop",
                                          NULL };
    static const char *const conf_places[] = { "/etc/hadoop/conf", "/etc/hadoop", NULL };
    int r = try_variables(e, homes, is_hadoop, &h->home);

    if (r == 0)
        r = try_places(e, places, is_hadoop, &h->home);
    if (r == 0)
        r = try_variables(e, hdfs, is_hdfs, &h->hdfs);
    if (r == 0)
        r = try_beside(h, "../hadoop-hdfs", is_hdfs, &h->hdfs);
    if (r == 0)
        r = try_place(h->home, is_hdfs, &h->hdfs);
    if (r == 0)
        r = try_variables(e, confs, is_conf, &h->conf);
    if (r == 0)
        r = try_beside(h, "etc/hadoop", is_conf, &h->conf);
    return r == 0 ? try_places(e, conf_places, is_conf, &h->conf) : r;
}

/* ---- its library ---- */

static int is_lib(const char *dir)
{
    return path_has(dir, "libhdfs.so");
}

static int try_list(const char *list, test_fn *good, char **ret)
{
    AUTO_STRS dirs = { 0 };
    int r = list ? strs_split(&dirs, list, ":") : 0;

    for (size_t i = 0; i < dirs.n && r == 0; i++)
        r = try_place(dirs.v[i], good, ret);
    return r;
}

static int find_lib(const struct hadoop_env *e, struct hadoop_home *h)
{
    static const char *const below[] = { "lib/native", "lib", NULL };
    static const char *const places[] = {
        "/usr/lib/hadoop/lib/native", "/usr/lib64", "/usr/lib", "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu", NULL
    };
    int r = try_list(hadoop_home_value(e, "LD_LIBRARY_PATH"), is_lib, &h->lib_dir);

    if (r == 0 && h->hdfs)
        r = hadoop_home_find_below(h->hdfs, below, "libhdfs.so", &h->lib_dir);
    if (r == 0 && h->home)
        r = hadoop_home_find_below(h->home, below, "libhdfs.so", &h->lib_dir);
    if (r == 0)
        r = try_beside(h, "../../lib64", is_lib, &h->lib_dir); /* in a parcel of Cloudera's */
    return r == 0 ? try_places(e, places, is_lib, &h->lib_dir) : r;
}

/* ---- its jars ---- */

static int add_jars(const char *home, const char *below, struct buf *out)
{
    AUTO_FREE char *dir = home ? path_join(home, below) : NULL;
    AUTO_STRS jars = { 0 };
    int r = !home ? 0 : dir ? list_jars(dir, &jars) : -ENOMEM;

    for (size_t i = 0; i < jars.n && r == 0; i++)
        r = buf_printf(out, "%s%s", out->len ? ":" : "", jars.v[i]);
    return r < 0 ? -ENOMEM : 0;
}

static int find_jars(struct hadoop_home *h)
{
    static const char *const commons[] = { "share/hadoop/common/lib", "share/hadoop/common", NULL };
    static const char *const hdfses[] = { "share/hadoop/hdfs/lib", "share/hadoop/hdfs", NULL };
    static const char *const spread[] = { "lib", "", NULL };
    AUTO_BUF jars = { .max = MIB };
    int apache = h->home ? path_has(h->home, "share/hadoop/common") : 0;
    int hdfs_apache = h->hdfs ? path_has(h->hdfs, "share/hadoop/hdfs") : 0;
    int r = apache < 0 || hdfs_apache < 0 ? -ENOMEM : 0;

    for (const char *const *p = apache ? commons : spread; *p && r == 0; p++)
        r = add_jars(h->home, *p, &jars);
    for (const char *const *p = hdfs_apache ? hdfses : spread; *p && r == 0; p++)
        r = hdfs_apache || !str_eq(h->home, h->hdfs) ? add_jars(h->hdfs, *p, &jars) : 0;
    if (r < 0 || jars.len == 0)
        return r;
    if (!buf_text(&jars))
        return -ENOMEM;
    h->jars = (char *)take(jars.data);
    return 0;
}

int hadoop_home_find(const struct hadoop_env *e, struct hadoop_home *ret)
{
    int r = find_java(e, ret);

    if (r == 0)
        r = find_hadoop(e, ret);
    if (r == 0)
        r = find_lib(e, ret);
    return r == 0 ? find_jars(ret) : r;
}

void hadoop_home_done(struct hadoop_home *h)
{
    free(h->java);
    free(h->jvm_dir);
    free(h->home);
    free(h->hdfs);
    free(h->conf);
    free(h->lib_dir);
    free(h->jars);
    *h = (struct hadoop_home){ 0 };
}

/* ---- what comes of it ---- */

const char *hadoop_home_missing(const struct hadoop_home *h)
{
    if (!h->java)
        return "Java was not found: JAVA_HOME names no directory with a libjvm.so";
    if (!h->home)
        return "Hadoop was not found: HADOOP_HOME names no directory with its jars";
    if (!h->hdfs)
        return "HDFS was not found: HADOOP_HDFS_HOME names no directory with its jars";
    if (!h->lib_dir)
        return "libhdfs.so was not found, neither in Hadoop's lib/native nor in LD_LIBRARY_PATH";
    return NULL;
}

static int hadoop_home_set(const struct hadoop_env *e, const char *name, const char *text,
                           struct strs *ret)
{
    return !text || hadoop_home_value(e, name) ? 0
                                               : strs_take(ret, str_printf("%s=%s", name, text));
}

/* Appends what is not there yet. */
static int hadoop_home_append(const struct hadoop_env *e, const char *name,
                              const char *const more[2], struct strs *ret)
{
    const char *before = hadoop_home_value(e, name);
    AUTO_BUF text = { .max = 2 * MIB };
    int r = before ? buf_add_str(&text, before) : 0;

    for (size_t i = 0; i < 2 && r == 0; i++) {
        AUTO_STRS there = { 0 };

        if (!more[i])
            continue;
        r = before ? strs_split(&there, before, ":") : 0;
        if (r == 0 && !strs_has(&there, more[i]))
            r = buf_printf(&text, "%s%s", text.len ? ":" : "", more[i]);
    }
    if (r < 0 || text.len == 0)
        return r < 0 ? -ENOMEM : 0;
    return buf_text(&text) ? strs_take(ret, str_printf("%s=%s", name, (char *)text.data)) : -ENOMEM;
}

/* What is set already stays. The two lists are appended to, so that what the user put first is
 * found first. */
int hadoop_home_vars(const struct hadoop_home *h, const struct hadoop_env *e, struct strs *ret)
{
    const char *const libs[] = { h->lib_dir, h->jvm_dir }, *const path[] = { h->conf, h->jars };
    const char *heap = hadoop_home_value(e, "DMLC_HDFS_OPTS"); /* as dmlc's launcher has it */
    int r = hadoop_home_set(e, "JAVA_HOME", h->java, ret);

    if (r == 0)
        r = hadoop_home_set(e, "HADOOP_HOME", h->home, ret);
    if (r == 0)
        r = hadoop_home_set(e, "HADOOP_HDFS_HOME", h->hdfs, ret);
    if (r == 0)
        r = hadoop_home_set(e, "HADOOP_CONF_DIR", h->conf, ret);
    if (r == 0 && h->lib_dir)
        r = hadoop_home_set(e, "LIBHDFS_OPTS", heap ? heap : HEAP, ret);
    if (r == 0)
        r = hadoop_home_append(e, "LD_LIBRARY_PATH", libs, ret);
    return r == 0 && h->jars ? hadoop_home_append(e, "CLASSPATH", path, ret) : r;
}
