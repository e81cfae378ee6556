/* submit_tokens.c - where a job's things are in HDFS, and the tokens with which its containers
 * reach them.
 *
 *     places that the job names ──► name services, each once ──► one token from each
 *
 * A token lets anybody act as the user until it expires, so it names who may renew it: the
 * ResourceManager for those of the submit, the user for those that a running `ydl run` gets later.
 * A session that was itself started with tokens hands them on, since a NameNode gives none to
 * whoever came with one. See submit_tokens.h. */
#include "launch/submit_tokens.h"
#include "hadoop/conf/conf_path.h"
#include "hadoop/conf/conf_services.h"
#include "hadoop/hdfs/hdfs.h"
#include "hadoop/session/session.h"
#include "hadoop/token/ident.h"

#include <string.h>

/* ---- where ---- */

static bool in_hdfs(const char *text)
{
    return str_starts(text, "hdfs:") || str_starts(text, "viewfs:");
}

static int add_place(struct strs *out, const char *text)
{
    if (!text || !in_hdfs(text) || strs_has(out, text))
        return 0;
    return strs_add(out, text);
}

static int deploy_add_files(struct strs *out, const struct spec_files *l)
{
    int r = 0;

    for (size_t i = 0; i < l->n && r == 0; i++)
        r = add_place(out, l->v[i].from);
    return r;
}

static int deploy_add_output(struct strs *out, const struct spec_files *l)
{
    int r = 0;

    for (size_t i = 0; i < l->n && r == 0; i++)
        r = add_place(out, l->v[i].to);
    return r;
}

static int deploy_collect(const struct spec *s, const char *base, struct strs *out)
{
    int r = strs_add(out, "/");

    if (r == 0)
        r = add_place(out, base);
    if (r == 0)
        r = deploy_add_files(out, &s->files);
    if (r == 0)
        r = deploy_add_files(out, &s->archives);
    if (r == 0)
        r = deploy_add_output(out, &s->output);
    if (r == 0)
        r = add_place(out, s->tensorboard);
    if (r == 0 && s->publish.name)
        r = add_place(out, s->publish.registry);
    for (size_t i = 0; i < s->n_roles && r == 0; i++) {
        r = deploy_add_files(out, &s->roles[i].files);
        if (r == 0)
            r = deploy_add_files(out, &s->roles[i].archives);
    }
    return r;
}

int deploy_places(const struct spec *s, const char *base, struct strs *ret, struct err *err)
{
    return deploy_collect(s, base, ret) < 0 ? err_oom(err) : 0;
}

/* ---- tokens ---- */

/* Whom tokens are to be renewed by: the ResourceManager's principal, as Hadoop's clients build it.
 * *ret is the caller's. -ENODATA when the configuration names none. Contacts nobody. */
static int deploy_renewer(struct session *s, char **ret, struct err *err)
{
    AUTO_HOSTS rms = { 0 };
    int r = conf_resourcemanagers(session_conf(s), RM_CLIENT, &rms, err);

    if (r < 0)
        return r;
    if (!rms.v[0].principal) {
        err_set(err, -ENODATA, "'yarn.resourcemanager.principal' is not set");
        err_hint(err, "the ResourceManager must be able to renew a job's tokens, so their renewer "
                      "has to be named in yarn-site.xml");
        return -ENODATA;
    }
    *ret = take(rms.v[0].principal);
    return 0;
}

/* The name services behind the places, each once. The root of a mount table is none itself. */
static int name_services(struct session *s, const struct strs *places, struct strs *ret,
                         struct err *err)
{
    for (size_t i = 0; i < places->n; i++) {
        AUTO_FS_PATH p = { 0 };
        int r = conf_path(session_conf(s), places->v[i], session_user(s), &p, err);

        if (r < 0 && r != -ENOMEM && str_eq(places->v[i], "/")) {
            err_clear(err);
            continue;
        }
        if (r < 0)
            return r;
        if (str_eq(p.scheme, "hdfs") && !strs_has(ret, p.authority) &&
            strs_add(ret, p.authority) < 0)
            return err_oom(err);
    }
    return 0;
}

/* Copies what the session was started with; true in *ret when there is something. */
static int deploy_hand_on(struct session *s, struct credentials *ret, bool *some, struct err *err)
{
    const struct credentials *own = session_credentials(s);
    int r = 0;

    *some = false;
    for (size_t i = 0; i < credentials_count(own) && r == 0; i++) {
        const char *alias = NULL;
        const struct token *t = credentials_at(own, i, &alias);

        if (!str_eq(t->kind, KIND_HDFS))
            continue;
        *some = true;
        r = credentials_add(ret, alias, t, err);
    }
    return r;
}

/* A NameNode gives tokens only to clients that authenticated with Kerberos, not with a token. */
static bool came_with_token(const struct err *err)
{
    return strstr(err->text, "can be issued only with") != NULL;
}

/* From when to when, by the NameNode's own clock. */
static int64_t issued_to(const struct token *t, int64_t end)
{
    AUTO_IDENT i = { 0 };

    if (ident_parse(t->kind, t->id, t->id_len, &i, NULL) < 0 || i.type != IDENT_DELEGATION)
        return 0;
    return (end ? end : i.expires) - i.issued;
}

/* With `ret_ms` also how long it is good as it is; 0 when there is no token. */
static int deploy_add_token(struct session *s, const char *name_service, const char *renewer,
                            struct credentials *ret, int64_t *ret_ms, struct err *err)
{
    AUTO_TOKEN t = { 0 };
    struct hdfs *fs = NULL;
    int64_t end = 0;
    int r = hdfs_open(s, name_service, &fs, err), there = 0;

    if (r == 0)
        r = there = hdfs_get_token(fs, renewer, &t, err);
    if (r > 0 && ret_ms)
        r = hdfs_renew_token(fs, &t, &end, err); /* nothing else says until when */
    hdfs_close(fs);
    if (ret_ms)
        *ret_ms = r == 0 && there > 0 ? issued_to(&t, end) : 0;
    if (r < 0 || there == 0)
        return r;
    return credentials_add(ret, t.service, &t, err);
}

/* Without Kerberos there are no tokens and nothing to do. A refusal is fine for a service whose
 * token was handed on already. */
int deploy_tokens(struct session *s, const struct strs *places, struct credentials *ret,
                  struct err *err)
{
    AUTO_FREE char *renewer = NULL;
    AUTO_STRS services = { 0 };
    bool some;
    int r = deploy_hand_on(s, ret, &some, err);

    if (r < 0 || !session_secure(s))
        return r;
    r = name_services(s, places, &services, err);
    if (r == 0)
        r = deploy_renewer(s, &renewer, err);
    for (size_t i = 0; i < services.n && r == 0; i++) {
        struct err why = ERR_INIT;

        r = deploy_add_token(s, services.v[i], renewer, ret, NULL, &why);
        if (r < 0 && some && came_with_token(&why))
            r = 0;
        else if (r < 0 && err)
            *err = why;
    }
    return r;
}

/* ---- newer ones ---- */

int64_t deploy_tokens_life(const struct credentials *c)
{
    int64_t least = 0;

    for (size_t i = 0; i < credentials_count(c); i++) {
        const struct token *t = credentials_at(c, i, NULL);
        int64_t life = str_eq(t->kind, KIND_HDFS) ? issued_to(t, 0) : 0;

        if (life > 0 && (least == 0 || life < least))
            least = life;
    }
    return least;
}

int deploy_tokens_again(struct session *s, const struct strs *places, struct credentials *ret,
                        int64_t *ret_ms, struct err *err)
{
    AUTO_STRS services = { 0 };
    int r = session_find_user(s, err);

    *ret_ms = 0;
    if (r == 0)
        r = name_services(s, places, &services, err);
    for (size_t i = 0; i < services.n && r == 0; i++) {
        int64_t ms = 0;

        /* Renewable by ourselves, so that we may ask how long they are good. */
        r = deploy_add_token(s, services.v[i], session_user(s), ret, &ms, err);
        if (ms > 0 && (*ret_ms == 0 || ms < *ret_ms))
            *ret_ms = ms;
    }
    return r;
}
