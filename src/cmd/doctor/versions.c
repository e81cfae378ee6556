/* versions.c - of ydl, and of the servers as far as their answers tell.
 *
 * The ResourceManager's web server knows its version, but may be closed to us. No call that is open
 * to everybody tells one; but each release has added fields that its servers always send. */
#include "base/json.h"
#include "cmd/doctor/doctor_nn.h"
#include "hadoop/yarn/rm_client.h"
#include "loop/sock.h"
#include "wire/http.h"

#define WEB_MS 3000
#define PAGE_MAX (64 * KIB)

static int get_page(struct loop *l, const struct host *h, const char *target, struct buf *out)
{
    const struct http_request request = { .method = "GET", .target = target };
    int64_t deadline = loop_in(l, WEB_MS);
    AUTO(http_client) struct http_client *http = NULL;
    struct http_answer answer = { 0 };
    struct stream *stream = NULL;
    struct sock *sock = NULL;
    uint8_t *room;
    ssize_t n = 1;
    int r = sock_connect(l, h->host, h->port, deadline, &sock, NULL);

    if (r == 0)
        r = stream_plain(sock, &stream, NULL);
    if (r == 0)
        r = http_client_new(l, stream, h->host, NULL, &http, NULL);
    if (r == 0)
        r = http_ask(http, &request, deadline, &answer, NULL);
    if (r < 0 || answer.status != 200)
        return r < 0 ? r : -EACCES;
    while (n > 0) {
        if (buf_room(out, 4 * KIB, &room) < 0)
            return -E2BIG;
        n = http_read(http, room, 4 * KIB, deadline, NULL);
        out->len += n > 0 ? (size_t)n : 0;
    }
    return (int)n;
}

/* "3.5.0", as the ResourceManager's web server says; false when it does not. */
static bool web_version(struct doctor *d, char *out, size_t size)
{
    AUTO_HOSTS hosts = { 0 };

    if (conf_resourcemanagers(session_conf(d->x->session), RM_WEBAPP, &hosts, NULL) < 0)
        return false;
    for (size_t i = 0; i < hosts.n; i++) {
        AUTO_BUF page = { .max = PAGE_MAX };
        AUTO_JSON *v = NULL;
        const char *text;

        if (get_page(d->x->loop, &hosts.v[i], "/ws/v1/cluster/info", &page) < 0 ||
            json_parse("the web server", page.data, page.len, &v, NULL) < 0)
            continue; /* a standby sends us to the other one */
        text =
            json_string_value(json_object_get(json_object_get(v, "clusterInfo"), "hadoopVersion"));
        if (text && *text) {
            str_clean(out, size, text);
            return true;
        }
    }
    return false;
}

static void versions_ask_rm(struct doctor *d)
{
    char exact[64] = "";
    AUTO_RPC Yarn__GetClusterMetricsResponse *metrics = NULL;
    AUTO_YARN_CLIENT *c = NULL;
    AUTO_YARN_QUEUE *root = NULL;
    const char *text = "older than 3.3";

    if (yarn_client_new(d->x->session, &c, NULL) < 0 || yarn_metrics(c, &metrics, NULL) < 0 ||
        yarn_queue(c, NULL, false, &root, NULL) < 0)
        return;
    if (web_version(d, exact, sizeof(exact)))
        text = exact;
    else if (root->info->queue_path[0] ||
             root->info->scheduler_type[0]) /* the fair one's has no path */
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
        versions_ask_rm(d);
    if (d->have & NEED_NN)
        ask_nn(d);
}
