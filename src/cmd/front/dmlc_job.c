/* dmlc_job.c - what tasks get to run and to see: environment, command, files; see dmlc_common.h. */
#include "base/json.h"
#include "base/path.h"
#include "cmd/front/dmlc_common.h"
#include "launch/auto_name.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the environment ---- */

/* What a launcher says itself: an old value would be wrong. */
static const char *const launchers[] = {
    "DMLC_ROLE",
    "DMLC_NUM_WORKER",
    "DMLC_NUM_SERVER",
    "DMLC_PS_ROOT_URI",
    "DMLC_PS_ROOT_PORT",
    "DMLC_TRACKER_URI",
    "DMLC_TRACKER_PORT",
    "DMLC_TASK_ID",
    "DMLC_NUM_ATTEMPT",
    "DMLC_NODE_HOST",
    "DMLC_WORKER_ID",
    "DMLC_SERVER_ID",
    "DMLC_JOB_CLUSTER",
    "DMLC_RANK",
    "DMLC_JOB_ARCHIVES",
    "DMLC_WORKER_CORES",
    "DMLC_SERVER_CORES",
    "DMLC_CPU_VCORES",
    "DMLC_MEMORY_MB",
    "DMLC_WORKER_MEMORY_MB",
    "DMLC_SERVER_MEMORY_MB",
};

static bool passes(const char *var)
{
    size_t n = strcspn(var, "=");

    for (size_t i = 0; i < COUNT_OF(launchers); i++)
        if (strlen(launchers[i]) == n && strncmp(launchers[i], var, n) == 0)
            return false;
    return str_starts(var, "DMLC_") || str_starts(var, "AWS_") || str_starts(var, "rabit_");
}

/* Has the user said it, by an option that counts more than what we know? */
static bool dmlc_said(const struct front_ask *a, const char *name, size_t n)
{
    for (size_t i = 0; i < a->args->n; i++) {
        const struct legacy_hit *h = &a->args->hits[i];

        if (legacy_is(h->option, "--env") && strncmp(h->value, name, n) == 0 && h->value[n] == '=')
            return true;
    }
    return false;
}

void dmlc_pass(const struct front_ask *a, struct front_call *c)
{
    for (char *const *e = a->env; e && *e; e++)
        if (passes(*e) && !dmlc_said(a, *e, strcspn(*e, "=")))
            front_option(c, "--env", "%s", *e);
}

void dmlc_env(const struct front_ask *a, struct front_call *c, const char *name, const char *fmt,
              ...)
{
    char *value = NULL;
    va_list ap;
    int n;

    if (dmlc_said(a, name, strlen(name)))
        return;
    va_start(ap, fmt);
    n = vasprintf(&value, fmt, ap);
    va_end(ap);
    c->failed |= n < 0;
    if (n < 0)
        return;
    front_option(c, "--env", "%s=%s", name, value);
    free(value);
}

/* ---- the command ---- */

static bool dmlc_is_file(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Out of this directory, so that it cannot have the same path on another machine. */
static bool is_outside(const char *word)
{
    return word[0] == '/' || str_starts(word, "../") || strstr(word, "/../");
}

/* A program of the system is on the other machines too, or must be. */
static bool is_installed(const struct front_ask *a, const char *word)
{
    static const char *const places[] = { "/usr/", "/bin/", "/sbin/", "/opt/" };
    const char *path = front_env(a, "PATH"), *slash = strrchr(word, '/');
    size_t n = slash ? (size_t)(slash - word) : 0;

    for (size_t i = 0; i < COUNT_OF(places); i++)
        if (str_starts(word, places[i]))
            return true;
    while (path && *path) {
        size_t len = strcspn(path, ":");

        if (len == n && strncmp(path, word, n) == 0)
            return true;
        path += len + (path[len] == ':');
    }
    return false;
}

int dmlc_needs(const struct front_ask *a, const char *count, struct err *err)
{
    if (!front_given(a, count)) {
        cli_bad(err, "the number of workers is missing (%s)", count);
        err_hint(err, "try: %s %s 2 python job.py", a->name, count);
        return CLI_USAGE;
    }
    if (a->args->command.n > 0)
        return 0;
    cli_bad(err, "a command is missing");
    err_hint(err, "try: %s %s 2 python job.py", a->name, count);
    return CLI_USAGE;
}

/* The script of "python3 -u train.py"; NULL when there is none, or when an option may hide it. */
static const char *python_script(const struct strs *command)
{
    const char *program = command->n ? command->v[0] : "", *slash = strrchr(program, '/');

    if (!str_starts(slash ? slash + 1 : program, "python"))
        return NULL;
    for (size_t i = 1; i < command->n; i++) {
        const char *word = command->v[i];

        if (str_eq(word, "-m") || str_eq(word, "-c"))
            return NULL;
        if (word[0] != '-')
            return str_ends(word, ".py") ? word : NULL;
    }
    return NULL;
}

int dmlc_script(const struct front_ask *a, const char *on, struct err *err)
{
    static const char *const bring[] = { "--files", "--archives", "--docker-image" };
    const char *script = python_script(&a->args->command);

    if (!script || script[0] == '/' || front_exists(script) || !str_eq(on, "yarn"))
        return 0;
    for (size_t i = 0; i < COUNT_OF(bring); i++)
        if (front_given(a, bring[i]))
            return 0;
    return cli_bad(err, "there is no script '%s'", script);
}

int dmlc_program(const char *word, struct strs *to)
{
    bool here = !strchr(word, '/') && dmlc_is_file(word);

    return here ? strs_take(to, str_printf("./%s", word)) : strs_add(to, word);
}

/* A scheduler on this machine runs in the user's directory, where files have the paths that they
 * always had. */
static int own_paths(const struct strs *command, struct front_call *c)
{
    AUTO_JSON *job = c->job ? json_loads(c->job, 0, NULL) : json_object();
    AUTO_JSON *own = NULL;
    json_t *words = json_array();
    bool here = false;

    for (size_t i = 0; i < c->words.n; i++)
        here = here || str_eq(c->words.v[i], "scheduler=1,place=client");
    for (size_t i = 0; words && i < command->n; i++)
        if (json_array_append_new(words, json_text(command->v[i])) < 0)
            words = (json_decref(words), NULL);
    if (json_make(&own, NULL, "{s:{s:{s:o}}}", "roles", "scheduler", "command", words) < 0 || !job)
        return -ENOMEM;
    if (!here)
        return 0;
    if (json_object_update_recursive(job, own) < 0)
        return -ENOMEM;
    front_job(c, job);
    return 0;
}

int dmlc_command(const struct front_ask *a, const struct strs *command, enum dmlc_files files,
                 struct front_call *c)
{
    bool moved = false;
    bool as_is = files != DMLC_SEND;
    AUTO_STRS words = { 0 };
    int r = 0;

    if (command->n > 0 && files != DMLC_AS_IS && !strchr(command->v[0], '/'))
        r = dmlc_program(command->v[0], &words);
    for (size_t i = words.n; r == 0 && i < command->n; i++) {
        const char *word = command->v[i];
        AUTO_FREE char *base = path_base(word);

        if (!base)
            return -ENOMEM;
        if (as_is || !is_outside(word) || !dmlc_is_file(word) ||
            (i == 0 && is_installed(a, word))) {
            r = strs_add(&words, word);
            continue;
        }
        front_option(c, "--files", "%s", word);
        r = strs_take(&words, str_printf("./%s", base));
        moved = true;
    }
    if (r == 0 && moved)
        r = own_paths(command, c);
    if (r == 0)
        front_command(c, &words);
    return r;
}

/* ---- files and names ---- */

static int dmlc_add_file(struct front_call *c, const char *file, struct err *err)
{
    if (!strstr(file, "://") && !front_exists(file))
        return cli_bad(err, "there is no file '%s'", file);
    front_option(c, "--files", "%s", file);
    return 0;
}

int dmlc_files(const struct front_ask *a, const char *option, const char *seps,
               struct front_call *c, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < a->args->n; i++) {
        AUTO_STRS files = { 0 };

        if (!legacy_is(a->args->hits[i].option, option))
            continue;
        r = strs_split(&files, a->args->hits[i].value, seps);
        for (size_t k = 0; r == 0 && k < files.n; k++)
            r = dmlc_add_file(c, files.v[k], err);
    }
    return r;
}

/* --ship-libcxx DIR: the C++ library of this machine for the tasks. */
static int dmlc_libcxx(const struct front_ask *a, struct front_call *c, struct err *err)
{
    const char *dir = front_value(a, "--ship-libcxx"), *path = front_env(a, "LD_LIBRARY_PATH");
    AUTO_FREE char *file = dir ? path_join(dir, "libstdc++.so.6") : NULL;
    int r;

    if (!dir)
        return 0;
    r = file ? dmlc_add_file(c, file, err) : -ENOMEM;
    if (r == 0)
        dmlc_env(a, c, "LD_LIBRARY_PATH", ".%s%s", path ? ":" : "", path ? path : "");
    return r;
}

/* --jobname, or the name that they made up: "DMLC[nworker=2,nsever=1]:python". The misspelling is
 * theirs: scripts look for it. */
static void dmlc_name(const struct front_ask *a, const struct dmlc *f, struct front_call *c)
{
    const char *said_name = front_value(a, "--jobname");
    AUTO_FREE char *base = path_base(a->args->command.n ? a->args->command.v[0] : "");
    char program[21]; /* they show as much of it */

    c->failed |= !base;
    if (!base || front_given(a, "--name"))
        return;
    auto_name_clean(base, strlen(base), program, sizeof(program));
    if (said_name && !str_eq(said_name, "auto"))
        front_option(c, "--name", "%s", said_name);
    else if (f->servers > 0)
        front_option(c, "--name", "DMLC[nworker=%lld,nsever=%lld]:%s", (long long)f->workers,
                     (long long)f->servers, program);
    else
        front_option(c, "--name", "DMLC[nworker=%lld]:%s", (long long)f->workers, program);
}

/* ---- the cluster's configuration ---- */

static bool try_conf(struct front_call *c, const char *home, const char *below)
{
    AUTO_FREE char *dir = str_printf("%s/%s", home, below);
    AUTO_FREE char *file = dir ? str_printf("%s/core-site.xml", dir) : NULL;

    c->failed |= !file;
    if (!file || !dmlc_is_file(file))
        return false;
    front_option(c, "--conf", "%s", dir);
    return true;
}

void dmlc_conf(const struct front_ask *a, const char *binary, struct front_call *c)
{
    AUTO_FREE char *bin = binary ? path_dir(binary) : NULL;
    AUTO_FREE char *above = bin ? path_dir(bin) : NULL;
    const char *homes[] = { above, front_env(a, "HADOOP_HOME"), front_env(a, "HADOOP_PREFIX") };

    if (front_given(a, "--conf") || front_env(a, "HADOOP_CONF_DIR"))
        return;
    for (size_t i = 0; i < COUNT_OF(homes); i++)
        if (homes[i] && (try_conf(c, homes[i], "etc/hadoop") || try_conf(c, homes[i], "conf")))
            return;
}

/* ---- what cannot be meant ---- */

void dmlc_kvstore(const struct strs *command, struct front_call *c)
{
    static const char *const options[] = { "--kv-store", "--kvstore", "--kv_store" };

    for (size_t i = 0; i < command->n; i++)
        for (size_t k = 0; k < COUNT_OF(options); k++) {
            size_t n = strlen(options[k]);
            const char *word = command->v[i], *value = NULL;

            if (str_starts(word, options[k]) && word[n] == '=')
                value = word + n + 1;
            else if (str_eq(word, options[k]) && i + 1 < command->n)
                value = command->v[i + 1];
            if (!value || strstr(value, "dist") || str_starts(value, "horovod"))
                continue;
            front_note(
                c,
                "'%s %s' is a store within one process: each worker would train alone, and servers "
                "and scheduler would do nothing; use %s to train together",
                options[k], value, strstr(value, "async") ? "dist_async" : "dist_sync");
            return;
        }
}

/* ---- what dmlc-core's launchers share ---- */

int dmlc_launcher(const struct front_ask *a, const struct dmlc *f, const struct dmlc_options *o,
                  struct front_call *c, struct err *err)
{
    const char *temp = front_value(a, o->staging), *log = front_value(a, "--log-file");
    int r;

    dmlc_name(a, f, c);
    r = dmlc_files(a, o->files, o->between, c, err);
    if (r == 0)
        r = dmlc_libcxx(a, c, err);
    if (r < 0)
        return r;
    dmlc_conf(a, o->hadoop ? front_value(a, o->hadoop) : NULL, c);
    if (temp && !str_eq(temp, "/tmp"))
        front_option(c, "--staging", "%s", temp);
    if (str_eq(front_value(a, "--log-level"), "DEBUG"))
        front_add(c, "--verbose");
    if (log) {
        c->log_file = strdup(log);
        c->failed |= !c->log_file;
    }
    if (f->servers > 0)
        dmlc_kvstore(&a->args->command, c);
    return 0;
}
