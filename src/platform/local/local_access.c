/* local_access.c - see local_access.h. */
#include "platform/local/local_access.h"
#include "base/json.h"
#include "base/path.h"
#include "platform/local/local_jobs.h"

#include <unistd.h>

#define ACCESS_MAX (4 * MIB)

/* What the options borrow while the session is made. */
struct access {
    json_t *facts;
    struct credentials *credentials; /* NULL: none are needed */
};

static void access_done(struct access *x)
{
    json_decref(x->facts);
    credentials_free(x->credentials);
}

static int access_read(const char *run, struct access *x, struct session_options *o,
                       struct err *err)
{
    AUTO_FREE char *file = path_join(run, JOBS_CLUSTER);
    AUTO_FREE char *tokens = path_join(run, JOBS_TOKENS);
    int r = file && tokens ? json_parse_file(file, ACCESS_MAX, &x->facts, err) : err_oom(err);

    if (r == 0 && json_unpack(x->facts, "{s:s, s:s}", "conf", &o->conf_text, "user", &o->user) < 0)
        r = err_set(err, -EINVAL, "'%s' lacks the configuration or the user", file);
    if (r == 0 && access(tokens, F_OK) == 0)
        r = credentials_load(tokens, &x->credentials, err);
    o->credentials = x->credentials;
    return r;
}

int local_access_session(struct loop *l, const char *run, struct session_options *o,
                         struct session **ret, struct err *err)
{
    struct access x = { 0 };
    int r = access_read(run, &x, o, err);

    if (r == 0)
        r = session_new(l, o, ret, err);
    access_done(&x);
    return r;
}
