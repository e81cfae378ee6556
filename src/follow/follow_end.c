/* follow_end.c - the end of a job that is followed: how it ended, and what of its output its last
 * master did not send.
 *
 * A stream that came to its end has brought all that agents had when they were asked. What an agent
 * saved that had left by then is in files alone: between two agents of a task there is a gap
 * (show_gap()). A stream that broke may also have lost the rest of each task's last file, and so
 * may one of a master that was not the first: it may have found the job ended, and its agents gone.
 */
#include "cli/exit.h"
#include "follow/follow_private.h"
#include "follow/replay.h"
#include "terminal/format.h"

bool follow_is_final(int r)
{
    return r == -ECANCELED || r == -ENOMEM || r == EXIT_OUTPUT_GONE;
}

int follow_make_status(struct follow *f, bool tasks, json_t **ret, struct err *err)
{
    int r = history_json(f->history, tasks, ret, err);

    if (r == 0 && f->waiting[0])
        (void)json_object_set_new(*ret, "waiting", json_text(f->waiting));
    return r;
}

/* What the files are read for: where the reader stands in each stream, and which start of each task
 * was its last. */
struct follow_rest {
    const struct follow *f;
    json_t *attempts; /* by task */
};

static int follow_attempts(const json_t *status, json_t **ret, struct err *err)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    AUTO_JSON *found = json_object();
    size_t i;

    json_array_foreach(tasks, i, t)
    {
        if (json_object_set(found, format_text(t, "task"), json_object_get(t, "attempt")) < 0)
            return err_oom(err);
    }
    *ret = take(found);
    return *ret ? 0 : err_oom(err);
}

/* Is the file that the reader stands in the task's last one? It is when it began with the task's
 * last start; one that began earlier may be, too. */
static bool follow_is_last(const struct follow_rest *rest, const struct logfile *l)
{
    const json_t *attempt = json_object_get(rest->attempts, l->task);
    uint32_t began = show_began(rest->f->show, l->task, l->stream);

    return began > 0 && json_is_integer(attempt) &&
           json_integer_value(attempt) == (json_int_t)began - 1;
}

/* Where to go on in a stream: behind what was shown, or left out on purpose. The beginning of a
 * file that was left out was not seen. */
static struct replay_place place_in(void *user, const struct logfile *l)
{
    const struct follow_rest *rest = user;
    const struct follow *f = rest->f;
    uint64_t from = show_offset(f->show, l->task, l->stream);
    uint64_t file = show_file(f->show, l->task, l->stream);
    uint64_t skip = f->o->skip ? f->o->skip(f->o->user, l->task, l->stream) : 0;

    if (!f->o->streams[l->stream])
        return (struct replay_place){ .at = UINT64_MAX };
    return (struct replay_place){ .at = from > skip ? from : skip,
                                  .file = file > skip ? file : 0,
                                  .hidden = skip,
                                  .last = follow_is_last(rest, l) };
}

/* With the last record all of it is in the files. A master that is still there then has no agents
 * to ask. */
static int show_rest(struct follow *f, const json_t *status, bool whole, struct err *err)
{
    struct follow_rest rest = { .f = f };
    const struct replay_from from = { place_in, &rest };
    AUTO(spool) struct spool *spool = NULL;
    AUTO_LOGFILES files = { 0 };
    AUTO_JSON *attempts = NULL;
    int r = follow_attempts(status, &attempts, err);

    rest.attempts = attempts;
    if (r == 0)
        r = (f->ended ? client_saved_output : client_output)(f->client, f->o->tasks, &files, &spool,
                                                             err);
    return r < 0 ? r : replay_rest(&files, &from, whole, f->show, f->screen, err);
}

/* Agents on YARN may save output after the end, when no master waits for them any more. */
static void warn_of_late_output(struct follow *f, const json_t *status)
{
    bool killed = f->ended && logfiles_killed(status);

    if (f->tasks > 0 && (killed || !f->ended) && str_eq(client_where(f->client), "yarn"))
        (void)screen_note(f->screen, "the %s: output may be missing; see 'ydl logs %s'",
                          killed ? "application was killed" : "master is gone",
                          client_id(f->client));
}

int follow_the_end(struct follow *f, int r, struct follow_result *ret, struct err *err)
{
    bool whole = f->ended && r == 0 && !client_replaced(f->client);
    struct err why = ERR_INIT;
    int shown = 0;

    err_clear(err);
    show_resume(f->show);
    r = f->ended ? follow_make_status(f, true, &ret->status, err)
                 : client_status(f->client, true, &ret->status, err);
    if (!whole || show_has_gaps(f->show))
        shown = show_rest(f, ret->status, whole, &why);
    if (r < 0)
        return r;
    if (shown < 0 && !f->ended) {
        *err = why;
        return shown;
    }
    if (shown < 0 && !follow_is_final(shown))
        (void)screen_note(f->screen, "some output could not be shown: %s; see 'ydl logs %s'",
                          why.text, client_id(f->client));
    if (shown == 0 && !whole)
        warn_of_late_output(f, ret->status);
    return 0;
}
