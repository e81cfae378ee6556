/* doctor_local.c - what can be said without asking anybody: configuration and identity. */
#include "base/path.h"
#include "cmd/doctor/doctor.h"
#include "loop/work.h"

#include <stdio.h>

#define SOON_SECONDS 3600 /* a ticket that ends within it is worth a warning */

/* ---- configuration ---- */

static const char *const file_names[] = { "core-site.xml", "hdfs-site.xml", "yarn-site.xml" };

/* The files that are there, with commas; *missing counts the others. */
static void found_files(const char *dir, char *out, size_t n, unsigned *missing)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(file_names); i++) {
        AUTO_FREE char *path = path_join(dir, file_names[i]);

        if (!path || access(path, R_OK) < 0) {
            ++*missing;
            continue;
        }
        at += (size_t)snprintf(out + at, n - at, "%s%s", at ? ", " : "", file_names[i]);
        if (at >= n)
            return;
    }
}

static void check_default_fs(struct doctor *d)
{
    const struct conf *conf = session_conf(d->x->session);
    AUTO_FREE char *value = NULL;
    struct err err = ERR_INIT;
    int r = conf_str(conf, "fs.defaultFS", &value, &err);

    if (r < 0)
        doctor_error(d, LEVEL_FAILED, r, &err, NULL);
    else if (!value || str_starts(value, "file:"))
        doctor_say(d, LEVEL_WARNING, "set it in core-site.xml to the cluster's, hdfs://NAME",
                   "fs.defaultFS is '%s': paths without a scheme are files of this machine",
                   value ? value : "");
    else
        doctor_say(d, LEVEL_OK, NULL, "default file system %s", value);
}

void check_conf(struct doctor *d)
{
    const char *dir;
    unsigned missing = 0;
    char files[120];

    if (!d->x->session) {
        doctor_error(d, LEVEL_FAILED, d->x->unconfigured.code, &d->x->unconfigured, NULL);
        return;
    }
    d->have |= NEED_CONF;
    dir = conf_dir(session_conf(d->x->session));
    found_files(dir, files, sizeof(files), &missing);
    if (missing)
        doctor_say(d, LEVEL_WARNING,
                   "copy the missing files from a machine of the cluster; Hadoop's own defaults "
                   "are rarely right",
                   "%s has only %s", dir, files[0] ? files : "none of the three files");
    else
        doctor_say(d, LEVEL_OK, NULL, "%s: %s", dir, files);
    check_default_fs(d);
}

/* ---- identity ---- */

struct ticket {
    const struct rpc_identity *who;
    char *principal;
    int64_t seconds;
    struct err err;
};

static int look_at_ticket(void *arg)
{
    struct ticket *t = arg;

    return t->who->kerberos->whoami(t->who, &t->principal, &t->seconds, &t->err);
}

static void say_ticket(struct doctor *d, const struct ticket *t)
{
    int64_t minutes = t->seconds / 60;
    bool soon = t->seconds < SOON_SECONDS;

    doctor_say(d, soon ? LEVEL_WARNING : LEVEL_OK,
               soon
                   ? "renew it (kinit -R) or get a new one (kinit), or use --principal and --keytab"
                   : NULL,
               "principal %s, ticket good for %lld h %lld min", t->principal,
               (long long)(minutes / 60), (long long)(minutes % 60));
}

static void check_ticket(struct doctor *d, bool tokens)
{
    struct ticket t = { .who = session_identity(d->x->session) };
    int r = work_run(d->x->loop, look_at_ticket, &t);

    if (r == 0)
        say_ticket(d, &t);
    else
        doctor_error(d, tokens ? LEVEL_WARNING : LEVEL_FAILED, r, &t.err, NULL);
    free(t.principal);
}

void check_identity(struct doctor *d)
{
    struct session *s = d->x->session;
    const struct rpc_identity *who = session_identity(s);
    size_t tokens = credentials_count(session_credentials(s));
    struct err ignored = ERR_INIT;

    if (session_secure(s) && who->kerberos) {
        check_ticket(d, tokens > 0);
        (void)session_find_user(s, &ignored); /* said by check_ticket, if anything is wrong */
    }
    if (who->real_user)
        doctor_say(d, LEVEL_OK, NULL, "user %s, acting for %s", who->real_user, who->user);
    else
        doctor_say(d, LEVEL_OK, NULL, "user %s%s", session_user(s),
                   session_secure(s) ? "" : " (not verified: this cluster has no Kerberos)");
    if (tokens)
        doctor_say(d, LEVEL_OK, NULL, "%zu tokens from %s", tokens,
                   getenv("HADOOP_TOKEN_FILE_LOCATION"));
}
