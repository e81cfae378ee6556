/* slider_verb.c - slider: the command of Apache Slider, with the verbs that applications need.
 * Tables only; see slider_verb.h. */
#include "cmd/slider/slider_verb.h"
#include "cmd/front/front_print.h"
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
    { { "--fs", "--filesystem" }, "URI", "the file system where definitions are, instead of the "   \
      "cluster's own" },                                                                            \
    { { "--basepath" }, "DIR", "where they are there, instead of .slider at home" },                \
    { { "-D" }, "NAME=VALUE", "a setting of Hadoop", .list = true, .refused = CONFIGURED },         \
    { { "--m", "--manager" }, "HOST:PORT", "the ResourceManager", .refused = CONFIGURED },          \
    { { "-S" }, "NAME=VALUE", "a system property", .list = true, .nothing = NO_JAVA },              \
    { { "--debug" }, NULL, "the same as -v" }

#define ON                                                                                          \
    { { "--on" }, "PLACE", "applications of this machine or of the cluster; without it $YDL_ON, "   \
      "then yarn", .choices = places }

#define OUT { { "-o", "--out" }, "FILE", "write there instead of to standard output" }
#define WAIT                                                                                        \
    { { "--wait" }, "SECONDS", "wait until all instances run, for so long at most", .preset = "0",  \
      .number = true }

/* What makes a definition. */
#define BUILDING                                                                                    \
    { { "--appdef" }, "DIR|ZIP", "the package: metainfo.json, package/scripts, package/files" },    \
    { { "--template" }, "FILE",                                                                     \
      "appConfig: the settings; looked for here, then in the package" },                            \
    { { "--resources" }, "FILE",                                                                    \
      "resources: instances, memory and cores of each component; looked for in the same way" },     \
    { { "--metainfo" }, "FILE", "use this metainfo.json instead of the package's" },                \
    { { "--metainfojson" }, "TEXT", "the same, as the text itself" },                               \
    { { "--package" }, "DIR|ZIP", "the same as --appdef" },                                         \
    { { "--component", "--comp", "--role" }, "NAME COUNT", "so many instances of a component",      \
      .list = true, .more = 1 },                                                                    \
    { { "-O", "--option" }, "KEY VALUE", "a setting of appConfig, for all components",              \
      .list = true, .more = 1 },                                                                    \
    { { "--compopt", "--co", "--roleopt" }, "COMPONENT KEY VALUE", "the same for one component",    \
      .list = true, .more = 2 },                                                                    \
    { { "--resopt", "-ro" }, "KEY VALUE", "a key of resources.json, for all components",            \
      .list = true, .more = 1 },                                                                    \
    { { "--rescompopt", "--rco" }, "COMPONENT KEY VALUE", "the same for one component",             \
      .list = true, .more = 2 },                                                                    \
    { { "--gpus" }, "N", "how many GPUs an instance has, where yarn.io/gpu does not say it; not "  \
      "of ps and tensorboard", .number = true },                                                    \
    { { "--image" }, "IMAGE", "the same as --docker-image" },                                       \
    { { "--zkhosts" }, "HOSTS", "what ${ZK_HOST} stands for, instead of the cluster's ZooKeeper" }, \
    { { "--zkpath" }, "PATH", "what ${DEFAULT_ZK_PATH} stands for" },                               \
    { { "--provider" }, "KIND", "who runs components", .preset = "agent", .choices = providers },   \
    { { "--name" }, "NAME", "what the job is called",                                               \
      .refused = "the job has the application's name, which is the word after the verb" },          \
    { { "--detach" }, NULL, "leave the application to itself, as is always done" },                 \
    { { "--appconf" }, "DIR", "a directory of configuration",                                       \
      .refused = "settings are in the file that --template names" },                                \
    { { "--apphome" }, "DIR", "where an application is installed on the nodes",                     \
      .refused = "an application is in its package, which --appdef names" }

static const struct legacy_option create_options[] = {
    BUILDING, WAIT, OUT, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option build_options[] = {
    BUILDING, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option start_options[] = {
    WAIT, OUT, ON, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option stop_options[] = {
    { { "--wait" }, "SECONDS", "how long to wait for its end; 0: however long it takes",
      .preset = "0", .number = true },
    { { "--force" }, NULL, "kill it at once, without the scripts' own stop" },
    { { "--message" }, "TEXT", "why; status shows it" },
    ON, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option destroy_options[] = {
    { { "--force" }, NULL, "really; must be given" },
    ON, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option status_options[] = {
    OUT, ON, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option list_options[] = {
    { { "--live" }, NULL, "only what runs" },
    { { "--state" }, "STATE", "only what is in this state: ACCEPTED, RUNNING, FINISHED, FAILED, "
      "KILLED, STOPPED" },
    { { "--containers" }, NULL, "with the tasks of each" },
    { { "--components" }, "NAME,…", "only those of these components", .list = true },
    { { "--version" }, "VERSION", "only those of applications of this version" },
    ON, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option exists_options[] = {
    { { "--live" }, NULL, "does it run?" },
    { { "--state" }, "STATE", "is it in this state?" },
    OUT, ON, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option flex_options[] = {
    { { "--component", "--comp", "--role" }, "NAME COUNT",
      "so many instances of a component, +N more or -N fewer", .list = true, .more = 1 },
    ON, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option registry_options[] = {
    { { "--name" }, "NAME", "the application" },
    { { "--list" }, NULL, "the applications that run" },
    { { "--listexp" }, NULL, "the groups of its exports" },
    { { "--getexp" }, "GROUP", "one group, as JSON" },
    { { "--listconf" }, NULL, "the dictionaries of its configuration" },
    { { "--getconf" }, "DICT", "one dictionary" },
    { { "--format" }, "FORMAT", "how --getconf writes it", .preset = "xml", .choices = formats },
    { { "-o", "--out", "--dest" }, "FILE", "write there instead of to standard output" },
    { { "--user" }, "USER", "whose application, where that is not one's own" },
    { { "--servicetype" }, "TYPE", "which kind of service; there is one kind",
      .preset = SLIDER_SERVICE },
    { { "--internal" }, NULL, "internal addresses too", .nothing = "there are none" },
    ON, ANYWHERE, { .names = { NULL } },
};
static const struct legacy_option lookup_options[] = {
    { { "--id" }, "ID", "the application of YARN, or a job of this machine" },
    OUT, ON, ANYWHERE, { .names = { NULL } },
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

static const struct front_verb *const verbs[];

static const struct front_verb *slider_verb_find_verb(const char *word)
{
    for (size_t i = 0; verbs[i]; i++)
        if (str_eq(verbs[i]->name, word))
            return verbs[i];
    return NULL;
}

static int slider_verb_no_verb(const char *word, struct err *err)
{
    const char *names[40], *near;
    size_t n = 0;

    for (size_t i = 0; verbs[i] && n < COUNT_OF(names); i++)
        if (verbs[i]->name)
            names[n++] = verbs[i]->name;
    near = str_nearest(word, names, n);
    return cli_bad(err, "unknown verb '%.60s'%s%s%s", word, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

static int act_other(const struct front_ask *a, struct err *err)
{
    const struct strs *words = &a->args->command;

    for (size_t i = 0; words->n > 0 && i < COUNT_OF(absent); i++)
        if (str_eq(absent[i].verb, words->v[0])) {
            fprintf(stderr, "%s: the verb '%s' is not there\n  hint: %s\n", a->name, absent[i].verb,
                    absent[i].instead);
            return SLIDER_UNIMPLEMENTED;
        }
    if (words->n > 0 && slider_verb_find_verb(words->v[0]))
        cli_bad(err, "an option stands before the verb '%s': its place is behind it", words->v[0]);
    else if (words->n > 0)
        slider_verb_no_verb(words->v[0], err);
    else
        cli_bad(err, "a verb is missing");
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
    const struct front_verb *found = words->n > 0 ? slider_verb_find_verb(words->v[0]) : NULL;

    if (words->n > 0 && !found)
        return slider_verb_no_verb(words->v[0], err);
    if (print_help(stdout, a->front, found, cli_width(stdout)) < 0)
        return err_oom(err);
    return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
}

/* ---- verbs ---- */

/* A verb that takes names. */
#define VERB(variable, does, words, ours, ...)                                                     \
    static const struct front_verb variable = {                                                    \
        .habits = LEGACY_NAMES, .act = does, .operands = words, .extra = ours, __VA_ARGS__         \
    }

VERB(create_verb, slider_act, "NAME", FRONT_JOB, .name = "create", .options = create_options,
     .summary = "keep an application's definition and start it",
     .text = "Reads the package and the two files, keeps them under NAME and starts the\n"
             "application. Prints the id of its job and leaves it to itself; with --wait it\n"
             "waits until all instances run. What fails leaves nothing behind.");
VERB(build_verb, slider_act, "NAME", FRONT_JOB, .name = "build", .options = build_options,
     .summary = "keep an application's definition, to be started later");
VERB(update_verb, slider_act, "NAME", FRONT_JOB, .name = "update", .options = build_options,
     .summary = "change a definition; what is not given stays as it is",
     .text = "Replaces the package, the settings or the resources of a definition; what is not\n"
             "given stays as it is. An application that runs is not changed: its next start is.");
VERB(start_verb, slider_act, "NAME", FRONT_PLAIN, .name = "start", .options = start_options,
     .summary = "start an application that is stopped",
     .text = "Starts an application from its definition alone: the files that it was made from\n"
             "are not needed, nor is the machine where that was done.");
VERB(stop_verb, slider_act, "NAME", FRONT_PLAIN, .name = "stop", .options = stop_options,
     .summary = "end an application; its definition stays",
     .text = "Asks every instance to stop, kills what has not stopped when the grace is over, and\n"
             "waits for the end. One that does not run is fine.");
VERB(status_verb, slider_act, "NAME", FRONT_PLAIN, .name = "status", .options = status_options,
     .summary = "describe an application, as JSON");
VERB(list_verb, slider_act, "[NAME]", FRONT_PLAIN, .name = "list", .options = list_options,
     .summary = "list applications, those that do not run too",
     .text = "A line for each: name, state, job, address of its page. With NAME the exit status\n"
             "is 255 when it is not listed.");
VERB(exists_verb, slider_act, "NAME", FRONT_PLAIN, .name = "exists", .options = exists_options,
     .summary = "is there such an application, does it run?",
     .text = "Exit status 0 for yes, 255 for no, 69 when there is no such application.");
VERB(destroy_verb, slider_act, "NAME", FRONT_PLAIN, .name = "destroy", .options = destroy_options,
     .summary = "remove the definition of an application that does not run");
VERB(flex_verb, slider_act, "NAME", FRONT_PLAIN, .name = "flex", .options = flex_options,
     .summary = "change how many instances a component has",
     .text = "Changes the definition and, when it runs, the application. Exit status 0 when a\n"
             "running one was changed, 255 when it counts for the next start only.");
VERB(registry_verb, slider_act, "[NAME]", FRONT_PLAIN, .name = "registry",
     .options = registry_options,
     .summary = "what an application publishes: exports and configuration");
VERB(exports_verb, slider_act, "NAME [GROUP]", FRONT_PLAIN, .name = "exports",
     .options = status_options, .summary = "the exports of an application that runs, as JSON",
     .text = "The document that its instances get from\n"
             "http://MASTER:PORT/ws/v1/slider/publisher/exports, or one group of it.");
VERB(lookup_verb, slider_act, NULL, FRONT_PLAIN, .name = "lookup", .options = lookup_options,
     .summary = "what is known of an application by its id, as JSON");
VERB(version_verb, act_version, NULL, FRONT_NO_EXTRA, .name = "version",
     .summary = "print the version");
VERB(help_verb, act_help, "[VERB]", FRONT_NO_EXTRA, .name = "help",
     .summary = "show this text, or that of one verb");
static const struct front_verb other_verb = {
    .habits = LEGACY_AMONG | LEGACY_UNKNOWN,
    .act = act_other,
    .operands = "--help | --version",
};

static const struct front_verb *const verbs[] = {
    &create_verb, &build_verb,   &update_verb,  &start_verb, &stop_verb,     &status_verb,
    &list_verb,   &exists_verb,  &destroy_verb, &flex_verb,  &registry_verb, &exports_verb,
    &lookup_verb, &version_verb, &help_verb,    &other_verb, NULL,
};

static const struct cli_section sections[] = {
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
    .verbs = verbs,
    .examples = examples,
    .sections = sections,
    .exit_code = slider_exit,
};
