/* spec.c - a specification's memory, its lists, and the lines about what is wrong; see spec.h */
#include "job/spec/spec.h"
#include "base/array.h"
#include "job/spec/spec_keys.h"
#include "job/spec/spec_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- life ---- */

void spec_init(struct spec *s)
{
    *s = (struct spec){ 0 };
    spec_presets(spec_job_keys, s);
    spec_presets(spec_flag_keys, s);
}

static void vars_free(struct spec_vars *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].name);
        free(l->v[i].value);
    }
    free(l->v);
}

static void files_free(struct spec_files *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->v[i].from);
        free(l->v[i].to);
    }
    free(l->v);
}

static void amounts_free(struct spec_amounts *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->v[i].name);
    free(l->v);
}

static void publish_done(struct spec_publish *p)
{
    free(p->name);
    free(p->path);
    free(p->alias);
    free(p->registry);
    free(p->commit);
    vars_free(&p->tags);
}

static void role_done(struct spec_role *r)
{
    free(r->name);
    strs_done(&r->command);
    vars_free(&r->env);
    vars_free(&r->exports);
    files_free(&r->files);
    files_free(&r->archives);
    free(r->image);
    free(r->label);
    amounts_free(&r->resources);
    strs_done(&r->hosts);
    strs_done(&r->restart.codes);
    for (size_t i = 0; i < r->after.n; i++)
        free(r->after.v[i].role);
    free(r->after.v);
    free(r->ready.what);
}

void spec_done(struct spec *s)
{
    char *texts[] = { s->name,   s->framework,  s->image,        s->label,          s->tensorboard,
                      s->venv,   s->queue,      s->acl.view,     s->staging,        s->principal,
                      s->keytab, s->acl.modify, s->master.label, s->client_address, s->directory };

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        free(texts[i]);
    publish_done(&s->publish);
    strs_done(&s->command);
    for (size_t i = 0; i < s->n_roles; i++)
        role_done(&s->roles[i]);
    free(s->roles);
    vars_free(&s->env);
    files_free(&s->files);
    files_free(&s->archives);
    files_free(&s->output);
    strs_done(&s->pip);
    strs_done(&s->restart.codes);
    strs_done(&s->tags);
    strs_done(&s->mounts);
    *s = (struct spec){ 0 };
}

/* ---- roles ---- */

struct spec_role *spec_role(const struct spec *s, const char *name)
{
    for (size_t i = 0; i < s->n_roles; i++)
        if (strcmp(s->roles[i].name, name) == 0)
            return &s->roles[i];
    return NULL;
}

int spec_add_role(struct spec *s, const char *name, struct spec_role **ret)
{
    AUTO_FREE char *copy = NULL;
    struct spec_role *v;

    if (spec_role(s, name))
        return -EEXIST;
    if (s->n_roles == SPEC_ROLES_MAX)
        return -E2BIG;
    copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    if (ARRAY_ADD(s->roles, s->n_roles, (struct spec_role){ .name = take(copy) }) < 0)
        return -ENOMEM;
    v = &s->roles[s->n_roles - 1];
    spec_presets(spec_role_keys, v);
    if (ret)
        *ret = v;
    return 0;
}

size_t spec_tasks(const struct spec *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_roles; i++)
        n += (size_t)s->roles[i].count * (s->roles[i].procs ? s->roles[i].procs : 1);
    return n;
}

int spec_role_count(struct spec *s, const char *name, int64_t said)
{
    struct spec_role *r = spec_role(s, name);
    int e;

    if (said < 0)
        return 0;
    if (!r) {
        e = spec_add_role(s, name, &r);
        if (e < 0)
            return e;
    }
    r->count = (unsigned)said;
    return 0;
}

void spec_working_role_apply(const struct spec *s, struct spec_role *r)
{
    const struct spec_working *w = &s->working;

    r->memory = w->memory < 0 ? r->memory : (uint64_t)w->memory;
    r->cpus = w->cpus < 0 ? r->cpus : (unsigned)w->cpus;
    r->gpus = w->gpus < 0 ? r->gpus : (unsigned)w->gpus;
    r->procs = w->procs < 0 ? r->procs : (unsigned)w->procs;
}

/* ---- lists ---- */

int spec_set_text(char **where, const char *text)
{
    char *copy = text ? strdup(text) : NULL;

    if (text && !copy)
        return -ENOMEM;
    free(*where);
    *where = copy;
    return 0;
}

int spec_set_var(struct spec_vars *l, const char *name, const char *value)
{
    AUTO_FREE char *n = NULL, *v = NULL;

    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0)
            return spec_set_text(&l->v[i].value, value);
    n = strdup(name);
    v = strdup(value);
    if (!n || !v)
        return -ENOMEM;
    return ARRAY_ADD(l->v, l->n, (struct spec_var){ take(n), take(v) });
}

bool spec_is_remote(const char *name)
{
    if (str_starts(name, "file:"))
        return false;
    return str_starts(name, "hdfs:") || str_starts(name, "viewfs:") || strstr(name, "://");
}

int spec_add_file(struct spec_files *l, const char *from, const char *to)
{
    AUTO_FREE char *f = strdup(from), *t = to ? strdup(to) : NULL;

    if (!f || (to && !t))
        return -ENOMEM;
    return ARRAY_ADD(l->v, l->n, (struct spec_file){ take(f), take(t) });
}

int spec_add_after(struct spec_afters *l, const char *role, enum spec_when when)
{
    AUTO_FREE char *copy = strdup(role);

    if (!copy)
        return -ENOMEM;
    return ARRAY_ADD(l->v, l->n, (struct spec_after){ take(copy), when });
}

int spec_set_amount(struct spec_amounts *l, const char *name, int64_t value)
{
    AUTO_FREE char *copy = NULL;

    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->v[i].name, name) == 0) {
            l->v[i].value = value;
            return 0;
        }
    copy = strdup(name);
    if (!copy)
        return -ENOMEM;
    return ARRAY_ADD(l->v, l->n, (struct spec_amount){ take(copy), value });
}

/* ---- mistakes ---- */

void spec_faults_done(struct spec_faults *f)
{
    strs_done(&f->lines);
    free(f->file);
    spec_tree_free(f->tree);
    *f = (struct spec_faults){ 0 };
}

static char *fault_line(const struct spec_faults *f, int line, const char *key, const char *text)
{
    char place[16] = "";

    if (line == 0 && key && f->tree)
        line = spec_tree_line(f->tree, key);
    if (line > 0)
        snprintf(place, sizeof(place), ":%d", line);
    /* A fault without a line did not come from the file. */
    return str_printf("%s%s%s%s%s%s", line && f->file ? f->file : "", line && f->file ? place : "",
                      line && f->file ? ": " : "", key ? key : "", key ? ": " : "", text);
}

int spec_fault(struct spec_faults *f, int line, const char *key, const char *fmt, ...)
{
    AUTO_FREE char *text = NULL;
    va_list ap;
    int n;

    if (++f->n > SPEC_FAULTS_MAX)
        return -EINVAL;
    if (f->n == SPEC_FAULTS_MAX)
        return strs_add(&f->lines, "… and more errors: fix these first") < 0 ? -ENOMEM : -EINVAL;
    va_start(ap, fmt);
    n = vasprintf(&text, fmt, ap);
    va_end(ap);
    if (n < 0) {
        text = NULL;
        return -ENOMEM;
    }
    return strs_take(&f->lines, fault_line(f, line, key, text)) < 0 ? -ENOMEM : -EINVAL;
}
