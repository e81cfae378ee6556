/* remote.c - see remote.h */
#include "agent/remote.h"
#include "agent/agent_private.h"

static bool on_cluster(const char *uri)
{
    static const char *const schemes[] = { "hdfs:", "viewfs:" };

    for (size_t i = 0; i < COUNT_OF(schemes); i++)
        if (str_starts(uri, schemes[i]))
            return true;
    return false;
}

int remote_open(const struct agent *a, const char *uri, int64_t call_ms, struct remote *ret,
                struct err *err)
{
    const struct container *c = a->container;
    struct session_options o = { .caller = "ydl agent", .call_ms = call_ms, .patient = !call_ms };
    int r = 0;

    *ret = (struct remote){ 0 };
    if (c) {
        o.conf_text = c->boot.conf;
        o.user = c->boot.user;
        if (!o.user && a->facts && *a->facts->owner)
            o.user = a->facts->owner;
        o.credentials = c->credentials;
    }
    if (c || on_cluster(uri))
        r = session_new(a->loop, &o, &ret->session, err);
    return r == 0 ? fs_set_new(a->loop, ret->session, &ret->set, err) : r;
}

int remote_find(const struct remote *r, const char *uri, struct fs **ret, char **ret_path,
                struct err *err)
{
    return fs_find(r->set, uri, r->session ? FS_ON_CLUSTER : FS_ON_LOCAL, ret, ret_path, err);
}

void remote_done(struct remote *r)
{
    r->set = fs_set_free(r->set);
    r->session = session_free(r->session);
}
