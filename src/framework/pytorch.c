/* pytorch.c - torch.distributed with the environment that torchrun would make.
 *
 * torchrun itself is not needed: what it adds to an environment (a store, restarts with new ranks)
 * is the master's work here, with ranks that stay. The store is rank 0's: it listens on
 * MASTER_PORT, so no task may assume that an agent holds that port. */
#include "framework/frameworks.h"
#include "framework/task.h"
#include "job/engine/policy.h"

#include <string.h>

#define ERROR_TEXT_MAX 4096 /* bytes of a message that are worth telling */

static const struct framework_role roles[] = {
    { .name = "master",
      .decides = true,
      .ranked = true,
      .one = true,
      .ports = 1,
      .doc = "rank 0, if it differs from the others; optional" },
    { .name = "worker", .decides = true, .ranked = true, .ports = 1, .doc = "trains" },
    { 0 },
};

static void ranks(struct env *e, const struct world *w)
{
    env_number(e, "RANK", w->rank);
    env_number(e, "WORLD_SIZE", w->size);
    env_number(e, "LOCAL_RANK", w->local_rank);
    env_number(e, "LOCAL_WORLD_SIZE", w->local_size);
    env_number(e, "GROUP_RANK", w->slot);
    env_number(e, "GROUP_WORLD_SIZE", w->slots);
    env_text(e, "ROLE_NAME", e->t->role->name);
    env_number(e, "ROLE_RANK", w->role_rank);
    env_number(e, "ROLE_WORLD_SIZE", w->role_size);
}

static long long max_restarts(const struct framework_task *t)
{
    struct policy_restart p = policy_of_role(t->spec, t->role, t->framework->restart);

    return p.policy == SPEC_RESTART_NEVER ? 0 : p.max;
}

/* Several processes that each use every core of their machine are slower than one thread each,
 * which is what torchrun gives them. A process that is alone may use all. */
static unsigned threads(const struct framework_task *t, const struct world *w)
{
    unsigned own = t->role->cpus / w->local_size;

    if (w->local_size == 1 && !world_shares_machine(t, w))
        return 0;
    return own > 1 ? own : 1;
}

/* TonY's names: its examples read no others. */
static void tonys(struct env *e, const struct world *w)
{
    char address[TASK_ADDRESS_MAX];

    env_number(e, "WORLD", w->size);
    env_printf(e, "INIT_METHOD", "tcp://%s", task_address(w->first, address));
}

/* USE_AGENT_STORE is "False" because with "True" every rank would be a client of a store that an
 * agent keeps; ERROR_FILE alone is enough for torch's @record to write down what failed. */
int pytorch_task(const struct framework_task *t, struct err *err)
{
    struct env e = env_of(t);
    struct world w;
    unsigned n;

    if (!world_of(t, &w))
        return 0;
    ranks(&e, &w);
    tonys(&e, &w);
    env_text(&e, "MASTER_ADDR", w.first->host);
    env_number(&e, "MASTER_PORT", w.first->port[0]);
    env_number(&e, "TORCHELASTIC_RESTART_COUNT", t->attempt);
    env_number(&e, "TORCHELASTIC_MAX_RESTARTS", max_restarts(t));
    env_text(&e, "TORCHELASTIC_RUN_ID", t->job);
    env_text(&e, "TORCHELASTIC_USE_AGENT_STORE", "False");
    if (t->error_file)
        env_text(&e, "TORCHELASTIC_ERROR_FILE", t->error_file);
    if (!task_said(t, "TORCH_NCCL_ASYNC_ERROR_HANDLING"))
        env_text(&e, "TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
    n = task_said(t, "OMP_NUM_THREADS") ? 0 : threads(t, &w);
    if (n > 0)
        env_number(&e, "OMP_NUM_THREADS", n);
    return env_end(&e, err);
}

/* Seconds, as text or as a number; 0 when it says neither. */
static int64_t seconds(const json_t *v)
{
    int64_t n = 0;

    if (json_is_string(v) && str_to_i64(json_string_value(v), 0, INT64_MAX / 1000, &n) < 0)
        return 0;
    if (json_is_number(v) && json_number_value(v) > 0 && json_number_value(v) < 1e12)
        n = (int64_t)json_number_value(v);
    return n;
}

/* {"message": {"message": "ValueError: …", "extraInfo": {"timestamp": "1763274830"}}}, or with a
 * plain text as the outer message. The time is wanted because several tasks write such a file when
 * one of them fails: the earliest is taken for the cause, as torchrun does. */
int pytorch_error(const void *p, size_t n, char **ret_text, int64_t *ret_time)
{
    AUTO_JSON *all = NULL;
    const json_t *message, *text;
    int r = json_parse("error file", p, n, &all, NULL);

    if (r < 0)
        return r;
    message = json_object_get(all, "message");
    text = json_is_object(message) ? json_object_get(message, "message") : message;
    if (!json_is_string(text))
        return -EINVAL;
    *ret_text = strndup(json_string_value(text), ERROR_TEXT_MAX);
    if (!*ret_text)
        return -ENOMEM;
    *ret_time = 1000 * seconds(json_object_get(json_object_get(message, "extraInfo"), "timestamp"));
    return 0;
}

const struct framework framework_pytorch = {
    .name = "pytorch",
    .summary = "PyTorch (torch.distributed) with torchrun's environment",
    .doc =
        "Workers (-n) get RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT and everything else that "
        "torchrun sets, and TonY's WORLD and INIT_METHOD. With --procs P each container runs P "
        "processes, "
        "LOCAL_RANK 0 to P-1. If several processes share a machine, OMP_NUM_THREADS is 1, or with "
        "--cpus the cores of one process, unless you set it. If there is a role 'master', it is "
        "rank 0. An error recorded by torch's @record is shown as the cause of a failure. The job "
        "succeeds when all tasks succeed; a restart restarts all of them, with the same ranks.",
    .aliases = (const char *const[]){ "torch", "torchrun", NULL },
    .proven = true,
    .roles = roles,
    .restart = SPEC_RESTART_GANG,
    .port = FRAMEWORK_PORT_SHARE, /* the store sets SO_REUSEADDR */
    .task = pytorch_task,
    .error = pytorch_error,
};
