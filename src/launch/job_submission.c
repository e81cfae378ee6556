/* job_submission.c - steps that wait for different servers run side by side; the application is
 * submitted as soon as what YARN itself needs is in place, while the small files that only the
 * master reads are still on their way. A failure takes back what was made. See job_submission.h. */
#include "launch/job_submission.h"
#include "base/json.h"
#include "base/path.h"
#include "hadoop/token/ident.h"
#include "hadoop/yarn/launch_context.h"
#include "hadoop/yarn/records.h"
#include "job/engine/outcome.h"
#include "job/protocol.h"
#include "launch/conf_export.h"
#include "launch/job_submission_private.h"
#include "launch/submit_tokens.h"
#include "loop/loop.h"
#include "uploads/cache.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define NODE_NAME "ydl-node"
#define SUBMIT_MS 120000
#define KILL_MS 10000
#define STEPS_MAX 8
#define DIR_MODE 0700
#define FILE_MODE 0600

int submit_base(struct fs_set *set, const char *staging, char **ret, struct err *err)
{
    struct fs *fs = NULL;
    AUTO_FREE char *path = NULL;
    int r = fs_find(set, staging && *staging ? staging : ".ydl", FS_ON_CLUSTER, &fs, &path, err);

    if (r == 0 && fs_is_local(fs) && staging && *staging)
        return err_set(err, -EINVAL, "'%s' is on this machine, not on the cluster", staging);
    if (r == 0 && fs_is_local(fs)) {
        r = err_set(err, -EINVAL, "the cluster's configuration does not name an HDFS");
        err_hint(err, "set fs.defaultFS in core-site.xml, or YDL_STAGING=hdfs://HOST/DIRECTORY");
    }
    return r < 0 ? r : fs_uri(fs, path, ret, err);
}

/* ---- steps ---- */

typedef int step_fn(struct submission *x, struct err *err);

struct step {
    struct submission *x;
    step_fn *fn;
};

static int submit_run_step(void *arg, struct err *err)
{
    struct step *s = arg;

    return s->fn(s->x, err);
}

/* Steps that do not need each other, at the same time: each is mostly waiting for a server.
 * The first step that fails cancels the others, and its reason is the one that is told (group.c).
 */
static int run_together(struct submission *x, step_fn *const *fns, size_t n, struct err *err)
{
    struct step steps[STEPS_MAX];
    struct group g;
    int r = 0, waited;

    group_init(&g, session_loop(x->o->session), 0);
    for (size_t i = 0; i < n && i < COUNT_OF(steps) && r == 0; i++) {
        steps[i] = (struct step){ x, fns[i] };
        r = group_go(&g, submit_run_step, &steps[i], err);
    }
    if (r < 0)
        group_cancel(&g);
    waited = group_wait(&g, r < 0 ? NULL : err);
    return r < 0 ? r : waited;
}

/* ---- directories and small files ---- */

static int make_jobs(struct submission *x, struct err *err)
{
    return fs_mkdirs(x->fs, x->jobs, DIR_MODE, true, err);
}

static int make_logs(struct submission *x, struct err *err)
{
    return fs_mkdirs(x->fs, x->logs, DIR_MODE, true, err);
}

/* Files below BASE become part of the job, and the job's key is written there, so it must be
 * trusted. */
static int trust_home(struct submission *x, const char *dir, struct err *err)
{
    int r = fs_trusted(x->fs, dir, err);

    if (r == -EPERM && err && !err->hint[0])
        err_hint(err, "name a directory of your own with --staging");
    return r < 0 ? err_wrap(err, r, "the staging directory is not safe") : 0;
}

/* The directories that those of the job are in. */
static int trust_parents(struct submission *x, struct err *err)
{
    const char *const dirs[] = { x->jobs, x->logs };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(dirs) && r == 0; i++) {
        AUTO_FREE char *parent = path_dir(dirs[i]);

        r = parent ? trust_home(x, parent, err) : err_oom(err);
    }
    return r;
}

/* `made` is set before the directories are: whatever part of them exists is removed on failure
 * (undo()). */
static int open_home(struct submission *x, struct err *err)
{
    static step_fn *const dirs[] = { make_jobs, make_logs };
    const struct submit_options *o = x->o;
    AUTO_FREE char *jobs = yarn_home(o->base, YARN_HOME_JOBS, x->ret->id, NULL);
    AUTO_FREE char *logs = yarn_home(o->base, YARN_HOME_LOGS, x->ret->id, NULL);
    AUTO_FREE char *base = NULL;
    int r = jobs && logs ? 0 : err_oom(err);

    if (r == 0)
        r = fs_find(o->set, o->base, FS_ON_CLUSTER, &x->fs, &base, err);
    if (r == 0)
        r = fs_find(o->set, jobs, FS_ON_CLUSTER, &x->fs, &x->jobs, err);
    if (r == 0)
        r = fs_find(o->set, logs, FS_ON_CLUSTER, &x->fs, &x->logs, err);
    if (r < 0)
        return r;
    /* Nobody else has any business in there, the parents included; so BASE comes first. */
    r = fs_mkdirs(x->fs, base, DIR_MODE, true, err);
    if (r == 0)
        r = trust_home(x, base, err);
    if (r < 0)
        return r;
    x->made = true;
    r = run_together(x, dirs, COUNT_OF(dirs), err);
    return r < 0 ? r : trust_parents(x, err);
}

int submit_write(struct submission *x, const char *dir, const char *name, const void *p, size_t n,
                 struct err *err)
{
    const struct fs_create how = { .mode = FILE_MODE };
    AUTO_FREE char *path = path_join(dir, name);

    return path ? fs_put(x->fs, path, &how, p, n, err) : err_oom(err);
}

/* There at once, with all that is in it: the master may be looking for it by now. */
static int write_whole(struct submission *x, const char *name, const void *p, size_t n,
                       struct err *err)
{
    const struct fs_create how = { .mode = FILE_MODE };
    AUTO_FREE char *path = path_join(x->logs, name);

    return path ? fs_replace(x->fs, path, &how, p, n, err) : err_oom(err);
}

static int submit_make_key(struct submission *x, struct err *err)
{
    struct stream_key *k = &x->ret->key;

    (void)snprintf(k->identity, sizeof(k->identity), "%s", x->ret->id);
    if (getrandom(k->key, sizeof(k->key), 0) != (ssize_t)sizeof(k->key))
        return err_sys(err, "make a key");
    return 0;
}

/* The key that proves to the master whom it talks to: commands of other machines read it from here.
 * It is wiped from our memory at once. */
static int write_key(struct submission *x, struct err *err)
{
    const struct stream_key *k = &x->ret->key;
    char *text = NULL;
    int r;

    if (str_base64(k->key, sizeof(k->key), &text) < 0)
        return err_oom(err);
    r = submit_write(x, x->jobs, "key", text, strlen(text), err);
    explicit_bzero(text, strlen(text));
    free(text);
    return r;
}

static int submit_write_spec(struct submission *x, struct err *err)
{
    AUTO_BUF text = { .max = SPEC_FILE_MAX };
    int r = spec_print(x->o->spec, &text, err);

    return r < 0 ? r : write_whole(x, "spec.json", text.data, text.len, err);
}

/* job.json is what commands know of a job whose log has nothing yet, or is gone: client/past_job.c.
 */
static int submit_write_job(struct submission *x, struct err *err)
{
    const struct submit_options *o = x->o;
    AUTO_JSON *job = NULL;
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *out = yarn_home(o->base, YARN_HOME_OUT, x->ret->id, NULL);
    int r = json_make(&job, err, "{s:i, s:s, s:o, s:o, s:o, s:I, s:o, s:b, s:o, s:{s:I, s:I}}",
                      PROTOCOL_KEY, protocol_number(PROTOCOL_JOB), "id", x->ret->id, "name",
                      json_text(o->spec->name), "framework", json_text(o->spec->framework), "user",
                      json_text(session_user(o->session)), "created", (json_int_t)o->began, "out",
                      json_text(out), "attached", o->attached, "command",
                      json_texts(o->command, SIZE_MAX), "phases", "command", (json_int_t)o->began,
                      "staged", (json_int_t)loop_wall());

    if (r == 0)
        r = submit_add_facts(x, job, err);
    if (r < 0)
        return r;
    text = json_dumps(job, JSON_COMPACT);
    return text ? write_whole(x, "job.json", text, strlen(text), err) : err_oom(err);
}

/* ---- files ---- */

static int upload(struct submission *x, struct err *err)
{
    const struct submit_options *o = x->o;
    int r = uploads_add(o->ship, o->node_program, NODE_NAME, err);

    if (r == 0)
        r = submit_keytab_ship(x, err);
    if (r == 0)
        r = cache_open(session_loop(o->session), o->set, o->base, &x->cache, err);
    return r < 0 ? r : cache_put(x->cache, o->ship, o->quiet, &x->files, err);
}

static int note_uses(struct submission *x, struct err *err)
{
    return cache_use(x->cache, x->ret->id, &x->files, err);
}

/* ---- tokens ---- */

static int add_boot(struct submission *x, struct credentials *c, struct err *err)
{
    AUTO_BUF conf = { .max = CONF_EXPORT_MAX };
    struct yarn_boot b = { .job = x->ret->id,
                           .base = (char *)x->o->base,
                           .user = (char *)session_user(x->o->session),
                           .key = x->ret->key };
    int r = conf_export(session_conf(x->o->session), &conf, err);

    if (r < 0)
        return r;
    b.conf = (char *)buf_text(&conf);
    r = b.conf ? yarn_boot_add(&b, c, err) : err_oom(err);
    explicit_bzero(&b.key, sizeof(b.key));
    return r;
}

/* Their life counts from here on and not from the end of the upload, which may take an hour;
 * submit_job() takes that off. */
static int get_tokens(struct submission *x, struct err *err)
{
    const struct submit_options *o = x->o;
    AUTO_STRS places = { 0 };
    AUTO_CREDENTIALS *c = NULL;
    int r = credentials_new(&c, err);

    if (r == 0)
        r = deploy_places(o->spec, o->base, &places, err);
    if (r == 0)
        r = deploy_tokens(o->session, &places, c, err);
    if (r == 0 && !credentials_find(session_credentials(o->session), KIND_HDFS, NULL))
        x->ret->tokens_ms = deploy_tokens_life(c);
    x->tokens_at = loop_now(session_loop(o->session));
    if (r == 0)
        r = add_boot(x, c, err);
    return r < 0 ? r : credentials_write(c, &x->tokens, err);
}

/* ---- the application ---- */

/* The command is the same for every job: no word of the user's passes a shell or stands in YARN's
 * pages. All that the master has to know is in the credentials. */
static int make_launch(struct submission *x, Yarn__ContainerLaunchContext **ret, struct err *err)
{
    const struct cache_file *node = cache_files_find(&x->files, NODE_NAME);
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = yarn_launch_new();
    struct yarn_file file;
    int r = c && node ? 0 : err_oom(err);

    if (r < 0)
        return r;
    file = (struct yarn_file){ .url = node->url,
                               .size = (int64_t)node->size,
                               .timestamp = node->timestamp,
                               .visibility = YARN__LOCAL_RESOURCE_VISIBILITY__VISIBLE_PRIVATE };
    r = yarn_launch_script(c, "exec ./ydl-node master --container", err);
    if (r == 0)
        r = yarn_launch_script(c, "1><LOG_DIR>/master.log", err);
    if (r == 0)
        r = yarn_launch_script(c, "2>&1", err);
    if (r == 0)
        r = yarn_launch_file(c, NODE_NAME, &file, err);
    if (r == 0)
        r = submit_keytab_launch(x, c, err);
    if (r == 0)
        r = yarn_launch_tokens(c, x->tokens.data, x->tokens.len, err);
    if (r == 0)
        r = submit_add_acls(x, c, err);
    if (r == 0)
        *ret = take(c);
    return r;
}

/* `handed` before the call: an answer that is lost may belong to a request that was carried out,
 * and undo() then has an application to take back. */
static int submit_now(struct submission *x, struct err *err)
{
    const struct submit_options *o = x->o;
    AUTO_MESSAGE Yarn__ContainerLaunchContext *launch = NULL;
    AUTO_MESSAGE Yarn__ApplicationSubmissionContext *context = NULL;
    int r = make_launch(x, &launch, err);

    if (r == 0)
        r = submit_context(x, launch, &context, err);
    x->handed |= r == 0;
    if (r == 0)
        r = yarn_submit(o->client, context, loop_in(session_loop(o->session), SUBMIT_MS), NULL,
                        err);
    return r;
}

/* ---- all of it ---- */

/* The steps without which the application cannot be submitted. */
static int prepare(struct submission *x, struct err *err)
{
    static step_fn *const fns[] = { upload, get_tokens, submit_keytab_write };

    return run_together(x, fns, COUNT_OF(fns), err);
}

/* The master reads these files, but only when YARN has got around to starting it: this takes longer
 * than writing them, and the master waits for them (master/yarn/master_container.c). */
static int submit_hand_over(struct submission *x, struct err *err)
{
    static step_fn *const fns[] = { submit_now, submit_write_job, submit_write_spec, write_key,
                                    note_uses };

    return run_together(x, fns, COUNT_OF(fns), err);
}

/* YARN calls it killed, whatever the reason: the diagnostics have the reason, so that everybody who
 * looks at the job learns what its submitter was told. */
static int submit_take_back(const struct submission *x, int r, const struct err *why)
{
    char text[sizeof(SUBMIT_FAILED) + 16 + 4 * sizeof(why->text)] =
        "interrupted while it was submitted";
    int n;

    if (r != -ECANCELED) {
        n = snprintf(text, sizeof(text), SUBMIT_FAILED "%d): ", x->o->exit_code(r));
        (void)str_clean(text + n, sizeof(text) - (size_t)n, why ? why->text : "");
    }
    return yarn_kill(x->o->client, x->ret->app, text, loop_in(session_loop(x->o->session), KILL_MS),
                     NULL);
}

/* Another step may have failed before we heard that YARN had refused it. YARN's reason is what
 * everybody else sees, so it is reported here too. */
static int ask_whether_refused(const struct submission *x, int r, struct err *err)
{
    AUTO_RPC Yarn__GetApplicationReportResponse *answer = NULL;
    struct err refused = ERR_INIT;

    if (r == -ECANCELED || yarn_report(x->o->client, x->ret->app, &answer, NULL) < 0 ||
        yarn_app_refused(answer->report, &refused) == 0)
        return r;
    if (err)
        *err = refused;
    return refused.code;
}

/* Removes what was made for a job that is not to be; returns why, perhaps better than `r`.
 *
 * First the application, then its directories: a master that has started meanwhile would write into
 * them again. */
static int undo(struct submission *x, int r, struct err *err)
{
    struct loop *l = session_loop(x->o->session);

    if (!x->made)
        return r;
    fiber_shield(l, true);
    if (x->handed && submit_take_back(x, r, err) == 0)
        r = ask_whether_refused(x, r, err);
    if (x->jobs)
        (void)fs_delete(x->fs, x->jobs, true, NULL);
    if (x->logs)
        (void)fs_delete(x->fs, x->logs, true, NULL);
    fiber_shield(l, false);
    return r;
}

static struct buf take_buf(struct buf *b)
{
    struct buf taken = *b;

    *b = (struct buf){ 0 };
    return taken;
}

/*     key ──► directories ──► upload, tokens, keytab ──► submit, job.json, spec.json, key, uses
 *              (trusted?)         at the same time             at the same time */
int submit_job(const struct submit_options *o, struct submitted *ret, struct err *err)
{
    static step_fn *const steps[] = { submit_make_key, open_home, prepare, submit_hand_over };
    struct submission x = { .o = o, .ret = ret, .tokens = { .max = MIB } };
    int r = 0;

    *ret = (struct submitted){ .app = o->facts->app };
    (void)yarn_app_id_text(ret->app, ret->id);
    for (size_t i = 0; i < COUNT_OF(steps) && r == 0; i++)
        r = steps[i](&x, err);
    if (r < 0)
        r = undo(&x, r, err);
    else if (o->keep)
        ret->credentials = take_buf(&x.tokens);
    if (ret->tokens_ms > 0) { /* an upload may have taken long */
        ret->tokens_ms -= loop_now(session_loop(o->session)) - x.tokens_at;
        ret->tokens_ms = ret->tokens_ms > 0 ? ret->tokens_ms : 1;
    }
    cache_files_done(&x.files);
    x.cache = cache_close(x.cache);
    buf_wipe(&x.tokens);
    free(x.keytab.url);
    free(x.jobs);
    free(x.logs);
    return r;
}
