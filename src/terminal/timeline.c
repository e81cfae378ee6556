/* timeline.c - the first of each phase counts, because later ones are of restarts. Phases that
 * were not noted are found in other records by a table. See timeline.h. */
#include "terminal/timeline.h"
#include "base/str.h"
#include "terminal/format.h"

#include <strings.h>

static const struct {
    const char *key, *name;
} whos[TIMELINE_WHO_] = {
    [TIMELINE_YDL] = { "ydl", "ydl" },
    [TIMELINE_RM] = { "rm", "ResourceManager" },
    [TIMELINE_NM] = { "nm", "NodeManager" },
    [TIMELINE_USER] = { "user", "the job itself" },
};

/* Who was waited for in a phase, when its record does not say it. */
static const struct {
    const char *name;
    enum timeline_who who;
} names[PHASES_] = {
    [PHASE_COMMAND] = { "command", TIMELINE_YDL },
    [PHASE_STAGED] = { "staged", TIMELINE_YDL },
    [PHASE_SUBMITTED] = { "submitted", TIMELINE_YDL },
    [PHASE_ACCEPTED] = { "accepted", TIMELINE_RM },
    [PHASE_MASTER] = { "master", TIMELINE_NM },
    [PHASE_REGISTERED] = { "registered", TIMELINE_RM },
    [PHASE_ASKED] = { "asked", TIMELINE_YDL },
    [PHASE_GRANTED] = { "granted", TIMELINE_RM },
    [PHASE_AGENTS] = { "agents", TIMELINE_NM },
    [PHASE_PREPARED] = { "prepared", TIMELINE_YDL },
    [PHASE_RUNNING] = { "running", TIMELINE_YDL },
    [PHASE_ENDED] = { "ended", TIMELINE_USER },
    [PHASE_FINISHED] = { "finished", TIMELINE_YDL },
};

/* Other records that tell of a phase. `last`: the last of them counts, as long as the job has not
 * begun to run. */
static const struct {
    const char *event, *state;
    enum timeline_phase phase;
    bool last;
} hints[] = {
    { "job", "NEW", PHASE_MASTER, false },      { "job", "ASKING", PHASE_ASKED, false },
    { "task", "GRANTED", PHASE_GRANTED, true }, { "agent", "UP", PHASE_AGENTS, true },
    { "task", "READY", PHASE_PREPARED, true },  { "task", "RUNNING", PHASE_RUNNING, true },
    { "job", "FINISHING", PHASE_ENDED, false }, { "end", NULL, PHASE_FINISHED, false },
};

void timeline_init(struct timeline *t)
{
    *t = (struct timeline){ 0 };
    for (int i = 0; i < PHASES_; i++)
        t->phases[i].who = -1;
}

static int who_of(const char *key)
{
    for (int i = 0; i < TIMELINE_WHO_; i++)
        if (str_eq(whos[i].key, key))
            return i;
    return -1;
}

/* A phase that was noted. The first of each name counts: later ones are of restarts. */
static void add_noted(struct timeline *t, const json_t *record)
{
    const char *name = format_text(record, "name");
    int64_t at = json_int_or(record, "time", json_int_or(record, "t", 0));

    for (int i = 0; i < PHASES_; i++) {
        if (!str_eq(names[i].name, name) || t->phases[i].noted)
            continue;
        t->phases[i].noted = true;
        t->phases[i].at = at;
        t->phases[i].who = who_of(format_text(record, "who"));
    }
}

void timeline_add(struct timeline *t, const json_t *record)
{
    const char *event = format_text(record, "event"), *state = format_text(record, "state");
    int64_t at = json_int_or(record, "t", 0);

    if (str_eq(event, "phase") || str_eq(format_text(record, "kind"), "phase")) {
        add_noted(t, record);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(hints); i++) {
        enum timeline_phase p = hints[i].phase;

        if (!str_eq(hints[i].event, event) ||
            (hints[i].state && strcasecmp(hints[i].state, state) != 0))
            continue;
        if (!t->phases[p].noted && (t->phases[p].at == 0 || (hints[i].last && !t->ran)))
            t->phases[p].at = at;
    }
    if (str_eq(event, "job") && str_eq(state, "RUNNING"))
        t->ran = true;
    if (str_eq(format_text(record, "platform"), "local"))
        t->local = true;
}

/* ---- rows ---- */

static enum timeline_who whose(const struct timeline *t, int phase)
{
    if (t->phases[phase].who >= 0)
        return (enum timeline_who)t->phases[phase].who;
    return t->local && phase != PHASE_ENDED ? TIMELINE_YDL : names[phase].who;
}

/* What a phase took is the time since the one before it, whichever that is: phases that nobody
 * noted are left out, and their time is in the next one. Sums of all rows are the time from first
 * to last. */
size_t timeline_rows(const struct timeline *t, struct timeline_row rows[PHASES_],
                     int64_t sums[TIMELINE_WHO_])
{
    int64_t first = 0, before = 0;
    size_t n = 0;

    for (int i = 0; i < TIMELINE_WHO_; i++)
        sums[i] = 0;
    for (int i = 0; i < PHASES_; i++) {
        int64_t at = t->phases[i].at;
        struct timeline_row *row = &rows[n];

        if (at <= 0)
            continue;
        if (n++ == 0)
            first = before = at;
        if (at < before) /* clocks of two machines, or containers that were granted late */
            at = before;
        row->name = names[i].name;
        row->at = at - first;
        row->took = at - before;
        row->who = whose(t, i);
        sums[row->who] += row->took;
        before = at;
    }
    return n;
}

const char *timeline_who_key(enum timeline_who w)
{
    return whos[w].key;
}

const char *timeline_who_name(enum timeline_who w)
{
    return whos[w].name;
}
