/* tf_cluster.c - a TensorFlow cluster from any of the forms that people have it in: TF_CONFIG,
 * JSON, "job|host:port;host:port,…" or one option for each job. All are read into one sorted list,
 * so that every server of a cluster gets the same bytes. See tf_cluster.h. */
#include "native/tf_cluster.h"
#include "base/array.h"
#include "base/json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static void job_done(struct tf_job *j)
{
    free(j->name);
    strs_done(&j->tasks);
}

void tf_cluster_done(struct tf_cluster *c)
{
    for (size_t i = 0; i < c->n; i++)
        job_done(&c->jobs[i]);
    free(c->jobs);
    *c = (struct tf_cluster){ 0 };
}

/* ---- checking ---- */

static bool tf_cluster_good_name(const char *s)
{
    size_t n = 0;

    while (isalnum((unsigned char)s[n]) || (s[n] && strchr("_-.", s[n])))
        n++;
    return n > 0 && n < TF_NAME_MAX && !s[n] && isalpha((unsigned char)s[0]);
}

static bool good_address(const char *s)
{
    const char *colon = strrchr(s, ':');
    int64_t port;

    return colon && colon > s && str_to_i64(colon + 1, 1, 65535, &port) == 0;
}

/* ---- adding ---- */

/* A new job in its place, which the alphabet gives; *ret is the cluster's. Sorted by name, because
 * JSON has no order and every server is to get the same bytes. */
static int tf_cluster_add_job(struct tf_cluster *c, const char *name, struct tf_job **ret,
                              struct err *err)
{
    size_t at = 0;

    if (!tf_cluster_good_name(name))
        return err_set(err, -EINVAL, "'%.80s' is no name of a job", name);
    while (at < c->n && strcmp(c->jobs[at].name, name) < 0)
        at++;
    if (at < c->n && str_eq(c->jobs[at].name, name))
        return err_set(err, -EINVAL, "job '%s' is there twice", name);
    if (ARRAY_INSERT(c->jobs, c->n, at, (struct tf_job){ .name = strdup(name) }) < 0)
        return err_oom(err);
    *ret = &c->jobs[at];
    return c->jobs[at].name ? 0 : err_oom(err);
}

static int tf_cluster_add_task(struct tf_job *j, const char *address, struct err *err)
{
    if (j->tasks.n >= TF_TASKS_MAX)
        return err_set(err, -EINVAL, "job '%s' has more than %d tasks", j->name, TF_TASKS_MAX);
    if (!good_address(address))
        return err_set(err, -EINVAL, "'%.80s' of job '%s' is no host:port", address, j->name);
    return strs_add(&j->tasks, address) < 0 ? err_oom(err) : 0;
}

static int tf_cluster_add_list(struct tf_cluster *c, const char *name, const char *list,
                               const char *between, struct err *err)
{
    AUTO_STRS words = { 0 };
    struct tf_job *j = NULL;
    int r = tf_cluster_add_job(c, name, &j, err);

    if (r == 0 && strs_split(&words, list, between) < 0)
        r = err_oom(err);
    for (size_t i = 0; i < words.n && r == 0; i++)
        r = tf_cluster_add_task(j, words.v[i], err);
    return r;
}

/* "NAME SIGN LIST" */
static int tf_cluster_add_text(struct tf_cluster *c, const char *text, char sign,
                               const char *between, struct err *err)
{
    const char *at = strchr(text, sign);
    AUTO_FREE char *name = at ? strndup(text, (size_t)(at - text)) : NULL;

    if (!at)
        return err_set(err, -EINVAL, "'%.80s' is no job%clist of addresses", text, sign);
    return name ? tf_cluster_add_list(c, name, at + 1, between, err) : err_oom(err);
}

int tf_cluster_job(const char *text, struct tf_cluster *c, struct err *err)
{
    return tf_cluster_add_text(c, text, '=', ",;", err);
}

/* ---- JSON ---- */

/* A list of addresses, or a map of indices and addresses, which may have holes. A map of indices
 * may be sparse ({"0": …, "5": …}); the holes become empty addresses, which tf_encode.c leaves out.
 * Indices are tried in order, up to the limit, because the map has none. */
static int add_json_map(struct tf_job *j, const json_t *map, struct err *err)
{
    size_t left = json_object_size(map);
    int r = 0;

    for (size_t i = 0; left > 0 && r == 0; i++) {
        char key[32];
        const char *address;

        (void)snprintf(key, sizeof(key), "%zu", i);
        address = json_string_value(json_object_get(map, key));
        if (i >= TF_TASKS_MAX)
            return err_set(err, -EINVAL, "job '%s': an index is no number below %d", j->name,
                           TF_TASKS_MAX);
        if (!address) {
            r = strs_add(&j->tasks, "") < 0 ? err_oom(err) : 0;
            continue;
        }
        r = tf_cluster_add_task(j, address, err);
        left--;
    }
    return r;
}

static int add_json_list(struct tf_job *j, const json_t *list, struct err *err)
{
    int r = 0;

    if (!json_is_array(list))
        return err_set(err, -EINVAL, "job '%s' is no list of addresses", j->name);
    for (size_t i = 0; i < json_array_size(list) && r == 0; i++) {
        const char *address = json_string_value(json_array_get(list, i));

        r = tf_cluster_add_task(j, address ? address : "", err);
    }
    return r;
}

static int add_json(struct tf_cluster *c, const json_t *cluster, struct err *err)
{
    const char *name;
    json_t *tasks;
    int r = 0;

    if (!json_is_object(cluster))
        return err_set(err, -EINVAL, "there is no cluster: a map of jobs and their addresses");
    json_object_foreach((json_t *)cluster, name, tasks)
    {
        struct tf_job *j = NULL;

        r = tf_cluster_add_job(c, name, &j, err);
        if (r == 0)
            r = json_is_object(tasks) ? add_json_map(j, tasks, err) : add_json_list(j, tasks, err);
        if (r < 0)
            break;
    }
    return r;
}

int tf_cluster_spec(const char *text, struct tf_cluster *c, struct err *err)
{
    AUTO_STRS jobs = { 0 };
    AUTO_JSON *doc = NULL;
    int r = 0;

    if (text[strspn(text, " \t\n")] == '{') {
        r = json_parse("the cluster", text, strlen(text), &doc, err);
        return r < 0 ? r : add_json(c, doc, err);
    }
    if (strs_split(&jobs, text, ",") < 0)
        return err_oom(err);
    if (jobs.n == 0)
        return err_set(err, -EINVAL, "the cluster is empty");
    for (size_t i = 0; i < jobs.n && r == 0; i++)
        r = tf_cluster_add_text(c, jobs.v[i], '|', ";", err);
    return r;
}

/* Some write the index as text. */
static int64_t tf_cluster_index_of(const json_t *task)
{
    const json_t *v = json_object_get(task, "index");
    int64_t index = -1;

    if (json_is_integer(v))
        index = json_integer_value(v);
    else if (json_is_string(v) && str_to_i64(json_string_value(v), 0, TF_TASKS_MAX, &index) < 0)
        index = -1;
    return index;
}

int tf_cluster_config(const char *text, struct tf_cluster *c, struct tf_task *ret, struct err *err)
{
    AUTO_JSON *doc = NULL;
    const json_t *task;
    const char *type;
    int r = json_parse("TF_CONFIG", text, strlen(text), &doc, err);

    if (r < 0)
        return r;
    r = add_json(c, json_object_get(doc, "cluster"), err);
    if (r < 0)
        return r == -EINVAL ? err_wrap(err, r, "TF_CONFIG") : r;
    task = json_object_get(doc, "task");
    type = json_string_value(json_object_get(task, "type"));
    if (type && !tf_cluster_good_name(type))
        return err_set(err, -EINVAL, "TF_CONFIG: '%.80s' is no name of a job", type);
    (void)snprintf(ret->name, sizeof(ret->name), "%s", type ? type : "");
    ret->index = tf_cluster_index_of(task);
    return 0;
}

/* ---- using ---- */

static const struct tf_job *find_job(const struct tf_cluster *c, const char *name)
{
    for (size_t i = 0; i < c->n; i++)
        if (str_eq(c->jobs[i].name, name))
            return &c->jobs[i];
    return NULL;
}

int tf_cluster_check(const struct tf_cluster *c, const struct tf_task *t, struct err *err)
{
    const struct tf_job *j = find_job(c, t->name);

    if (c->n == 0)
        return err_set(err, -EINVAL, "there is no cluster");
    if (!*t->name || t->index < 0)
        return err_set(err, -EINVAL, "which task of the cluster this is was not said");
    if (!j)
        return err_set(err, -EINVAL, "there is no job '%s' in the cluster", t->name);
    if (t->index >= (int64_t)j->tasks.n || !*j->tasks.v[t->index])
        return err_set(err, -EINVAL, "job '%s' has no task %lld, only %zu of them", t->name,
                       (long long)t->index, j->tasks.n);
    return 0;
}
