/* tokens_keytab.c - may the job have this keytab? See deploy_keytab() in tokens.h. */
#include "base/work.h"
#include "deploy/tokens.h"
#include "hadoop/session/session.h"

#include <string.h>
#include <sys/stat.h>

struct deploy_keytab deploy_keytab(struct session *s, const struct spec *spec)
{
    const struct rpc_identity *who = session_identity(s);

    if (!session_secure(s))
        return (struct deploy_keytab){ 0 };
    if (who->real_user)
        return (struct deploy_keytab){ .withheld = spec->keytab || who->keytab };
    if (spec->keytab && spec->principal)
        return (struct deploy_keytab){ .file = spec->keytab, .principal = spec->principal };
    return (struct deploy_keytab){ .file = who->keytab, .principal = who->principal };
}

/* ---- signing in ---- */

struct whoami {
    struct rpc_identity who;
    char *principal; /* in full */
    struct err err;
};

static int run_whoami(void *arg)
{
    struct whoami *w = arg;

    return w->who.kerberos->whoami(&w->who, &w->principal, NULL, &w->err);
}

/* Tokens got with it are good only for a job of the same user. */
static int check_owner(struct session *s, const char *principal, struct err *err)
{
    size_t n = strcspn(principal, "/@");

    if (strlen(session_user(s)) == n && strncmp(principal, session_user(s), n) == 0)
        return 0;
    return err_set(err, -EINVAL, "it is of '%s', but the job would be that of '%s'", principal,
                   session_user(s));
}

int deploy_keytab_sign_in(struct session *s, const struct deploy_keytab *k, char **ret_principal,
                          struct err *err)
{
    struct whoami w = { .who = *session_identity(s) };
    int r;

    if (!w.who.kerberos)
        return err_set(err, -EOPNOTSUPP, "this program has no Kerberos");
    w.who.keytab = k->file;
    w.who.principal = k->principal;
    r = work_run(session_loop(s), run_whoami, &w);
    if (r == 0)
        r = check_owner(s, w.principal, &w.err);
    if (r < 0 && err)
        *err = w.err;
    if (r == 0)
        *ret_principal = take(w.principal);
    free(w.principal);
    return r;
}

/* ---- the file ---- */

static int look(const struct deploy_keytab *k, char **ret_note, struct err *err)
{
    struct stat st;

    if (stat(k->file, &st) < 0)
        return err_sys(err, "'%s'", k->file);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "'%s' is not a file", k->file);
    if ((st.st_mode & 077) == 0)
        return 0;
    *ret_note = str_printf("others can read the keytab '%s': its mode is %04o, and should be 0600",
                           k->file, (unsigned)(st.st_mode & 07777));
    return *ret_note ? 0 : err_oom(err);
}

int deploy_keytab_check(struct session *s, const struct deploy_keytab *k, struct spec_faults *f,
                        char **ret_note)
{
    AUTO_FREE char *principal = NULL;
    struct err err = ERR_INIT;
    int r;

    if (k->withheld) {
        *ret_note = str_printf("the keytab does not go with the job: '%s', whose it is to be, "
                               "could read it",
                               session_user(s));
        return *ret_note ? 0 : -ENOMEM;
    }
    if (!k->file)
        return 0;
    r = look(k, ret_note, &err);
    if (r == 0)
        r = deploy_keytab_sign_in(s, k, &principal, &err);
    if (r == 0 || r == -ENOMEM || r == -ECANCELED)
        return r;
    return spec_fault(f, 0, "keytab", "%s", err.text) == -ENOMEM ? -ENOMEM : -EINVAL;
}
