/* cli_complete_fish.c - the completion script for fish, see cli.h.
 *
 * A function finds the verbs typed so far; every other line is one `complete` that holds only
 * there. */
#include "cli/cli_private.h"

#define SPECIAL "\\"
#define QUOTE "\\'"

static const char path_function[] =
    "    set -l path\n"
    "    set -l skip 0\n"
    "    for word in (commandline -opc)[2..-1]\n"
    "        if test $skip = 1\n"
    "            set skip 0\n"
    "            continue\n"
    "        end\n"
    "        switch $word\n"
    "            case '--'\n"
    "                break\n"
    "            case '-*'\n"
    "                if contains -- \"$path $word\" $valued; or contains -- $word $valued\n"
    "                    set skip 1\n"
    "                end\n"
    "            case '*'\n"
    "                if contains -- \"$path $word\" $known\n"
    "                    set path \"$path $word\"\n"
    "                end\n"
    "        end\n"
    "    end\n"
    "    echo \"$path\"\n"
    "end\n"
    "\n"
    "function __@_at\n"
    "    set -l path (__@_path)\n"
    "    test \"$path\" = \"$argv[1]\"\n"
    "end\n"
    "\n";

static void commands(FILE *out, const struct cli_program *p)
{
    fprintf(out, " -c %s", p->name);
    for (const char *const *a = p->aliases; a && *a; a++)
        fprintf(out, " -c %s", *a);
}

static void known(FILE *out, const struct cli *c)
{
    if (c->depth == 0)
        return;
    fputs(" '", out);
    cli_print_words(out, c, ' ');
    fputc('\'', out);
}

static void valued_of(FILE *out, const struct cli *c, const struct cli_opt *table, bool global)
{
    for (const struct cli_opt *o = table; o->name; o++) {
        struct cli_names names;

        cli_names(o, &names);
        for (size_t i = 0; cli_takes_value(o) && i < names.n; i++) {
            fputs(" '", out);
            if (!global)
                cli_print_words(out, c, ' ');
            fprintf(out, "%s%s'", global ? "" : " ", names.v[i]);
        }
    }
}

static void valued(FILE *out, const struct cli *c)
{
    valued_of(out, c, cli_opts(c->verb), false);
    if (c->depth == 0)
        valued_of(out, c, cli_globals(c->program), true);
}

/* "complete -c ydl -n '__ydl_at " fs ls"'" */
static void cli_complete_fish_begin(FILE *out, const struct cli *c, bool everywhere)
{
    fputs("complete", out);
    commands(out, c->program);
    if (everywhere)
        return;
    fputs(" -n '__", out);
    cli_print_name(out, c->program->name);
    fputs("_at \"", out);
    cli_print_words(out, c, ' ');
    fputs("\"'", out);
}

static void described(FILE *out, const char *text)
{
    fputs(" -d '", out);
    cli_print_quoted(out, text, SPECIAL, QUOTE);
    fputs("'\n", out);
}

static void word_list(FILE *out, const char *const *w)
{
    fputs(" -a '", out);
    for (; *w; w++)
        fprintf(out, "%s%s", *w, w[1] ? " " : "");
    fputc('\'', out);
}

static void cli_complete_fish_option(FILE *out, const struct cli *c, const struct cli_opt *o,
                                     bool everywhere)
{
    struct cli_names names;

    cli_names(o, &names);
    cli_complete_fish_begin(out, c, everywhere);
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.v[i];

        if (str_starts(name, "--"))
            fprintf(out, " -l %s", name + 2);
        else
            fprintf(out, " -%c %s", name[2] ? 'o' : 's', name + 1);
    }
    if (o->choices) {
        fputs(" -x", out);
        word_list(out, o->choices);
    } else if (cli_takes_value(o)) {
        enum cli_complete kind = cli_value_kind(o);

        fputs(kind == CLI_FILES  ? " -r -F"
              : kind == CLI_DIRS ? " -x -a '(__fish_complete_directories)'"
                                 : " -x",
              out);
    }
    described(out, o->help);
}

static void verb_words(FILE *out, const struct cli *c, const struct cli_verb *const *table)
{
    for (const struct cli_verb *const *v = table; *v; v++) {
        if ((*v)->hidden)
            continue;
        cli_complete_fish_begin(out, c, false);
        fprintf(out, " -a %s", (*v)->name);
        described(out, (*v)->summary);
    }
}

static void operands(FILE *out, const struct cli *c)
{
    const struct cli_verb *v = c->verb;

    if (v->words) {
        cli_complete_fish_begin(out, c, false);
        word_list(out, v->words);
        fputc('\n', out);
    } else if (v->complete == CLI_VERBS) {
        verb_words(out, c, c->program->verbs);
    } else if (v->complete != CLI_NOTHING) {
        cli_complete_fish_begin(out, c, false);
        fputs(v->complete == CLI_FILES  ? " -F\n"
              : v->complete == CLI_DIRS ? " -a '(__fish_complete_directories)'\n"
                                        : " -a '(__fish_complete_subcommand)'\n",
              out);
    }
}

static void verb(FILE *out, const struct cli *c)
{
    verb_words(out, c, cli_next(c));
    if (!c->verb)
        return;
    for (const struct cli_opt *o = cli_opts(c->verb); o->name; o++)
        if (cli_shown(c->verb, o))
            cli_complete_fish_option(out, c, o, false);
    operands(out, c);
}

void cli_fish(FILE *out, const struct cli_program *p)
{
    struct cli root = { .program = p, .verb = p->self };

    cli_print_script(out, p, "\nfunction __@_path\n    set -l known");
    cli_walk(p, known, out);
    fputs("\n    set -l valued", out);
    cli_walk(p, valued, out);
    fputc('\n', out);
    cli_print_script(out, p, path_function);
    cli_complete_fish_begin(out, &root, true);
    fputs(" -f\n", out);
    for (const struct cli_opt *o = cli_globals(p); o->name; o++)
        cli_complete_fish_option(out, &root, o, true);
    cli_complete_fish_option(out, &root, cli_help_opt, true);
    cli_walk(p, verb, out);
}
