/* serve_copies.c - a copy is published like any version, so it is whole or not there, and two who
 * make the same one at the same time end with one. See serve_copies.h. */
#include "cmd/serve/yarn/serve_copies.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/serve/serve_registry.h"
#include "model/layout.h"
#include "model/publish.h"
#include "model/store.h"
#include "model/withdraw.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ORIGIN "origin"

/* ---- which registry ---- */

/* The name of this machine, for people as well; "" where it has none. */
static void copies_here(char ret[HOST_NAME_MAX + 1])
{
    if (gethostname(ret, HOST_NAME_MAX) < 0)
        *ret = '\0';
    ret[HOST_NAME_MAX] = '\0';
}

/*     BASE/models/4f2a91c07de8b613        in HDFS, for the registry HOST:/models
 *                 └─ hash of "HOST:/models"
 *
 * The machine is part of the name: "/models" of another one has other models, and their versions
 * may have the same numbers. */
static int copies_place(struct job_call *x, const char *staging, const char *registry, char **ret,
                        struct err *err)
{
    char here[HOST_NAME_MAX + 1], id[17];
    struct yarn_jobs *yarn = NULL;
    struct session *session = NULL;
    struct fs *fs = NULL;
    AUTO_FREE char *whole = NULL;
    AUTO_FREE char *path = NULL;
    int r = job_session(x, &session, err);

    copies_here(here);
    whole = str_printf("%s:%s", here, registry);
    if (r == 0 && !whole)
        r = err_oom(err);
    if (r == 0)
        r = job_yarn(x, staging, &yarn, err);
    if (r == 0)
        r = connect_user(&x->net, err);
    if (r < 0)
        return r;
    (void)snprintf(id, sizeof(id), "%016" PRIx64, str_hash(whole, strlen(whole)));
    r = yarn_jobs_path(yarn, YARN_HOME_MODELS, id, &fs, &path, err);
    return r < 0 ? r : fs_uri(fs, path, ret, err);
}

static int copies_origin(const char *registry, json_t **ret, struct err *err)
{
    char here[HOST_NAME_MAX + 1];

    copies_here(here);
    return json_make(ret, err, "{s:o, s:s}", "machine", json_text(here), "registry", registry);
}

/* On the machine that the versions came from, a new one is looked for in the registry that has it
 * first; from any other machine only the copies can be seen. */
const char *serve_copies_registry(const json_t *plan)
{
    const json_t *origin = json_object_get(plan, ORIGIN);
    const char *from = json_string_value(json_object_get(origin, "registry"));
    char here[HOST_NAME_MAX + 1];

    copies_here(here);
    return from && str_eq(json_string_value(json_object_get(origin, "machine")), here)
               ? from
               : json_string_value(json_object_get(plan, "registry"));
}

void serve_copies_done(struct serve_copies *c)
{
    free(c->place);
    json_decref(c->origin);
    *c = (struct serve_copies){ 0 };
}

/* ---- one version ---- */

/* 1: it is there; 0: it is not. */
static int copies_look(const struct serve_registry *to, const struct serve_version *v,
                       struct manifest *ret, struct err *err)
{
    int r = models_manifest(&to->models, v->m.name, v->m.version, ret, err);

    if (r <= 0 || str_eq(ret->tree, v->m.tree))
        return r;
    err_set(err, -EEXIST, "'%s' on the cluster has another %s:%lld than '%s' here", to->place,
            v->m.name, (long long)v->m.version, v->registry);
    err_hint(err, "push the model to a registry on HDFS, and deploy it from there");
    return -EEXIST;
}

static int copies_publish(struct job_call *x, const struct serve_registry *to,
                          const struct serve_version *v, struct err *err)
{
    AUTO_FREE char *model = path_join(v->path, LAYOUT_MODEL);
    AUTO_FREE char *warmup = path_join(v->path, LAYOUT_WARMUP);
    AUTO_MODEL_PUBLISHED done = { 0 };
    struct stat st;
    const struct model_publish what = {
        .name = v->m.name,
        .version = v->m.version,
        .path = model,
        .warmup = warmup && stat(warmup, &st) == 0 ? warmup : NULL,
        .job = json_string_value(json_object_get(v->m.doc, "job")),
        .tags = json_object_get(v->m.doc, "tags"),
        .quiet = x->globals->quiet,
    };

    if (!model || !warmup)
        return err_oom(err);
    return model_publish(&to->models, &what, &done, err);
}

/* `m` was found in `to`, and is the version's from now on. */
static int copies_take(const struct serve_registry *to, struct serve_version *v, struct manifest *m,
                       struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FREE char *place = strdup(to->place);
    int r = models_path(&to->models, m->name, &path, err, LAYOUT_VERSIONS "/%lld",
                        (long long)m->version);

    if (r < 0 || !place)
        return r < 0 ? r : err_oom(err);
    free(v->registry);
    free(v->path);
    manifest_done(&v->m);
    v->registry = take(place);
    v->path = take(path);
    v->m = *m;
    *m = (struct manifest){ 0 };
    return 0;
}

/* Look, publish, look again: who loses a race for the number (-EEXIST) finds the other copy at the
 * second look, where its bytes are compared with ours (copies_look, by the tree). */
int serve_copies_make(struct job_call *x, const char *place, struct serve_version *v,
                      struct err *err)
{
    AUTO_SERVE_REGISTRY to = { 0 };
    AUTO_MANIFEST m = { 0 };
    int r = serve_registry_open(x, place, &to, err);

    if (r == 0)
        r = copies_look(&to, v, &m, err);
    if (r == 0)
        r = copies_publish(x, &to, v, err);
    if (r == -EEXIST && !m.doc) { /* somebody else was faster, perhaps */
        err_clear(err);
        r = 0;
    }
    if (r == 0)
        r = copies_look(&to, v, &m, err);
    if (r == 0)
        return err_set(err, -ENOENT, "the copy of %s:%lld in '%s' is gone again", v->m.name,
                       (long long)v->m.version, to.place);
    return r < 0 ? r : copies_take(&to, v, &m, err);
}

int serve_copies_of(struct job_call *x, struct serve_copies *c, const struct model_ref *ref,
                    struct serve_version *v, struct err *err)
{
    int r = 0;

    if (*ref->alias) {
        err_set(err, -EINVAL,
                "on YARN only aliases of a registry on HDFS can be followed, and '%s' is on this "
                "machine",
                v->registry);
        err_hint(err, "deploy '%s:%lld', which it names now", v->m.name, (long long)v->m.version);
        return -EINVAL;
    }
    if (!c->place)
        r = copies_place(x, c->staging, v->registry, &c->place, err);
    if (r == 0 && !c->origin)
        r = copies_origin(v->registry, &c->origin, err);
    return r < 0 ? r : serve_copies_make(x, c->place, v, err);
}

/* ---- the end ---- */

/* A version that is withdrawn has a mark instead of its files, so that its number is not given away
 * again: here numbers are those of another registry, and the mark goes as well. */
static void copies_remove_model(const struct serve_registry *r, const char *name)
{
    AUTO_VERSION_LIST all = { 0 };

    if (models_versions(&r->models, name, &all, NULL) < 0)
        return;
    for (size_t i = 0; i < all.n; i++) {
        AUTO_FREE char *path = NULL;

        if (model_withdraw(&r->models, name, all.v[i], NULL) == 0 &&
            models_path(&r->models, name, &path, NULL, LAYOUT_VERSIONS "/%lld",
                        (long long)all.v[i]) == 0)
            (void)model_store_remove(&r->models, path, NULL);
    }
}

void serve_copies_remove(struct job_call *x, const json_t *plan)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    AUTO_SERVE_REGISTRY r = { 0 };
    size_t i;

    if (!json_object_get(plan, ORIGIN) ||
        serve_registry_open(x, json_string_value(json_object_get(plan, "registry")), &r, NULL) < 0)
        return;
    json_array_foreach(models, i, m)
    {
        const char *name = json_string_value(json_object_get(m, "name"));

        if (name && model_name_ok(name))
            copies_remove_model(&r, name);
    }
}
