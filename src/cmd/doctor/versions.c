/* versions.c - of ydl, and of the servers as far as their answers tell.
 *
 * No call that is open to everybody tells a version; but each release has added fields that its
 * servers always send. */
#include "cmd/doctor/nn.h"
#include "hadoop/yarn/client.h"

static void ask_rm(struct doctor *d)
{
    AUTO_RPC Yarn__GetClusterMetricsResponse *metrics = NULL;
    AUTO_YARN_CLIENT *c = NULL;
    AUTO_YARN_QUEUE *root = NULL;
    const char *text = "older than 3.3";

    if (yarn_client_new(d->x->session, &c, NULL) < 0 || yarn_metrics(c, &metrics, NULL) < 0 ||
        yarn_queue(c, NULL, false, &root, NULL) < 0)
        return;
    if (root->info->queue_path[0])
        text = "3.4 or newer";
    else if (metrics->metrics->has_num_decommissioning_nms)
        text = "3.3";
    doctor_say(d, LEVEL_OK, NULL, "ResourceManager: Hadoop %s", text);
}

static void ask_nn(struct doctor *d)
{
    Hdfs__GetServerDefaultsRequest request = HDFS__GET_SERVER_DEFAULTS_REQUEST__INIT;
    AUTO_RPC Hdfs__GetServerDefaultsResponse *answer = NULL;
    AUTO_RPC_SERVICE *nn = NULL;

    if (nn_default_service(d, &nn, NULL) < 0 ||
        nn_call(nn, NN_GET_SERVER_DEFAULTS, &request, &answer, NULL) < 0)
        return;
    doctor_say(d, LEVEL_OK, NULL, "NameNode: Hadoop %s",
               answer->defaults->has_snapshot_trash_root_enabled ? "3.4 or newer"
                                                                 : "older than 3.4");
}

void check_versions(struct doctor *d)
{
    doctor_say(d, LEVEL_OK, NULL, "ydl %s; Java is not needed", YDL_VERSION);
    if (d->have & NEED_RM)
        ask_rm(d);
    if (d->have & NEED_NN)
        ask_nn(d);
}
