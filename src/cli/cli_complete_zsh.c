/* cli_complete_zsh.c - the completion script for zsh: one function per verb, see cli.h. */
#include "cli/cli_private.h"

#define SPECIAL "[]:\\"
#define QUOTE "'\\''"

static const char *const actions[] = {
    [CLI_NOTHING] = " ",      [CLI_FILES] = "_files",
    [CLI_DIRS] = "_files -/", [CLI_COMMANDS] = "_command_names -e",
    [CLI_VERBS] = " ",
};

static void cli_words(FILE *out, const char *const *w)
{
    fputc('(', out);
    for (; *w; w++)
        fprintf(out, "%s%s", *w, w[1] ? " " : "");
    fputc(')', out);
}

/* "'*-x+[help]:META:action' \": one line per spelling, since one may be a letter only. */
static void cli_spelling(FILE *out, const struct cli_opt *o, const char *dashes, const char *name)
{
    bool is_letter = dashes[1] == '\0';

    fprintf(out, "        '%s%s%s%s[", o->type == CLI_LIST ? "*" : "", dashes, name,
            !cli_takes_value(o) ? ""
            : is_letter         ? "+"
                                : "=");
    cli_print_quoted(out, o->help, SPECIAL, QUOTE);
    fputc(']', out);
    if (cli_takes_value(o)) {
        fputc(':', out);
        cli_print_quoted(out, o->meta, SPECIAL, QUOTE);
        fputc(':', out);
        if (o->choices)
            cli_words(out, o->choices);
        else
            fputs(actions[cli_value_kind(o)], out);
    }
    fputs("' \\\n", out);
}

static void cli_option(FILE *out, const struct cli_opt *o, char letter)
{
    char name[2] = { letter };

    cli_spelling(out, o, "--", o->name);
    if (cli_on_flag(o))
        cli_spelling(out, o, "--no-", o->name);
    if (letter)
        cli_spelling(out, o, "-", name);
}

static void options(FILE *out, const struct cli *c)
{
    static const struct cli_opt help = { "help", 'h', .help = "show help" };

    for (const struct cli_opt *o = cli_opts(c->verb); o->name; o++)
        if (cli_shown(c->verb, o))
            cli_option(out, o, o->letter);
    for (const struct cli_opt *o = cli_globals(c->program); o->name; o++)
        if (cli_shown(c->verb, o) && !cli_shadowed(c->verb, o))
            cli_option(out, o, cli_letter(c->verb, o));
    cli_option(out, &help, cli_letter(c->verb, &help));
}

static void cli_function_name(FILE *out, const struct cli *c)
{
    fputc('_', out);
    cli_print_name(out, c->program->name);
    cli_print_words(out, c, '_');
}

static void leaf(FILE *out, const struct cli *c)
{
    const struct cli_verb *v = c->verb;

    fputs("    _arguments -s -S \\\n", out);
    options(out, c);
    if (v->command_follows) {
        fputs("        '(-)1:command:_command_names -e' '*::argument:_normal'\n", out);
    } else if (v->complete == CLI_VERBS) {
        fputs("        '*:verb:(", out);
        for (const struct cli_verb *const *o = c->program->verbs; *o; o++)
            if (!(*o)->hidden)
                fprintf(out, "%s ", (*o)->name);
        fputs(")'\n", out);
    } else if (v->operands) {
        fputs("        '*:", out);
        cli_print_quoted(out, v->operands, SPECIAL, QUOTE);
        fputc(':', out);
        if (v->words)
            cli_words(out, v->words);
        else
            fputs(actions[v->complete], out);
        fputs("'\n", out);
    } else {
        fputs("        ':: :'\n", out);
    }
}

static void branch(FILE *out, const struct cli *c)
{
    fputs("    local curcontext=\"$curcontext\" state line\n"
          "    typeset -A opt_args\n"
          "    local -a verbs\n"
          "    verbs=(\n",
          out);
    for (const struct cli_verb *const *v = cli_next(c); *v; v++) {
        if ((*v)->hidden)
            continue;
        fprintf(out, "        '%s:", (*v)->name);
        cli_print_quoted(out, (*v)->summary, ":\\", QUOTE);
        fputs("'\n", out);
    }
    fputs("    )\n    _arguments -C -s -S \\\n", out);
    options(out, c);
    fputs("        '1:verb:->verb' '*::argument:->rest'\n"
          "    case $state in\n"
          "    verb) _describe verb verbs ;;\n"
          "    rest)\n"
          "        case $line[1] in\n",
          out);
    for (const struct cli_verb *const *v = cli_next(c); *v; v++) {
        if ((*v)->hidden)
            continue;
        fprintf(out, "        %s) ", (*v)->name);
        cli_function_name(out, c);
        fputc('_', out);
        cli_print_name(out, (*v)->name);
        fputs(" ;;\n", out);
    }
    fputs("        esac\n        ;;\n    esac\n", out);
}

static void function(FILE *out, const struct cli *c)
{
    fputc('\n', out);
    cli_function_name(out, c);
    fputs("() {\n", out);
    if (*cli_next(c))
        branch(out, c);
    else
        leaf(out, c);
    fputs("}\n", out);
}

void cli_zsh(FILE *out, const struct cli_program *p)
{
    struct cli c = { .program = p };

    fprintf(out, "#compdef %s", p->name);
    if (p->others)
        p->others->names(out);
    fprintf(out, "\n# zsh completion of %s; load it with: source <(%s completion zsh)\n", p->name,
            p->name);
    cli_walk(p, function, out);
    fputs("compdef ", out);
    cli_function_name(out, &c);
    fprintf(out, " %s\n", p->name);
}

/* From a directory in fpath zsh loads the script when the first of its names is to be completed,
 * and waits for an answer: by now each name has the function that knows it. */
void cli_zsh_end(FILE *out, const struct cli_program *p)
{
    struct cli c = { .program = p };

    fputs("\nif [[ \"$funcstack[1]\" == ", out);
    cli_function_name(out, &c);
    fputs(" ]]; then\n    \"${_comps[$service]}\" \"$@\"\nfi\n", out);
}
