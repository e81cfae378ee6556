/* run.c - `ydl run`: starts a job and stays with it. */
#include "cli/exit.h"
#include "client/job_call.h"
#include "cmd/job/follow.h"
#include "cmd/job/start_job.h"
#include "cmd/job/verbs.h"
#include "launch/client_agent.h"
#include "launch/launch_local.h"
#include "launch/launch_options.h"
#include "launch/token_renewal.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#include <stdio.h>

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

static int print_end(struct job_call *x, const struct follow_result *end, struct err *err)
{
    AUTO_JSON *doc = NULL;
    int r = 0;

    if (x->globals->json) {
        r = json_make(&doc, err, "{s:O}", "job", end->status);
        return r < 0 ? r : json_print(stdout, doc, err);
    }
    /* Quiet means no notes; why a job failed is none. */
    if (!x->globals->quiet || format_failed(end->status))
        r = job_tell(end->status, client_logs(x->client), err);
    return r;
}

static int stay(struct job_call *x, const struct spec *s, struct follow_result *end,
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
        r = print_end(x, end, err);
    }
    if (r < 0)
        return r;
    return end->interrupted ? EXIT_INTERRUPTED : job_exit(end->status, err);
}

static int run_do_work(struct job_call *x, struct err *err)
{
    const struct options *o = job_args(x);
    struct follow_result end = { 0 };
    AUTO_PROC *master = NULL;
    AUTO_SPEC s = { 0 };
    bool left;
    int r = o->spec ? cli_bad(err, "--spec is for submit: run stays until the job has ended") : 0;

    if (r == 0)
        r = start_job(x, &s, !o->detach, o->detach ? NULL : &master, err);
    if (r != 0 || !x->client)
        return r;
    start_say(x, &s);
    r = stay(x, &s, &end, err);
    left = end.left || r < 0;
    x->beside = client_agent_stop(x->beside, !left);
    if (!left || r == EXIT_OUTPUT_GONE)
        end_master(x, master, &s);
    json_decref(end.status);
    return r;
}

static int run_run(struct cli *c, struct err *err)
{
    return job_run_plain(c, run_do_work, err);
}

static const struct cli_example examples[] = {
    { "ydl run -n 2 -- python train.py", "two workers on this machine" },
    { "ydl run -n 2 -s 1 --framework mxnet -- python train.py --kv-store dist_sync",
      "two workers and a server" },
    { "ydl run -f job.yaml --mem 4g", "a job file, with more memory" },
    { 0 },
};

static const struct cli_section sections[] = {
    { "FRAMEWORKS", options_frameworks },
    { "ENVIRONMENT OF TASKS",
      "Tasks inherit the environment of the place where they run: on this machine that of the "
      "shell,\n"
      "on YARN that of the container. What --env sets is added in both, and wins over what is\n"
      "inherited and over what the framework sets.\n\n"
      "PYTHONUNBUFFERED\tIs 1 unless you set it, so that output is there when it is printed; "
      "--env\n"
      "PYTHONUNBUFFERED= turns that off." },
    { "ENVIRONMENT",
      "YDL_ON\tWhere jobs run when --on is not given: local or yarn.\n"
      "YDL_PLAN\tWhen it is 1 the plan is printed and nothing is started; see ydl-plan(1).\n"
      "XDG_STATE_HOME\tWhere jobs of this machine are kept, in a directory ydl; without it\n"
      "~/.local/state.\n"
      "NO_COLOR\tWhen it is set, nothing is coloured." },
    { "EXIT STATUS",
      "0\tThe job succeeded.\n"
      "2\tThe job is not correct; nothing was started.\n"
      "73\tThe results could not be put where they belong: nothing was started, or the job had\n"
      "succeeded.\n"
      "75\tNot now: there was no room in time, or nodes were lost too often.\n"
      "124\tThe job took longer than its --timeout.\n"
      "130\tInterrupted.\n\n"
      "A job that failed gives the exit status of the task that failed first: its own, 128 and\n"
      "the signal that ended it, or 137 when it ran out of memory." },
    { "JSON OUTPUT",
      "With --json each line is an object with one key that says what it is:\n\n"
      "output\tA line of a task: task, stream (out or err), text, and whole, which is false for\n"
      "a line without an end.\n"
      "job\tThe last line: the document of ydl-status(1)." },
    { 0 },
};

const struct cli_verb verb_run = {
    .name = "run",
    .summary = "start a job and stay with it",
    .text =
        "Starts a job and shows what its tasks write, each line with the task it came from, until\n"
        "all have ended. What tasks write to standard error goes to standard error. On a terminal\n"
        "a block at the bottom shows how far the job is; elsewhere a line about every 10 seconds\n"
        "says what the job waits for while its containers are not running yet.\n\n"
        "Ctrl-C stops the job, and gives it the time that --grace says; a second one kills it.\n"
        "The job also ends when ydl is killed or its terminal is closed. SIGUSR1 and SIGUSR2 are\n"
        "passed on to the first process of every task. Everything is checked\n"
        "before anything is started, and mistakes are printed all at once.\n\n"
        "The command may begin with --, which ends the options.",
    .opts = options_table,
    .args_size = sizeof(struct options),
    .operands = "[COMMAND…]",
    .most = CLI_ANY,
    .complete = CLI_COMMANDS,
    .command_follows = true,
    .examples = examples,
    .sections = sections,
    .run = run_run,
};
