/* slider_verb.c - slider: the command of Apache Slider, with the verbs that applications need.
 * Tables only; see slider_verb.h. */
#include "cmd/slider/slider_verb.h"
#include "cmd/front/fronts.h"

#include <stdio.h>

#define NO_JAVA "ydl does not use Java"
#define CONFIGURED "the Hadoop configuration names the cluster; use another with --conf DIR"

static const char *const places[] = { "local", "yarn", NULL };
static const char *const formats[] = { "xml", "json", "properties", NULL };
static const char *const providers[] = { "agent", NULL };

/* clang-format off */

/* On every verb of Slider's. */
#define ANYWHERE                                                                                    \
    { "--fs", .also = { "--filesystem" }, .meta = "URI",                                            \
      .help = "file system of the definitions", .fallback = "the cluster's" },                      \
    { "--basepath", .meta = "DIR",                                                                  \
      .help = "directory of the definitions", .fallback = ".slider in your home directory" },       \
    { "-D", .meta = "NAME=VALUE", .help = "set a Hadoop property", .type = CLI_LIST,                \
      .not_supported = CONFIGURED },                                                                \
    { "--m", .also = { "--manager" }, .meta = "HOST:PORT",                                          \
      .help = "address of the ResourceManager", .not_supported = CONFIGURED },                      \
    { "-S", .meta = "NAME=VALUE", .help = "set a system property", .type = CLI_LIST,                \
      .no_effect = NO_JAVA },                                                                       \
    { "--debug", .help = "same as -v" }

#define ON                                                                                          \
    { "--on", .meta = "PLACE", .help = "where the application is", .fallback = "$YDL_ON, or yarn",  \
      .choices = places }

#define OUT { "-o", .also = { "--out" }, .meta = "FILE",                                            \
      .help = "write to FILE instead of standard output" }
#define WAIT                                                                                        \
    { "--wait", .meta = "SECONDS",                                                                  \
      .help = "wait at most SECONDS until all instances run; 0: do not wait", .preset = "0",        \
      .type = CLI_I64 }

/* What makes a definition. */
#define BUILDING                                                                                    \
    { "--appdef", .meta = "DIR|FILE", .help = "application package, a directory or zip archive "    \
      "with metainfo.json, package/scripts and package/files" },                                    \
    { "--template", .meta = "FILE", .help = "settings (appConfig); FILE is looked up in the "       \
      "current directory, then in the package" },                                                   \
    { "--resources", .meta = "FILE", .help = "resources: number of instances, memory and cores "    \
      "of each component; looked up like --template" },                                             \
    { "--metainfo", .meta = "FILE", .help = "use FILE instead of the package's metainfo.json" },    \
    { "--metainfojson", .meta = "TEXT", .help = "use TEXT as metainfo.json" },                      \
    { "--package", .meta = "DIR|FILE", .help = "same as --appdef" },                                \
    { "--component", .also = { "--comp", "--role" }, .meta = "NAME COUNT",                          \
      .help = "run COUNT instances of component NAME", .type = CLI_LIST, .more = 1 },               \
    { "-O", .also = { "--option" }, .meta = "KEY VALUE",                                            \
      .help = "set KEY in appConfig for all components", .type = CLI_LIST, .more = 1 },             \
    { "--compopt", .also = { "--co", "--roleopt" }, .meta = "COMPONENT KEY VALUE",                  \
      .help = "set KEY in appConfig for one component", .type = CLI_LIST, .more = 2 },              \
    { "--resopt", .also = { "-ro" }, .meta = "KEY VALUE",                                           \
      .help = "set KEY in resources for all components", .type = CLI_LIST, .more = 1 },             \
    { "--rescompopt", .also = { "--rco" }, .meta = "COMPONENT KEY VALUE",                           \
      .help = "set KEY in resources for one component", .type = CLI_LIST, .more = 2 },              \
    { "--gpus", .meta = "N", .help = "number of GPUs per instance, unless yarn.io/gpu is set; "     \
      "not for ps and tensorboard", .type = CLI_I64 },                                              \
    { "--image", .meta = "IMAGE", .help = "same as --docker-image" },                               \
    { "--zkhosts", .meta = "HOSTS",                                                                 \
      .help = "value of ${ZK_HOST}", .fallback = "the cluster's ZooKeeper" },                       \
    { "--zkpath", .meta = "PATH", .help = "value of ${DEFAULT_ZK_PATH}" },                          \
    { "--provider", .meta = "KIND", .help = "how components are run", .preset = "agent",            \
      .choices = providers },                                                                       \
    { "--name", .meta = "NAME", .help = "name of the job",                                          \
      .not_supported = "the job has the application's name, which is the word after the verb" },    \
    { "--detach", .help = "accepted; applications always run detached" },                           \
    { "--appconf", .meta = "DIR", .help = "configuration directory",                                \
      .not_supported = "settings are in the file that --template names" },                          \
    { "--apphome", .meta = "DIR", .help = "installation directory on the nodes",                    \
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
    { "--wait", .meta = "SECONDS",
      .help = "wait at most SECONDS for the application to end; 0: no limit", .preset = "0",
      .type = CLI_I64 },
    { "--force",
      .help = "kill the application at once, without running the scripts' stop command" },
    { "--message", .meta = "TEXT", .help = "reason, shown by 'slider status'" },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt destroy_options[] = {
    { "--force", .help = "confirm; required" },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt status_options[] = {
    OUT, ON, ANYWHERE, { 0 },
};
static const struct cli_opt list_options[] = {
    { "--live", .help = "list only running applications" },
    { "--state", .meta = "STATE", .help = "list only applications in this state: ACCEPTED, "
      "RUNNING, FINISHED, FAILED, KILLED, STOPPED" },
    { "--containers", .help = "list the containers of each application" },
    { "--components", .meta = "NAME,…", .help = "list only containers of these components",
      .type = CLI_LIST },
    { "--version", .meta = "VERSION",
      .help = "list only containers of applications of this version" },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt exists_options[] = {
    { "--live", .help = "check whether the application is running" },
    { "--state", .meta = "STATE", .help = "check whether the application is in this state" },
    OUT, ON, ANYWHERE, { 0 },
};
static const struct cli_opt flex_options[] = {
    { "--component", .also = { "--comp", "--role" }, .meta = "NAME COUNT",
      .help = "run COUNT instances of component NAME; +N adds instances, -N removes them",
      .type = CLI_LIST, .more = 1 },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt registry_options[] = {
    { "--name", .meta = "NAME", .help = "name of the application" },
    { "--list", .help = "list running applications" },
    { "--listexp", .help = "list the groups of exports" },
    { "--getexp", .meta = "GROUP", .help = "print a group of exports as JSON" },
    { "--listconf", .help = "list the configuration dictionaries" },
    { "--getconf", .meta = "DICT", .help = "print a configuration dictionary" },
    { "--format", .meta = "FORMAT", .help = "output format of --getconf", .preset = "xml",
      .choices = formats },
    { "-o", .also = { "--out", "--dest" }, .meta = "FILE",
      .help = "write to FILE instead of standard output" },
    { "--user", .meta = "USER", .help = "owner of the application", .fallback = "you" },
    { "--servicetype", .meta = "TYPE", .help = "type of service; only one exists",
      .preset = SLIDER_SERVICE },
    { "--internal", .help = "include internal addresses", .no_effect = "there are none" },
    ON, ANYWHERE, { 0 },
};
static const struct cli_opt lookup_options[] = {
    { "--id", .meta = "ID", .help = "application id, or the id of a job on this machine" },
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
    { "package",         "name the package with --appdef; it is saved with the definition" },
    { "install-package", "name the package with --appdef; it is saved with the definition" },
    { "keytab",          "use 'ydl --principal NAME --keytab FILE'" },
    { "install-keytab",  "use 'ydl --principal NAME --keytab FILE'" },
    { "resource",        "use --files and --archives, or 'ydl fs put'" },
    { "client",          "clients of an application are installed automatically" },
    { "dependency",      "ydl needs nothing installed on the cluster" },
    { "diagnostics",     "use 'ydl doctor' and 'ydl status JOB --tasks'" },
    { "nodes",           "use 'ydl cluster nodes'" },
    { "tokens",          "ydl gets and renews tokens itself" },
    { "kdiag",           "use 'ydl doctor'" },
};
/* clang-format on */

static int act_other(const struct front_ask *a, struct err *err)
{
    const struct strs *words = &a->args->command;

    for (size_t i = 0; words->n > 0 && i < COUNT_OF(absent); i++)
        if (str_eq(absent[i].verb, words->v[0])) {
            fprintf(stderr,
                    "%s: the verb '%s' is not supported\n"
                    "  hint: %s\n",
                    a->name, absent[i].verb, absent[i].instead);
            return SLIDER_UNIMPLEMENTED;
        }
    if (words->n > 0 && front_verb(a->front, words->v[0])->cli.name)
        cli_bad(err, "option before the verb '%s': options follow the verb", words->v[0]);
    else
        front_no_verb(a->front, words->n > 0 ? words->v[0] : NULL, err);
    err_hint(err,
             "try: %s create tf1 --appdef DIR --template appConfig.json --resources "
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

/* A verb and its function, which takes `from` to `to` operands; `without`: what it lacks. */
#define VERB(does, words, from, to, without, ...)                                                  \
    static int does##_act(const struct front_ask *a, struct err *err)                              \
    {                                                                                              \
        return slider_act(a, does, err);                                                           \
    }                                                                                              \
    static const struct front_verb does##_verb = {                                                 \
        .cli = { .operands = words, .least = from, .most = to, .lacks = without, __VA_ARGS__ },    \
        .habits = LEGACY_NAMES,                                                                    \
        .act = does##_act,                                                                         \
    }

VERB(slider_create, "NAME", 1, 1, 0, .name = "create", .opts = create_options,
     .summary = "save an application's definition and start it",
     .text = "Reads the package and the two files, saves them as NAME and starts the application.\n"
             "Prints the id of its job and exits; with --wait, waits until all instances run. A\n"
             "create that fails leaves nothing behind.");
VERB(slider_build, "NAME", 1, 1, 0, .name = "build", .opts = build_options,
     .summary = "save an application's definition without starting it");
VERB(slider_update, "NAME", 1, 1, 0, .name = "update", .opts = build_options,
     .summary = "change an application's definition",
     .text = "Replaces the package, the settings or the resources of a definition; what is not\n"
             "given is unchanged. A running application changes at its next start.");
VERB(slider_start_verb, "NAME", 1, 1, COMMON_JOB, .name = "start", .opts = start_options,
     .summary = "start a stopped application",
     .text = "Starts an application from its saved definition: neither the original files nor the\n"
             "machine that it was created on are needed.");
VERB(slider_stop, "NAME", 1, 1, COMMON_JOB, .name = "stop", .opts = stop_options,
     .summary = "stop an application; its definition is kept",
     .text = "Asks every instance to stop, kills those that have not stopped after the grace\n"
             "period, and waits for the end. Succeeds if the application is not running.");
VERB(slider_status, "NAME", 1, 1, COMMON_JOB, .name = "status", .opts = status_options,
     .summary = "describe an application as JSON");
VERB(slider_list, "[NAME]", 0, 1, COMMON_JOB, .name = "list", .opts = list_options,
     .summary = "list applications, including stopped ones",
     .text =
         "Prints name, state, job and tracking URL of each. With NAME, the exit status is 255 if\n"
         "it is not listed.");
VERB(slider_exists, "NAME", 1, 1, COMMON_JOB, .name = "exists", .opts = exists_options,
     .summary = "check whether an application exists or is running",
     .text = "The exit status is 0 for yes, 255 for no, and 69 if there is no such application.");
VERB(slider_destroy, "NAME", 1, 1, COMMON_JOB, .name = "destroy", .opts = destroy_options,
     .summary = "remove the definition of a stopped application");
VERB(slider_flex, "NAME", 1, 1, COMMON_JOB, .name = "flex", .opts = flex_options,
     .summary = "change the number of instances of a component",
     .text =
         "Changes the definition and, if it is running, the application. The exit status is 0 if\n"
         "a running application was changed, 255 if the change takes effect at the next start.");
VERB(slider_registry, "[NAME]", 0, 1, COMMON_JOB, .name = "registry", .opts = registry_options,
     .summary = "print an application's exports and configuration");
VERB(slider_exports, "NAME [GROUP]", 1, 2, COMMON_JOB, .name = "exports", .opts = status_options,
     .summary = "print the exports of a running application as JSON",
     .text = "The document that its instances get from\n"
             "http://MASTER:PORT/ws/v1/slider/publisher/exports, or one group of it.");
VERB(slider_lookup, NULL, 0, 1, COMMON_JOB, .name = "lookup", .opts = lookup_options,
     .summary = "print the status of an application by its id, as JSON");
static const struct front_verb version_verb = {
    .cli = { .name = "version",
             .summary = "print the version",
             .lacks = COMMON_JOB | COMMON_PLAIN },
    .habits = LEGACY_NAMES,
    .act = act_version,
};
static const struct front_verb help_verb = {
    .cli = { .name = "help",
             .summary = "show this help, or that of a verb",
             .operands = "[VERB]",
             .lacks = COMMON_JOB | COMMON_PLAIN },
    .habits = LEGACY_NAMES,
    .act = act_help,
};

/* clang-format off */
static const struct cli_verb *const verbs[] = {
    &slider_create_verb.cli, &slider_build_verb.cli, &slider_update_verb.cli,
    &slider_start_verb_verb.cli, &slider_stop_verb.cli, &slider_status_verb.cli,
    &slider_list_verb.cli, &slider_exists_verb.cli, &slider_destroy_verb.cli, &slider_flex_verb.cli,
    &slider_registry_verb.cli, &slider_exports_verb.cli, &slider_lookup_verb.cli, &version_verb.cli,
    &help_verb.cli, NULL,
};
/* clang-format on */
static const struct front_verb other_verb = {
    .cli = { .subs = verbs },
    .habits = LEGACY_AMONG | LEGACY_UNKNOWN,
    .act = act_other,
};

/* clang-format off */
const struct front front_slider = {
    .program = {
        .name = "slider",
        .summary = "run applications of several components on YARN or locally, like Apache Slider",
        .globals = common_opts, .self = &other_verb.cli,
        .text = "Runs applications that are packaged for Apache Slider. The package lists the "
                "components and the scripts that start them (metainfo.json), appConfig has their "
                "settings, and resources the number and size of instances of each. An application "
                "is known by its name; its definition is kept until 'slider destroy'.\n\n"
                "  slider create tf1 --appdef app-packages/tensorflow \\\n"
                "      --template appConfig-default.json --resources resources.default.json\n\n"
                "A component is a role of a ydl job, so 'ydl status', 'ydl logs' and all other "
                "verbs work with the id that 'slider list' shows. All components start together; "
                "the application succeeds when all components but ps and tensorboard have exited "
                "with 0. When an instance fails, all are restarted, up to "
                "yarn.container.failure.threshold times; with \"ydl.restart\": \"task\" in "
                "resources.json, only the failed instance is, on the same port. Applications run "
                "on YARN unless --on or $YDL_ON says otherwise.",
        CLI_EXAMPLES({ "slider create tf1 --appdef . --template a.json --resources r.json",
                       "a TensorFlow cluster on YARN" },
                     { "slider create tf1 --on local --appdef tf.zip --resources r.json --wait 60",
                       "the same on this machine, from a zip archive" },
                     { "slider exports tf1 ps", "where its parameter servers are" },
                     { "slider flex tf1 --component worker +1", "add a worker" },
                     { "slider stop tf1; slider destroy tf1 --force",
                       "stop it and remove its definition" }),
        CLI_SECTIONS(
          { "ENVIRONMENT", front_variables },
          { "FILES",
            "~/.slider/cluster/NAME\tIn HDFS, the definition of an application: metainfo.json, "
            "app_config.json, resources.json, internal.json, the package and what runs its "
            "scripts.\n"
            "$XDG_STATE_HOME/ydl/slider/NAME\tThe same with --on local. By default, "
            "$XDG_STATE_HOME is ~/.local/state." },
          { "UNSUPPORTED VERBS",
            "upgrade, kill-container, am-suicide, resolve, package, install-package, keytab, "
            "install-keytab, resource, client, dependency, diagnostics, nodes, tokens and kdiag "
            "exit with 51 and print what to use instead." },
          { "EXIT STATUS",
            "0\tDone.\n"
            "2\tThe command line, or a file that it names, is wrong; nothing was started.\n"
            "3\tInterrupted.\n"
            "43, 48\tPermission denied; the cluster is unreachable.\n"
            "44\tNo such export or configuration.\n"
            "50, 56\tInternal error; another failure.\n"
            "51\tThe verb is not supported.\n"
            "65, 66, 67\tThe application failed, was killed, or did not start in time.\n"
            "69\tThere is no such application.\n"
            "70, 73, 75\tThe application is not running; is running; exists already.\n"
            "255\tThe answer of list, exists or flex is no." }),
    },
    .exit_code = slider_exit,
};
/* clang-format on */
