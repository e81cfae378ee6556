/* cli_testing.c - mistakes in the command tables, found by tests; see cli_testing.h. */
#include "cli/cli_testing.h"
#include "cli/cli_private.h"

#include <ctype.h>
#include <string.h>

static bool is_phrase(const char *text)
{
    return text && *text && !isupper((unsigned char)*text) && !str_ends(text, ".");
}

static int check_shown(const struct cli_opt *o, struct err *err)
{
    if (o->group >= CLI_GROUPS_)
        return err_set(err, -EINVAL, "option '%s': there is no such group", o->name);
    if (o->preset && o->fallback)
        return err_set(err, -EINVAL, "option '%s': either a default or words for it", o->name);
    return 0;
}

/* A row of an older command. */
static int check_older(const struct cli_opt *o, struct err *err)
{
    struct cli_opt at_zero = *o;
    bool known = !o->preset || !o->choices;
    int64_t n = 0;

    at_zero.offset = 0;
    for (const char *const *c = o->choices; c && *c; c++)
        known |= str_eq(*c, o->preset);
    if (!cli_is_older(o) || !o->name[1] || !known)
        return err_set(err, -EINVAL, "option '%s': no dash, or a default that is no choice",
                       o->name);
    if (!is_phrase(o->help))
        return err_set(err, -EINVAL, "option '%s': help must be a lower-case phrase", o->name);
    if (check_shown(o, err) < 0)
        return -EINVAL;
    if (!!o->same_as + !!o->no_effect + !!o->not_supported > 1)
        return err_set(err, -EINVAL, "option '%s' has an effect and none", o->name);
    if (!cli_takes_value(o) && (o->choices || o->type != CLI_FLAG || o->preset))
        return err_set(err, -EINVAL, "option '%s' takes no value but has rules for it", o->name);
    if (!o->preset || o->type != CLI_I64)
        return 0;
    if (cli_set(&at_zero, &n, o->preset, err) < 0 || n < o->least)
        return err_set(err, -EINVAL, "option '%s': its default is no value of it", o->name);
    return 0;
}

static int check_opt(const struct cli_opt *o, struct err *err)
{
    struct strs list = { 0 };
    union {
        bool flag;
        const char *text;
        unsigned count;
        int64_t i64;
        uint64_t size;
        struct strs list;
        int choice;
    } field = { .list = list };
    struct cli_opt at_zero = *o;

    at_zero.offset = 0;
    if (!is_phrase(o->help))
        return err_set(err, -EINVAL, "option '--%s': help must be a lower-case phrase", o->name);
    if ((o->type != CLI_FLAG) != cli_takes_value(o))
        return err_set(err, -EINVAL, "option '--%s': flags have no meta, all others one", o->name);
    if ((o->type == CLI_CHOICE) != (o->choices != NULL))
        return err_set(err, -EINVAL, "option '--%s': choices go with CLI_CHOICE", o->name);
    if (check_shown(o, err) < 0)
        return -EINVAL;
    if (o->type == CLI_LIST && o->preset)
        return err_set(err, -EINVAL, "option '--%s': a list has no default", o->name);
    if (o->type == CLI_FLAG && o->preset && strcmp(o->preset, "yes") != 0)
        return err_set(err, -EINVAL, "option '--%s': a flag's default is \"yes\" or none", o->name);
    return o->preset ? cli_set(&at_zero, &field, o->preset, err) : 0;
}

static bool share_name(const struct cli_opt *a, const struct cli_opt *b)
{
    struct cli_names x, y;
    bool same = false;

    cli_names(a, &x);
    cli_names(b, &y);
    for (size_t i = 0; i < x.n; i++)
        for (size_t j = 0; j < y.n; j++)
            same |= str_eq(x.v[i], y.v[j]);
    return same;
}

static int check_opts(const struct cli_opt *table, bool older, struct err *err)
{
    int r;

    for (const struct cli_opt *o = table; o->name; o++) {
        for (const struct cli_opt *other = table; other != o; other++)
            if (share_name(o, other))
                return err_set(err, -EINVAL, "options '--%s' and '--%s' have one name", o->name,
                               other->name);
        r = older ? check_older(o, err) : check_opt(o, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_verb(const struct cli_verb *v, size_t depth, struct err *err)
{
    int r = check_opts(cli_opts(v), false, err);

    if (r < 0)
        return err_wrap(err, r, "verb '%s'", v->name);
    if (!is_phrase(v->summary))
        return err_set(err, -EINVAL, "verb '%s': summary must be a lower-case phrase", v->name);
    if (depth >= CLI_DEPTH || (v->subs && (v->opts || v->run)) || (!v->subs && !v->run))
        return err_set(err, -EINVAL, "verb '%s': either verbs below it or a function", v->name);
    if (v->least > v->most || (v->most > 0) != (v->operands != NULL))
        return err_set(err, -EINVAL, "verb '%s': operands and their number", v->name);
    if (v->opts && !v->args_size)
        return err_set(err, -EINVAL, "verb '%s': args_size is missing", v->name);
    for (const struct cli_verb *const *s = v->subs; s && *s; s++) {
        r = check_verb(*s, depth + 1, err);
        if (r < 0)
            return err_wrap(err, r, "verb '%s'", v->name);
    }
    return 0;
}

int cli_check(const struct cli_program *p, struct err *err)
{
    const struct cli_verb *const *verbs = p->self ? p->self->subs : p->verbs;
    int r = check_opts(cli_globals(p), p->self, err);

    if (r == 0 && p->self)
        r = check_opts(cli_opts(p->self), true, err);
    for (; r == 0 && verbs && *verbs; verbs++) {
        r = p->self ? check_opts(cli_opts(*verbs), true, err) : check_verb(*verbs, 0, err);
        if (r == 0 && !is_phrase((*verbs)->summary))
            return err_set(err, -EINVAL, "verb '%s': no summary", (*verbs)->name);
    }
    return r;
}
