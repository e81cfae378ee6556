/* hadoop_access.c - variables and a file for tasks that talk to the cluster themselves. See
 * hadoop_access.h.
 *
 *     LOCAL_DIRS      /data1/nm/usercache/ada/appcache/application_1_0001,/data2/…
 *     YDL_NODE_DIRS   /data1/nm/usercache/ada,/data2/nm/usercache/ada
 *
 * The node makes those for each user, with an owner and a mode that let nobody else in where
 * containers run as their users; whoever uses them looks at that once more. */
#include "agent/platform/hadoop_access.h"
#include "agent/agent_private.h"
#include "agent/platform/agent_container.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>

#define FILE_NAME "core-site.xml" /* conf_load() reads it, as Hadoop's programs do */
#define USERS "/usercache/"
#define APPLICATIONS "/appcache/"

int hadoop_access_begin(struct agent *a, struct err *err)
{
    const char *text = a->container->boot.conf;
    AUTO_FREE char *file = NULL;
    int r;

    if (!text || a->dirs.conf)
        return 0;
    a->dirs.conf = path_join(a->dirs.work, "hadoop");
    file = a->dirs.conf ? path_join(a->dirs.conf, FILE_NAME) : NULL;
    r = file ? path_mkdirs(a->dirs.conf, 0700, err) : err_oom(err);
    if (r == 0)
        r = path_write_unflushed(file, text, strlen(text), 0600, err);
    return r < 0 ? err_wrap(err, r, "configuration for tasks") : 0;
}

/* "…/usercache/ada" of "…/usercache/ada/appcache/application_1_0001". */
static size_t of_user(const char *dir)
{
    const char *end = NULL;

    for (const char *at = strstr(dir, APPLICATIONS); at; at = strstr(at + 1, APPLICATIONS))
        end = at;
    return *dir == '/' && end && strstr(dir, USERS) && strstr(dir, USERS) < end
               ? (size_t)(end - dir)
               : 0;
}

int hadoop_access_node_dirs(const char *local_dirs, char **ret)
{
    AUTO_BUF out = { .max = 64 * KIB };
    AUTO_STRS dirs = { 0 };
    int r = strs_split(&dirs, local_dirs, ",");

    for (size_t i = 0; r == 0 && i < dirs.n; i++) {
        size_t n = of_user(dirs.v[i]);

        if (n == 0)
            continue;
        r = out.len ? buf_add_str(&out, ",") : 0;
        if (r == 0)
            r = buf_add(&out, dirs.v[i], n);
    }
    if (r < 0 || out.len == 0)
        return r;
    *ret = strndup((const char *)out.data, out.len);
    return *ret ? 0 : -ENOMEM;
}

int hadoop_access_env(const struct agent_task *t, struct env *e)
{
    const struct agent *a = t->agent;
    const char *user = a->container->boot.user, *local = getenv("LOCAL_DIRS");
    AUTO_FREE char *dirs = NULL;
    int r = a->dirs.conf ? env_set(e, "YDL_HADOOP_CONF", a->dirs.conf) : 0;

    if (!user && a->facts && *a->facts->owner)
        user = a->facts->owner;
    if (r == 0 && user)
        r = env_set(e, "YDL_HADOOP_USER", user);
    if (r == 0 && local && !t->image.name) /* an image does not have them */
        r = hadoop_access_node_dirs(local, &dirs);
    return r == 0 && dirs ? env_set(e, "YDL_NODE_DIRS", dirs) : r;
}
