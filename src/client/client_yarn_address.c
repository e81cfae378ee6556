/* client_yarn_address.c - the way to the master of a job on YARN.
 *
 *     ydl ──report──► RM          host and port that the master registered
 *      │ ───key────► HDFS         BASE/jobs/APP/key: readable by its owner only
 *      └ ─────────TLS, HTTP─────► master */
#include "base/str.h"
#include "client/client_yarn_private.h"
#include "hadoop/session/session.h"
#include "loop/fiber.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define POLL_FIRST_MS 20
#define POLL_MOST_MS 500
#define CALM_MS 2000
#define TELL_MS 3000 /* a start takes so long at least before people are told why */
#define TELL_AGAIN_MS 10000

/* ---- what the ResourceManager says ---- */

static int yarn_check_owner(struct yarn *y, const Yarn__ApplicationReport *a, struct err *err)
{
    struct session *s = yarn_jobs_session(y->jobs);

    if (y->ours)
        return 0;
    if (!str_eq(a->application_type, YARN_JOBS_TYPE)) {
        err_set(err, -ENOENT, "%s is not a ydl job: its type is '%s'", y->c.id,
                a->application_type);
        err_hint(err, "'ydl cluster app %s' shows what YARN knows of it", y->c.id);
        return -ENOENT;
    }
    if (session_find_user(s, NULL) == 0 && !str_eq(a->user, session_user(s))) {
        err_set(err, -EACCES, "%s is a job of '%s', and you are '%s'", y->c.id, a->user,
                session_user(s));
        err_hint(err, "only its owner can look into a job and act on it");
        return -EACCES;
    }
    y->ours = true;
    return 0;
}

/* The RM remembers only so many applications; the files of one stay. */
static int look_for_files(struct yarn *y, struct err *err)
{
    AUTO_FREE char *path = NULL;
    AUTO_FS_ENTRY e = { 0 };
    struct fs *fs = NULL;
    int r = yarn_jobs_path(y->jobs, YARN_HOME_LOGS, y->c.id, &fs, &path, err);

    if (r == 0)
        r = fs_exists(fs, path, &e, err);
    if (r < 0)
        return r;
    if (r == 0) {
        err_set(err, -ENOENT, "there is no job '%s'", y->c.id);
        err_hint(err,
                 "see 'ydl list --all'; for a job in another staging directory, give --staging");
        return -ENOENT;
    }
    y->forgotten = true;
    return 0;
}

/* Asks for a new report. */
int yarn_look(struct yarn *y, struct err *err)
{
    Yarn__GetApplicationReportResponse *answer = NULL;
    struct yarn_client *rm = NULL;
    int r = yarn_jobs_rm(y->jobs, &rm, err);

    if (r == 0)
        r = yarn_report(rm, y->app, &answer, err);
    if (r == -ENOENT) {
        err_clear(err);
        return look_for_files(y, err);
    }
    if (r == 0)
        r = yarn_check_owner(y, answer->report, err);
    if (r < 0) {
        rpc_free(answer);
        return r;
    }
    rpc_free(y->answer);
    y->answer = answer;
    return 0;
}

bool yarn_ended(const struct yarn *y)
{
    return y->forgotten || (report_of(y) && yarn_app_ended(report_of(y)));
}

/* It has not had a master yet: YARN is looking for a container. */
bool yarn_before_first(const struct yarn *y)
{
    const Yarn__ApplicationReport *a = report_of(y);

    return a && a->state < YARN__APPLICATION_STATE__APP_RUNNING &&
           (!a->current_attempt_id || yarn_attempt_id_of(a->current_attempt_id).attempt <= 1);
}

#define HOST_MAX_ 256

/* Where its master listens; false when it does not, as far as the RM knows. */
static bool yarn_address_of(const struct yarn *y, char host[HOST_MAX_], int *ret_port)
{
    const Yarn__ApplicationReport *a = report_of(y);

    if (!a || yarn_ended(y) || a->rpc_port <= 0 || a->rpc_port > 65535 || !*a->host ||
        strlen(a->host) >= HOST_MAX_ || str_eq(a->host, "N/A"))
        return false;
    memcpy(host, a->host, strlen(a->host) + 1);
    *ret_port = a->rpc_port;
    return true;
}

/* The RM's own words on why there is no container yet, without its time stamp. */
const char *yarn_why(const struct yarn *y)
{
    const Yarn__ApplicationReport *a = report_of(y);
    const char *text = a ? a->diagnostics : "", *stamp = *text == '[' ? strstr(text, "] ") : NULL;

    if (stamp)
        text = stamp + 2;
    return str_eq(text, "N/A") ? "" : text;
}

/* ---- connecting ---- */

static int yarn_no_master(struct yarn *y, struct err *err)
{
    err_clear(err);
    if (yarn_ended(y))
        return err_set(err, -ENOTCONN, "%s has ended", y->c.id);
    if (yarn_before_first(y))
        return err_set(err, -ENOTCONN, "the master of %s is not running yet", y->c.id);
    return err_set(err, -ENOTCONN, "the master of %s does not answer", y->c.id);
}

static int yarn_get_key(struct yarn *y, struct err *err)
{
    int r = y->has_key ? 0 : yarn_jobs_key(y->jobs, y->c.id, &y->key, err);

    if (r == -ENOENT) /* removed at the job's end; the RM will say so in a moment */
        return yarn_no_master(y, err);
    if (r < 0)
        return err_wrap(err, r, "get the key of %s", y->c.id);
    y->has_key = true;
    return 0;
}

static int yarn_dial(struct yarn *y, const char *host, int port, struct stream **ret,
                     struct err *err)
{
    int64_t deadline = loop_in(y->c.loop, y->c.connect_ms);
    struct sock *sock = NULL;
    int r = yarn_get_key(y, err);

    if (r < 0)
        return r;
    r = sock_connect(y->c.loop, host, port, deadline, &sock, err);
    if (r == 0)
        r = stream_tls_client(sock, &y->key, deadline, ret, err);
    if (r == 0 || r == -ENOMEM || r == -ECANCELED)
        return r;
    /* Another job's master may listen there by now. */
    err_clear(err);
    return yarn_no_master(y, err);
}

/* First where the last report said, without asking the ResourceManager: most commands make one or
 * two requests, and it is asked by everybody. Only when nobody answers there it is asked again;
 * `ready` is a connection that yarn_again() has made already. */
int yarn_connect(struct client *c, struct stream **ret, struct err *err)
{
    struct yarn *y = yarn_of(c);
    char host[HOST_MAX_]; /* a copy: another fiber may get a new report while we wait */
    int port = 0, r = -ENOTCONN;

    if (y->ready) {
        *ret = take(y->ready);
        return 0;
    }
    if (yarn_address_of(y, host, &port))
        r = yarn_dial(y, host, port, ret, err);
    if (r != -ENOTCONN)
        return r;
    err_clear(err);
    r = yarn_look(y, err); /* it may have moved */
    if (r < 0)
        return r;
    if (!yarn_address_of(y, host, &port))
        return yarn_no_master(y, err);
    return yarn_dial(y, host, port, ret, err);
}

/* ---- waiting for a master ---- */

/* Not what was told last, and not too often: the RM has new words for each step. */
static void yarn_tell(struct yarn *y, const char *text, const char *why)
{
    int64_t now = loop_now(y->c.loop);
    char all[sizeof(y->told)];

    (void)snprintf(all, sizeof(all), "%s%s%s", text, *why ? ": " : "", why);
    if (str_eq(all, y->told) || (y->told[0] && now - y->told_at < TELL_AGAIN_MS))
        return;
    memcpy(y->told, all, sizeof(all));
    y->told_at = now;
    client_say(&y->c, "%s", all);
}

static void yarn_tell_waiting(struct yarn *y, int r)
{
    if (r != -ENOTCONN)
        yarn_tell(y, "the ResourceManager does not answer; trying again", "");
    else if (yarn_before_first(y))
        yarn_tell(y, "waiting for a container for the job's master", yarn_why(y));
    else
        yarn_tell(y, "the master is being restarted; waiting for it", "");
}

static int gave_up(struct yarn *y, struct err *err)
{
    char span[FORMAT_SPAN];
    int r = yarn_no_master(y, err);

    if (y->c.patience <= 0)
        return r;
    err_clear(err);
    err_set(err, -ENOTCONN,
            "the master of %s has not answered for %s; the application is still running", y->c.id,
            format_span(y->c.patience, span));
    err_hint(err, "'ydl cluster app %s' shows what YARN knows; 'ydl kill %s' ends it", y->c.id,
             y->c.id);
    return -ENOTCONN;
}

/* One that takes every connection and ends it must not be asked without a pause. */
static int calm_down(struct yarn *y)
{
    struct loop *l = y->c.loop;
    int64_t rest = y->rest;

    y->rest = loop_now(l) - y->found > CALM_MS ? 0
              : rest < POLL_FIRST_MS           ? POLL_FIRST_MS
                                               : rest * 2;
    if (y->rest > POLL_MOST_MS)
        y->rest = POLL_MOST_MS;
    return y->rest > 0 ? fiber_sleep(l, y->rest) : 0;
}

/* Tries until a master answers, the application has ended, or patience is over. Patience counts
 * from when there was a master: before the first one, a full queue may take days.
 *
 * Each try asks for a new report when nobody answers, so that the end of the application is seen
 * here too. `calm_down` counts connections that were made and lost again at once. */
int yarn_again(struct client *c, int r, struct err *err)
{
    struct yarn *y = yarn_of(c);
    int64_t deadline = loop_in(c->loop, c->patience), pause = POLL_FIRST_MS;
    int64_t soon = loop_in(c->loop, TELL_MS);

    if (calm_down(y) < 0)
        return err_set(err, -ECANCELED, "interrupted");
    for (;;) {
        err_clear(err);
        r = y->ready ? 0 : yarn_connect(c, &y->ready, err);
        if (r == 0) {
            y->told[0] = '\0';
            y->found = loop_now(c->loop);
            return 1;
        }
        if (!client_broken(r))
            return r;
        if (r == -ENOTCONN && yarn_ended(y))
            return 0;
        if (yarn_before_first(y)) /* a queue may be full for days */
            deadline = loop_in(c->loop, c->patience);
        if (loop_now(c->loop) >= deadline)
            return gave_up(y, err);
        if (loop_now(c->loop) >= soon || (report_of(y) && !yarn_before_first(y)))
            yarn_tell_waiting(y, r);
        r = fiber_sleep(c->loop, pause);
        if (r < 0)
            return err_code(err, r, "wait for the master of %s", c->id);
        pause = pause * 2 < POLL_MOST_MS ? pause * 2 : POLL_MOST_MS;
    }
}
