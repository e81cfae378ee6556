/* kv_effects.c - requests to the key-value store that affect more than the store: progress
 * reports, notes, moves and scaling go to the engine; replies and changes go to whoever keeps a
 * copy of the store. */
#include "master/master_private.h"

static void kv_effects_on_progress(void *user, uint32_t task, int64_t step, int64_t total,
                                   const char *metrics)
{
    struct master *m = user;

    engine_on_progress(m->engine, task, step, total, metrics, master_now(m));
    master_wake(m);
}

/* A task may scale its own job: only processes of the same user can connect to its socket. */
static int kv_effects_on_scale(void *user, uint32_t task, const char *role, unsigned count,
                               struct err *err)
{
    struct master *m = user;
    char name[ENGINE_NAME_MAX];
    int r = engine_scale(m->engine, role, count, engine_task_name(m->engine, task, name),
                         master_now(m), err);

    master_wake(m);
    return r;
}

static int kv_effects_on_leaving(void *user, const struct kv_word *roles, size_t n, struct buf *out)
{
    return leaving_list(user, roles, n, out);
}

static int kv_effects_on_move(void *user, uint32_t task, const char *which, uint32_t attempt,
                              struct err *err)
{
    struct master *m = user;
    char name[ENGINE_NAME_MAX];
    uint32_t id = 0;
    int r = engine_find_task(m->engine, which, &id, err);

    if (r == 0)
        r = engine_move(m->engine, id, attempt, engine_task_name(m->engine, task, name),
                        master_now(m), err);
    master_wake(m);
    return r;
}

static int kv_effects_on_note(void *user, uint32_t task, const char *text, struct err *err)
{
    struct master *m = user;
    int r = engine_on_task_note(m->engine, task, text, master_now(m), err);

    master_wake(m);
    return r;
}

static void kv_effects_on_reply(void *user, uint32_t task, uint64_t id, const struct kv_word *words,
                                size_t n)
{
    const struct master *m = user;

    m->ops->copy->reply(user, task, id, words, n);
}

static void kv_effects_on_change(void *user, const struct kv_change *c)
{
    const struct master *m = user;

    m->ops->copy->change(user, c);
}

static unsigned on_role_size(void *user, uint32_t task)
{
    struct master *m = user;

    return task == MASTER_API_TASK ? 1 : form_role_size(m, engine_task(m->engine, task));
}

const struct kv_events drive_kv_events = {
    .on_reply = kv_effects_on_reply,
    .on_progress = kv_effects_on_progress,
    .on_role_size = on_role_size,
    .on_scale = kv_effects_on_scale,
    .on_leaving = kv_effects_on_leaving,
    .on_move = kv_effects_on_move,
    .on_note = kv_effects_on_note,
    .on_change = kv_effects_on_change,
    .on_late = barrier_late,
};
