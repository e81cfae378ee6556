/* disk_facts.c - hands the files of a directory to the recognisers of model/format, and turns the
 * signatures that they find into those of a server. See disk_facts.h. */
#include "serve/backend/disk_facts.h"
#include "base/path.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct facts_file {
    const char *dir, *name;
    int fd;
    uint64_t size;
};

struct facts_files {
    struct facts_file *v;
    size_t n;
};

static void facts_close(struct facts_files *l)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->v[i].fd >= 0)
            (void)close(l->v[i].fd);
    free(l->v);
}
#define AUTO_FACTS_FILES AUTO_DONE(facts_close) struct facts_files

static int facts_open(struct facts_file *f, const char *dir, const char *name, struct err *err)
{
    AUTO_FREE char *path = path_join(dir, name);
    struct stat st;

    if (!path)
        return err_oom(err);
    *f = (struct facts_file){ dir, name, open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), 0 };
    if (f->fd < 0 || fstat(f->fd, &st) < 0)
        return err_sys(err, "open '%s'", path);
    if (!S_ISREG(st.st_mode))
        return err_set(err, -EINVAL, "'%s' is no plain file", path);
    f->size = (uint64_t)st.st_size;
    return 0;
}

static int facts_pread(void *arg, size_t file, uint64_t at, void *p, size_t n, struct err *err)
{
    const struct facts_files *l = arg;
    const struct facts_file *f = &l->v[file];
    size_t done = 0;

    while (done < n) {
        ssize_t got = pread(f->fd, (char *)p + done, n - done, (off_t)(at + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(err, "read '%s/%s'", f->dir, f->name);
        if (got == 0)
            return err_set(err, -EIO, "'%s/%s' became shorter while it was read", f->dir, f->name);
        done += (size_t)got;
    }
    return 0;
}

/* What is to be asked stands sorted, as the recognisers want it. */
static int facts_find(struct facts_files *l, struct format_facts *ret, struct err *err)
{
    AUTO_FREE struct format_file *files = calloc(l->n + 1, sizeof(*files));
    const struct format_tree tree = { files, l->n, facts_pread, l };

    if (!files)
        return err_oom(err);
    for (size_t i = 0; i < l->n; i++)
        files[i] = (struct format_file){ l->v[i].name, l->v[i].size };
    return format_find(&tree, ret, err);
}

int disk_facts_read(const char *dir, const struct strs *names, struct format_facts *ret,
                    struct err *err)
{
    AUTO_FACTS_FILES files = { calloc(names->n + 1, sizeof(struct facts_file)), 0 };
    int r = files.v ? 0 : err_oom(err);

    for (size_t i = 0; i < names->n && r == 0; i++)
        r = facts_open(&files.v[files.n++], dir, names->v[i], err);
    return r < 0 ? r : facts_find(&files, ret, err);
}

/* ---- signatures ---- */

/* A slot as manifests have it: {"name": …, "datatype": "FP32", "shape": [-1, 4], "tensor": "x:0"}.
 * "tensor" is what the model itself calls it; without a shape it may have any. */
static int facts_slot(const json_t *v, struct signature_slots *to, struct err *err)
{
    const char *name = json_string_value(json_object_get(v, "name"));
    const char *datatype = json_string_value(json_object_get(v, "datatype"));
    const json_t *shape = json_object_get(v, "shape");
    size_t rank = json_array_size(shape);
    int64_t dims[TENSOR_DIMS_MAX];
    enum tensor_type type;

    if (!name || !datatype)
        return err_set(err, -EINVAL, "a tensor has no name or no type");
    type = tensor_type_of_oip(datatype, strlen(datatype));
    if (type == TENSOR_NONE)
        return err_set(err, -EOPNOTSUPP, "'%s' has elements of %s, which cannot be served", name,
                       str_eq(datatype, "UNKNOWN") ? "an unknown type" : datatype);
    if (rank > TENSOR_DIMS_MAX)
        return err_set(err, -EOPNOTSUPP, "'%s' has %zu dimensions: at most %d are possible", name,
                       rank, TENSOR_DIMS_MAX);
    for (size_t i = 0; i < rank; i++)
        dims[i] = json_integer_value(json_array_get(shape, i));
    return signature_add(to, name, json_string_value(json_object_get(v, "tensor")), type,
                         json_is_array(shape) ? dims : NULL, rank, err);
}

int disk_facts_slots(const json_t *list, struct signature_slots *to, struct err *err)
{
    const json_t *one;
    size_t i;
    int r = 0;

    json_array_foreach(list, i, one)
    {
        if (r == 0)
            r = facts_slot(one, to, err);
    }
    return r;
}

int disk_facts_signature(const char *name, const json_t *v, struct signature *ret, struct err *err)
{
    const char *method = json_string_value(json_object_get(v, "method"));
    int r;

    ret->name = strdup(name);
    ret->method = method && *method ? strdup(method) : NULL;
    if (!ret->name || (method && *method && !ret->method))
        return err_oom(err);
    r = disk_facts_slots(json_object_get(v, "inputs"), &ret->inputs, err);
    if (r == 0)
        r = disk_facts_slots(json_object_get(v, "outputs"), &ret->outputs, err);
    if (r == 0 && ret->outputs.n == 0)
        r = err_set(err, -EOPNOTSUPP, "it has no output");
    return r;
}
