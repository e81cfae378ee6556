/* job_files.c - see job_files.h */
#include "agent/link/job_files.h"
#include "agent/agent_private.h"
#include "base/json.h"
#include "base/path.h"
#include "platform/local/local_jobs.h"

#define ACCESS_MAX (4 * MIB)

static bool on_cluster(const char *uri)
{
    static const char *const schemes[] = { "hdfs:", "viewfs:" };

    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (str_starts(uri, schemes[i]))
            return true;
    return false;
}

/* What the client knew of the cluster, in files beside the one that we joined by. */
struct access {
    json_t *facts;
    struct credentials *credentials; /* NULL: none are needed */
};

static void access_done(struct access *x)
{
    json_decref(x->facts);
    credentials_free(x->credentials);
}

static int access_read(const struct agent *a, struct access *x, struct session_options *o,
                       struct err *err)
{
    AUTO_FREE char *run = path_dir(a->opt->join_file);
    AUTO_FREE char *file = run ? path_join(run, JOBS_CLUSTER) : NULL;
    AUTO_FREE char *tokens = run ? path_join(run, JOBS_TOKENS) : NULL;
    int r = file && tokens ? json_parse_file(file, ACCESS_MAX, &x->facts, err) : err_oom(err);

    if (r == 0 && json_unpack(x->facts, "{s:s, s:s}", "conf", &o->conf_text, "user", &o->user) < 0)
        r = err_set(err, -EINVAL, "'%s' lacks the configuration or the user", file);
    if (r == 0 && access(tokens, F_OK) == 0)
        r = credentials_load(tokens, &x->credentials, err);
    o->credentials = x->credentials;
    return r;
}

static int open_from_here(const struct agent *a, struct session_options *o, struct remote *ret,
                          struct err *err)
{
    struct access x = { 0 };
    int r = access_read(a, &x, o, err);

    if (r == 0)
        r = session_new(a->loop, o, &ret->session, err);
    access_done(&x);
    return r;
}

int remote_open(const struct agent *a, const char *uri, int64_t call_ms, struct remote *ret,
                struct err *err)
{
    const struct agent_container *c = a->container;
    struct session_options o = { .caller = "ydl agent", .call_ms = call_ms, .patient = !call_ms };
    int r = 0;

    *ret = (struct remote){ .where = c ? FS_ON_CLUSTER : FS_ON_LOCAL };
    if (c) {
        o.conf_text = c->boot.conf;
        o.user = c->boot.user;
        if (!o.user && a->facts && *a->facts->owner)
            o.user = a->facts->owner;
        o.credentials = c->credentials;
        r = session_new(a->loop, &o, &ret->session, err);
    } else if (on_cluster(uri)) {
        r = open_from_here(a, &o, ret, err);
    }
    return r == 0 ? fs_set_new(a->loop, ret->session, &ret->set, err) : r;
}

int remote_find(const struct remote *r, const char *uri, struct fs **ret, char **ret_path,
                struct err *err)
{
    return fs_find(r->set, uri, r->where, ret, ret_path, err);
}

void remote_done(struct remote *r)
{
    r->set = fs_set_free(r->set);
    r->session = session_free(r->session);
}
