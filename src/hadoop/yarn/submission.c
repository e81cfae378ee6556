/* submission.c - checks a submission, then fills in the message part by part. What the
 * ResourceManager would accept and treat otherwise than meant is refused here, before it is sent.
 * See submission.h. */
#include "hadoop/yarn/submission.h"
#include "base/auto.h"
#include "hadoop/yarn/message.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define TAGS_MAX 10
#define TAG_MAX 100
#define TYPE_MAX 20 /* the RM cuts it there */

/* ---- checks ---- */

static int check_tag(const char *tag, struct err *err)
{
    size_t n = strlen(tag);

    if (n == 0 || n > TAG_MAX)
        return err_set(err, -EINVAL, "tag '%.120s' has %zu characters, 1 to %d are allowed", tag, n,
                       TAG_MAX);
    for (const char *p = tag; *p; p++)
        if (*p < ' ' || *p > '~')
            return err_set(err, -EINVAL, "a tag may have printable ASCII characters only");
    return 0;
}

static int submission_check_label(const char *label, struct err *err)
{
    return !label || !strpbrk(label, "&|, ")
               ? 0
               : err_set(err, -EINVAL, "'%s' is not a node label (YARN accepts exactly one)",
                         label);
}

static int submission_check_texts(const struct yarn_submission *s, struct err *err)
{
    if (!s->name || !*s->name)
        return err_set(err, -EINVAL, "the application has no name");
    if (s->type && strlen(s->type) > TYPE_MAX)
        return err_set(err, -EINVAL, "application type '%s' is longer than %d characters", s->type,
                       TYPE_MAX);
    if (s->queue && !*s->queue)
        return err_set(err, -EINVAL, "the queue has no name");
    if (submission_check_label(s->label, err) < 0 ||
        submission_check_label(s->master_label, err) < 0)
        return -EINVAL;
    if (s->n_tags > TAGS_MAX)
        return err_set(err, -EINVAL, "%zu tags, at most %d are allowed", s->n_tags, TAGS_MAX);
    for (size_t i = 0; i < s->n_tags; i++) {
        int r = check_tag(s->tags[i], err);

        if (r < 0)
            return r;
    }
    return 0;
}

static int submission_check(const struct yarn_submission *s, const Yarn__Resource *maximum,
                            struct err *err)
{
    int r = submission_check_texts(s, err);

    if (r < 0)
        return r;
    if (!s->launch)
        return err_set(err, -EINVAL, "the application has no command for its master");
    if (s->lifetime_s < 0)
        return err_set(err, -EINVAL, "a lifetime of %" PRId64 " s is not valid", s->lifetime_s);
    if (s->max_attempts < 0)
        return err_set(err, -EINVAL, "%" PRId32 " attempts is not a number of attempts",
                       s->max_attempts);
    r = yarn_resource_check(&s->master, maximum, NULL, 0, err);
    return r < 0 ? err_wrap(err, r, "the master's container") : 0;
}

/* ---- parts ---- */

static int set_texts(const struct yarn_submission *s, Yarn__ApplicationSubmissionContext *m)
{
    if (MESSAGE_TEXT(m->application_name, s->name) < 0)
        return -ENOMEM;
    if (s->queue && MESSAGE_TEXT(m->queue, s->queue) < 0)
        return -ENOMEM;
    if (s->type && MESSAGE_TEXT(m->application_type, s->type) < 0)
        return -ENOMEM;
    if (s->label && MESSAGE_TEXT(m->node_label_expression, s->label) < 0)
        return -ENOMEM;
    return 0;
}

/* Java's client sends tags in lower case, and the RM's filters look for nothing else. */
static int set_tags(const struct yarn_submission *s, Yarn__ApplicationSubmissionContext *m)
{
    for (size_t i = 0; i < s->n_tags; i++) {
        AUTO_FREE char *tag = strdup(s->tags[i]);

        if (!tag)
            return -ENOMEM;
        for (char *p = tag; *p; p++)
            *p = (char)tolower((unsigned char)*p);
        if (MESSAGE_ADD_TEXT(m, application_tags, tag) < 0)
            return -ENOMEM;
    }
    return 0;
}

static void set_numbers(const struct yarn_submission *s, Yarn__ApplicationSubmissionContext *m)
{
    if (s->keep_containers)
        m->has_keep_containers_across_attempts = m->keep_containers_across_attempts = true;
    if (s->max_attempts > 0) {
        m->has_max_app_attempts = true;
        m->max_app_attempts = s->max_attempts;
    }
    if (s->failures_window_ms > 0) {
        m->has_attempt_failures_validity_interval = true;
        m->attempt_failures_validity_interval = s->failures_window_ms;
    }
}

static int set_priority(const struct yarn_submission *s, Yarn__ApplicationSubmissionContext *m)
{
    if (!s->has_priority)
        return 0;
    m->priority = MESSAGE_NEW(yarn__priority);
    if (!m->priority)
        return -ENOMEM;
    m->priority->has_priority = true;
    m->priority->priority = s->priority;
    return 0;
}

/* The application's label goes to every ask that has none; the master's own stands in its row. With
 * such a row the RM takes size and label of the master from it, and not from `resource`. There must
 * be exactly one of "*". */
static int set_master_label(const struct yarn_submission *s, Yarn__ApplicationSubmissionContext *m)
{
    Yarn__ResourceRequest *row;

    if (!s->master_label)
        return 0;
    row = MESSAGE_NEW(yarn__resource_request);
    if (!row || MESSAGE_ADD(m, am_container_resource_requests, row) < 0)
        return -ENOMEM;
    row->priority = MESSAGE_NEW(yarn__priority);
    row->capability = yarn_resource_new(&s->master);
    if (!row->priority || !row->capability || MESSAGE_TEXT(row->resource_name, "*") < 0 ||
        MESSAGE_TEXT(row->node_label_expression, s->master_label) < 0)
        return -ENOMEM;
    row->priority->has_priority = row->has_num_containers = true;
    row->num_containers = 1;
    return 0;
}

/* In seconds, unlike failures_window_ms and every other time of this message. */
static int set_lifetime(const struct yarn_submission *s, Yarn__ApplicationSubmissionContext *m)
{
    Yarn__ApplicationTimeoutMap *row;

    if (s->lifetime_s == 0)
        return 0;
    row = MESSAGE_NEW(yarn__application_timeout_map);
    if (!row)
        return -ENOMEM;
    row->has_type = row->has_timeout = true;
    row->type = YARN__APPLICATION_TIMEOUT_TYPE__TIMEOUT_LIFETIME;
    row->timeout = s->lifetime_s;
    return MESSAGE_ADD(m, application_timeouts, row);
}

static int submission_fill(const struct yarn_submission *s, struct yarn_app_id id,
                           Yarn__ApplicationSubmissionContext *m)
{
    m->application_id = yarn_app_id_new(id);
    m->resource = yarn_resource_new(&s->master);
    m->am_container_spec = message_copy(s->launch);
    if (!m->application_id || !m->resource || !m->am_container_spec)
        return -ENOMEM;
    set_numbers(s, m);
    if (set_texts(s, m) < 0 || set_tags(s, m) < 0 || set_priority(s, m) < 0 ||
        set_master_label(s, m) < 0 || set_lifetime(s, m) < 0)
        return -ENOMEM;
    return 0;
}

int yarn_submission_message(const struct yarn_submission *s, struct yarn_app_id id,
                            const Yarn__Resource *maximum, Yarn__ApplicationSubmissionContext **ret,
                            struct err *err)
{
    AUTO_MESSAGE Yarn__ApplicationSubmissionContext *m = NULL;
    int r = submission_check(s, maximum, err);

    if (r < 0)
        return r;
    m = MESSAGE_NEW(yarn__application_submission_context);
    if (!m || submission_fill(s, id, m) < 0)
        return err_oom(err);
    *ret = take(m);
    return 0;
}
