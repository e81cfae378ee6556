/* docker_args.c - the command line of `docker run` for a task, and what its client says when it
 * fails.
 *
 * A path that is mounted twice is given once: docker refuses the second. */
#include "agent/tasks/docker_args.h"
#include "base/buf.h"

#include <stdio.h>
#include <string.h>

#define CPU_SHARES 1024 /* of one processor, docker's default */
#define CPU_SHARES_MAX 262144

static int docker_add(struct strs *to, const char *option, const char *value)
{
    int r = strs_add(to, option);

    return r < 0 || !value ? r : strs_add(to, value);
}

static int docker_add_number(struct strs *to, const char *option, uint64_t n)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
    return docker_add(to, option, text);
}

/* ---- mounts ---- */

struct mount {
    char *from, *to;
    bool read_only;
};

static void auto_mount_(struct mount *m)
{
    free(m->from);
    free(m->to);
}

static int mount_parse(const char *text, struct mount *ret)
{
    const char *colon = strchr(text, ':');
    size_t from = colon ? (size_t)(colon - text) : strlen(text), to;
    const char *target = text;

    if (colon && colon[1] == '/') {
        target = colon + 1;
        to = strlen(target);
        ret->read_only = str_ends(target, ":ro");
        if (ret->read_only || str_ends(target, ":rw"))
            to -= 3;
    } else {
        from = to = strlen(text); /* a path of ours, whatever is in it */
    }
    ret->from = strndup(text, from);
    ret->to = strndup(target, to);
    return ret->from && ret->to ? 0 : -ENOMEM;
}

/* --mount takes a line of comma separated values, where one may stand in double quotes. */
static int add_field(struct buf *line, const char *name, const char *value)
{
    bool quoted = strpbrk(value, ",\"\n\r") != NULL;
    int r = buf_printf(line, ",%s%s=", quoted ? "\"" : "", name);

    for (const char *p = value; *p && r == 0; p++) {
        if (*p == '"')
            r = buf_add(line, "\"", 1);
        if (r == 0)
            r = buf_add(line, p, 1);
    }
    return r == 0 && quoted ? buf_add(line, "\"", 1) : r;
}

static int add_mount(struct strs *to, const struct mount *m)
{
    AUTO_BUF line = { .max = 16 * KIB };
    int r = buf_add_str(&line, "type=bind");

    if (r == 0)
        r = add_field(&line, "source", m->from);
    if (r == 0)
        r = add_field(&line, "target", m->to);
    if (r == 0 && m->read_only)
        r = buf_add_str(&line, ",readonly");
    if (r < 0 || !buf_text(&line))
        return -ENOMEM;
    return docker_add(to, "--mount", (const char *)line.data);
}

static int docker_add_mounts(const struct docker_args *d, struct strs *to)
{
    AUTO_STRS seen = { 0 };
    const struct mount node = { (char *)d->program, (char *)DOCKER_NODE, true };
    int r = add_mount(to, &node);

    for (size_t i = 0; i < d->mounts->n && r == 0; i++) {
        AUTO(mount) struct mount m = { 0 };

        r = mount_parse(d->mounts->v[i], &m);
        if (r < 0 || strs_has(&seen, m.to))
            continue;
        r = strs_add(&seen, m.to);
        if (r == 0)
            r = add_mount(to, &m);
    }
    return r;
}

/* ---- the rest ---- */

static int add_limits(const struct docker_args *d, struct strs *to)
{
    uint64_t shares = (uint64_t)d->cpus * CPU_SHARES;
    int r = 0;

    if (d->memory) {
        r = docker_add_number(to, "--memory", d->memory);
        if (r == 0)
            r = docker_add_number(to, "--memory-swap", d->memory); /* both together: no swap */
    }
    if (r == 0 && shares)
        r = docker_add_number(to, "--cpu-shares",
                              shares < CPU_SHARES_MAX ? shares : CPU_SHARES_MAX);
    if (r == 0 && d->gpus && *d->gpus) {
        AUTO_FREE char *devices = str_printf("\"device=%s\"", d->gpus);

        r = devices ? docker_add(to, "--gpus", devices) : -ENOMEM;
    }
    return r;
}

static int add_identity(const struct docker_args *d, struct strs *to)
{
    AUTO_FREE char *user = str_printf("%u:%u", (unsigned)d->user, (unsigned)d->group);
    AUTO_FREE char *job = str_printf("ydl.job=%s", d->job);
    AUTO_FREE char *task = str_printf("ydl.task=%s", d->task);
    int r = user && job && task ? docker_add(to, "--user", user) : -ENOMEM;

    for (size_t i = 0; i < d->n_groups && r == 0; i++)
        if (d->groups[i] != d->group)
            r = docker_add_number(to, "--group-add", d->groups[i]);
    if (r == 0)
        r = docker_add(to, "--name", d->name);
    if (r == 0)
        r = docker_add(to, "--label", job);
    if (r == 0)
        r = docker_add(to, "--label", task);
    return r == 0 && d->mark ? docker_add(to, "--env", d->mark) : r;
}

int docker_args(const struct docker_args *d, struct strs *ret)
{
    /* Shared memory works as between plain processes: data loaders and NCCL need it. Output goes to
     * files that process 1 opens, so docker keeps no log. SELinux, where enabled, would hide all
     * our directories from a container. */
    static const char *const always[] = {
        "docker",    "run", "--rm",         "--network", "host",           "--ipc",         "host",
        "--workdir", "/",   "--log-driver", "none",      "--security-opt", "label=disable",
    };
    int r = 0;

    for (size_t i = 0; i < COUNT_OF(always) && r == 0; i++)
        r = strs_add(ret, always[i]);
    if (r == 0)
        r = add_identity(d, ret);
    if (r == 0)
        r = add_limits(d, ret);
    if (r == 0)
        r = docker_add_mounts(d, ret);
    if (r == 0)
        r = docker_add(ret, "--entrypoint", DOCKER_NODE);
    if (r == 0)
        r = strs_add(ret, d->image);
    if (r == 0)
        r = strs_add(ret, "init");
    for (size_t i = 0; i < d->init->n && r == 0; i++)
        r = strs_add(ret, d->init->v[i]);
    return r;
}

int docker_gpus(const char *gpus, char **ret)
{
    AUTO_BUF text = { .max = 4 * KIB };
    unsigned n = 0;
    int r = buf_add_str(&text, "");

    for (const char *p = gpus; p && *p && r == 0; p = *p ? p + 1 : p) {
        r = buf_printf(&text, "%s%u", n ? "," : "", n);
        n++;
        p += strcspn(p, ",");
    }
    if (r < 0 || !buf_text(&text))
        return -ENOMEM;
    *ret = (char *)take(text.data);
    return 0;
}

/* ---- what it says ---- */

static const char *docker_after(const char *s, const char *prefix)
{
    return str_starts(s, prefix) ? s + strlen(prefix) : s;
}

static bool is_advice(const char *line)
{
    return str_starts(line, "Run 'docker") || str_starts(line, "See 'docker");
}

/* The client's error has a prefix; the rest is download progress and advice. */
void docker_reason(const char *said, char *out, size_t cap)
{
    AUTO_STRS lines = { 0 };
    const char *best = "docker ended without a word";

    (void)strs_split(&lines, said, "\n");
    for (size_t i = 0; i < lines.n; i++) {
        if (!is_advice(lines.v[i]))
            best = lines.v[i];
        if (str_starts(lines.v[i], "docker: "))
            break;
    }
    best = docker_after(docker_after(best, "docker: "), "Error response from daemon: ");
    (void)str_clean(out, cap, best);
}
