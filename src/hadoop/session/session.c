/* session.c - puts together configuration, user and tokens. Who the user is comes from a ticket
 * under Kerberos, otherwise from HADOOP_USER_NAME, USER or /etc/passwd, because the static
 * program cannot ask NSS. See session.h. */
#include "hadoop/session/session.h"
#include "base/log.h"
#include "base/str.h"
#include "hadoop/conf/principal.h"
#include "loop/work.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Before a service ever answered, the user wants to know at once that it is not there; but an HA
 * pair may just be changing over, and while it does both addresses refuse. Once it did answer, an
 * operation is worth waiting for. */
#define PATIENCE_MS 60000
#define PATIENCE_HASTY_MS 3000
#define PATIENCE_DAEMON_MS 900000

struct session {
    struct loop *loop;
    struct conf *conf;
    struct session_options options; /* strings are ours */
    struct rpc_identity identity;
    struct security security;
    struct credentials *credentials;
    char *own_user;  /* who we are without --as */
    char *user;      /* who the cluster sees */
    char *real_user; /* own_user when there is a proxy, else NULL */
};

/* ---- who we are ---- */

static const char *non_empty(const char *s)
{
    return s && *s ? s : NULL;
}

/* The account's name. NSS is not asked, which the static program must not load: the environment is,
 * where accounts of a directory service have their names, and then the file, for programs that were
 * started without one. */
static char *os_user(const struct conf *conf)
{
    const char *name = non_empty(getenv("USER"));

    if (getuid() == 0)
        return strdup("root");
    if (!name)
        name = non_empty(getenv("LOGNAME"));
    return strdup(name ? name : conf_user(conf));
}

/* HADOOP_USER_NAME counts only without Kerberos, where anybody may claim any name. A proxy user
 * keeps the own name as the real one: the cluster checks that it may stand for the other. */
static int find_names(struct session *s, struct err *err)
{
    const char *claimed = s->security.kerberos ? NULL : non_empty(getenv("HADOOP_USER_NAME"));
    const char *proxy =
        s->options.as_user ? s->options.as_user : non_empty(getenv("HADOOP_PROXY_USER"));

    if (s->options.user)
        claimed = s->options.user;
    s->own_user = claimed ? strdup(claimed) : os_user(s->conf);
    if (!s->own_user)
        return err_oom(err);
    s->user = strdup(proxy ? proxy : s->own_user);
    if (proxy)
        s->real_user = strdup(s->own_user);
    return s->user && (!proxy || s->real_user) ? 0 : err_oom(err);
}

static unsigned qops_of(const struct protections *p)
{
    unsigned set = 0;

    for (int i = 0; i < p->n; i++)
        set |= SASL_QOP_BIT(p->v[i] == PROTECT_PRIVACY     ? SASL_CONF
                            : p->v[i] == PROTECT_INTEGRITY ? SASL_INT
                                                           : SASL_AUTH);
    return set;
}

static void fill_identity(struct session *s)
{
    s->identity = (struct rpc_identity){
        .user = s->user,
        .real_user = s->real_user,
        .principal = s->options.principal,
        .keytab = s->options.keytab,
        .qops = qops_of(&s->security.rpc),
        .secure = s->security.kerberos,
        .fallback = s->security.fallback_to_simple,
        .kerberos = s->options.kerberos,
        .caller = s->options.caller,
    };
}

struct whoami {
    const struct rpc_identity *who;
    char *principal;
    struct err *err;
};

static int session_run_whoami(void *arg)
{
    struct whoami *w = arg;

    return w->who->kerberos->whoami(w->who, &w->principal, NULL, w->err);
}

/* Only Kerberos itself knows whose ticket it is, and how the cluster shortens that name is a rule
 * in its configuration (auth_to_local). It may ask a KDC, so it runs in the work pool. */
int session_find_user(struct session *s, struct err *err)
{
    struct whoami w = { .who = &s->identity, .err = err };
    AUTO_FREE char *name = NULL;
    int r;

    if (!s->security.kerberos || !s->identity.kerberos || s->identity.real_user)
        return 0;
    r = work_run(s->loop, session_run_whoami, &w);
    if (r == 0)
        r = conf_short_name(s->conf, w.principal, &name, err);
    free(w.principal);
    if (r < 0 || str_eq(s->user, name)) /* others may hold a reference to the present one */
        return r;
    free(s->user);
    s->user = take(name);
    s->identity.user = s->user;
    return 0;
}

/* ---- making ---- */

static int session_copy_options(struct session *s, const struct session_options *options,
                                struct err *err)
{
    const char **texts[] = { &s->options.conf_dir, &s->options.as_user, &s->options.principal,
                             &s->options.keytab,   &s->options.caller,  &s->options.user };
    const char *values[] = { options->conf_dir, options->as_user, options->principal,
                             options->keytab,   options->caller,  options->user };
    bool copied = true;

    s->options = *options;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        *texts[i] = values[i] ? strdup(values[i]) : NULL;
        copied = copied && (*texts[i] || !values[i]);
    }
    return copied ? 0 : err_oom(err);
}

/* Tokens that the caller hands in (a job's, in the master) replace those of the environment, which
 * belong to whoever started the process. */
static int load_tokens(struct session *s, const struct credentials *given, struct err *err)
{
    const char *path = non_empty(getenv("HADOOP_TOKEN_FILE_LOCATION"));
    int r;

    if (path && !given)
        return credentials_load(path, &s->credentials, err);
    r = credentials_new(&s->credentials, err);
    return r == 0 && given ? credentials_copy(s->credentials, given, NULL, err) : r;
}

static int load_conf(struct session *s, const char *text, struct err *err)
{
    AUTO_FREE char *dir = NULL;
    int r;

    if (text)
        return conf_parse("the job's configuration", text, strlen(text), &s->conf, err);
    r = conf_find_dir(s->options.conf_dir, &dir, err);
    return r == 0 ? conf_load(dir, &s->conf, err) : r;
}

static int check_options(const struct session *s, struct err *err)
{
    if (!s->options.principal == !s->options.keytab)
        return 0;
    return err_set(err, -EINVAL, "--principal and --keytab must be given together");
}

static int session_fill(struct session *s, const struct session_options *options, struct err *err)
{
    int r = session_copy_options(s, options, err);

    s->options.conf_text = NULL; /* borrowed, for now only */
    s->options.credentials = NULL;
    if (r == 0)
        r = check_options(s, err);
    if (r == 0)
        r = load_conf(s, options->conf_text, err);
    if (r == 0)
        r = conf_security(s->conf, &s->security, err);
    if (r == 0)
        r = load_tokens(s, options->credentials, err);
    if (r == 0)
        r = find_names(s, err);
    if (r == 0)
        fill_identity(s);
    return r;
}

int session_new(struct loop *l, const struct session_options *options, struct session **ret,
                struct err *err)
{
    AUTO_SESSION *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return err_oom(err);
    s->loop = l;
    r = session_fill(s, options, err);
    if (r < 0)
        return r;
    trace(LOG_CONF, "configuration '%s', user '%s'%s%s", conf_dir(s->conf), s->user,
          s->real_user ? " by " : "", s->real_user ? s->real_user : "");
    *ret = take(s);
    return 0;
}

struct session *session_free(struct session *s)
{
    if (!s)
        return NULL;
    free((char *)s->options.conf_dir);
    free((char *)s->options.as_user);
    free((char *)s->options.principal);
    free((char *)s->options.keytab);
    free((char *)s->options.caller);
    free((char *)s->options.user);
    free(s->own_user);
    free(s->user);
    free(s->real_user);
    credentials_free(s->credentials);
    conf_free(s->conf);
    free(s);
    return NULL;
}

struct loop *session_loop(const struct session *s)
{
    return s->loop;
}

const struct conf *session_conf(const struct session *s)
{
    return s->conf;
}

const struct rpc_identity *session_identity(const struct session *s)
{
    return &s->identity;
}

struct credentials *session_credentials(struct session *s)
{
    return s->credentials;
}

const char *session_user(const struct session *s)
{
    return s->user;
}

bool session_secure(const struct session *s)
{
    return s->security.kerberos;
}

/* ---- services ---- */

/* A daemon outlives restarts of the cluster's services; a person at a terminal does not wait for 15
 * minutes. With --timeout everything ends by then. first_patience_ms stays 0 for one address and a
 * person: then a service that refuses the first connection fails at once. With several addresses a
 * standby that refuses is normal. */
static void set_patience(const struct session *s, struct rpc_service_conf *conf)
{
    conf->patience_ms = s->options.patient ? PATIENCE_DAEMON_MS
                        : s->options.hasty ? PATIENCE_HASTY_MS
                                           : PATIENCE_MS;
    if (s->options.call_ms && !s->options.patient) {
        conf->call_ms = s->options.call_ms;
        conf->connect_ms = s->options.call_ms;
        if (conf->patience_ms > s->options.call_ms)
            conf->patience_ms = s->options.call_ms;
    }
    if (s->options.patient || conf->count > 1)
        conf->first_patience_ms = conf->patience_ms;
}

int session_service(struct session *s, const struct rpc_protocol *protocol,
                    const struct hosts *hosts, const struct token *token, struct rpc_service **ret,
                    struct err *err)
{
    AUTO_FREE struct rpc_address *addresses = calloc(hosts->n, sizeof(*addresses));
    struct rpc_service_conf conf = {
        .protocol = protocol,
        .addresses = addresses,
        .count = hosts->n,
        .identity = &s->identity,
        .token = token,
    };

    if (!addresses)
        return err_oom(err);
    for (size_t i = 0; i < hosts->n; i++) {
        const struct host *h = &hosts->v[i];

        addresses[i] = (struct rpc_address){
            .id = non_empty(h->id),
            .host = h->host,
            .port = h->port,
            .principal = h->principal,
            .pattern = h->pattern,
        };
    }
    set_patience(s, &conf);
    return rpc_service_new(s->loop, &conf, ret, err);
}
