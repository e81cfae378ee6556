/* master_container.c - from a container's environment to a job directory that looks as on one
 * machine.
 *
 *     environment, credentials ──► session ──► BASE/jobs/APP, BASE/logs/APP ──► job.json, spec.json
 *                                                   └─ tokens have expired: wait for newer ones
 *
 * Two things may be too early or too late here. The client writes the job's files while it submits,
 * so they may not be there yet; and a new attempt may start when the tokens of the submit have
 * expired. Both are waited for, each with a limit; then the application is ended, since another
 * attempt would find the same. See master_container.h. */
#include "master/yarn/master_container.h"
#include "base/log.h"
#include "hadoop/yarn/ids.h"
#include "job/protocol.h"
#include "loop/fiber.h"
#include "loop/listen.h"
#include "loop/resolve.h"
#include "master/yarn/keytab.h"
#include "master/yarn/master_tokens.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define RESOLVE_MS 10000
#define ANNOUNCE_MODE 0600
#define CLIENT_MS 60000 /* for the client to write what it has submitted */
#define LATER_MS 5000   /* the same, of a second master: the first has waited already */
#define FINISH_MS 30000
#define LOOK_AGAIN_MS 10 /* meanwhile */

/* ---- what the container says ---- */

static int need_env(const char *name, const char **ret, struct err *err)
{
    *ret = getenv(name);
    if (*ret && **ret)
        return 0;
    return err_set(err, -EINVAL, "%s is not set: this is no container of YARN", name);
}

static int find_attempt(struct master_container *c, struct err *err)
{
    struct yarn_container_id id;
    const char *text = NULL;
    int r = need_env("CONTAINER_ID", &text, err);

    if (r == 0)
        r = yarn_container_id_parse(text, &id, err);
    if (r == 0)
        c->attempt = id.attempt.attempt;
    return r;
}

/* Others are given numbers, so that no name service of theirs matters. */
static int find_host(struct loop *l, struct master_container *c, struct err *err)
{
    struct resolve_addrs found = { 0 };
    const char *name = NULL;
    char text[INET6_ADDRSTRLEN];
    int r = need_env("NM_HOST", &name, err);

    if (r < 0)
        return r;
    c->node = strdup(name);
    if (!c->node)
        return err_oom(err);
    r = resolve_host(l, name, 0, loop_in(l, RESOLVE_MS), &found, err);
    if (r == 0)
        (void)snprintf(c->host, sizeof(c->host), "%s", resolve_text(&found.v[0], text));
    return r;
}

/* `patient`: calls to HDFS are retried for as long as a NameNode may need to fail over or restart.
 */
static int open_session(struct loop *l, struct master_container *c, struct err *err)
{
    AUTO_CREDENTIALS *given = NULL;
    const char *file = NULL;
    int r = need_env("HADOOP_TOKEN_FILE_LOCATION", &file, err);

    if (r == 0)
        r = credentials_load(file, &given, err);
    if (r == 0)
        r = yarn_boot_read(given, &c->boot, err);
    if (r == 0) {
        (void)unlink(file); /* tasks on this node are the same user's, and have no business in it */
        const struct session_options o = { .conf_text = c->boot.conf,
                                           .credentials = given,
                                           .user = c->boot.user,
                                           .caller = "ydl master",
                                           .patient = true };

        r = session_new(l, &o, &c->session, err);
    }
    return r < 0 ? r : fs_set_new(l, c->session, &c->set, err);
}

/* ---- the job's files ---- */

static int master_container_find_place(struct master_container *c, enum yarn_home what,
                                       char **ret_path, char **ret_uri, struct err *err)
{
    *ret_uri = yarn_home(c->boot.base, what, c->boot.job, NULL);
    if (!*ret_uri)
        return err_oom(err);
    return fs_find(c->set, *ret_uri, FS_ON_CLUSTER, &c->fs, ret_path, err);
}

int master_container_load(struct master_container *c, const char *path, struct buf *ret,
                          struct err *err)
{
    AUTO_FS_READER *r = NULL;
    int result = fs_open(c->fs, path, &r, err);

    while (result == 0) {
        const void *p = NULL;
        ssize_t n = fs_read_next(r, &p, 0, err);

        if (n <= 0)
            return (int)n;
        result = buf_add(ret, p, (size_t)n);
        if (result < 0)
            return err_set(err, result, "'%s' is too large", path);
    }
    return result;
}

/* A file of the job, on its way here. */
struct fetching {
    struct master_container *c;
    struct loop *loop;
    const char *name;
    struct buf text;
};

/* The client writes it while it submits: on an idle cluster we may be here first. */
static int load_patiently(struct fetching *f, const char *from, struct err *err)
{
    int64_t until = loop_in(f->loop, f->c->attempt > 1 ? LATER_MS : CLIENT_MS);
    int r = master_container_load(f->c, from, &f->text, err);

    while (r == -ENOENT && loop_now(f->loop) < until) {
        err_clear(err);
        r = fiber_sleep(f->loop, LOOK_AGAIN_MS);
        if (r == 0)
            r = master_container_load(f->c, from, &f->text, err);
    }
    return r;
}

static int master_container_fetch(void *arg, struct err *err)
{
    struct fetching *f = arg;
    AUTO_FREE char *from = path_join(f->c->logs, f->name);
    AUTO_FREE char *to = path_join(f->c->dir.path, f->name);
    int r = from && to ? load_patiently(f, from, err) : err_oom(err);

    if (r < 0)
        return err_wrap(err, r, "fetch the job's %s", f->name);
    return path_write_new(to, f->text.data, f->text.len, 0600, err);
}

/* Both files at the same time: each wait is mostly for a server. The version is checked on job.json
 * before anything of it is used. */
static int fetch_job(struct loop *l, struct master_container *c, struct err *err)
{
    struct fetching job = { c, l, "job.json", { .max = 16 * MIB } };
    struct fetching spec = { c, l, "spec.json", { .max = 64 * MIB } };
    AUTO_JSON *v = NULL;
    struct group g;
    int r, waited;

    group_init(&g, l, 0);
    r = group_go(&g, master_container_fetch, &job, err);
    if (r == 0)
        r = group_go(&g, master_container_fetch, &spec, err);
    waited = group_wait(&g, r < 0 ? NULL : err);
    r = r < 0 ? r : waited;
    if (r == 0)
        r = json_parse("job.json", job.text.data, job.text.len, &v, err);
    if (r == 0)
        r = protocol_check_json(PROTOCOL_JOB, v, err);
    if (r == 0)
        r = yarn_facts_read(v, &c->facts, err);
    buf_done(&job.text);
    buf_done(&spec.text);
    return r;
}

/* A container that was started anew in the same place begins afresh. */
static int master_container_make_dirs(struct master_container *c, struct err *err)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);

    c->dir = (struct job_dir)JOB_DIR_INIT;
    c->dir.id = strdup(c->boot.job);
    c->dir.path = cwd ? path_join(cwd, "ydl-master") : NULL;
    c->dir.run = cwd ? path_join(cwd, "ydl-run") : NULL;
    if (!c->dir.id || !c->dir.path || !c->dir.run)
        return err_oom(err);
    (void)path_remove(c->dir.path, NULL);
    (void)path_remove(c->dir.run, NULL);
    if (mkdir(c->dir.path, 0700) < 0 || mkdir(c->dir.run, 0700) < 0)
        return err_sys(err, "make '%s'", c->dir.path);
    return 0;
}

static void master_container_forget(struct master_container *c, const char *name)
{
    AUTO_FREE char *path = path_join(c->dir.path, name);

    if (path)
        (void)unlink(path);
}

/* A client that is killed while it submits leaves an application without a job, and one of another
 * version may leave one that we do not understand. Another attempt would find no more than this
 * one, so the application ends here. */
static int end_without_job(struct loop *l, struct master_container *c, int why, struct err *err)
{
    const struct amrm_conf shown = { .host = c->host, .tracking_url = "" };
    int r = c->early ? 0 : yarn_register(c->session, c->node_conf, &shown, &c->early, NULL);

    if (why == -ENOENT) {
        err_set(err, why, "the job's description is not in '%s'", c->logs_uri);
        err_hint(err, "ydl was ended while it submitted the job, or somebody removed the file");
    }
    if (r == 0)
        (void)yarn_early_finish(c->early, YARN__FINAL_STATUS__FINAL_FAILED, err->text,
                                loop_in(l, FINISH_MS), NULL);
    (void)master_container_clean(c, NULL);
    return why;
}

/* YARN starts a master with the tokens of the submit, also when those have ended. */
static int fetch_with_tokens(struct loop *l, struct master_container *c, struct err *err)
{
    int r = fetch_job(l, c, err);

    while (r == -EKEYREJECTED) {
        log_warn(LOG_MASTER, "%s", err->text);
        master_container_forget(c, "job.json");
        master_container_forget(c, "spec.json");
        r = tokens_wait(l, c, err);
        if (r == 0)
            r = fetch_job(l, c, err);
    }
    return r == -ENOENT || r == -EPROTONOSUPPORT ? end_without_job(l, c, r, err) : r;
}

/* The keytab comes before the files, as it may be needed to read them. Whatever fails, what was
 * opened is closed by the caller with master_container_close(). */
int master_container_open(struct loop *l, struct master_container *ret, struct err *err)
{
    struct master_container *c = ret;
    int r;

    *c = (struct master_container){ .dir = JOB_DIR_INIT, .api_fd = -1, .began = loop_wall() };
    r = find_attempt(c, err);
    if (r == 0)
        r = master_container_node_conf(&c->node_conf, err);
    if (r == 0)
        r = open_session(l, c, err);
    if (r == 0)
        r = find_host(l, c, err);
    if (r == 0)
        r = master_container_find_place(c, YARN_HOME_JOBS, &c->jobs, &c->jobs_uri, err);
    if (r == 0)
        r = master_container_find_place(c, YARN_HOME_LOGS, &c->logs, &c->logs_uri, err);
    if (r == 0)
        r = master_container_make_dirs(c, err);
    if (r == 0)
        r = keytab_open(&c->boot, c->dir.run, &c->keytab, err);
    return r < 0 ? r : fetch_with_tokens(l, c, err);
}

void master_container_close(struct master_container *c)
{
    c->early = yarn_early_free(c->early);
    c->keytab = keytab_free(c->keytab);
    if (c->api_fd >= 0)
        c->api_fd = listen_close(c->api_fd);
    c->set = fs_set_free(c->set);
    c->session = session_free(c->session);
    yarn_facts_done(&c->facts);
    tokens_done(c);
    yarn_boot_done(&c->boot);
    job_dir_done(&c->dir);
    c->node_conf = conf_free(c->node_conf);
    free(c->jobs);
    free(c->logs);
    free(c->jobs_uri);
    free(c->logs_uri);
    free(c->node);
}

/* ---- where we are ---- */

/* Written under a name of this attempt and renamed over the old one: whoever reads sees one
 * master's address or the other's. Agents that lost us go by this file, and so do masters that may
 * have been replaced (rival.c). */
int master_container_announce(struct master_container *c, struct err *err)
{
    const struct fs_create how = { .overwrite = true, .mode = ANNOUNCE_MODE, .parents = true };
    AUTO_FREE char *to = path_join(c->jobs, "master.json");
    AUTO_FREE char *part = str_printf("%s/.master-%d", c->jobs, c->attempt); /* no other's */
    AUTO_FREE char *text = str_printf(
        "{\"" PROTOCOL_KEY "\": %d, \"attempt\": %d, \"address\": \"%s\"}\n",
        protocol_number(PROTOCOL_MASTER), c->attempt, c->boot.address ? c->boot.address : "");
    int r = to && part && text ? fs_put(c->fs, part, &how, text, strlen(text), err) : err_oom(err);

    return r < 0 ? r : fs_rename(c->fs, part, to, true, err);
}

int master_container_clean(struct master_container *c, struct err *err)
{
    int r = fs_delete(c->fs, c->jobs, true, err);

    return r == -ENOENT ? 0 : r;
}
