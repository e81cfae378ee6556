/* cli_private.h - what the readers of the command tables share. */
#pragma once
#include "cli/cli.h"

/* The tables, an empty one where none is given: for (o = cli_opts(v); o->name; o++). */
const struct cli_opt *cli_opts(const struct cli_verb *v); /* NULL is fine */
const struct cli_opt *cli_globals(const struct cli_program *p);
extern const struct cli_opt cli_help_opt[2]; /* --help, which no table has */
extern const char *const cli_group_names[CLI_GROUPS_];
/* The default as it is shown: "3", "$YDL_ON, or local"; NULL for none. */
const char *cli_default(const struct cli_opt *o);
/* What may follow the verbs that are in `c` already: for (v = cli_next(c); *v; v++). */
const struct cli_verb *const *cli_next(const struct cli *c);

static inline bool cli_takes_value(const struct cli_opt *o)
{
    return o->meta != NULL;
}

/* A flag that is on unless --no-NAME is given. */
static inline bool cli_on_flag(const struct cli_opt *o)
{
    return !cli_takes_value(o) && o->preset;
}

/* How an option is written: "-n", "--workers"; "-r", "--retry", "--no-retry"; "-hip", "--host_ip".
 */
struct cli_names {
    char v[4][48];
    size_t n;
};
void cli_names(const struct cli_opt *o, struct cli_names *ret);
/* The same at a verb, without the spellings that rows of its own have. */
void cli_names_at(const struct cli_verb *v, const struct cli_opt *o, struct cli_names *ret);
/* The global option `g` does not exist at `v`: the verb has its own of that long name. */
bool cli_shadowed(const struct cli_verb *v, const struct cli_opt *g);
/* An option of an older command, whose words have any number of dashes. */
static inline bool cli_is_older(const struct cli_opt *o)
{
    return o->name[0] == '-';
}

/* Help, manual pages and completions of `v` have the option. */
static inline bool cli_shown(const struct cli_verb *v, const struct cli_opt *o)
{
    return !v || !(o->feature & v->lacks);
}

/* Gives `base` its defaults; reads one value. */
int cli_presets(const struct cli_opt *opts, void *base, struct err *err);
int cli_set(const struct cli_opt *o, void *base, const char *s, struct err *err);

/* Calls `fn` for the program itself (c->verb is NULL) and for every shown verb, parents first, with
 * the verbs that lead to it in `c`. */
void cli_walk(const struct cli_program *p, void (*fn)(FILE *out, const struct cli *c), FILE *out);

/* A piece of hand-written prose, see struct cli_section. */
struct cli_block {
    enum { CLI_PARAGRAPH, CLI_LITERAL, CLI_ENTRY } kind;
    const char *term, *text; /* inside the prose, not terminated */
    size_t term_len, len;
};

/* The next piece at *at, which is moved past it; false at the end. */
bool cli_block(const char **at, struct cli_block *ret);

/* ---- completion scripts ---- */

void cli_bash(FILE *out, const struct cli_program *p);
void cli_zsh(FILE *out, const struct cli_program *p);
void cli_fish(FILE *out, const struct cli_program *p);

/* The words after the program's name, each after `sep`: " fs ls". */
void cli_print_words(FILE *out, const struct cli *c, char sep);
/* All names that it can be called by, each after a blank. */
void cli_print_commands(FILE *out, const struct cli_program *p);
/* A piece of a script, in which each @ stands for the program's name as a function. */
void cli_print_script(FILE *out, const struct cli_program *p, const char *script);
/* A name that shells take for functions: "ydl-node" becomes "ydl_node". */
void cli_print_name(FILE *out, const char *name);
/* Text inside 'single quotes', with a backslash before every character of `special`. */
void cli_print_quoted(FILE *out, const char *s, const char *special, const char *quote);

/* What a value or an operand completes to. Told by the row, and by words like FILE and DIR. */
enum cli_complete cli_value_kind(const struct cli_opt *o);
