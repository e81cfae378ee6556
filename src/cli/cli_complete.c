/* cli_complete.c - completion scripts from the command tables: what all shells share, and bash.
 * See cli.h.
 *
 * The script for bash holds three look-up functions made from the rows (which words follow a verb,
 * which options it has, what a value may be) and one driver that walks the words typed so far. */
#include "cli/cli_private.h"

#include <ctype.h>
#include <string.h>

typedef const struct cli_program *const *others_table;

static others_table cli_complete_others(const struct cli_program *p)
{
    static const struct cli_program *const none[1];

    return p->others ? p->others : none;
}

/* From a directory in fpath zsh loads the script when the first of its names is to be completed,
 * and waits for an answer: by now each name has the function that knows it. */
static void zsh_answer(FILE *out, const struct cli_program *p)
{
    fputs("\nif [[ \"$funcstack[1]\" == _", out);
    cli_print_name(out, p->name);
    fputs(" ]]; then\n    \"${_comps[$service]}\" \"$@\"\nfi\n", out);
}

int cli_completion(FILE *out, const struct cli_program *p, const char *shell, struct err *err)
{
    static const struct {
        const char *shell, *before, *after; /* of the command that loads it */
        void (*print)(FILE *out, const struct cli_program *p);
        bool listed; /* the first line names all commands */
    } rows[] = { { "bash", "source <(", ")", cli_bash, false },
                 { "zsh", "source <(", ")", cli_zsh, true },
                 { "fish", "", " | source", cli_fish, false } };
    size_t i = 0;

    while (i < COUNT_OF(rows) && !str_eq(rows[i].shell, shell))
        i++;
    if (i == COUNT_OF(rows))
        return cli_bad(err, "no completion for the shell '%s': bash, zsh or fish", shell);
    if (rows[i].listed) {
        fputs("#compdef", out);
        cli_print_commands(out, p);
        for (others_table o = cli_complete_others(p); *o; o++)
            cli_print_commands(out, *o);
        fputc('\n', out);
    }
    fprintf(out, "# %s completion of %s; load it with: %s%s completion %s%s\n", shell, p->name,
            rows[i].before, p->name, shell, rows[i].after);
    rows[i].print(out, p);
    for (others_table o = cli_complete_others(p); *o; o++)
        rows[i].print(out, *o);
    if (rows[i].listed)
        zsh_answer(out, p);
    return 0;
}

void cli_print_commands(FILE *out, const struct cli_program *p)
{
    fprintf(out, " %s", p->name);
    for (const char *const *a = p->aliases; a && *a; a++)
        fprintf(out, " %s", *a);
}

void cli_print_script(FILE *out, const struct cli_program *p, const char *script)
{
    for (; *script; script++) {
        if (*script == '@')
            cli_print_name(out, p->name);
        else
            fputc(*script, out);
    }
}

void cli_print_words(FILE *out, const struct cli *c, char sep)
{
    for (size_t i = 0; i < c->depth; i++) {
        fputc(sep, out);
        if (sep == '_')
            cli_print_name(out, c->path[i]->name);
        else
            fputs(c->path[i]->name, out);
    }
}

void cli_print_name(FILE *out, const char *name)
{
    for (; *name; name++)
        fputc(isalnum((unsigned char)*name) ? *name : '_', out);
}

void cli_print_quoted(FILE *out, const char *s, const char *special, const char *quote)
{
    for (; *s; s++) {
        if (*s == '\'') {
            fputs(quote, out);
        } else {
            if (strchr(special, *s))
                fputc('\\', out);
            fputc(*s, out);
        }
    }
}

enum cli_complete cli_value_kind(const struct cli_opt *o)
{
    if (o->meta && strstr(o->meta, "FILE"))
        return CLI_FILES;
    return o->meta && strstr(o->meta, "DIR") ? CLI_DIRS : CLI_NOTHING;
}

/* ---- bash ---- */

static const char *const bash_kinds[] = {
    [CLI_NOTHING] = "nothing",   [CLI_FILES] = "files", [CLI_DIRS] = "dirs",
    [CLI_COMMANDS] = "commands", [CLI_VERBS] = "verbs",
};

static void bash_names(FILE *out, const struct cli_verb *v, const struct cli_opt *table)
{
    for (const struct cli_opt *o = table; o->name; o++) {
        struct cli_names names;

        cli_names(o, &names);
        for (size_t i = 0; cli_shown(v, o) && i < names.n; i++)
            fprintf(out, " %s", names.v[i]);
    }
}

static void bash_verb(FILE *out, const struct cli *c)
{
    const struct cli_verb *v = c->verb;

    fputs("    '", out);
    cli_print_words(out, c, ' ');
    fputs("')\n        verbs='", out);
    for (const struct cli_verb *const *sub = cli_next(c); *sub; sub++)
        if (!(*sub)->hidden)
            fprintf(out, "%s ", (*sub)->name);
    fputs("'\n        options='", out);
    bash_names(out, v, cli_opts(v));
    if (v && v->lacks) {
        fputs("'\n        globals='", out);
        bash_names(out, v, cli_globals(c->program));
        fputs(" --help -h", out);
    }
    fputs("'\n        operands='", out);
    if (v && v->words) {
        fputs("words", out);
        for (const char *const *w = v->words; *w; w++)
            fprintf(out, " %s", *w);
    } else {
        fputs(bash_kinds[v ? v->complete : CLI_NOTHING], out);
    }
    fprintf(out, "'\n        command=%d\n        ;;\n", v && v->command_follows);
}

/* A case for an option that takes a value; `c` is NULL for the options of every verb. */
static void bash_value(FILE *out, const struct cli *c, const struct cli_opt *o)
{
    struct cli_names names;

    if (!cli_takes_value(o))
        return;
    cli_names(o, &names);
    for (size_t i = 0; i < names.n; i++) {
        fputs(i ? " | " : "    ", out);
        fputs(c ? "'" : "*'", out);
        if (c)
            cli_print_words(out, c, ' ');
        fprintf(out, " %s'", names.v[i]);
    }
    fputs(") value='", out);
    if (o->choices) {
        fputs("words", out);
        for (const char *const *w = o->choices; *w; w++)
            fprintf(out, " %s", *w);
    } else {
        fputs(bash_kinds[cli_value_kind(o)], out);
    }
    fputs("' ;;\n", out);
}

static void bash_values(FILE *out, const struct cli *c)
{
    for (const struct cli_opt *o = cli_opts(c->verb); o->name; o++)
        bash_value(out, c, o);
    /* A flag of the verb must not fall through to a global option that takes a value. */
    for (const struct cli_opt *o = cli_opts(c->verb); o->name; o++) {
        struct cli_names names;

        cli_names(o, &names);
        for (size_t i = 0; !cli_takes_value(o) && i < names.n; i++) {
            fputs("    '", out);
            cli_print_words(out, c, ' ');
            fprintf(out, " %s') value='' ;;\n", names.v[i]);
        }
    }
}

/* @ stands for the program's name as a function. */
static const char bash_driver[] =
    "_@_reply() {\n"
    "    local IFS=$'\\n'\n"
    "    case \"$1\" in\n"
    "    words*) COMPREPLY=($(IFS=' '; compgen -W \"${1#words}\" -- \"$2\")) ;;\n"
    "    files) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- \"$2\")) ;;\n"
    "    dirs) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$2\")) ;;\n"
    "    commands) COMPREPLY=($(compgen -c -- \"$2\")) ;;\n"
    "    esac\n"
    "}\n"
    "\n"
    "_@() {\n"
    "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" at='' i word skip ended=0 seen=0\n"
    "    local verbs options operands command value globals\n"
    "    COMPREPLY=()\n"
    "    _@_verb \"$at\"\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        word=\"${COMP_WORDS[i]}\"\n"
    "        if ((ended)); then\n"
    "            seen=1\n"
    "        elif [[ \"$word\" == -- ]]; then\n"
    "            ended=1\n"
    "        elif [[ \"$word\" == -?* ]]; then\n"
    "            value=''\n"
    "            _@_value \"$at $word\"\n"
    "            [[ -z \"$value\" ]] && continue\n"
    "            skip=1\n"
    "            [[ \"${COMP_WORDS[i + 1]}\" == '=' ]] && skip=2\n"
    "            if ((i + skip >= COMP_CWORD)); then\n"
    "                _@_reply \"$value\" \"${cur#=}\"\n"
    "                return\n"
    "            fi\n"
    "            ((i += skip))\n"
    "        elif [[ \" $verbs \" == *\" $word \"* ]]; then\n"
    "            at=\"$at $word\"\n"
    "            _@_verb \"$at\"\n"
    "        else\n"
    "            seen=1\n"
    "            ended=$command\n"
    "        fi\n"
    "    done\n"
    "    if [[ \"$cur\" == -* ]] && ((!ended)); then\n"
    "        _@_reply \"words $options $globals\" \"$cur\"\n"
    "    elif [[ -n \"$verbs\" ]]; then\n"
    "        _@_reply \"words $verbs\" \"$cur\"\n"
    "    elif [[ \"$operands\" == verbs ]]; then\n"
    "        _@_verb ''\n"
    "        _@_reply \"words $verbs\" \"$cur\"\n"
    "    elif [[ \"$operands\" == commands ]] && ((seen)); then\n"
    "        _@_reply files \"$cur\"\n"
    "    else\n"
    "        _@_reply \"$operands\" \"$cur\"\n"
    "    fi\n"
    "}\n";

void cli_bash(FILE *out, const struct cli_program *p)
{
    cli_print_script(out, p, "\n_@_verb() {\n    globals='");
    bash_names(out, NULL, cli_globals(p));
    fputs(" --help -h'\n    case \"$1\" in\n", out);
    cli_walk(p, bash_verb, out);
    fputs("    esac\n}\n\n", out);
    cli_print_script(out, p, "_@_value() {\n    case \"$1\" in\n");
    cli_walk(p, bash_values, out);
    for (const struct cli_opt *o = cli_globals(p); o->name; o++)
        bash_value(out, NULL, o);
    fputs("    esac\n}\n\n", out);
    cli_print_script(out, p, bash_driver);
    cli_print_script(out, p, "\ncomplete -F _@");
    cli_print_commands(out, p);
    fputc('\n', out);
}
