/* spec_keys.c - the tables of everything that a job file can say: key, type, limits, option, help.
 * One row feeds the reader of job files, the options of `run`, the JSON form, the schema and the
 * manual, so they cannot differ. A new key is a row here and a field in spec.h. See spec_keys.h. */
#include "job/spec/spec_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SECOND ((int64_t)1000)
#define DAY (86400 * SECOND)
#define YEARS (3650 * DAY) /* far enough from the end of int64_t to be added to a clock */
#define TIMES_MAX 1000000
#define LEAST_MEMORY ((int64_t)MIB) /* "memory: 4" is a slip, not four bytes */
#define MOST_BYTES ((int64_t)1 << 50)

static const char *const policies[] = { "default", "never", "task", "gang", NULL };
static const char *const places[] = { "cluster", "client", NULL };
static const char *const spreads[] = { "any", "node", "pack", NULL };
static const char *const image_bys[] = { "auto", "yarn", "agent", NULL };
static const char *const avoids[] = { "node-faults", "all", NULL };
static const char *const hadoops[] = { "auto", "yes", "no", NULL };
static const char *const natives[] = { "auto", "yes", "no", NULL };

/* clang-format off */

#define AT(field) .offset = offsetof(struct spec_restart, field)
static const struct spec_key restart_keys[] = {
    { "policy", SPEC_CHOICE, AT(policy), .choices = policies,
      .flag = "restart", .meta = "POLICY",
      .help = "what to restart if a task fails: never (nothing), task, or gang (all tasks) "
              "(default: by framework)" },
    { "max", SPEC_NUMBER, AT(max), .preset = -1, .max = TIMES_MAX,
      .flag = "max-restarts", .meta = "N",
      .help = "maximum number of restarts within the window" },
    { "window", SPEC_MS, AT(window), .min = SECOND, .max = YEARS,
      .help = "how long a restart counts" },
    { "delay", SPEC_MS, AT(delay), .max = YEARS, .flag = "restart-delay", .meta = "TIME",
      .help = "minimum delay before a restart; increases after repeated failures" },
    { "codes", SPEC_TEXTS, AT(codes), .flag = "restart-codes", .meta = "CODE,…",
      .help = "restart a task only after these exit codes; 128 + N stands for signal N (default: "
              "any)" },
    { 0 },
};
#undef AT

/* The order is that of enum spec_ready_kind. */
#define AT(field) .offset = offsetof(struct spec_ready, field)
static const struct spec_key ready_keys[] = {
    { "port", SPEC_BOOL, AT(kind), .max = 1, .help = "its first port accepts connections" },
    { "http", SPEC_TEXT, AT(what),
      .help = "GET of this path on its first port returns 200" },
    { "file", SPEC_TEXT, AT(what),
      .help = "this file exists in the task's directory" },
    { "log", SPEC_TEXT, AT(what), .help = "a line of its output contains this text" },
    { "timeout", SPEC_MS, AT(timeout), .max = YEARS,
      .help = "how long a task may take to be ready before it counts as failed; 0: no limit" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct spec, field)
static const struct spec_key gang_keys[] = {
    { "hold", SPEC_MS, AT(gang_hold), .preset = 300 * SECOND, .min = SECOND, .max = YEARS,
      .flag = "gang-hold", .meta = "TIME",
      .help = "how long to hold an incomplete set of containers before giving them back and "
              "asking again (default: 5m)" },
    { "retry", SPEC_TIMES, AT(gang_retry), .preset = SPEC_FOREVER, .max = TIMES_MAX,
      .flag = "gang-retry", .meta = "N",
      .help = "how often to ask again (default: forever)" },
    { 0 },
};

static const struct spec_key acl_keys[] = {
    { "view", SPEC_TEXT, AT(acl.view), .yarn = true,
      .help = "who may see the job and its output" },
    { "modify", SPEC_TEXT, AT(acl.modify), .yarn = true,
      .help = "who may stop and change the job" },
    { 0 },
};

static const struct spec_key master_keys[] = {
    { "memory", SPEC_SIZE, AT(master.memory), .min = LEAST_MEMORY, .max = MOST_BYTES, .yarn = true,
      .help = "memory of the master's container (default: 64m, or the scheduler's minimum)" },
    { "cpus", SPEC_COUNT, AT(master.cpus), .max = 65536, .yarn = true,
      .help = "processor cores of the master's container (default: 1)" },
    { "label", SPEC_TEXT, AT(master.label), .yarn = true,
      .help = "node label of the master (default: the job's)" },
    { "window", SPEC_MS, AT(master.window), .max = YEARS, .yarn = true,
      .help = "how long a failure of the master counts as an attempt (default: 1h)" },
    { 0 },
};

static const struct spec_key publish_keys[] = {
    { "name", SPEC_TEXT, AT(publish.name), .flag = "publish", .meta = "NAME",
      .help = "publish the results as a new version of this model if the job succeeds" },
    { "path", SPEC_TEXT, AT(publish.path), .flag = "publish-path", .meta = "PATH",
      .help = "file or directory below the results to publish (default: all of them)" },
    { "alias", SPEC_TEXT, AT(publish.alias),
      .help = "alias that the new version gets" },
    { "tags", SPEC_TAGS, AT(publish.tags), .help = "tags of the new version" },
    { "registry", SPEC_TEXT, AT(publish.registry), .flag = "registry", .meta = "DIR",
      .help = "registry to publish to: a directory, or an hdfs:// name (default: as for 'ydl "
              "model')" },
    { "commit", SPEC_TEXT, AT(publish.commit),
      .help = "source commit to note (default: that of the job's git work tree)" },
    { 0 },
};

static const struct spec_key output_keys[] = {
    { "publish", SPEC_MAP, .keys = publish_keys, .plain = true,
      .help = "what of the results becomes a version of a model" },
    { 0 },
};

static const struct spec_key tensorboard_keys[] = {
    { "logdir", SPEC_TEXT, AT(tensorboard), .flag = "tensorboard", .meta = "DIR",
      .help = "run TensorBoard on DIR beside the job" },
    { "tracking", SPEC_BOOL, AT(tensorboard_first), .preset = -1, .max = 1, .yarn = true,
      .help = "make YARN's link to the job lead to TensorBoard as soon as it runs" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct spec_role, field)
const struct spec_key spec_role_keys[] = {
    { "count", SPEC_COUNT, AT(count), .preset = 1, .max = SPEC_TASKS_MAX, .always = true,
      .help = "number of containers" },
    { "procs", SPEC_COUNT, AT(procs), .min = 1, .max = SPEC_TASKS_MAX,
      .help = "processes (tasks) in each container" },
    { "memory", SPEC_SIZE, AT(memory), .min = LEAST_MEMORY, .max = MOST_BYTES,
      .help = "memory of each container" },
    { "cpus", SPEC_COUNT, AT(cpus), .max = 65536,
      .help = "processor cores of each container" },
    { "gpus", SPEC_COUNT, AT(gpus), .max = 1024,
      .help = "GPUs of each container, shared by its processes" },
    { "resources", SPEC_AMOUNTS, AT(resources), .min = 1, .max = SPEC_AMOUNT_MAX, .yarn = true,
      .help = "further resources of each container, by the names they have on the cluster" },
    { "command", SPEC_COMMAND, AT(command),
      .help = "command of its tasks, with {variables} (default: the job's command)" },
    { "env", SPEC_ENV, AT(env),
      .help = "environment variables; they override those of the job" },
    { "files", SPEC_FILES, AT(files),
      .help = "files for this role, in addition to those of the job" },
    { "archives", SPEC_FILES, AT(archives),
      .help = "archives for this role, in addition to those of the job" },
    { "image", SPEC_TEXT, AT(image),
      .help = "its container image (default: the job's)" },
    { "label", SPEC_TEXT, AT(label), .yarn = true,
      .help = "its node label (default: the job's)" },
    { "place", SPEC_CHOICE, AT(place), .choices = places,
      .help = "where it runs: cluster, or client, the machine that submits the job" },
    { "spread", SPEC_CHOICE, AT(spread), .choices = spreads, .yarn = true,
      .help = "how its containers are placed: any, node (each on a node of its own), or pack (on "
              "as few nodes as possible)" },
    { "hosts", SPEC_TEXTS, AT(hosts), .yarn = true,
      .help = "preferred hosts for its containers, or racks, as /RACK" },
    { "ports", SPEC_SMALL, AT(ports), .preset = -1, .max = 4,
      .help = "number of ports reserved for each task (default: what the framework needs)" },
    { "port", SPEC_COUNT, AT(port), .min = 1, .max = 65535,
      .help = "number of its first port (default: any that is free)" },
    { "exports", SPEC_EXPORTS, AT(exports),
      .help = "what each task publishes, by GROUP/NAME: text with {variables} that others read "
              "from the job's master" },
    { "after", SPEC_AFTER, AT(after),
      .help = "roles that must be started, ready or finished before this one is started" },
    { "ready", SPEC_READY, AT(ready), .keys = ready_keys,
      .help = "how to tell that a task is ready (default: when it has started)" },
    { "restart", SPEC_MAP, AT(restart), .keys = restart_keys, .plain = true,
      .help = "what to do when its tasks fail (default: as the job says)" },
    { "side", SPEC_BOOL, AT(side), .preset = -1, .max = 1,
      .help = "whether to ignore how it ends, and stop it when the others are done" },
    { "decides", SPEC_BOOL, AT(decides), .preset = -1, .max = 1,
      .help = "whether its tasks must succeed for the job to succeed" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct spec, field)
const struct spec_key spec_job_keys[] = {
    { "name", SPEC_TEXT, AT(name), .flag = "name", .meta = "NAME",
      .help = "name of the job (default: taken from its command)" },
    { "framework", SPEC_TEXT, AT(framework), .flag = "framework", .meta = "NAME",
      .help = "framework, see 'ydl help run' (default: none)" },
    { "native", SPEC_CHOICE, AT(native), .choices = natives, .flag = "native", .meta = "WHEN",
      .help = "run servers without Python, with ydl-native: yes, no, or auto, which does so for "
              "servers that have no command, and for an MXNet scheduler if MXNet's library is "
              "found (default: auto)" },
    { "command", SPEC_COMMAND, AT(command),
      .help = "command of tasks whose role has none; on the command line, what follows --" },
    { "roles", SPEC_ROLES, .keys = spec_role_keys,
      .help = "the kinds of tasks, by name; a plain number is a count" },
    { "files", SPEC_FILES, AT(files), .flag = "files", .meta = "FILE[#NAME]",
      .help = "file or directory for each task" },
    { "archives", SPEC_FILES, AT(archives), .flag = "archives", .meta = "FILE[#NAME]",
      .help = "archive to unpack for each task" },
    { "env", SPEC_ENV, AT(env), .flag = "env", .meta = "NAME=VALUE",
      .help = "environment variable of every task" },
    { "venv", SPEC_TEXT, AT(venv), .flag = "venv", .meta = "DIR",
      .help = "directory of a Python environment to run in" },
    { "pip", SPEC_TEXTS, AT(pip), .flag = "pip", .meta = "PACKAGE",
      .help = "requirements file or Python package" },
    { "hadoop", SPEC_CHOICE, AT(hadoop), .choices = hadoops, .flag = "hadoop", .meta = "WHEN",
      .help = "set the variables with which libhdfs finds Java and Hadoop: yes (fail if they are "
              "not found), no, or auto (if found, and the command names a file on HDFS) "
              "(default: auto)" },
    { "image", SPEC_TEXT, AT(image), .flag = "image", .meta = "IMAGE",
      .help = "container image to run tasks in" },
    { "image-by", SPEC_CHOICE, AT(image_by), .choices = image_bys, .yarn = true,
      .flag = "image-by", .meta = "WHO",
      .help = "who runs the image: yarn (its container runtime), agent (docker run), or auto "
              "(default: auto)" },
    { "mounts", SPEC_TEXTS, AT(mounts), .flag = "mount", .meta = "FROM:TO[:ro]",
      .help = "directory of the node to mount in the image" },
    { "restart", SPEC_MAP, AT(restart), .keys = restart_keys, .plain = true,
      .help = "what to do when a task fails" },
    { "avoid", SPEC_CHOICE, AT(avoid), .choices = avoids, .yarn = true,
      .flag = "avoid", .meta = "WHAT",
      .help = "when to stop using a node: node-faults (after two failures the node may have "
              "caused), or all (after any failure but preemption and lost nodes; the task then "
              "moves) (default: node-faults)" },
    { "gang", SPEC_MAP, .keys = gang_keys,
      .help = "how the containers of a job are brought together" },
    { "grace", SPEC_MS, AT(grace), .preset = 30 * SECOND, .max = DAY,
      .flag = "grace", .meta = "TIME",
      .help = "time between the request to stop and the kill (default: 30s)" },
    { "save-time", SPEC_MS, AT(save_time), .preset = 1800 * SECOND, .min = SECOND, .max = YEARS,
      .flag = "save-time", .meta = "TIME",
      .help = "time limit for saving output and results when all tasks have ended; what is not "
              "saved by then is reported (default: 30m)" },
    { "timeout", SPEC_MS, AT(timeout), .max = YEARS, .flag = "timeout", .meta = "TIME",
      .help = "time limit, including waiting (default: none)" },
    { "output", SPEC_OUTPUT, AT(output), .keys = output_keys,
      .flag = "output", .meta = "[DIR=]TARGET",
      .help = "where to put the results in $YDL_OUT" },
    { "tensorboard", SPEC_MAP, .keys = tensorboard_keys, .plain = true,
      .help = "a TensorBoard beside the job" },
    { "log-limit", SPEC_SIZE, AT(log_limit), .max = MOST_BYTES,
      .help = "maximum output of one task; 0: no limit (default: 0)" },
    { "log-rotate", SPEC_SIZE, AT(log_rotate), .preset = 64 << 20, .max = MOST_BYTES,
      .help = "rotate the output files of a task at this size; 0: never (default: 64m)" },
    { "log-keep", SPEC_COUNT, AT(log_keep), .max = 1000000,
      .help = "number of rotated files to keep besides the current one; 0: all (default: 0)" },
    { "port-range", SPEC_RANGE, AT(port_low), .min = 1024, .max = 65535,
      .help = "range of ports that tasks may be given, such as 10000-10999" },
    { "queue", SPEC_TEXT, AT(queue), .yarn = true, .flag = "queue", .meta = "QUEUE",
      .help = "queue to submit to" },
    { "priority", SPEC_NUMBER, AT(priority), .preset = -1, .max = INT32_MAX, .yarn = true,
      .flag = "priority", .meta = "N",
      .help = "priority of the job in its queue" },
    { "tags", SPEC_TEXTS, AT(tags), .yarn = true, .flag = "tag", .meta = "WORD",
      .help = "tag by which the job can be found" },
    { "label", SPEC_TEXT, AT(label), .yarn = true, .flag = "label", .meta = "LABEL",
      .help = "run on nodes with this label" },
    { "acl", SPEC_MAP, .keys = acl_keys, .plain = true, .yarn = true,
      .help = "who may see the job, and who may change it, besides its owner: users separated by "
              "commas, a space, groups separated by commas; * is everybody" },
    { "attempts", SPEC_COUNT, AT(attempts), .preset = 2, .min = 1, .max = 1000, .yarn = true,
      .flag = "attempts", .meta = "N",
      .help = "how often YARN may start the job's master; tasks go on running meanwhile "
              "(default: 2)" },
    { "master", SPEC_MAP, .keys = master_keys, .yarn = true,
      .help = "container of the job's master" },
    { "staging", SPEC_TEXT, AT(staging), .yarn = true, .flag = "staging", .meta = "DIR",
      .help = "directory on HDFS for uploads, logs and results (default: .ydl in your home "
              "directory)" },
    { "principal", SPEC_TEXT, AT(principal), .yarn = true,
      .help = "Kerberos principal of a job that outlives its tokens" },
    { "keytab", SPEC_TEXT, AT(keytab), .yarn = true,
      .help = "file with the keys of the principal; it is uploaded, and new tokens are requested "
              "with it" },
    { "client-address", SPEC_TEXT, AT(client_address), .yarn = true,
      .flag = "client-address", .meta = "HOST",
      .help = "name or address of this machine for tasks on the cluster, when some tasks run "
              "here (default: the address from which the master is reached)" },
    { "nodes", SPEC_COUNT, AT(nodes), .min = 1, .max = 1000, .flag = "nodes", .meta = "N",
      .help = "local only: pretend to have N machines" },
    { 0 },
};

const struct spec_key spec_flag_keys[] = {
    { "workers", SPEC_NUMBER, AT(working.workers), .preset = -1, .max = SPEC_TASKS_MAX,
      .flag = "workers", .letter = 'n', .meta = "N",
      .help = "number of workers" },
    { "servers", SPEC_NUMBER, AT(working.servers), .preset = -1, .max = SPEC_TASKS_MAX,
      .flag = "servers", .letter = 's', .meta = "N",
      .help = "number of parameter servers" },
    { "role", SPEC_ROLES, .keys = spec_role_keys,
      .flag = "role", .meta = "NAME=COUNT[,KEY=VALUE…]",
      .help = "run COUNT containers of role NAME" },
    { "memory", SPEC_SIZE, AT(working.memory), .preset = -1,
      .min = LEAST_MEMORY, .max = MOST_BYTES,
      .flag = "mem", .meta = "SIZE",
      .help = "memory of each worker, such as 2g" },
    { "cpus", SPEC_NUMBER, AT(working.cpus), .preset = -1, .max = 65536,
      .flag = "cpus", .meta = "N",
      .help = "processor cores of each worker" },
    { "gpus", SPEC_NUMBER, AT(working.gpus), .preset = -1, .max = 1024,
      .flag = "gpus", .meta = "N",
      .help = "number of GPUs of each worker" },
    { "procs", SPEC_NUMBER, AT(working.procs), .preset = -1, .min = 1, .max = SPEC_TASKS_MAX,
      .flag = "procs", .meta = "N",
      .help = "processes in each worker's container" },
    { 0 },
};
#undef AT

/* clang-format on */

const struct spec_key *spec_key_find(const struct spec_key *table, const char *name)
{
    for (; table->name; table++)
        if (strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

const char *spec_key_nearest(const struct spec_key *table, const char *name)
{
    const char *names[64];
    size_t n = 0;

    for (; table->name && n < COUNT_OF(names); table++)
        names[n++] = table->name;
    return str_nearest(name, names, n);
}

static size_t collect_flags(const struct spec_key *table, const struct spec_key **ret, size_t max,
                            size_t n)
{
    for (; table->name; table++) {
        if (table->flag) {
            if (n < max)
                ret[n] = table;
            n++;
        }
        if (table->type == SPEC_MAP || table->type == SPEC_OUTPUT)
            n = collect_flags(table->keys, ret, max, n);
    }
    return n;
}

size_t spec_flags(const struct spec_key **ret, size_t max)
{
    size_t n = collect_flags(spec_flag_keys, ret, max, 0);

    return collect_flags(spec_job_keys, ret, max, n);
}

bool spec_flag_repeats(const struct spec_key *k)
{
    return k->type == SPEC_TEXTS || k->type == SPEC_ENV || k->type == SPEC_FILES ||
           k->type == SPEC_OUTPUT || k->type == SPEC_ROLES;
}

bool spec_is_number(const struct spec_key *k)
{
    switch (k->type) {
    case SPEC_COUNT:
    case SPEC_NUMBER:
    case SPEC_TIMES:
    case SPEC_SMALL:
    case SPEC_BOOL:
    case SPEC_SIZE:
    case SPEC_MS:
    case SPEC_CHOICE:
        return true;
    default:
        return false;
    }
}

int64_t spec_get_number(const struct spec_key *k, const void *base)
{
    const void *at = (const char *)base + k->offset;

    switch (k->type) {
    case SPEC_COUNT:
    case SPEC_CHOICE: /* an enum without negative values is an unsigned */
        return *(const unsigned *)at;
    case SPEC_SMALL:
    case SPEC_BOOL:
        return *(const int *)at;
    case SPEC_SIZE: /* ceilings keep it below the sign bit */
    default:
        return *(const int64_t *)at;
    }
}

void spec_set_number(const struct spec_key *k, void *base, int64_t v)
{
    void *at = (char *)base + k->offset;

    switch (k->type) {
    case SPEC_COUNT:
    case SPEC_CHOICE:
        *(unsigned *)at = (unsigned)v;
        break;
    case SPEC_SMALL:
    case SPEC_BOOL:
        *(int *)at = (int)v;
        break;
    default:
        *(int64_t *)at = v;
        break;
    }
}

void spec_presets(const struct spec_key *table, void *base)
{
    for (; table->name; table++) {
        if (table->type == SPEC_MAP)
            spec_presets(table->keys, (char *)base + table->offset);
        else if (spec_is_number(table))
            spec_set_number(table, base, table->preset);
    }
}

static const struct unit {
    int64_t factor;
    const char *name;
} units_of_time[] = { { DAY, "d" },         { 3600 * SECOND, "h" },
                      { 60 * SECOND, "m" }, { SECOND, "s" },
                      { 1, "ms" },          { 0 } },
  units_of_size[] = { { 1LL << 40, "t" }, { 1LL << 30, "g" }, { 1LL << 20, "m" },
                      { 1LL << 10, "k" }, { 1, "" },          { 0 } };

const char *spec_number_text(const struct spec_key *k, int64_t v, char out[SPEC_NUMBER_MAX])
{
    const struct unit *u = k->type == SPEC_MS ? units_of_time : units_of_size;

    if (k->type == SPEC_BOOL || (k->type == SPEC_TIMES && v == SPEC_FOREVER)) {
        snprintf(out, SPEC_NUMBER_MAX, "%s",
                 k->type == SPEC_TIMES ? "forever"
                 : v                   ? "true"
                                       : "false");
        return out;
    }
    if ((k->type != SPEC_MS && k->type != SPEC_SIZE) || v <= 0) {
        snprintf(out, SPEC_NUMBER_MAX, "%" PRId64, v);
        return out;
    }
    while (v % u->factor)
        u++;
    snprintf(out, SPEC_NUMBER_MAX, "%" PRId64 "%s", v / u->factor, u->name);
    return out;
}

#define FEW_GIGABYTES 128 /* a smaller number without a unit is meant in gigabytes */

const char *spec_range_text(const struct spec_key *k, int64_t v, const char *given, int64_t most,
                            char out[SPEC_RANGE_TEXT_MAX])
{
    char min[SPEC_NUMBER_MAX], max[SPEC_NUMBER_MAX];
    bool plain = *given && given[strspn(given, "0123456789")] == '\0';

    if (k->type == SPEC_SIZE && plain && v > 0 && v < k->min)
        snprintf(out, SPEC_RANGE_TEXT_MAX,
                 "'%.24s' means %" PRId64 " byte%s; did you mean %" PRId64 "%s?", given, v,
                 v == 1 ? "" : "s", v, v < FEW_GIGABYTES ? "g" : "m");
    else
        snprintf(out, SPEC_RANGE_TEXT_MAX, "'%.48s' is out of range (%s to %s)", given,
                 spec_number_text(k, k->min, min), spec_number_text(k, most, max));
    return out;
}
