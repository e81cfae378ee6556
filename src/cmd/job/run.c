/* run.c - `ydl run`: starts a job and stays with it. */
#include "cli/doc.h"
#include "cli/exit.h"
#include "client/job_call.h"
#include "cmd/job/verbs.h"
#include "follow/follow.h"
#include "launch/client_agent.h"
#include "launch/launch_options.h"
#include "launch/start_job.h"
#include "launch/token_renewal.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#define LEAVE_MS 10000 /* for the master to put its things away after the job's end */

/* The master ends by itself: with the job, or because we are gone. What does not is killed. */
static void end_master(struct job_call *x, struct proc *master, const struct spec *s)
{
    int status;

    fiber_shield(x->loop, true);
    if (master)
        (void)proc_wait(master, loop_in(x->loop, s->grace + LEAVE_MS), &status);
    fiber_shield(x->loop, false);
}

static int print_job_end(struct job_call *x, const struct follow_result *end, struct err *err)
{
    if (x->globals->json)
        return doc_print(err, "{s:O}", "job", end->status);
    /* Quiet means no notes; why a job failed is none. */
    if (!x->globals->quiet || format_failed(end->status))
        return job_tell(end->status, client_logs(x->client), err);
    return 0;
}

/* An interrupted `run` has an exit code of its own, whatever became of the job. */
static int stay_with_job(struct job_call *x, const struct spec *s, struct follow_result *end,
                         struct err *err)
{
    const struct options *o = job_args(x);
    const struct follow_options follow = {
        .tasks = &o->show,
        .streams = { true, true },
        .ours = true,
        .detach = o->detach,
        .live = !x->globals->quiet && !x->globals->json,
        .quiet = x->globals->quiet,
        .json = x->globals->json,
        .prefix = o->prefix,
        .timestamps = o->timestamps,
        .collapse = o->collapse,
        .renew = renew_start(x, s),
        .beside = x->beside,
    };
    int r = follow_job(x->client, &follow, end, err);

    renew_stop(follow.renew);
    if (r < 0)
        return r;
    if (!end->left) {
        client_tidy(x->client);
        r = print_job_end(x, end, err);
    }
    if (r < 0)
        return r;
    return end->interrupted ? EXIT_INTERRUPTED : job_exit(end->status, err);
}

static int run_attached(struct job_call *x, struct err *err)
{
    const struct options *o = job_args(x);
    struct follow_result end = { 0 };
    AUTO_PROC *master = NULL;
    AUTO_SPEC s = { 0 };
    bool left;
    int r = o->spec
                ? cli_bad(err, "--spec is an option of submit. Try: ydl submit --spec %s", o->spec)
                : 0;

    if (r == 0)
        r = start_job(x, &s, !o->detach, o->detach ? NULL : &master, err);
    if (r != 0 || !x->client)
        return r;
    start_say(x, &s);
    r = stay_with_job(x, &s, &end, err);
    left = end.left || r < 0;
    x->beside = client_agent_stop(x->beside, !left);
    if (!left || r == EXIT_OUTPUT_GONE)
        end_master(x, master, &s);
    json_decref(end.status);
    return r;
}

/* clang-format off */
const struct cli_verb verb_run = {
    .name = "run", .summary = "start a job and stay with it", .operands = "[COMMAND…]",
    .most = CLI_ANY, .complete = CLI_COMMANDS, .command_follows = true, .lacks = OPTIONS_LEAVE,
    .opts = options_table, .args_size = sizeof(struct options), JOB_VERB_PLAIN(run_attached),
    .text = "Starts a job, shows the output of its tasks, each line prefixed with its task, and "
            "exits with the status of the job. Everything is checked before anything is started. "
            "Ctrl-C stops the job, a second Ctrl-C kills it.",
    CLI_EXAMPLES({ "ydl run -n 2 -- python train.py", "run two workers on this machine" },
                 { "ydl run -n 2 -s 1 --framework mxnet -- python train.py --kv-store dist_sync",
                   "run two workers and a parameter server" },
                 { "ydl run -f job.yaml --mem 4g", "run a job file, with more memory" }),
    CLI_SECTIONS(
      { "FRAMEWORKS", options_frameworks },
      { "FAILURE HANDLING",
        "--restart says what to do when a task fails: never fails the job, task restarts the task "
        "in place, and gang restarts all tasks. --max-restarts counts the restarts of each task, "
        "or of the gang; a restart no longer counts after the window of ydl-job(5). The loss of a "
        "node, and preemption, do not count. A command that cannot be run (exit status 126 or 127) "
        "is not restarted." },
      { "FILES AND RESULTS",
        "--files and --archives take FILE#NAME to use another name beside the task. --output takes "
        "a target for $YDL_OUT, or DIR=TARGET for another directory of the task. --role takes keys "
        "as in a job file: --role ps=2,memory=4g." },
      { "PYTHON",
        "--venv names a venv or a conda environment, or on YARN an archive of one, see "
        "ydl-pack(1). Its programs come first in PATH. It is packed and uploaded only if it has "
        "changed. --pip makes an environment of packages and requirements files once, and reuses "
        "it." },
      { "OUTPUT",
        "What tasks write to standard error goes to standard error. On a terminal, a block at the "
        "bottom shows the progress of the job. Elsewhere, while containers are still missing, a "
        "line about every 10 seconds says what the job is waiting for." },
      { "COMMAND",
        "The first word that is not an option begins the command. It may follow --, which ends the "
        "options." },
      { "SIGNALS",
        "Ctrl-C (SIGINT) stops the job: tasks are asked to end and have the time of --grace for "
        "it. A second Ctrl-C kills the job. With --detach-on-interrupt it goes on. The job also "
        "ends when ydl is killed or its terminal is closed. SIGUSR1 and SIGUSR2 are passed on to "
        "the first process of every task." },
      { "ENVIRONMENT OF TASKS",
        "Tasks inherit the environment of the shell on this machine, and of the container on YARN. "
        "Variables set with --env override inherited ones and those of the framework.\n\n"
        "PYTHONUNBUFFERED\tSet to 1 by default, so that output appears when it is printed. To "
        "unset it: --env PYTHONUNBUFFERED=" },
      { "ENVIRONMENT",
        "YDL_ON\tDefault of --on: local or yarn.\n"
        "YDL_PLAN\tIf 1, print the plan and start nothing; see ydl-plan(1).\n"
        "XDG_STATE_HOME\tJobs of this machine are kept in $XDG_STATE_HOME/ydl (default: "
        "~/.local/state/ydl).\n"
        "NO_COLOR\tIf set, do not use colours." },
      { "EXIT STATUS",
        "0\tThe job succeeded.\n"
        "2\tThe command line or the job file is wrong; nothing was started.\n"
        "73\tThe results cannot be written to --output: either nothing was started, or the job "
        "itself succeeded.\n"
        "75\tTry again later: there was no room in time, or nodes were lost too often.\n"
        "124\tThe job took longer than its --timeout.\n"
        "130\tInterrupted.\n\n"
        "If the job failed, the exit status is that of the task that failed first: its own, 128 + "
        "N if signal N ended it, or 137 if it ran out of memory." },
      { "JSON OUTPUT",
        "With --json each line is an object with a single key:\n\n"
        "output\tA line of a task: task, stream (out or err), text, and whole, which is false if "
        "the line has no newline at its end.\n"
        "job\tThe last line: the document of ydl-status(1)." }),
};
/* clang-format on */
