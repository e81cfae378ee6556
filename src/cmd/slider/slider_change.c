/* slider_change.c - `slider stop`, `destroy` and `flex`; see slider_verb.h. */
#include "cli/doc.h"
#include "client/job_actions.h"
#include "client/job_wait.h"
#include "cmd/slider/slider_start.h"
#include "cmd/slider/slider_verb.h"
#include "terminal/format.h"
#include "wire/http.h"

#include <stdio.h>

#define INSTANCES "yarn.component.instances"

/* What was done: a line, or {"name", "done"} with --json. */
static int slider_say(const struct slider *s, const char *done, const char *text, struct err *err)
{
    if (s->json)
        return doc_print(err, "{s:s, s:s, s:s}", "name", s->name, "done", done, "text", text);
    if (!slider_given(s, "--quiet"))
        printf("%s: %s\n", s->name, text);
    return 0;
}

/* ---- stop ---- */

static int slider_stop_job(struct slider *s, struct err *err)
{
    bool force = slider_given(s, "--force");
    int64_t seconds = legacy_number(&s->ask->syntax, s->ask->args, "--wait", 0);
    AUTO_JSON *status = NULL;
    char text[64], state[16];
    int r = act_ask_end(s->x->client, force ? "/v1/kill" : "/v1/stop", force, err);

    if (r == 0)
        r = wait_end(s->x, seconds * 1000, &status, err);
    if (r == -ETIME)
        s->code = SLIDER_TIMED_OUT;
    if (r < 0)
        return r;
    (void)snprintf(text, sizeof(text), "has ended: %s",
                   format_lower(format_text(status, "state"), state, sizeof(state)));
    return slider_say(s, "stop", text, err);
}

/* Why it was stopped, until it is started again. */
static int note_message(struct slider *s, struct slider_docs *d, struct err *err)
{
    const char *text = slider_value(s, "--message");

    if (!text)
        return 0;
    if (json_object_set_new(d->internal, "message", json_text(text)) < 0)
        return err_oom(err);
    return slider_store_write(s, s->name, "internal.json", d->internal, err);
}

int slider_stop(struct slider *s, struct err *err)
{
    struct slider_docs d = { 0 };
    int r = slider_store_read(s, s->name, &d, err);

    if (r == 0)
        r = slider_find_job(s, &d, err);
    if (r > 0) {
        r = note_message(s, &d, err);
        if (r == 0)
            r = slider_stop_job(s, err);
    } else if (r == 0) {
        r = slider_say(s, "nothing", "is not running", err);
    }
    slider_docs_done(&d);
    return r;
}

/* ---- destroy ---- */

/* A definition that nobody can read any more may go, but not while its job runs. */
static int check_idle(struct slider *s, struct err *err)
{
    struct slider_docs d = { 0 };
    int r = slider_store_read(s, s->name, &d, err);

    r = slider_store_skip(s, s->name, r, err);
    if (r == 0)
        r = slider_find_job(s, &d, err);
    slider_docs_done(&d);
    if (r <= 0)
        return r;
    slider_fail(s, SLIDER_IN_USE, -EBUSY, err, "'%s' is running, as %s", s->name,
                client_id(s->x->client));
    err_hint(err, "stop it with '%s stop %s'", s->ask->name, s->name);
    return -EBUSY;
}

int slider_destroy(struct slider *s, struct err *err)
{
    int r;

    if (!slider_given(s, "--force")) {
        cli_bad(err, "destroy removes the definition of '%s' permanently: confirm with --force",
                s->name);
        return CLI_USAGE;
    }
    r = slider_store_has(s, s->name, err);
    if (r == 0)
        return slider_say(s, "nothing", "did not exist", err);
    if (r > 0)
        r = check_idle(s, err);
    if (r == 0)
        r = slider_store_remove(s, s->name, err);
    return r < 0 ? r : slider_say(s, "destroy", "removed", err);
}

/* ---- flex ---- */

static json_t *resources_of(const struct slider_docs *d, const char *name)
{
    return json_object_get(json_object_get(d->resources, "components"), name);
}

/* "4" is that many, "+1" and "-1" so many more or fewer than there are. */
static int flex_count(const struct slider_docs *d, const char *name, const char *text, int64_t *ret,
                      struct err *err)
{
    json_t *resources = resources_of(d, name);
    int64_t n = 0, now = 0;
    int r;

    if (!json_is_object(resources) || str_eq(name, SLIDER_MASTER))
        return cli_bad(err, "there is no component '%.60s' in resources.json", name);
    r = slider_number(resources, INSTANCES, 0, 1, &now, err);
    if (r < 0)
        return r;
    if (str_to_i64(text + (text[0] == '+'), INT32_MIN, INT32_MAX, &n) < 0 || !*text)
        return cli_bad(err, "'%.60s' is not a number of instances such as 4, +1 or -1", text);
    *ret = text[0] == '+' || text[0] == '-' ? now + n : n;
    if (*ret < 0)
        return cli_bad(err, "%s: there are only %lld instances of '%s'", text, (long long)now,
                       name);
    return 0;
}

static int flex_role(struct slider *s, const char *name, int64_t count, struct err *err)
{
    const struct slider_component c = { .name = name };
    AUTO_BUF role = { .max = KIB };
    AUTO_BUF target = { .max = 4 * KIB };

    if (slider_role(&c, &role) < 0 || !buf_text(&role) ||
        buf_add_str(&target, "/v1/scale?role=") < 0 || http_quote(&target, buf_text(&role)) < 0 ||
        buf_printf(&target, "&count=%lld", (long long)count) < 0 || !buf_text(&target))
        return err_oom(err);
    return client_put(s->x->client, buf_text(&target), err);
}

/* All counts into the document: nothing is kept when one of them is wrong. */
static int flex_all(struct slider *s, struct slider_docs *d, bool live, struct err *err)
{
    const char between[] = { LEGACY_BETWEEN, '\0' };
    const struct legacy_args *args = s->ask->args;
    int r = 0;

    for (size_t i = 0; r == 0 && i < args->n; i++) {
        AUTO_STRS words = { 0 };
        int64_t n = 0;

        if (!legacy_is(args->hits[i].option, "--component"))
            continue;
        if (strs_split(&words, args->hits[i].value, between) < 0)
            return err_oom(err);
        if (words.n != 2)
            return cli_bad(err, "--component needs a name and a number");
        r = flex_count(d, words.v[0], words.v[1], &n, err);
        if (r == 0 && live)
            r = flex_role(s, words.v[0], n, err);
        if (r == 0 && json_object_set_new(resources_of(d, words.v[0]), INSTANCES,
                                          json_sprintf("%lld", (long long)n)) < 0)
            r = err_oom(err);
    }
    return r;
}

/* Twice through all options: the first time on a copy, so that one that is wrong changes nothing,
 * the second time for the job that runs as well. The definition is written last, with what the job
 * has by then. */
int slider_flex(struct slider *s, struct err *err)
{
    struct slider_docs d = { 0 };
    bool live = false;
    int r = slider_given(s, "--component")
                ? slider_store_read(s, s->name, &d, err)
                : cli_bad(err, "nothing to change: --component NAME COUNT is missing");

    if (r == 0) {
        json_t *as_it_was = d.resources;

        d.resources = json_deep_copy(as_it_was);
        r = d.resources ? flex_all(s, &d, false, err) : err_oom(err); /* are all of them right? */
        json_decref(d.resources);
        d.resources = as_it_was;
    }
    if (r == 0)
        r = slider_find_job(s, &d, err);
    live = r > 0;
    if (r >= 0)
        r = flex_all(s, &d, live, err);
    if (r == 0)
        r = slider_store_write(s, s->name, "resources.json", d.resources, err);
    slider_docs_done(&d);
    if (r == 0)
        r = slider_say(s, "flex",
                       live ? "changed" : "changed for the next start; it is not running now", err);
    return r < 0 || live ? r : SLIDER_FALSE;
}
