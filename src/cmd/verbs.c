/* verbs.c - the program `ydl`: its verbs and what its manual page says. */
#include "cmd/verbs.h"
#include "cli/globals.h"
#include "cmd/job/verbs.h"

static const struct cli_verb *const verbs[] = {
    &verb_cache, &verb_cluster, &verb_completion, &verb_doctor,  &verb_events,
    &verb_fs,    &verb_help,    &verb_kill,       &verb_list,    &verb_logs,
    &verb_model, &verb_pack,    &verb_plan,       &verb_predict, &verb_restart,
    &verb_run,   &verb_scale,   &verb_serve,      &verb_spec,    &verb_status,
    &verb_stop,  &verb_submit,  &verb_tokens,     &verb_top,     &verb_version,
    &verb_wait,  NULL,
};

/* clang-format off */
const struct cli_program program_ydl = {
    .name = "ydl", .summary = "run distributed deep learning on Hadoop YARN",
    .version = YDL_VERSION, .date = "November 16, 2026", .globals = globals_opts,
    .globals_size = sizeof(struct globals), .verbs = verbs, .pages = job_pages,
    .others = front_table,
    .text = "ydl runs distributed deep-learning jobs, and serves models, on this machine or on a "
            "Hadoop YARN cluster. It also manages files on HDFS and shows the state of the cluster. "
            "It needs no Java.",
    CLI_EXAMPLES({ "ydl run -n 2 -- python train.py", "train with two workers on this machine" },
                 { "ydl logs -f last", "follow the output of the newest job" },
                 { "ydl help run", "show what a verb does, its options, and examples" },
                 { "source <(ydl completion bash)", "complete verbs and options in this shell" }),
    CLI_SECTIONS(
      { "ENVIRONMENT",
        "HADOOP_CONF_DIR\tThe directory with the configuration of the cluster: core-site.xml, "
        "hdfs-site.xml and yarn-site.xml. --conf overrides it.\n"
        "YDL_TRACE\tComponents to trace on standard error, separated by commas: main, loop, conf, "
        "rpc, sasl, token, yarn, hdfs, wire, job, master, agent, platform, rendezvous, or all. A "
        "minus excludes one: all,-loop.\n"
        "YDL_LOG\tLog level: error, warn or info (default: warn).\n"
        "NO_COLOR\tIf set, do not use colours." },
      { "EXIT STATUS",
        "0\tSuccess.\n"
        "1\tAny other failure.\n"
        "2\tThe command line, or a file named there, is wrong.\n"
        "69\tThe cluster cannot be reached.\n"
        "70\tAn internal error, or an invalid answer from a server.\n"
        "73\tThe output cannot be created.\n"
        "75\tTemporary failure: try again later.\n"
        "76\tThe job or a file was made by another version of ydl.\n"
        "77\tNot permitted.\n"
        "124\tA time limit was reached.\n"
        "130\tInterrupted.\n"
        "141\tThe output pipe was closed.\n\n"
        "If a job failed, the exit status is that of its first failing task." },
      { "JSON OUTPUT",
        "With --json, a verb prints one JSON document on standard output, or one per line if it "
        "prints continuously. The names of keys are stable. A failure is an object with the single "
        "key error:\n\n"
        "code\tThe kind of error: ECONNREFUSED, USAGE …\n"
        "errno\tThe same as a number.\n"
        "text\tThe message that is also on standard error.\n"
        "hint\tWhat to do about it, or null.\n"
        "exit\tThe exit status." }),
};
/* clang-format on */
