/* spec_check.c - everything that can be known to be wrong without the machine: the walk over the
 * tables, and what concerns roles and totals; see spec_check() in spec.h. */
#include "job/spec/spec_checks.h"
#include "job/spec/spec_tree.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int spec_check_fault(struct spec_checker *c, const char *key, const char *fmt, ...)
{
    char path[192], role[40];
    AUTO_FREE char *text = NULL;
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text = NULL;
        return -ENOMEM;
    }
    if (c->role) {
        str_clean(role, sizeof(role), c->role->name);
        snprintf(path, sizeof(path), "roles.%s%s%s", role, *key ? "." : "", key);
    } else {
        snprintf(path, sizeof(path), "%s", key);
    }
    return spec_fault(c->f, 0, path, "%s", text) == -ENOMEM ? -ENOMEM : 0;
}

/* ---- the tables ---- */

/* The reader has looked at what came from a file; front ends fill in fields by hand. */
static int spec_check_number(struct spec_checker *c, const char *key, const struct spec_key *k,
                             const void *base)
{
    char is[SPEC_NUMBER_MAX], text[SPEC_RANGE_TEXT_MAX];
    int64_t v = spec_get_number(k, base), most = k->max;

    for (size_t i = 0; k->type == SPEC_CHOICE && k->choices[i]; i++)
        most = (int64_t)i;
    if (v == k->preset || (v >= k->min && v <= most))
        return 0;
    return spec_check_fault(c, key, "%s",
                            spec_range_text(k, v, spec_number_text(k, v, is), most, text));
}

static int spec_walk(struct spec_checker *c, const char *prefix, const struct spec_key *table,
                     const void *base)
{
    int r = 0;

    for (const struct spec_key *k = table; k->name && r == 0; k++) {
        const void *at = (const char *)base + k->offset;
        char key[80];

        snprintf(key, sizeof(key), "%s%s%s", prefix, *prefix ? "." : "", k->name);
        if (k->type == SPEC_MAP)
            r = spec_walk(c, key, k->keys, at);
        else if (spec_is_number(k))
            r = spec_check_number(c, key, k, base);
        else if (spec_check_types[k->type])
            r = spec_check_types[k->type](c, key, k, at);
        if (k->type == SPEC_OUTPUT && r == 0)
            r = spec_walk(c, key, k->keys, base);
    }
    return r;
}

/* ---- roles ---- */

static bool good_role_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    return *s >= 'a' && *s <= 'z' && s[n] == '\0' && n <= 32;
}

static int check_restart(struct spec_checker *c, const struct spec_restart *r)
{
    if (r->policy == SPEC_RESTART_NEVER && r->max > 0)
        return spec_check_fault(c, "restart", "'never' and a max of %" PRId64 " contradict",
                                r->max);
    for (size_t i = 0; i < r->codes.n; i++) {
        int64_t code;

        if (str_to_i64(r->codes.v[i], 1, 255, &code) < 0)
            return spec_check_fault(c, "restart.codes", "'%.40s' is not an exit code from 1 to 255",
                                    r->codes.v[i]);
    }
    return 0;
}

static int check_ports(struct spec_checker *c, const struct spec_role *role)
{
    uint64_t room = c->s->port_high - c->s->port_low + 1;
    uint64_t need = (uint64_t)(role->ports > 0 ? role->ports : 0) * (role->procs ? role->procs : 1);

    if (c->s->port_high == 0 || need <= room)
        return 0;
    return spec_check_fault(c, "ports",
                            "a container needs %" PRIu64 " ports, the range %u-%u has %" PRIu64,
                            need, c->s->port_low, c->s->port_high, room);
}

static int spec_check_role(struct spec_checker *c, const struct spec_role *role)
{
    int r;

    if (!good_role_name(role->name)) {
        r = spec_check_fault(c, "",
                             "a role name has at most 32 lowercase letters, digits, '-' and '_', "
                             "and begins with a letter");
        if (r < 0)
            return r;
    }
    if (role->side == 1 && role->decides == 1) {
        r = spec_check_fault(c, "side", "a side role cannot decide the job's success");
        if (r < 0)
            return r;
    }
    r = check_restart(c, &role->restart);
    if (r == 0)
        r = check_ports(c, role);
    if (r == 0)
        r = spec_walk(c, "", spec_role_keys, role);
    if (r == 0)
        r = spec_check_twins(c);
    return r < 0 ? r : spec_check_bytes(c);
}

/* ---- the job ---- */

/* At least as many values as spec_json() writes: a file may have been shorter than its JSON, which
 * has to be read back where the job runs. */
static size_t values_of(const struct spec *s)
{
    size_t n = 200 + s->command.n + s->env.n + s->pip.n + s->tags.n + s->mounts.n +
               3 * (s->files.n + s->archives.n + s->output.n) + s->publish.tags.n + 8;

    for (size_t i = 0; i < s->n_roles; i++) {
        const struct spec_role *r = &s->roles[i];

        n += 40 + r->command.n + r->env.n + 3 * (r->files.n + r->archives.n) + 2 * r->after.n +
             r->hosts.n + r->resources.n + r->exports.n;
    }
    return n;
}

static int spec_check_job(struct spec_checker *c)
{
    const struct spec *s = c->s;
    int r;

    if (s->port_low > s->port_high || s->port_high > 65535 ||
        (s->port_high && s->port_low < 1024)) {
        r = spec_check_fault(c, "port-range", "%u-%u is not a range of ports", s->port_low,
                             s->port_high);
        if (r < 0)
            return r;
    }
    if (spec_tasks(s) > SPEC_TASKS_MAX) {
        r = spec_check_fault(c, "roles", "%zu tasks in all; a job has at most %d", spec_tasks(s),
                             SPEC_TASKS_MAX);
        if (r < 0)
            return r;
    }
    if (values_of(s) > SPEC_NODES_MAX) {
        r = spec_check_fault(
            c, "command",
            "all roles together have more than 100,000 command words, variables and files");
        if (r < 0)
            return r;
    }
    if (!s->keytab != !s->principal) {
        r = spec_check_fault(c, s->keytab ? "keytab" : "principal",
                             "principal and keytab must be given together");
        if (r < 0)
            return r;
    }
    r = check_restart(c, &s->restart);
    if (r == 0)
        r = spec_walk(c, "", spec_job_keys, s);
    if (r == 0)
        r = spec_check_twins(c);
    return r < 0 ? r : spec_check_bytes(c);
}

/* A job without any command is most often a command line that was cut short: one sentence for all
 * of it, instead of one for each role. */
static bool spec_check_runs_nothing(const struct spec *s)
{
    bool runs = s->command.n > 0;

    for (size_t i = 0; i < s->n_roles; i++)
        runs = runs || (s->roles[i].count && s->roles[i].command.n);
    return !runs;
}

static int spec_check_say_nothing(struct spec_checker *c)
{
    if (c->f->file && c->f->tree)
        return spec_fault(c->f, spec_tree_line(c->f->tree, "roles"), "command",
                          "nothing to run; write, for example, command: python train.py") == -ENOMEM
                   ? -ENOMEM
                   : 0;
    return spec_fault(c->f, 0, NULL, "Nothing to run. Try: ydl run -n 2 -- python train.py") ==
                   -ENOMEM
               ? -ENOMEM
               : 0;
}

/* Missing parts. Checked last, and only when everything else is right. */
static int check_missing(struct spec_checker *c)
{
    size_t deciders = 0, deciding_tasks = 0;
    int r = 0;

    if (spec_tasks(c->s) == 0)
        return spec_check_fault(c, "roles", "the job has no tasks: give -n N, or a role's count");
    if (spec_check_runs_nothing(c->s))
        return spec_check_say_nothing(c);
    for (size_t i = 0; i < c->s->n_roles && r == 0; i++) {
        const struct spec_role *role = &c->s->roles[i];

        c->role = role;
        if (role->count && role->command.n == 0 && c->s->command.n == 0)
            r = spec_check_fault(c, "command", "the role has no command, and neither has the job");
        deciders += role->side != 1 && role->decides != 0;
        deciding_tasks += role->side != 1 && role->decides != 0 ? role->count : 0;
    }
    c->role = NULL;
    if (r < 0 || deciding_tasks)
        return r;
    return spec_check_fault(c, "roles",
                            deciders ? "no role that decides the job's success has a task"
                                     : "no role decides the job's success: all are side roles");
}

/* Copies what variables refer to. */
static void note_roles(struct spec_checker *c)
{
    for (; c->n_roles < c->s->n_roles; c->n_roles++) {
        const struct spec_role *r = &c->s->roles[c->n_roles];

        c->roles[c->n_roles] =
            (struct vars_role){ r->name, (size_t)r->count * (r->procs ? r->procs : 1), r->ports };
    }
}

int spec_check(const struct spec *s, struct spec_faults *f)
{
    struct spec_checker c = { .s = s, .f = f };
    int r;

    if (f->unreadable)
        return -EINVAL;
    note_roles(&c);
    r = spec_check_job(&c);
    for (size_t i = 0; i < s->n_roles && r == 0; i++) {
        c.role = &s->roles[i];
        r = spec_check_role(&c, c.role);
    }
    c.role = NULL;
    if (r == 0)
        r = spec_check_after(&c);
    if (r == 0 && f->n == 0)
        r = check_missing(&c);
    if (r < 0)
        return r;
    return f->n ? -EINVAL : 0;
}
