/* conf_find.c - which directory holds the configuration; see conf_find_dir in conf.h */
#include "base/buf.h"
#include "hadoop/conf/conf.h"

#include <string.h>
#include <sys/stat.h>

/* In the order of looking. A named directory must exist: who names one that does not has made a
 * mistake, and another cluster's configuration would be the wrong answer to it. */
static const struct place {
    const char *variable; /* NULL: always the same directory */
    const char *below;    /* added to the variable's value */
    bool named;
} places[] = {
    { "HADOOP_CONF_DIR", "", true },
    { "YARN_CONF_DIR", "", true },
    { "HADOOP_HOME", "/etc/hadoop", false },
    { NULL, "/etc/hadoop/conf", false },
};

static int named_dir(const char *who, const char *dir, char **ret, struct err *err)
{
    struct stat st;

    if (stat(dir, &st) < 0)
        return err_sys(err, "configuration directory '%s', named by %s", dir, who);
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "'%s', named by %s, is not a directory", dir, who);
    *ret = strdup(dir);
    return *ret ? 0 : err_oom(err);
}

static bool is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* 1 when the place has one, 0 when not; what was looked at is added to `seen`. */
static int conf_find_look(const struct place *p, struct buf *seen, char **ret, struct err *err)
{
    const char *value = p->variable ? getenv(p->variable) : "";
    AUTO_FREE char *path = NULL;
    int r;

    if (p->variable && (!value || !*value)) {
        (void)buf_printf(seen, ", %s (not set)", p->variable);
        return 0;
    }
    path = str_printf("%s%s", value, p->below);
    if (!path)
        return err_oom(err);
    if (p->named) {
        r = named_dir(p->variable, path, ret, err);
        return r < 0 ? r : 1;
    }
    if (is_dir(path)) {
        *ret = take(path);
        return 1;
    }
    (void)buf_printf(seen, ", '%s' (no such directory)", path);
    return 0;
}

int conf_find_dir(const char *flag, char **ret, struct err *err)
{
    AUTO_BUF seen = { .max = 4096 };
    const char *text;
    int r;

    if (flag)
        return named_dir("--conf", flag, ret, err);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        r = conf_find_look(&places[i], &seen, ret, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    text = buf_text(&seen);
    if (!text)
        return err_oom(err);
    err_set(err, -ENOENT, "no Hadoop configuration: looked at --conf (not given)%s", text);
    err_hint(err, "set HADOOP_CONF_DIR to the directory with the cluster's core-site.xml");
    return -ENOENT;
}
