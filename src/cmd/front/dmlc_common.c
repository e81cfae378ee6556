/* dmlc_common.c - the part of a translation that ydl-mx, dmlc-yarn, dmlc-submit and ydl-launch
 * share: from a described job to the words of `ydl run`, with the attempts that dmlc-core allowed.
 */
#include "cmd/front/dmlc_common.h"

/* ---- roles ---- */

static void dmlc_add_role(const struct dmlc *f, struct front_call *c, const char *name)
{
    bool sized = f->sized || str_eq(f->on, "yarn"), server = str_eq(name, "server");
    int64_t count = server ? f->servers : f->workers;
    int64_t cpus = !sized ? 0 : server ? f->server_cpus : f->worker_cpus;
    const char *memory = !sized ? NULL : server ? f->server_memory : f->worker_memory;
    AUTO_FREE char *mem = str_printf("%s%s", memory ? ",memory=" : "", memory ? memory : "");

    c->failed |= !mem;
    if (mem && cpus > 0)
        front_option(c, "--role", "%s=%lld%s,cpus=%lld", name, (long long)count, mem,
                     (long long)cpus);
    else if (mem)
        front_option(c, "--role", "%s=%lld%s", name, (long long)count, mem);
}

static int add_scheduler(const struct front_ask *a, const struct dmlc *f, struct front_call *c,
                         struct err *err)
{
    const char *where = f->scheduler ? f->scheduler : front_attached(a) ? "client" : "cluster";

    if (f->servers == 0 || !str_eq(f->on, "yarn"))
        return 0; /* on one machine all places are the same */
    if (str_eq(where, "client") && !front_attached(a))
        return cli_bad(
            err, "with --detach the scheduler cannot run on this machine: use --scheduler cluster");
    front_option(c, "--role", "scheduler=1%s", str_eq(where, "client") ? ",place=client" : "");
    if (str_eq(where, "client") && f->address)
        front_option(c, "--client-address", "%s", f->address);
    return 0;
}

/* ---- without Python ---- */

/* Theirs named what the program was written in; scala and the others ran it for servers too, which
 * is what is done with any program. */
const char *const dmlc_schedulers[] = { "client", "cluster", NULL };
const char *const dmlc_trackers[] = { "rabit", "xgboost", NULL };
const char *const dmlc_levels[] = { "INFO", "DEBUG", NULL };
const char *const dmlc_natives[] = { "auto", "yes", "no", "python", "scala", "cpp", "java", NULL };

void dmlc_native(const struct front_ask *a, struct front_call *c)
{
    static const char *const ours[] = { "auto", "yes", "no" };
    const char *said = front_value(a, "--native");

    for (size_t i = 0; said && i < COUNT_OF(ours); i++)
        if (str_eq(said, ours[i])) {
            front_option(c, "--native", "%s", said);
            return;
        }
    if (said && !str_eq(said, "python"))
        front_note(c,
                   "--native %s is not needed: a program in any language is run as it is, for "
                   "servers too; --native yes runs ydl's own servers",
                   said);
}

/* ---- restarts ---- */

int64_t dmlc_attempts(const struct front_ask *a, const char *on, const char *option)
{
    const char *env = front_env(a, "DMLC_MAX_ATTEMPT");
    int64_t n;

    if (option && front_given(a, option))
        return legacy_number(&a->syntax, a->args, option, 1);
    if (env && str_to_i64(env, 1, INT32_MAX, &n) == 0)
        return n;
    return str_eq(on, "yarn") ? DMLC_ATTEMPTS : 1;
}

/* Attempts count the first one. */
static void add_restarts(const struct dmlc *f, struct front_call *c)
{
    if (str_eq(f->on, "yarn"))
        front_option(c, "--avoid", "all");
    if (f->attempts > 1)
        front_option(c, "--max-restarts", "%lld", (long long)f->attempts - 1);
}

int dmlc_words(const struct front_ask *a, const struct dmlc *f, struct front_call *c,
               struct err *err)
{
    const char *framework = f->servers > 0 || !f->tracker ? "mxnet" : f->tracker;

    front_option(c, "--on", "%s", f->on);
    front_option(c, "--framework", "%s", framework);
    dmlc_add_role(f, c, "worker");
    if (str_eq(framework, "mxnet"))
        dmlc_add_role(f, c, "server");
    if (add_scheduler(a, f, c, err) < 0)
        return CLI_USAGE;
    add_restarts(f, c);
    front_option(c, "--env", "DMLC_JOB_CLUSTER=%s", f->on);
    return 0;
}
