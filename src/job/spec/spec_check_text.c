/* spec_check_text.c - names, commands, environments and files that cannot be right; see
 * spec_checks.h. */
#include "job/spec/spec_checks.h"

#include <stdio.h>
#include <string.h>

#define LINE_MAX_ 4096   /* bytes of a name or path */
#define ENV_NAME_MAX 256 /* YAML takes no key beyond 1,024 characters */
#define STRING_MAX_                                                                                \
    (128 * KIB - 1)               /* one argument or variable: Linux' MAX_ARG_STRLEN, less NUL     \
                                   */
#define STRINGS_MAX (3 * MIB / 2) /* all of them; the system's limit is 2 MiB or more */

/* ---- text ---- */

/* What is wrong with a text, or NULL. Line breaks and control characters are fine in arguments and
 * values, but not in names. */
static const char *bad_text(const char *s, bool name)
{
    for (size_t n; *s; s += n) {
        bool c1 = (unsigned char)s[0] == 0xc2 && (s[1] & 0xe0) == 0x80;

        n = c1 ? 2 : str_utf8_len(s);
        if (n == 0)
            return "it is not UTF-8";
        if (name && (c1 || (unsigned char)*s < ' ' || *s == 0x7f))
            return "it has a control character in it";
    }
    return NULL;
}

static const char *bad_name(const char *s)
{
    if (*s == '\0')
        return "it is empty";
    return strlen(s) > LINE_MAX_ ? "it is longer than 4096 bytes" : bad_text(s, true);
}

static const char *bad_word(const char *s)
{
    return strpbrk(s, " \t") ? "it has a blank in it" : NULL;
}

static const char *bad_job_name(const char *s)
{
    if (strlen(s) > 64)
        return "it is longer than 64 bytes";
    if (strchr(s, '/') || strstr(s, ".."))
        return "it has '/' or '..' in it";
    if (*s == '-')
        return "it begins with '-'";
    return strcmp(s, "last") == 0 ? "'last' means the job started last" : NULL;
}

static const char *bad_tag(const char *s)
{
    return strchr(s, ',') ? "it has a comma in it" : NULL;
}

static const char *bad_host(const char *s)
{
    return strchr(s, ',') ? "it has a comma in it" : bad_word(s);
}

/* "users groups": lists with commas, and one blank between them, which may also stand first. */
static const char *bad_acl(const char *s)
{
    const char *blank = strpbrk(s, " \t");

    if (blank && strpbrk(blank + 1, " \t"))
        return "expected USER,USER GROUP,GROUP: names separated by commas, with one blank before "
               "the groups";
    return NULL;
}

/* "/FROM:/TO", or with ":ro" or ":rw" behind. */
static const char *bad_mount(const char *s)
{
    const char *to = strchr(s, ':'), *how = to ? strchr(to + 1, ':') : NULL;

    if (*s != '/' || !to || to[1] != '/' ||
        (how && strcmp(how, ":ro") != 0 && strcmp(how, ":rw") != 0))
        return "expected /FROM:/TO, optionally followed by :ro or :rw";
    return strstr(s, "/..") ? "it has '..' in it" : bad_host(s);
}

/* Rules beyond bad_name(), by key. */
static const struct {
    const char *key;
    const char *(*bad)(const char *s);
} rules[] = {
    { "name", bad_job_name }, { "framework", bad_word }, { "queue", bad_word },
    { "image", bad_word },    { "label", bad_word },     { "tags", bad_tag },
    { "hosts", bad_host },    { "mounts", bad_mount },   { "view", bad_acl },
    { "modify", bad_acl },    { "principal", bad_word },
};

/* A fault that shows the value. */
static int spec_refuse(struct spec_checker *c, const char *key, const char *value, const char *why)
{
    char shown[80];

    str_clean(shown, sizeof(shown), value);
    return spec_check_fault(c, key, "'%s' cannot be used: %s", shown, why);
}

static int spec_check_name(struct spec_checker *c, const char *key, const char *rule, const char *s)
{
    const char *why = bad_name(s);

    for (size_t i = 0; !why && i < COUNT_OF(rules); i++)
        if (strcmp(rules[i].key, rule) == 0)
            why = rules[i].bad(s);
    return why ? spec_refuse(c, key, s, why) : 0;
}

static int spec_check_one(struct spec_checker *c, const char *key, const struct spec_key *k,
                          const void *at)
{
    const char *s = *(char *const *)at;

    return s ? spec_check_name(c, key, k->name, s) : 0;
}

static int spec_check_texts(struct spec_checker *c, const char *key, const struct spec_key *k,
                            const void *at)
{
    const struct strs *l = at;
    char item[80];
    int r = 0;

    for (size_t i = 0; i < l->n && r == 0; i++) {
        snprintf(item, sizeof(item), "%s[%zu]", key, i);
        r = spec_check_name(c, item, k->name, l->v[i]);
    }
    return r;
}

/* ---- commands and environments ---- */

/* A role that uses the job's text and has the fewest ports: what it can use, all can. */
static const struct vars_role *poorest(const struct spec_checker *c, bool without_command)
{
    const struct vars_role *found = NULL;

    for (size_t i = 0; i < c->n_roles; i++)
        if (!(without_command && c->s->roles[i].command.n) &&
            (!found || c->roles[i].ports < found->ports))
            found = &c->roles[i];
    return found;
}

/* A text that may have variables; `name_len` is the length of what precedes it in its string. */
static int spec_check_value(struct spec_checker *c, const char *key, const char *s,
                            const struct vars_role *own, size_t name_len)
{
    struct err err = ERR_INIT;
    const char *why = bad_text(s, false);

    if (why)
        return spec_refuse(c, key, s, why);
    if (vars_check(s, c->roles, c->n_roles, own, &err) < 0)
        return spec_check_fault(c, key, "%s", err.text);
    if (name_len + vars_size(s, c->roles, c->n_roles) > STRING_MAX_)
        return spec_check_fault(c, key, "longer than 128 KB, the system's limit for one argument");
    return 0;
}

static const struct vars_role *own_role(const struct spec_checker *c, bool without_command)
{
    if (!c->role)
        return poorest(c, without_command);
    return &c->roles[c->role - c->s->roles];
}

static int check_command(struct spec_checker *c, const char *key, const struct spec_key *k,
                         const void *at)
{
    const struct strs *l = at;
    const struct vars_role *own = own_role(c, true);
    int r = 0;

    (void)k;
    if (l->n && *l->v[0] == '\0')
        r = spec_check_fault(c, key, "the program's name is empty");
    for (size_t i = 0; i < l->n && r == 0; i++)
        r = spec_check_value(c, key, l->v[i], own, 0);
    return r;
}

static const char *bad_env_name(const char *s)
{
    if (strchr(s, '='))
        return "a name has no '='";
    return strlen(s) > ENV_NAME_MAX ? "it is longer than 256 bytes" : bad_name(s);
}

/* "GROUP/NAME", both of letters, digits and some signs: they become parts of an address. */
static const char *bad_export(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const char *slash = strchr(s, '/'), *name = slash ? slash + 1 : "";
    size_t group = strspn(s, letters), own = strspn(name, letters);

    while (group && s[group] && strchr("_+-", s[group]))
        group += 1 + strspn(s + group + 1, letters);
    while (own && name[own] && strchr("_+-.", name[own]))
        own += 1 + strspn(name + own + 1, letters);
    if (!slash || group == 0 || s + group != slash || own == 0 || name[own])
        return "expected GROUP/NAME with letters, digits, '_', '+' and '-'";
    return strlen(s) > ENV_NAME_MAX ? "it is longer than 256 bytes" : NULL;
}

/* Names of one kind, each with a text. */
static int check_pairs(struct spec_checker *c, const char *key, const struct spec_vars *l,
                       const char *(*bad)(const char *name))
{
    const struct vars_role *own = own_role(c, false);
    int r = 0;

    for (size_t i = 0; i < l->n && r == 0; i++) {
        const char *why = bad(l->v[i].name);
        char entry[144], shown[128];

        str_clean(shown, sizeof(shown), l->v[i].name);
        snprintf(entry, sizeof(entry), "%.8s.%s", key, shown);
        if (why)
            r = spec_refuse(c, key, l->v[i].name, why);
        else
            r = spec_check_value(c, entry, l->v[i].value, own, strlen(l->v[i].name) + 1);
    }
    return r;
}

static int spec_check_env(struct spec_checker *c, const char *key, const struct spec_key *k,
                          const void *at)
{
    (void)k;
    return check_pairs(c, key, at, bad_env_name);
}

static int check_exports(struct spec_checker *c, const char *key, const struct spec_key *k,
                         const void *at)
{
    (void)k;
    return check_pairs(c, key, at, bad_export);
}

/* Each string also costs its NUL and a pointer. */
static size_t bytes_of_env(const struct spec_checker *c, const struct spec_vars *l)
{
    size_t total = 0;

    for (size_t i = 0; i < l->n; i++)
        total += strlen(l->v[i].name) + vars_size(l->v[i].value, c->roles, c->n_roles) + 10;
    return total;
}

static size_t bytes_of_command(const struct spec_checker *c, const struct strs *l)
{
    size_t total = 0;

    for (size_t i = 0; i < l->n; i++)
        total += vars_size(l->v[i], c->roles, c->n_roles) + 9;
    return total;
}

int spec_check_bytes(struct spec_checker *c)
{
    size_t total;

    if (!c->role) {
        c->job_bytes = bytes_of_env(c, &c->s->env);
        total = c->job_bytes + bytes_of_command(c, &c->s->command);
    } else {
        total =
            c->job_bytes + bytes_of_env(c, &c->role->env) + bytes_of_command(c, &c->role->command);
    }
    if (total <= STRINGS_MAX)
        return 0;
    return spec_check_fault(c, "env",
                            "command and environment are %zu bytes; no program can be "
                            "started with more than %zu",
                            total, (size_t)STRINGS_MAX);
}

/* ---- resources ---- */

/* Resources that have a key of their own, by YARN's names for them. */
static const struct {
    const char *name, *key;
} own_keys[] = { { "memory-mb", "memory" },
                 { "memory", "memory" },
                 { "vcores", "cpus" },
                 { "yarn.io/gpu", "gpus" } };

static int check_amounts(struct spec_checker *c, const char *key, const struct spec_key *k,
                         const void *at)
{
    const struct spec_amounts *l = at;
    int r = 0;

    for (size_t i = 0; i < l->n && r == 0; i++) {
        const char *name = l->v[i].name;
        const char *why = bad_name(name) ? bad_name(name) : bad_host(name);

        if (!why && (l->v[i].value < k->min || l->v[i].value > k->max))
            why = "its amount is not a whole number above 0";
        for (size_t j = 0; !why && j < COUNT_OF(own_keys); j++)
            if (strcmp(own_keys[j].name, name) == 0) {
                r = spec_check_fault(c, key, "'%s' is set by the key %s", name, own_keys[j].key);
                break;
            }
        if (why)
            r = spec_refuse(c, key, name, why);
    }
    return r;
}

/* ---- files ---- */

/* A name beside the task: not absolute, and no way out of its directory. */
static const char *bad_target(const char *s)
{
    const char *why = bad_name(s);

    if (why)
        return why;
    if (*s == '/')
        return "it must be relative to the task's directory";
    for (const char *p = s; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (p[0] == '.' && p[1] == '.' && (p[2] == '/' || p[2] == '\0'))
            return "it leaves the task's directory with '..'";
    }
    return NULL;
}

/* The name that a file gets beside the task, without slashes at its end. */
static const char *target_of(const struct spec_file *f, size_t *len)
{
    const char *s = f->to ? f->to : f->from;
    size_t n = strlen(s), from = 0;

    while (n > 0 && s[n - 1] == '/')
        n--;
    for (size_t i = 0; !f->to && i < n; i++)
        from = s[i] == '/' ? i + 1 : from;
    *len = n - from;
    return s + from;
}

static int spec_check_file(struct spec_checker *c, const char *key, const struct spec_file *f)
{
    const char *why = bad_name(f->from), *name;
    size_t n;

    if (why)
        return spec_refuse(c, key, f->from, why);
    why = f->to ? bad_target(f->to) : NULL;
    if (why)
        return spec_refuse(c, key, f->to, why);
    name = target_of(f, &n);
    if (!f->to && (n == 0 || (n == 1 && *name == '.') || (n == 2 && strncmp(name, "..", 2) == 0)))
        return spec_refuse(c, key, f->from, "it has no name of its own; write FROM: NAME");
    return 0;
}

static int spec_check_files(struct spec_checker *c, const char *key, const struct spec_key *k,
                            const void *at)
{
    const struct spec_files *l = at;
    char item[80];
    int r = 0;

    (void)k;
    for (size_t i = 0; i < l->n && r == 0; i++) {
        snprintf(item, sizeof(item), "%s[%zu]", key, i);
        r = spec_check_file(c, item, &l->v[i]);
    }
    return r;
}

static int check_results(struct spec_checker *c, const char *key, const struct spec_key *k,
                         const void *at)
{
    const struct spec_files *l = at;
    int r = 0;

    (void)k;
    for (size_t i = 0; i < l->n && r == 0; i++) {
        const struct spec_file *f = &l->v[i];
        const char *bad_from = *f->from ? bad_target(f->from) : NULL;
        const char *bad_to = f->to ? bad_name(f->to) : "it has no target; write FROM: TARGET";

        if (bad_from || bad_to)
            r = spec_refuse(c, key, bad_from || !f->to ? f->from : f->to,
                            bad_from ? bad_from : bad_to);
    }
    return r;
}

/* A file and the name that it gets, to be sorted: there may be thousands. */
struct target {
    const char *name;
    size_t len;
    const struct spec_file *file;
    size_t place; /* the job's come first, then the role's */
};

static int spec_check_by_name(const void *a, const void *b)
{
    const struct target *x = a, *y = b;
    int d = memcmp(x->name, y->name, x->len < y->len ? x->len : y->len);

    if (d)
        return d;
    return x->len != y->len ? (x->len > y->len) - (x->len < y->len)
                            : (x->place > y->place) - (x->place < y->place);
}

static void spec_check_collect(const struct spec_files *l, struct target *v, size_t *n)
{
    for (size_t i = 0; i < l->n; i++, ++*n) {
        v[*n].name = target_of(&l->v[i], &v[*n].len);
        v[*n].file = &l->v[i];
        v[*n].place = *n;
    }
}

static int refuse_twin(struct spec_checker *c, const struct target *a, const struct target *b)
{
    char one[80], two[80];

    str_clean(one, sizeof(one), a->file->from);
    str_clean(two, sizeof(two), b->file->from);
    return spec_check_fault(
        c, "files", "'%s' and '%s' would have the same name in the task's directory", one, two);
}

int spec_check_twins(struct spec_checker *c)
{
    size_t jobs = c->s->files.n + c->s->archives.n, n = 0;
    size_t own = c->role ? c->role->files.n + c->role->archives.n : 0;
    AUTO_FREE struct target *v = calloc(jobs + own + 1, sizeof(*v));
    int r = 0;

    if (!v)
        return -ENOMEM;
    if (c->role && own == 0)
        return 0;
    spec_check_collect(&c->s->files, v, &n);
    spec_check_collect(&c->s->archives, v, &n);
    if (c->role) {
        spec_check_collect(&c->role->files, v, &n);
        spec_check_collect(&c->role->archives, v, &n);
    }
    qsort(v, n, sizeof(*v), spec_check_by_name);
    for (size_t i = 1; i < n && r == 0; i++) {
        bool same = v[i].len == v[i - 1].len && memcmp(v[i].name, v[i - 1].name, v[i].len) == 0;

        if (c->role && v[i].place < jobs)
            continue; /* both are the job's and have been looked at */
        if (same && strcmp(v[i].file->from, v[i - 1].file->from) != 0)
            r = refuse_twin(c, &v[i - 1], &v[i]);
    }
    return r;
}

/* ---- ready ---- */

static int check_ready(struct spec_checker *c, const char *key, const struct spec_key *k,
                       const void *at)
{
    const struct spec_ready *ready = at;
    const char *why = NULL;

    (void)k;
    if (ready->timeout < 0)
        return spec_check_fault(c, "ready.timeout", "it cannot be negative");
    if ((ready->kind == SPEC_READY_PORT || ready->kind == SPEC_READY_HTTP) && c->role->ports == 0)
        return spec_check_fault(c, key, "its tasks have no port to probe; give the role ports: 1");
    if (ready->kind == SPEC_READY_HTTP && *ready->what != '/')
        why = "it must begin with '/'";
    else if (ready->kind == SPEC_READY_HTTP)
        why = bad_word(ready->what) ? bad_word(ready->what) : bad_name(ready->what);
    else if (ready->kind == SPEC_READY_FILE)
        why = bad_target(ready->what);
    else if (ready->kind == SPEC_READY_LOG)
        why = bad_name(ready->what);
    return why ? spec_refuse(c, key, ready->what, why) : 0;
}

spec_check_fn *const spec_check_types[SPEC_TYPES_] = {
    [SPEC_TEXT] = spec_check_one, [SPEC_TEXTS] = spec_check_texts, [SPEC_COMMAND] = check_command,
    [SPEC_ENV] = spec_check_env,  [SPEC_FILES] = spec_check_files, [SPEC_OUTPUT] = check_results,
    [SPEC_READY] = check_ready,   [SPEC_AMOUNTS] = check_amounts,  [SPEC_EXPORTS] = check_exports,
};
