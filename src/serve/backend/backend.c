/* backend.c - which backends there are, and which of them a path is for: the file's name decides,
 * and where a name is as common as model.json its first bytes do. A directory with model.py is a
 * Python handler, whatever else it holds: it comes first. See backend.h. */
#include "serve/backend/backend.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define HEAD 256 /* bytes that a backend is shown of a file */

static const struct backend_ops *const backends[] = {
    &backend_python,      &backend_tensorflow, &backend_mxnet,
    &backend_onnxruntime, &backend_xgboost,    &backend_lightgbm,
};

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
        err_hint(err, "what can be served: %s", buf_text(&list));
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
        const char *ending = **f == '*' ? *f + 1 : strrchr(*f, '.');

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

static int locate_at(const char *dir, const struct backend_ops *ops, const char *name, char **ret,
                     struct err *err)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct stat st;

    if (!path)
        return err_oom(err);
    if (stat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : err_sys(err, "open '%s'", path);
    if (!begins_well(ops, path))
        return 0;
    *ret = take(path);
    return 1;
}

/* The one file with this ending. */
static int locate_ending(const char *dir, const struct backend_ops *ops, const char *ending,
                         char **ret, struct err *err)
{
    AUTO_DIR DIR *d = opendir(dir);
    AUTO_FREE char *found = NULL;
    struct dirent *e;
    int r = 0;

    while (d && r >= 0 && (e = readdir(d)) != NULL) {
        char *one = NULL;

        if (e->d_name[0] != '.' && str_ends(e->d_name, ending))
            r = locate_at(dir, ops, e->d_name, &one, err);
        if (one && found)
            r = err_set(err, -EINVAL, "'%s' has several models: name the file of one", dir);
        free(found && one ? one : NULL);
        found = found ? found : one;
    }
    if (r < 0 || !found)
        return r < 0 ? r : 0;
    *ret = take(found);
    return 1;
}

/* 1: it is there, and its path is the caller's; 0: it is not. */
static int locate_name(const char *dir, const struct backend_ops *ops, const char *name, char **ret,
                       struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(rooms) && r == 0; i++) {
        AUTO_FREE char *inner = path_join(dir, rooms[i]);

        if (!inner)
            return err_oom(err);
        r = *name == '*' ? locate_ending(inner, ops, name + 1, ret, err)
                         : locate_at(inner, ops, name, ret, err);
    }
    return r;
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
