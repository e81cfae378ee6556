/* doctor.h - `ydl doctor`: checks as rows of a table, each a function that says what it found.
 *
 * A check that cannot say anything because an earlier one failed is left out; which it needs stands
 * in its row. Fibers only. */
#pragma once
#include "client/connect.h"
#include "hadoop/fs/fs.h"

enum level { LEVEL_OK, LEVEL_WARNING, LEVEL_FAILED };

/* Checks that others need, as bits. */
enum need {
    NEED_CONF = 1 << 0,
    NEED_RM = 1 << 1,
    NEED_NN = 1 << 2,
    NEED_HDFS = 1 << 3, /* the default file system is HDFS, and open */
};

/* One line of the report. */
struct finding {
    const char *check; /* name of the row, borrowed */
    enum level level;
    char text[640];
    char advice[320]; /* what to do about it, or "" */
};

struct check;

struct doctor {
    struct connection *x;
    const char *queue;
    struct fs_set *set; /* NULL until somebody needs it */
    struct finding *findings;
    size_t n;
    const struct check *check; /* the one that runs */
    unsigned have;             /* needs that are met */
    int failed;                /* result of the first failure, or 0 */
    bool out_of_memory;
    /* What one check learns and another one tells. Clocks: theirs less ours, milliseconds. */
    bool nn_clock_known, rm_clock_known;
    int64_t nn_clock, rm_clock;
};

/* A row of the table. */
struct check {
    const char *name;
    unsigned needs; /* enum need */
    void (*run)(struct doctor *d);
    const char *advice; /* what to do when it fails and nothing better is known; or NULL */
};
extern const struct check doctor_checks[];
extern const size_t doctor_n_checks;

/* Adds a finding of the running check. `advice` may be NULL. */
void doctor_say(struct doctor *d, enum level level, const char *advice, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* The same for an error: its text; its hint, else `advice`, else that of the row. Remembers the
 * first failure. */
void doctor_error(struct doctor *d, enum level level, int r, const struct err *err,
                  const char *advice);

/* Prints what was found so far and not printed yet, line by line; as JSON all at once. */
void doctor_print_text(const struct finding *f, bool colour);
int doctor_print_json(const struct doctor *d, struct err *err);

/* ---- the checks ---- */

void check_conf(struct doctor *d);
void check_identity(struct doctor *d);
void check_rm(struct doctor *d);
void check_nodes(struct doctor *d);
void check_queue(struct doctor *d);
void check_nn(struct doctor *d);
void check_space(struct doctor *d);
void check_hdfs(struct doctor *d);
void check_clocks(struct doctor *d);
void check_versions(struct doctor *d);
