/* slider_verb.c - slider: the command of Apache Slider, with the verbs that applications need.
 * Tables only; see slider_verb.h. */
#include "cmd/slider/slider_verb.h"
#include "cmd/front/fronts.h"

#include <stdio.h>

#define NO_JAVA "nothing of ydl is Java"
#define CONFIGURED "the cluster is what the Hadoop configuration says; name another by --conf DIR"

static const char *const places[] = { "local", "yarn", NULL };
static const char *const formats[] = { "xml", "json", "properties", NULL };
static const char *const providers[] = { "agent", NULL };

/* clang-format off */

/* On every verb of Slider's. */
#define ANYWHERE                                                                                    \
    { "--fs", .also = { "--filesystem" }, .meta = "URI",                                            \
      .help = "the file system where definitions are, instead of the cluster's own" },              \
    { "--basepath", .meta = "DIR", .help = "where they are there, instead of .slider at home" },    \
    { "-D", .meta = "NAME=VALUE", .help = "a setting of Hadoop", .type = CLI_LIST,                  \
      .not_supported = CONFIGURED },                                                                \
    { "--m", .also = { "--manager" }, .meta = "HOST:PORT", .help = "the ResourceManager",           \
      .not_supported = CONFIGURED },                                                                \
    { "-S", .meta = "NAME=VALUE", .help = "a system property", .type = CLI_LIST,                    \
      .no_effect = NO_JAVA },                                                                       \
    { "--debug", .help = "the same as -v" }

#define ON                                                                                          \
    { "--on", .meta = "PLACE",                                                                      \
      .help = "applications of this machine or of the cluster; without it $YDL_ON, then yarn",      \
      .choices = places }

#define OUT { "-o", .also = { "--out" }, .meta = "FILE",                                            \
      .help = "write there instead of to standard output" }
#define WAIT                                                                                        \
    { "--wait", .meta = "SECONDS", .help = "wait until all instances run, for so long at most",     \
      .preset = "0", .type = CLI_I64 }

/* What makes a definition. */
#define BUILDING                                                                                    \
    { "--appdef", .meta = "DIR|ZIP",                                                                \
      .help = "the package: metainfo.json, package/scripts, package/files" },                       \
    { "--template", .meta = "FILE",                                                                 \
      .help = "appConfig: the settings; looked for here, then in the package" },                    \
    { "--resources", .meta = "FILE", .help = "resources: instances, memory and cores of each "      \
      "component; looked for in the same way" },                                                    \
    { "--metainfo", .meta = "FILE", .help = "use this metainfo.json instead of the package's" },    \
    { "--metainfojson", .meta = "TEXT", .help = "the same, as the text itself" },                   \
    { "--package", .meta = "DIR|ZIP", .help = "the same as --appdef" },                             \
    { "--component", .also = { "--comp", "--role" }, .meta = "NAME COUNT",                          \
      .help = "so many instances of a component", .type = CLI_LIST, .more = 1 },                    \
    { "-O", .also = { "--option" }, .meta = "KEY VALUE",                                            \
      .help = "a setting of appConfig, for all components", .type = CLI_LIST, .more = 1 },          \
    { "--compopt", .also = { "--co", "--roleopt" }, .meta = "COMPONENT KEY VALUE",                  \
      .help = "the same for one component", .type = CLI_LIST, .more = 2 },                          \
    { "--resopt", .also = { "-ro" }, .meta = "KEY VALUE",                                           \
      .help = "a key of resources.json, for all components", .type = CLI_LIST, .more = 1 },         \
    { "--rescompopt", .also = { "--rco" }, .meta = "COMPONENT KEY VALUE",                           \
      .help = "the same for one component", .type = CLI_LIST, .more = 2 },                          \
    { "--gpus", .meta = "N", .help = "how many GPUs an instance has, where yarn.io/gpu does not "   \
      "say it; not of ps and tensorboard", .type = CLI_I64 },                                       \
    { "--image", .meta = "IMAGE", .help = "the same as --docker-image" },                           \
    { "--zkhosts", .meta = "HOSTS",                                                                 \
      .help = "what ${ZK_HOST} stands for, instead of the cluster's ZooKeeper" },                   \
    { "--zkpath", .meta = "PATH", .help = "what ${DEFAULT_ZK_PATH} stands for" },                   \
    { "--provider", .meta = "KIND", .help = "who runs components", .preset = "agent",               \
      .choices = providers },                                                                       \
    { "--name", .meta = "NAME", .help = "what the job is called",                                   \
      .not_supported = "the job has the application's name, which is the word after the verb" },    \
    { "--detach", .help = "leave the application to itself, as is always done" },                   \
    { "--appconf", .meta = "DIR", .help = "a directory of configuration",                           \
      .not_supported = "settings are in the file that --template names" },                          \
    { "--apphome", .meta = "DIR", .help = "where an application is installed on the nodes",         \
      .not_supported = "an application is in its package, which --appdef names" }

static const struct cli_opt create_options[] = {
    BUILDING, WAIT, OUT, ANYWHERE, { 0 },
};
static const struct cli_opt build_options[] = {
    BUILDING, ANYWHERE, { 0 },
};
static const struct cli_opt start_options[] = {
    WAIT, OUT, ON, ANYWHERE, { 0 },
};
static const struct cli_opt stop_options[] = {
    { "--wait", .meta = "SECONDS", .help = "how long to wait for its end; 0: however long it takes",
      .preset = "0", .type = CLI_I64 },
    { "--force", .help = "kill it at once, without the scripts' own stop" },
    { "--message", .meta = "TEXT", .help = "why; status shows it" },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt destroy_options[] = {
    { "--force", .help = "really; must be given" },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt status_options[] = {
    OUT, ON, ANYWHERE, { 0 },
};
static const struct cli_opt list_options[] = {
    { "--live", .help = "only what runs" },
    { "--state", .meta = "STATE",
      .help = "only what is in this state: ACCEPTED, RUNNING, FINISHED, FAILED, KILLED, STOPPED" },
    { "--containers", .help = "with the tasks of each" },
    { "--components", .meta = "NAME,…", .help = "only those of these components",
      .type = CLI_LIST },
    { "--version", .meta = "VERSION", .help = "only those of applications of this version" },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt exists_options[] = {
    { "--live", .help = "does it run?" },
    { "--state", .meta = "STATE", .help = "is it in this state?" },
    OUT, ON, ANYWHERE, { 0 },
};
static const struct cli_opt flex_options[] = {
    { "--component", .also = { "--comp", "--role" }, .meta = "NAME COUNT",
      .help = "so many instances of a component, +N more or -N fewer", .type = CLI_LIST,
      .more = 1 },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt registry_options[] = {
    { "--name", .meta = "NAME", .help = "the application" },
    { "--list", .help = "the applications that run" },
    { "--listexp", .help = "the groups of its exports" },
    { "--getexp", .meta = "GROUP", .help = "one group, as JSON" },
    { "--listconf", .help = "the dictionaries of its configuration" },
    { "--getconf", .meta = "DICT", .help = "one dictionary" },
    { "--format", .meta = "FORMAT", .help = "how --getconf writes it", .preset = "xml",
      .choices = formats },
    { "-o", .also = { "--out", "--dest" }, .meta = "FILE",
      .help = "write there instead of to standard output" },
    { "--user", .meta = "USER", .help = "whose application, where that is not one's own" },
    { "--servicetype", .meta = "TYPE", .help = "which kind of service; there is one kind",
      .preset = SLIDER_SERVICE },
    { "--internal", .help = "internal addresses too", .no_effect = "there are none" },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt lookup_options[] = {
    { "--id", .meta = "ID", .help = "the application of YARN, or a job of this machine" },
    OUT, ON, ANYWHERE, { 0 },
};

/* ---- verbs that are not there ---- */

static const struct {
    const char *verb, *instead;
} absent[] = {
    { "upgrade",         "use 'slider update', then 'slider stop' and 'slider start'" },
    { "kill-container",  "use 'ydl restart JOB TASK'" },
    { "am-suicide",      "use 'ydl cluster kill', or kill the master's process" },
    { "resolve",         "use 'slider exports' and 'slider registry'" },
    { "package",         "name the package with --appdef; it is kept with the definition" },
    { "install-package", "name the package with --appdef; it is kept with the definition" },
    { "keytab",          "use 'ydl --principal NAME --keytab FILE'" },
    { "install-keytab",  "use 'ydl --principal NAME --keytab FILE'" },
    { "resource",        "use --files and --archives, or 'ydl fs put'" },
    { "client",          "clients of an application are installed by themselves" },
    { "dependency",      "nothing of ydl has to be installed on the cluster" },
    { "diagnostics",     "use 'ydl doctor' and 'ydl status JOB --tasks'" },
    { "nodes",           "use 'ydl cluster nodes'" },
    { "tokens",          "tokens are got and renewed by ydl itself" },
    { "kdiag",           "use 'ydl doctor'" },
};
/* clang-format on */

static int act_other(const struct front_ask *a, struct err *err)
{
    const struct strs *words = &a->args->command;

    for (size_t i = 0; words->n > 0 && i < COUNT_OF(absent); i++)
        if (str_eq(absent[i].verb, words->v[0])) {
            fprintf(stderr, "%s: the verb '%s' is not there\n  hint: %s\n", a->name, absent[i].verb,
                    absent[i].instead);
            return SLIDER_UNIMPLEMENTED;
        }
    if (words->n > 0 && front_verb(a->front, words->v[0])->cli.name)
        cli_bad(err, "option before the verb '%s': options follow the verb", words->v[0]);
    else
        front_no_verb(a->front, words->n > 0 ? words->v[0] : NULL, err);
    err_hint(err,
             "as in: %s create tf1 --appdef DIR --template appConfig.json --resources "
             "resources.json; see '%s --help'",
             a->name, a->name);
    return CLI_USAGE;
}

static int act_version(const struct front_ask *a, struct err *err)
{
    printf("%s %s\n", a->name, a->program->version);
    return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
}

static int act_help(const struct front_ask *a, struct err *err)
{
    const struct strs *words = &a->args->command;
    const struct front_verb *found = front_verb(a->front, words->n > 0 ? words->v[0] : NULL);

    if (words->n > 0 && !found->cli.name)
        return front_no_verb(a->front, words->v[0], err);
    return front_help(a->front, found, err);
}

/* ---- verbs ---- */

/* A verb that takes names. */
#define VERB(variable, does, words, ours, ...)                                                     \
    static const struct front_verb variable = {                                                    \
        .cli = { .operands = words, .globals = ours, __VA_ARGS__ },                                \
        .habits = LEGACY_NAMES,                                                                    \
        .act = does,                                                                               \
    }

static const struct cli_opt none[1];

VERB(create_verb, slider_act, "NAME", common_job, .name = "create", .opts = create_options,
     .summary = "keep an application's definition and start it",
     .text = "Reads the package and the two files, keeps them under NAME and starts the\n"
             "application. Prints the id of its job and leaves it to itself; with --wait it\n"
             "waits until all instances run. What fails leaves nothing behind.");
VERB(build_verb, slider_act, "NAME", common_job, .name = "build", .opts = build_options,
     .summary = "keep an application's definition, to be started later");
VERB(update_verb, slider_act, "NAME", common_job, .name = "update", .opts = build_options,
     .summary = "change a definition; what is not given stays as it is",
     .text = "Replaces the package, the settings or the resources of a definition; what is not\n"
             "given stays as it is. An application that runs is not changed: its next start is.");
VERB(start_verb, slider_act, "NAME", common_plain, .name = "start", .opts = start_options,
     .summary = "start an application that is stopped",
     .text = "Starts an application from its definition alone: the files that it was made from\n"
             "are not needed, nor is the machine where that was done.");
VERB(stop_verb, slider_act, "NAME", common_plain, .name = "stop", .opts = stop_options,
     .summary = "end an application; its definition stays",
     .text = "Asks every instance to stop, kills what has not stopped when the grace is over, and\n"
             "waits for the end. One that does not run is fine.");
VERB(status_verb, slider_act, "NAME", common_plain, .name = "status", .opts = status_options,
     .summary = "describe an application, as JSON");
VERB(list_verb, slider_act, "[NAME]", common_plain, .name = "list", .opts = list_options,
     .summary = "list applications, those that do not run too",
     .text = "A line for each: name, state, job, address of its page. With NAME the exit status\n"
             "is 255 when it is not listed.");
VERB(exists_verb, slider_act, "NAME", common_plain, .name = "exists", .opts = exists_options,
     .summary = "is there such an application, does it run?",
     .text = "Exit status 0 for yes, 255 for no, 69 when there is no such application.");
VERB(destroy_verb, slider_act, "NAME", common_plain, .name = "destroy", .opts = destroy_options,
     .summary = "remove the definition of an application that does not run");
VERB(flex_verb, slider_act, "NAME", common_plain, .name = "flex", .opts = flex_options,
     .summary = "change how many instances a component has",
     .text = "Changes the definition and, when it runs, the application. Exit status 0 when a\n"
             "running one was changed, 255 when it counts for the next start only.");
VERB(registry_verb, slider_act, "[NAME]", common_plain, .name = "registry",
     .opts = registry_options,
     .summary = "what an application publishes: exports and configuration");
VERB(exports_verb, slider_act, "NAME [GROUP]", common_plain, .name = "exports",
     .opts = status_options, .summary = "the exports of an application that runs, as JSON",
     .text = "The document that its instances get from\n"
             "http://MASTER:PORT/ws/v1/slider/publisher/exports, or one group of it.");
VERB(lookup_verb, slider_act, NULL, common_plain, .name = "lookup", .opts = lookup_options,
     .summary = "what is known of an application by its id, as JSON");
VERB(version_verb, act_version, NULL, none, .name = "version", .summary = "print the version");
VERB(help_verb, act_help, "[VERB]", none, .name = "help",
     .summary = "show this text, or that of one verb");

static const struct cli_verb *const verbs[] = {
    &create_verb.cli,  &build_verb.cli,   &update_verb.cli,   &start_verb.cli,
    &stop_verb.cli,    &status_verb.cli,  &list_verb.cli,     &exists_verb.cli,
    &destroy_verb.cli, &flex_verb.cli,    &registry_verb.cli, &exports_verb.cli,
    &lookup_verb.cli,  &version_verb.cli, &help_verb.cli,     NULL,
};
static const struct front_verb other_verb = {
    .cli = { .subs = verbs },
    .habits = LEGACY_AMONG | LEGACY_UNKNOWN,
    .act = act_other,
};

static const struct cli_section sections[] = {
    { "ENVIRONMENT", front_variables },
    { "FILES",
      "~/.slider/cluster/NAME\tIn HDFS, the definition of an application: metainfo.json,\n"
      "app_config.json, resources.json, internal.json, the package and what runs its scripts.\n"
      "$XDG_STATE_HOME/ydl/slider/NAME\tThe same with --on local. Without the variable,\n"
      "~/.local/state/ydl/slider." },
    { "VERBS THAT ARE NOT THERE",
      "upgrade, kill-container, am-suicide, resolve, package, install-package, keytab,\n"
      "install-keytab, resource, client, dependency, diagnostics, nodes, tokens and kdiag end\n"
      "with 51 and a word on what does it instead." },
    { "EXIT STATUS",
      "0\tDone.\n"
      "2\tThe command line, or a file that it names, is wrong; nothing was started.\n"
      "3\tInterrupted.\n"
      "43, 48\tNot permitted; the cluster cannot be reached.\n"
      "44\tNo such export or configuration.\n"
      "50, 56\tA fault of ours; something else failed.\n"
      "51\tA verb that is not there.\n"
      "65, 66, 67\tThe application failed, was killed, or does not run in time.\n"
      "69\tThere is no such application.\n"
      "70, 73, 75\tIt does not run; it runs; it is there already.\n"
      "255\tNo: of list, exists and flex." },
    { 0 },
};

static const struct cli_example examples[] = {
    { "slider create tf1 --appdef . --template a.json --resources r.json",
      "a TensorFlow cluster on YARN" },
    { "slider create tf1 --on local --appdef tf.zip --resources r.json --wait 60",
      "the same on this machine, from a zip archive" },
    { "slider exports tf1 ps", "where its parameter servers are" },
    { "slider flex tf1 --component worker +1", "one worker more" },
    { "slider stop tf1; slider destroy tf1 --force", "its end" },
    { 0 },
};

const struct front front_slider = {
    .program = {
        .name = "slider",
        .summary = "applications of several components on YARN or on this machine, as Apache Slider",
        .text =
            "Runs applications that are packaged for Apache Slider: a package says which components\n"
            "there are and which scripts start them (metainfo.json), appConfig has their settings,\n"
            "and resources how many instances of each run, in containers of which size. An\n"
            "application is known by its name; its definition is kept until it is destroyed.\n\n"
            "  slider create tf1 --appdef app-packages/tensorflow \\\n"
            "      --template appConfig-default.json --resources resources.default.json\n\n"
            "A component is a role of a job of ydl, so that 'ydl status', 'ydl logs' and all other\n"
            "verbs work with it, by the id that 'slider list' shows. All components start together;\n"
            "the application succeeds when all components but ps and tensorboard have ended with 0.\n"
            "When an instance fails all start again, as often as yarn.container.failure.threshold\n"
            "says; with \"ydl.restart\": \"task\" in resources.json only the one that failed does, on\n"
            "its port. Without --on or $YDL_ON applications run on YARN.",
        .self = &other_verb.cli,
        .examples = examples,
        .sections = sections,
        .globals = common_job,
    },
    .exit_code = slider_exit,
};
