/* task.h - what the frameworks' own files share: setting variables, and the world of ranks.
 *
 * Private to framework/. Pure. */
#pragma once
#include "framework/framework.h"

/* Roles of many frameworks: workers that train and decide; and those that listen, too. */
extern const struct framework_role task_workers[], task_listeners[];

/* Variables of one task. The first failure stays, so that a framework can set a row of them and
 * look once:
 *
 *     struct env e = env_of(t);
 *
 *     env_number(&e, "RANK", w.rank);
 *     env_text(&e, "MASTER_ADDR", w.first->host);
 *     return env_end(&e, err); */
struct env {
    const struct framework_task *t;
    int r;
};

static inline struct env env_of(const struct framework_task *t)
{
    return (struct env){ .t = t };
}
void env_text(struct env *e, const char *name, const char *value);
void env_number(struct env *e, const char *name, long long value);
void env_printf(struct env *e, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int env_end(const struct env *e, struct err *err);

/* Whether the user has set a variable: in the job, in the role, or in what tasks inherit. A
 * framework asks before it sets a mere default. (What the specification says wins over the
 * framework in any case.) */
bool task_said(const struct framework_task *t, const char *name);

/* Where a task stands among all that train: the tasks of the `ranked` roles, in the order of the
 * framework's table. `local` is within the container, because there a process sees its GPUs and its
 * files; a slot is a container. */
struct world {
    unsigned rank, size;
    unsigned role_rank, role_size;
    unsigned slot, slots; /* containers */
    unsigned local_rank, local_size;
    const struct cluster_task *self, *first; /* itself, and rank 0 */
};

/* False when the task's role is not ranked: it belongs to the job, not to the training. */
bool world_of(const struct framework_task *t, struct world *ret);

/* Whether another task of the world runs on the same machine, in this container or another one. */
bool world_shares_machine(const struct framework_task *t, const struct world *w);

/* The one task of a role, or the first; NULL when there is none. */
const struct cluster_task *task_first(const struct framework_task *t, const char *role);
size_t task_count(const struct framework_task *t, const char *role);

/* "host:port" of every task of a role, with `between` between them. IPv6 stands in brackets. */
int task_hosts(const struct framework_task *t, const char *role, const char *between,
               struct buf *out);
/* "host:port" of one task; `out` holds TASK_ADDRESS_MAX. */
#define TASK_ADDRESS_MAX 64
const char *task_address(const struct cluster_task *c, char out[TASK_ADDRESS_MAX]);
