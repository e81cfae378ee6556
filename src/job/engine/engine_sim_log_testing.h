/* engine_sim_log_testing.h - what the log of a pretended job says, as a reader sees it. */
#pragma once
#include "job/engine/engine_sim_testing.h"

static bool has(const char *line, const char *what)
{
    const char *found = strstr(line, what);

    return found && found < strchr(line, '\n');
}

static int64_t number(const char *line, const char *key)
{
    const char *found = strstr(line, key);
    int64_t v = 0;

    if (found)
        (void)sscanf(found + strlen(key), "%" SCNd64, &v);
    return v;
}

static uint32_t task_in(struct sim *w, const char *line)
{
    char name[32] = "";
    uint32_t id = 0;

    CHECK(w, sscanf(strstr(line, "\"task\":\"") + 8, "%31[^\"]", name) == 1);
    if (engine_find_task(w->e, name, &id, NULL) < 0)
        return UINT32_MAX; /* scaled away */
    return id;
}

static void set_down(struct sim *w, uint32_t id, bool on)
{
    w->n_down += (uint32_t)on - (uint32_t)w->tasks[id].down;
    w->tasks[id].down = on;
    if (w->n_down == 0)
        w->story = INT64_MAX;
}

/* All that are in its container. */
static void read_move(struct sim *w, const char *line)
{
    uint32_t id = task_in(w, line), role, first, n;

    if (id == UINT32_MAX)
        return;
    engine_slot(w->e, engine_task(w->e, id)->slot, &role, &first, &n);
    for (uint32_t i = first; i < first + n; i++)
        w->tasks[i].restarts = true;
}

/* Whose end is no success though it ended well: they are started again. */
static void read_restarts(struct sim *w, const char *line)
{
    bool asked = has(line, "\"event\":\"request\",\"what\":\"restart\",\"task\"");
    bool begins = has(line, "\"event\":\"task\"") &&
                  (has(line, "\"state\":\"PREPARING\"") || has(line, "\"state\":\"WAITING\""));
    uint32_t id;

    if (has(line, "\"event\":\"restart\",\"what\":\"gang\""))
        w->reforming = true;
    if (has(line, "\"event\":\"request\",\"what\":\"move\""))
        read_move(w, line);
    if (has(line, "\"event\":\"gang\",\"step\":\"returns\""))
        w->reforming = false;
    if (!asked && !begins)
        return;
    id = task_in(w, line);
    if (id != UINT32_MAX)
        w->tasks[id].restarts = asked;
}

/* It runs, or has done all that it had to. */
static bool is_well(const struct sim *w, const char *line, uint32_t id)
{
    if (w->finishing)
        return false;
    if (has(line, "\"state\":\"RUNNING\""))
        return !engine_task(w->e, id)->stopping;
    return !w->reforming && !w->tasks[id].restarts;
}

/* Keeps the story as a reader of the log would. */
static void read_line(struct sim *w, const char *line)
{
    bool failure = has(line, "\"event\":\"failure\"");
    uint32_t id;

    read_restarts(w, line);
    if (has(line, "\"event\":\"job\"") && has(line, "\"FINISHING\""))
        w->finishing = true;
    for (id = 0; has(line, "\"scale\"") && id < engine_n_tasks(w->e); id++)
        if (!engine_in_gang(w->e, id))
            set_down(w, id, false);
    if (!failure && !(has(line, "\"event\":\"task\"") &&
                      (has(line, "\"state\":\"RUNNING\"") || has(line, "\"state\":\"DONE\""))))
        return;
    id = task_in(w, line);
    if (id == UINT32_MAX || engine_task(w->e, id)->role == 2)
        return;
    if (failure) {
        int64_t when = number(line, "\"when\":");

        w->story = when < w->story ? when : w->story;
        if (!w->finishing)
            set_down(w, id, true);
    } else if (is_well(w, line, id)) {
        set_down(w, id, false);
    }
}

static void read_log(struct sim *w)
{
    const char *line, *end;

    CHECK(w, engine_events(w->e, &w->log) == 0);
    CHECK(w, buf_text(&w->log) != NULL);
    for (line = (const char *)w->log.data + w->read; *line; line = end + 1) {
        end = strchr(line, '\n');
        read_line(w, line);
        w->read = (size_t)(end + 1 - (const char *)w->log.data);
    }
}
