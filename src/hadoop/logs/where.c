/* where.c - see where.h
 *
 *     3.3 and 3.4  ROOT/USER/bucket-SUFFIX/NNNN/APP   NNNN: the last four digits of the id
 *     before       ROOT/USER/SUFFIX/APP
 *
 * SUFFIX is `logs-` and the lower-case name of the format; up to 3.0 the default format had just
 * `logs`. A format may have a ROOT and a SUFFIX of its own. Formats that the configuration no
 * longer names are looked for too: the cluster may have been changed since the application ended.
 */
#include "hadoop/logs/where.h"

#include <ctype.h>
#include <string.h>

static const char *const usual[] = { "TFile", "IFile", "IndexedFile" };

struct search {
    const struct conf *conf;
    const char *user, *app;
    int bucket;
    struct strs *ret;
};

/* application_TIME_NUMBER */
static int where_bucket_of(const char *app, int *ret, struct err *err)
{
    const char *last = strrchr(app, '_');
    int64_t n = 0;

    if (!str_starts(app, "application_") || strchr(app, '/') || last < app + 12 ||
        str_to_i64(last + 1, 0, INT32_MAX, &n) < 0)
        return err_set(err, -EINVAL, "'%s' is not an application id", app);
    *ret = (int)(n % 10000);
    return 0;
}

static int where_add(struct search *s, char *path, struct err *err)
{
    int r = path && strs_has(s->ret, path) ? 1 : 0;

    if (r == 1) {
        free(path);
        return 0;
    }
    return strs_take(s->ret, path) < 0 ? err_oom(err) : 0;
}

static int add_both(struct search *s, const char *root, const char *suffix, struct err *err)
{
    int n = (int)strlen(root), r;

    while (n > 1 && root[n - 1] == '/')
        n--;
    r = where_add(
        s, str_printf("%.*s/%s/bucket-%s/%04d/%s", n, root, s->user, suffix, s->bucket, s->app),
        err);
    return r < 0 ? r
                 : where_add(s, str_printf("%.*s/%s/%s/%s", n, root, s->user, suffix, s->app), err);
}

/* The setting of one format, or NULL. */
static int own_setting(struct search *s, const char *format, const char *what, char **ret,
                       struct err *err)
{
    AUTO_FREE char *key = str_printf("yarn.log-aggregation.%s.%s", format, what);
    int r = key ? conf_str(s->conf, key, ret, err) : err_oom(err);

    if (r == 0 && *ret && !**ret) {
        free(*ret);
        *ret = NULL;
    }
    return r;
}

static int suffix_of(struct search *s, const char *format, char **ret, struct err *err)
{
    AUTO_FREE char *common = NULL;
    int r = own_setting(s, format, "remote-app-log-dir-suffix", ret, err);

    if (r < 0 || *ret)
        return r;
    r = conf_str(s->conf, "yarn.nodemanager.remote-app-log-dir-suffix", &common, err);
    if (r < 0)
        return r;
    *ret = str_printf("%s-%s", common, format);
    if (!*ret)
        return err_oom(err);
    for (char *p = *ret + strlen(common); *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return 0;
}

static int add_format(struct search *s, const char *format, struct err *err)
{
    AUTO_FREE char *root = NULL;
    AUTO_FREE char *suffix = NULL;
    int r = own_setting(s, format, "remote-app-log-dir", &root, err);

    if (r == 0 && !root)
        r = conf_str(s->conf, "yarn.nodemanager.remote-app-log-dir", &root, err);
    if (r == 0)
        r = suffix_of(s, format, &suffix, err);
    return r == 0 ? add_both(s, root, suffix, err) : r;
}

int logs_where(const struct conf *c, const char *user, const char *app, struct strs *ret,
               struct err *err)
{
    struct search s = { .conf = c, .user = user, .app = app, .ret = ret };
    AUTO_STRS formats = { 0 };
    AUTO_FREE char *root = NULL;
    AUTO_FREE char *suffix = NULL;
    int r = where_bucket_of(app, &s.bucket, err);

    if (r == 0 && (!*user || strchr(user, '/') || *user == '.'))
        r = err_set(err, -EINVAL, "'%s' is not the name of a user", user);
    if (r == 0)
        r = conf_list(c, "yarn.log-aggregation.file-formats", &formats, err);
    for (size_t i = 0; r == 0 && i < formats.n; i++)
        r = add_format(&s, formats.v[i], err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(usual); i++)
        r = add_format(&s, usual[i], err);
    if (r == 0)
        r = conf_str(c, "yarn.nodemanager.remote-app-log-dir", &root, err);
    if (r == 0)
        r = conf_str(c, "yarn.nodemanager.remote-app-log-dir-suffix", &suffix, err);
    return r == 0 ? add_both(&s, root, suffix, err) : r;
}
