/* test_client.c - asks a ResourceManager for everything that the client library can ask for, and
 * prints the answers as one JSON document, for a test that compares them with the RM's own pages.
 *
 *     ydl-test-client look
 *     ydl-test-client app ID                  report, attempts
 *     ydl-test-client kill ID | move ID QUEUE
 *     ydl-test-client token                   gets and cancels one
 *     ydl-test-client queue NAME
 *     ydl-test-client submit QUEUE COMMAND [LABEL GPUS]    an application of one command
 *     ydl-test-client values FILE VALUE…      one that writes variables with these values to FILE,
 *                                             each ended by a NUL */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "hadoop/session/kerberos.h"
#include "hadoop/session/session.h"
#include "hadoop/yarn/launch_context.h"
#include "hadoop/yarn/rm_client.h"
#include "hadoop/yarn/submission.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct test {
    struct loop *loop;
    struct yarn_client *client;
    char **argv; /* of the command, from its name on; NULL at the end */
    json_t *out;
    struct err err;
};

/* ---- looking ---- */

static json_t *node_json(const Yarn__NodeReport *n)
{
    json_t *labels = json_array();

    for (size_t i = 0; i < n->n_labels; i++)
        json_array_append_new(labels, json_text(n->labels[i]));
    return json_pack("{s:o, s:i, s:s, s:I, s:i, s:i, s:o, s:o, s:o}", "host",
                     json_text(n->node_id ? n->node_id->host : ""), "port",
                     n->node_id ? n->node_id->port : 0, "state", yarn_node_state_name(n->state),
                     "memory", (json_int_t)yarn_memory(n->capability), "vcores",
                     yarn_vcores(n->capability), "containers", n->num_containers, "rack",
                     json_text(n->rack_name), "http", json_text(n->http_address), "labels", labels);
}

static int look_at_nodes(struct test *t)
{
    AUTO_RPC Yarn__GetClusterNodesResponse *nodes = NULL;
    AUTO_RPC Yarn__GetClusterMetricsResponse *metrics = NULL;
    json_t *list = json_array();
    int r = yarn_nodes(t->client, NULL, 0, &nodes, &t->err);

    for (size_t i = 0; r == 0 && i < nodes->n_nodes; i++)
        json_array_append_new(list, node_json(nodes->nodes[i]));
    json_object_set_new(t->out, "nodes", list);
    if (r == 0)
        r = yarn_metrics(t->client, &metrics, &t->err);
    if (r == 0)
        json_object_set_new(t->out, "active", json_integer(metrics->metrics->num_active_nms));
    return r;
}

static json_t *queue_json(const struct yarn_queue *q)
{
    json_t *children = json_array();

    for (size_t i = 0; i < q->n; i++)
        json_array_append_new(children, queue_json(&q->children[i]));
    return json_pack("{s:o, s:f, s:f, s:b, s:o}", "name", json_text(q->info->queue_name),
                     "capacity", (double)q->info->capacity, "used",
                     (double)q->info->current_capacity, "running",
                     q->info->state == YARN__QUEUE_STATE__QUEUE_RUNNING, "children", children);
}

static int look_at_queue(struct test *t, const char *name)
{
    AUTO_YARN_QUEUE *root = NULL;
    int r = yarn_queue(t->client, name, true, &root, &t->err);

    if (r == 0)
        json_object_set_new(t->out, "queue", queue_json(root));
    return r;
}

static int look_at_acls(struct test *t)
{
    AUTO_RPC Yarn__GetQueueUserAclsInfoResponse *acls = NULL;
    json_t *list = json_object();
    int r = yarn_queue_acls(t->client, &acls, &t->err);

    for (size_t i = 0; r == 0 && i < acls->n_queues; i++)
        json_object_set_new(list, acls->queues[i]->queue_name,
                            json_integer((json_int_t)acls->queues[i]->n_user_acls));
    json_object_set_new(t->out, "acls", list);
    return r;
}

static int look_at_types(struct test *t)
{
    AUTO_RPC Yarn__GetAllResourceTypeInfoResponse *types = NULL;
    json_t *list = json_array();
    int r = yarn_resource_types(t->client, &types, &t->err);

    for (size_t i = 0; r == 0 && i < types->n_types; i++)
        json_array_append_new(list, json_text(types->types[i]->name));
    json_object_set_new(t->out, "types", list);
    return r;
}

static int look_at_labels(struct test *t)
{
    AUTO_RPC Yarn__GetClusterNodeLabelsResponse *labels = NULL;
    json_t *list = json_array();
    int r = yarn_labels(t->client, &labels, &t->err);

    for (size_t i = 0; r == 0 && i < labels->n_labels; i++)
        json_array_append_new(list, json_text(labels->labels[i]->name));
    json_object_set_new(t->out, "labels", list);
    return r;
}

static json_t *app_json(const Yarn__ApplicationReport *a)
{
    char id[YARN_APP_ID_TEXT];

    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:o, s:i}", "id",
                     yarn_app_id_text(yarn_app_id_of(a->application_id), id), "user",
                     json_text(a->user), "name", json_text(a->name), "queue", json_text(a->queue),
                     "type", json_text(a->application_type), "state", yarn_app_state_name(a->state),
                     "final", yarn_final_status_name(a->final_status), "diagnostics",
                     json_text(a->diagnostics), "priority",
                     a->priority ? a->priority->priority : 0);
}

static int look_at_apps(struct test *t)
{
    struct yarn_filter all = { 0 };
    AUTO_RPC Yarn__GetApplicationsResponse *apps = NULL;
    json_t *list = json_array();
    int r = yarn_list(t->client, &all, &apps, &t->err);

    for (size_t i = 0; r == 0 && i < apps->n_applications; i++)
        json_array_append_new(list, app_json(apps->applications[i]));
    json_object_set_new(t->out, "apps", list);
    return r;
}

static int look(struct test *t)
{
    int r = look_at_nodes(t);

    if (r == 0)
        r = look_at_queue(t, NULL);
    if (r == 0)
        r = look_at_acls(t);
    if (r == 0)
        r = look_at_types(t);
    if (r == 0)
        r = look_at_labels(t);
    return r == 0 ? look_at_apps(t) : r;
}

static int look_at_one_queue(struct test *t)
{
    return look_at_queue(t, t->argv[1]);
}

/* ---- one application ---- */

static int app_id(struct test *t, struct yarn_app_id *ret)
{
    return yarn_app_id_parse(t->argv[1], ret, &t->err);
}

static int look_at_app(struct test *t)
{
    AUTO_RPC Yarn__GetApplicationReportResponse *report = NULL;
    AUTO_RPC Yarn__GetApplicationAttemptsResponse *attempts = NULL;
    struct yarn_app_id id;
    json_t *list = json_array();
    int r = app_id(t, &id);

    if (r == 0)
        r = yarn_report(t->client, id, &report, &t->err);
    if (r == 0)
        json_object_set_new(t->out, "app", app_json(report->report));
    if (r == 0)
        r = yarn_attempts(t->client, id, &attempts, &t->err);
    for (size_t i = 0; r == 0 && i < attempts->n_attempts; i++)
        json_array_append_new(list,
                              json_string(yarn_attempt_state_name(attempts->attempts[i]->state)));
    json_object_set_new(t->out, "attempts", list);
    return r;
}

static int kill_app(struct test *t)
{
    struct yarn_app_id id;
    int r = app_id(t, &id);

    return r == 0 ? yarn_kill(t->client, id, "killed by the test", 0, &t->err) : r;
}

static int move_app(struct test *t)
{
    struct yarn_app_id id;
    int r = app_id(t, &id);

    return r == 0 ? yarn_move(t->client, id, t->argv[2], &t->err) : r;
}

static int use_token(struct test *t)
{
    AUTO_TOKEN token = { 0 };
    int r = yarn_get_token(t->client, t->argv[1] ? t->argv[1] : "root", &token, &t->err);

    if (r == 0)
        json_object_set_new(t->out, "service", json_text(token.service));
    return r == 0 ? yarn_cancel_token(t->client, &token, &t->err) : r;
}

static int submit_launch(struct test *t, const char *queue, const char *label, int64_t gpus,
                         const Yarn__ContainerLaunchContext *launch)
{
    struct yarn_amount gpu = { "yarn.io/gpu", gpus };
    AUTO_RPC Yarn__GetNewApplicationResponse *fresh = NULL;
    AUTO_MESSAGE Yarn__ApplicationSubmissionContext *context = NULL;
    struct yarn_submission s = { .name = "ydl-test-client",
                                 .type = "ydl-test",
                                 .queue = queue,
                                 .launch = launch,
                                 .max_attempts = 1,
                                 .label = label,
                                 .master = { 64, 1, &gpu, gpus > 0 } };
    char text[YARN_APP_ID_TEXT];
    int r = yarn_new_application(t->client, &fresh, &t->err);

    if (r == 0)
        r = yarn_submission_message(&s, yarn_app_id_of(fresh->application_id),
                                    fresh->maximum_capability, &context, &t->err);
    if (r < 0)
        return r;
    json_object_set_new(t->out, "id",
                        json_string(yarn_app_id_text(yarn_app_id_of(fresh->application_id), text)));
    return yarn_submit(t->client, context, 0, NULL, &t->err);
}

static int submit(struct test *t)
{
    AUTO_MESSAGE Yarn__ContainerLaunchContext *launch = yarn_launch_new();
    bool special = t->argv[2] && t->argv[3] && t->argv[4];
    int64_t gpus = 0;
    int r = launch ? yarn_launch_script(launch, t->argv[2], &t->err) : err_oom(&t->err);

    if (r == 0 && special)
        r = str_to_i64(t->argv[4], 0, 100, &gpus);
    if (r < 0)
        return r;
    return submit_launch(t, t->argv[1], special ? t->argv[3] : NULL, gpus, launch);
}

static int submit_values(struct test *t)
{
    static const char script[] = "for ((i = 0; i < N; i++)); do name=V$i;"
                                 " printf '%s\\0' \"${!name}\"; done >\"$OUT.tmp\""
                                 " && mv \"$OUT.tmp\" \"$OUT\"";
    AUTO_MESSAGE Yarn__ContainerLaunchContext *c = yarn_launch_new();
    char name[16], count[16];
    int r = c ? yarn_launch_env(c, "OUT", t->argv[1], &t->err) : err_oom(&t->err);
    int n = 0;

    for (; r == 0 && t->argv[2 + n]; n++) {
        snprintf(name, sizeof(name), "V%d", n);
        r = yarn_launch_env(c, name, t->argv[2 + n], &t->err);
    }
    snprintf(count, sizeof(count), "%d", n);
    if (r == 0)
        r = yarn_launch_env(c, "N", count, &t->err);
    if (r == 0)
        r = yarn_launch_script(c, script, &t->err);
    return r == 0 ? submit_launch(t, "default", NULL, 0, c) : r;
}

/* ---- all of it ---- */

static const struct {
    const char *name;
    int (*run)(struct test *t);
} commands[] = {
    { "look", look },     { "app", look_at_app },      { "kill", kill_app },
    { "move", move_app }, { "token", use_token },      { "queue", look_at_one_queue },
    { "submit", submit }, { "values", submit_values },
};

static int run(void *arg)
{
    struct test *t = arg;
    struct session_options options = { .caller = "ydl-test-client", .kerberos = &kerberos_by_gss };
    AUTO_SESSION *session = NULL;
    int r = session_new(t->loop, &options, &session, &t->err);

    if (r == 0)
        r = yarn_client_new(session, &t->client, &t->err);
    for (size_t i = 0; r == 0 && i < COUNT_OF(commands); i++)
        if (str_eq(commands[i].name, t->argv[0]))
            r = commands[i].run(t);
    t->client = yarn_client_free(t->client);
    return r;
}

int main(int argc, char **argv)
{
    struct test t = { .argv = argv + 1, .out = json_object() };
    int r;

    log_init("ydl-test-client");
    if (argc < 2 || loop_new(&t.loop, &t.err) < 0)
        return 2;
    r = loop_run(t.loop, run, &t, true);
    loop_free(t.loop);
    if (r < 0)
        json_object_set_new(t.out, "error", json_text(t.err.text));
    json_print(stdout, t.out, NULL);
    json_decref(t.out);
    return r < 0;
}
