/* client_yarn_testing.h - a world for client_yarn_test.c: the test is the ResourceManager, the
 * master is a real server with TLS on loopback, and local files stand for HDFS. */
#pragma once
#include "client/client.h"
#include "client/client_files_testing.h"
#include "hadoop/yarn/rm_client.h"
#include "hadoop/yarn/rpc_testing.h"
#include "loop/listen.h"
#include "wire/http.h"

#define STATE(name) YARN__APPLICATION_STATE__APP_##name
#define FINAL(name) YARN__FINAL_STATUS__FINAL_##name
#define APP "application_7_0001"
static const struct yarn_app_id app = { 7, 1 };

struct world {
    void (*fn)(struct world *w, struct client *c);
    const char *dir; /* BASE */
    struct loop *loop;
    struct session *session;
    struct stream_key key;
    bool take_key; /* the client is given it */
    /* what the ResourceManager says */
    Yarn__ApplicationState state;
    Yarn__FinalStatus final;
    const char *user, *type, *diagnostics;
    int attempt, port;
    int unknown, down; /* for so many calls */
    int reports, kills;
    int kill_fails; /* with this errno */
    void (*on_report)(struct world *w);
    /* the master */
    struct http_server *server;
    const char *asked;     /* the last path */
    int first, last;       /* records it has, from 0 */
    bool cut, dead;        /* it dies at the end of them; it has */
    bool leaves;           /* it hands over, and takes no more requests */
    http_handler *instead; /* what answers for it, all but /v1/job; NULL: nobody */
    const char *speaks;    /* the header of its answers; NULL: none */
    const char *document;  /* of the job; NULL: one that runs */
    int notes;
    char noted[512]; /* the last one */
};

/* ---- the ResourceManager ---- */

/* What it knows of the application: as a report, or as the list of all. */
static inline int tell_app(struct world *w, bool as_list, void **ret)
{
    Yarn__GetApplicationReportResponse m = YARN__GET_APPLICATION_REPORT_RESPONSE__INIT;
    Yarn__GetApplicationsResponse all = YARN__GET_APPLICATIONS_RESPONSE__INIT;
    Yarn__ApplicationReport r = YARN__APPLICATION_REPORT__INIT, *list[] = { &r };
    struct yarn_id_message id, attempt;

    r.application_id = yarn_app_id_message(&id, app);
    r.current_attempt_id =
        yarn_attempt_id_message(&attempt, (struct yarn_attempt_id){ app, w->attempt });
    r.has_state = r.has_final_status = r.has_rpc_port = r.has_finish_time = r.has_start_time = true;
    r.state = w->state;
    r.final_status = w->final;
    r.host = w->port > 0 ? "127.0.0.1" : "N/A";
    r.rpc_port = w->port > 0 ? w->port : -1;
    r.user = w->user;
    r.name = "mnist";
    r.application_type = w->type;
    r.diagnostics = w->diagnostics;
    r.start_time = 1000;
    r.finish_time = 9000;
    m.report = &r;
    all.applications = list;
    all.n_applications = 1;
    return as_list ? fake_copy(&all, ret) : fake_copy(&m, ret);
}

static inline int report(struct world *w, void **ret, struct err *err)
{
    w->reports++;
    if (w->on_report)
        w->on_report(w);
    if (w->down > 0 && w->down--)
        return err_set(err, -ECONNREFUSED, "nobody listens");
    if (w->unknown)
        return fake_throw("ApplicationNotFoundException", "Application doesn't exist in RM.", err);
    return tell_app(w, false, ret);
}

static inline int resource_manager(void *arg, struct rpc_service *s, const char *method,
                                   const void *request, void **ret, struct err *err)
{
    struct world *w = arg;
    Yarn__KillApplicationResponse m = YARN__KILL_APPLICATION_RESPONSE__INIT;

    (void)s;
    (void)request;
    if (str_eq(method, "getApplicationReport"))
        return report(w, ret, err);
    if (str_eq(method, "getApplications"))
        return tell_app(w, true, ret);
    assert_string_equal(method, "forceKillApplication");
    w->kills++;
    if (w->kill_fails)
        return err_set(err, w->kill_fails, "the ResourceManager is busy");
    w->state = STATE(KILLED);
    w->final = FINAL(KILLED);
    m.has_completed = m.completed = true;
    return fake_copy(&m, ret);
}

/* ---- the master ---- */

static inline int record(int i, char *out, size_t n)
{
    return snprintf(out, n, "{\"seq\":%d,\"t\":%d,\"event\":\"%s\",\"text\":\"x\"}\n", i, i,
                    i == 9 ? "end" : "note");
}

static inline int send_events(struct world *w, struct http_call *c, struct err *err)
{
    const char *from = http_query(c, "from");
    int64_t first = 0;
    char line[96];
    int r = http_reply_begin(c, 200, "application/jsonl", err);

    assert_non_null(from);
    assert_int_equal(str_to_i64(from, 0, 100, &first), 0);
    for (int i = (int)first; r == 0 && i < w->last; i++)
        r = http_reply_write(c, line, (size_t)record(i, line, sizeof(line)), err);
    if (r == 0 && w->cut) {
        w->dead = true;
        return err_set(err, -EIO, "killed");
    }
    return r < 0 ? r : http_reply_end(c, err);
}

static inline int send_logs(struct http_call *c, struct err *err)
{
    static const char pieces[] =
        "{\"task\":\"worker:1\",\"stream\":\"out\",\"offset\":0,\"len\":4}\none\n"
        "{\"task\":\"worker:0\",\"stream\":\"err\",\"offset\":0,\"len\":4}\nbad\n"
        "{\"task\":\"worker:1\",\"stream\":\"out\",\"offset\":4,\"len\":4}\ntwo\n"
        "{\"task\":\"worker:0\",\"stream\":\"err\",\"end\":true,\"missing\":\"late\"}\n";

    return http_reply(c, 200, "application/x-ydl-pieces", pieces, sizeof(pieces) - 1, err);
}

static inline int handle(void *user, struct http_call *c, struct err *err)
{
    static const char status[] = "{\"job\":\"" APP "\",\"state\":\"RUNNING\",\"exit\":null}";
    struct world *w = user;
    const char *document = w->document ? w->document : status;

    if (w->leaves)
        return err_set(err, -EAGAIN, "it is leaving");
    if (w->instead && !str_eq(http_path(c), "/v1/job"))
        return w->instead(w, c, err);
    if (str_eq(http_path(c), "/v1/events"))
        return send_events(w, c, err);
    if (str_eq(http_path(c), "/v1/logs"))
        return send_logs(c, err);
    if (str_eq(http_path(c), "/v1/stop"))
        return err_set(err, -EBUSY, "it is stopping already");
    return http_reply(c, 200, "application/json", document, strlen(document), err);
}

static inline bool lives(void *user, int fd)
{
    (void)fd;
    return !((struct world *)user)->dead;
}

static inline void start_master(struct world *w)
{
    struct http_server_options o = { .loop = w->loop,
                                     .key = &w->key,
                                     .check = lives,
                                     .handler = handle,
                                     .headers = w->speaks,
                                     .user = w };
    struct err err = ERR_INIT;

    assert_int_equal(listen_tcp("127.0.0.1", 0, 0, &o.fd, &w->port, &err), 0);
    assert_int_equal(http_server_start(&o, &w->server, &err), 0);
    w->state = STATE(RUNNING);
}

static inline void put_key(struct world *w)
{
    AUTO_FREE char *jobs = path_join(w->dir, "jobs/" APP);
    AUTO_FREE char *text = NULL;
    struct err err = ERR_INIT;

    assert_non_null(jobs);
    assert_int_equal(path_mkdirs(jobs, 0700, &err), 0);
    assert_int_equal(str_base64(w->key.key, STREAM_KEY, &text), 0);
    put(jobs, "key", text);
}

static inline void put_log(struct world *w, const char *name, const char *text)
{
    AUTO_FREE char *logs = path_join(w->dir, "logs/" APP);
    struct err err = ERR_INIT;

    assert_non_null(logs);
    assert_int_equal(path_mkdirs(logs, 0700, &err), 0);
    put(logs, name, text);
}

/* ---- running ---- */

static inline void count_note(void *user, const char *text)
{
    struct world *w = user;

    assert_true(*text);
    w->notes++;
    (void)snprintf(w->noted, sizeof(w->noted), "%s", text);
}

static inline int run_world(void *arg)
{
    struct world *w = arg;
    AUTO_FREE char *base = str_printf("file://%s", w->dir);
    AUTO_CLIENT *c = NULL;
    struct err err = ERR_INIT;

    assert_non_null(base);
    w->loop = fake_rpc.loop;
    w->session = fake_session(w->loop, TESTDATA "one-rm", NULL);
    if (!w->user)
        w->user = session_user(w->session);
    assert_int_equal(
        client_open_app(w->loop, w->session, app, w->take_key ? &w->key : NULL, &c, &err), 0);
    assert_int_equal(client_set_base(c, base, &err), 0);
    client_set_note(c, count_note, w);
    client_set_patience(c, 2000);
    w->fn(w, c);
    c = client_free(c);
    w->server = http_server_stop(w->server);
    w->session = session_free(w->session);
    return 0;
}

static inline void run(void **state, void (*fn)(struct world *w, struct client *c), struct world *w)
{
    w->fn = fn;
    w->dir = *state;
    w->type = w->type ? w->type : "ydl";
    w->diagnostics = w->diagnostics ? w->diagnostics : "";
    w->state = w->state ? w->state : STATE(ACCEPTED);
    w->attempt = 1;
    memcpy(w->key.identity, APP, sizeof(APP));
    memset(w->key.key, 7, STREAM_KEY);
    fake_run(run_world, w, resource_manager, w);
}
