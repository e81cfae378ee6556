/* barrier.c - says who did not come to a barrier when somebody has waited for them in vain. The
 * program hears only that its time is over; which task hangs is for people to read. */
#include "master/master_private.h"

#include <string.h>

#define NOTES_MAX 16 /* of one generation: a program may try again for ever */
#define NAMED_MAX 5

static bool has_come(const struct kv_late *l, uint32_t task)
{
    for (size_t i = 0; i < l->n_came; i++)
        if (l->came[i].task == task)
            return true;
    return false;
}

/* Who was waited for: a role, or all. False: any so many. */
static bool barrier_is_wanted(const struct master *m, const struct kv_late *l, const struct task *t)
{
    const struct task *one = engine_task(m->engine, l->came[0].task);
    uint32_t all = 0;

    if (l->usual || l->need == engine_role_tasks(m->engine, one->role))
        return t->role == one->role;
    for (const struct task *x = NULL; (x = engine_next_in_gang(m->engine, x));)
        all++;
    return l->need == all;
}

/* A barrier for "any four" of a hundred tasks has no missing ones that could be named: then the
 * line ends with the count alone. */
static int name_missing(const struct master *m, const struct kv_late *l, struct buf *out)
{
    char name[ENGINE_NAME_MAX];
    unsigned n = 0;
    int r = 0;

    for (const struct task *t = NULL; r == 0 && (t = engine_next_in_gang(m->engine, t));) {
        if (has_come(l, t->id) || !barrier_is_wanted(m, l, t) || n++ >= NAMED_MAX)
            continue;
        r = buf_printf(out, "%s%s", n == 1 ? "; missing: " : ", ",
                       engine_task_name(m->engine, t->id, name));
    }
    return r < 0 || n <= NAMED_MAX ? r : buf_printf(out, " and %u more", n - NAMED_MAX);
}

void barrier_late(void *user, const struct kv_late *l)
{
    struct master *m = user;
    AUTO_BUF text = { .max = 4 * KIB };
    char raw[64], name[sizeof(raw)];
    size_t n = l->name.n < sizeof(raw) ? l->name.n : sizeof(raw) - 1;

    if (l->n_came == 0 || l->came[0].task == MASTER_API_TASK || m->form.late_notes >= NOTES_MAX)
        return;
    m->form.late_notes++;
    memcpy(raw, l->name.p, n);
    raw[n] = '\0';
    (void)str_clean(name, sizeof(name), raw);
    if (buf_printf(&text, "barrier '%s': %zu of %zu tasks came in time", name, l->n_came,
                   l->need) == 0 &&
        name_missing(m, l, &text) == 0 && buf_text(&text))
        master_note(m, buf_text(&text));
}
