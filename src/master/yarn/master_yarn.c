/* master_yarn.c - a master in a container of YARN. What it knows lies in HDFS too, so that another
 * one can go on: it begins with what those before it left, tells the ResourceManager where it is,
 * and leaves with a word for YARN's pages, or as if it had never been. */
#include "master/yarn/master_yarn.h"
#include "base/log.h"
#include "job/protocol.h"
#include "loop/listen.h"
#include "master/yarn/drive_stop.h"
#include "master/yarn/job_page_http.h"
#include "master/yarn/keytab.h"
#include "master/yarn/log_mirror.h"
#include "master/yarn/master_leave.h"
#include "master/yarn/missing_output.h"
#include "master/yarn/recover.h"
#include "master/yarn/registry_entry.h"
#include "master/yarn/rival.h"
#include "master/yarn/yarn_publish.h"
#include "master/yarn/yarn_welcome.h"
#include "platform/yarn/yarn_image.h"

#include <string.h>

/* ---- the start ---- */

static int yarn_prepare(struct master *m, struct err *err)
{
    (void)err;
    m->key = yarn_of(m)->container->boot.key; /* who submitted the job made it */
    m->tls = true;
    return 0;
}

static int yarn_listen(struct master *m, int *ret_fd, char **ret_address, struct err *err)
{
    int port = 0;
    int r = listen_tcp("0.0.0.0", 0, 0, ret_fd, &port, err);

    if (r < 0)
        return r;
    *ret_address = str_printf("tcp:%s:%d", yarn_of(m)->container->host, port);
    return *ret_address ? 0 : err_oom(err);
}

/* With the platform's first words, and in master.json. */
static int yarn_publish(struct master *m, const char *address, struct err *err)
{
    struct yarn_boot *boot = &yarn_of(m)->container->boot;

    boot->address = strdup(address);
    return boot->address ? 0 : err_oom(err);
}

/* Over TCP, to whoever has the job's key. */
static int yarn_listen_api(struct master *m, struct http_server_options *o, struct err *err)
{
    struct master_container *c = yarn_of(m)->container;

    o->name = "api";
    o->key = &m->key;
    if (c->api_fd < 0)
        return listen_tcp("0.0.0.0", 0, 0, &o->fd, &yarn_of(m)->api_port, err);
    o->fd = take_fd(c->api_fd); /* the ResourceManager has told others of it */
    yarn_of(m)->api_port = c->api_port;
    return 0;
}

/* The page listens before the ResourceManager is told its address. A master that had to wait for
 * tokens is registered already (`early`), and cannot do so twice. */
static int yarn_start_platform(struct master *m, const struct platform_events *on, struct err *err)
{
    struct master_yarn *y = yarn_of(m);
    struct master_container *c = y->container;
    int r = page_start(m, err);

    if (r == 0)
        r = yarn_image_by_yarn(&m->spec, session_conf(c->session), &m->images_by_platform, err);
    if (r < 0)
        return r;
    y->platform = (struct yarn_options){
        .session = c->session,
        .spec = &m->spec,
        .facts = &c->facts,
        .boot = &c->boot,
        .node = c->node_conf,
        .images = m->images_by_platform,
        .apart = m->framework->stands_in,
        .early = take(c->early),
        .shown = { .host = c->host, .rpc_port = y->api_port, .tracking_url = y->page_url },
    };
    return yarn_new(&y->platform, on, &m->platform, err);
}

/* By the ResourceManager's clock. */
static int64_t yarn_submitted(const struct master *m)
{
    const char *said = getenv("APP_SUBMIT_TIME_ENV");
    int64_t when;

    (void)m;
    return said && str_to_i64(said, 1, INT64_MAX, &when) == 0 ? when : 0;
}

/* Each part of the log begins with who wrote it. */
static void write_master(struct master *m)
{
    const struct master_container *c = yarn_of(m)->container;
    struct event e;

    engine_event(m->engine, EVENT_MASTER, master_now(m), &e);
    event_int(&e, "attempt", c->attempt);
    event_str(&e, "address", c->boot.address);
    event_int(&e, PROTOCOL_KEY, protocol_number(PROTOCOL_EVENTS));
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
}

/* What is known of the time before us. */
static void write_phases(struct master *m)
{
    static const struct {
        const char *name, *who;
    } phases[] = { { "command", "user" }, { "staged", "ydl" } };
    int64_t submitted = yarn_submitted(m);

    for (size_t i = 0; i < COUNT_OF(phases); i++)
        if (m->facts.phases[i])
            master_phase_at(m, phases[i].name, phases[i].who, m->facts.phases[i]);
    if (submitted)
        master_phase_at(m, "submitted", "ydl", submitted);
    master_phase_at(m, "master", "nm", m->wall);
}

/* What the first one knew is lost: restarts that are used up, and what its tasks wrote unless their
 * agents could save it. */
static void note_lost_record(struct master *m)
{
    if (yarn_of(m)->container->attempt > 1)
        master_note(
            m, "the previous master left no record of the job, so the job starts over; earlier "
               "output of its tasks may be missing");
}

/* Goes on from where a master before us was, or writes the first record.
 * The record of the master comes first in its part of the log, before anything is recovered: a
 * reader knows from it who wrote what follows, and in which version of the format. */
static int yarn_begin(struct master *m, struct err *err)
{
    bool begun;
    int r;

    write_master(m);
    r = recover_job(m, err);
    begun = r > 0;
    if (r == 0)
        r = master_created(m, err);
    if (r < 0)
        return r;
    if (!begun)
        note_lost_record(m);
    write_phases(m);
    return begun;
}

/* What others find us by. Nothing of the start waits for it. */
static void run_announcer(void *arg)
{
    struct master *m = arg;
    struct err err = ERR_INIT;

    if (master_container_announce(yarn_of(m)->container, &err) < 0)
        log_warn(LOG_MASTER, "%s", err.text);
    page_find_proxies(m);
    rival_watch(m);
    yarn_of(m)->announcer = NULL;
}

static int yarn_start(struct master *m, struct err *err)
{
    int r = fiber_start(m->loop, run_announcer, m, &yarn_of(m)->announcer, err);

    return r < 0 ? r : mirror_start(m, err);
}

static int yarn_servers_up(struct master *m, struct err *err)
{
    int r = registry_entry_start(m, err);

    return r < 0 ? r : keytab_watch_start(m, err);
}

/* ---- agents and tasks ---- */

static const char *yarn_host(const struct master *m)
{
    return yarn_of(m)->container->host;
}

/* A container's environment is its agent's. */
static const char *const *yarn_inherited(void)
{
    static const char *const none[] = { NULL };

    return none;
}

static int yarn_join_address(struct master *m, const char **ret, struct err *err)
{
    (void)err;
    *ret = yarn_of(m)->container->boot.address;
    return 0;
}

/* ---- the end ---- */

/* First everything is told to end, and only then is each waited for (yarn_stop()), so that their
 * ends overlap. */
static void yarn_end(struct master *m)
{
    registry_entry_end(m);
    if (yarn_of(m)->announcer)
        fiber_cancel(yarn_of(m)->announcer);
}

static void yarn_stop(struct master *m)
{
    while (yarn_of(m)->announcer)
        (void)fiber_yield(m->loop);
    keytab_watch_stop(m);
}

static void yarn_leave(struct master *m)
{
    if (!m->left)
        leave_yarn(m);
    registry_entry_stop(m);
}

static void yarn_free(struct master *m)
{
    recover_done(m);
    outputs_done(m);
    summary_done(&yarn_of(m)->summary);
    kvanswer_done(m);
    kvlog_done(m);
    free(take(yarn_of(m)->page_url));
}

/* ---- the table ---- */

static const struct copy_ops yarn_copy = {
    .reply = kvanswer_reply,
    .change = kvlog_change,
    .deadline = kvanswer_deadline,
    .on_time = kvanswer_on_time,
    .look = summary_look,
    .has = mirror_has,
    .holds = mirror_holds_events,
    .end = mirror_stop,
};

const struct master_ops master_yarn_ops = {
    .followed = true,
    .files_in_place = true,
    .copy = &yarn_copy,
    .owed = &outputs_ops,
    .names = &registry_ops,
    .prepare = yarn_prepare,
    .read_past = recover_read,
    .listen = yarn_listen,
    .publish = yarn_publish,
    .listen_api = yarn_listen_api,
    .start_platform = yarn_start_platform,
    .begin = yarn_begin,
    .start = yarn_start,
    .servers_up = yarn_servers_up,
    .submitted = yarn_submitted,
    .host = yarn_host,
    .inherited = yarn_inherited,
    .welcome = yarn_welcome,
    .agent_up = tokens_tell,
    .own_peer = own_peer,
    .own_peer_asked = own_peer_asked,
    .results_wanted = yarn_results_wanted,
    .results = yarn_results,
    .results_waiting = yarn_results_waiting,
    .nobody_saves = master_no_action, /* the end names what is not saved, task by task */
    .result_place = yarn_result_place,
    .files_open = yarn_files_open,
    .files_close = yarn_files_close,
    .alone = yarn_alone,
    .join_address = yarn_join_address,
    .put_tokens = tokens_put,
    .on_signal = drive_on_signal,
    .given_up = drive_given_up,
    .right_to_end = drive_right_to_end,
    .end = yarn_end,
    .stop = yarn_stop,
    .leave = yarn_leave,
    .close = page_stop,
    .free = yarn_free,
};

/* Closing is shielded: it waits for servers, and a second SIGTERM must not leave half of it undone.
 */
int master_yarn_run(struct loop *l, struct err *err)
{
    struct master_container c;
    struct master_yarn side = MASTER_YARN_INIT(&c);
    const struct master_options o = {
        .loop = l, .dir = &c.dir, .ready_fd = -1, .ops = &master_yarn_ops, .side = &side
    };
    int r = master_container_open(l, &c, err);

    if (r == 0)
        r = master_run(&o, err);
    fiber_shield(l, true);
    master_container_close(&c);
    fiber_shield(l, false);
    return r;
}
