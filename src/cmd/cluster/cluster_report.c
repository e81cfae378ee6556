/* cluster_report.c - one place for how YARN's records are shown, so that all verbs of `ydl cluster`
 * agree: a text where a person reads, a JSON value where a program does.
 *
 * The ResourceManager says 0 or less for a time that it does not know; that becomes "-" in a text
 * and null in JSON. Names come from a server, so a key is made UTF-8 before it goes into a
 * document. */
#include "cmd/cluster/cluster_report.h"
#include "base/str.h"
#include "loop/loop.h"

#include <stdio.h>

/* ---- texts ---- */

const char *fact_span(int64_t from, int64_t to, int64_t now, char out[FACT_SPAN])
{
    int64_t s = from > 0 ? ((to > 0 ? to : now) - from) / 1000 : -1;

    if (s < 0)
        snprintf(out, FACT_SPAN, "-");
    else if (s < 3600)
        snprintf(out, FACT_SPAN, "%d:%02d", (int)(s / 60), (int)(s % 60));
    else
        snprintf(out, FACT_SPAN, "%lld:%02d:%02d", (long long)(s / 3600), (int)(s / 60 % 60),
                 (int)(s % 60));
    return out;
}

int fact_put_span(const json_t *v, struct buf *out)
{
    char text[FACT_SPAN];

    return buf_add_str(out, fact_span(json_int_or(v, "started_ms", 0),
                                      json_int_or(v, "finished_ms", 0), loop_wall(), text));
}

bool fact_ended(const json_t *app)
{
    const char *state = json_string_value(json_object_get(app, "state"));

    return str_eq(state, "FINISHED") || str_eq(state, "FAILED") || str_eq(state, "KILLED");
}

/* ---- JSON ---- */

/* null for 0 */
static json_t *fact_time(int64_t ms)
{
    return ms > 0 ? json_integer(ms) : json_null();
}

static json_t *other_resources(const Yarn__Resource *r)
{
    AUTO_JSON *o = json_object();

    for (size_t i = 0; o && r && i < r->n_values; i++) {
        const char *key = r->values[i]->key;
        AUTO_JSON *name = json_text(key); /* a key must be UTF-8 */

        if (str_eq(key, "memory-mb") || str_eq(key, "vcores"))
            continue;
        if (!name ||
            json_object_set_new(o, json_string_value(name), json_integer(r->values[i]->value)) < 0)
            return NULL;
    }
    return take(o);
}

json_t *fact_resource(const Yarn__Resource *r)
{
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:I, s:I, s:o}", "memory_mb", (json_int_t)yarn_memory(r), "vcores",
                    (json_int_t)yarn_vcores(r), "others", other_resources(r));
    return v;
}

json_t *fact_node(const Yarn__NodeReport *n)
{
    const char *host = n->node_id ? n->node_id->host : "";
    int port = n->node_id ? n->node_id->port : 0;
    json_t *v = NULL;
    AUTO_FREE char *id = str_printf("%s:%d", host, port);

    if (!id)
        return NULL;
    (void)json_make(
        &v, NULL, "{s:o, s:o, s:i, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
        json_text(id), "host", json_text(host), "port", port, "rack", json_text(n->rack_name),
        "state", yarn_node_state_name(n->state), "containers", (int)n->num_containers, "used",
        fact_resource(n->used), "total", fact_resource(n->capability), "labels",
        json_texts((char *const *)n->labels, n->n_labels), "http", json_text(n->http_address),
        "health", json_text(n->health_report), "health_ms", fact_time(n->last_health_report_time));
    return v;
}

json_t *fact_app(const Yarn__ApplicationReport *a)
{
    const Yarn__ApplicationResourceUsageReport *usage = a->resource_usage;
    char id[YARN_APP_ID_TEXT];
    json_t *v = NULL;

    (void)json_make(
        &v, NULL, "{s:s, s:o, s:o, s:o, s:o, s:s, s:s, s:f, s:o, s:o, s:o, s:i, s:o, s:o, s:o}",
        "id", yarn_app_id_text(yarn_app_id_of(a->application_id), id), "name", json_text(a->name),
        "type", json_text(a->application_type), "user", json_text(a->user), "queue",
        json_text(a->queue), "state", yarn_app_state_name(a->state), "final_status",
        yarn_final_status_name(a->final_status), "progress", (double)a->progress * 100,
        "submitted_ms", fact_time(a->submit_time), "started_ms", fact_time(a->start_time),
        "finished_ms", fact_time(a->finish_time), "containers",
        usage && usage->num_used_containers > 0 ? (int)usage->num_used_containers : 0, "used",
        fact_resource(usage ? usage->used_resources : NULL), "tags",
        json_texts((char *const *)a->application_tags, a->n_application_tags), "tracking_url",
        json_text(a->tracking_url));
    return v;
}

json_t *fact_attempt(const Yarn__ApplicationAttemptReport *a)
{
    char id[YARN_ATTEMPT_ID_TEXT], container[YARN_CONTAINER_ID_TEXT];
    json_t *v = NULL;

    (void)json_make(
        &v, NULL, "{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "id",
        yarn_attempt_id_text(yarn_attempt_id_of(a->attempt_id), id), "state",
        yarn_attempt_state_name(a->state), "host", json_text(a->host), "container",
        a->am_container_id
            ? json_text(yarn_container_id_text(yarn_container_id_of(a->am_container_id), container))
            : json_null(),
        "tracking_url", json_text(a->tracking_url), "diagnostics", json_text(a->diagnostics),
        "started_ms", fact_time(a->start_time), "finished_ms", fact_time(a->finish_time));
    return v;
}
