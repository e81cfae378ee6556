/* serve_version.c - from a name to a version in the registry and the library that runs it. */
#include "cmd/serve/serve_version.h"
#include "cmd/serve/handler_python.h"
#include "cmd/serve/serve_registry.h"
#include "native/backend_find.h"
#include "native/library_version.h"
#include "native/model_library.h"
#include "pyenv/pip.h"
#include "serve/deployment/deployment_plan.h"

#include <stdio.h>
#include <string.h>

static int find_format(const struct manifest *m, struct err *err)
{
    if (model_is_served(m->format))
        return 0;
    err_set(err, -EINVAL, "%s:%lld has the format '%s', which cannot be served yet", m->name,
            (long long)m->version, m->format);
    err_hint(err, "export the model as ONNX and push that");
    return -EINVAL;
}

static int find_in(const struct serve_registry *r, const struct model_ref *ref,
                   struct serve_version *v, struct err *err)
{
    int e = models_find(&r->models, ref, &v->m, err);

    if (e == 0)
        e = models_path(&r->models, v->m.name, &v->path, err, "versions/%lld",
                        (long long)v->m.version);
    if (e == 0 && !(v->registry = strdup(r->place)))
        e = err_oom(err);
    if (e == 0 && str_eq(v->m.format, "python"))
        e = serve_registry_file(r, &v->m, "model/requirements.txt", &v->requirements, err);
    return e;
}

static int find_model(struct job_call *x, const char *registry, const struct model_ref *ref,
                      struct serve_version *v, struct err *err)
{
    AUTO_SERVE_REGISTRY r = { 0 };
    int e = serve_registry_open(x, registry, &r, err);

    return e < 0 ? e : find_in(&r, ref, v, err);
}

static int find_runtime(struct loop *l, const struct serve_find *how, struct serve_version *v,
                        struct err *err)
{
    const struct find_library *library = model_library(v->m.format);
    AUTO_STRS made = { 0 };
    const struct backend_places places = { .named = how->lib,
                                           .manifest = json_string_value(json_object_get(
                                               json_object_get(v->m.doc, "tags"), BACKEND_TAG)),
                                           .python = how->python,
                                           .made = &made };
    int r;

    if (str_eq(v->m.format, "python"))
        return handler_python(l, how, v, err);
    if (!library)
        return 0;
    (void)pip_made(&made, NULL);
    r = backend_find(library, &places, &v->library, err);
    if (r < 0)
        return r;
    v->number = library_version(library, v->library);
    return sha256_file(v->library, v->sha256, err);
}

/* The library of another version of this format. */
static int take_library(const json_t *present, struct serve_version *v, struct err *err)
{
    const char *library = json_string_value(json_object_get(present, "library"));
    const char *sha256 = json_string_value(json_object_get(present, "sha256"));

    (void)snprintf(v->sha256, sizeof(v->sha256), "%s", sha256 ? sha256 : "");
    v->library = library ? strdup(library) : NULL;
    return library && !v->library ? err_oom(err) : 0;
}

/* Another one than that of `v` was named. */
static int refuse_library(struct err *err)
{
    return err_set(err, -EINVAL,
                   "a deployment on YARN keeps the libraries it was started with: another one "
                   "needs a new deployment");
}

static int check_named(struct loop *l, const struct serve_find *how, const struct serve_version *v,
                       struct err *err)
{
    struct serve_version named = { .m.format = v->m.format };
    int r;

    if (how->python || (how->lib && str_eq(v->m.format, "python")))
        return refuse_library(err);
    if (!how->lib)
        return 0;
    r = find_runtime(l, how, &named, err);
    if (r == 0 && !str_eq(named.sha256, v->sha256))
        r = refuse_library(err);
    free(named.library);
    free(named.number);
    return r;
}

/* On YARN libraries travel with the deployment, when it is started.
 *
 * A container has what was uploaded when the deployment was started, and nothing can be added to
 * it: any version of a format runs with the one library of that format. */
static int find_travelled(struct loop *l, const struct serve_find *how, struct serve_version *v,
                          struct err *err)
{
    const json_t *models = json_object_get(how->plan, "models"), *m, *one;
    size_t i, k;

    json_array_foreach(models, i, m)
    {
        json_array_foreach(json_object_get(m, "versions"), k, one)
        {
            int r = 1;

            if (str_eq(json_string_value(json_object_get(one, "format")), v->m.format))
                r = take_library(one, v, err);
            if (r <= 0)
                return r < 0 ? r : check_named(l, how, v, err);
        }
    }
    if (str_eq(v->m.format, "command"))
        return 0;
    return err_set(err, -EINVAL,
                   "%s:%lld has the format '%s', whose library this deployment on YARN was started "
                   "without: it needs a new deployment",
                   v->m.name, (long long)v->m.version, v->m.format);
}

int serve_version_find(struct job_call *x, const struct serve_find *how,
                       const struct model_ref *ref, struct serve_version *ret, struct err *err)
{
    int r = find_model(x, how->registry, ref, ret, err);

    if (r == 0)
        r = find_format(&ret->m, err);
    if (r < 0)
        return r;
    return deployment_is_on_yarn(how->plan) ? find_travelled(x->loop, how, ret, err)
                                            : find_runtime(x->loop, how, ret, err);
}

void serve_version_done(struct serve_version *v)
{
    manifest_done(&v->m);
    free(v->registry);
    free(v->path);
    free(v->requirements);
    free(v->library);
    free(v->number);
    *v = (struct serve_version){ 0 };
}

json_t *serve_version_json(const struct serve_version *v)
{
    return json_pack("{s:I, s:s, s:s, s:o, s:s, s:s}", "version", (json_int_t)v->m.version, "path",
                     v->path, "format", v->m.format, "library", json_text(v->library), "sha256",
                     v->sha256, "manifest", v->m.sha256);
}

static const char *library_name(const struct serve_version *v)
{
    const struct find_library *library = model_library(v->m.format);

    return library ? library->what : NULL;
}

char *serve_version_library(const struct serve_version *v)
{
    const char *name = library_name(v);
    bool known = name && v->number;

    if (!v->library)
        return strdup("a program of its own");
    return str_printf("%s%s%s%s%s%s%s", known ? name : "", known ? " " : "", known ? v->number : "",
                      known ? ", " : "", v->library, *v->sha256 ? " sha256 " : "", v->sha256);
}

json_t *serve_version_library_json(const struct serve_version *v)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "name", json_text(library_name(v)), "version",
                     json_text(v->number), "path", json_text(v->library), "sha256",
                     *v->sha256 ? json_string(v->sha256) : json_null());
}
