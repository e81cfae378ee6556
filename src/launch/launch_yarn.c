/* launch_yarn.c - checks run in the order of their cost: files here, then NameNode and
 * ResourceManager at the same time, then the fit. A cluster that has just started has no nodes
 * yet, so an empty one is asked again before it is called too small. See launch_yarn.h. */
#include "launch/launch_yarn.h"
#include "cli/exit.h"
#include "client/client.h"
#include "launch/client_agent.h"
#include "launch/job_submission.h"
#include "launch/launch_local.h"
#include "launch/launch_options.h"
#include "launch/submit_tokens.h"
#include "launch/targets/publish_target.h"
#include "loop/fiber.h"
#include "loop/loop.h"
#include "loop/resolve.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RESOLVE_MS 10000
#define WAIT_MS 2000  /* between looks at a cluster that has no room */
#define NODES_MS 1000 /* nodes look for their ResourceManager about once a second */

/* Everything that a launch holds on to. */
struct launching {
    struct job_call *x;
    const struct spec *spec;
    const struct launch_yarn_options *o;
    struct fs_set *set;
    struct yarn_client *client;
    char *base, *cwd;
    char address[INET6_ADDRSTRLEN]; /* of this machine, as --client-address says; "": nothing */
    struct uploads_list ship;
    struct deploy_facts facts;
    struct capacity room;
};

static void launching_done(struct launching *l)
{
    uploads_done(&l->ship);
    deploy_facts_done(&l->facts);
    l->client = yarn_client_free(l->client);
    l->set = fs_set_free(l->set);
    free(l->base);
    free(l->cwd);
}

/* From the job, else from where later commands will read it (yarn_jobs.h). */
static int launch_find_base(struct launching *l, struct err *err)
{
    const char *staging = l->spec->staging, *env = getenv("YDL_STAGING");
    AUTO_FREE char *setting = NULL;
    int r = 0;

    if (!staging && env && *env)
        staging = env;
    if (!staging)
        r = conf_str(session_conf(l->o->session), YARN_JOBS_KEY, &setting, err);
    return r < 0 ? r : submit_base(l->set, staging ? staging : setting, &l->base, err);
}

static int launching_open(struct launching *l, struct err *err)
{
    struct session *s = l->o->session;
    int r = session_find_user(s, err);

    l->cwd = l->spec->directory ? strdup(l->spec->directory) : getcwd(NULL, 0);
    if (r == 0 && !l->cwd)
        r = err_sys(err, "find the working directory");
    if (r == 0)
        r = fs_set_new(l->x->loop, s, &l->set, err);
    if (r == 0)
        r = yarn_client_new(s, &l->client, err);
    return r < 0 ? r : launch_find_base(l, err);
}

/* ---- checks ---- */

static int launch_look_at_files(struct launching *l, struct spec_faults *f, struct err *err)
{
    const struct uploads_options o = { .cwd = l->cwd, .no_ship = l->o->no_ship };
    int r = uploads_find(l->spec, &o, &l->ship, f);

    return r == -ENOMEM ? err_oom(err) : 0;
}

static int get_facts(void *arg, struct err *err)
{
    struct launching *l = arg;

    return deploy_facts_get(l->client, l->o->session, l->spec->queue, &l->facts, err);
}

/* The way to the NameNode, which everything that follows goes. Its failures are reported by the
 * step that uses it. */
static int open_files(void *arg, struct err *err)
{
    struct launching *l = arg;
    AUTO_FREE char *path = NULL;
    struct fs_entry found = { 0 };
    struct fs *fs = NULL;

    (void)err;
    if (fs_find(l->set, l->base, FS_ON_CLUSTER, &fs, &path, NULL) == 0 &&
        fs_stat(fs, path, &found, NULL) == 0)
        fs_entry_done(&found);
    return 0;
}

/* Both servers at the same time. */
static int launch_look_at_cluster(struct launching *l, struct spec_faults *f, struct err *err)
{
    static int (*const looks[])(void *arg, struct err *err) = { get_facts, open_files };
    int r;

    deploy_facts_done(&l->facts);
    l->facts = (struct deploy_facts){ 0 };
    r = group_all(l->x->loop, looks, COUNT_OF(looks), l, err);
    if (r < 0)
        return r;
    r = capacity_check(l->spec, &l->facts, NULL, f, &l->room);
    return r == -ENOMEM ? err_oom(err) : r == -EINVAL ? 0 : r; /* what is wrong is in `f` */
}

static void launch_say(const struct launching *l, const char *text)
{
    if (!l->x->globals->quiet)
        fprintf(stderr, "%s: %s\n", l->x->cli->program->name, text);
}

/* A sentence with names of the user's in it. */
static void launch_say_note(const struct launching *l, const char *text)
{
    char clean[1024] = "note: ";

    str_clean(clean + strlen(clean), sizeof(clean) - strlen(clean), text);
    launch_say(l, clean);
}

static size_t running_nodes(const struct deploy_facts *f)
{
    size_t n = 0;

    for (size_t i = 0; i < f->n_nodes; i++)
        n += f->nodes[i].running;
    return n;
}

static int launch_look_again(struct launching *l, int64_t pause, struct spec_faults *f,
                             struct err *err)
{
    int r = fiber_sleep(l->x->loop, pause);

    if (r < 0)
        return err_set(err, r, "interrupted");
    spec_faults_done(f);
    *f = (struct spec_faults){ 0 };
    return launch_look_at_cluster(l, f, err);
}

/* A ResourceManager that has just started, or taken over, has no node until they have found it: one
 * that has none is given the time that --timeout says, one that has too few is looked at until no
 * more come. */
static int wait_for_nodes(struct launching *l, struct spec_faults *f, struct err *err)
{
    int64_t deadline = loop_in(l->x->loop, l->x->globals->timeout);
    size_t n = running_nodes(&l->facts), before;
    bool said = false;
    int r = 0;

    while (r == 0 && (n == 0 || l->room.too_small) && loop_now(l->x->loop) < deadline) {
        if (n == 0 && !said)
            launch_say(l, "the cluster has no running node; waiting for one");
        said |= n == 0;
        before = n;
        r = launch_look_again(l, NODES_MS, f, err);
        n = running_nodes(&l->facts);
        if (r == 0 && n > 0 && n == before)
            break;
    }
    return r;
}

/* With --wait a job that is too large for the cluster is held back until it is not. */
static int launch_wait_for_room(struct launching *l, struct spec_faults *f, struct err *err)
{
    bool said = false;
    int r = 0;

    while (r == 0 && f->lines.n > 0 && l->room.too_small) {
        if (!said)
            launch_say(l, f->lines.v[0]);
        if (!said)
            launch_say(l, "waiting for the cluster to grow");
        said = true;
        r = launch_look_again(l, WAIT_MS, f, err);
    }
    return r;
}

static int check_targets(struct launching *l, enum deploy_look look, struct spec_faults *f,
                         struct err *err)
{
    const struct spec_files *out = &l->spec->output;
    struct err no = ERR_INIT;
    int x = publish_check(l->o->session, l->set, l->spec, look, &no);

    x = options_blame(f, "output.publish", x, &no, err);
    if (x < 0)
        return x;
    for (size_t i = 0; i < out->n; i++) {
        struct err why = ERR_INIT;
        int r = deploy_check_target(l->o->session, l->set, out->v[i].to, look, &why);

        r = options_blame(f, "output", r, &why, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Checks the keytab with which the job can outlive its tokens. */
static int launch_check_keytab(struct launching *l, struct spec_faults *f, struct err *err)
{
    const struct deploy_keytab k = deploy_keytab(l->o->session, l->spec);
    AUTO_FREE char *note = NULL;
    struct err why = ERR_INIT;
    int r = deploy_keytab_check(l->o->session, &k, &note, &why);

    if (note)
        launch_say(l, note);
    if (r < 0 && r != -ENOMEM && r != -ECANCELED && exit_code(r) != EXIT_UNREACHABLE)
        r = -EINVAL; /* its file, its key or its principal, and not a KDC that is away */
    return options_blame(f, "keytab", r, &why, err);
}

/* Tasks on this machine live for as long as the program that starts them. */
static int check_stays(const struct launching *l, struct spec_faults *f, struct err *err)
{
    const struct spec *s = l->spec;
    char key[64];

    for (size_t i = 0; i < s->n_roles && !l->o->attached; i++) {
        if (s->roles[i].place != SPEC_PLACE_CLIENT)
            continue;
        (void)snprintf(key, sizeof(key), "roles.%.40s.place", s->roles[i].name);
        if (spec_fault(f, 0, key,
                       "tasks on this machine end with the command that starts them; "
                       "use 'ydl run' without --detach-on-interrupt") == -ENOMEM)
            return err_oom(err);
    }
    return 0;
}

/* Can tasks on this machine listen there? */
static bool launch_is_ours(const union resolve_addr *a)
{
    AUTO_CLOSE int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    return fd < 0 || bind(fd, &a->sa, resolve_len(a)) == 0 || errno != EADDRNOTAVAIL;
}

/* The address of another machine, such as the ResourceManager's, which older texts asked for. */
static int note_not_ours(struct launching *l, struct err *err)
{
    AUTO_FREE char *text = str_printf("'%s' is not an address of this machine; tasks that run here "
                                      "use the address that reaches the cluster",
                                      l->spec->client_address);

    if (!text)
        return err_oom(err);
    launch_say_note(l, text);
    return 0;
}

/* A number is what tasks get, so that no name service of theirs matters. */
static int find_address(struct launching *l, struct spec_faults *f, struct err *err)
{
    const char *name = l->spec->client_address;
    struct resolve_addrs found = { 0 };
    struct err why = ERR_INIT;
    int r;

    if (!name || !client_agent_wanted(l->spec))
        return 0;
    r = resolve_host(l->x->loop, name, 0, loop_in(l->x->loop, RESOLVE_MS), &found, &why);
    if (r == -ECANCELED)
        return err_set(err, r, "interrupted");
    if (r == 0 && !launch_is_ours(&found.v[0]))
        return note_not_ours(l, err);
    if (r == 0)
        (void)resolve_text(&found.v[0], l->address);
    return options_blame(f, "client-address", r == -ENXIO ? -EINVAL : r, &why, err);
}

/* Waiting for the cluster comes before files are looked at: they may change while one waits for
 * hours. All faults of all checks are told together. */
static int launch_check(struct launching *l, enum deploy_look look, struct err *err)
{
    AUTO_SPEC_FAULTS f = { 0 };
    int r = 0;

    if (look == DEPLOY_PROBE)
        r = check_stays(l, &f, err);
    if (r == 0)
        r = find_address(l, &f, err);
    if (r == 0)
        r = launch_look_at_cluster(l, &f, err);
    if (r == 0)
        r = wait_for_nodes(l, &f, err);
    if (r == 0 && l->o->wait)
        r = launch_wait_for_room(l, &f, err);
    if (r == 0)
        r = launch_look_at_files(l, &f, err);
    for (size_t i = 0; r == 0 && i < l->ship.notes.n; i++)
        launch_say_note(l, l->ship.notes.v[i]);
    if (r == 0)
        r = launch_check_keytab(l, &f, err);
    if (r == 0)
        r = check_targets(l, look, &f, err);
    return r < 0 || f.lines.n == 0 ? r : options_faults(l->x->cli, &f, err);
}

/* ---- the submit ---- */

#define DAY_MS ((int64_t)24 * 3600 * 1000)

/* A job that nobody stays with and that has no keytab does little once its tokens have expired.
 * Nobody can stay with a deployment, and what answers requests needs no HDFS. */
static void note_expiry(const struct launching *l)
{
    bool serves = str_eq(l->spec->framework, "serve");
    char span[FORMAT_SPAN], text[400];
    int64_t ms = l->x->tokens_ms;

    if (ms <= 0 || l->o->attached || deploy_keytab(l->o->session, l->spec).file)
        return;
    if (ms >= 2 * DAY_MS)
        (void)snprintf(span, sizeof(span), "%lld days", (long long)((ms + DAY_MS / 2) / DAY_MS));
    else
        (void)format_span(ms, span);
    (void)snprintf(text, sizeof(text),
                   serves
                       ? "the deployment's tokens expire in %s; after that it goes on answering, "
                         "but cannot use HDFS: updates and replicas on new nodes fail. To get new "
                         "ones, deploy it with --principal and --keytab"
                       : "the job's tokens expire in %s; after that it cannot use HDFS. To get "
                         "new ones, give --principal and --keytab, or keep 'ydl run' running",
                   span);
    launch_say_note(l, text);
}

/* With `keep` the job's credentials stay in memory for the agent beside the client, and are wiped
 * as soon as client_agent_new() has its copy. */
static int launch_submit(struct launching *l, int64_t began, struct err *err)
{
    AUTO_FREE char *program = NULL;
    struct submitted app = { 0 };
    struct submit_options o = {
        .session = l->o->session,
        .set = l->set,
        .client = l->client,
        .spec = l->spec,
        .facts = &l->facts,
        .ship = &l->ship,
        .base = l->base,
        .command = l->o->command,
        .began = began,
        .attached = l->o->attached,
        .quiet = l->x->globals->quiet,
        .keep = client_agent_wanted(l->spec),
        .exit_code = exit_code,
    };
    int r = launch_node_program(&program, err);

    o.node_program = program;
    if (r == 0)
        r = submit_job(&o, &app, err);
    if (r == 0)
        r = client_open_app(l->x->loop, l->o->session, app.app, &app.key, &l->x->client, err);
    if (r == 0)
        r = client_set_base(l->x->client, l->base, err);
    if (r == 0)
        client_sweep(l->x->client); /* the job itself is on its way, and not held up */
    if (r == 0 && o.keep)
        r = client_agent_new(l->x, &app, l->cwd, *l->address ? l->address : NULL, &l->x->beside,
                             err);
    l->x->tokens_ms = app.tokens_ms;
    if (r == 0)
        note_expiry(l);
    buf_wipe(&app.credentials);
    explicit_bzero(&app.key, sizeof(app.key));
    return r;
}

int launch_yarn(struct job_call *x, const struct spec *s, const struct launch_yarn_options *o,
                struct err *err)
{
    struct launching l = { .x = x, .spec = s, .o = o };
    int64_t began = loop_wall();
    int r = launching_open(&l, err);

    if (r == 0)
        r = launch_check(&l, DEPLOY_PROBE, err);
    if (r == 0 && !l.room.fits_now)
        launch_say(&l, l.room.text);
    if (r == 0)
        r = launch_submit(&l, began, err);
    launching_done(&l);
    return r;
}

/* ---- the plan ---- */

/* A plan without a cluster is still one; it says that nothing was checked there. */
static int print_plan(struct launching *l, bool checked, json_t *doc, struct err *err)
{
    AUTO_BUF text = { .max = 64 * MIB };
    AUTO_JSON *files = NULL;
    int r;

    if (!doc) {
        if (uploads_print(&l->ship, &text) < 0)
            return err_oom(err);
        fwrite(text.data ? text.data : (uint8_t *)"", 1, text.len, stdout);
        if (!checked)
            printf("cluster: checks not done\n");
        else
            printf("cluster: %zu containers with the master's%s%s%s\n", l->room.needed,
                   l->room.fits_now ? ", there is room now" : ": ", l->room.text,
                   l->room.fits_now && l->facts.queue.silent
                       ? " on the nodes; the scheduler does not report the queue's limits"
                       : "");
        return 0;
    }
    r = uploads_json(&l->ship, &files, err);
    if (r == 0 && (json_object_set(doc, "ship", files) < 0 ||
                   json_object_set_new(doc, "checked", json_boolean(checked)) < 0 ||
                   json_object_set_new(doc, "room", json_text(l->room.text)) < 0))
        r = err_oom(err);
    return r;
}

int launch_yarn_plan(struct job_call *x, const struct spec *s, const struct launch_yarn_options *o,
                     json_t *doc, struct err *err)
{
    struct launching l = { .x = x, .spec = s, .o = o };
    AUTO_SPEC_FAULTS f = { 0 };
    bool checked = o->session != NULL;
    int r = 0;

    if (checked)
        r = launching_open(&l, err);
    else
        l.cwd = s->directory ? strdup(s->directory) : getcwd(NULL, 0);
    if (r == 0)
        r = checked ? launch_check(&l, DEPLOY_LOOK, err) : launch_look_at_files(&l, &f, err);
    if (r == 0 && f.lines.n > 0)
        r = options_faults(x->cli, &f, err);
    if (r == 0)
        r = print_plan(&l, checked, doc, err);
    launching_done(&l);
    return r;
}
