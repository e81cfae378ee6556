/* ids.c - one parser of digits and underscores for the three kinds of id, which begin alike; what
 * Java would not write itself is refused.
 *
 *     application_1794718682665_0075              when its RM started, count
 *     appattempt_1794718682665_0075_000001        the same, attempt
 *     container_e17_1794718682665_0075_01_000002  epoch, the application, attempt, count
 *
 * An epoch is a restart of an RM that kept its state: its counts begin anew, so the epoch is the
 * part above the low 40 bits of the container's number, and is written only when it is not 0. See
 * ids.h. */
#include "hadoop/yarn/ids.h"
#include "base/auto.h"
#include "base/str.h"
#include "hadoop/yarn/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define EPOCH_SHIFT 40
#define SEQUENCE_MAX ((INT64_C(1) << EPOCH_SHIFT) - 1)
#define EPOCH_MAX ((INT64_C(1) << (63 - EPOCH_SHIFT)) - 1)

/* ---- reading text ---- */

static bool eat(const char **p, const char *prefix)
{
    size_t n = strlen(prefix);

    if (strncmp(*p, prefix, n) != 0)
        return false;
    *p += n;
    return true;
}

/* A run of digits up to `max`; no sign, no space, at least one. */
static bool yarn_number(const char **p, int64_t max, int64_t *ret)
{
    const char *s = *p;
    int64_t v = 0;

    for (; *s >= '0' && *s <= '9'; s++) {
        int digit = *s - '0';

        if (v > (max - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    if (s == *p)
        return false;
    *p = s;
    *ret = v;
    return true;
}

static bool yarn_next_number(const char **p, int64_t max, int64_t *ret)
{
    return eat(p, "_") && yarn_number(p, max, ret);
}

static bool app_part(const char **p, struct yarn_app_id *ret)
{
    int64_t timestamp, id;

    if (!yarn_number(p, INT64_MAX, &timestamp) || !yarn_next_number(p, INT32_MAX, &id))
        return false;
    *ret = (struct yarn_app_id){ timestamp, (int32_t)id };
    return true;
}

static bool attempt_part(const char **p, struct yarn_attempt_id *ret)
{
    struct yarn_app_id app;
    int64_t attempt;

    if (!app_part(p, &app) || !yarn_next_number(p, INT32_MAX, &attempt))
        return false;
    *ret = (struct yarn_attempt_id){ app, (int32_t)attempt };
    return true;
}

static int yarn_bad(struct err *err, const char *text, const char *what, const char *form)
{
    char shown[80];

    str_clean(shown, sizeof(shown), text ? text : "");
    err_set(err, -EINVAL, "'%s' is not %s", shown, what);
    err_hint(err, "it looks like %s", form);
    return -EINVAL;
}

int yarn_app_id_parse(const char *text, struct yarn_app_id *ret, struct err *err)
{
    const char *p = text;
    struct yarn_app_id id;

    if (!text || !eat(&p, "application_") || !app_part(&p, &id) || *p)
        return yarn_bad(err, text, "an application id", "application_1794718682665_0075");
    *ret = id;
    return 0;
}

int yarn_container_id_parse(const char *text, struct yarn_container_id *ret, struct err *err)
{
    const char *form = "container_1794718682665_0075_01_000002";
    const char *p = text;
    struct yarn_container_id id;
    int64_t epoch = 0, sequence;

    if (!text || !eat(&p, "container_"))
        return yarn_bad(err, text, "a container id", form);
    if (eat(&p, "e") && (!yarn_number(&p, EPOCH_MAX, &epoch) || !eat(&p, "_")))
        return yarn_bad(err, text, "a container id", form);
    if (!attempt_part(&p, &id.attempt) || !yarn_next_number(&p, SEQUENCE_MAX, &sequence) || *p)
        return yarn_bad(err, text, "a container id", form);
    id.id = epoch << EPOCH_SHIFT | sequence;
    *ret = id;
    return 0;
}

/* ---- writing text ---- */

const char *yarn_app_id_text(struct yarn_app_id id, char out[YARN_APP_ID_TEXT])
{
    snprintf(out, YARN_APP_ID_TEXT, "application_%" PRId64 "_%04" PRId32, id.timestamp, id.id);
    return out;
}

const char *yarn_attempt_id_text(struct yarn_attempt_id id, char out[YARN_ATTEMPT_ID_TEXT])
{
    snprintf(out, YARN_ATTEMPT_ID_TEXT, "appattempt_%" PRId64 "_%04" PRId32 "_%06" PRId32,
             id.app.timestamp, id.app.id, id.attempt);
    return out;
}

const char *yarn_container_id_text(struct yarn_container_id id, char out[YARN_CONTAINER_ID_TEXT])
{
    int64_t epoch = id.id >> EPOCH_SHIFT; /* negative only when a server sent rubbish */
    char e[24] = "";

    if (epoch > 0)
        snprintf(e, sizeof(e), "e%02" PRId64 "_", epoch);
    snprintf(out, YARN_CONTAINER_ID_TEXT,
             "container_%s%" PRId64 "_%04" PRId32 "_%02" PRId32 "_%06" PRId64, e,
             id.attempt.app.timestamp, id.attempt.app.id, id.attempt.attempt, id.id & SEQUENCE_MAX);
    return out;
}

/* ---- comparing ---- */

static int cmp(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

int yarn_app_id_cmp(struct yarn_app_id a, struct yarn_app_id b)
{
    int r = cmp(a.timestamp, b.timestamp);

    return r ? r : cmp(a.id, b.id);
}

static int yarn_attempt_id_cmp(struct yarn_attempt_id a, struct yarn_attempt_id b)
{
    int r = yarn_app_id_cmp(a.app, b.app);

    return r ? r : cmp(a.attempt, b.attempt);
}

int yarn_container_id_cmp(struct yarn_container_id a, struct yarn_container_id b)
{
    int r = yarn_attempt_id_cmp(a.attempt, b.attempt);

    return r ? r : cmp(a.id, b.id);
}

/* ---- messages ---- */

struct yarn_app_id yarn_app_id_of(const Yarn__ApplicationId *m)
{
    if (!m)
        return (struct yarn_app_id){ 0 };
    return (struct yarn_app_id){ m->cluster_timestamp, m->id };
}

struct yarn_attempt_id yarn_attempt_id_of(const Yarn__ApplicationAttemptId *m)
{
    if (!m)
        return (struct yarn_attempt_id){ 0 };
    return (struct yarn_attempt_id){ yarn_app_id_of(m->application_id), m->attempt_id };
}

struct yarn_container_id yarn_container_id_of(const Yarn__ContainerId *m)
{
    if (!m)
        return (struct yarn_container_id){ 0 };
    return (struct yarn_container_id){ yarn_attempt_id_of(m->attempt_id), m->id };
}

Yarn__ApplicationId *yarn_app_id_message(struct yarn_id_message *m, struct yarn_app_id id)
{
    m->app = (Yarn__ApplicationId)YARN__APPLICATION_ID__INIT;
    m->app.has_id = m->app.has_cluster_timestamp = true;
    m->app.id = id.id;
    m->app.cluster_timestamp = id.timestamp;
    return &m->app;
}

Yarn__ApplicationAttemptId *yarn_attempt_id_message(struct yarn_id_message *m,
                                                    struct yarn_attempt_id id)
{
    m->attempt = (Yarn__ApplicationAttemptId)YARN__APPLICATION_ATTEMPT_ID__INIT;
    m->attempt.application_id = yarn_app_id_message(m, id.app);
    m->attempt.has_attempt_id = true;
    m->attempt.attempt_id = id.attempt;
    return &m->attempt;
}

/* The application id is in the attempt only: nobody reads the container's own. */
Yarn__ContainerId *yarn_container_id_message(struct yarn_id_message *m, struct yarn_container_id id)
{
    m->container = (Yarn__ContainerId)YARN__CONTAINER_ID__INIT;
    m->container.attempt_id = yarn_attempt_id_message(m, id.attempt);
    m->container.has_id = true;
    m->container.id = id.id;
    return &m->container;
}

Yarn__ContainerId *yarn_container_id_new(struct yarn_container_id id)
{
    struct yarn_id_message m;

    return message_copy(yarn_container_id_message(&m, id));
}

Yarn__ApplicationId *yarn_app_id_new(struct yarn_app_id id)
{
    struct yarn_id_message m;

    return message_copy(yarn_app_id_message(&m, id));
}
