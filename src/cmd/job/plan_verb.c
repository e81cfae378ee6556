/* plan_verb.c - `ydl plan`: what `ydl run` would do. */
#include "cmd/job/plan_print.h"
#include "cmd/job/verbs.h"
#include "launch/launch_options.h"

static int plan_verb_work(struct job_call *x, struct err *err)
{
    AUTO_SPEC s = { 0 };
    const struct framework *fw = NULL;
    int r = options_spec(x->cli, &s, &fw, err);

    return r != 0 ? r : plan_print(x, &s, fw, err);
}

static int plan_verb_run(struct cli *c, struct err *err)
{
    return job_run(c, plan_verb_work, err);
}

static const struct cli_example examples[] = {
    { "ydl plan -n 2 -s 1 --framework mxnet -- python train.py", "show what each task would get" },
    { "ydl plan -f job.yaml --json", "print the same as JSON" },
    { 0 },
};

static const struct cli_section sections[] = {
    { "OUTPUT", "Addresses and ports are examples. Values known only at run time are in angle "
                "brackets. With\n"
                "--on yarn, the files that would be uploaded are listed, and the cluster is asked "
                "whether the\n"
                "job fits; if it is unreachable, that check is skipped. All mistakes in the job "
                "are printed at\n"
                "once." },
    { "ENVIRONMENT", "YDL_ON\tDefault of --on: local or yarn." },
    { "EXIT STATUS", "0\tThe job is valid.\n"
                     "2\tThe job has mistakes, which have been printed." },
    { "JSON OUTPUT",
      "An object; what is not set is left out.\n\n"
      "job, name, framework\tAn example of an id, the name, and the framework.\n"
      "experimental\tWhether the framework is not yet tested with its real package.\n"
      "servers\tWhat the master runs for the framework.\n"
      "gang\thold_ms and retry.\n"
      "grace_ms, timeout_ms, queue, output\tAs in the job file, times in milliseconds.\n"
      "roles\tA list of objects: role, count, procs, memory (bytes), cpus, gpus, ports, decides,\n"
      "side, place, restart (policy, max, window_ms), image, label, after, ready, files,\n"
      "archives, and tasks, by rank.\n"
      "tasks\tObjects with task, rank, slot, local_rank, host, node, ports, argv and env. Values\n"
      "known only at run time are in angle brackets: <socket of the task>.\n"
      "ship, checked, room\tWith --on yarn: the files that would be uploaded, whether the cluster "
      "was\n"
      "asked, and which resources it lacks now." },
    { 0 },
};

const struct cli_verb verb_plan = {
    .name = "plan",
    .summary = "check a job and print what it would do",
    .text =
        "Checks a job as 'ydl run' does and prints what would happen: the command, environment,\n"
        "files, ports and resources of each task. Starts nothing and writes nothing.",
    .opts = options_table,
    .args_size = sizeof(struct options),
    .operands = "[COMMAND…]",
    .most = CLI_ANY,
    .complete = CLI_COMMANDS,
    .command_follows = true,
    .examples = examples,
    .sections = sections,
    .lacks = OPTIONS_STAY | OPTIONS_LEAVE,
    .run = plan_verb_run,
};
