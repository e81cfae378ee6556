/* hdfs_fetch.c - first everything is looked at, then copied: a job whose third file is missing
 * fails before the first gigabyte has come. Signals are watched meanwhile, and half a copy is
 * removed. See hdfs_fetch.h. */
#include "launch/hdfs_fetch.h"
#include "cli/progress.h"
#include "client/signal_watch.h"
#include "hadoop/fs/fs.h"
#include "hadoop/tree/tree_copy.h"
#include "launch/conf_export.h"
#include "launch/launch_options.h"
#include "launch/submit_tokens.h"
#include "launch/targets/publish_target.h"
#include "loop/fiber.h"

#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 100
#define AT_ONCE 8
#define MEMORY (12 * MIB)
#define FILE_MODE 0700 /* as a NodeManager leaves them: a program can be run */

struct fetch {
    struct session *session;
    struct fs_set *set;
    struct fs *local;
    struct progress *progress;
    const char *dir; /* where the copies go */
    unsigned n;      /* copies so far; each has a directory of its own, and keeps its name */
    uint64_t total;  /* bytes of all, as far as they could be counted */
};

static int open_set(struct fetch *f, struct session *session, struct err *err)
{
    f->session = session;
    return fs_set_new(session_loop(session), session, &f->set, err);
}

/* ---- what there is ---- */

/* Calls `fn` for each list of files of the job and of its roles. */
typedef int list_fn(void *arg, const char *key, struct spec_files *files, bool archives,
                    struct err *err);

static int each_list(const struct spec *s, list_fn *fn, void *arg, struct err *err)
{
    int r = fn(arg, "files", (struct spec_files *)&s->files, false, err);

    if (r == 0)
        r = fn(arg, "archives", (struct spec_files *)&s->archives, true, err);
    for (size_t i = 0; r == 0 && i < s->n_roles; i++) {
        r = fn(arg, "files", &s->roles[i].files, false, err);
        if (r == 0)
            r = fn(arg, "archives", &s->roles[i].archives, true, err);
    }
    return r;
}

static int fetch_find_remote(void *arg, const char *key, struct spec_files *files, bool archives,
                             struct err *err)
{
    const char **found = arg;

    (void)key;
    (void)archives;
    (void)err;
    for (size_t i = 0; i < files->n && !*found; i++)
        if (spec_is_remote(files->v[i].from))
            *found = files->v[i].from;
    return 0;
}

static const char *remote_file(const struct spec *s)
{
    const char *found = NULL;

    (void)each_list(s, fetch_find_remote, &found, NULL);
    return found;
}

static const char *remote_target(const struct spec *s)
{
    for (size_t i = 0; i < s->output.n; i++)
        if (spec_is_remote(s->output.v[i].to))
            return s->output.v[i].to;
    return NULL;
}

/* What agents and the master read or write there while the job runs. */
static const char *remote_use(const struct spec *s)
{
    const char *found = remote_target(s);

    if (!found)
        found = publish_remote(s);
    return found || !s->tensorboard || !spec_is_remote(s->tensorboard) ? found : s->tensorboard;
}

const char *fetch_needed(const struct spec *s)
{
    const char *found = remote_file(s);

    return found ? found : remote_use(s);
}

/* ---- looking ---- */

struct looking {
    struct fetch *fetch;
    struct spec_faults *faults;
};

static int look_at_file(struct looking *l, const char *from, bool archive, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FS_ENTRY e = { 0 };
    struct fs *fs = NULL;
    int r = fs_find(l->fetch->set, from, FS_ON_CLUSTER, &fs, &path, err);

    if (r == 0)
        r = fs_stat(fs, path, &e, err);
    if (r == 0 && archive && e.type == FS_DIRECTORY)
        r = err_set(err, -EISDIR, "'%s' is a directory, not an archive: list it under files", from);
    return r;
}

/* What is wrong with a file becomes a fault of the job file, at its line; that a cluster is away is
 * an error of its own (options_blame). */
static int look_at_list(void *arg, const char *key, struct spec_files *files, bool archives,
                        struct err *err)
{
    struct looking *l = arg;
    int r = 0;

    for (size_t i = 0; i < files->n && r == 0; i++) {
        struct err why = ERR_INIT;

        if (!spec_is_remote(files->v[i].from))
            continue;
        r = look_at_file(l, files->v[i].from, archives, &why);
        r = options_blame(l->faults, key, r, &why, err);
    }
    return r;
}

static int look_at_targets(struct looking *l, const struct spec_files *out, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < out->n && r == 0; i++) {
        struct err why = ERR_INIT;

        if (!spec_is_remote(out->v[i].to))
            continue;
        r = deploy_check_target(l->fetch->session, l->fetch->set, out->v[i].to, DEPLOY_PROBE, &why);
        r = options_blame(l->faults, "output", r, &why, err);
    }
    return r;
}

static int look_at_registry(struct looking *l, const struct spec *s, struct err *err)
{
    struct err why = ERR_INIT;
    int r = publish_check(l->fetch->session, l->fetch->set, s, DEPLOY_PROBE, &why);

    return options_blame(l->faults, "output.publish", r, &why, err);
}

int fetch_check(struct session *session, const struct spec *s, struct spec_faults *f,
                struct err *err)
{
    struct fetch fetch = { 0 };
    struct looking l = { .fetch = &fetch, .faults = f };
    int r = open_set(&fetch, session, err);

    if (r == 0)
        r = each_list(s, look_at_list, &l, err);
    if (r == 0)
        r = look_at_targets(&l, &s->output, err);
    if (r == 0)
        r = look_at_registry(&l, s, err);
    fs_set_free(fetch.set);
    return r;
}

/* ---- copying ---- */

static int fetch_on_bytes(void *arg, uint64_t n)
{
    const struct fetch *f = arg;

    progress_add(f->progress, n);
    return 0;
}

/* The directory is new and ours, so a file that is there already would be a fault. */
static int fetch_copy(struct fetch *f, struct fs *fs, const struct fs_entry *from, const char *to,
                      struct err *err)
{
    const struct tree_copy copy = { .loop = session_loop(f->session),
                                    .from = fs,
                                    .to = f->local,
                                    .how = { .mode = FILE_MODE },
                                    .most = { .at_once = AT_ONCE, .memory = MEMORY },
                                    .depth = DEPTH_MAX,
                                    .arg = f,
                                    .on_bytes = fetch_on_bytes };

    switch (from->type) {
    case FS_FILE:
        return tree_copy_file(&copy, from->path, to, err);
    case FS_DIRECTORY:
        return tree_copy(&copy, from->path, to, err);
    default:
        return 0;
    }
}

/* Copies one, and puts the copy's name in its place.
 * Each file has a directory of its own, so that two of the same name do not meet, and the job sees
 * it under the name it had. The specification is changed: from here on it is a local file like any
 * other. */
static int bring(struct fetch *f, struct spec_file *file, struct err *err)
{
    AUTO_FREE char *dir = str_printf("%s/%u", f->dir, f->n++);
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *to = NULL;
    AUTO_FS_ENTRY e = { 0 };
    struct fs *fs = NULL;
    int r = dir ? fs_find(f->set, file->from, FS_ON_CLUSTER, &fs, &path, err) : err_oom(err);

    if (r == 0)
        r = fs_stat(fs, path, &e, err);
    if (r != 0)
        return r;
    to = path_join(dir, *e.name ? e.name : "root");
    if (!to)
        return err_oom(err);
    if (mkdir(dir, 0700) < 0)
        return err_sys(err, "make directory '%s'", dir);
    progress_label(f->progress, e.name);
    r = fetch_copy(f, fs, &e, to, err);
    if (r < 0)
        return err_wrap(err, r, "copy '%s'", file->from);
    free(file->from);
    file->from = take(to);
    return 0;
}

static int bring_list(void *arg, const char *key, struct spec_files *files, bool archives,
                      struct err *err)
{
    int r = 0;

    (void)key;
    (void)archives;
    for (size_t i = 0; i < files->n && r == 0; i++)
        if (spec_is_remote(files->v[i].from))
            r = bring(arg, &files->v[i], err);
    return r;
}

/* How much there is to come, for the progress line; one that cannot be counted does without. */
static int count_list(void *arg, const char *key, struct spec_files *files, bool archives,
                      struct err *err)
{
    struct fetch *f = arg;

    (void)key;
    (void)archives;
    (void)err;
    for (size_t i = 0; i < files->n; i++) {
        AUTO_FREE char *path = NULL;
        struct fs_summary sum = { 0 };
        struct fs *fs = NULL;

        if (spec_is_remote(files->v[i].from) &&
            fs_find(f->set, files->v[i].from, FS_ON_CLUSTER, &fs, &path, NULL) == 0 &&
            fs_summary(fs, path, &sum, NULL) == 0)
            f->total += sum.length;
    }
    return 0;
}

/* ---- Ctrl-C ---- */

/* `run` leaves signals alone until there is a job; half a copy must not stay behind. */
static void fetch_on_signal(void *arg, int number)
{
    (void)number;
    fiber_cancel(arg);
}

/* ---- all files ---- */

static int bring_all(struct fetch *f, struct spec *s, bool quiet, struct err *err)
{
    AUTO_FREE char *here = NULL;
    int r = fs_find(f->set, f->dir, FS_ON_LOCAL, &f->local, &here, err);

    if (r < 0)
        return r;
    (void)each_list(s, count_list, f, NULL);
    if (mkdir(f->dir, 0700) < 0)
        return err_sys(err, "make directory '%s'", f->dir);
    r = progress_begin("files", f->total, quiet, &f->progress, err);
    if (r == 0)
        r = each_list(s, bring_list, f, err);
    f->progress = progress_end(f->progress);
    return r;
}

int fetch_files(struct session *session, struct spec *s, const struct job_dir *d, bool quiet,
                struct err *err)
{
    AUTO_FREE char *dir = path_join(d->path, JOBS_FETCHED);
    struct fetch f = { .dir = dir };
    static const int wanted[] = { SIGINT, SIGTERM, 0 };
    struct signal_watch *w = NULL;
    int r;

    if (!remote_file(s))
        return 0;
    if (!dir)
        return err_oom(err);
    r = signal_watch_start(session_loop(session), wanted, fetch_on_signal,
                           fiber_self(session_loop(session)), &w, err);
    if (r == 0)
        r = open_set(&f, session, err);
    if (r == 0)
        r = bring_all(&f, s, quiet, err);
    fiber_shield(session_loop(session), true);
    fs_set_free(f.set);
    fiber_shield(session_loop(session), false);
    (void)signal_watch_stop(w);
    return r == -ECANCELED ? err_set(err, r, "interrupted") : r;
}

/* ---- for the agents ---- */

static int write_access(struct session *session, const struct job_dir *d, struct err *err)
{
    AUTO_FREE char *path = path_join(d->run, JOBS_CLUSTER);
    AUTO_FREE char *text = NULL;
    AUTO_JSON *v = NULL;
    AUTO_BUF conf = { .max = CONF_EXPORT_MAX + 1 };
    int r = path ? conf_export(session_conf(session), &conf, err) : err_oom(err);

    if (r < 0)
        return r;
    if (!buf_text(&conf))
        return err_oom(err);
    r = json_make(&v, err, "{s:s, s:s}", "conf", buf_text(&conf), "user", session_user(session));
    if (r < 0)
        return r;
    text = json_dumps(v, JSON_COMPACT);
    return text ? path_write_new(path, text, strlen(text), 0600, err) : err_oom(err);
}

static int write_tokens(struct session *session, const struct spec *s, const struct job_dir *d,
                        struct err *err)
{
    AUTO_FREE char *path = path_join(d->run, JOBS_TOKENS);
    AUTO_CREDENTIALS *tokens = NULL;
    AUTO_STRS places = { 0 };
    int r = path ? credentials_new(&tokens, err) : err_oom(err);

    for (size_t i = 0; r == 0 && i < s->output.n; i++)
        if (spec_is_remote(s->output.v[i].to) && strs_add(&places, s->output.v[i].to) < 0)
            r = err_oom(err);
    if (r == 0 && s->tensorboard && spec_is_remote(s->tensorboard) &&
        strs_add(&places, s->tensorboard) < 0)
        r = err_oom(err);
    if (r == 0 && publish_remote(s) && strs_add(&places, publish_remote(s)) < 0)
        r = err_oom(err);
    if (r == 0)
        r = deploy_tokens(session, &places, tokens, err);
    return r < 0 || credentials_count(tokens) == 0 ? r : credentials_save(tokens, path, err);
}

/* What the job's own processes need to reach HDFS after this command has gone:
 *
 *     RUN/cluster.json   {"conf": the cluster's configuration, "user": who we are there}
 *     RUN/tokens         tokens of all places that it names, where the cluster asks for them
 *
 * Both can be read by us alone. */
int fetch_access(struct session *session, const struct spec *s, const struct job_dir *d,
                 struct err *err)
{
    int r;

    if (!remote_use(s))
        return 0;
    r = write_access(session, d, err);
    return r < 0 ? r : write_tokens(session, s, d, err);
}
