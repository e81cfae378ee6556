/* restore_private.h - what engine_restore.c (the job's records) and engine_restore_task.c (the
 * tasks') share. Each function does to the engine what its record says, of the time `t`. */
#pragma once
#include "job/engine/engine_private.h"

/* Fields of a record: a wrong type is as good as none. */
uint32_t restore_u32(const json_t *v, const char *key, uint32_t without); /* below UINT32_MAX */
const char *restore_text(const json_t *v, const char *key);               /* NULL: none */
/* The task that the record names, also one that was scaled away; NULL: there is none. */
struct unit *restore_unit(const struct engine *e, const json_t *v);
struct unit *restore_unit_named(const struct engine *e, const char *name); /* NULL name: none */

/* A role by its name, which has `n` bytes; NULL: there is none. */
struct role *restore_role(const struct engine *e, const char *name, size_t n);
/* Its ports; says whether it had others before. */
bool restore_ports(struct unit *u, const json_t *v);
/* The facts of a failure, with strings borrowed from the record; its class and task are left out.
 */
void restore_facts(const json_t *v, int64_t t, struct failure *ret);

#define RESTORE_METRICS_MAX (16 * KIB)          /* of a task, as text */
#define RESTORE_DELAY_MAX INT64_C(100000000000) /* three years */

/* When the record's `delay` is over. */
static inline int64_t restore_later(int64_t t, const json_t *v)
{
    int64_t delay = json_int_or(v, "delay", 0);

    return delay < 0 || delay > RESTORE_DELAY_MAX ? t : t + delay;
}

void restore_task(struct engine *e, const json_t *v, int64_t t);
void restore_ready(struct engine *e, const json_t *v, int64_t t);
void restore_progress(struct engine *e, const json_t *v, int64_t t);
void restore_failure(struct engine *e, const json_t *v, int64_t t);
void restore_container(struct engine *e, const json_t *v, int64_t t);

/* ---- engine_summary_read.c ---- */
void summary_restore(struct engine *e, const json_t *v); /* one of its records */
void summary_close(struct engine *e);                    /* that was all of it, if it was one */
