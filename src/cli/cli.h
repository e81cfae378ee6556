/* cli.h - the command line from tables.
 *
 * A program is a table of verbs, a verb a row with a table of options. The same rows feed the
 * parser (cli.c), `--help` (cli_help.c), the manual pages (cli_man.c) and the completions for
 * bash, zsh and fish (cli_complete.c), so that they cannot disagree.
 *
 *     struct args { bool recursive; unsigned copies; struct strs also; };
 *     const struct cli_verb verb_put = {
 *         .name = "put", .summary = "copy files to the cluster",
 *         .operands = "FILE… DIR", .least = 2, .most = CLI_ANY, .run = run_put,
 *         CLI_OPTS(struct args,
 *             { "recursive", 'r', CLI_FLAG,  offsetof(struct args, recursive), NULL, NULL, "…" },
 *             { "copies",    'c', CLI_COUNT, offsetof(struct args, copies),    "3",  "N",  "…" },
 *             { "also",      0,   CLI_LIST,  offsetof(struct args, also),      NULL, "X",  "…" }),
 *         CLI_EXAMPLES({ "ydl fs put a b /data/", "copy two files" }),
 *         CLI_SECTIONS({ "EXIT STATUS", "…" }),
 *     };
 *
 * Syntax: `--name=value`, `--name value`, `-n3`, `-n 3`, `-rv` for flags, `--` ends the options,
 * a lone `-` is an operand; options and operands mix freely unless the verb says otherwise.
 * Shortened names are not taken: a script must not break when an option is added. Given twice, the
 * last one counts, but in a list. Blocks nowhere; the tables are constant and shared. */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "base/str.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The type of an option, and of the field at its offset. */
enum cli_type {
    CLI_FLAG,   /* bool. With the default "yes" the option is --no-NAME (--NAME works too) */
    CLI_TEXT,   /* const char *, of argv or of the table; NULL without a default */
    CLI_COUNT,  /* unsigned */
    CLI_I64,    /* int64_t */
    CLI_SIZE,   /* uint64_t bytes: "64k", "1.5g" */
    CLI_MS,     /* int64_t milliseconds: "30s", "1h30m" */
    CLI_LIST,   /* struct strs; the option may be repeated */
    CLI_CHOICE, /* int: the place in `choices`; -1 without a default */
};

/* The headings that help and manual pages have options under, in their order. */
enum cli_group {
    CLI_OPTIONS, /* of a verb that has too few for groups */
    CLI_WHAT,
    CLI_RESOURCES,
    CLI_ENVIRONMENT,
    CLI_FAILURES,
    CLI_CLUSTER,
    CLI_OUTPUT,
    CLI_OTHER,
    CLI_ADDED, /* of an older command: what it has of ydl */
    CLI_GROUPS_
};

/* Options of older commands (cmd/front) have names of any form. Their `name` begins with its
 * dashes, as in "-hip", and is taken as it stands; they have no field of a struct, because their
 * parser is cmd/front/legacy_opts.h. The printers here serve both. */
struct cli_opt {
    const char *name; /* without dashes; NULL ends the table */
    char letter;      /* 0 for none */
    enum cli_type type;
    size_t offset;
    const char *preset;         /* default as text; NULL for false, 0, NULL or an empty list */
    const char *meta;           /* what the value is called; NULL for flags */
    const char *help;           /* one sentence, lower case, no full stop */
    const char *const *choices; /* NULL-terminated */
    enum cli_group group;
    bool rare;        /* shown in manual pages and by `--help --all`, not by `--help` */
    unsigned feature; /* bits; verbs that lack one do not show the option. Those of ydl accept it
                       * all the same, those of older commands do not know it */
    const char
        *fallback; /* the default in words, where it is not a constant: "$YDL_ON, or local" */
    /* What follows is of older commands only. */
    const char *also[3];       /* further spellings, with their dashes */
    int64_t least;             /* of a number: CLI_I64 */
    unsigned more;             /* number of words that follow the value and belong to it */
    const char *same_as;       /* the option of ydl that it is, as "--queue" */
    const char *no_effect;     /* it has none, because: "ydl runs no Java" */
    const char *not_supported; /* it is an error, because, and what instead */
};

/* A command and what it does. */
struct cli_example {
    const char *command, *what; /* command == NULL ends the table */
};

/* A section of hand-written prose for the manual page and `help VERB`. In `body` an empty line
 * ends a paragraph, a line that starts with two spaces is shown as it is, and "term\tmeaning" is
 * an entry of a list. Titles are upper case, in the order that manual pages have: ENVIRONMENT,
 * FILES, EXIT STATUS; the examples follow them. */
struct cli_section {
    const char *title, *body; /* title == NULL ends the table */
};

/* A page of the manual that is no verb's: of a kind of file, say. */
struct buf;
struct cli_page {
    const char *name, *summary; /* "ydl-job"; NULL ends the table */
    int section;                /* 5 for files */
    const char *text;           /* the description; prose as in struct cli_section */
    const char *made_title;     /* a section whose prose `make` appends: 0, or -ENOMEM … */
    int (*make)(struct buf *out);
    const struct cli_section *sections; /* … and those that follow it */
    const struct cli_example *examples;
    int (*schema)(FILE *out, struct err *err); /* prints a JSON Schema of the file, or NULL */
};

/* What operands complete to in a shell. */
enum cli_complete { CLI_NOTHING, CLI_FILES, CLI_DIRS, CLI_COMMANDS, CLI_VERBS };

#define CLI_ANY (~0U)

struct cli;

struct cli_verb {
    const char *name, *summary; /* summary: lower case, no full stop */
    const char *text;           /* what it does, paragraphs; NULL: the summary says it all */
    const struct cli_opt *opts; /* NULL for none; a verb with subs has none */
    size_t args_size;           /* of the struct that the offsets are in */
    const char *operands;       /* as in the usage line: "[PATH…]"; NULL for none */
    unsigned least, most;       /* how many operands */
    enum cli_complete complete; /* what they are … */
    const char *const *words;   /* … or which words they may be, NULL-terminated */
    bool command_follows;       /* the first operand ends the options: it is a command's name */
    bool hidden;                /* works, but is not shown */
    unsigned lacks;             /* features: see struct cli_opt */
    const char *ask;            /* what to say when operands are missing: "Which job?"; with
                                 * " Try: COMMAND" if that is not the first of the examples */
    const struct cli_verb *const *subs; /* NULL-terminated, or NULL */
    const struct cli_example *examples;
    const struct cli_section *sections;
    /* Does it. Returns an exit code, or a negative errno with `err` set, or cli_bad(). */
    int (*run)(struct cli *c, struct err *err);
    /* Where `run` is one for many verbs: what it calls, as CLI_WORK(), and with --json, the key of
     * the list that this prints. */
    void (*work)(void);
    const char *list;
};

/* The tables of a verb, written where they belong: in its row. */
#define CLI_OPTS(args, ...)                                                                        \
    .args_size = sizeof(args), .opts = (const struct cli_opt[])                                    \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define CLI_EXAMPLES(...)                                                                          \
    .examples = (const struct cli_example[])                                                       \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
#define CLI_SECTIONS(...)                                                                          \
    .sections = (const struct cli_section[])                                                       \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }
/* A function of that type, whatever it is; the room that calls it casts it back. */
#define CLI_WORK(type, fn) _Generic((fn), type * : (void (*)(void))(fn))

struct cli_program {
    const char *name, *summary, *text, *version, *date;
    const struct cli_opt *globals; /* options of every verb; a verb's own of that name wins */
    size_t globals_size;
    const struct cli_verb *const *verbs; /* NULL-terminated */
    const struct cli_example *examples;
    const struct cli_section *sections;
    const struct cli_page *pages; /* further ones of the manual, or NULL */
    /* Commands that the program is under other names, NULL-terminated, or NULL: only printed here,
     * see cmd/front. Such a command has no `verbs`. It has `self`, what it does without a verb,
     * whose `subs` are its verbs. */
    const struct cli_program *const *others;
    const struct cli_verb *self;
    const char *const *aliases; /* further names of such a command, NULL-terminated, or NULL */
};

#define CLI_DEPTH 4

/* A command line taken apart. */
struct cli {
    const struct cli_program *program;
    const struct cli_verb *path[CLI_DEPTH]; /* verb, sub-verb, … */
    size_t depth;
    const struct cli_verb *verb; /* the last of `path`; NULL when there is none */
    void *globals, *args;        /* structs of the tables, owned here */
    char **operands;             /* n_operands of argv's words and a NULL; the list owned here */
    size_t n_operands;
    bool help;     /* -h or --help was there: nothing else was checked */
    bool help_all; /* --all was there as well */
};

/* Not an errno: the command line or a value in it is wrong, and the exit code is 2. */
#define CLI_USAGE (-4096)

/* Sets the error and returns CLI_USAGE: for what a verb finds wrong in its own arguments. */
int cli_bad(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Takes argv apart. 0, CLI_USAGE or -ENOMEM; `ret` needs cli_done() in any case. */
int cli_parse(const struct cli_program *p, int argc, char **argv, struct cli *ret, struct err *err);
void cli_done(struct cli *c);

#define AUTO_CLI AUTO_DONE(cli_done) struct cli

/* The words that lead to the verb: "ydl fs ls". */
void cli_print_path(FILE *out, const struct cli *c);

/* Finds a verb by its words (`help fs ls`) and sets path, depth and verb. CLI_USAGE with the
 * nearest name when there is none. `c` is zeroed and needs no cli_done(). */
int cli_find(const struct cli_program *p, char *const *words, struct cli *c, struct err *err);

/* ---- what is printed from the tables; look at ferror(out) when done ---- */

#define CLI_HELP_PROSE 1U /* with the sections of prose; the overview with its options */
#define CLI_HELP_ALL 2U   /* with the rare options */
#define CLI_HELP_LINES 60 /* at most so many lines without any of these, at 80 columns */

/* The overview of the program when c->verb is NULL, else the page of the verb. `how`: CLI_HELP_…;
 * `width`: columns, see cli_width(). */
void cli_help(FILE *out, const struct cli *c, unsigned width, unsigned how);
unsigned cli_width(FILE *out); /* of its terminal, 60 to 100; 80 elsewhere */

/* The manual page in mdoc: of the program when `v` is NULL, else of one of its verbs with
 * everything below it. */
void cli_man(FILE *out, const struct cli_program *p, const struct cli_verb *v);
/* The page of one of its `others`, with all verbs. */
void cli_man_other(FILE *out, const struct cli_program *p, const struct cli_program *other);

/* One of its further pages. 0 or -ENOMEM. */
int cli_man_page(FILE *out, const struct cli_program *p, const struct cli_page *page);

/* A completion script: "bash", "zsh" or "fish". CLI_USAGE for another shell. */
int cli_completion(FILE *out, const struct cli_program *p, const char *shell, struct err *err);
