/* serve_registry.c - opens a registry on this machine or, with the user's session, on the cluster;
 * and what the tasks of a deployment are told, so that they can do the same. See serve_registry.h.
 */
#include "cmd/serve/serve_registry.h"
#include "base/path.h"
#include "serve/deployment/registry_session.h"

#include <limits.h>
#include <string.h>

#define FILE_MOST MIB

/* NULL for a registry on this machine. */
static int session_for(struct job_call *x, const char *place, struct session **ret, struct err *err)
{
    int r = models_is_remote(place) ? job_session(x, ret, err) : 0;

    return r == 0 && *ret ? connect_user(&x->net, err) : r;
}

int serve_registry_open(struct job_call *x, const char *place, struct serve_registry *ret,
                        struct err *err)
{
    AUTO_FREE char *own = NULL;
    struct session *session = NULL;
    int r = place ? 0 : models_place(&own, NULL, err);

    if (!place)
        place = own;
    if (r == 0)
        r = session_for(x, place, &session, err);
    if (r == 0)
        r = fs_set_new(x->loop, session, &ret->set, err);
    if (r == 0)
        r = models_open(x->loop, ret->set, place, &ret->models, err);
    if (r < 0)
        return r;
    if (!fs_is_local(ret->models.fs))
        return fs_uri(ret->models.fs, ret->models.root, &ret->place, err);
    ret->place = strdup(ret->models.root);
    return ret->place ? 0 : err_oom(err);
}

void serve_registry_done(struct serve_registry *r)
{
    models_done(&r->models);
    r->set = fs_set_free(r->set);
    free(r->place);
    r->place = NULL;
}

int serve_registry_link(struct job_call *x, const char *place, struct registry_link **ret,
                        struct err *err)
{
    struct session *session = NULL;
    int r = session_for(x, place, &session, err);

    return r < 0 ? r : registry_link_new(x->loop, session, place, ret, err);
}

/* ---- one file ---- */

static const struct manifest_file *manifest_find(const struct manifest *m, const char *path)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->files[i].path, path))
            return &m->files[i];
    return NULL;
}

/* With the caches of this user, by its content: the same file is found again under the same name.
 */
static int keep_file(const struct serve_registry *r, const char *from, const char *name, char **ret,
                     struct err *err)
{
    AUTO_BUF text = { .max = FILE_MOST };
    AUTO_FREE char *cache = NULL;
    AUTO_FREE char *dir = NULL;
    AUTO_FREE char *to = NULL;
    int e = models_read_file(&r->models, from, &text, err);

    if (e == 0)
        e = path_xdg(PATH_CACHE, "ydl", &cache, err);
    if (e < 0)
        return e;
    dir = path_join(cache, "requirements");
    to = dir ? str_printf("%s/%s.txt", dir, name) : NULL;
    e = to ? path_mkdirs(dir, 0700, err) : err_oom(err);
    if (e == 0)
        e = path_write_unflushed(to, text.data, text.len, 0600, err);
    if (e == 0)
        *ret = take(to);
    return e;
}

int serve_registry_file(const struct serve_registry *r, const struct manifest *m, const char *path,
                        char **ret, struct err *err)
{
    const struct manifest_file *f = manifest_find(m, path);
    AUTO_FREE char *from = NULL;
    int e = f ? models_path(&r->models, m->name, &from, err, "versions/%lld/%s",
                            (long long)m->version, path)
              : 0;

    if (!f || e < 0)
        return e;
    if (!fs_is_local(r->models.fs))
        return keep_file(r, from, f->sha256, ret, err);
    *ret = take(from);
    return 0;
}

/* ---- tasks ---- */

static int set_env(json_t *env, const char *name, const char *value, struct err *err)
{
    return value && json_object_set_new(env, name, json_string(value)) < 0 ? err_oom(err) : 0;
}

int serve_registry_env(struct job_call *x, const char *place, json_t *env, struct err *err)
{
    struct session *session = NULL;
    AUTO_FREE char *conf = NULL;
    AUTO_FREE char *keytab = NULL;
    int r = session_for(x, place, &session, err);

    if (r < 0 || !session)
        return r;
    conf = realpath(conf_dir(session_conf(session)), NULL);
    keytab = x->globals->keytab ? realpath(x->globals->keytab, NULL) : NULL;
    r = set_env(env, REGISTRY_CONF_ENV, conf, err);
    if (r == 0 && keytab)
        r = set_env(env, REGISTRY_PRINCIPAL_ENV, x->globals->principal, err);
    return r < 0 ? r : set_env(env, REGISTRY_KEYTAB_ENV, keytab, err);
}
