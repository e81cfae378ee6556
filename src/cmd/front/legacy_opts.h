/* legacy_opts.h - command lines in the manner of older programs, from tables.
 *
 * A row (struct cli_opt) is an option: its spellings, its help, and what it comes to: an option of
 * ydl with the same value (same_as), nothing (no_effect, and why), an error (not_supported), or
 * something that the front end looks at itself. The printers of help, manual and completions
 * (cli/cli.h) read the same rows. What the parsers of the older programs did differently are
 * habits, bits of the table:
 *
 *     dmlc-yarn -n2 --host_ip=10.0.0.1 python job.py --lr 0.1 -s 1     argparse
 *     ydl-tf -job job.py -numberworkers=4                              single dashes
 *     ydl-mx yarn -n 2 job.py -n 5                                     the job's words are its own
 *
 * `--name value`, `--name=value` and `-x=value` are understood by all, `--` ends the options, and a
 * lone `-` is an operand. Pure; any thread. */
#pragma once
#include "cli/cli.h"

enum legacy_habit {
    LEGACY_ABBREVIATED = 1, /* a beginning that fits one option only will do */
    LEGACY_JOINED = 2,      /* "-n2": a value may follow its letter at once */
    LEGACY_AMONG = 4,       /* options count among the operands and after them too */
    LEGACY_UNKNOWN = 8,     /* what is not known belongs to the command */
    LEGACY_ARGPARSE = 15,   /* parse_known_args() of Python, its rest added to the command */
    LEGACY_NAMES = 16,      /* the operands are names, no command: options behind them, ours too */
};

/* What stands between the words of a value that has several. */
#define LEGACY_BETWEEN '\x1f'

/* A command line's grammar. */
struct legacy_syntax {
    const struct cli_opt *own;   /* of the older program */
    const struct cli_opt *extra; /* ours: spelt out, before the first operand; own ones win */
    unsigned habits;             /* bits of enum legacy_habit */
    /* The first operand may be a word that only leads in, as "yarn" of `ydl-mx yarn -n 2 job.py`:
     * it is put aside and the options go on. NULL: there is none. */
    bool (*head)(const char *word);
    unsigned lacks; /* features: rows of `extra` with one of them are unknown */
};

/* An option that was given. */
struct legacy_hit {
    const struct cli_opt *option;
    const char *name; /* as it was spelt, if that was one of its spellings; borrowed */
    char *value;      /* NULL when it takes none; owned */
    bool late;        /* it stood behind the first operand */
};

/* A command line taken apart. */
struct legacy_args {
    struct legacy_hit *hits; /* in the order given */
    size_t n;
    struct strs command; /* the operands */
    char *head;          /* NULL: none */
    bool help, version;  /* asked for: nothing else was checked */
};

/* Takes `n` words apart. 0, CLI_USAGE or -ENOMEM; `ret` needs legacy_done() in any case. */
int legacy_parse(const struct legacy_syntax *s, char *const *words, size_t n,
                 struct legacy_args *ret, struct err *err);
void legacy_done(struct legacy_args *a);

#define AUTO_LEGACY AUTO_DONE(legacy_done) struct legacy_args /* = { 0 } */

/* ---- what was said; `name` is any spelling of a row ---- */

/* The last value given, or the row's preset; for flags "" or NULL. Borrowed. */
const char *legacy_value(const struct legacy_syntax *s, const struct legacy_args *a,
                         const char *name);
/* The value of a row with `number`; `otherwise` when it is not given and has no preset. */
int64_t legacy_number(const struct legacy_syntax *s, const struct legacy_args *a, const char *name,
                      int64_t otherwise);
bool legacy_given(const struct legacy_args *a, const char *name);
bool legacy_is(const struct cli_opt *o, const char *name);

/* How an error text calls it: its longest spelling. */
const char *legacy_name(const struct cli_opt *o);
