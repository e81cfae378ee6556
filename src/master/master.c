/* master.c - see master.h: puts the parts together, runs the job, takes them apart. */
#include "base/log.h"
#include "base/path.h"
#include "loop/listen.h"
#include "loop/loop.h"
#include "master/client_watch.h"
#include "master/yarn/missing_output.h"
#include "master/yarn/registry_entry.h"
#include "master/yarn/rival.h"
#include "platform/local/local_platform.h"
#include "platform/yarn/yarn_image.h"

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
        r = framework_complete(m->framework, &m->spec, &faults);
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
        r = master_copy_text(facts, "name", &m->name, err);
    if (r == 0)
        r = master_copy_text(facts, "user", &m->user, err);
    if (r == 0)
        r = master_copy_text(facts, "cwd", &m->cwd, err);
    if (r == 0)
        r = master_copy_text(facts, "out", &m->out_dir, err);
    m->attached = json_is_true(json_object_get(facts, "attached"));
    (void)json_unpack(facts, "{s:{s:I, s:I}}", "phases", "command", &phases[0], "staged",
                      &phases[1]);
    m->phases[0] = phases[0];
    m->phases[1] = phases[1];
    return r < 0 ? r : read_spec(m, err);
}

static int fill_paths(struct master *m, struct err *err)
{
    struct utsname name;

    (void)uname(&name);
    m->host_name = strdup(name.nodename);
    m->work_dir = jobs_work_dir(m->opt->dir);
    m->log_dir = path_join(m->opt->dir->path, "logs");
    m->journal_path = path_join(m->opt->dir->path, "events.jsonl");
    m->log_path = path_join(m->opt->dir->path, "master.log");
    m->join_file = path_join(m->opt->dir->run, "join.json");
    m->agents_path = path_join(m->opt->dir->run, "agents.sock");
    if (!m->host_name || !m->work_dir || !m->log_dir || !m->journal_path || !m->log_path ||
        !m->join_file || !m->agents_path)
        return err_oom(err);
    return 0;
}

static void set_clock(struct master *m)
{
    m->wall = loop_wall();
    m->mono = loop_now(m->loop);
}

static int master_make_key(struct master *m, struct err *err)
{
    if (m->opt->container) { /* who submitted the job made it */
        m->key = m->opt->container->boot.key;
        return 0;
    }
    (void)snprintf(m->key.identity, sizeof(m->key.identity), "%s", m->opt->dir->id);
    if (getrandom(m->key.key, sizeof(m->key.key), 0) != (ssize_t)sizeof(m->key.key))
        return err_sys(err, "make a key");
    return 0;
}

/* ---- parts ---- */

/* By the ResourceManager's clock; 0 on this machine, where nobody waits for a master. */
static int64_t submitted_at(const struct master *m)
{
    const char *said = m->opt->container ? getenv("APP_SUBMIT_TIME_ENV") : NULL;
    int64_t when;

    return said && str_to_i64(said, 1, INT64_MAX, &when) == 0 ? when : 0;
}

static int start_engine(struct master *m, struct err *err)
{
    struct engine_options o = { .restart = m->framework->restart,
                                .rejoins = m->framework->rejoins,
                                .elastic = m->framework->elastic,
                                .submitted = submitted_at(m) };
    struct kv_events kv = drive_kv_events;
    int r;

    kv.user = m;
    (void)!getrandom(&o.seed, sizeof(o.seed), 0);
    r = engine_new(&m->spec, &o, &m->engine, err);
    if (r == 0)
        r = kv_new(&kv, &m->kv, err);
    if (r == 0)
        r = history_new(&m->history, err);
    if (r == 0)
        r = blacklist_new(m->spec.avoid == SPEC_AVOID_ALL ? BLACKLIST_ANY_FAULT
                                                          : BLACKLIST_NODES_FAULT,
                          0, &m->avoid, err);
    return r;
}

static int start_yarn(struct master *m, const struct platform_events *on, struct err *err)
{
    struct master_container *c = m->opt->container;
    int r = yarn_image_by_yarn(&m->spec, session_conf(c->session), &m->images_by_platform, err);

    if (r < 0)
        return r;
    m->yarn = (struct yarn_options){
        .session = c->session,
        .spec = &m->spec,
        .facts = &c->facts,
        .boot = &c->boot,
        .node = c->node_conf,
        .images = m->images_by_platform,
        .early = take(c->early),
        .shown = { .host = c->host, .rpc_port = m->api_port, .tracking_url = m->page_url },
    };
    return yarn_new(&m->yarn, on, &m->platform, err);
}

static int start_platform(struct master *m, struct err *err)
{
    struct platform_events on = drive_platform_events;
    int r;

    on.user = m;
    if (m->opt->container)
        return start_yarn(m, &on, err);
    r = jobs_state_dir(&m->state_dir, err);
    if (r < 0)
        return r;
    m->local = (struct local_options){
        .loop = m->loop,
        .spec = &m->spec,
        .node_program = m->opt->node_program,
        .join_file = m->join_file,
        .state_dir = m->state_dir,
        .job_dir = m->opt->dir->path,
        .log_path = m->log_path,
        .host_name = m->host_name,
        .nodes = m->spec.nodes,
    };
    return local_new(&m->local, &on, &m->platform, err);
}

/* The record that history begins with: what is known before anything happens. */
static int write_created(struct master *m, struct err *err)
{
    const struct engine_facts f = summary_facts(m);

    return engine_created(m->engine, &f, master_now(m), err);
}

/* Each part of the log begins with who wrote it. */
static void write_master(struct master *m)
{
    struct event e;

    engine_event(m->engine, EVENT_MASTER, master_now(m), &e);
    event_int(&e, "attempt", m->opt->container->attempt);
    event_str(&e, "address", m->opt->container->boot.address);
    event_int(&e, PROTOCOL_KEY, protocol_number(PROTOCOL_EVENTS));
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
}

/* What is known of the time before us. */
static int write_phases(struct master *m, struct err *err)
{
    static const struct {
        const char *name, *who;
    } phases[] = { { "command", "user" }, { "staged", "ydl" } };
    int64_t submitted = submitted_at(m);

    (void)err;
    for (size_t i = 0; i < COUNT_OF(phases); i++)
        if (m->phases[i])
            master_phase_at(m, phases[i].name, phases[i].who, m->phases[i]);
    if (submitted)
        master_phase_at(m, "submitted", "ydl", submitted);
    master_phase_at(m, "master", "nm", m->wall);
    return 0;
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

static int master_set_up(struct master *m, struct err *err)
{
    int r = master_read_facts(m, err);

    m->tls = m->spec.nodes > 1 || m->opt->container;
    if (r == 0)
        r = fill_paths(m, err);
    if (r == 0)
        r = master_make_key(m, err);
    if (r == 0)
        r = journal_open(&m->journal, m->journal_path, err);
    if (r == 0)
        r = start_engine(m, err);
    if (r == 0)
        r = recover_read(m, err);
    if (r == 0)
        r = agents_listen(m, err);
    if (r == 0)
        r = api_start(m, err);
    if (r == 0 && m->opt->container)
        r = page_start(m, err);
    return r < 0 ? r : start_platform(m, err);
}

/* ---- fibers beside the driver ---- */

static void master_run_watch(void *arg)
{
    struct master *m = arg;

    agents_watch(m);
    m->watcher = NULL;
}

/* What others find us by. Nothing of the start waits for it. */
static void run_announcer(void *arg)
{
    struct master *m = arg;
    struct err err = ERR_INIT;

    if (master_container_announce(m->opt->container, &err) < 0)
        log_warn(LOG_MASTER, "%s", err.text);
    page_find_proxies(m);
    rival_watch(m);
    m->announcer = NULL;
}

static void master_stop_fibers(struct master *m)
{
    if (m->announcer)
        fiber_cancel(m->announcer);
    if (m->watcher)
        fiber_cancel(m->watcher);
    if (m->client_watcher)
        fiber_cancel(m->client_watcher);
    while (m->watcher || m->client_watcher || m->announcer)
        (void)fiber_yield(m->loop);
    keytab_watch_stop(m);
    run_dir_stop(m);
}

static int master_start_fibers(struct master *m, struct err *err)
{
    int r = fiber_start(m->loop, master_run_watch, m, &m->watcher, err);

    if (r == 0 && m->attached)
        r = client_watch(m, err);
    if (r == 0 && m->opt->container)
        r = fiber_start(m->loop, run_announcer, m, &m->announcer, err);
    if (r == 0 && m->opt->container)
        r = mirror_start(m, err);
    if (r == 0)
        r = form_begin(m, err);
    if (r == 0 && m->opt->container)
        r = registry_entry_start(m, err);
    if (r == 0)
        r = keytab_watch_start(m, err);
    if (r == 0 && !m->opt->container)
        r = run_dir_start(m, err);
    return r;
}

/* ---- the end ---- */

/* The directory for results, when nothing was put into it, and the one we made it in. */
static void remove_empty_out(const struct master *m)
{
    AUTO_FREE char *all = m->out_dir ? path_dir(m->out_dir) : NULL;

    if (m->out_dir && rmdir(m->out_dir) == 0 && all && str_ends(all, "/ydl-out"))
        (void)rmdir(all);
}

/* Everything that was the run's: sockets, scratch directories, files from a cluster. What tasks
 * wrote stays, unless it only waited to be copied elsewhere and has been. */
static void master_remove_run(struct master *m)
{
    AUTO_FREE char *fetched = path_join(m->opt->dir->path, JOBS_FETCHED);
    const char *waited = m->save_until && !m->unsaved ? results_waiting(m, NULL) : NULL;
    struct err err = ERR_INIT;

    if (path_remove(m->opt->dir->run, &err) < 0 || (fetched && path_remove(fetched, &err) < 0) ||
        (waited && path_remove(waited, &err) < 0))
        log_warn(LOG_MASTER, "%s", err.text);
    remove_empty_out(m);
}

static void take_down(struct master *m)
{
    struct err err = ERR_INIT;

    fiber_shield(m->loop, true);
    m->ended = true;
    registry_entry_end(m);
    master_stop_fibers(m);
    if (m->left) {
        api_hand_over(m);
        agents_hang_up(m); /* what they say or ask from here on is for the next one */
        /* One that YARN had given up before may have a successor that has read the log already. */
        api_handed_over(m, mirror_stop(m, loop_in(m->loop, LEFT_MS)) == 0 && !m->over);
    } else if (m->platform && !m->over) {
        hub_drain(m);
        if (!m->save_until || m->ask_by)
            agents_shutdown(m, 0);
        (void)m->platform->ops->close(
            m->platform, leave_by(m, m->opt->container ? CLOSE_APART_MS : CLOSE_MS), &err);
    }
    if (m->opt->container && !m->left)
        leave_yarn(m);
    registry_entry_stop(m);
    m->api = m->api ? http_server_stop(m->api) : NULL;
    page_stop(m);
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
    recover_done(m);
    hub_done(m);
    outputs_done(m);
    m->engine = engine_free(m->engine);
    m->kv = kv_free(m->kv);
    m->history = history_free(m->history);
    m->avoid = blacklist_free(m->avoid);
    journal_done(&m->journal);
    summary_done(&m->summary);
    buf_done(&m->live.lines);
    kvanswer_done(m);
    kvlog_done(m);
    usage_done(m);
    for (uint32_t i = 0; i < m->n_slots; i++) {
        free(m->slots[i].gpus);
        free(m->slots[i].lost_why);
    }
    free(m->slots);
    free(m->busy.v);
    free(m->work_dir);
    free(m->log_dir);
    free(m->cwd);
    free(m->out_dir);
    free(m->name);
    free(m->user);
    free(m->host_name);
    free(m->join_file);
    free(m->agents_path);
    free(m->journal_path);
    free(m->log_path);
    free(m->state_dir);
    free(m->page_url);
    free(m->unsaved);
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
    int r = 0;

    if (m->opt->container) {
        write_master(m);
        r = recover_job(m, err);
    }
    *ret_begun = r > 0;
    if (r == 0)
        r = write_created(m, err);
    if (r >= 0 && m->opt->container)
        r = write_phases(m, err);
    return r < 0 ? r : master_start_fibers(m, err);
}

int master_run(const struct master_options *o, struct err *err)
{
    struct master *m = calloc(1, sizeof(*m));
    bool begun = false;
    int r;

    if (!m)
        return err_oom(err);
    m->loop = o->loop;
    m->opt = o;
    m->journal.fd = m->kv_journal.fd = -1;
    spec_init(&m->spec);
    set_clock(m);
    raise_limit();
    keep_heap_small();
    r = master_set_up(m, err);
    master_say_ready(m, r, err);
    if (r == 0)
        r = master_begin(m, &begun, err);
    m->left = r == -ECANCELED && o->container; /* ended before we could begin: another one will */
    if (r == 0)
        r = drive_job(m, begun, err);
    take_down(m);
    free_parts(m);
    free(m);
    return r;
}
