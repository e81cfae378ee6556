/* verbs.c - the program `ydl`: its verbs and what its manual page says. */
#include "cmd/verbs.h"
#include "cli/globals.h"
#include "cmd/job/verbs.h"

static const struct cli_verb *const verbs[] = {
    &verb_cache,   &verb_cluster, &verb_completion, &verb_doctor,  &verb_events, &verb_fs,
    &verb_help,    &verb_kill,    &verb_list,       &verb_logs,    &verb_pack,   &verb_plan,
    &verb_restart, &verb_run,     &verb_scale,      &verb_spec,    &verb_status, &verb_stop,
    &verb_submit,  &verb_tokens,  &verb_top,        &verb_version, &verb_wait,   NULL,
};

static const struct cli_example examples[] = {
    { "ydl run -n 2 -- python train.py", "train with two workers on this machine" },
    { "ydl logs -f last", "what the newest job writes" },
    { "ydl help version", "what a verb does, its options, and examples" },
    { "source <(ydl completion bash)", "complete ydl's words in this shell" },
    { 0 },
};

static const struct cli_section sections[] = {
    { "ENVIRONMENT",
      "HADOOP_CONF_DIR\tThe directory with the configuration of the cluster: core-site.xml,\n"
      "hdfs-site.xml and yarn-site.xml. --conf wins over it.\n"
      "YDL_TRACE\tParts to trace on standard error, separated by commas: main, loop, conf, rpc,\n"
      "sasl, token, yarn, hdfs, or all; a minus before a name leaves it out, as in all,-loop.\n"
      "YDL_LOG\tThe least important messages that are shown: error, warn (as without it) or info.\n"
      "NO_COLOR\tWhen it is set, nothing is coloured." },
    { "EXIT STATUS", "0\tSuccess.\n"
                     "1\tIt failed for a reason that has no code of its own.\n"
                     "2\tThe command line or a file given to it is wrong.\n"
                     "69\tThe cluster cannot be reached.\n"
                     "70\tA fault of ydl, or an answer that makes no sense.\n"
                     "73\tThe output cannot be created.\n"
                     "75\tNot now: try again.\n"
                     "76\tThe job or a file was made by another version of ydl.\n"
                     "77\tNot permitted.\n"
                     "124\tA time limit was reached.\n"
                     "130\tInterrupted.\n"
                     "141\tWhoever read the output has gone.\n\n"
                     "A job that failed gives the code of its first failing task instead." },
    { "JSON OUTPUT",
      "With --json a verb prints one JSON document on standard output, or one per line where it\n"
      "goes on printing. The names of the keys do not change. A failure is an object with the\n"
      "single key error:\n\n"
      "code\tThe kind, as a word: ECONNREFUSED, USAGE …\n"
      "errno\tThe same as a number.\n"
      "text\tThe sentence that is also on standard error.\n"
      "hint\tWhat to do about it, or null.\n"
      "exit\tThe exit status." },
    { 0 },
};

const struct cli_program program_ydl = {
    .name = "ydl",
    .summary = "distributed deep learning on Hadoop YARN",
    .text =
        "ydl runs distributed deep-learning training on a Hadoop YARN cluster, and looks after\n"
        "the files and the cluster it needs for that, without a Java machine.",
    .version = YDL_VERSION,
    .date = "November 16, 2026",
    .globals = globals_opts,
    .globals_size = sizeof(struct globals),
    .verbs = verbs,
    .examples = examples,
    .sections = sections,
    .pages = job_pages,
    .others = front_table,
};
