/* container_init_files.c - the two files between an agent and process 1 of a container, see
 * container_init.h
 *
 * The environment is entries that end with NUL: the weak ones, an empty one, the strong ones. The
 * end is a JSON object. */
#include "agent/container_init.h"
#include "base/json.h"
#include "base/path.h"

#include <string.h>

#define END_MAX (16 * KIB)
#define ENV_MAX (16 * MIB) /* more than any system takes */

/* ---- the environment ---- */

static int init_put(struct buf *out, const struct env *e)
{
    int r = 0;

    for (size_t i = 0; i < e->n && r == 0; i++)
        r = buf_add(out, e->v[i], strlen(e->v[i]) + 1);
    return r;
}

int init_env_write(const char *path, const struct env *weak, const struct env *strong,
                   struct err *err)
{
    AUTO_BUF text = { .max = ENV_MAX };
    int r = init_put(&text, weak);

    if (r == 0)
        r = buf_add(&text, "", 1);
    if (r == 0)
        r = init_put(&text, strong);
    if (r == -E2BIG)
        return err_set(err, r, "its environment is larger than %zu MB", ENV_MAX / MIB);
    if (r < 0)
        return err_oom(err);
    if (unlink(path) < 0 && errno != ENOENT)
        return err_sys(err, "remove '%s'", path);
    return path_write_new(path, text.data, text.len, 0600, err);
}

/* Three layers, each replacing names of the one before: what the job would like (weak), what the
 * image brings, what the task needs (strong). Entries are lent from `text`, which the caller keeps.
 */
int init_env_merge(char *text, size_t n, char *const *image, struct env *ret)
{
    char *at = text, *end = text + n;
    int r = 0;

    if (n == 0 || end[-1] != '\0')
        return -EBADMSG;
    for (; at < end && *at && r == 0; at += strlen(at) + 1)
        r = env_lend(ret, at);
    if (r == 0 && at == end)
        return -EBADMSG; /* cut off */
    for (; *image && r == 0; image++)
        r = strchr(*image, '=') > *image ? env_lend(ret, *image) : 0;
    for (at++; at < end && r == 0; at += strlen(at) + 1)
        r = env_lend(ret, at);
    return r == -EINVAL ? -EBADMSG : r;
}

/* ---- the end ---- */

int init_end_write(const char *path, const struct init_end *e, struct err *err)
{
    AUTO_JSON *v = NULL;
    AUTO_FREE char *text = NULL;
    int r = json_make(&v, err, "{s:i, s:i, s:o, s:I, s:I}", "code", e->code, "signal", e->signal,
                      "not_started", json_text(e->not_started), "peak", (json_int_t)e->peak, "oom",
                      (json_int_t)e->oom);

    if (r < 0)
        return r;
    text = json_dumps(v, JSON_COMPACT);
    return text ? path_write(path, text, strlen(text), 0600, err) : err_oom(err);
}

int init_end_read(const char *path, struct init_end *ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *not_started = NULL;
    json_int_t peak = 0, oom = 0;
    int r;

    *ret = (struct init_end){ 0 };
    if (access(path, F_OK) < 0)
        return err_sys(err, "read '%s'", path);
    r = json_parse_file(path, END_MAX, &v, err);
    if (r < 0)
        return r;
    if (json_unpack(v, "{s:i, s:i, s?I, s?I}", "code", &ret->code, "signal", &ret->signal, "peak",
                    &peak, "oom", &oom) < 0 ||
        ret->code < 0 || ret->code > 255 || ret->signal < 0 || ret->signal > 64 || peak < 0 ||
        oom < 0)
        return err_set(err, -EBADMSG, "'%s' does not say how the task ended", path);
    ret->peak = (uint64_t)peak;
    ret->oom = (uint64_t)oom;
    not_started = json_string_value(json_object_get(v, "not_started"));
    if (!not_started)
        return 0;
    ret->not_started = strdup(not_started);
    return ret->not_started ? 0 : err_oom(err);
}
