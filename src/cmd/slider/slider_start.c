/* slider_start.c - from a definition to its job, and back from the definition to the job that its
 * last start made; see slider_start.h. */
#include "cmd/slider/slider_start.h"
#include "client/client_private.h"
#include "cmd/slider/slider_job.h"
#include "launch/start_job.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>

#define LOOK_MS 100
#define NAMES_MAX (16 * KIB)

/* ---- what is known here ---- */

/* What a cluster's configuration says of itself; owned. */
struct known {
    char *user, *fs_uri, *zk_hosts;
};

static void known_done(struct known *k)
{
    free(k->user);
    free(k->fs_uri);
    free(k->zk_hosts);
}

/* Our name on this machine; "" where the system has none for us. */
static char *user_here(void)
{
    AUTO_FREE char *names = malloc(NAMES_MAX);
    struct passwd entry, *user = NULL;

    if (!names)
        return NULL;
    (void)getpwuid_r(geteuid(), &entry, names, NAMES_MAX, &user);
    return strdup(user ? user->pw_name : "");
}

static int find_known(struct slider *s, const char *said, struct known *k, struct err *err)
{
    static const char *const keys[] = { "hadoop.registry.zk.quorum",
                                        "yarn.resourcemanager.zk-address", "ha.zookeeper.quorum" };
    struct session *session = NULL;
    int r = 0;

    if (said && !(k->zk_hosts = strdup(said)))
        return err_oom(err);
    if (s->local || s->scratch) {
        k->user = user_here();
        return k->user ? 0 : err_oom(err);
    }
    r = job_session(s->x, &session, err);
    if (r < 0)
        return r;
    k->user = strdup(session_user(session));
    r = k->user ? conf_str(session_conf(session), "fs.defaultFS", &k->fs_uri, err) : err_oom(err);
    for (size_t i = 0; r == 0 && !k->zk_hosts && i < COUNT_OF(keys); i++)
        r = conf_str(session_conf(session), keys[i], &k->zk_hosts, err);
    return r;
}

/* ---- making the job ---- */

static int job_text(struct slider *s, const char *name, const struct slider_docs *d, char **ret,
                    struct err *err)
{
    AUTO_FREE char *definition = NULL, *agent = NULL;
    struct slider_model m = { 0 };
    struct known known = { 0 };
    const json_t *extra = json_object_get(d->internal, "options");
    struct slider_facts facts = { .zk_path = json_string_value(json_object_get(extra, "zk_path")) };
    struct slider_job_options o = { .facts = &facts, .local = s->local, .extra = extra };
    int r = slider_store_uri(s, name, slider_archive(d), &definition, err);

    if (r == 0)
        r = slider_store_uri(s, name, "agent.tar", &agent, err);
    if (r == 0)
        r = find_known(s, json_string_value(json_object_get(extra, "zk_hosts")), &known, err);
    if (r == 0)
        r = slider_model(d, name, &s->notes, &m, err);
    if (r == 0) {
        facts.user = known.user;
        facts.fs_uri = known.fs_uri;
        facts.zk_hosts = known.zk_hosts;
        o.definition = definition;
        o.agent = agent;
        r = slider_job(&m, &o, ret, err);
    }
    slider_model_done(&m);
    known_done(&known);
    return r;
}

/* Which job it is, for all verbs that come later. */
static int note_job(struct slider *s, const char *name, struct slider_docs *d, struct err *err)
{
    const char *id = client_id(s->x->client);
    int r;

    (void)json_object_del(d->internal, "message"); /* why the last one was stopped */
    r = json_object_set_new(d->internal, "job", json_string(id)) < 0 ||
                json_object_set_new(d->internal, "started", json_integer(loop_wall())) < 0
            ? err_oom(err)
            : slider_store_write(s, name, "internal.json", d->internal, err);

    if (r == 0)
        return 0;
    fiber_shield(s->x->loop, true); /* one that nobody finds again must not run */
    (void)client_end(s->x->client, "/v1/kill", true, NULL);
    fiber_shield(s->x->loop, false);
    err_wrap(err, r, "save the job id '%s' of '%s'", id, name);
    s->x->client = client_free(s->x->client);
    return r;
}

static int print_started(struct slider *s, const char *name, struct err *err)
{
    const char *id = client_id(s->x->client);
    AUTO_JSON *v = NULL;
    int r = json_make(&v, err, "{s:s, s:s, s:o}", "name", name, "job", id, "path",
                      json_text(client_home(s->x->client)));

    if (r == 0 && slider_given(s, "--out"))
        r = slider_put(s, v, err);
    if (r < 0 || s->json)
        return r < 0 ? r : json_print(stdout, v, err);
    printf("%s\n", id);
    if (fflush(stdout) == EOF)
        return err_sys(err, "write to standard output");
    if (!slider_given(s, "--quiet"))
        fprintf(stderr,
                "%s: see '%s status %s' and '%s exports %s'; 'ydl logs -f %s' shows its output\n",
                s->ask->name, s->ask->name, name, s->ask->name, name, id);
    return 0;
}

/* With -v: the same in ydl's own words. Keys of a cloud are not shown. */
static void slider_say_same(const struct slider *s, const char *text)
{
    const char *always = front_env(s->ask, "YDL_SAY"), *name;
    AUTO_FREE char *shown = NULL;
    AUTO_JSON *job = NULL;
    json_t *v;
    void *next;

    if (!slider_given(s, "--verbose") && (!always || str_eq(always, "0")))
        return;
    if (json_parse("job", text, strlen(text), &job, NULL) < 0)
        return;
    json_object_foreach_safe(json_object_get(job, "env"), next, name, v)
    {
        if (str_starts(name, "AWS_"))
            (void)json_object_set_new(json_object_get(job, "env"), name, json_string("…"));
    }
    shown = json_dumps(job, JSON_COMPACT);
    fprintf(stderr,
            "%s: equivalent command: ydl submit --on %s -f JOB\n"
            "%s: where JOB is: %s\n",
            s->ask->name, s->local ? "local" : "yarn", s->ask->name, shown ? shown : "");
}

int slider_start(struct slider *s, const char *name, struct slider_docs *d, struct err *err)
{
    struct globals *g = s->cli.globals;
    AUTO_FREE char *text = NULL;
    AUTO_SPEC spec = { 0 };
    int r = job_text(s, name, d, &text, err);

    if (r != 0)
        return r;
    slider_say_notes(s);
    slider_say_same(s, text);
    s->x->client = client_free(s->x->client); /* of an earlier start */
    g->job = text;
    g->job_by = s->ask->name;
    r = start_job(s->x, &spec, false, NULL, err);
    g->job = NULL;
    if (r != 0 || !s->x->client)
        return r;
    r = note_job(s, name, d, err);
    if (r < 0)
        return r;
    if (!s->json)
        start_say(s->x, &spec);
    return print_started(s, name, err);
}

/* ---- finding it again ---- */

static int find_here(struct slider *s, const char *id, struct err *err)
{
    AUTO_FREE char *state = NULL;
    AUTO_JOB_DIR dir = JOB_DIR_INIT;
    int r = jobs_state_dir(&state, err);

    if (r == 0)
        r = jobs_find(state, id, &dir, err);
    return r < 0 ? r : client_new(s->x->loop, &dir, &s->x->client, err);
}

static int find_on_yarn(struct slider *s, const char *id, struct err *err)
{
    struct yarn_jobs *y = NULL;
    struct yarn_app_id app;
    int r = yarn_app_id_parse(id, &app, err);

    if (r == 0)
        r = job_yarn(s->x, NULL, &y, err);
    return r < 0 ? r : client_yarn_new(y, app, NULL, &s->x->client, err);
}

int slider_find_job(struct slider *s, const struct slider_docs *d, struct err *err)
{
    const char *id = json_string_value(json_object_get(d->internal, "job"));
    int r;

    s->x->client = client_free(s->x->client);
    if (!id)
        return 0;
    r = str_starts(id, "local-") ? find_here(s, id, err) : find_on_yarn(s, id, err);
    if (r == 0 && slider_given(s, "--quiet"))
        client_set_note(s->x->client, NULL, NULL);
    if (r == 0)
        r = client_alive(s->x->client, err);
    if (r != -ENOENT)
        return r;
    err_clear(err); /* forgotten, so it has ended */
    s->x->client = client_free(s->x->client);
    return 0;
}

/* ---- waiting ---- */

static int ended(struct slider *s, const json_t *status, struct err *err)
{
    static const struct {
        const char *state;
        enum slider_code code;
    } rows[] = { { "FAILED", SLIDER_FAILED }, { "KILLED", SLIDER_KILLED } };
    const char *state = format_text(status, "state");

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(rows[i].state, state)) {
            if (!slider_given(s, "--quiet") && format_failed(status))
                (void)job_tell(status, client_logs(s->x->client), err);
            return slider_fail(s, rows[i].code, -EIO, err, "'%s' has ended: %s%s%s", s->name, state,
                               *format_text(status, "reason") ? ": " : "",
                               format_text(status, "reason"));
        }
    return 0; /* it was quick, and succeeded */
}

int slider_wait_running(struct slider *s, int64_t ms, struct err *err)
{
    int64_t deadline = loop_in(s->x->loop, ms);

    for (;;) {
        AUTO_JSON *status = NULL;
        int r = client_status(s->x->client, false, &status, err);

        if (r == 0 && json_is_integer(json_object_get(status, "ended")))
            return ended(s, status, err);
        if (r == 0 && str_eq(format_text(status, "state"), "RUNNING"))
            return 0;
        if (r == 0 && loop_now(s->x->loop) >= deadline)
            return slider_fail(s, SLIDER_TIMED_OUT, -ETIME, err,
                               "'%s' is not running after %lld s; it is still starting: %s",
                               s->name, (long long)ms / 1000, format_text(status, "waiting"));
        if (r == 0)
            r = fiber_sleep(s->x->loop, LOOK_MS);
        if (r < 0)
            return r;
    }
}
