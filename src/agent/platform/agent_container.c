/* agent_container.c - reads the environment and the credentials of a container of YARN, and decides
 * which variables of it tasks get.
 *
 * Most of what a NodeManager sets describes the container or tunes a Java virtual machine. Tasks
 * get the user's environment as it would be without YARN, so the list of what is left out is here.
 */
#include "agent/platform/agent_container.h"
#include "base/path.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

#define ID_MAX 120 /* container_e17_1700000000000_0001_01_000002 */

/* ---- the environment ---- */

static int need(const char *name, const char **ret, struct err *err)
{
    *ret = getenv(name);
    if (*ret && **ret)
        return 0;
    err_set(err, -ENOENT, "%s is not set", name);
    err_hint(err, "--container only works in a container that YARN has started");
    return -ENOENT;
}

static int agent_container_copy(const char *name, char **ret, struct err *err)
{
    const char *value;
    int r = need(name, &value, err);

    if (r < 0)
        return r;
    *ret = strdup(value);
    return *ret ? 0 : err_oom(err);
}

/* It goes into a variable by which a successor finds our processes. */
static int check_id(const char *id, struct err *err)
{
    bool good = strlen(id) < ID_MAX;

    for (const char *p = id; *p; p++)
        good = good && (isalnum((unsigned char)*p) || *p == '_');
    return good ? 0 : err_set(err, -EBADMSG, "'%.120s' is not a container id", id);
}

static int pick_log_dir(struct agent_container *c, struct err *err)
{
    AUTO_STRS dirs = { 0 };
    const char *list;
    int r = need("LOG_DIRS", &list, err);

    if (r < 0)
        return r;
    if (strs_split(&dirs, list, ",") < 0)
        return err_oom(err);
    for (size_t i = 0; i < dirs.n && !c->log_dir; i++)
        if (dirs.v[i][0] == '/' && access(dirs.v[i], W_OK | X_OK) == 0)
            c->log_dir = take(dirs.v[i]);
    return c->log_dir ? 0 : err_set(err, -ENOENT, "none of '%s' is writable", list);
}

static int find_dir(struct agent_container *c, struct err *err)
{
    struct stat st;

    c->dir = getcwd(NULL, 0);
    if (!c->dir || stat(c->dir, &st) < 0)
        return err_sys(err, "ask for the work directory");
    c->dir_dev = st.st_dev;
    c->dir_ino = st.st_ino;
    return 0;
}

/* By device and inode: a NodeManager that restarted may have removed the directory and made another
 * one of the same name, while we still stand in the old one. */
bool agent_container_is_gone(const struct agent_container *c)
{
    struct stat st;

    if (c->client)
        return false;
    if (stat(c->dir, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR;
    return st.st_dev != c->dir_dev || st.st_ino != c->dir_ino;
}

static int agent_container_read_place(struct agent_container *c, struct err *err)
{
    int r = agent_container_copy("CONTAINER_ID", &c->id, err);

    if (r == 0)
        r = check_id(c->id, err);
    if (r == 0)
        r = agent_container_copy("NM_HOST", &c->node, err);
    if (r == 0)
        r = pick_log_dir(c, err);
    if (r < 0)
        return r;
    r = find_dir(c, err);
    if (r < 0)
        return r;
    c->own = path_join(c->dir, AGENT_CONTAINER_OWN);
    return c->own ? 0 : err_oom(err);
}

/* ---- the credentials ---- */

/* The file is removed once it has been read: tasks run as the same user and must not find the job's
 * key. Where it cannot be used it stays, for whoever looks into the failure. */
static int read_boot(struct agent_container *c, const char *path, struct err *err)
{
    int r = credentials_load(path, &c->credentials, err);

    if (r == 0)
        r = yarn_boot_read(c->credentials, &c->boot, err);
    if (r == 0 && !c->boot.address)
        r = err_set(err, -EBADMSG, "the credentials do not say where the master is");
    if (r < 0)
        return r;
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", path);
    c->staging = yarn_home(c->boot.base, YARN_HOME_JOBS, c->boot.job, NULL);
    return c->staging ? 0 : err_oom(err);
}

int agent_container_read(struct agent_container *ret, struct err *err)
{
    const char *path;
    int r;

    *ret = (struct agent_container){ 0 };
    r = agent_container_read_place(ret, err);
    if (r == 0)
        r = need("HADOOP_TOKEN_FILE_LOCATION", &path, err);
    return r == 0 ? read_boot(ret, path, err) : r;
}

/* ---- beside the client ---- */

int agent_container_read_client(const char *dir, struct agent_container *ret, struct err *err)
{
    AUTO_FREE char *path = path_join(dir, AGENT_CONTAINER_CREDENTIALS);
    char name[256] = "localhost";
    int r;

    *ret = (struct agent_container){ .client = true };
    r = path ? find_dir(ret, err) : err_oom(err);
    if (r == 0)
        r = read_boot(ret, path, err);
    if (r < 0)
        return r;
    (void)gethostname(name, sizeof(name) - 1);
    ret->id = yarn_boot_client(ret->boot.job);
    ret->node = strdup(name);
    ret->own = strdup(dir);
    ret->log_dir = path_join(dir, "logs");
    if (!ret->id || !ret->node || !ret->own || !ret->log_dir)
        return err_oom(err);
    return check_id(ret->id, err);
}

void agent_container_done(struct agent_container *c)
{
    free(c->id);
    free(c->node);
    free(c->dir);
    free(c->own);
    free(c->log_dir);
    free(c->staging);
    credentials_free(c->credentials);
    yarn_boot_done(&c->boot);
    *c = (struct agent_container){ 0 };
}

/* ---- what tasks get of it ---- */

/* Variables of these names that the job sets come from the master and are added later. A trailing
 * '*' matches any rest. */
static const char *const leftovers[] = {
    "APPLICATION_WEB_PROXY_BASE",
    "APP_SUBMIT_TIME_ENV",
    "CONTAINER_ID",
    "HADOOP_TOKEN_FILE_LOCATION",
    "HOME", /* of the NodeManager's making: "/home/" */
    "JVM_PID",
    "KEYSTORE_*",
    "LOCALIZATION_COUNTERS",
    "LOCAL_DIRS",
    "LOCAL_USER_DIRS",
    "LOG_DIRS",
    "MALLOC_ARENA_MAX", /* for Java's sake; it makes others slow */
    "MAX_APP_ATTEMPTS",
    "NM_*",
    "OLDPWD",
    "PORT",
    "PRELAUNCH_*",
    "PWD",
    "SHLVL",
    "TRUSTSTORE_*",
    "YARN_CONTAINER_RUNTIME_*",
    "YDL_LOG",
    "YDL_TRACE",
    "_",
};

/* The same for what a user may have set for ydl. */
static const char *const for_us[] = { "YDL_LOG", "YDL_ON", "YDL_PLAN", "YDL_TRACE" };

static bool is_among(const char *const *names, size_t n_names, const char *entry)
{
    size_t n = strcspn(entry, "=");

    for (size_t i = 0; i < n_names; i++) {
        size_t len = strlen(names[i]);
        bool all = names[i][len - 1] == '*';

        if (all ? n >= len && strncmp(entry, names[i], len - 1) == 0
                : n == len && strncmp(entry, names[i], len) == 0)
            return true;
    }
    return false;
}

int agent_container_env(const struct agent_container *c, char *const *from, struct env *e)
{
    const char *const *not = c->client ? for_us : leftovers;
    size_t n = c->client ? COUNT_OF(for_us) : COUNT_OF(leftovers);
    int r = 0;

    for (; *from && r == 0; from++) {
        r = is_among(not, n, *from) ? 0 : env_lend(e, *from);
        if (r == -EINVAL)
            r = 0; /* not a variable: the rest of an exported shell function */
    }
    return r;
}
