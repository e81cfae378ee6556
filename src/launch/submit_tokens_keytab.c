/* submit_tokens_keytab.c - may the job have this keytab? See deploy_keytab() in submit_tokens.h. */
#include "base/buf.h"
#include "hadoop/conf/principal.h"
#include "hadoop/sasl/sasl.h"
#include "hadoop/session/session.h"
#include "launch/submit_tokens.h"
#include "loop/work.h"

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

static int deploy_run_whoami(void *arg)
{
    struct whoami *w = arg;

    return w->who.kerberos->whoami(&w->who, &w->principal, NULL, &w->err);
}

/* Tokens got with it are good only for a job of the same user. */
static int deploy_check_owner(struct session *s, const char *principal, struct err *err)
{
    AUTO_FREE char *name = NULL;
    int r = conf_short_name(session_conf(s), principal, &name, err);

    if (r < 0 || str_eq(name, session_user(s)))
        return r;
    return err_set(err, -EINVAL, "it belongs to '%s', but the job would run as '%s'", principal,
                   session_user(s));
}

int deploy_keytab_sign_in(struct session *s, const struct deploy_keytab *k, char **ret_principal,
                          struct err *err)
{
    struct whoami w = { .who = *session_identity(s) };
    int r;

    if (!w.who.kerberos)
        return err_set(err, -EOPNOTSUPP, "this program cannot use Kerberos");
    w.who.keytab = k->file;
    w.who.principal = k->principal;
    r = work_run(session_loop(s), deploy_run_whoami, &w);
    if (r == 0)
        r = deploy_check_owner(s, w.principal, &w.err);
    if (r < 0 && err)
        *err = w.err;
    if (r == 0)
        *ret_principal = take(w.principal);
    free(w.principal);
    return r;
}

/* ---- the file ---- */

int deploy_keytab_warn(const char *file, unsigned mode, unsigned qops, char **ret, struct err *err)
{
    bool open = mode & 077, clear = qops != SASL_QOP_BIT(SASL_CONF);
    AUTO_BUF text = { .max = 8 * KIB };
    int r = 0;

    if (open)
        r = buf_printf(&text,
                       "others can read the keytab '%s': its mode is %04o, and should be 0600",
                       file, mode & 07777);
    if (r == 0 && clear)
        r = buf_printf(&text,
                       "%sthe key that encrypts the keytab is sent in the clear, because "
                       "hadoop.rpc.protection is not 'privacy': anyone who can read the network "
                       "traffic can get both",
                       open ? "; " : "");
    if (r < 0 || ((open || clear) && !buf_text(&text)))
        return err_oom(err);
    *ret = open || clear ? (char *)take(text.data) : NULL;
    return 0;
}

static int submit_tokens_keytab_look(struct session *s, const struct deploy_keytab *k,
                                     char **ret_note, struct err *err)
{
    struct stat st;

    if (stat(k->file, &st) < 0)
        return err_sys(err, "'%s'", k->file);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "'%s' is not a file", k->file);
    return deploy_keytab_warn(k->file, st.st_mode, session_identity(s)->qops, ret_note, err);
}

int deploy_keytab_check(struct session *s, const struct deploy_keytab *k, char **ret_note,
                        struct err *err)
{
    AUTO_FREE char *principal = NULL;
    int r;

    if (k->withheld) {
        *ret_note = str_printf(
            "the keytab is not sent with the job: '%s', the user it runs as, could read it",
            session_user(s));
        return *ret_note ? 0 : err_oom(err);
    }
    if (!k->file)
        return 0;
    r = submit_tokens_keytab_look(s, k, ret_note, err);
    return r < 0 ? r : deploy_keytab_sign_in(s, k, &principal, err);
}
