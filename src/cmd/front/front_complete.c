/* front_complete.c - completions of the front ends for the three shells; see front_print.h.
 *
 * Simpler than those of ydl itself: options of all forms, values of those that have a list, verbs
 * as the first word, and files for everything else. */
#include "cmd/front/front_print.h"

#include <ctype.h>
#include <string.h>

/* Calls `fn` for every option of a front end, ours too. */
typedef void option_fn(FILE *out, const char *program, const struct legacy_option *o);

static void each_option(FILE *out, const struct front *f, const char *program, option_fn *fn)
{
    for (const struct front_verb *const *v = f->verbs; *v; v++) {
        struct legacy_syntax s = print_syntax(*v);

        for (const struct legacy_option *o = s.own; o && o->names[0]; o++)
            fn(out, program, o);
        for (const struct legacy_option *o = s.extra; o && o->names[0]; o++)
            if (!legacy_shadowed(&s, o))
                fn(out, program, o);
    }
}

static void print_function_name(FILE *out, const char *program)
{
    fputs("_ydl_", out);
    for (; *program; program++)
        fputc(isalnum((unsigned char)*program) ? *program : '_', out);
}

/* Text within 'single quotes'. */
static void print_quoted(FILE *out, const char *s, const char *quote)
{
    for (; *s; s++) {
        if (*s == '\'')
            fputs(quote, out);
        else if (strchr("[]:", *s))
            fprintf(out, "\\%c", *s);
        else
            fputc(*s, out);
    }
}

static void print_words(FILE *out, const char *const *w)
{
    for (; *w; w++)
        fprintf(out, "%s%s", *w, w[1] ? " " : "");
}

static void verb_names(FILE *out, const struct front *f)
{
    for (const struct front_verb *const *v = f->verbs; *v; v++)
        if ((*v)->name)
            fprintf(out, "%s ", (*v)->name);
}

/* ---- bash ---- */

static void bash_name(FILE *out, const char *program, const struct legacy_option *o)
{
    (void)program;
    for (size_t i = 0; i < COUNT_OF(o->names) && o->names[i]; i++)
        fprintf(out, "%s ", o->names[i]);
}

static void bash_choices(FILE *out, const char *program, const struct legacy_option *o)
{
    (void)program;
    if (!o->choices)
        return;
    for (size_t i = 0; i < COUNT_OF(o->names) && o->names[i]; i++)
        fprintf(out, "%s%s", i ? " | " : "    ", o->names[i]);
    fputs(") words='", out);
    print_words(out, o->choices);
    fputs("' ;;\n", out);
}

static void bash(FILE *out, const struct front *f, const char *program)
{
    fputc('\n', out);
    print_function_name(out, program);
    fputs("() {\n    local cur=\"${COMP_WORDS[COMP_CWORD]}\" words=''\n"
          "    case \"${COMP_WORDS[COMP_CWORD - 1]}\" in\n",
          out);
    each_option(out, f, program, bash_choices);
    fputs("    esac\n    [[ -z \"$words\" && \"$cur\" == -* ]] && words='", out);
    each_option(out, f, program, bash_name);
    fputs("--help'\n    [[ -z \"$words\" && $COMP_CWORD == 1 ]] && words='", out);
    verb_names(out, f);
    fputs("'\n    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
          "    [[ -n \"${COMPREPLY[*]}\" || \"$cur\" == -* ]] && return\n"
          "    compopt -o filenames 2>/dev/null\n"
          "    local IFS=$'\\n'\n"
          "    COMPREPLY=($(compgen -f -- \"$cur\"))\n}\ncomplete -F ",
          out);
    print_function_name(out, program);
    fprintf(out, " %s\n", program);
}

/* ---- zsh ---- */

static void zsh_option(FILE *out, const char *program, const struct legacy_option *o)
{
    (void)program;
    for (size_t i = 0; i < COUNT_OF(o->names) && o->names[i]; i++) {
        fprintf(out, "        '%s%s[", o->list ? "*" : "", o->names[i]);
        print_quoted(out, o->help, "'\\''");
        fputc(']', out);
        if (o->meta) {
            fputc(':', out);
            print_quoted(out, o->meta, "'\\''");
            fputs(o->choices ? ":(" : ":_files", out);
            if (o->choices) {
                print_words(out, o->choices);
                fputc(')', out);
            }
        }
        fputs("' \\\n", out);
    }
}

static void zsh(FILE *out, const struct front *f, const char *program)
{
    fputc('\n', out);
    print_function_name(out, program);
    fputs("() {\n    _arguments \\\n", out);
    each_option(out, f, program, zsh_option);
    fputs("        '--help[show help]' '*: :_files'\n}\ncompdef ", out);
    print_function_name(out, program);
    fprintf(out, " %s\n", program);
}

/* ---- fish ---- */

static void fish_option(FILE *out, const char *program, const struct legacy_option *o)
{
    fprintf(out, "complete -c %s", program);
    for (size_t i = 0; i < COUNT_OF(o->names) && o->names[i]; i++) {
        const char *name = o->names[i];

        if (str_starts(name, "--"))
            fprintf(out, " -l %s", name + 2);
        else
            fprintf(out, " -%c %s", name[2] ? 'o' : 's', name + 1);
    }
    if (o->choices) {
        fputs(" -x -a '", out);
        print_words(out, o->choices);
        fputc('\'', out);
    } else if (o->meta) {
        fputs(" -r", out);
    }
    fputs(" -d '", out);
    for (const char *s = o->help; *s; s++)
        fprintf(out, *s == '\'' || *s == '\\' ? "\\%c" : "%c", *s);
    fputs("'\n", out);
}

static void fish(FILE *out, const struct front *f, const char *program)
{
    fputc('\n', out);
    each_option(out, f, program, fish_option);
    for (const struct front_verb *const *v = f->verbs; *v; v++)
        if ((*v)->name)
            fprintf(out, "complete -c %s -n __fish_use_subcommand -a %s\n", program, (*v)->name);
}

void print_completion(FILE *out, const char *shell)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *out, const struct front *f, const char *program);
    } rows[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (const struct front *const *f = front_table; str_eq(rows[i].shell, shell) && *f; f++) {
            rows[i].print(out, *f, (*f)->name);
            for (const char *const *a = (*f)->aliases; a && *a; a++)
                rows[i].print(out, *f, *a);
        }
}

void print_names(FILE *out)
{
    for (const struct front *const *f = front_table; *f; f++) {
        fprintf(out, " %s", (*f)->name);
        for (const char *const *a = (*f)->aliases; a && *a; a++)
            fprintf(out, " %s", *a);
    }
}
