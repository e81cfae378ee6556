/* backend.c - which backends there are, and which of them a path is for: the file's name decides,
 * and where a name is as common as model.json its first bytes do. See backend.h. */
#include "serve/backend/backend.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD 256 /* bytes that a backend is shown of a file */

static const struct backend_ops *const backends[] = { &backend_tensorflow, &backend_onnxruntime,
                                                      &backend_xgboost, &backend_lightgbm };

const struct backend_ops *backend_for_format(const char *format)
{
    for (size_t i = 0; i < COUNT_OF(backends); i++)
        if (str_eq(backends[i]->format, format))
            return backends[i];
    return NULL;
}

/* "ONNX (model.onnx), XGBoost (model.json, …)" behind the sentence that is there. */
static int none_found(struct err *err)
{
    AUTO_BUF list = { .max = 4 * KIB };

    for (size_t i = 0; i < COUNT_OF(backends); i++)
        (void)buf_printf(&list, "%s%s", i > 0 ? ", " : "", backends[i]->says);
    if (buf_text(&list))
        err_hint(err,
                 "models that can be served, and their names in a directory or in its model/: %s",
                 buf_text(&list));
    return -ENOENT;
}

/* ---- what a file is ---- */

/* A file that is empty or cannot be read is not told apart from one of the right kind: whoever
 * loads it says what is wrong with it. */
static bool begins_well(const struct backend_ops *ops, const char *path)
{
    AUTO_CLOSE int fd = ops->begins ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    uint8_t head[HEAD];
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof(head));

    return n <= 0 || ops->begins(head, (size_t)n);
}

/* "model.onnx" → ".onnx": whether a file may be one of its models. */
static bool has_its_ending(const struct backend_ops *ops, const char *path)
{
    for (const char *const *f = ops->files; *f; f++) {
        const char *ending = strrchr(*f, '.');

        if (ending && str_ends(path, ending))
            return true;
    }
    return false;
}

static int locate_file(const char *path, const struct backend_ops **ret, char **ret_path,
                       struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(backends); i++) {
        if (!has_its_ending(backends[i], path) || !begins_well(backends[i], path))
            continue;
        *ret = backends[i];
        *ret_path = strdup(path);
        return *ret_path ? 0 : err_oom(err);
    }
    (void)err_set(err, -ENOENT, "'%s' is not a model that can be served", path);
    return none_found(err);
}

/* ---- what a directory has ---- */

/* Where a model lies in what a user names; a version of the registry has it in model/. */
static const char *const rooms[] = { "", "model" };

/* 1: it is there, and its path is the caller's; 0: it is not. */
static int locate_name(const char *dir, const struct backend_ops *ops, const char *name, char **ret,
                       struct err *err)
{
    for (size_t i = 0; i < COUNT_OF(rooms); i++) {
        AUTO_FREE char *inner = path_join(dir, rooms[i]);
        AUTO_FREE char *path = inner ? path_join(inner, name) : NULL;
        struct stat st;

        if (!path)
            return err_oom(err);
        if (stat(path, &st) < 0) {
            if (errno != ENOENT && errno != ENOTDIR)
                return err_sys(err, "open '%s'", path);
        } else if (begins_well(ops, path)) {
            *ret = take(path);
            return 1;
        }
    }
    return 0;
}

static int locate_in(const char *dir, const struct backend_ops *ops, char **ret, struct err *err)
{
    int r = 0;

    for (const char *const *name = ops->files; *name && r == 0; name++)
        r = locate_name(dir, ops, *name, ret, err);
    return r;
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

        if (r == 0)
            continue;
        *ret = backends[i];
        return r < 0 ? r : 0;
    }
    (void)err_set(err, -ENOENT, "there is no model in '%s'", path);
    return none_found(err);
}
