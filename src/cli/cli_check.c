/* cli_check.c - mistakes in the command tables, found by a test; see cli.h. */
#include "cli/cli_private.h"

#include <ctype.h>
#include <string.h>

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
    if (!o->help || !*o->help || isupper((unsigned char)*o->help) || str_ends(o->help, "."))
        return err_set(err, -EINVAL, "option '--%s': help must be a lower-case phrase", o->name);
    if ((o->type != CLI_FLAG) != cli_takes_value(o))
        return err_set(err, -EINVAL, "option '--%s': flags have no meta, all others one", o->name);
    if ((o->type == CLI_CHOICE) != (o->choices != NULL))
        return err_set(err, -EINVAL, "option '--%s': choices go with CLI_CHOICE", o->name);
    if (o->type == CLI_LIST && o->preset)
        return err_set(err, -EINVAL, "option '--%s': a list has no default", o->name);
    if (o->type == CLI_FLAG && o->preset && strcmp(o->preset, "yes") != 0)
        return err_set(err, -EINVAL, "option '--%s': a flag's default is \"yes\" or none", o->name);
    return o->preset ? cli_set(&at_zero, &field, o->preset, err) : 0;
}

static int check_opts(const struct cli_opt *table, struct err *err)
{
    int r;

    for (const struct cli_opt *o = table; o->name; o++) {
        for (const struct cli_opt *other = table; other != o; other++)
            if (strcmp(o->name, other->name) == 0 || (o->letter && o->letter == other->letter))
                return err_set(err, -EINVAL, "options '--%s' and '--%s' have one name", o->name,
                               other->name);
        r = check_opt(o, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_verb(const struct cli_verb *v, size_t depth, struct err *err)
{
    int r = check_opts(cli_opts(v), err);

    if (r < 0)
        return err_wrap(err, r, "verb '%s'", v->name);
    if (!v->summary || isupper((unsigned char)*v->summary) || str_ends(v->summary, "."))
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
    int r = check_opts(cli_globals(p), err);

    for (const struct cli_verb *const *v = p->verbs; r == 0 && *v; v++)
        r = check_verb(*v, 0, err);
    return r;
}
