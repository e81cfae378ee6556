/* cli_value.c - the value of one option, by its type; see cli.h. */
#include "base/buf.h"
#include "cli/cli_private.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const cli_group_names[CLI_GROUPS_] = {
    [CLI_OPTIONS] = "Options",
    [CLI_WHAT] = "What to run",
    [CLI_RESOURCES] = "Resources",
    [CLI_ENVIRONMENT] = "Environment",
    [CLI_FAILURES] = "Failure handling",
    [CLI_CLUSTER] = "YARN and HDFS",
    [CLI_OUTPUT] = "Output",
    [CLI_OTHER] = "Other",
    [CLI_ADDED] = "Options added by ydl",
};

static const struct cli_opt no_opts[1];
static const struct cli_verb *const no_verbs[1];

const struct cli_opt *cli_opts(const struct cli_verb *v)
{
    return v && v->opts ? v->opts : no_opts;
}

const struct cli_opt *cli_globals(const struct cli_program *p)
{
    return p->globals ? p->globals : no_opts;
}

const struct cli_opt cli_help_opt[2] = { { "help", 'h', .help = "show this help" } };

const char *cli_default(const struct cli_opt *o)
{
    if (o->fallback)
        return o->fallback;
    return cli_takes_value(o) ? o->preset : NULL;
}

static void cli_value_spell(struct cli_names *ret, const char *dashes, const char *name)
{
    (void)snprintf(ret->v[ret->n++], sizeof(ret->v[0]), "%s%s", dashes, name);
}

void cli_names(const struct cli_opt *o, struct cli_names *ret)
{
    const char letter[] = { o->letter, '\0' };

    ret->n = 0;
    if (o->letter)
        cli_value_spell(ret, "-", letter);
    cli_value_spell(ret, cli_is_older(o) ? "" : "--", o->name);
    if (cli_on_flag(o))
        cli_value_spell(ret, "--no-", o->name);
    for (size_t i = 0; i < COUNT_OF(o->also) && o->also[i]; i++)
        cli_value_spell(ret, "", o->also[i]);
}

static bool cli_value_spelt(const struct cli_verb *v, const char *name, const struct cli_opt *but)
{
    for (const struct cli_opt *o = cli_opts(v); o->name; o++) {
        struct cli_names names;

        cli_names(o, &names);
        for (size_t i = 0; o != but && i < names.n; i++)
            if (str_eq(names.v[i], name))
                return true;
    }
    return false;
}

void cli_names_at(const struct cli_verb *v, const struct cli_opt *o, struct cli_names *ret)
{
    struct cli_names all;

    cli_names(o, &all);
    *ret = (struct cli_names){ 0 };
    for (size_t i = 0; i < all.n; i++)
        if (!cli_value_spelt(v, all.v[i], o))
            cli_value_spell(ret, "", all.v[i]);
}

/* A letter alone does not count: -n may be another option for a verb while the long form still
 * reaches the global one. */
bool cli_shadowed(const struct cli_verb *v, const struct cli_opt *g)
{
    struct cli_names names;
    bool taken = false;

    cli_names(g, &names);
    for (size_t i = 0; i < names.n; i++)
        taken |= str_starts(names.v[i], "--") && cli_value_spelt(v, names.v[i], g);
    return taken;
}

const struct cli_verb *const *cli_next(const struct cli *c)
{
    if (!c->verb)
        return c->program->verbs;
    return c->verb->subs ? c->verb->subs : no_verbs;
}

int cli_bad(struct err *err, const char *fmt, ...)
{
    char text[sizeof(err->text)];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(err, CLI_USAGE, "%s", text);
}

static const char *const wanted[] = {
    [CLI_FLAG] = "yes",
    [CLI_TEXT] = "text",
    [CLI_COUNT] = "a whole number",
    [CLI_I64] = "a whole number",
    [CLI_SIZE] = "a size such as 512m or 1.5g",
    [CLI_MS] = "a duration such as 30s, 5m or 1h30m",
    [CLI_LIST] = "text",
    [CLI_CHOICE] = "a choice",
};

static int bad_value(const struct cli_opt *o, const char *s, int r, struct err *err)
{
    if (r == -ERANGE)
        return cli_bad(err, "option '--%s': '%s' is out of range", o->name, s);
    return cli_bad(err, "option '--%s': '%s' is not %s", o->name, s, wanted[o->type]);
}

static int set_choice(const struct cli_opt *o, int *at, const char *s, struct err *err)
{
    AUTO_BUF all = { .max = sizeof(err->text) };
    const char *near;
    size_t n = 0;

    for (; o->choices[n]; n++) {
        if (strcmp(o->choices[n], s) == 0) {
            *at = (int)n;
            return 0;
        }
        (void)buf_printf(&all, "%s%s", n ? ", " : "", o->choices[n]); /* a cut list will do */
    }
    near = str_nearest(s, o->choices, n);
    return cli_bad(err, "option '--%s': '%s' is not one of %s%s%s%s", o->name, s,
                   buf_text(&all) ? buf_text(&all) : "…", near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

/* A text is borrowed from argv, or from a preset; only lists own theirs. */
int cli_set(const struct cli_opt *o, void *base, const char *s, struct err *err)
{
    void *at = (char *)base + o->offset;
    int64_t n = 0;
    int r = -EINVAL;

    switch (o->type) {
    case CLI_FLAG:
        *(bool *)at = str_eq(s, "yes");
        return 0;
    case CLI_TEXT:
        *(const char **)at = s;
        return 0;
    case CLI_LIST:
        return strs_add(at, s) < 0 ? err_oom(err) : 0;
    case CLI_CHOICE:
        return set_choice(o, at, s, err);
    case CLI_COUNT:
        r = str_to_i64(s, 0, UINT_MAX, &n);
        if (r == 0)
            *(unsigned *)at = (unsigned)n;
        break;
    case CLI_I64:
        r = str_to_i64(s, INT64_MIN, INT64_MAX, at);
        break;
    case CLI_SIZE:
        r = str_to_size(s, at);
        break;
    case CLI_MS:
        r = str_to_ms(s, at);
        break;
    }
    return r == 0 ? 0 : bad_value(o, s, r, err);
}

/* Presets go the same way as what is typed, so that help, defaults and values are one text. A
 * choice without one is -1: nothing was said. */
int cli_presets(const struct cli_opt *opts, void *base, struct err *err)
{
    int r;

    for (const struct cli_opt *o = opts; o->name; o++) {
        if (o->type == CLI_CHOICE)
            *(int *)((char *)base + o->offset) = -1;
        r = o->preset ? cli_set(o, base, o->preset, err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}
