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
    { "ydl plan -n 2 -s 1 --framework mxnet -- python train.py", "what each task would get" },
    { "ydl plan -f job.yaml --json", "the same for a program" },
    { 0 },
};

static const struct cli_section sections[] = {
    { "ENVIRONMENT", "YDL_ON\tWhere jobs run when --on is not given: local or yarn." },
    { "EXIT STATUS", "0\tThe job is correct.\n"
                     "2\tIt is not; what is wrong has been printed." },
    { "JSON OUTPUT",
      "An object; what was not said is left out.\n\n"
      "job, name, framework\tIts id, which is made up, its name, and whose environment tasks get.\n"
      "experimental\tWhether the framework was never run with its real package.\n"
      "servers\tWhat the master runs for the framework.\n"
      "gang\thold_ms and retry.\n"
      "grace_ms, timeout_ms, queue, output\tAs in the job file, times in milliseconds.\n"
      "roles\tA list of objects: role, count, procs, memory (bytes), cpus, gpus, ports, decides,\n"
      "side, place, restart (policy, max, window_ms), image, label, after, ready, files,\n"
      "archives, and tasks, by rank.\n"
      "tasks\tObjects with task, rank, slot, local_rank, host, node, ports, argv and env. A value\n"
      "that is only known when the task runs stands in angle brackets: <socket of the task>.\n"
      "ship, checked, room\tWith --on yarn: the files that would be sent, whether the cluster was\n"
      "asked, and what it lacks for the job now." },
    { 0 },
};

const struct cli_verb verb_plan = {
    .name = "plan",
    .summary = "say what a job would do, and check it",
    .text =
        "Checks a job as run does and prints everything that would happen: of each task the\n"
        "command, the environment, the files, ports and resources. Nothing is started and\n"
        "nothing is written. Addresses and ports are made up; what is only known when a task\n"
        "runs stands in angle brackets.\n\n"
        "With --on yarn also the files that would be sent there are listed, and the cluster is\n"
        "asked whether it could hold the job; without one at hand that is left out.\n\n"
        "Mistakes in the job are printed all at once, and the exit status is 2.",
    .opts = options_table,
    .args_size = sizeof(struct options),
    .operands = "[COMMAND…]",
    .most = CLI_ANY,
    .complete = CLI_COMMANDS,
    .command_follows = true,
    .examples = examples,
    .sections = sections,
    .run = plan_verb_run,
};
