/* serve_watch.c - see serve_watch.h. The update is the deployment's own: whoever watches it may go.
 */
#include "cmd/serve/serve_watch.h"
#include "cli/exit.h"
#include "client/task_failure.h"
#include "cmd/serve/serve_call.h"
#include "cmd/serve/serve_request.h"
#include "loop/fiber.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_update.h"
#include "terminal/format.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MS 200
#define TELL_MS 5000

static int64_t report_number(const json_t *report, const json_t *model, const char *key)
{
    const json_t *update = json_object_get(model, "update");
    const json_t *m = report ? deployment_model(report, format_text(model, "name")) : NULL;

    return json_int_or(deployment_version(m, json_int_or(update, "to", 0)), key, 0);
}

char *serve_watch_text(const json_t *model, const json_t *report)
{
    const json_t *update = json_object_get(model, "update");
    long long from = (long long)json_int_or(update, "from", 0);
    long long to = (long long)json_int_or(update, "to", 0);
    enum update_phase phase = deployment_update_phase(model);

    if (phase == UPDATE_WARMING)
        return str_printf("%lld → %lld, warming: %lld of %lld replicas are ready", from, to,
                          (long long)report_number(report, model, "ready"),
                          (long long)json_int_or(model, "replicas", 0));
    if (phase == UPDATE_WATCHING)
        return str_printf("%lld → %lld, watching: %g %% of the requests, %lld so far, %lld failed",
                          from, to, json_number_value(json_object_get(update, "percent")),
                          (long long)report_number(report, model, "requests"),
                          (long long)report_number(report, model, "errors"));
    return str_printf("%lld → %lld, %s: version %lld stays: %s", from, to, update_phase_name(phase),
                      (long long)json_int_or(model, "serve", 0), format_text(update, "why"));
}

struct watching {
    struct job_call *x;
    const struct serve_watch *w;
    enum update_phase phase; /* that was told last */
    int64_t told_at;
    int64_t since;   /* when it began, in milliseconds since 1970 */
    json_t *failure; /* of a version that was given up; NULL: its replicas did not fail */
    char told[400];
};

/* Each phase at once, and numbers now and then. */
static void tell(struct watching *t, const json_t *model)
{
    enum update_phase phase = deployment_update_phase(model);
    int64_t now = loop_now(t->x->loop);
    AUTO_JSON *report = NULL;
    AUTO_FREE char *text = NULL;

    if (t->w->quiet || (phase == t->phase && now - t->told_at < TELL_MS))
        return;
    report = serve_report(t->x, 0);
    text = serve_watch_text(model, report);
    t->told_at = now;
    t->phase = phase;
    if (!text || strncmp(text, t->told, sizeof(t->told) - 1) == 0)
        return;
    fprintf(stderr, "ydl: %s: %s\n", t->w->model, text);
    (void)snprintf(t->told, sizeof(t->told), "%s", text);
}

static bool is_ours(const struct watching *t, const json_t *v)
{
    return v && str_eq(format_text(v, "id"), t->w->id);
}

/* The last failure among the replicas that the new version had: the group that does not serve. */
static json_t *watch_failure(const struct watching *t, const json_t *model)
{
    const json_t *version = deployment_version(model, json_int_or(model, "serve", 0));
    const char *serves = format_text(version, "group");
    const json_t *groups = json_object_get(model, "groups"), *g;
    size_t i;

    json_array_foreach(groups, i, g)
    {
        if (*serves && json_is_string(g) && !str_eq(json_string_value(g), serves))
            return task_failure_last(t->x->client, json_string_value(g), t->since);
    }
    return NULL;
}

/* It is over. What became of it is the result, also for --json: a version that was given up is no
 * failure of this command. */
static int watch_result(struct watching *t, const json_t *last)
{
    struct err why = ERR_INIT;

    if (str_eq(format_text(last, "result"), "done")) {
        if (!t->w->quiet)
            fprintf(stderr, "ydl: %s: version %lld serves: %s\n", t->w->model,
                    (long long)json_int_or(last, "to", 0), format_text(last, "why"));
        return 0;
    }
    if (t->w->taken_back)
        return EXIT_OTHER;
    err_set(&why, -EIO,
            "version %lld of '%s' was given up, and version %lld continues to serve: %s",
            (long long)json_int_or(last, "to", 0), t->w->model,
            (long long)json_int_or(last, "from", 0), format_text(last, "why"));
    err_hint(&why, "'ydl serve logs %s --version %lld' shows what its replicas wrote",
             t->x->cli->operands[0], (long long)json_int_or(last, "to", 0));
    (void)task_failure_report(-EIO, &why, t->failure, false);
    return EXIT_OTHER;
}

/* 1: go on; 0 and *ret: over. */
static int watch_look(struct watching *t, json_t **ret, struct err *err)
{
    AUTO_JSON *plan = NULL;
    json_t *model = NULL;
    int r = serve_plan(t->x, &plan, err);

    if (r == 0)
        r = serve_plan_model(plan, t->w->model, &model, err);
    if (r < 0)
        return r;
    if (is_ours(t, json_object_get(model, "last"))) {
        *ret = json_incref(json_object_get(model, "last"));
        t->failure = str_eq(format_text(*ret, "result"), "done") ? NULL : watch_failure(t, model);
        return 0;
    }
    if (!is_ours(t, json_object_get(model, "update")) &&
        !is_ours(t, json_object_get(model, "next")))
        return err_set(err, -EAGAIN, "another update of '%s' took its place", t->w->model);
    tell(t, model);
    return 1;
}

int serve_watch_left(const struct job_call *x, int r, struct err *err)
{
    const char *name = x->cli->operands[0];

    if (!x->globals->quiet)
        fprintf(
            stderr,
            "ydl: the update continues: 'ydl serve status %s' shows it, 'ydl serve rollback %s' "
            "undoes it\n",
            name, name);
    return err_set(err, r, "interrupted");
}

/* Its master may be another one by now; or somebody has stopped the deployment meanwhile. */
static int watch_again(const struct watching *t, int r, struct err *err)
{
    int now = client_again(t->x->client, r, err);

    if (now != 0)
        return now;
    return err_set(err, -ENOENT, "the deployment '%s' has ended, and the update with it",
                   t->x->cli->operands[0]);
}

int serve_watch(struct job_call *x, const struct serve_watch *w, json_t **ret, struct err *err)
{
    struct watching t = { .x = x, .w = w, .since = loop_wall() };
    int r;

    while ((r = watch_look(&t, ret, err)) != 0) {
        if (r < 0 && (r = watch_again(&t, r, err)) < 0)
            break;
        r = fiber_sleep(x->loop, LOOK_MS);
        if (r < 0)
            break;
    }
    if (r == -ECANCELED)
        return serve_watch_left(x, r, err);
    if (r == 0)
        r = watch_result(&t, *ret);
    json_decref(t.failure);
    return r;
}
