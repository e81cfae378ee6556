/* master.c - see master.h: puts the parts together, runs the job, takes them apart. */
#include "base/log.h"
#include "base/path.h"
#include "loop/loop.h"
#include "master/master_private.h"

#include <malloc.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#define CLOSE_MS 15000        /* for agents to leave */
#define CLOSE_APART_MS 120000 /* … that bring results home first */
#define LEAST_MS 10000        /* for anything, whatever took how long before */
#define LEFT_MS 10000         /* for the log, when another master goes on */

/* ---- what the job is ---- */

static int master_copy_text(const json_t *facts, const char *key, char **ret, struct err *err)
{
    const char *s = json_string_value(json_object_get(facts, key));

    if (!s)
        return 0;
    *ret = strdup(s);
    return *ret ? 0 : err_oom(err);
}

/* The client has completed the job and checked it; what it wrote says everything that a framework
 * would fill in. Since then it was a file on a disk or in HDFS, and what comes from a file is
 * hostile until it is checked: a cycle of roles would wait forever, a huge count take all memory.
 * One fault is enough for the message: the user saw all of them when the job was submitted. */
static int read_spec(struct master *m, struct err *err)
{
    struct spec_faults faults = { 0 };
    AUTO_FREE char *path = path_join(m->opt->dir->path, "spec.json");
    AUTO_BUF text = { .max = SPEC_FILE_MAX };
    int r = path ? path_read(path, &text, err) : err_oom(err);

    if (r < 0)
        return r;
    r = spec_parse("spec.json", text.data, text.len, &m->spec, &faults);
    if (r == 0)
        r = framework_find(m->spec.framework, &m->framework, err);
    if (r == 0)
        r = spec_check(&m->spec, &faults);
    if (r < 0 && faults.lines.n > 0)
        r = err_set(err, -EINVAL, "%s", faults.lines.v[0]);
    spec_faults_done(&faults);
    return r;
}

static int master_read_facts(struct master *m, struct err *err)
{
    AUTO_JSON *facts = NULL;
    json_int_t phases[2] = { 0 };
    int r = jobs_own_facts(m->opt->dir, &facts, err);

    if (r == 0)
        r = master_copy_text(facts, "name", &m->facts.name, err);
    if (r == 0)
        r = master_copy_text(facts, "user", &m->facts.user, err);
    if (r == 0)
        r = master_copy_text(facts, "cwd", &m->facts.cwd, err);
    if (r == 0)
        r = master_copy_text(facts, "out", &m->facts.out_dir, err);
    m->facts.created = json_int_or(facts, "created", 0);
    m->client.attached = json_is_true(json_object_get(facts, "attached"));
    (void)json_unpack(facts, "{s:{s:I, s:I}}", "phases", "command", &phases[0], "staged",
                      &phases[1]);
    m->facts.phases[0] = phases[0];
    m->facts.phases[1] = phases[1];
    return r < 0 ? r : read_spec(m, err);
}

static int fill_paths(struct master *m, struct err *err)
{
    struct utsname name;

    (void)uname(&name);
    m->host_name = strdup(name.nodename);
    m->paths.work = jobs_work_dir(m->opt->dir);
    m->paths.logs = path_join(m->opt->dir->path, "logs");
    m->paths.journal = path_join(m->opt->dir->path, "events.jsonl");
    m->paths.log = path_join(m->opt->dir->path, "master.log");
    m->paths.join = path_join(m->opt->dir->run, "join.json");
    m->paths.agents = path_join(m->opt->dir->run, "agents.sock");
    if (!m->host_name || !m->paths.work || !m->paths.logs || !m->paths.journal || !m->paths.log ||
        !m->paths.join || !m->paths.agents)
        return err_oom(err);
    return 0;
}

static void set_clock(struct master *m)
{
    m->wall = loop_wall();
    m->mono = loop_now(m->loop);
}

/* ---- parts ---- */

static int start_engine(struct master *m, struct err *err)
{
    struct engine_options o = { .restart = m->framework->restart,
                                .rejoins = m->framework->rejoins,
                                .elastic = m->framework->elastic,
                                .keeps_ports = m->framework->keeps_ports,
                                .submitted = m->ops->submitted(m) };
    struct kv_events kv = drive_kv_events;
    int r;

    kv.user = m;
    (void)!getrandom(&o.seed, sizeof(o.seed), 0);
    r = engine_new(&m->spec, &o, &m->engine, err);
    if (r == 0)
        r = kv_new(&kv, &m->kv, err);
    if (r == 0)
        r = hub_new(&m->hub, err);
    if (r == 0)
        r = job_status_new(&m->status, err);
    if (r == 0)
        r = blacklist_new(m->spec.avoid == SPEC_AVOID_ALL ? BLACKLIST_ANY_FAULT
                                                          : BLACKLIST_NODES_FAULT,
                          0, &m->avoid, err);
    return r;
}

static int start_platform(struct master *m, struct err *err)
{
    struct platform_events on = drive_platform_events;

    on.user = m;
    return m->ops->start_platform(m, &on, err);
}

static void master_say_ready(const struct master *m, int r, const struct err *err)
{
    AUTO_FREE char *text =
        r < 0 ? str_printf("%d %s\n%s\n", r, err->text, err->hint) : strdup("ready\n");

    if (m->opt->ready_fd < 0)
        return;
    if (text)
        (void)path_write_fd(m->opt->ready_fd, text, strlen(text));
    close(m->opt->ready_fd);
}

/* The order is a chain of needs. The past is read into an engine that exists, and before anybody
 * can connect, because reading it waits for HDFS. The platform comes last: it tells the
 * ResourceManager and new containers where our two servers listen. */
static int master_set_up(struct master *m, struct err *err)
{
    int r = master_read_facts(m, err);

    m->tls = m->spec.nodes > 1;
    if (r == 0)
        r = fill_paths(m, err);
    if (r == 0)
        r = m->ops->prepare(m, err);
    if (r == 0)
        r = journal_open(&m->journal, m->paths.journal, err);
    if (r == 0)
        r = start_engine(m, err);
    if (r == 0)
        r = m->ops->read_past(m, err);
    if (r == 0)
        r = agents_listen(m, err);
    if (r == 0)
        r = api_start(m, err);
    return r < 0 ? r : start_platform(m, err);
}

/* ---- fibers beside the driver ---- */

static void master_run_watch(void *arg)
{
    struct master *m = arg;

    agents_watch(m);
    m->watcher = NULL;
}

static void master_stop_fibers(struct master *m)
{
    publish_end(m);
    if (m->watcher)
        fiber_cancel(m->watcher);
    if (m->client.watcher)
        fiber_cancel(m->client.watcher);
    while (m->watcher || m->client.watcher)
        (void)fiber_yield(m->loop);
    m->ops->stop(m);
}

static int master_start_fibers(struct master *m, struct err *err)
{
    int r = fiber_start(m->loop, master_run_watch, m, &m->watcher, err);

    if (r == 0 && m->client.attached)
        r = client_watch(m, err);
    if (r == 0)
        r = m->ops->start(m, err);
    if (r == 0)
        r = form_begin(m, err);
    return r < 0 ? r : m->ops->servers_up(m, err);
}

/* ---- the end ---- */

/* However much of save_time was used up by saving, each step of leaving gets LEAST_MS (or what it
 * asked for, if that is less): a slow save must not leave the application unfinished in YARN. */
int64_t master_end_by(const struct master *m, int64_t ms)
{
    int64_t by = loop_in(m->loop, ms), least = loop_in(m->loop, ms < LEAST_MS ? ms : LEAST_MS);

    if (m->save.until && m->save.until < by)
        by = m->save.until;
    return by > least ? by : least;
}

/* The directory for results, when nothing was put into it, and the one we made it in. */
static void remove_empty_out(const struct master *m)
{
    AUTO_FREE char *all = m->facts.out_dir ? path_dir(m->facts.out_dir) : NULL;

    if (m->facts.out_dir && rmdir(m->facts.out_dir) == 0 && all && str_ends(all, "/ydl-out"))
        (void)rmdir(all);
}

/* Everything that was the run's: sockets, scratch directories, files from a cluster. What tasks
 * wrote stays, unless it only waited to be copied elsewhere and has been. */
static void master_remove_run(struct master *m)
{
    AUTO_FREE char *fetched = path_join(m->opt->dir->path, JOBS_FETCHED);
    const char *waited =
        m->save.until && !m->save.unsaved ? m->ops->results_waiting(m, NULL) : NULL;
    struct err err = ERR_INIT;

    if (path_remove(m->opt->dir->run, &err) < 0 || (fetched && path_remove(fetched, &err) < 0) ||
        (waited && path_remove(waited, &err) < 0))
        log_warn(LOG_MASTER, "%s", err.text);
    remove_empty_out(m);
}

/* Two ways out. `left`: another master goes on, so agents and tasks stay untouched, readers are
 * handed over, and only the log is brought to HDFS. Otherwise the job has ended: readers get the
 * rest of the output first (hub_drain()), agents that were not asked to save are told to leave, and
 * containers are given back. The API is answered until after `leave`, as clients still ask how the
 * job ended. All of it is shielded from cancellation: a second signal must not stop it half way. */
static void take_down(struct master *m)
{
    struct err err = ERR_INIT;

    fiber_shield(m->loop, true);
    m->ended = true;
    m->ops->end(m);
    master_stop_fibers(m);
    if (m->left) {
        api_hand_over(m);
        agents_hang_up(m); /* what they say or ask from here on is for the next one */
        /* One that YARN had given up before may have a successor that has read the log already. */
        api_handed_over(m, m->ops->copy->end(m, loop_in(m->loop, LEFT_MS)) == 0 && !m->over);
    } else if (m->platform && !m->over) {
        hub_drain(m);
        if (!m->save.until || m->save.ask_by)
            agents_shutdown(m, 0);
        (void)m->platform->ops->close(
            m->platform, master_end_by(m, m->platform->ops->apart ? CLOSE_APART_MS : CLOSE_MS),
            &err);
    }
    m->ops->leave(m);
    api_stop(m);
    m->ops->close(m);
    agents_hang_up(m);
    if (m->platform)
        m->platform = m->platform->ops->free(m->platform);
    form_done(m);
    if (!m->left)
        master_remove_run(m);
    fiber_shield(m->loop, false);
}

static void free_parts(struct master *m)
{
    agents_done(m);
    m->hub = hub_free(m->hub);
    m->engine = engine_free(m->engine);
    m->kv = kv_free(m->kv);
    job_status_done(&m->status);
    m->avoid = blacklist_free(m->avoid);
    journal_done(&m->journal);
    live_done(&m->live);
    m->ops->free(m);
    usage_done(m);
    slots_done(&m->slots);
    leaving_done(m);
    outbox_done(&m->outbox);
    free(m->paths.work);
    free(m->paths.logs);
    free(m->facts.cwd);
    free(m->facts.out_dir);
    free(m->facts.name);
    free(m->facts.user);
    free(m->host_name);
    free(m->paths.join);
    free(m->paths.agents);
    free(m->paths.journal);
    free(m->paths.log);
    free(m->save.unsaved);
    spec_done(&m->spec);
    OPENSSL_cleanse(m->key.key, sizeof(m->key.key));
}

/* A thousand agents and readers need descriptors; tasks get the user's own limit back. */
static void raise_limit(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* What a large job needs for a moment only (its Start messages, a page) goes back to the system:
 * glibc would keep it, and let such pieces lie among those that stay. */
static void keep_heap_small(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, 64 * KIB);
    (void)mallopt(M_TRIM_THRESHOLD, 256 * KIB);
}

/* Goes on from where a master before us was, or writes the first record. */
static int master_begin(struct master *m, bool *ret_begun, struct err *err)
{
    int r = m->ops->begin(m, err);

    *ret_begun = r > 0;
    return r < 0 ? r : master_start_fibers(m, err);
}

/* Whoever started the master waits on ready_fd for "ready" or the reason why not: everything that
 * can fail for a reason of the user's is in master_set_up(). */
int master_run(const struct master_options *o, struct err *err)
{
    struct master *m = calloc(1, sizeof(*m));
    bool begun = false;
    int r;

    if (!m)
        return err_oom(err);
    m->loop = o->loop;
    m->opt = o;
    m->ops = o->ops;
    m->side = o->side;
    m->journal.fd = -1;
    spec_init(&m->spec);
    set_clock(m);
    raise_limit();
    keep_heap_small();
    r = master_set_up(m, err);
    master_say_ready(m, r, err);
    if (r == 0)
        r = master_begin(m, &begun, err);
    /* Ended before we could begin: another one will. */
    m->left = r == -ECANCELED && o->ops->followed;
    if (r == 0)
        r = drive_job(m, begun, err);
    take_down(m);
    free_parts(m);
    free(m);
    return r;
}
