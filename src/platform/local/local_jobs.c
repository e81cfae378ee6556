/* local_jobs.c - makes and finds the directories. A job is locked before it can be seen and noted
 * before anything is started, so that whoever finds it without a lock knows that its master is
 * dead. See local_jobs.h. */
#include "platform/local/local_jobs.h"
#include "base/str.h"
#include "job/protocol.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

/* A Unix socket's name has 107 bytes; the longest of ours below RUN is "/tasks/" + a task's name +
 * "/sock". What is left for the directory that RUN is made in: */
#define RUN_PARENT_MAX 32
#define JOB_FILE_MAX (8 * MIB)
#define RUN_SUFFIX 6 /* random letters at the end of RUN */

void job_dir_done(struct job_dir *d)
{
    if (d->lock >= 0 && d->path)
        close(d->lock);
    free(d->id);
    free(d->path);
    free(d->run);
    *d = (struct job_dir){ .lock = -1 };
}

int jobs_state_dir(char **ret, struct err *err)
{
    return path_xdg(PATH_STATE, "ydl", ret, err);
}

/* ---- making ---- */

/* By the millisecond, so that ids sort as the jobs were made, and a few random digits. */
static char *new_id(void)
{
    struct timespec now;
    struct tm tm;
    uint16_t salt = 0;
    char text[32];

    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    (void)!getrandom(&salt, sizeof(salt), 0);
    strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &tm);
    return str_printf("local-%s-%03d%03x", text, (int)(now.tv_nsec / 1000000), salt & 0xfff);
}

/* Memory is no place for what tasks write to TMPDIR, nor for archives that are unpacked. */
static bool is_memory(const char *dir)
{
    struct statfs st;

    return statfs(dir, &st) == 0 && (st.f_type == TMPFS_MAGIC || st.f_type == RAMFS_MAGIC);
}

/* Where RUN can be made: of the directories in which no other user can replace it and whose names
 * are short enough, the first on a disk, else the first. $XDG_RUNTIME_DIR is none of them: it goes
 * away when the person logs out, and jobs stay. */
static int run_parent(const char **ret, struct err *err)
{
    const char *places[] = { getenv("TMPDIR"), "/tmp", "/var/tmp" }, *second = NULL;
    struct err why = ERR_INIT;

    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const char *p = places[i];

        if (!p || *p != '/' || strlen(p) > RUN_PARENT_MAX || access(p, W_OK | X_OK) < 0 ||
            path_trusted(p, &why) < 0)
            continue;
        if (!is_memory(p)) {
            *ret = p;
            return 0;
        }
        second = second ? second : p;
    }
    if (second) {
        *ret = second;
        return 0;
    }
    err_set(err, -EACCES, "there is no directory for temporary files%s%s", why.text[0] ? ": " : "",
            why.text);
    err_hint(err, "set TMPDIR to a directory of your own, with a path of at most %d bytes",
             RUN_PARENT_MAX);
    return -EACCES;
}

/* With a name of its own: ext4 spreads directories by their names. */
char *jobs_work_dir(const struct job_dir *d)
{
    return path_join(d->run, d->run + strlen(d->run) - RUN_SUFFIX);
}

int jobs_make_run(char **ret, struct err *err)
{
    AUTO_FREE char *run = NULL;
    const char *parent = NULL;
    int r = run_parent(&parent, err);

    if (r < 0)
        return r;
    run = str_printf("%s/ydl-XXXXXX", parent);
    if (!run)
        return err_oom(err);
    if (!mkdtemp(run))
        return err_sys(err, "make a directory '%s'", run);
    path_spread(run);
    *ret = take(run);
    return 0;
}

static int make_run(struct job_dir *d, struct err *err)
{
    AUTO_FREE char *work = NULL;
    AUTO_FREE char *note = path_join(d->path, "run");
    int r = note ? jobs_make_run(&d->run, err) : err_oom(err);

    if (r < 0)
        return r;
    work = jobs_work_dir(d);
    if (!work)
        return err_oom(err);
    if (mkdir(work, 0700) < 0)
        return err_sys(err, "make directory '%s'", work);
    return path_write_new(note, d->run, strlen(d->run), 0600, err);
}

/* The lock is taken before anybody can look: a job is never seen without a living master between
 * its birth and its start. */
static int local_jobs_take_lock(struct job_dir *d, struct err *err)
{
    AUTO_FREE char *path = path_join(d->path, "lock");

    if (!path)
        return err_oom(err);
    d->lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (d->lock < 0)
        return err_sys(err, "make '%s'", path);
    if (flock(d->lock, LOCK_EX | LOCK_NB) < 0)
        return err_sys(err, "lock '%s'", path);
    return 0;
}

static int local_jobs_make_dirs(struct job_dir *d, const char *jobs, struct err *err)
{
    AUTO_FREE char *logs = NULL;

    for (int tries = 0; tries < 16; tries++) {
        free(d->id);
        free(d->path);
        d->id = new_id();
        d->path = d->id ? path_join(jobs, d->id) : NULL;
        if (!d->path)
            return err_oom(err);
        if (mkdir(d->path, 0700) == 0)
            break;
        if (errno != EEXIST)
            return err_sys(err, "make directory '%s'", d->path);
    }
    logs = path_join(d->path, "logs");
    if (!logs)
        return err_oom(err);
    return mkdir(logs, 0700) < 0 ? err_sys(err, "make directory '%s'", logs) : 0;
}

/* The directory's owner is checked because whoever could write there could give our master its
 * orders. What was made is removed again on failure, but only once the lock is ours. */
int jobs_create(const char *state_dir, struct job_dir *ret, struct err *err)
{
    AUTO_JOB_DIR d = JOB_DIR_INIT;
    AUTO_FREE char *jobs = path_join(state_dir, "jobs");
    int r;

    if (!jobs)
        return err_oom(err);
    r = path_mkdirs(jobs, 0700, err);
    if (r == 0 && path_trusted(jobs, err) < 0) {
        err_hint(err, "set XDG_STATE_HOME to a directory of your own");
        r = -EPERM;
    }
    if (r == 0)
        path_spread(jobs);
    if (r == 0)
        r = local_jobs_make_dirs(&d, jobs, err);
    if (r == 0)
        r = local_jobs_take_lock(&d, err);
    if (r == 0)
        r = make_run(&d, err);
    if (r < 0) {
        if (d.path && d.lock >= 0)
            (void)jobs_remove(&d, NULL);
        return r;
    }
    *ret = d;
    d = (struct job_dir)JOB_DIR_INIT;
    return 0;
}

/* ---- finding ---- */

/* RUN as the job noted it, whether it still exists or not; NULL when nothing was noted. It has to
 * look like ours: what is noted there gets removed. */
static char *noted_run(const char *path)
{
    AUTO_FREE char *note = path_join(path, "run");
    AUTO_BUF text = { .max = 4096 };
    const char *run, *base;

    if (!note || path_read(note, &text, NULL) < 0)
        return NULL;
    run = buf_text(&text);
    base = run ? strrchr(run, '/') : NULL;
    if (!base || *run != '/' || !str_starts(base, "/ydl-") || strlen(base) != 5 + RUN_SUFFIX)
        return NULL;
    return strdup(run);
}

bool jobs_find_run(struct job_dir *d)
{
    AUTO_FREE char *run = d->run ? take(d->run) : noted_run(d->path);
    struct stat st;

    if (run && lstat(run, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
        d->run = take(run);
    return d->run;
}

static int open_dir(const char *jobs, const char *id, struct job_dir *ret, struct err *err)
{
    AUTO_FREE char *own = strdup(id);
    AUTO_FREE char *path = path_join(jobs, id);

    if (!own || !path)
        return err_oom(err);
    *ret = (struct job_dir){ .id = take(own), .lock = -1 };
    ret->path = take(path);
    (void)jobs_find_run(ret);
    return 0;
}

int jobs_open(const char *path, struct job_dir *ret, struct err *err)
{
    AUTO_FREE char *jobs = path_dir(path);
    AUTO_FREE char *id = path_base(path);

    return jobs && id ? open_dir(jobs, id, ret, err) : err_oom(err);
}

static int local_jobs_newest_first(const struct dirent **a, const struct dirent **b)
{
    return -strcmp((*a)->d_name, (*b)->d_name);
}

static int is_job(const struct dirent *e)
{
    return str_starts(e->d_name, "local-");
}

int jobs_each(const char *state_dir, int (*fn)(void *arg, struct job_dir *d), void *arg,
              struct err *err)
{
    AUTO_FREE char *jobs = path_join(state_dir, "jobs");
    AUTO_FREE struct dirent **list = NULL;
    int n, r = 0;

    if (!jobs)
        return err_oom(err);
    n = scandir(jobs, &list, is_job, local_jobs_newest_first);
    if (n < 0)
        return errno == ENOENT ? 0 : err_sys(err, "list '%s'", jobs);
    for (int i = 0; i < n; i++) {
        AUTO_JOB_DIR d = JOB_DIR_INIT;

        if (r == 0)
            r = open_dir(jobs, list[i]->d_name, &d, err);
        if (r == 0)
            r = fn(arg, &d);
        free(list[i]);
    }
    return r;
}

int jobs_facts(const struct job_dir *d, json_t **ret, struct err *err)
{
    AUTO_FREE char *path = path_join(d->path, "job.json");

    return path ? json_parse_file(path, JOB_FILE_MAX, ret, err) : err_oom(err);
}

int jobs_own_facts(const struct job_dir *d, json_t **ret, struct err *err)
{
    int r = jobs_facts(d, ret, err);

    return r < 0 ? r : protocol_check_json(PROTOCOL_JOB, *ret, err);
}

int jobs_write_facts(const struct job_dir *d, const json_t *facts, struct err *err)
{
    AUTO_FREE char *path = path_join(d->path, "job.json");
    AUTO_FREE char *text = json_dumps(facts, JSON_COMPACT);

    return path && text ? path_write_new(path, text, strlen(text), 0600, err) : err_oom(err);
}

struct search {
    const char *what;
    struct job_dir *ret;
    unsigned found;
    char ids[160]; /* of the first few that have the name */
};

static bool local_jobs_has_name(const struct job_dir *d, const char *name)
{
    AUTO_JSON *facts = NULL;

    return jobs_facts(d, &facts, NULL) == 0 &&
           str_eq(json_string_value(json_object_get(facts, "name")), name);
}

static int local_jobs_compare(void *arg, struct job_dir *d)
{
    struct search *s = arg;
    bool last = str_eq(s->what, "last");
    size_t used = strlen(s->ids);

    if (!last && !str_eq(d->id, s->what) && !local_jobs_has_name(d, s->what))
        return 0;
    if (s->found++ < 3)
        (void)snprintf(s->ids + used, sizeof(s->ids) - used, "%s%s", used ? ", " : "", d->id);
    if (s->found == 1) {
        *s->ret = *d;
        *d = (struct job_dir)JOB_DIR_INIT;
    }
    return last || str_eq(s->ret->id, s->what);
}

int jobs_find(const char *state_dir, const char *what, struct job_dir *ret, struct err *err)
{
    AUTO_JOB_DIR found = JOB_DIR_INIT;
    struct search s = { .what = what, .ret = &found };
    int r = jobs_each(state_dir, local_jobs_compare, &s, err);

    if (r < 0)
        return r;
    if (s.found == 0) {
        r = str_eq(what, "last") ? err_set(err, -ENOENT, "there are no jobs yet")
                                 : err_set(err, -ENOENT, "there is no job '%s'", what);
        err_hint(err, "see 'ydl list --all'");
        return r;
    }
    if (s.found > 1) {
        err_set(err, -EINVAL, "%u jobs are called '%s': %s%s", s.found, what, s.ids,
                s.found > 3 ? ", …" : "");
        err_hint(err, "name one of them by its id");
        return -EINVAL;
    }
    *ret = found;
    found = (struct job_dir)JOB_DIR_INIT;
    return 0;
}

/* ---- the end ---- */

/* A lock that we get was held by nobody: the master is dead, and its run directory, with sockets
 * and keys, is removed on the way. Our own lock ends with the descriptor. */
bool jobs_alive(struct job_dir *d)
{
    AUTO_FREE char *path = path_join(d->path, "lock");
    AUTO_CLOSE int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

    if (fd < 0)
        return false;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK;
    if (d->run) {
        AUTO_FREE char *fetched = path_join(d->path, JOBS_FETCHED);

        (void)path_remove(d->run, NULL);
        free(take(d->run));
        if (fetched)
            (void)path_remove(fetched, NULL);
    }
    return false;
}

int jobs_remove(struct job_dir *d, struct err *err)
{
    int r = 0;

    if (d->run)
        r = path_remove(d->run, err);
    if (r == 0)
        r = path_remove(d->path, err);
    return r;
}
