/* front.h - the commands of older systems, each a translation.
 *
 * `ydl` under another name (a link: ydl-mx, dmlc-yarn, …) is a front end. It takes its own command
 * line apart (legacy_opts.h) and makes a command line of ydl from it, perhaps with a job file for
 * what options cannot say; the ordinary verb then runs with that, so that plans, output, Ctrl-C and
 * exit codes are the same for all. With -v, or YDL_SAY=1, the words are shown.
 *
 * A new front end is a file with its tables and its translation, a line in fronts.h and one in
 * cmd/fronts.c, and its names in CMakeLists.txt. Main thread; translations look at the local disk.
 */
#pragma once
#include "base/json.h"
#include "cmd/front/legacy_opts.h"
#include <stdarg.h>

struct front;
struct front_verb;

/* What a translation has to go by. */
struct front_ask {
    const struct front *front;
    const struct front_verb *verb;
    const char *name;            /* what we were called as: "dmlc-yarn.py" */
    char *const *env;            /* "NAME=value", NULL-terminated: never getenv() */
    struct legacy_syntax syntax; /* the verb's with the common options: for legacy_value() */
    const struct legacy_args *args;
    const struct cli_program *program; /* ydl itself */
};

/* What it makes. */
struct front_call {
    struct strs before; /* a command that has to succeed first: "model", "push" …; empty: none */
    struct strs words;  /* "run", "--on", "yarn", "-n", "2", "--", "python3", "job.py" */
    char *job;          /* a job file as text; NULL: the words say it all */
    struct strs notes;  /* said first on standard error, unless -q */
    char *log_file;     /* standard error goes there too; NULL: nowhere else */
    bool failed;        /* out of memory: words or notes are missing */
};

/* One form of the command line. Those of a front end are `self` of its program, for lines without a
 * verb, and the subs of that. */
struct front_verb {
    struct cli_verb
        cli; /* first: what is printed; `args_size`, operands' number and `run` unused */
    unsigned habits;
    bool (*head)(const char *word);
    bool options_first; /* of `self`: a line that begins with a word is no such line */
    /* The verb of ydl that its words begin with, perhaps two words; "run" becomes "submit" with
     * --detach. What rows with `same_as` and `no_effect` say is in `ret` when `translate` is
     * called, which adds the rest. CLI_USAGE for what is wrong with the words. */
    const char *verb;
    int (*translate)(const struct front_ask *a, struct front_call *ret, struct err *err);
    /* In place of both: does it itself. An exit code, or a negative errno with `err` set. */
    int (*act)(const struct front_ask *a, struct err *err);
};

struct front {
    struct cli_program program; /* first; its globals are options that every front end takes */
    int (*exit_code)(int code); /* of ydl to its own; NULL: the same */
};

/* The form of a line by its first word (NULL: none): the verb of that name, else `self`. */
const struct front_verb *front_verb(const struct front *f, const char *word);
/* CLI_USAGE for a word that is no verb; NULL: there is no word. */
int front_no_verb(const struct front *f, const char *word, struct err *err);
/* Prints what `NAME --help` shows; of one verb when it has a name. */
int front_help(const struct front *f, const struct front_verb *v, struct err *err);

/* The whole program: takes apart, translates, runs, reports; returns the exit code. */
int front_main(const struct front *f, const struct cli_program *ydl, int argc, char **argv);

/* Without running anything, for tests: 0 and the call; CLI_USAGE or another negative errno.
 * `words` has `n` words, without the program's name. `ret` needs front_call_done() in any case. */
int front_translate(const struct front *f, char *const *words, size_t n, char *const *env,
                    struct front_call *ret, struct err *err);
void front_call_done(struct front_call *c);

#define AUTO_FRONT_CALL AUTO_DONE(front_call_done) struct front_call /* = { 0 } */

/* ---- for translations: what runs out of memory sets `failed`, which front.c looks at ---- */

void front_add(struct front_call *c, const char *word);
void front_before(struct front_call *c, const char *word); /* of the command before */
/* Two words: an option and its value. */
void front_option(struct front_call *c, const char *option, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void front_note(struct front_call *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The job file, in place of one that is there. */
void front_job(struct front_call *c, const json_t *job);
/* "--" and the command: to be called last. */
void front_command(struct front_call *c, const struct strs *command);

const char *front_value(const struct front_ask *a, const char *name); /* legacy_value() */
bool front_given(const struct front_ask *a, const char *name);
/* A variable of the environment; NULL when it is not set or empty. */
const char *front_env(const struct front_ask *a, const char *name);

/* Where the job runs: --on, then YDL_ON, then `otherwise` ("yarn"). Borrowed. */
const char *front_on(const struct front_ask *a, const char *otherwise);
/* Stays with the job: no --detach. */
bool front_attached(const struct front_ask *a);

/* Says the notes of a call on standard error, unless -q: for who does it itself. */
void front_say_notes(const struct front_ask *a, const struct front_call *c);

/* ---- jobs as files ---- */

/* Is the file on this disk? */
bool front_exists(const char *path);
/* The words that run a job: "python3 job.py", "java -jar job.jar", or the words as they are. */
int front_run_words(const struct front_ask *a, const struct strs *job, struct strs *ret);
