/* cli.c - the parser of command lines: one word after the other, from left to right. Which options
 * are known depends on the verb, and verbs stand among the options, so the tables that count grow
 * as the verb becomes known; a verb's own option hides a global one of the same name. See cli.h.
 *
 *     ydl -v fs ls --json -l /tmp      words: fs (a group), ls (a verb), /tmp (an operand) */
#include "base/buf.h"
#include "cli/cli_private.h"

#include <ctype.h>
#include <string.h>

#define NEAR_NAMES 128

struct parser {
    struct cli *c;
    char **argv;
    int argc, at;
    bool ended; /* no more options: after "--", or after the name of a command */
    struct err *err;
};

void cli_print_path(FILE *out, const struct cli *c)
{
    fputs(c->program->name, out);
    for (size_t i = 0; i < c->depth; i++)
        fprintf(out, " %s", c->path[i]->name);
}

/* The same as a new string; "" when out of memory, for error texts. */
static char *path_text(const struct cli *c)
{
    char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    if (!f)
        return NULL;
    cli_print_path(f, c);
    if (fclose(f) == 0)
        return text;
    free(text);
    return NULL;
}

static void see_help(const struct cli *c, struct err *err)
{
    AUTO_FREE char *path = path_text(c);

    err_hint(err, "see '%s --help'", path ? path : c->program->name);
}

/* ---- options ---- */

/* An option and the struct its value goes into. */
struct target {
    const struct cli_opt *opt;
    void *base;
    const char *flag_value; /* what a flag is set to */
};

/* A flag that is on by default also has a form that turns it off: --no-NAME. */
static bool matches(const struct cli_opt *o, const char *name, size_t n, const char **flag_value)
{
    *flag_value = "yes";
    if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
        return true;
    *flag_value = "no";
    return cli_on_flag(o) && n == strlen(o->name) + 3 && memcmp(name, "no-", 3) == 0 &&
           memcmp(name + 3, o->name, n - 3) == 0;
}

/* The two tables that count at this point: the verb's own wins over the global one. */
static void tables(const struct cli *c, struct target ret[2])
{
    ret[0] = (struct target){ .opt = cli_opts(c->verb), .base = c->args };
    ret[1] = (struct target){ .opt = cli_globals(c->program), .base = c->globals };
}

static bool find_long(const struct cli *c, const char *name, size_t n, struct target *ret)
{
    struct target both[2];

    tables(c, both);
    for (size_t i = 0; i < COUNT_OF(both); i++)
        for (*ret = both[i]; ret->opt->name; ret->opt++)
            if (matches(ret->opt, name, n, &ret->flag_value))
                return true;
    return false;
}

static bool find_letter(const struct cli *c, char letter, struct target *ret)
{
    struct target both[2];

    tables(c, both);
    for (size_t i = 0; i < COUNT_OF(both); i++)
        for (*ret = both[i]; ret->opt->name; ret->opt++)
            if (ret->opt->letter == letter) {
                ret->flag_value = "yes";
                return true;
            }
    return false;
}

static const char *near_option(const struct cli *c, const char *name)
{
    const char *names[NEAR_NAMES] = { "help" };
    struct target both[2];
    size_t n = 1;

    tables(c, both);
    for (size_t i = 0; i < COUNT_OF(both); i++)
        for (const struct cli_opt *o = both[i].opt; o->name && n < NEAR_NAMES; o++)
            if (cli_shown(c->verb, o))
                names[n++] = o->name;
    return str_nearest(name, names, n);
}

/* Gives the option the value it came with, or the next word. */
static int cli_take_value(struct parser *s, const struct target *t, const char *value)
{
    if (!value && s->at + 1 < s->argc)
        value = s->argv[++s->at];
    if (!value) {
        cli_bad(s->err, "option '--%s' needs a value (%s)", t->opt->name, t->opt->meta);
        see_help(s->c, s->err);
        return CLI_USAGE;
    }
    return cli_set(t->opt, t->base, value, s->err);
}

/* Only after the tables: a verb may have a --help or an --all of its own. */
static int long_option(struct parser *s, const char *arg)
{
    const char *name = arg + 2, *value = strchr(name, '='), *near;
    size_t n = value ? (size_t)(value - name) : strlen(name);
    AUTO_FREE char *only = strndup(name, n);
    struct target t;

    if (!only)
        return err_oom(s->err);
    if (find_long(s->c, name, n, &t)) {
        if (cli_takes_value(t.opt))
            return cli_take_value(s, &t, value ? value + 1 : NULL);
        if (value)
            return cli_bad(s->err, "option '--%s' takes no value", only);
        return cli_set(t.opt, t.base, t.flag_value, s->err);
    }
    if (strcmp(name, "help") == 0) {
        s->c->help = true;
        return 0;
    }
    if (strcmp(name, "all") == 0 && s->c->help)
        return 0; /* of the help: see wants_all() */
    near = near_option(s->c, only);
    cli_bad(s->err, "unknown option '--%s'%s%s%s", only, near ? "; did you mean '--" : "",
            near ? near : "", near ? "'?" : "");
    see_help(s->c, s->err);
    return CLI_USAGE;
}

/* "-vn4" is -v -n 4: the first letter that takes a value takes the rest of the word. */
static int letters(struct parser *s, char *arg)
{
    struct target t;
    int r;

    for (char *p = arg + 1; *p; p++) {
        if (!find_letter(s->c, *p, &t)) {
            if (*p == 'h') {
                s->c->help = true;
                continue;
            }
            if (isgraph((unsigned char)*p))
                cli_bad(s->err, "unknown option '-%c'", *p);
            else
                cli_bad(s->err, "unknown option '%s'", arg);
            see_help(s->c, s->err);
            return CLI_USAGE;
        }
        if (cli_takes_value(t.opt))
            return cli_take_value(s, &t, p[1] ? p + 1 : NULL);
        r = cli_set(t.opt, t.base, t.flag_value, s->err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- verbs and operands ---- */

static int unknown_verb(const struct cli *c, const char *name, const char *near, struct err *err)
{
    AUTO_FREE char *path = path_text(c);
    const char *did = near ? "; did you mean '" : "", *end = near ? "'?" : "";

    near = near ? near : "";
    if (c->verb && path)
        cli_bad(err, "'%s' has no verb '%s'%s%s%s", path, name, did, near, end);
    else
        cli_bad(err, "unknown verb '%s'%s%s%s", name, did, near, end);
    see_help(c, err);
    return CLI_USAGE;
}

/* Goes down to the verb of that name. */
static int descend(struct cli *c, const char *name, struct err *err)
{
    const char *names[NEAR_NAMES];
    size_t n = 0;

    for (const struct cli_verb *const *v = cli_next(c); *v; v++) {
        if (strcmp((*v)->name, name) == 0 && c->depth < CLI_DEPTH) {
            c->path[c->depth++] = c->verb = *v;
            return 0;
        }
        if (!(*v)->hidden && n < NEAR_NAMES)
            names[n++] = (*v)->name;
    }
    return unknown_verb(c, name, str_nearest(name, names, n), err);
}

/* The struct of a verb is made when its name has been read, so that options behind it have a place.
 * Groups of verbs have none. */
static int begin_args(struct cli *c, struct err *err)
{
    if (c->verb->subs || c->args)
        return 0;
    c->args = calloc(1, c->verb->args_size ? c->verb->args_size : 1);
    return c->args ? cli_presets(cli_opts(c->verb), c->args, err) : err_oom(err);
}

static int cli_word(struct parser *s, char *arg)
{
    struct cli *c = s->c;
    int r;

    if (*cli_next(c)) {
        r = descend(c, arg, s->err);
        return r < 0 ? r : begin_args(c, s->err);
    }
    c->operands[c->n_operands++] = arg;
    /* What follows is a user's command: its options are not ours. */
    if (c->verb && c->verb->command_follows)
        s->ended = true;
    return 0;
}

static int check_word(const struct cli *c, const char *operand, struct err *err)
{
    const char *const *words = c->verb->words;
    const char *near;
    size_t n = 0;

    for (; words[n]; n++)
        if (strcmp(words[n], operand) == 0)
            return 0;
    near = str_nearest(operand, words, n);
    cli_bad(err, "'%s' is not one of %s%s%s%s", operand, c->verb->operands,
            near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
    see_help(c, err);
    return CLI_USAGE;
}

/* "'ydl fs' needs a verb: cat, chmod, …" */
static int needs_verb(const struct cli *c, const char *path, struct err *err)
{
    AUTO_BUF names = { .max = sizeof(err->text) };

    for (const struct cli_verb *const *v = cli_next(c); *v; v++)
        if (!(*v)->hidden)
            (void)buf_printf(&names, "%s%s", names.len ? ", " : "", (*v)->name);
    return cli_bad(err, "'%s' needs a verb: %s", path, buf_text(&names) ? buf_text(&names) : "…");
}

/* "Which job? Try: ydl status last" */
static int needs_operands(const struct cli *c, const char *path, struct err *err)
{
    const struct cli_verb *v = c->verb;
    const char *example = v->examples ? v->examples[0].command : NULL;
    AUTO_FREE char *what =
        v->ask ? strdup(v->ask) : str_printf("'%s' needs %s.", path, v->operands);

    if (!what)
        return err_oom(err);
    if (strstr(what, " Try: "))
        return cli_bad(err, "%s", what);
    if (example)
        return cli_bad(err, "%s Try: %s", what, example);
    return cli_bad(err, "%s Usage: %s %s", what, path, v->operands);
}

static int check_operands(const struct cli *c, struct err *err)
{
    const struct cli_verb *v = c->verb;
    AUTO_FREE char *path = path_text(c);
    int r = 0;

    if (!path)
        return err_oom(err);
    if (v->subs)
        r = needs_verb(c, path, err);
    else if (c->n_operands < v->least)
        r = needs_operands(c, path, err);
    else if (c->n_operands > v->most)
        r = cli_bad(err, "unexpected '%s'. Usage: %s [OPTION…]%s%s", c->operands[v->most], path,
                    v->operands ? " " : "", v->operands ? v->operands : "");
    if (r == CLI_USAGE)
        see_help(c, err);
    for (size_t i = 0; r == 0 && v->words && i < c->n_operands; i++)
        r = check_word(c, c->operands[i], err);
    return r;
}

/* `--help --all`: a verb may have an option of that name itself. */
static bool wants_all(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--all") == 0)
            return true;
    return false;
}

static int one(struct parser *s, char *arg)
{
    if (s->ended || arg[0] != '-' || arg[1] == '\0')
        return cli_word(s, arg);
    if (strcmp(arg, "--") == 0) {
        s->ended = true;
        return 0;
    }
    return arg[1] == '-' ? long_option(s, arg) : letters(s, arg);
}

/* Operands are counted after the last word, as options of the verb may stand behind them; with
 * --help they need not be there. */
int cli_parse(const struct cli_program *p, int argc, char **argv, struct cli *ret, struct err *err)
{
    struct parser s = { .c = ret, .argv = argv, .argc = argc, .at = 1, .err = err };
    int r;

    *ret = (struct cli){ .program = p };
    ret->operands = calloc((size_t)argc + 1, sizeof(*ret->operands));
    ret->globals = calloc(1, p->globals_size ? p->globals_size : 1);
    if (!ret->operands || !ret->globals)
        return err_oom(err);
    r = cli_presets(cli_globals(p), ret->globals, err);
    for (; r == 0 && s.at < argc; s.at++)
        r = one(&s, argv[s.at]);
    if (r == 0 && ret->verb && !ret->help)
        r = check_operands(ret, err);
    ret->help_all = ret->help && wants_all(argc, argv);
    if (r == CLI_USAGE && ret->help) { /* whoever asks for help gets it, whatever else is wrong */
        err_clear(err);
        r = 0;
    }
    return r;
}

static void free_lists(const struct cli_opt *opts, void *base)
{
    for (const struct cli_opt *o = opts; base && o->name; o++)
        if (o->type == CLI_LIST)
            strs_done((struct strs *)((char *)base + o->offset));
}

void cli_done(struct cli *c)
{
    if (!c->program)
        return;
    free_lists(cli_globals(c->program), c->globals);
    free_lists(cli_opts(c->verb), c->args);
    free(take(c->globals));
    free(take(c->args));
    free(take(c->operands));
}

int cli_find(const struct cli_program *p, char *const *words, struct cli *c, struct err *err)
{
    int r;

    *c = (struct cli){ .program = p };
    for (; *words; words++) {
        r = descend(c, *words, err);
        if (r < 0)
            return r;
    }
    return 0;
}
