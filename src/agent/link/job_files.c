/* job_files.c - a session with HDFS for the moments when the agent needs one. */
#include "agent/link/job_files.h"
#include "agent/agent_private.h"

int remote_open(const struct agent *a, const char *uri, int64_t call_ms, struct remote *ret,
                struct err *err)
{
    struct session_options o = { .caller = "ydl agent", .call_ms = call_ms, .patient = !call_ms };
    int r;

    *ret = (struct remote){ .where = a->platform->cluster_fs ? FS_ON_CLUSTER : FS_ON_LOCAL };
    r = a->platform->session(a, uri, &o, &ret->session, err);
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
