/* model_source.c - the backend says where a model lies; a manifest beside it says what it is
 * called. See model_source.h. */
#include "serve/engine/model_source.h"
#include "base/json.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>
#include <sys/stat.h>

#define MANIFEST_MAX (16 * MIB)

void model_source_done(struct model_source *s)
{
    free(s->dir);
    free(s->path);
    free(s->name);
    *s = (struct model_source){ 0 };
}

/* "resnet" of ".../resnet.onnx"; of ".../resnet/model.onnx" and ".../resnet/" the directory's. */
static char *name_of(const char *path)
{
    AUTO_FREE char *full = realpath(path, NULL);
    AUTO_FREE char *base = path_base(full ? full : path);
    char *dot = base ? strrchr(base, '.') : NULL;

    if (dot && dot != base)
        *dot = '\0';
    if (base && strcmp(base, "model") == 0 && full) {
        AUTO_FREE char *dir = path_dir(full);

        return dir ? path_base(dir) : NULL;
    }
    return take(base);
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
        free(s->name);
        s->name = strdup(name);
        if (!s->name)
            return err_oom(err);
    }
    s->version = json_int_or(v, "version", s->version);
    if (s->version < 1)
        return err_set(err, -EINVAL, "'%s' has no version of 1 or more", file);
    return 0;
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

/* The file of the model that a version of the registry names; else the path itself. *ret is the
 * caller's. */
static int find_entry(const char *path, char **ret, struct err *err)
{
    AUTO_FREE char *file = path_join(path, "MANIFEST.json");
    AUTO_JSON *v = NULL;
    const char *entry = NULL;
    int r = 0;

    if (file && access(file, F_OK) == 0)
        r = json_parse_file(file, MANIFEST_MAX, &v, err);
    if (r < 0)
        return r;
    entry = json_string_value(json_object_get(v, "entry"));
    if (entry && (*entry == '/' || strstr(entry, "..")))
        return err_set(err, -EINVAL, "'%s': its entry '%s' is outside of the version", file, entry);
    *ret = entry ? str_printf("%s/model/%s", path, entry) : strdup(path);
    return *ret ? 0 : err_oom(err);
}

int model_source_open(const char *path, struct model_source *ret, struct err *err)
{
    AUTO_FREE char *entry = NULL;
    struct stat st;
    int r;

    *ret = (struct model_source){ .version = 1 };
    r = find_entry(path, &entry, err);
    if (r == 0)
        r = backend_locate(entry, &ret->ops, &ret->path, err);
    if (r < 0)
        return r;
    ret->name = name_of(path);
    if (!ret->name)
        return err_oom(err);
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return open_dir(ret, path, err);
    return 0;
}
