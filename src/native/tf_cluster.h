/* tf_cluster.h - a cluster of TensorFlow servers: read from text, written as the ServerDef that
 * TF_NewServer takes.
 *
 *     TF_CONFIG        {"cluster": {"ps": ["h:p"], "worker": […]},
 *                       "task": {"type": "ps", "index": 0}}
 *     --cluster-spec   the "cluster" of TF_CONFIG, or ps|h:p,worker|h:p;h:p
 *     --job            ps=h:p  worker=h:p,h:p  (each a word)
 *
 * Pure. Any thread. */
#pragma once
#include "base/auto.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define TF_TASKS_MAX 20000
#define TF_NAME_MAX 64

struct tf_job {
    char *name;
    struct strs tasks; /* "host:port"; the place is the index, and "" stands for no task */
};

struct tf_cluster {
    struct tf_job *jobs; /* by name: every server must be told the same */
    size_t n;
};

void tf_cluster_done(struct tf_cluster *c);
#define AUTO_TF_CLUSTER AUTO_DONE(tf_cluster_done) struct tf_cluster /* = { 0 } */

/* Which of them a server is. */
struct tf_task {
    char name[TF_NAME_MAX]; /* "": not said */
    int64_t index;          /* -1: not said */
};

/* All add to `c`; -EINVAL with a sentence for what is no cluster, a job twice, or an address that
 * is no "host:port". */
int tf_cluster_config(const char *text, struct tf_cluster *c, struct tf_task *ret, struct err *err);
int tf_cluster_spec(const char *text, struct tf_cluster *c, struct err *err);
int tf_cluster_job(const char *text, struct tf_cluster *c, struct err *err);

/* Is the task in the cluster? -EINVAL with what there is. */
int tf_cluster_check(const struct tf_cluster *c, const struct tf_task *t, struct err *err);

/* Threads of a server. One thread between operations makes ParameterServerStrategy wait for ever,
 * and one is what TensorFlow takes on a machine with one processor: `inter` is at least
 * TF_INTER_LEAST. `intra` 0: TensorFlow chooses. */
#define TF_INTER_LEAST 2
struct tf_threads {
    unsigned inter, intra;
};

/* Appends the encoded ServerDef. `t` is in the cluster. */
int tf_cluster_encode(const struct tf_cluster *c, const struct tf_task *t,
                      const struct tf_threads *threads, struct buf *out, struct err *err);
