/* model_source.c - a manifest says which file is the model and what it is called; where there is
 * none, the backends say where a model lies. See model_source.h. */
#include "serve/engine/model_source.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>
#include <sys/stat.h>

#define SYMBOL_END "-symbol"    /* MXNet's, before ".json" */
#define MANIFEST_MAX (32 * MIB) /* as large as one may be in a registry */

void model_source_done(struct model_source *s)
{
    free(s->dir);
    free(s->path);
    free(s->name);
    *s = (struct model_source){ 0 };
}

/* "resnet" of ".../resnet.onnx" and ".../resnet-symbol.json"; of ".../resnet/model.onnx" and
 * ".../resnet/" the directory's. */
static char *name_of(const char *path)
{
    AUTO_FREE char *full = realpath(path, NULL);
    AUTO_FREE char *base = path_base(full ? full : path);
    char *dot = base ? strrchr(base, '.') : NULL;

    if (dot && dot != base)
        *dot = '\0';
    if (base && str_ends(base, SYMBOL_END) && strlen(base) > strlen(SYMBOL_END))
        base[strlen(base) - strlen(SYMBOL_END)] = '\0';
    if (base && strcmp(base, "model") == 0 && full) {
        AUTO_FREE char *dir = path_dir(full);

        return dir ? path_base(dir) : NULL;
    }
    return take(base);
}

/* The model of a version in the registry, whatever its file is called: it is in model/. */
static int take_entry(struct model_source *s, const json_t *manifest, struct err *err)
{
    const char *format = json_string_value(json_object_get(manifest, "format"));
    const char *entry = json_string_value(json_object_get(manifest, "entry"));

    if (!format)
        return 0;
    s->ops = backend_for_format(format);
    if (!s->ops) {
        (void)err_set(err, -EOPNOTSUPP,
                      "'%s' is a model of the format '%.40s', which cannot be served", s->dir,
                      format);
        return -EOPNOTSUPP;
    }
    if (!entry || (*entry ? !path_is_name(entry, strlen(entry)) : !s->ops->directory))
        return err_set(err, -EINVAL, "the manifest in '%s' names no file", s->dir);
    s->path = *entry ? str_printf("%s/model/%s", s->dir, entry) : path_join(s->dir, "model");
    return s->path ? 0 : err_oom(err);
}

/* What it does not say stays as it is. */
static int read_manifest(struct model_source *s, const char *file, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *name;
    int r = json_parse_file(file, MANIFEST_MAX, &v, err);

    if (r < 0)
        return r;
    name = json_string_value(json_object_get(v, "name"));
    if (name && *name) {
        s->name = strdup(name);
        if (!s->name)
            return err_oom(err);
    }
    s->version = json_int_or(v, "version", s->version);
    if (s->version < 1)
        return err_set(err, -EINVAL, "'%s' has no version of 1 or more", file);
    return take_entry(s, v, err);
}

static int open_dir(struct model_source *s, const char *path, struct err *err)
{
    AUTO_FREE char *manifest = path_join(path, "MANIFEST.json");

    s->dir = strdup(path);
    if (!manifest || !s->dir)
        return err_oom(err);
    if (access(manifest, F_OK) < 0)
        return 0;
    return read_manifest(s, manifest, err);
}

int model_source_open(const char *path, struct model_source *ret, struct err *err)
{
    struct stat st;
    int r = 0;

    *ret = (struct model_source){ .version = 1 };
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        r = open_dir(ret, path, err);
    if (r == 0 && !ret->path)
        r = backend_locate(path, &ret->ops, &ret->path, err);
    if (r == 0 && !ret->name && !(ret->name = name_of(path)))
        r = err_oom(err);
    return r;
}
