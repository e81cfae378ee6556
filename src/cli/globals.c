/* globals.c - the options that every verb takes, and main() of all programs: parse, help or run,
 * report. Standard output is flushed before the result is decided, because a full disk or a closed
 * pipe is found out only then. See globals.h. */
#include "cli/globals.h"
#include "base/log.h"
#include "cli/exit.h"

#include <errno.h>
#include <string.h>

#define AT(field) offsetof(struct globals, field)

/* clang-format off */
#define COMMON_OPTS                                                                                 \
    { "json",      0,   CLI_FLAG, AT(json),      NULL,  NULL,                                       \
      "print results and errors as JSON", .group = CLI_OTHER },                  \
    { "verbose",   'v', CLI_FLAG, AT(verbose),   NULL,  NULL,                                       \
      "print more about what is being done", .group = CLI_OTHER },                                  \
    { "quiet",     'q', CLI_FLAG, AT(quiet),     NULL,  NULL,                                       \
      "print no progress, notes or warnings", .group = CLI_OTHER }

#define ON_CLUSTER .group = CLI_CLUSTER, .feature = GLOBALS_CLUSTER

const struct cli_opt globals_opts[] = {
    { "conf",      0,   CLI_TEXT, AT(conf),      NULL,  "DIR",
      "cluster configuration", ON_CLUSTER, .fallback = "$HADOOP_CONF_DIR" },
    { "as",        0,   CLI_TEXT, AT(as),        NULL,  "USER",
      "act on behalf of USER; the cluster must permit it", ON_CLUSTER, .rare = true },
    { "principal", 0,   CLI_TEXT, AT(principal), NULL,  "NAME",
      "authenticate as the Kerberos principal NAME", ON_CLUSTER, .rare = true },
    { "keytab",    0,   CLI_TEXT, AT(keytab),    NULL,  "FILE",
      "file with the keys of the principal; uploaded with jobs on YARN", ON_CLUSTER,
      .rare = true },
    { "timeout",   0,   CLI_MS,   AT(timeout),   "60s", "DURATION",
      "give up when the cluster does not answer for DURATION", ON_CLUSTER, .rare = true },
    COMMON_OPTS,
    { 0 },
};

const struct cli_opt globals_node_opts[] = {
    COMMON_OPTS,
    { 0 },
};
/* clang-format on */

/* When the words could not be taken apart, --json may stand behind the mistake. */
static bool wants_json(int argc, char **argv)
{
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--json") == 0)
            return true;
    return false;
}

/* A closed pipe (`ydl … | head`) is not worth a message. */
static int finish_output(struct err *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == EPIPE)
        return EXIT_OUTPUT_GONE;
    return err_sys(err, "write to standard output");
}

static int globals_run(struct cli *c, struct err *err)
{
    const struct globals *g = globals_of(c);
    int r;

    if (g->quiet)
        log_set_level(LOG_LEVEL_ERROR);
    else if (g->verbose)
        log_set_level(LOG_LEVEL_INFO);
    if (c->help || !c->verb) {
        cli_help(stdout, c, cli_width(stdout),
                 (c->help && !c->verb ? CLI_HELP_PROSE : 0) | (c->help_all ? CLI_HELP_ALL : 0));
        return finish_output(err);
    }
    r = c->verb->run(c, err);
    if (r >= 0) {
        int flushed = finish_output(err);

        r = flushed < 0 ? flushed : r;
    }
    return r;
}

int globals_main(const struct cli_program *p, int argc, char **argv)
{
    return globals_main_job(p, argc, argv, NULL);
}

int globals_main_job(const struct cli_program *p, int argc, char **argv, const char *job)
{
    AUTO_CLI c = { 0 };
    struct globals *g;
    struct err err = ERR_INIT;
    int r;

    log_init(p->name);
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        argv[1] = (char *)"version"; /* what people try first */
    r = cli_parse(p, argc, argv, &c, &err);
    if (r < 0)
        return exit_report(p->name, r, &err, wants_json(argc, argv));
    g = c.globals;
    g->job = job;
    g->job_by = p->name;
    r = globals_run(&c, &err);
    return r < 0 ? exit_report(p->name, r, &err, globals_of(&c)->json) : r;
}
