/* master_local.c - a master on one machine: nobody comes after it, tasks see the same files, and
 * the kernel says whose process is whose. */
#include "master/local/master_local.h"
#include "base/path.h"
#include "hadoop/fs/fs.h"
#include "master/local/master_local_private.h"
#include "platform/local/local_access.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

/* ---- the start ---- */

static int local_prepare(struct master *m, struct err *err)
{
    (void)snprintf(m->key.identity, sizeof(m->key.identity), "%s", m->opt->dir->id);
    if (getrandom(m->key.key, sizeof(m->key.key), 0) != (ssize_t)sizeof(m->key.key))
        return err_sys(err, "make a key");
    return 0;
}

static int local_start_platform(struct master *m, const struct platform_events *on, struct err *err)
{
    struct master_local *x = local_of(m);
    int r = jobs_state_dir(&x->state_dir, err);

    if (r < 0)
        return r;
    x->platform = (struct local_options){
        .loop = m->loop,
        .spec = &m->spec,
        .node_program = x->node_program,
        .join_file = m->paths.join,
        .state_dir = x->state_dir,
        .job_dir = m->opt->dir->path,
        .log_path = m->paths.log,
        .host_name = m->host_name,
        .nodes = m->spec.nodes,
    };
    return local_new(&x->platform, on, &m->platform, err);
}

static int64_t local_submitted(const struct master *m)
{
    (void)m;
    return 0;
}

/* ---- agents and tasks ---- */

static const char *local_host(const struct master *m)
{
    (void)m;
    return "127.0.0.1";
}

static const char *const *local_inherited(void)
{
    return (const char *const *)environ;
}

static void local_agent_up(struct agent_conn *a)
{
    (void)a;
}

static void local_nobody_saves(struct master *m)
{
    if (local_results_wanted(m))
        master_unsaved(m, "results could not be saved: no agent is left");
}

/* ---- what is published ---- */

static int local_result_place(struct master *m, const struct spec_file *f, char **ret,
                              struct err *err)
{
    const char *cwd = m->facts.cwd ? m->facts.cwd : "/";

    if (!f || !*f->from)
        *ret = m->facts.out_dir ? strdup(m->facts.out_dir) : NULL;
    else
        *ret = spec_is_remote(f->to) ? strdup(f->to) : path_join(cwd, f->to);
    return *ret ? 0 : err_oom(err);
}

static int local_files_open(struct master *m, const char *uri, struct fs_set **ret, struct err *err)
{
    struct session_options o = { .caller = "ydl master", .patient = true };
    struct master_local *x = local_of(m);
    int r = 0;

    if (spec_is_remote(uri))
        r = local_access_session(m->loop, m->opt->dir->run, &o, &x->session, err);
    if (r == 0)
        r = fs_set_new(m->loop, x->session, ret, err);
    if (r < 0)
        x->session = session_free(x->session);
    return r;
}

static void local_files_close(struct master *m, struct fs_set *set)
{
    fs_set_free(set);
    local_of(m)->session = session_free(local_of(m)->session);
}

/* ---- requests ---- */

static int local_join_address(struct master *m, const char **ret, struct err *err)
{
    (void)m;
    (void)ret;
    return err_set(err, -ENOENT, "agents on this machine know where to go");
}

static int local_put_tokens(struct master *m, struct http_call *c, struct err *err)
{
    (void)m;
    (void)c;
    return err_set(err, -EINVAL, "a job on this machine has no tokens");
}

/* ---- the end ---- */

/* As if a person had asked; where tasks have ended already, what is not saved yet is not waited for
 * any more. */
static int local_on_signal(struct master *m, struct err *err)
{
    m->interrupted = true;
    fiber_shield(m->loop, true);
    if (m->save.until)
        m->save.until = loop_now(m->loop);
    else if (engine_stop(m->engine, "a signal", master_now(m), err) < 0)
        err_clear(err); /* the driver sees why, and writes the last record */
    return 0;
}

static void local_free(struct master *m)
{
    free(take(local_of(m)->state_dir));
}

const struct master_ops master_local_ops = {
    .copy = &master_no_copy,
    .owed = &master_no_owed,
    .names = &master_no_names,
    .prepare = local_prepare,
    .read_past = master_do_nothing,
    .listen = local_listen,
    .publish = local_publish,
    .listen_api = local_listen_api,
    .start_platform = local_start_platform,
    .begin = master_created,
    .start = master_do_nothing,
    .servers_up = run_dir_start,
    .submitted = local_submitted,
    .host = local_host,
    .inherited = local_inherited,
    .welcome = local_welcome,
    .agent_up = local_agent_up,
    .own_peer = own_peer_here,
    .own_peer_asked = own_peer_known,
    .results_wanted = local_results_wanted,
    .results = local_results,
    .results_waiting = local_results_waiting,
    .nobody_saves = local_nobody_saves,
    .result_place = local_result_place,
    .files_open = local_files_open,
    .files_close = local_files_close,
    .alone = master_do_nothing,
    .join_address = local_join_address,
    .put_tokens = local_put_tokens,
    .on_signal = local_on_signal,
    .given_up = master_do_nothing,
    .right_to_end = master_do_nothing,
    .end = master_no_action,
    .stop = run_dir_stop,
    .leave = master_no_action,
    .close = master_no_action,
    .free = local_free,
};

int master_local_run(struct loop *l, const struct job_dir *dir, const char *node_program,
                     int ready_fd, struct err *err)
{
    struct master_local side = { .node_program = node_program };
    const struct master_options o = {
        .loop = l, .dir = dir, .ready_fd = ready_fd, .ops = &master_local_ops, .side = &side
    };

    return master_run(&o, err);
}
