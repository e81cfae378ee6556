/* spec_keys.h - the keys of a job file, as rows: the one place that knows them.
 *
 * The reader of YAML (spec_yaml.c), the command-line options (spec_flags.c), the checks of ranges
 * (spec_check.c), the JSON (spec_json.c), its schema and the manual text (spec_schema.c) all walk
 * these tables; the options of `ydl run`, `submit` and `plan` are tested against spec_flags(). A
 * new key is a row here, a field in spec.h, and nothing else. Constant; any thread. */
#pragma once
#include "job/spec/spec.h"

/* What a value is in a file, and the C type of the field at the row's offset. */
enum spec_type {
    SPEC_TEXT,    /* char * */
    SPEC_COUNT,   /* unsigned */
    SPEC_NUMBER,  /* int64_t */
    SPEC_TIMES,   /* int64_t: a number, or "forever" (SPEC_FOREVER) */
    SPEC_SMALL,   /* int: a number; -1 when not said */
    SPEC_BOOL,    /* int: true or false; -1 when not said */
    SPEC_SIZE,    /* uint64_t bytes: "512m" */
    SPEC_MS,      /* int64_t milliseconds: "30s" */
    SPEC_CHOICE,  /* an enum: the place in `choices` */
    SPEC_TEXTS,   /* struct strs: a list of texts, or one */
    SPEC_COMMAND, /* struct strs: a list of words, or one text that spec_words() splits */
    SPEC_ENV,     /* struct spec_vars: a map */
    SPEC_EXPORTS, /* struct spec_vars: a map of GROUP/NAME and texts */
    SPEC_FILES,   /* struct spec_files: a list of FROM or FROM: TO, or a map */
    SPEC_OUTPUT,  /* struct spec_files: a map FROM: TO, or one text TO; `keys` are not FROM, and of
                   * the table's struct */
    SPEC_TAGS,    /* struct spec_vars: a map of names and texts that are taken as they are */
    SPEC_AFTER,   /* struct spec_afters: a list, a map or a text */
    SPEC_READY,   /* struct spec_ready: a map of `keys`, or the name of the first one */
    SPEC_AMOUNTS, /* struct spec_amounts: a map of names and whole numbers */
    SPEC_RANGE,   /* port_low and port_high of struct spec: "10000-10999" */
    SPEC_MAP,     /* a map of `keys`, whose offsets count from this row's */
    SPEC_ROLES,   /* roles of struct spec: a map of names and maps of `keys` */
    SPEC_TYPES_
};

struct spec_key {
    const char *name; /* NULL ends a table */
    enum spec_type type;
    char letter;              /* of its option; 0: none */
    bool plain;               /* SPEC_MAP: a plain value counts as that of its first key */
    bool always;              /* spec_json() writes it even when it is the preset */
    bool yarn;                /* means something on YARN only */
    size_t offset;            /* from the struct that the table is about */
    int64_t preset, min, max; /* of numbers; the preset is also what "not said" looks like */
    const char *const *choices;
    const struct spec_key *keys;
    const char *flag; /* its command-line option; NULL: none */
    const char *meta; /* what the option's value is called */
    const char *help; /* what it is, lower case, no full stop */
};

extern const struct spec_key spec_job_keys[];  /* of struct spec */
extern const struct spec_key spec_role_keys[]; /* of struct spec_role */
/* Options that stand for no key of their own (workers, servers, mem, …); of struct spec. */
extern const struct spec_key spec_flag_keys[];

/* The row of a name, NULL when there is none; `table` ends with a NULL name. */
const struct spec_key *spec_key_find(const struct spec_key *table, const char *name);
/* The known name nearest to `name`, or NULL. */
const char *spec_key_nearest(const struct spec_key *table, const char *name);

/* Every row that has a command-line option, in the order of the help text, at most `max` of them;
 * returns how many there are. An option may be repeated where spec_flag_repeats(). */
size_t spec_flags(const struct spec_key **ret, size_t max);
bool spec_flag_repeats(const struct spec_key *k);

/* Sets every field of a table to "not said". */
void spec_presets(const struct spec_key *table, void *base);

/* A number field as it is, whatever its C type; and set. For rows with spec_is_number(). */
bool spec_is_number(const struct spec_key *k);
int64_t spec_get_number(const struct spec_key *k, const void *base);
void spec_set_number(const struct spec_key *k, void *base, int64_t v);

/* A size or time in the largest unit that divides it: "2g", "90m", "250ms"; a plain number, "true"
 * or "forever" for the others. `out` holds SPEC_NUMBER_MAX. */
#define SPEC_NUMBER_MAX 32
const char *spec_number_text(const struct spec_key *k, int64_t v, char out[SPEC_NUMBER_MAX]);

/* What is wrong with `v`, which the user wrote as `given` and which is not within the row's range,
 * up to `most`: "'0' is out of range (1 to 1000)", "'2' means 2 bytes; did you mean 2g?". */
#define SPEC_RANGE_TEXT_MAX 160
const char *spec_range_text(const struct spec_key *k, int64_t v, const char *given, int64_t most,
                            char out[SPEC_RANGE_TEXT_MAX]);
