/* doctor.c - `ydl doctor`: what is wrong with this machine or this cluster, in words. */
#include "cmd/doctor/doctor.h"
#include "cli/exit.h"
#include "cmd/verbs.h"
#include "loop/fiber.h"

struct args {
    const char *queue;
};

/* clang-format off */
/* A check that fails takes away what it stands for: see check_conf, check_rm, check_nn. */
const struct check doctor_checks[] = {
    { "configuration",   0,                   check_conf,
      "set HADOOP_CONF_DIR or --conf to the directory with core-site.xml, hdfs-site.xml and "
      "yarn-site.xml of the cluster" },
    { "identity",        NEED_CONF,           check_identity,
      "get a ticket with kinit, or use --principal and --keytab" },
    { "ResourceManager", NEED_CONF,           check_rm,
      "is it running, and is yarn.resourcemanager.address right in yarn-site.xml?" },
    { "nodes",           NEED_RM,             check_nodes,    NULL },
    { "queue",           NEED_RM,             check_queue,
      "list the queues: ydl cluster queues" },
    { "NameNode",        NEED_CONF,           check_nn,
      "is it running, and is fs.defaultFS right in core-site.xml?" },
    { "HDFS space",      NEED_NN,             check_space,    NULL },
    { "HDFS files",      NEED_NN | NEED_HDFS, check_hdfs,
      "check permissions and quotas of the home directory" },
    { "clocks",          NEED_CONF,           check_clocks,
      "let all machines follow a time server: Kerberos and tokens depend on it" },
    { "versions",        NEED_CONF,           check_versions, NULL },
};
/* clang-format on */
const size_t doctor_n_checks = COUNT_OF(doctor_checks);

static bool colours(void)
{
    const char *no = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && !(no && *no);
}

static int run_checks(struct doctor *d, struct err *err)
{
    struct loop *l = d->x->loop;
    bool colour = colours();
    size_t printed = 0;

    for (size_t i = 0; i < doctor_n_checks; i++) {
        const struct check *c = &doctor_checks[i];

        if ((c->needs & d->have) != c->needs)
            continue;
        d->check = c;
        c->run(d);
        if (fiber_cancelled(l))
            return err_set(err, -ECANCELED, "interrupted");
        for (; !d->x->globals->json && printed < d->n; printed++)
            doctor_print_text(&d->findings[printed], colour);
        fflush(stdout); /* the next one may take its time */
    }
    if (d->out_of_memory)
        return err_oom(err);
    return d->x->globals->json ? doctor_print_json(d, err) : 0;
}

static int examine(struct connection *x, void *arg, struct err *err)
{
    const struct args *a = arg;
    struct doctor d = { .x = x, .queue = a->queue };
    int r = run_checks(&d, err);

    fs_set_free(d.set);
    free(d.findings);
    return r < 0 ? r : exit_code(d.failed);
}

static int doctor_run(struct cli *c, struct err *err)
{
    return connect_run(c, CONNECT_ANYHOW, examine, c->args, err);
}

/* clang-format off */
const struct cli_verb verb_doctor = {
    .name = "doctor", .summary = "check this machine and the cluster", .run = doctor_run,
    .text = "Checks everything a job needs, one thing after the other, and prints for each "
            "whether it is in order and, if not, what to do about it. Skips checks that depend on "
            "a failed one.",
    CLI_OPTS(struct args,
        { "queue", 0, CLI_TEXT, offsetof(struct args, queue), "default", "NAME",
          "queue to check" }),
    CLI_EXAMPLES(
        { "ydl doctor", "check everything that a job needs" },
        { "ydl doctor --queue prod --json | jq '.checks[] | select(.level == \"failed\")'",
          "print the failed checks for a script" }),
    CLI_SECTIONS(
      { "CHECKS",
        "configuration\tThe directory, its files, and missing settings.\n"
        "identity\tThe user, the Kerberos principal and the ticket's lifetime, tokens.\n"
        "ResourceManager, NameNode\tWhether they answer, which one is active, the round-trip "
        "time.\n"
        "nodes\tRunning, lost and unhealthy NodeManagers.\n"
        "queue\tWhether it exists, accepts your applications, and has room for a container.\n"
        "HDFS space\tFree space, safe mode, missing blocks.\n"
        "HDFS files\tWhether a small file in the home directory can be written, read back and "
        "deleted, and whether its DataNodes can be reached.\n"
        "clocks\tWhether the clocks of the servers agree with this machine's: the NameNode's by "
        "the time of that file, the ResourceManager's by the date in a token that is cancelled at "
        "once.\n"
        "versions\tVersions of ydl, and of the servers as far as their answers reveal them." },
      { "EXIT STATUS",
        "0 if nothing failed; warnings do not count. Otherwise the code of the first failure, see "
        "ydl(1): 69 if a server is unreachable, 77 if there is no valid ticket, 2 if the "
        "configuration is wrong, and so on." },
      { "JSON OUTPUT",
        "healthy\tTrue if nothing failed.\n"
        "exit\tThe exit status.\n"
        "checks\tA list of objects: check, level (ok, warning or failed), text, and "
        "advice or null." }),
};
/* clang-format on */
