/* tf_encode.c - the ServerDef that a TensorFlow server is started with, from a cluster
 * (tf_cluster.h), by protobuf-c. Arrays are made for all jobs at once and borrow every text. */
#include "native/tf_cluster.h"
#include "tensorflow/server.pb-c.h"

#include <stdlib.h>

/* The messages of all jobs; what they point to is the cluster's. */
struct encoding {
    Tensorflow__JobDef *jobs, **job_list;
    Tensorflow__TaskEntry *tasks, **task_list;
};

static void encoding_done(struct encoding *e)
{
    free(e->jobs);
    free(e->job_list);
    free(e->tasks);
    free(e->task_list);
}

static int encoding_init(struct encoding *e, const struct tf_cluster *c)
{
    size_t tasks = 1;

    for (size_t i = 0; i < c->n; i++)
        tasks += c->jobs[i].tasks.n;
    e->jobs = calloc(c->n + 1, sizeof(*e->jobs));
    e->job_list = calloc(c->n + 1, sizeof(*e->job_list));
    e->tasks = calloc(tasks, sizeof(*e->tasks));
    e->task_list = calloc(tasks, sizeof(*e->task_list));
    return e->jobs && e->job_list && e->tasks && e->task_list ? 0 : -ENOMEM;
}

/* Indices are kept where there are holes: a task's number is its place in the cluster. */
static void fill_jobs(struct encoding *e, const struct tf_cluster *c)
{
    size_t used = 0;

    for (size_t i = 0; i < c->n; i++) {
        const struct tf_job *from = &c->jobs[i];
        Tensorflow__JobDef *to = &e->jobs[i];

        tensorflow__job_def__init(to);
        to->name = from->name;
        to->tasks = &e->task_list[used];
        for (size_t k = 0; k < from->tasks.n; k++) {
            if (!*from->tasks.v[k])
                continue;
            tensorflow__task_entry__init(&e->tasks[used]);
            e->tasks[used].key = (int32_t)k;
            e->tasks[used].value = from->tasks.v[k];
            e->task_list[used] = &e->tasks[used];
            used++;
            to->n_tasks++;
        }
        e->job_list[i] = to;
    }
}

static int tf_encode_append(const Tensorflow__ServerDef *def, struct buf *out, struct err *err)
{
    size_t n = tensorflow__server_def__get_packed_size(def);
    uint8_t *at = NULL;
    int r = buf_room(out, n, &at);

    if (r < 0)
        return err_code(err, r, "encode the cluster");
    out->len += tensorflow__server_def__pack(def, at);
    return 0;
}

/* Never fewer than TF_INTER_LEAST threads between operations: with one, TensorFlow 2's
 * ParameterServerStrategy hangs (seen with 2.13 and 2.21; sessions of version 1 do not). */
int tf_cluster_encode(const struct tf_cluster *c, const struct tf_task *t,
                      const struct tf_threads *threads, struct buf *out, struct err *err)
{
    Tensorflow__ServerDef def = TENSORFLOW__SERVER_DEF__INIT;
    Tensorflow__ClusterDef cluster = TENSORFLOW__CLUSTER_DEF__INIT;
    Tensorflow__ConfigProto config = TENSORFLOW__CONFIG_PROTO__INIT;
    struct encoding e = { 0 };
    int r = encoding_init(&e, c);

    if (r == 0) {
        fill_jobs(&e, c);
        cluster.job = e.job_list;
        cluster.n_job = c->n;
        config.inter_op_parallelism_threads =
            (int32_t)(threads->inter < TF_INTER_LEAST ? TF_INTER_LEAST : threads->inter);
        config.intra_op_parallelism_threads = (int32_t)threads->intra;
        def.cluster = &cluster;
        def.job_name = (char *)t->name;
        def.task_index = (int32_t)t->index;
        def.default_session_config = &config;
        def.protocol = (char *)"grpc";
        r = tf_encode_append(&def, out, err);
    } else {
        err_oom(err);
    }
    encoding_done(&e);
    return r;
}
