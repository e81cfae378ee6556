/* globals.h - the options that every verb of `ydl` takes, and the programs' common main(). */
#pragma once
#include "cli/cli.h"
#include <stdint.h>

/* What c->globals points to. */
struct globals {
    const char *conf;      /* NULL: HADOOP_CONF_DIR */
    const char *as;        /* user to act as, or NULL */
    const char *principal; /* of Kerberos, or NULL for the one in the cache */
    const char *keytab;
    int64_t timeout; /* milliseconds that the cluster has for one answer */
    bool json, verbose, quiet;
    /* From a front end, never from an option: a job file as text, and whose it is. */
    const char *job, *job_by;
};

/* A feature: what contacts a cluster. Of a verb that lacks it the options for that are accepted,
 * and not shown. */
#define GLOBALS_CLUSTER 1U

extern const struct cli_opt globals_opts[];      /* of ydl */
extern const struct cli_opt globals_node_opts[]; /* of ydl-node: those that need no cluster */

static inline const struct globals *globals_of(const struct cli *c)
{
    return c->globals;
}

/* Parses, shows help, runs the verb, reports the error; returns the program's exit code. */
int globals_main(const struct cli_program *p, int argc, char **argv);
/* The same with a job file that is in memory; NULL: none. Mistakes in it begin with p->name. */
int globals_main_job(const struct cli_program *p, int argc, char **argv, const char *job);
