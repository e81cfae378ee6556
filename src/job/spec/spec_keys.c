/* spec_keys.c - see spec_keys.h */
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
      .help = "what is done about a failed task: never (the job fails), task (it is started again "
              "in place), gang (all are); default: what suits the framework" },
    { "max", SPEC_NUMBER, AT(max), .preset = -1, .max = TIMES_MAX,
      .flag = "max-restarts", .meta = "N",
      .help = "how many restarts are allowed within the window, of each task or of the gang" },
    { "window", SPEC_MS, AT(window), .min = SECOND, .max = YEARS,
      .help = "restarts longer ago than this no longer count" },
    { "delay", SPEC_MS, AT(delay), .max = YEARS, .flag = "restart-delay", .meta = "TIME",
      .help = "the least time between a failure and the restart; it grows by itself when a task "
              "fails again soon" },
    { "codes", SPEC_TEXTS, AT(codes), .flag = "restart-codes", .meta = "CODE,…",
      .help = "a task that ends by itself is started again only after these exit codes (128 and "
              "the signal's number, when one ended it); without it after any" },
    { 0 },
};
#undef AT

/* The order is that of enum spec_ready_kind. */
#define AT(field) .offset = offsetof(struct spec_ready, field)
static const struct spec_key ready_keys[] = {
    { "port", SPEC_BOOL, AT(kind), .max = 1, .help = "its first port accepts connections" },
    { "http", SPEC_TEXT, AT(what), .help = "GET of this path on its first port answers 200" },
    { "file", SPEC_TEXT, AT(what), .help = "this file is there, in the task's directory" },
    { "log", SPEC_TEXT, AT(what), .help = "a line of its output contains this text" },
    { "timeout", SPEC_MS, AT(timeout), .max = YEARS,
      .help = "a task that is not ready by then has failed; 0: no limit" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct spec, field)
static const struct spec_key gang_keys[] = {
    { "hold", SPEC_MS, AT(gang_hold), .preset = 300 * SECOND, .min = SECOND, .max = YEARS,
      .flag = "gang-hold", .meta = "TIME",
      .help = "how long an incomplete gang keeps what it was granted before it gives everything "
              "back and asks again" },
    { "retry", SPEC_TIMES, AT(gang_retry), .preset = SPEC_FOREVER, .max = TIMES_MAX,
      .flag = "gang-retry", .meta = "N",
      .help = "how often it asks again, or forever" },
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
      .help = "memory of the master's container; without it 64m, or the scheduler's minimum" },
    { "cpus", SPEC_COUNT, AT(master.cpus), .max = 65536, .yarn = true,
      .help = "processor cores of the master's container; without it one" },
    { "label", SPEC_TEXT, AT(master.label), .yarn = true,
      .help = "node label of the master, in place of the job's" },
    { "window", SPEC_MS, AT(master.window), .max = YEARS, .yarn = true,
      .help = "failures of the master longer ago than this do not count as attempts; without it an "
              "hour" },
    { 0 },
};

static const struct spec_key tensorboard_keys[] = {
    { "logdir", SPEC_TEXT, AT(tensorboard), .flag = "tensorboard", .meta = "DIR",
      .help = "run TensorBoard beside the job on this directory" },
    { "tracking", SPEC_BOOL, AT(tensorboard_first), .preset = -1, .max = 1, .yarn = true,
      .help = "YARN's link to the job leads to it as soon as it runs" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct spec_role, field)
const struct spec_key spec_role_keys[] = {
    { "count", SPEC_COUNT, AT(count), .preset = 1, .max = SPEC_TASKS_MAX, .always = true,
      .help = "how many containers" },
    { "procs", SPEC_COUNT, AT(procs), .min = 1, .max = SPEC_TASKS_MAX,
      .help = "processes (tasks) in each container" },
    { "memory", SPEC_SIZE, AT(memory), .min = LEAST_MEMORY, .max = MOST_BYTES,
      .help = "memory of a container" },
    { "cpus", SPEC_COUNT, AT(cpus), .max = 65536, .help = "processor cores of a container" },
    { "gpus", SPEC_COUNT, AT(gpus), .max = 1024,
      .help = "GPUs of a container, shared by its processes" },
    { "resources", SPEC_AMOUNTS, AT(resources), .min = 1, .max = SPEC_AMOUNT_MAX, .yarn = true,
      .help = "further resources of a container, by the names that the cluster has for them" },
    { "command", SPEC_COMMAND, AT(command),
      .help = "what its tasks run, with {variables}; without one, the job's command" },
    { "env", SPEC_ENV, AT(env), .help = "environment variables, over those of the job" },
    { "files", SPEC_FILES, AT(files), .help = "files for this role, besides those of the job" },
    { "archives", SPEC_FILES, AT(archives),
      .help = "archives for this role, besides those of the job" },
    { "image", SPEC_TEXT, AT(image), .help = "its container image, in place of the job's" },
    { "label", SPEC_TEXT, AT(label), .yarn = true,
      .help = "its node label, in place of the job's" },
    { "place", SPEC_CHOICE, AT(place), .choices = places,
      .help = "cluster, or client: on the machine that submits the job" },
    { "spread", SPEC_CHOICE, AT(spread), .choices = spreads, .yarn = true,
      .help = "any, node (no two of its containers on one node), or pack (on as few nodes as "
              "will do)" },
    { "hosts", SPEC_TEXTS, AT(hosts), .yarn = true,
      .help = "hosts where its containers would rather be, or racks, as /RACK" },
    { "ports", SPEC_SMALL, AT(ports), .preset = -1, .max = 4,
      .help = "ports that are held for each task; without it, what the framework needs" },
    { "exports", SPEC_EXPORTS, AT(exports),
      .help = "what each task publishes, by GROUP/NAME: text with {variables} that others read at "
              "the job's master" },
    { "after", SPEC_AFTER, AT(after),
      .help = "roles that must be started, ready or finished before this one is started" },
    { "ready", SPEC_READY, AT(ready), .keys = ready_keys,
      .help = "how to tell that a task is ready; without it, when it is started" },
    { "restart", SPEC_MAP, AT(restart), .keys = restart_keys, .plain = true,
      .help = "what is done when its tasks fail; what is not said comes from the job's" },
    { "side", SPEC_BOOL, AT(side), .preset = -1, .max = 1,
      .help = "its end does not matter: it is stopped when the others are done" },
    { "decides", SPEC_BOOL, AT(decides), .preset = -1, .max = 1,
      .help = "the job succeeds when the tasks of all such roles have" },
    { 0 },
};
#undef AT

#define AT(field) .offset = offsetof(struct spec, field)
const struct spec_key spec_job_keys[] = {
    { "name", SPEC_TEXT, AT(name), .flag = "name", .meta = "NAME",
      .help = "what the job is called; without it, after its command" },
    { "framework", SPEC_TEXT, AT(framework), .flag = "framework", .meta = "NAME",
      .help = "set up tasks for NAME: mxnet, tensorflow, pytorch, … (default: none); 'ydl help run' "
              "lists them" },
    { "native", SPEC_CHOICE, AT(native), .choices = natives, .flag = "native", .meta = "WHEN",
      .help = "servers without Python, by ydl-native: yes, no, or auto (a scheduler of MXNet where "
              "its library is there, and servers that have no command)" },
    { "command", SPEC_COMMAND, AT(command),
      .help = "what tasks run whose role has no command; on the command line, what follows --" },
    { "roles", SPEC_ROLES, .keys = spec_role_keys,
      .help = "the kinds of tasks, by name; a plain number is a count" },
    { "files", SPEC_FILES, AT(files), .flag = "files", .meta = "FILE[#NAME]",
      .help = "files and directories to put beside each task, perhaps under another name" },
    { "archives", SPEC_FILES, AT(archives), .flag = "archives", .meta = "FILE[#NAME]",
      .help = "archives to unpack beside each task" },
    { "env", SPEC_ENV, AT(env), .flag = "env", .meta = "NAME=VALUE",
      .help = "environment variables of every task" },
    { "venv", SPEC_TEXT, AT(venv), .flag = "venv", .meta = "DIR",
      .help = "a Python environment whose programs come first in PATH, or for YARN an archive of "
              "one; it is packed and sent to the cluster when it changed" },
    { "pip", SPEC_TEXTS, AT(pip), .flag = "pip", .meta = "PACKAGE",
      .help = "packages of Python, or files of requirements, to make an environment of; it is made "
              "once for the same packages" },
    { "hadoop", SPEC_CHOICE, AT(hadoop), .choices = hadoops, .flag = "hadoop", .meta = "WHEN",
      .help = "variables by which libhdfs finds Java and Hadoop on a task's machine: yes (a task "
              "does not start without), no, or auto (what is there, when its command names a file "
              "on HDFS)" },
    { "image", SPEC_TEXT, AT(image), .flag = "image", .meta = "IMAGE",
      .help = "the container image that tasks run in" },
    { "image-by", SPEC_CHOICE, AT(image_by), .choices = image_bys, .yarn = true,
      .flag = "image-by", .meta = "WHO",
      .help = "who runs the image: yarn (its own container runtime), agent (docker run), or auto" },
    { "mounts", SPEC_TEXTS, AT(mounts), .flag = "mount", .meta = "FROM:TO[:ro]",
      .help = "directories of the node to show in the image" },
    { "restart", SPEC_MAP, AT(restart), .keys = restart_keys, .plain = true,
      .help = "what is done when a task fails" },
    { "avoid", SPEC_CHOICE, AT(avoid), .choices = avoids, .yarn = true,
      .flag = "avoid", .meta = "WHAT",
      .help = "what makes a node one to be avoided: node-faults (what can be its fault, twice), or "
              "all (any failure but preemption and lost nodes, once; the task then moves)" },
    { "gang", SPEC_MAP, .keys = gang_keys,
      .help = "how the tasks of a job are brought together" },
    { "grace", SPEC_MS, AT(grace), .preset = 30 * SECOND, .max = DAY,
      .flag = "grace", .meta = "TIME",
      .help = "time between the request to end and the kill" },
    { "save-time", SPEC_MS, AT(save_time), .preset = 1800 * SECOND, .min = SECOND, .max = YEARS,
      .flag = "save-time", .meta = "TIME",
      .help = "time for output and results to be saved when all tasks have ended; what is not saved "
              "by then is told, and the job ends" },
    { "timeout", SPEC_MS, AT(timeout), .max = YEARS, .flag = "timeout", .meta = "TIME",
      .help = "the job fails when it takes longer, its wait for a place included; 0: no limit" },
    { "output", SPEC_OUTPUT, AT(output), .flag = "output", .meta = "[DIR=]TARGET",
      .help = "where to put what tasks leave in $YDL_OUT, or in directories beside them" },
    { "tensorboard", SPEC_MAP, .keys = tensorboard_keys, .plain = true,
      .help = "a TensorBoard beside the job" },
    { "log-limit", SPEC_SIZE, AT(log_limit), .max = MOST_BYTES,
      .help = "most output of one task; 0: no limit" },
    { "log-rotate", SPEC_SIZE, AT(log_rotate), .preset = 64 << 20, .max = MOST_BYTES,
      .help = "output of a task that is longer is cut into files of this size; 0: it is not" },
    { "log-keep", SPEC_COUNT, AT(log_keep), .max = 1000000,
      .help = "how many of these files are kept beside the one that is written; 0: all" },
    { "port-range", SPEC_RANGE, AT(port_low), .min = 1024, .max = 65535,
      .help = "the ports that tasks may be given, as 10000-10999" },
    { "queue", SPEC_TEXT, AT(queue), .yarn = true, .flag = "queue", .meta = "QUEUE",
      .help = "the queue to submit to" },
    { "priority", SPEC_NUMBER, AT(priority), .preset = -1, .max = INT32_MAX, .yarn = true,
      .flag = "priority", .meta = "N", .help = "the job's priority in its queue" },
    { "tags", SPEC_TEXTS, AT(tags), .yarn = true, .flag = "tag", .meta = "WORD",
      .help = "words by which the job can be found again" },
    { "label", SPEC_TEXT, AT(label), .yarn = true, .flag = "label", .meta = "LABEL",
      .help = "run on nodes that have this label" },
    { "acl", SPEC_MAP, .keys = acl_keys, .plain = true, .yarn = true,
      .help = "who may see the job, and who may change it, besides its owner: users with commas, "
              "a blank, groups with commas; * is everybody" },
    { "attempts", SPEC_COUNT, AT(attempts), .preset = 2, .min = 1, .max = 1000, .yarn = true,
      .flag = "attempts", .meta = "N",
      .help = "how often YARN may start the job's master; the tasks live on meanwhile" },
    { "master", SPEC_MAP, .keys = master_keys, .yarn = true,
      .help = "the container of the job's master" },
    { "staging", SPEC_TEXT, AT(staging), .yarn = true, .flag = "staging", .meta = "DIR",
      .help = "the directory in HDFS for what is uploaded, logs and results; without it .ydl at "
              "home" },
    { "principal", SPEC_TEXT, AT(principal), .yarn = true,
      .help = "the Kerberos principal of a job that outlives its tokens" },
    { "keytab", SPEC_TEXT, AT(keytab), .yarn = true,
      .help = "the file with its keys; it is sent along, and new tokens are got with it" },
    { "client-address", SPEC_TEXT, AT(client_address), .yarn = true,
      .flag = "client-address", .meta = "HOST",
      .help = "this machine's name or number for tasks on the cluster, when some run here; without "
              "it, the one that we reach the master from" },
    { "nodes", SPEC_COUNT, AT(nodes), .min = 1, .max = 1000, .flag = "nodes", .meta = "N",
      .help = "local only: pretend to be so many machines" },
    { 0 },
};

const struct spec_key spec_flag_keys[] = {
    { "workers", SPEC_NUMBER, AT(working.workers), .preset = -1, .max = SPEC_TASKS_MAX,
      .flag = "workers", .letter = 'n', .meta = "N", .help = "how many workers" },
    { "servers", SPEC_NUMBER, AT(working.servers), .preset = -1, .max = SPEC_TASKS_MAX,
      .flag = "servers", .letter = 's', .meta = "N", .help = "how many parameter servers" },
    { "role", SPEC_ROLES, .keys = spec_role_keys,
      .flag = "role", .meta = "NAME=COUNT[,KEY=VALUE…]",
      .help = "so many containers of this role, with keys as in a job file" },
    { "memory", SPEC_SIZE, AT(working.memory), .preset = -1,
      .min = LEAST_MEMORY, .max = MOST_BYTES,
      .flag = "mem", .meta = "SIZE", .help = "memory of a worker's container" },
    { "cpus", SPEC_NUMBER, AT(working.cpus), .preset = -1, .max = 65536,
      .flag = "cpus", .meta = "N", .help = "processor cores of a worker's container" },
    { "gpus", SPEC_NUMBER, AT(working.gpus), .preset = -1, .max = 1024,
      .flag = "gpus", .meta = "N", .help = "number of GPUs of a worker's container" },
    { "procs", SPEC_NUMBER, AT(working.procs), .preset = -1, .min = 1, .max = SPEC_TASKS_MAX,
      .flag = "procs", .meta = "N", .help = "processes in each worker's container" },
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
        if (table->type == SPEC_MAP)
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
