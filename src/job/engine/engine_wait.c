/* engine_wait.c - a sentence about what the job waits for. */
#include "job/engine/engine_private.h"

static const char *engine_wait_s(uint32_t n)
{
    return n == 1 ? "" : "s";
}

static void add_resources(const struct role *r, struct buf *out)
{
    const struct spec_role *s = r->spec;
    const char *between = " (";
    char size[STR_SIZE_MAX];

    if (s->memory) {
        (void)buf_printf(out, "%s%s", between, str_size(s->memory, size));
        between = ", ";
    }
    if (s->cpus) {
        (void)buf_printf(out, "%s%u CPU%s", between, s->cpus, s->cpus == 1 ? "" : "s");
        between = ", ";
    }
    if (s->gpus) {
        (void)buf_printf(out, "%s%u GPU%s", between, s->gpus, s->gpus == 1 ? "" : "s");
        between = ", ";
    }
    if (*between == ',')
        (void)buf_add_str(out, ")");
}

/* "have 5 of 8 containers; waiting for 3 × worker (4 GB, 1 GPU) on label 'gpu'" */
static void asking(const struct engine *e, struct buf *out)
{
    uint32_t have = e->in[SLOT_GRANTED] + e->in[SLOT_UP];
    const char *between = "; waiting for ";

    (void)buf_printf(out, "have %u of %u container%s", have, have + e->in[SLOT_ASKED],
                     engine_wait_s(have + e->in[SLOT_ASKED]));
    for (uint32_t i = 0; i < e->n_roles; i++) {
        const struct role *r = &e->roles[i];
        const char *label = r->spec->label ? r->spec->label : e->spec->label;

        if (r->in[SLOT_ASKED] == 0)
            continue;
        (void)buf_printf(out, "%s%u × %s", between, r->in[SLOT_ASKED], r->spec->name);
        add_resources(r, out);
        if (label)
            (void)buf_printf(out, " on label '%s'", label);
        between = ", ";
    }
    for (uint32_t i = 0; i < e->n_slots; i++)
        if (e->slots[i].state == SLOT_ASKED && e->slots[i].refused > 0) {
            (void)buf_printf(out, ": %s", e->refusal);
            break;
        }
    if (e->in[SLOT_ASKED] == 0 && e->in[SLOT_GRANTED] > 0)
        (void)buf_printf(out, "; preparing %u node%s", e->in[SLOT_GRANTED],
                         engine_wait_s(e->in[SLOT_GRANTED]));
}

static void forming(const struct engine *e, struct buf *out)
{
    if (e->reforming)
        (void)buf_printf(out, "waiting for %u task%s to end before all start again", e->n_live,
                         engine_wait_s(e->n_live));
    else if (!e->forming)
        (void)buf_printf(out, "preparing %u of %u task%s",
                         e->n_tasks - e->n_kept - e->n[TASK_READY], e->n_tasks,
                         engine_wait_s(e->n_tasks));
}

static void running(const struct engine *e, struct buf *out)
{
    static const char *const words[] = { [SPEC_AFTER_STARTED] = "started",
                                         [SPEC_AFTER_READY] = "ready",
                                         [SPEC_AFTER_FINISHED] = "finished" };
    const char *between = "";

    for (uint32_t i = 0; i < e->n_roles; i++) {
        const struct role *r = &e->roles[i];

        if (r->open)
            continue;
        (void)buf_printf(out, "%s%s waits until", between, r->spec->name);
        for (size_t k = 0; k < r->spec->after.n; k++)
            (void)buf_printf(out, "%s %s is %s", k ? " and" : "", r->spec->after.v[k].role,
                             words[r->spec->after.v[k].when]);
        between = "; ";
    }
    if (e->in[SLOT_ASKED] > 0) {
        (void)buf_add_str(out, between);
        asking(e, out);
    }
}

void engine_waiting_for(const struct engine *e, struct buf *out)
{
    if (e->n_away > 0 && !job_has_ended(e->state)) {
        (void)buf_printf(out, "waiting for %u agent%s to reconnect", e->n_away,
                         engine_wait_s(e->n_away));
        return;
    }
    switch (e->state) {
    case JOB_ASKING:
        if (e->backing_off)
            (void)buf_printf(out,
                             "not enough room for all containers at once (%u attempt%s); released "
                             "them, trying again soon",
                             e->rounds, engine_wait_s(e->rounds));
        else
            asking(e, out);
        break;
    case JOB_FORMING:
        forming(e, out);
        break;
    case JOB_RUNNING:
        running(e, out);
        break;
    case JOB_FINISHING:
        if (e->n_live > 0)
            (void)buf_printf(out, "waiting for %u task%s to end", e->n_live,
                             engine_wait_s(e->n_live));
        break;
    default:
        break;
    }
}
