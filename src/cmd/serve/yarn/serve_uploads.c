/* serve_uploads.c - which files travel, and where tasks find them:
 *
 *     ydl-lib/onnx/…       the library of a format and what comes with it, as far apart as here
 *     ydl-haproxy/haproxy  HAProxy, and its libraries in ydl-haproxy/lib/
 *     ydl-secrets/…        keys, certificate and its key: of the gateway alone
 *     ydl-env/             the Python environment of handlers
 *
 * See serve_uploads.h. */
#include "cmd/serve/yarn/serve_uploads.h"
#include "base/path.h"
#include "native/haproxy_find.h"
#include "native/library_needs.h"
#include "native/model_library.h"
#include "native/python.h"
#include "pyenv/pyenv.h"
#include "uploads/uploads.h"

#include <stdlib.h>
#include <string.h>

#define LIBRARIES "ydl-lib"
#define SECRETS "ydl-secrets"

void serve_uploads_done(struct serve_uploads *u)
{
    json_decref(u->gateway);
    for (size_t i = 0; i < DEPLOYMENT_MODELS; i++)
        json_decref(u->models[i]);
    free(u->venv);
    strs_done(&u->texts);
    *u = (struct serve_uploads){ 0 };
}

static int add_file(json_t *list, const char *from, const char *to)
{
    return json_array_append_new(list, json_pack("{s:s, s:s}", "from", from, "to", to));
}

/* A path of a task's that lives as long as `u`; NULL when out of memory. Takes `text` over. */
static const char *keep_path(struct serve_uploads *u, char *text)
{
    return strs_take(&u->texts, text) < 0 ? NULL : u->texts.v[u->texts.n - 1];
}

/* ---- libraries ---- */

/* The directory of all of them, with a slash at its end: how many bytes of each path. */
static size_t common_dir(const struct strs *paths)
{
    const char *first = paths->v[0];
    size_t n = (size_t)(strrchr(first, '/') - first) + 1;

    for (size_t i = 1; i < paths->n; i++)
        while (strncmp(first, paths->v[i], n) != 0)
            for (n--; n > 1 && first[n - 1] != '/';)
                n--;
    return n;
}

/* By its real place: names relative to it are the same there. */
static int library_set(const struct serve_model *m, struct strs *ret, struct err *err)
{
    const struct find_library *l = model_library(m->v.m.format);
    bool cuda = m->device && str_starts(m->device, "cuda");
    AUTO_FREE char *real = realpath(m->v.library, NULL);

    if (!real)
        return err_sys(err, "find '%s'", m->v.library);
    if (strs_add(ret, real) < 0)
        return err_oom(err);
    return cuda && l ? library_needs_cuda(l, real, ret, err) : library_needs(real, false, ret, err);
}

static int add_library(struct serve_uploads *u, struct serve_model *m, json_t *files,
                       struct err *err)
{
    AUTO_STRS set = { 0 };
    size_t common;
    int r = library_set(m, &set, err);

    if (r < 0)
        return r;
    common = common_dir(&set);
    for (size_t i = 0; i < set.n; i++) {
        const char *to =
            keep_path(u, str_printf("./" LIBRARIES "/%s/%s", m->v.m.format, set.v[i] + common));

        if (!to || add_file(files, set.v[i], to + 2) < 0)
            return err_oom(err);
        if (i == 0)
            m->library = to;
    }
    return 0;
}

/* A Python outside of any environment is one that nodes have too. */
static int add_python(struct serve_uploads *u, struct serve_model *m, struct err *err)
{
    AUTO_FREE char *prefix = python_prefix(m->v.library);
    AUTO_FREE char *base = path_base(m->v.library);
    AUTO_PYENV env = { 0 };
    int r = prefix && base ? pyenv_look(prefix, &env, err) : err_oom(err);

    if (r < 0 || env.kind == PYENV_NONE)
        return r;
    if (u->venv && !str_eq(u->venv, prefix))
        return err_set(err, -EINVAL,
                       "on YARN all handlers of a deployment have one Python environment, and here "
                       "are two: '%s' and '%s'",
                       u->venv, prefix);
    m->library = keep_path(u, str_printf("./" UPLOADS_ENV "/bin/%s", base));
    if (!m->library)
        return err_oom(err);
    if (!u->venv)
        u->venv = take(prefix);
    return 0;
}

static int add_model(struct serve_uploads *u, struct serve_model *m, json_t *files, struct err *err)
{
    if (!m->v.library)
        return 0;
    if (str_eq(m->v.m.format, "python"))
        return add_python(u, m, err);
    if (m->v.library[0] == '/')
        return add_library(u, m, files, err);
    err_set(err, -ENOENT, "there is no %s on this machine to send along", m->v.library);
    err_hint(err, "put its Python environment first in PATH, or name the library with --backend");
    return -ENOENT;
}

/* ---- the gateway ---- */

static int add_haproxy(struct serve_uploads *u, struct serve_job *j, struct err *err)
{
    AUTO_FREE char *program = NULL;
    AUTO_FREE char *real = NULL;
    AUTO_STRS needs = { 0 };
    int r = haproxy_find(j->haproxy, &program, err);

    if (r < 0)
        return r;
    real = realpath(program, NULL);
    if (!real)
        return err_sys(err, "find '%s'", program);
    r = library_needs(real, true, &needs, err);
    if (r == 0 && add_file(u->gateway, real, DEPLOYMENT_HAPROXY "/haproxy") < 0)
        r = err_oom(err);
    for (size_t i = 0; i < needs.n && r == 0; i++) {
        AUTO_FREE char *base = path_base(needs.v[i]);
        AUTO_FREE char *to = base ? str_printf(DEPLOYMENT_HAPROXY_LIB "/%s", base) : NULL;

        if (!to || add_file(u->gateway, needs.v[i], to) < 0)
            r = err_oom(err);
    }
    j->haproxy = "./" DEPLOYMENT_HAPROXY "/haproxy";
    return r;
}

static int add_secrets(struct serve_uploads *u, struct serve_job *j, struct err *err)
{
    struct {
        const char **at, *to;
    } secrets[] = {
        { &j->key_file, SECRETS "/keys" },
        { &j->certificate, SECRETS "/certificate" },
        { &j->private_key, SECRETS "/key" },
    };

    for (size_t i = 0; i < COUNT_OF(secrets); i++) {
        if (!*secrets[i].at)
            continue;
        if (add_file(u->gateway, *secrets[i].at, secrets[i].to) < 0)
            return err_oom(err);
        *secrets[i].at = secrets[i].to;
    }
    return 0;
}

int serve_uploads_make(struct serve_job *j, struct serve_model *models, struct serve_uploads *ret,
                       struct err *err)
{
    int r;

    ret->gateway = json_array();
    r = ret->gateway ? add_haproxy(ret, j, err) : err_oom(err);
    if (r == 0)
        r = add_secrets(ret, j, err);
    for (size_t i = 0; i < j->n && r == 0; i++) {
        ret->models[i] = json_array();
        r = ret->models[i] ? add_model(ret, &models[i], ret->models[i], err) : err_oom(err);
        models[i].files = ret->models[i];
    }
    j->files = ret->gateway;
    j->venv = ret->venv;
    return r;
}
