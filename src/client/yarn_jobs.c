/* yarn_jobs.c - opens the ResourceManager and the file system only when they are first asked for,
 * so that a verb that needs one of them does not fail for the other. See yarn_jobs.h. */
#include "client/yarn_jobs.h"
#include "base/log.h"
#include "base/path.h"
#include "base/str.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/records.h"
#include "uploads/app_dirs_sweep.h"

#include <string.h>

#define KEY_TEXT_MAX 256

struct yarn_jobs {
    unsigned refs;
    struct loop *loop;
    struct session *session;
    struct yarn_client *rm;
    struct fs_set *files;
    char *base;          /* as somebody wrote it; NULL: the default */
    struct fs *fs;       /* where it lies, once that was asked … */
    char *path;          /* … and its path there */
    struct sweep *sweep; /* NULL: nobody has asked for one */
};

/* ---- life ---- */

/* BASE as environment or configuration say it; NULL: neither does. */
static int yarn_find_base(struct yarn_jobs *y, const char *staging, struct err *err)
{
    const char *env = getenv("YDL_STAGING");

    if (!staging && env && *env)
        staging = env;
    if (!staging)
        return conf_str(session_conf(y->session), YARN_JOBS_KEY, &y->base, err);
    y->base = strdup(staging);
    return y->base ? 0 : err_oom(err);
}

int yarn_jobs_new(struct loop *l, struct session *session, const char *staging,
                  struct yarn_jobs **ret, struct err *err)
{
    AUTO_YARN_JOBS *y = calloc(1, sizeof(*y));
    int r;

    if (!y)
        return err_oom(err);
    y->refs = 1;
    y->loop = l;
    y->session = session;
    r = yarn_find_base(y, staging, err);
    if (r == 0)
        r = fs_set_new(l, session, &y->files, err);
    if (r < 0)
        return r;
    *ret = take(y);
    return 0;
}

struct yarn_jobs *yarn_jobs_ref(struct yarn_jobs *y)
{
    y->refs++;
    return y;
}

struct yarn_jobs *yarn_jobs_unref(struct yarn_jobs *y)
{
    if (!y || --y->refs > 0)
        return NULL;
    app_dirs_sweep_end(y->sweep); /* uses what comes next */
    yarn_client_free(y->rm);
    fs_set_free(y->files);
    free(y->base);
    free(y->path);
    free(y);
    return NULL;
}

struct loop *yarn_jobs_loop(const struct yarn_jobs *y)
{
    return y->loop;
}

struct session *yarn_jobs_session(const struct yarn_jobs *y)
{
    return y->session;
}

struct fs_set *yarn_jobs_files(const struct yarn_jobs *y)
{
    return y->files;
}

int yarn_jobs_set_base(struct yarn_jobs *y, const char *base, struct err *err)
{
    char *copy = strdup(base);

    if (!copy)
        return err_oom(err);
    free(y->base);
    free(y->path);
    y->base = copy;
    y->path = NULL;
    return 0;
}

int yarn_jobs_rm(struct yarn_jobs *y, struct yarn_client **ret, struct err *err)
{
    int r = y->rm ? 0 : yarn_client_new(y->session, &y->rm, err);

    *ret = y->rm;
    return r;
}

/* ---- files ---- */

/* Makes y->fs and y->path known. */
static int find_files(struct yarn_jobs *y, struct err *err)
{
    AUTO_FREE char *base = NULL;
    struct fs *fs = NULL;
    int r = 0;

    if (!y->path)
        r = fs_find(y->files, y->base ? y->base : ".ydl", FS_ON_CLUSTER, &fs, &base, err);
    if (r < 0)
        return r;
    if (!y->path) { /* another fiber may have been faster */
        y->fs = fs;
        y->path = take(base);
    }
    return 0;
}

int yarn_jobs_path(struct yarn_jobs *y, enum yarn_home what, const char *app, struct fs **ret,
                   char **ret_path, struct err *err)
{
    int r = find_files(y, err);

    if (r < 0)
        return r;
    *ret = y->fs;
    *ret_path = yarn_home(y->path, what, app, NULL);
    return *ret_path ? 0 : err_oom(err);
}

void yarn_jobs_sweep(struct yarn_jobs *y)
{
    struct app_dirs_alive alive = { app_dirs_ask_yarn, NULL };
    struct yarn_client *rm = NULL;

    y->sweep = app_dirs_sweep_end(y->sweep); /* an earlier one did not see what has ended since */
    if (yarn_jobs_rm(y, &rm, NULL) < 0 || find_files(y, NULL) < 0)
        return;
    alive.user = rm;
    y->sweep = app_dirs_sweep_begin(y->loop, y->fs, y->path, &alive);
}

void yarn_jobs_remove(struct yarn_jobs *y, const char *app)
{
    AUTO_FREE char *path = NULL;
    struct fs *fs = NULL;

    if (yarn_jobs_path(y, YARN_HOME_JOBS, app, &fs, &path, NULL) == 0 &&
        fs_delete(fs, path, true, NULL) == 0)
        trace(LOG_HDFS, "removed '%s', which its master left", path);
}

static int yarn_read_key(struct fs_reader *f, char out[KEY_TEXT_MAX], struct err *err)
{
    size_t n = 0;
    ssize_t got = 1;

    while (got > 0 && n < KEY_TEXT_MAX - 1) {
        got = fs_read(f, out + n, KEY_TEXT_MAX - 1 - n, err);
        n += got > 0 ? (size_t)got : 0;
    }
    out[n] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return got < 0 ? (int)got : 0;
}

/* Who may read this file may control the job: HDFS's permissions are what protects it. The text is
 * wiped on every path. */
int yarn_jobs_key(struct yarn_jobs *y, const char *app, struct stream_key *ret, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_FREE uint8_t *key = NULL;
    AUTO_FS_READER *f = NULL;
    char text[KEY_TEXT_MAX] = "";
    struct fs *fs = NULL;
    size_t n = 0;
    int r = yarn_jobs_path(y, YARN_HOME_JOBS, app, &fs, &dir, err);

    path = r == 0 ? path_join(dir, "key") : NULL;
    if (r == 0 && !path)
        r = err_oom(err);
    if (r == 0)
        r = fs_open(fs, path, &f, err);
    if (r == 0)
        r = yarn_read_key(f, text, err);
    if (r == 0 && (str_unbase64(text, &key, &n) < 0 || n != STREAM_KEY ||
                   strlen(app) >= sizeof(ret->identity)))
        r = err_set(err, -EBADMSG, "'%s' holds no key", path);
    if (r == 0) {
        memcpy(ret->key, key, STREAM_KEY);
        memcpy(ret->identity, app, strlen(app) + 1);
    }
    explicit_bzero(text, sizeof(text));
    if (key)
        explicit_bzero(key, n);
    return r;
}

/* ---- applications ---- */

static int yarn_newest_first(const void *a, const void *b)
{
    const Yarn__ApplicationReport *x = *(Yarn__ApplicationReport *const *)a;
    const Yarn__ApplicationReport *y = *(Yarn__ApplicationReport *const *)b;

    if (x->start_time != y->start_time)
        return x->start_time < y->start_time ? 1 : -1;
    return -yarn_app_id_cmp(yarn_app_id_of(x->application_id), yarn_app_id_of(y->application_id));
}

bool yarn_app_ended(const Yarn__ApplicationReport *a)
{
    return yarn_app_state_final(a->state) || a->final_status != YARN__FINAL_STATUS__FINAL_UNDEFINED;
}

/* `v` points into the answer, which the caller keeps until yarn_apps_done(). */
int yarn_jobs_list(struct yarn_jobs *y, const char *name, bool running, struct yarn_apps *ret,
                   struct err *err)
{
    static const char *const types[] = { YARN_JOBS_TYPE };
    const char *user = NULL;
    /* By name: the RM compares "own" with the whole principal, so that Kerberos users own nothing.
     */
    const struct yarn_filter filter = {
        .types = types, .n_types = 1, .users = &user, .n_users = 1, .name = name
    };
    struct yarn_client *rm = NULL;
    int r = session_find_user(y->session, err);

    if (r == 0)
        r = yarn_jobs_rm(y, &rm, err);
    user = session_user(y->session);
    if (r == 0)
        r = yarn_list(rm, &filter, &ret->answer, err);
    if (r < 0)
        return r;
    ret->v = calloc(ret->answer->n_applications + 1, sizeof(*ret->v));
    if (!ret->v)
        return err_oom(err);
    for (size_t i = 0; i < ret->answer->n_applications; i++) {
        Yarn__ApplicationReport *a = ret->answer->applications[i];

        /* Older ResourceManagers do not know every filter. */
        if (a->application_id && str_eq(a->application_type, YARN_JOBS_TYPE) &&
            (!name || str_eq(a->name, name)) && !(running && yarn_app_ended(a)))
            ret->v[ret->n++] = a;
    }
    qsort(ret->v, ret->n, sizeof(*ret->v), yarn_newest_first);
    return 0;
}

void yarn_apps_done(struct yarn_apps *a)
{
    rpc_free(a->answer);
    free(a->v);
    *a = (struct yarn_apps){ 0 };
}
