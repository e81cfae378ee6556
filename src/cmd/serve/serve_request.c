/* serve_request.c - see serve_request.h. The request is in the store before anybody waits: it is
 * carried out also when this process is killed. */
#include "cmd/serve/serve_request.h"
#include "base/str.h"
#include "loop/fiber.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_request.h"

#include <openssl/rand.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLAN_MS 10000 /* it is there a moment after the deployment was started */
#define LOOK_MS 100
#define ANSWER_MS 60000 /* the gateway's task may have to be started again */

int serve_plan_of(struct client *c, int wait, json_t **ret, struct err *err)
{
    AUTO_FREE char *target = str_printf("/v1/kv/" DEPLOYMENT_PLAN "?wait=%d", wait);
    AUTO_BUF text = { .max = CLIENT_BODY_MAX };
    int r = target ? client_get(c, target, &text, err) : err_oom(err);

    if (r == 0 && !buf_text(&text))
        r = err_oom(err);
    return r < 0 ? r : deployment_plan_parse("the deployment's plan", buf_text(&text), ret, err);
}

int serve_plan(struct job_call *x, json_t **ret, struct err *err)
{
    return serve_plan_of(x->client, PLAN_MS, ret, err);
}

int serve_plan_model(const json_t *plan, const char *name, json_t **ret, struct err *err)
{
    *ret = deployment_model(plan, name);
    if (*ret)
        return 0;
    err_set(err, -ENOENT,
            name ? "this deployment has no model '%s'" : "this deployment has several models",
            name);
    err_hint(err, name ? "'ydl serve status' shows those it has" : "say which with --model NAME");
    return -ENOENT;
}

/* For people who ask later why something was done. */
static json_t *requester(void)
{
    char names[4096];
    struct passwd entry, *user = NULL;

    (void)getpwuid_r(geteuid(), &entry, names, sizeof(names), &user);
    return user ? json_text(user->pw_name) : json_sprintf("user %u", (unsigned)geteuid());
}

static int put_request(struct job_call *x, json_t *request, char id[SERVE_ID], struct err *err)
{
    AUTO_FREE char *text = NULL;
    AUTO_FREE char *target = NULL;
    AUTO_FREE char *hex = NULL;
    uint8_t noise[12];

    if (RAND_bytes(noise, sizeof(noise)) != 1 || str_hex(noise, sizeof(noise), &hex) < 0 ||
        json_object_set_new(request, "by", requester()) < 0)
        return err_oom(err);
    (void)snprintf(id, SERVE_ID, "%s", hex);
    target = str_printf("/v1/kv/" DEPLOYMENT_ASK "%s", id);
    text = json_dumps(request, JSON_COMPACT);
    return target && text ? client_put_now(x->client, target, text, strlen(text), err)
                          : err_oom(err);
}

/* 1: carried out; 0: not yet. */
static int look_for_answer(struct job_call *x, const char *id, struct err *err)
{
    AUTO_JSON *plan = NULL;
    const json_t *answer;
    const char *error, *hint;
    int r = serve_plan(x, &plan, err), code;

    if (r < 0)
        return r;
    answer = deployment_answer(plan, id);
    error = json_string_value(json_object_get(answer, "error"));
    hint = json_string_value(json_object_get(answer, "hint"));
    if (!error)
        return answer != NULL;
    code = (int)json_int_or(answer, "code", -EINVAL);
    err_set(err, code < 0 ? code : -EINVAL, "%s", error);
    if (hint && *hint)
        err_hint(err, "%s", hint);
    return err->code;
}

int serve_request(struct job_call *x, json_t *request, char id[SERVE_ID], struct err *err)
{
    int64_t deadline = loop_in(x->loop, ANSWER_MS);
    int r = put_request(x, request, id, err);

    while (r == 0) {
        r = look_for_answer(x, id, err);
        if (r == 0 && loop_now(x->loop) > deadline)
            r = err_set(err, -ETIME,
                        "the deployment's gateway does not answer; what was asked for is done when "
                        "it runs again");
        if (r == 0 && (r = fiber_sleep(x->loop, LOOK_MS)) < 0)
            err_set(err, r, "interrupted");
    }
    return r < 0 ? r : 0;
}
