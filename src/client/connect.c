/* connect.c - opens a session, then runs the verb on a fiber that a signal can cancel. A missing
 * or wrong configuration is the user's to fix and gets the exit code of a usage error. See
 * connect.h. */
#include "client/connect.h"
#include "hadoop/session/kerberos.h"
#include "hadoop/token/credentials.h"

#include <stdio.h>

struct job {
    struct connection *x;
    connect_fn *fn;
    void *arg;
    struct err *err;
};

static int connect_run_job(void *arg)
{
    struct job *j = arg;

    return j->fn(j->x, j->arg, j->err);
}

/* "ydl fs put", as audit logs show it. *ret is the caller's. */
static int caller_name(const struct cli *c, char **ret, struct err *err)
{
    size_t n = 0;
    FILE *f = open_memstream(ret, &n);

    if (!f)
        return err_oom(err);
    cli_print_path(f, c);
    return fclose(f) == 0 ? 0 : err_oom(err);
}

static int new_session(struct connection *x, struct err *err)
{
    const struct globals *g = x->globals;
    AUTO_FREE char *caller = NULL;
    struct session_options options = {
        .conf_dir = g->conf,
        .as_user = g->as,
        .principal = g->principal,
        .keytab = g->keytab,
        .call_ms = g->timeout,
        .hasty = x->hasty,
        .kerberos = &kerberos_by_gss,
    };
    int r = caller_name(x->cli, &caller, err);

    if (r < 0)
        return r;
    options.caller = caller;
    return session_new(x->loop, &options, &x->session, err);
}

/* Nobody has been contacted: what is wrong is a file of the user's, or that there is none. */
static int as_usage(int r, struct err *err)
{
    static const int codes[] = { -ENOENT, -ENOTDIR, -EINVAL, -EBADMSG, -ENODATA, -E2BIG };

    for (size_t i = 0; i < COUNT_OF(codes); i++)
        if (r == codes[i])
            return err->code = CLI_USAGE;
    return r;
}

/* No directory at all, and none was asked for. */
static bool absent(const struct connection *x, int r)
{
    return r == -ENOENT && !x->globals->conf && !getenv("HADOOP_CONF_DIR") &&
           !getenv("YARN_CONF_DIR");
}

int connect_open(struct connection *x, enum connect_need need, struct err *err)
{
    bool anyhow = need == CONNECT_ANYHOW, go_on;
    int r;

    x->hasty |= anyhow;
    r = new_session(x, err);
    go_on = anyhow || (need == CONNECT_IF_CONFIGURED && absent(x, r));
    r = as_usage(r, err);
    if (r < 0 && go_on) {
        x->unconfigured = *err;
        err_clear(err);
        r = 0;
    }
    return r;
}

int connect_run(const struct cli *c, enum connect_need need, connect_fn *fn, void *arg,
                struct err *err)
{
    struct connection x = { .cli = c, .globals = globals_of(c) };
    struct job j = { .x = &x, .fn = fn, .arg = arg, .err = err };
    int r = loop_new(&x.loop, err);

    if (r < 0)
        return r;
    r = connect_open(&x, need, err);
    if (r == 0)
        r = loop_run(x.loop, connect_run_job, &j, true);
    if (r < 0 && loop_signal(x.loop))
        r = err_set(err, -ECANCELED, "interrupted");
    session_free(x.session);
    loop_free(x.loop);
    return r;
}

int connect_user(struct connection *x, struct err *err)
{
    int r = x->session ? session_find_user(x->session, err) : 0;

    if (r < 0 && credentials_count(session_credentials(x->session)) > 0) {
        err_clear(err);
        return 0;
    }
    return r;
}
