/* deployment_request.c - requests as a table of what they do to a plan. One that is refused leaves
 * its reason there, and nothing else. See deployment_request.h. */
#include "serve/deployment/deployment_request.h"
#include "serve/deployment/autoscale.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_update.h"

#include <string.h>

#define ANSWERS_MAX 16

static const char *text_of(const json_t *v, const char *key)
{
    const char *s = json_string_value(json_object_get(v, key));

    return s ? s : "";
}

/* ---- update ---- */

static int check_number(const json_t *q, const char *key, double least, double most,
                        struct err *err)
{
    const json_t *v = json_object_get(q, key);
    double n = json_number_value(v);

    return json_is_number(v) && n >= least && n <= most
               ? 0
               : err_set(err, -EINVAL, "the request's '%s' is not a number from %g to %g", key,
                         least, most);
}

static int check_update(const json_t *q, struct err *err)
{
    const json_t *v = json_object_get(q, "version");
    int r = check_number(v, "version", 1, 1e15, err);

    if (r == 0 && *text_of(v, "path") != '/')
        r = err_set(err, -EINVAL, "the request does not say where the version is");
    if (r == 0)
        r = check_number(q, "percent", UPDATE_CANARY_LEAST, 100, err);
    if (r == 0)
        r = check_number(q, "errors", 0, 100, err);
    if (r == 0)
        r = check_number(q, "slower", 1, 1000, err);
    if (r == 0)
        r = check_number(q, "requests", 1, 1e9, err);
    if (r == 0)
        r = check_number(q, "watch", 0, 1e12, err);
    return r < 0 ? r : check_number(q, "warm", 0, 1e12, err);
}

/* The version that is in the way of another update. */
static int busy(const json_t *model, struct err *err)
{
    const json_t *update = json_object_get(model, "update");
    const char *name = text_of(model, "name");

    err_set(err, -EBUSY, "'%s' is being updated from version %lld to %lld (%s)", name,
            (long long)json_int_or(update, "from", 0), (long long)json_int_or(update, "to", 0),
            text_of(update, "phase"));
    err_hint(err, "wait until it is done, end it with 'ydl serve rollback', or say --replace");
    return -EBUSY;
}

/* Another alias, or none any more? */
static bool follows_anew(const json_t *model, const json_t *q)
{
    const json_t *said = json_object_get(q, "follow"), *now = json_object_get(model, "follow");

    return said && (json_is_string(said) ? !json_equal(said, now) : now != NULL);
}

static int follow(json_t *model, const json_t *q)
{
    const json_t *said = json_object_get(q, "follow");

    if (!said)
        return 0;
    if (json_is_string(said))
        return json_object_set(model, "follow", (json_t *)said) < 0 ||
                       json_object_set(model, "followed",
                                       json_object_get(json_object_get(q, "version"), "version")) <
                           0
                   ? -ENOMEM
                   : 0;
    (void)json_object_del(model, "follow");
    (void)json_object_del(model, "followed");
    return 0;
}

static int no_canary(const json_t *model, struct err *err)
{
    err_set(err, -EINVAL,
            "'%s' has no gateway that could give a new version a share of the requests",
            text_of(model, "name"));
    err_hint(err, "leave --canary out: the new version takes over when all its replicas are ready");
    return -EINVAL;
}

/*     no update runs, another version       it begins
 *     no update runs, the same version      refused; but another alias to follow is taken over
 *     one runs                              refused, unless "replace" is said: then that one is
 *                                           taken back, or ends, and this request waits as "next"
 */
static int ask_update(json_t *plan, json_t *model, const json_t *q, int64_t now, struct err *err)
{
    int64_t number = json_int_or(json_object_get(q, "version"), "version", 0);
    enum update_phase phase = deployment_update_phase(model);
    int r = check_update(q, err);

    if (r == 0 && deployment_is_direct(plan) &&
        json_number_value(json_object_get(q, "percent")) < 100)
        r = no_canary(model, err);
    if (r < 0)
        return r;
    if (phase != UPDATE_NONE && !json_is_true(json_object_get(q, "replace")))
        return busy(model, err);
    if (phase == UPDATE_NONE && number == json_int_or(model, "serve", 0) && !follows_anew(model, q))
        return err_set(err, -EEXIST, "'%s' serves version %lld already", text_of(model, "name"),
                       (long long)number);
    if (follow(model, q) < 0)
        return err_oom(err);
    if (phase == UPDATE_NONE)
        return number == json_int_or(model, "serve", 0)
                   ? 0
                   : deployment_update_begin(plan, model, q, now, err);
    if (json_object_set(model, "next", (json_t *)q) < 0)
        return err_oom(err);
    r = deployment_update_take_back(model, "another update took its place", now, err);
    return r < 0 ? r : 0;
}

/* ---- return, scale ---- */

/* An update that waits behind the present one goes too: who takes back wants what was served
 * before, not the next version. */
static int ask_return(json_t *plan, json_t *model, const json_t *q, int64_t now, struct err *err)
{
    AUTO_FREE char *why =
        str_printf("taken back by %s", *text_of(q, "by") ? text_of(q, "by") : "somebody");
    int r;

    (void)plan;
    if (!why)
        return err_oom(err);
    (void)json_object_del(model, "next");
    r = deployment_update_take_back(model, why, now, err);
    if (r != 0)
        return r < 0 ? r : 0;
    if (deployment_update_phase(model) == UPDATE_NONE)
        return err_set(err, -ENOENT, "'%s' is not being updated", text_of(model, "name"));
    err_set(err, -EBUSY, "the update of '%s' is just ending", text_of(model, "name"));
    err_hint(err, "try again in a moment");
    return -EBUSY;
}

/* A rule that is there counts from now on; null ends autoscaling. */
static int scale_rule(const json_t *plan, json_t *model, const json_t *q, struct err *err)
{
    json_t *rule = json_object_get(q, "autoscale");
    struct autoscale a;
    int r;

    if (!rule)
        return 0;
    if (json_is_null(rule)) {
        (void)json_object_del(model, "autoscale");
        (void)json_object_del(model, "scaled");
        return 0;
    }
    if (deployment_is_direct(plan))
        return err_set(err, -EINVAL, "without a gateway nobody knows the load of '%s'",
                       text_of(model, "name"));
    r = autoscale_parse(rule, &a, err);
    return r < 0 ? r : json_object_set(model, "autoscale", rule) < 0 ? err_oom(err) : 0;
}

/* Without a number: what there is, within the rule. */
static int scale_number(const json_t *model, const json_t *q, int64_t *ret, struct err *err)
{
    struct autoscale a;
    bool ruled = autoscale_of(model, &a);
    int r;

    *ret = json_int_or(model, "replicas", 0);
    if (ruled && !json_object_get(q, "replicas"))
        *ret = *ret < a.min ? a.min : *ret > a.max ? a.max : *ret;
    if (!json_object_get(q, "replicas") && json_object_get(q, "autoscale"))
        return 0;
    r = check_number(q, "replicas", 0, DEPLOYMENT_REPLICAS, err);
    *ret = json_int_or(q, "replicas", 0);
    if (r < 0 || !ruled || *ret == 0 || (*ret >= a.min && *ret <= a.max))
        return r;
    err_set(err, -EINVAL, "'%s' is scaled by its load, from %u to %u replicas",
            text_of(model, "name"), a.min, a.max);
    err_hint(err, "change that with --autoscale MIN-MAX, or end it with --autoscale off");
    return -EINVAL;
}

static int ask_scale(json_t *plan, json_t *model, const json_t *q, int64_t now, struct err *err)
{
    int64_t n = 0;
    int r = scale_rule(plan, model, q, err);

    (void)now;
    if (r == 0)
        r = scale_number(model, q, &n, err);
    if (r < 0)
        return r;
    return json_object_set_new(model, "replicas", json_integer(n)) < 0 ? err_oom(err) : 0;
}

/* ---- all ---- */

static const struct {
    const char *name;
    int (*run)(json_t *plan, json_t *model, const json_t *q, int64_t now, struct err *err);
} requests[] = {
    { "update", ask_update },
    { "return", ask_return },
    { "scale", ask_scale },
};

static int run(json_t *plan, const char *text, const char *id, int64_t now, struct err *err)
{
    AUTO_JSON *q = NULL;
    json_t *model;
    const char *name;
    int r = json_parse("the request", text, strlen(text), &q, err);

    if (r == 0 && !json_is_object(q))
        r = err_set(err, -EINVAL, "the request is no object");
    if (r < 0)
        return r;
    name = json_string_value(json_object_get(q, "model"));
    model = deployment_model(plan, name);
    if (!model)
        return err_set(err, -ENOENT,
                       name ? "this deployment has no model '%.64s'"
                            : "this deployment has several models",
                       name);
    if (json_object_set_new(q, "id", json_text(id)) < 0)
        return err_oom(err);
    for (size_t i = 0; i < COUNT_OF(requests); i++)
        if (str_eq(requests[i].name, text_of(q, "do")))
            return requests[i].run(plan, model, q, now, err);
    return err_set(err, -EINVAL, "'%.64s' is not a request", text_of(q, "do"));
}

/* The oldest ones go, as the plan would grow without end; who asked looks for its answer within
 * seconds. */
static int answer(json_t *plan, const char *id, const struct err *refused, struct err *err)
{
    json_t *answers = json_object_get(plan, "answers");
    AUTO_JSON *one = json_pack("{s:o}", "id", json_text(id));

    if (!json_is_array(answers)) {
        if (json_object_set_new(plan, "answers", json_array()) < 0)
            return err_oom(err);
        answers = json_object_get(plan, "answers");
    }
    if (!one ||
        (refused->code && (json_object_set_new(one, "error", json_text(refused->text)) < 0 ||
                           json_object_set_new(one, "code", json_integer(refused->code)) < 0 ||
                           json_object_set_new(one, "hint", json_text(refused->hint)) < 0)) ||
        json_array_append(answers, one) < 0)
        return err_oom(err);
    while (json_array_size(answers) > ANSWERS_MAX)
        (void)json_array_remove(answers, 0);
    return 1;
}

const json_t *deployment_answer(const json_t *plan, const char *id)
{
    const json_t *answers = json_object_get(plan, "answers"), *one;
    size_t i;

    json_array_foreach(answers, i, one)
    {
        if (str_eq(text_of(one, "id"), id))
            return one;
    }
    return NULL;
}

int deployment_refuse(json_t *plan, const char *id, const struct err *why, struct err *err)
{
    return deployment_answer(plan, id) ? 0 : answer(plan, id, why, err);
}

/* A request is tried on a copy, so that one that is refused halfway leaves the plan as it was; its
 * refusal is then the only change. Changes and answer are in one document, which is written at
 * once: a controller that is killed has either done both or nothing, and one that finds the answer
 * does not carry the request out again. */
int deployment_request(json_t *plan, const char *id, const char *text, int64_t now, struct err *err)
{
    struct err refused = ERR_INIT;
    AUTO_JSON *tried = NULL;
    int r;

    if (deployment_answer(plan, id))
        return 0;
    tried = json_deep_copy(plan);
    if (!tried)
        return err_oom(err);
    r = run(tried, text, id, now, &refused);
    if (r == -ENOMEM)
        return err_oom(err);
    if (r < 0)
        return answer(plan, id, &refused, err);
    if (json_object_update(plan, tried) < 0)
        return err_oom(err);
    return answer(plan, id, &refused, err);
}
