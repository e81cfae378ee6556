/* vars.c - one table of the variables with the forms of their parameters serves both passes: the
 * check before a job starts, which explains a wrong form, and the replacement, which must not
 * fail later. See vars.h. */
#include "job/spec/vars.h"
#include "base/str.h"
#include "job/cluster_spec.h"

#include <stdio.h>
#include <string.h>

#define NAME_MAX_ 63   /* longest text in braces that can be a variable */
#define ADDRESS_MAX 22 /* "255.255.255.255:65535," */

/* clang-format off */
const char *const vars_names[] = {
    "job", "role", "index", "rank", "world", "local_rank", "generation", "attempt", "host", "port",
    "out", "port:K", "hosts:ROLE", "addresses:ROLE", "host:ROLE:N", "port:ROLE:N", "count:ROLE",
    NULL,
};
/* clang-format on */

/* Text in braces, taken apart at its colons. */
struct var {
    char text[NAME_MAX_ + 1];
    const char *name, *role, *task; /* into `text`; NULL where there is no such part */
    size_t len;                     /* of it all, with the braces */
    bool doubled;                   /* {{…}} */
};

/* ---- finding them ---- */

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == ':';
}

/* Reads "{name:role:task}" or the same in double braces at `p`, which is at a '{'. */
static bool vars_read_var(const char *p, struct var *ret)
{
    size_t braces = p[1] == '{' ? 2 : 1, n = 0;
    char *colon;

    while (n < NAME_MAX_ && is_name_char(p[braces + n]))
        n++;
    if (n == 0 || p[braces + n] != '}' || (braces == 2 && p[braces + n + 1] != '}'))
        return false;
    *ret = (struct var){ .len = n + 2 * braces, .doubled = braces == 2 };
    memcpy(ret->text, p + braces, n);
    ret->name = ret->text;
    colon = strchr(ret->text, ':');
    if (colon) {
        *colon = '\0';
        ret->role = colon + 1;
        colon = strchr(colon + 1, ':');
    }
    if (colon) {
        *colon = '\0';
        ret->task = colon + 1;
    }
    return true;
}

/* The length of a row's name without its parameters, and how many those are. */
static size_t name_len(const char *row)
{
    return strcspn(row, ":");
}

static unsigned parameters(const char *row)
{
    const char *colon = strchr(row, ':');

    return colon ? 1 + (strchr(colon + 1, ':') != NULL) : 0;
}

static bool vars_is_known(const char *name)
{
    for (size_t i = 0; vars_names[i]; i++)
        if (strlen(name) == name_len(vars_names[i]) &&
            strncmp(vars_names[i], name, strlen(name)) == 0)
            return true;
    return false;
}

/* The row that fits the name and the number of its parts, or NULL. */
static const char *vars_row_of(const struct var *v)
{
    unsigned parts = (v->role != NULL) + (v->task != NULL);

    for (size_t i = 0; vars_names[i]; i++)
        if (strlen(v->name) == name_len(vars_names[i]) &&
            strncmp(vars_names[i], v->name, strlen(v->name)) == 0 &&
            parameters(vars_names[i]) == parts)
            return vars_names[i];
    return NULL;
}

/* Whether one letter too many, too few, wrong or swapped with the next one makes `a` into `b`. */
static bool one_slip(const char *a, const char *b, size_t m)
{
    size_t n = strlen(a), same = 0;

    while (same < n && same < m && a[same] == b[same])
        same++;
    if (n == m + 1)
        return strncmp(a + same + 1, b + same, m - same) == 0;
    if (n + 1 == m)
        return strncmp(a + same, b + same + 1, n - same) == 0;
    if (n != m || same == n)
        return false;
    if (strncmp(a + same + 1, b + same + 1, n - same - 1) == 0)
        return true;
    return same + 1 < n && a[same] == b[same + 1] && a[same + 1] == b[same] &&
           strncmp(a + same + 2, b + same + 2, n - same - 2) == 0;
}

/* The row whose name `name` was to be, or NULL. Short words are too often something else. */
static const char *nearly(const char *name)
{
    for (size_t i = 0; vars_names[i] && strlen(name) > 3; i++)
        if (one_slip(name, vars_names[i], name_len(vars_names[i])))
            return vars_names[i];
    return NULL;
}

/* ---- values ---- */

static int vars_no_value(const struct var *v, struct err *err, const char *why)
{
    return err_set(err, -EINVAL, "{%s%s%s%s%s} has no value: %s", v->name, v->role ? ":" : "",
                   v->role ? v->role : "", v->task ? ":" : "", v->task ? v->task : "", why);
}

/* {port} and {port:K}: the task's own. */
static bool is_own_port(const struct var *v)
{
    return strcmp(v->name, "port") == 0 && !v->task;
}

static int own_port(const struct vars *vars, const struct var *v, struct buf *out, struct err *err)
{
    int64_t i = 0;

    if (v->role && str_to_i64(v->role, 0, INT64_MAX, &i) < 0)
        return vars_no_value(v, err, "the last part is not a number");
    if ((uint64_t)i >= vars->n_ports)
        return vars_no_value(v, err,
                             v->role ? "the task has no such port" : "the task has no port");
    return buf_printf(out, "%u", vars->port[i]);
}

static int plain_value(const struct vars *vars, const struct var *v, struct buf *out,
                       struct err *err)
{
    const struct {
        const char *name, *text;
    } texts[] = {
        { "job", vars->job }, { "role", vars->role }, { "host", vars->host }, { "out", vars->out }
    };
    const struct {
        const char *name;
        unsigned n;
    } numbers[] = {
        { "index", vars->index },           { "rank", vars->rank },
        { "world", vars->world },           { "local_rank", vars->local_rank },
        { "generation", vars->generation }, { "attempt", vars->attempt },
    };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (strcmp(texts[i].name, v->name) == 0)
            return texts[i].text ? buf_add_str(out, texts[i].text)
                                 : vars_no_value(v, err, "it is not known here");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (strcmp(numbers[i].name, v->name) == 0)
            return buf_printf(out, "%u", numbers[i].n);
    return vars_no_value(v, err, "it is not known");
}

/* `with_ports` where they have some. */
static int hosts_value(const struct cluster_role *role, bool with_ports, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < role->n && r == 0; i++) {
        const struct cluster_task *t = &role->tasks[i];
        char port[8] = "";

        if (with_ports && t->n_ports)
            snprintf(port, sizeof(port), ":%u", t->port[0]);
        r = buf_printf(out, "%s%s%s", i ? "," : "", t->host, port);
    }
    return r;
}

static int task_value(const struct cluster_role *role, const struct var *v, struct buf *out,
                      struct err *err)
{
    const struct cluster_task *t;
    int64_t i;

    if (str_to_i64(v->task, 0, INT64_MAX, &i) < 0 || (size_t)i >= role->n)
        return vars_no_value(v, err, "the role has no task of that number");
    t = &role->tasks[i];
    if (strcmp(v->name, "host") == 0)
        return buf_add_str(out, t->host);
    return t->n_ports ? buf_printf(out, "%u", t->port[0])
                      : vars_no_value(v, err, "the task has no port");
}

static int role_value(const struct vars *vars, const struct var *v, struct buf *out,
                      struct err *err)
{
    const struct cluster_role *role = vars->cluster ? cluster_role(vars->cluster, v->role) : NULL;

    if (!role)
        return vars_no_value(v, err, "there is no such role");
    if (v->task)
        return task_value(role, v, out, err);
    if (strcmp(v->name, "count") == 0)
        return buf_printf(out, "%zu", role->n);
    return hosts_value(role, strcmp(v->name, "hosts") == 0, out);
}

static int vars_expand_one(const struct vars *vars, const struct var *v, struct buf *out,
                           struct err *err)
{
    if (!vars_row_of(v))
        return vars_no_value(v, err, "it is not a valid variable");
    if (is_own_port(v))
        return own_port(vars, v, out, err);
    return v->role ? role_value(vars, v, out, err) : plain_value(vars, v, out, err);
}

/* The next brace that matters in `text`: its variable in *ret; NULL when there is none. */
static const char *next_var(const char *text, struct var *ret)
{
    for (const char *p = strchr(text, '{'); p; p = strchr(p + 1, '{'))
        if (vars_read_var(p, ret) && (vars_is_known(ret->name) || nearly(ret->name)))
            return p;
    return NULL;
}

/* Says what went wrong while adding to the buffer; -EINVAL has been explained already. */
static int vars_explain(int r, struct err *err)
{
    if (r == -ENOMEM)
        return err_oom(err);
    return r == -E2BIG ? err_set(err, r, "the text becomes too long") : r;
}

static int vars_replace(const struct vars *v, const struct var *var, const char *p, struct buf *out,
                        struct err *err)
{
    if (var->doubled)
        return buf_add(out, p + 1, var->len - 2);
    return vars_is_known(var->name) ? vars_expand_one(v, var, out, err) : buf_add(out, p, var->len);
}

int vars_expand(const struct vars *v, const char *text, struct buf *out, struct err *err)
{
    struct var var;
    const char *p;
    int r;

    while ((p = next_var(text, &var))) {
        r = buf_add(out, text, (size_t)(p - text));
        if (r == 0)
            r = vars_replace(v, &var, p, out, err);
        if (r < 0)
            return vars_explain(r, err);
        text = p + var.len;
    }
    return vars_explain(buf_add(out, text, strlen(text)), err);
}

/* ---- without values ---- */

static const struct vars_role *vars_find_role(const struct vars_role *roles, size_t n,
                                              const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(roles[i].name, name) == 0)
            return &roles[i];
    return NULL;
}

static int unknown_role(const struct var *v, const struct vars_role *roles, size_t n,
                        struct err *err)
{
    const char *names[64], *near;
    size_t i = 0;

    for (; i < n && i < COUNT_OF(names); i++)
        names[i] = roles[i].name;
    near = str_nearest(v->role, names, i);
    return err_set(err, -EINVAL, "{%s:%s…}: there is no role '%s'%s%s%s", v->name, v->role, v->role,
                   near ? " (did you mean '" : "", near ? near : "", near ? "'?)" : "");
}

static int check_role_var(const struct var *v, const struct vars_role *roles, size_t n,
                          struct err *err)
{
    const struct vars_role *role = vars_find_role(roles, n, v->role);
    int64_t i = 0;

    if (!role)
        return unknown_role(v, roles, n, err);
    if (!v->task)
        return 0;
    if (str_to_i64(v->task, 0, INT64_MAX, &i) < 0)
        return vars_no_value(v, err, "the last part is not a number");
    if ((size_t)i >= role->tasks)
        return err_set(err, -EINVAL, "{%s:%s:%s}: role '%s' has %zu tasks, numbered from 0",
                       v->name, v->role, v->task, role->name, role->tasks);
    if (strcmp(v->name, "port") == 0 && role->ports == 0)
        return vars_no_value(v, err, "tasks of the role have no port; give it ports: 1");
    return 0;
}

/* A known name whose parts are not as they should be: says the form that it has. */
static int bad_form(const struct var *v, struct err *err)
{
    char forms[64] = "";
    size_t n = 0;

    for (size_t i = 0; vars_names[i]; i++)
        if (strlen(v->name) == name_len(vars_names[i]) && n < sizeof(forms) &&
            strncmp(vars_names[i], v->name, strlen(v->name)) == 0)
            n += (size_t)snprintf(forms + n, sizeof(forms) - n, "%s{%s}", n ? " or " : "",
                                  vars_names[i]);
    return err_set(err, -EINVAL, "{%s%s%s%s%s}: the form is %s; for literal braces, double them",
                   v->name, v->role ? ":" : "", v->role ? v->role : "", v->task ? ":" : "",
                   v->task ? v->task : "", forms);
}

static int check_own_port(const struct var *v, const struct vars_role *own, struct err *err)
{
    int64_t i = 0;

    if (v->role && str_to_i64(v->role, 0, INT64_MAX, &i) < 0)
        return bad_form(v, err);
    if (!own || own->ports < 0 || i < own->ports)
        return 0;
    if (v->role)
        return err_set(err, -EINVAL, "{port:%s}: tasks of role '%s' have %d ports, numbered from 0",
                       v->role, own->name, own->ports);
    return err_set(err, -EINVAL, "{port}: tasks of role '%s' have no port; give it ports: 1",
                   own->name);
}

static int vars_check_one(const struct var *v, const struct vars_role *roles, size_t n,
                          const struct vars_role *own, struct err *err)
{
    if (v->doubled)
        return 0;
    if (!vars_is_known(v->name))
        return err_set(
            err, -EINVAL,
            "{%s}: unknown variable (did you mean {%s}? for literal braces, double them)", v->name,
            nearly(v->name));
    if (!vars_row_of(v))
        return bad_form(v, err);
    if (is_own_port(v))
        return check_own_port(v, own, err);
    return v->role ? check_role_var(v, roles, n, err) : 0;
}

int vars_check(const char *text, const struct vars_role *roles, size_t n_roles,
               const struct vars_role *own, struct err *err)
{
    struct var v;
    int r;

    while ((text = next_var(text, &v))) {
        r = vars_check_one(&v, roles, n_roles, own, err);
        if (r < 0)
            return r;
        text += v.len;
    }
    return 0;
}

size_t vars_size(const char *text, const struct vars_role *roles, size_t n_roles)
{
    size_t total = strlen(text);
    struct var v;

    while ((text = next_var(text, &v))) {
        const struct vars_role *role = v.role ? vars_find_role(roles, n_roles, v.role) : NULL;

        if (role && (strcmp(v.name, "hosts") == 0 || strcmp(v.name, "addresses") == 0))
            total += role->tasks * ADDRESS_MAX;
        text += v.len;
    }
    return total;
}
