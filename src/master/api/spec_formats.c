/* spec_formats.c - the cluster specification in the formats that frameworks know. */
#include "base/json.h"
#include "master/master_private.h"

#include <string.h>

static int spec_formats_add_list(const struct cluster_role *role, struct buf *out)
{
    for (size_t i = 0; i < role->n; i++) {
        const struct cluster_task *t = &role->tasks[i];

        if (buf_printf(out, "%s%s:%u", i ? "," : "", t->host, t->port[0]) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* "ps=10.0.0.1:2222,10.0.0.2:2222", one role per line. */
static int render_hosts(const struct cluster *c, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < c->n && r == 0; i++) {
        r = buf_printf(out, "%s=", c->roles[i].name);
        if (r >= 0)
            r = spec_formats_add_list(&c->roles[i], out);
        if (r >= 0)
            r = buf_add_str(out, "\n");
    }
    return r;
}

/* The same as variables for a shell: PS_HOSTS="…". */
static int render_env(const struct cluster *c, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < c->n && r == 0; i++) {
        for (const char *p = c->roles[i].name; *p && r == 0; p++)
            r = buf_add_u8(out, *p == '-' ? '_' : (uint8_t)(*p >= 'a' && *p <= 'z' ? *p - 32 : *p));
        if (r == 0)
            r = buf_add_str(out, "_HOSTS=");
        if (r == 0)
            r = spec_formats_add_list(&c->roles[i], out);
        if (r == 0)
            r = buf_add_str(out, "\n");
    }
    return r;
}

/* What stands under "cluster" in TF_CONFIG; an evaluator is not part of it. */
static int render_tf(const struct cluster *c, struct buf *out)
{
    int r = buf_add_str(out, "{\"cluster\": {");
    bool first = true;

    for (size_t i = 0; i < c->n && r == 0; i++) {
        if (str_eq(c->roles[i].name, "evaluator"))
            continue;
        r = buf_printf(out, "%s\"%s\": [", first ? "" : ", ", c->roles[i].name);
        first = false;
        for (size_t k = 0; k < c->roles[i].n && r >= 0; k++)
            r = buf_printf(out, "%s\"%s:%u\"", k ? ", " : "", c->roles[i].tasks[k].host,
                           c->roles[i].tasks[k].port[0]);
        if (r >= 0)
            r = buf_add_str(out, "]");
    }
    return r < 0 ? r : buf_add_str(out, "}}\n");
}

static bool spec_formats_serves(const char *role)
{
    static const char *const names[] = { "chief", "ps", "worker" };

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (str_eq(role, names[i]))
            return true;
    return false;
}

/* One line, as the launchers of TensorFlow on YARN print it and scripts look for it. */
static int render_clusterspec(const struct cluster *c, struct buf *out)
{
    int r = buf_add_str(out, "ClusterSpec: {");
    bool first = true;

    for (size_t i = 0; i < c->n && r == 0; i++) {
        if (!spec_formats_serves(c->roles[i].name) || c->roles[i].n == 0)
            continue;
        r = buf_printf(out, "%s\"%s\":[", first ? "" : ",", c->roles[i].name);
        first = false;
        for (size_t k = 0; k < c->roles[i].n && r >= 0; k++)
            r = buf_printf(out, "%s\"%s:%u\"", k ? "," : "", c->roles[i].tasks[k].host,
                           c->roles[i].tasks[k].port[0]);
        if (r >= 0)
            r = buf_add_str(out, "]");
    }
    return r < 0 ? r : buf_add_str(out, "}\n");
}

int specs_render(const struct cluster *c, const char *format, struct buf *out, struct err *err)
{
    static const struct {
        const char *name;
        int (*render)(const struct cluster *c, struct buf *out);
    } formats[] = { { "hosts", render_hosts },
                    { "env", render_env },
                    { "tf", render_tf },
                    { "clusterspec", render_clusterspec } };
    static const char *const names[] = { "json", "hosts", "env", "tf", "clusterspec" };
    const char *near;

    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (str_eq(format, formats[i].name))
            return formats[i].render(c, out) < 0 ? err_oom(err) : 0;
    near = str_nearest(format, names, COUNT_OF(names));
    err_set(err, -EINVAL, "'%s' is no format of a cluster specification", format);
    if (near)
        err_hint(err, "did you mean '%s'?", near);
    return -EINVAL;
}
