/* client_yarn.c - a job on YARN: the ResourceManager knows whether it lives and where its master
 * is (client_yarn_address.c), and its files are in HDFS. */
#include "base/str.h"
#include "cli/exit.h"
#include "client/client_yarn_private.h"
#include "client/yarn_logs.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/records.h"
#include "job/history.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define SETTLE_MS 10000
#define SETTLE_POLL_MS 40
#define KILL_MS 60000

static int alive_yarn(struct client *c, struct err *err)
{
    struct yarn *y = yarn_of(c);
    int r = y->forgotten ? 0 : yarn_look(y, err);

    return r < 0 ? r : !yarn_ended(y);
}

/* Until the RM has put it away: then its containers are gone too. */
static void settle_yarn(struct client *c)
{
    struct yarn *y = yarn_of(c);
    int64_t deadline = loop_in(c->loop, SETTLE_MS);

    while (!y->forgotten && yarn_look(y, NULL) == 0 && report_of(y) &&
           !yarn_app_state_final(report_of(y)->state) && loop_now(c->loop) < deadline)
        if (fiber_sleep(c->loop, SETTLE_POLL_MS) < 0)
            return;
}

/* ---- its files ---- */

/* What a master that could not reach HDFS has told YARN of results (master/yarn/master_leave.c):
 * the line. */
static char *unsaved_in(const char *text)
{
    static const char words[] = "could not be saved";
    const char *at = strstr(text, words), *begin = at;

    while (begin && begin > text && begin[-1] != '\n')
        begin--;
    return begin ? strndup(begin, strcspn(begin, "\n")) : NULL;
}

/* Of a job that never was: the exit code of the submitting command, and its error in y->said; else
 * 0. Either YARN refused it, or the client withdrew it. */
static int read_not_submitted(struct yarn *y, bool killed)
{
    struct err refused = ERR_INIT;
    int r = yarn_app_refused(report_of(y), &refused);

    if (r == 0)
        return killed ? diagnostics_not_submitted(yarn_why(y), &y->said) : 0;
    (void)snprintf(y->said.reason, sizeof(y->said.reason), "%.*s", DIAGNOSTICS_REASON - 1,
                   refused.text);
    return exit_code(r);
}

/* The end as YARN reports it, for a log without one. YARN knows less than the log, so whatever its
 * diagnostics say in our own words (yarn_diagnostics.c) is taken first.
 *
 *     killed, before it was submitted whole    FAILED, with the exit code of the command that
 *                                              withdrew it
 *     killed                                   KILLED
 *     final status SUCCEEDED                   SUCCEEDED; with its own exit code where results
 *                                              could not be saved
 *     anything else                            FAILED */
static int set_end(struct yarn *y)
{
    const Yarn__ApplicationReport *a = report_of(y);
    bool killed = a->state == YARN__APPLICATION_STATE__APP_KILLED ||
                  a->final_status == YARN__FINAL_STATUS__FINAL_KILLED;
    bool fine = !killed && a->final_status == YARN__FINAL_STATUS__FINAL_SUCCEEDED;
    const char *why;
    int not_submitted;

    diagnostics_done(&y->said);
    if (diagnostics_read(yarn_why(y), &y->said) < 0)
        return -ENOMEM;
    not_submitted = read_not_submitted(y, killed);
    killed = killed && !not_submitted;
    why = y->said.reason;
    free(y->unsaved);
    y->unsaved = unsaved_in(yarn_why(y));
    y->end = (struct past_end){
        .state = killed ? "KILLED"
                 : fine ? "SUCCEEDED"
                        : "FAILED",
        .reason = *why || fine ? why
                  : killed     ? "killed through YARN"
                               : "YARN does not say why",
        .lines = y->said.lines,
        .hint = y->said.hint,
        .exit = killed          ? PAST_EXIT_KILLED
                : fine          ? (y->unsaved ? HISTORY_UNSAVED_EXIT : 0)
                : not_submitted ? not_submitted
                                : PAST_EXIT_LOST,
        .unsaved = y->unsaved,
        .ended = a->finish_time,
    };
    return 0;
}

static int past_yarn(struct client *c, struct past *ret, struct err *err)
{
    struct yarn *y = yarn_of(c);
    AUTO_FREE char *path = NULL;
    int r = y->answer || y->forgotten ? 0 : yarn_look(y, err);

    if (r == 0)
        r = yarn_jobs_path(y->jobs, YARN_HOME_LOGS, c->id, &ret->fs, &path, err);
    if (r < 0)
        return r;
    if (!y->dir)
        y->dir = take(path);
    if (!c->home && fs_uri(ret->fs, y->dir, &c->home, err) < 0)
        return -ENOMEM;
    if (!c->logs && !(c->logs = strdup(c->home)))
        return err_oom(err);
    ret->dir = ret->logs = y->dir;
    ret->runs = !yarn_ended(y);
    if (!ret->runs && report_of(y)) {
        if (set_end(y) < 0)
            return err_oom(err);
        ret->end = &y->end;
    }
    return 0;
}

/* A ResourceManager that was restarted says of a job that runs what it says of one that waits for
 * its first master, until the master registers again. Then there is a log. */
static bool unborn_yarn(struct client *c)
{
    struct past p = { .id = c->id };

    return yarn_before_first(yarn_of(c)) && past_yarn(c, &p, NULL) == 0 &&
           past_begun(&p, NULL) == 0;
}

static int set_missing(json_t *v, const char *key, json_t *value)
{
    const json_t *have = json_object_get(v, key);

    if (have && !json_is_null(have)) {
        json_decref(value);
        return 0;
    }
    return json_object_set_new(v, key, value);
}

static int add_yarn(struct client *c, json_t *v, struct err *err)
{
    struct yarn *y = yarn_of(c);
    const Yarn__ApplicationReport *a = report_of(y);
    AUTO_FREE char *waiting = NULL;

    if (!a)
        return 0;
    if (set_missing(v, "name", json_text(a->name)) < 0 ||
        set_missing(v, "user", json_text(a->user)) < 0 ||
        set_missing(v, "created", json_integer(a->start_time)) < 0 ||
        set_missing(v, "state", json_string("NEW")) < 0 ||
        set_missing(v, "platform", json_string("yarn")) < 0)
        return err_oom(err);
    if (yarn_ended(y))
        return 0;
    waiting = unborn_yarn(c) ? str_printf("a container for its master%s%s",
                                          *yarn_why(y) ? ": " : "", yarn_why(y))
                             : strdup("its master, which is being restarted");
    if (!waiting || json_object_set_new(v, "waiting", json_text(waiting)) < 0)
        return err_oom(err);
    return 0;
}

/* ---- the rest ---- */

/* Has a task of the document neither of its files? (One that wrote nothing has none either.) Where
 * what happened is gone from HDFS too, nobody knows which tasks there were. */
static bool client_lacks_any(const json_t *status, const struct strs *wanted,
                             const struct logfiles *files)
{
    const json_t *tasks = json_object_get(status, "tasks"), *t;
    size_t i;

    if (json_array_size(tasks) == 0)
        return true;
    json_array_foreach(tasks, i, t)
    {
        const char *name = format_text(t, "task");
        struct logfile out = { .stream = PIECE_OUT }, err = { .stream = PIECE_ERR };

        if (strlen(name) >= sizeof(out.task) || !logfiles_wanted(wanted, name))
            continue;
        memcpy(out.task, name, strlen(name) + 1);
        memcpy(err.task, name, strlen(name) + 1);
        if (!logfiles_has(files, &out) && !logfiles_has(files, &err))
            return true;
    }
    return false;
}

/* An agent that was killed has saved nothing, but its NodeManager may have. */
static int more_output(struct client *c, const struct strs *wanted, struct logfiles *ret,
                       struct spool **ret_spool, struct err *err)
{
    struct yarn *y = yarn_of(c);
    const Yarn__ApplicationReport *a = report_of(y);
    const char *owner = a ? a->user : session_user(yarn_jobs_session(y->jobs));
    struct past p = { .id = c->id };
    AUTO_JSON *status = NULL;
    int r = past_yarn(c, &p, err);

    if (r == 0 && !p.runs)
        r = past_status(&p, true, &status, err);
    if (r < 0 || !status || !client_lacks_any(status, wanted, ret))
        return r;
    r = yarn_output(y->jobs, c->id, owner, wanted, ret, ret_spool);
    return r == -ENOMEM ? err_oom(err) : r < 0 ? err_set(err, r, "interrupted") : 0;
}

static int kill_yarn(struct client *c, struct err *err)
{
    struct yarn *y = yarn_of(c);
    struct yarn_client *rm = NULL;
    int r = yarn_jobs_rm(y->jobs, &rm, err);

    return r < 0 ? r : yarn_kill(rm, y->app, "killed with ydl", loop_in(c->loop, KILL_MS), err);
}

static void free_yarn(struct client *c)
{
    struct yarn *y = yarn_of(c);

    stream_close(y->ready);
    rpc_free(y->answer);
    free(y->dir);
    diagnostics_done(&y->said);
    free(y->unsaved);
    explicit_bzero(&y->key, sizeof(y->key));
    yarn_jobs_unref(y->jobs);
}

static const struct client_ops yarn_ops = {
    .where = "yarn",
    .connect = yarn_connect,
    .alive = alive_yarn,
    .again = yarn_again,
    .settle = settle_yarn,
    .past = past_yarn,
    .add = add_yarn,
    .more_output = more_output,
    .kill = kill_yarn,
    .unborn = unborn_yarn,
    .free = free_yarn,
};

int client_yarn_new(struct yarn_jobs *jobs, struct yarn_app_id id, const struct stream_key *key,
                    struct client **ret, struct err *err)
{
    struct yarn *y = calloc(1, sizeof(*y));
    AUTO_CLIENT *c = (struct client *)y; /* its first member */
    char text[YARN_APP_ID_TEXT];

    if (!y)
        return err_oom(err);
    c->ops = &yarn_ops;
    y->jobs = yarn_jobs_ref(jobs);
    y->app = id;
    if (key) {
        y->key = *key;
        y->has_key = y->ours = true;
    }
    if (client_init(c, yarn_jobs_loop(jobs), &yarn_ops, yarn_app_id_text(id, text), err) < 0)
        return -ENOMEM;
    *ret = take(c);
    return 0;
}

int client_open_app(struct loop *l, struct session *session, struct yarn_app_id id,
                    const struct stream_key *key, struct client **ret, struct err *err)
{
    AUTO_YARN_JOBS *jobs = NULL;
    int r = yarn_jobs_new(l, session, NULL, &jobs, err);

    return r < 0 ? r : client_yarn_new(jobs, id, key, ret, err);
}

int client_set_base(struct client *c, const char *base, struct err *err)
{
    return base && c->ops == &yarn_ops ? yarn_jobs_set_base(yarn_of(c)->jobs, base, err) : 0;
}

bool client_replaced(const struct client *c)
{
    const Yarn__ApplicationReport *a =
        c->ops == &yarn_ops ? report_of((const struct yarn *)c) : NULL;

    return a && a->current_attempt_id && yarn_attempt_id_of(a->current_attempt_id).attempt > 1;
}

void client_tidy(struct client *c)
{
    const Yarn__ApplicationReport *a = c->ops == &yarn_ops ? report_of(yarn_of(c)) : NULL;

    if (a && (a->state == YARN__APPLICATION_STATE__APP_FAILED ||
              a->state == YARN__APPLICATION_STATE__APP_KILLED))
        yarn_jobs_sweep(yarn_of(c)->jobs);
    else if (a && a->state == YARN__APPLICATION_STATE__APP_FINISHED)
        yarn_jobs_remove(yarn_of(c)->jobs, c->id);
}

void client_sweep(struct client *c)
{
    if (c->ops == &yarn_ops)
        yarn_jobs_sweep(yarn_of(c)->jobs);
}
