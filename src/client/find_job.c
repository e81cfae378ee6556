/* find_job.c - a job by what the user calls it: job_find() of job_call.h */
#include "client/client_private.h"
#include "client/job_call.h"

#include <stdio.h>
#include <string.h>

#define APP "application_"
#define IDS_SHOWN 3

struct search {
    struct job_call *x;
    const struct job_where *where;
    const char *what;
    bool last;
    struct job_dir dir;    /* the local one that fits; id NULL: none */
    struct yarn_apps apps; /* those of YARN that fit */
    struct yarn_jobs *yarn;
};

/* ---- by id ---- */

static int find_app(struct search *s, struct client **ret, struct err *err)
{
    AUTO_CLIENT *c = NULL;
    struct session *session = NULL;
    struct yarn_app_id id;
    int r = yarn_app_id_parse(s->what, &id, err);

    if (r < 0)
        return r == -EINVAL ? err->code = CLI_USAGE : r;
    r = job_session(s->x, &session, err);
    if (r == 0)
        r = job_yarn(s->x, s->where->staging, &s->yarn, err);
    if (r == 0)
        r = client_yarn_new(s->yarn, id, NULL, &c, err);
    if (r == 0)
        r = client_alive(c, err); /* whose is it, and is there one? */
    if (r < 0)
        return r;
    *ret = take(c);
    return 0;
}

/* ---- by name, and the newest ---- */

static int look_here(struct search *s, struct err *err)
{
    AUTO_FREE char *state = NULL;
    enum job_place place;
    int r = job_place(s->where, &place, err);

    if (r == 0)
        r = jobs_state_dir(&state, err);
    if (r < 0 || place == JOB_YARN)
        return r;
    r = jobs_find(state, s->what, &s->dir, err);
    if (r != -ENOENT)
        return r;
    err_clear(err);
    return 0;
}

static int look_on_yarn(struct search *s, struct err *err)
{
    int r = str_starts(s->what, "local-") ? 0 : job_yarn_too(s->x, s->where, &s->yarn, err);

    if (r < 0 || !s->yarn)
        return r;
    r = yarn_jobs_list(s->yarn, s->last ? NULL : s->what, false, &s->apps, err);
    if (r < 0)
        yarn_apps_done(&s->apps);
    if (s->last && s->apps.n > 1)
        s->apps.n = 1; /* the newest */
    return r < 0 ? job_without_yarn(s->x, s->where, r, err) : 0;
}

static int no_such_job(const struct search *s, struct err *err)
{
    if (s->x->without_yarn < 0)
        return err_set(err, s->x->without_yarn,
                       "there is no such job on this machine, and the cluster could not be asked");
    if (s->last)
        err_set(err, -ENOENT, "there are no jobs yet");
    else
        err_set(err, -ENOENT, "there is no job '%s'", s->what);
    err_hint(err, "see 'ydl list --all'");
    return -ENOENT;
}

static int several_jobs(const struct search *s, struct err *err)
{
    size_t n = s->apps.n + (s->dir.id ? 1 : 0);
    char ids[(IDS_SHOWN + 1) * YARN_APP_ID_TEXT], id[YARN_APP_ID_TEXT];

    (void)snprintf(ids, sizeof(ids), "%.40s", s->dir.id ? s->dir.id : "");
    for (size_t i = 0; i < s->apps.n && i < IDS_SHOWN; i++) {
        size_t used = strlen(ids);

        yarn_app_id_text(yarn_app_id_of(s->apps.v[i]->application_id), id);
        (void)snprintf(ids + used, sizeof(ids) - used, "%s%s", used ? ", " : "", id);
    }
    err_set(err, -EINVAL, "%zu jobs are called '%s': %s%s", n, s->what, ids,
            s->apps.n > IDS_SHOWN ? ", …" : "");
    err_hint(err, "name one of them by its id");
    return -EINVAL;
}

/* When the local one was started; 0 when it does not say. */
static int64_t created_here(const struct search *s)
{
    AUTO_JSON *facts = NULL;

    return s->dir.id && jobs_facts(&s->dir, &facts, NULL) == 0 ? json_int_or(facts, "created", 0)
                                                               : 0;
}

/*     here    on YARN    "last"            a name
 *     -       -          there is none     there is none
 *     one     -          that one          that one
 *     -       one        that one          that one
 *     one     one        the newer one     several: say an id
 *     any     several    (at most one)     several: say an id
 *
 * A name that several jobs on this machine have jobs_find() has refused. */
static int choose_job(struct search *s, struct client **ret, struct err *err)
{
    bool here = s->dir.id != NULL, yarn = s->apps.n > 0;

    if (!here && !yarn)
        return no_such_job(s, err);
    if (s->apps.n > 1 || (here && yarn && !s->last))
        return several_jobs(s, err);
    if (here && yarn)
        here = created_here(s) >= s->apps.v[0]->start_time;
    if (here)
        return client_new(s->x->loop, &s->dir, ret, err);
    return client_yarn_new(s->yarn, yarn_app_id_of(s->apps.v[0]->application_id), NULL, ret, err);
}

int job_find(struct job_call *x, const char *what, struct client **ret, struct err *err)
{
    struct search s = { .x = x,
                        .where = job_args(x),
                        .what = what,
                        .last = str_eq(what, "last"),
                        .dir = JOB_DIR_INIT };
    int r;

    if (str_starts(what, APP))
        return find_app(&s, ret, err);
    r = look_here(&s, err);
    if (r == 0)
        r = look_on_yarn(&s, err);
    if (r == 0)
        r = choose_job(&s, ret, err);
    job_dir_done(&s.dir);
    yarn_apps_done(&s.apps);
    return r;
}
