/* plan_verb.c - `ydl plan`: what `ydl run` would do. */
#include "cmd/job/verbs.h"
#include "launch/launch_options.h"
#include "launch/plan_print.h"

static int plan_verb_work(struct job_call *x, struct err *err)
{
    AUTO_SPEC s = { 0 };
    const struct framework *fw = NULL;
    int r = options_spec(x->cli, &s, &fw, err);

    return r != 0 ? r : plan_print(x, &s, fw, err);
}

/* clang-format off */
const struct cli_verb verb_plan = {
    .name = "plan", .summary = "check a job and print what it would do", .operands = "[COMMAND…]",
    .most = CLI_ANY, .complete = CLI_COMMANDS, .command_follows = true,
    .lacks = OPTIONS_STAY | OPTIONS_LEAVE, .opts = options_table,
    .args_size = sizeof(struct options), JOB_VERB(plan_verb_work),
    .text = "Checks a job as 'ydl run' does and prints what would happen: the command, "
            "environment, files, ports and resources of each task. Starts nothing and writes "
            "nothing.",
    CLI_EXAMPLES({ "ydl plan -n 2 -s 1 --framework mxnet -- python train.py",
                   "show what each task would get" },
                 { "ydl plan -f job.yaml --json", "print the same as JSON" }),
    CLI_SECTIONS(
      { "OUTPUT",
        "Addresses and ports are examples. Values known only at run time are in angle brackets. "
        "With --on yarn, the files that would be uploaded are listed, and the cluster is asked "
        "whether the job fits; if it is unreachable, that check is skipped. All mistakes in the "
        "job are printed at once." },
      { "ENVIRONMENT", "YDL_ON\tDefault of --on: local or yarn." },
      { "EXIT STATUS",
        "0\tThe job is valid.\n"
        "2\tThe job has mistakes, which have been printed." },
      { "JSON OUTPUT",
        "An object; what is not set is left out.\n\n"
        "job, name, framework\tAn example of an id, the name, and the framework.\n"
        "experimental\tWhether the framework is not yet tested with its real package.\n"
        "servers\tWhat the master runs for the framework.\n"
        "gang\thold_ms and retry.\n"
        "grace_ms, timeout_ms, queue, output\tAs in the job file, times in milliseconds.\n"
        "roles\tA list of objects: role, count, procs, memory (bytes), cpus, gpus, ports, decides, "
        "side, place, restart (policy, max, window_ms), image, label, after, ready, files, "
        "archives, and tasks, by rank.\n"
        "tasks\tObjects with task, rank, slot, local_rank, host, node, ports, argv and env. Values "
        "known only at run time are in angle brackets: <socket of the task>.\n"
        "ship, checked, room\tWith --on yarn: the files that would be uploaded, whether the "
        "cluster was asked, and which resources it lacks now." }),
};
/* clang-format on */
