/* backend.c - which backends there are, and which of them a path is for: the file's name decides,
 * because what it contains is the library's business. See backend.h. */
#include "serve/backend/backend.h"
#include "base/path.h"
#include "base/str.h"

#include <string.h>
#include <sys/stat.h>

static const struct backend_ops *const backends[] = { &backend_onnxruntime };

const struct backend_ops *backend_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(backends); i++)
        if (str_eq(backends[i]->name, name))
            return backends[i];
    return NULL;
}

/* Where a model lies in what a user names; a version of the registry has it in model/. */
static const char *const rooms[] = { "", "model" };

static int locate_in(const char *dir, const struct backend_ops *ops, char **ret, struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(rooms); i++) {
        AUTO_FREE char *inner = path_join(dir, rooms[i]);
        AUTO_FREE char *path = inner ? path_join(inner, ops->file) : NULL;
        struct stat st;

        if (!path)
            return err_oom(err);
        if (stat(path, &st) == 0) {
            *ret = take(path);
            return 0;
        }
        if (errno != ENOENT && errno != ENOTDIR)
            return err_sys(err, "open '%s'", path);
    }
    return -ENOENT;
}

/* "model.onnx" → ".onnx": whether a file may be one of its models. */
static bool backend_takes(const struct backend_ops *ops, const char *path)
{
    const char *ending = strrchr(ops->file, '.');

    return ending && str_ends(path, ending);
}

static int locate_file(const char *path, const struct backend_ops **ret, char **ret_path,
                       struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        if (!backend_takes(backends[i], path))
            continue;
        *ret = backends[i];
        *ret_path = strdup(path);
        return *ret_path ? 0 : err_oom(err);
    }
    (void)err_set(err, -ENOENT, "'%s' is not a model that can be served", path);
    err_hint(err, "an ONNX model has a name that ends in .onnx");
    return -ENOENT;
}

int backend_locate(const char *path, const struct backend_ops **ret, char **ret_path,
                   struct err *err)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(err, "open the model '%s'", path);
    if (!S_ISDIR(st.st_mode))
        return locate_file(path, ret, ret_path, err);
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        int r = locate_in(path, backends[i], ret_path, err);

        if (r == -ENOENT)
            continue;
        *ret = backends[i];
        return r;
    }
    (void)err_set(err, -ENOENT, "there is no model in '%s'", path);
    err_hint(err, "an ONNX model is looked for as model.onnx and model/model.onnx");
    return -ENOENT;
}
