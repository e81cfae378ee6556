/* apps.c - `ydl cluster apps`: applications, newest first. */
#include "cli/doc.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/cluster_report.h"
#include "cmd/cluster/verbs.h"

#include <ctype.h>

#define STATES 16

struct args {
    struct strs states, users, queues, tags, types;
    unsigned limit;
    bool all;
};

#define AT(field) offsetof(struct args, field)

static int put_result(const json_t *v, struct buf *out)
{
    return fact_ended(v) ? doc_text(v, "{final_status}", out) : buf_add_str(out, "-");
}

static int put_memory(const json_t *v, struct buf *out)
{
    bool any = json_int_or(json_object_get(v, "used"), "memory_mb", 0) > 0;

    return any && !fact_ended(v) ? doc_text(v, "{used.memory_mb|mb}", out) : buf_add_str(out, "-");
}

/* clang-format off */
static const struct table_column columns[] = {
    { "ID",      false, "{id}" },
    { "STATE",   false, "{state}" },
    { "RESULT",  false, .put = put_result },
    { "USER",    false, "{user}" },
    { "QUEUE",   false, "{queue}" },
    { "TYPE",    false, "{type}" },
    { "STARTED", false, "{started_ms|when}" },
    { "TIME",    true,  .put = fact_put_span },
    { "MEMORY",  true,  .put = put_memory },
    { "NAME",    false, "{name}" },
};
/* clang-format on */

static const Yarn__ApplicationState living[] = {
    YARN__APPLICATION_STATE__APP_NEW,       YARN__APPLICATION_STATE__APP_NEW_SAVING,
    YARN__APPLICATION_STATE__APP_SUBMITTED, YARN__APPLICATION_STATE__APP_ACCEPTED,
    YARN__APPLICATION_STATE__APP_RUNNING,
};

static int apps_newest_first(const void *a, const void *b)
{
    const Yarn__ApplicationReport *x = *(Yarn__ApplicationReport *const *)a;
    const Yarn__ApplicationReport *y = *(Yarn__ApplicationReport *const *)b;

    return yarn_app_id_cmp(yarn_app_id_of(y->application_id), yarn_app_id_of(x->application_id));
}

/* The RM takes a queue that does not exist for one without applications. */
static int check_queues(struct cluster *k, const struct args *a, struct err *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < a->queues.n; i++)
        r = cluster_check_queue(k, a->queues.v[i], false, err);
    return r;
}

static int make_filter(const struct args *a, Yarn__ApplicationState states[STATES],
                       struct yarn_filter *ret, struct err *err)
{
    size_t n = a->states.n < STATES ? a->states.n : STATES;

    *ret = (struct yarn_filter){
        .types = (const char *const *)a->types.v,
        .n_types = a->types.n,
        .users = (const char *const *)a->users.v,
        .n_users = a->users.n,
        .queues = (const char *const *)a->queues.v,
        .n_queues = a->queues.n,
        .tags = (const char *const *)a->tags.v,
        .n_tags = a->tags.n,
        .states = n ? states : living,
        .n_states = n        ? n
                    : a->all ? 0
                             : COUNT_OF(living),
    };
    for (size_t i = 0; i < n; i++)
        if (yarn_app_state_parse(a->states.v[i], &states[i], err) < 0)
            return CLI_USAGE;
    /* Tags are in lower case: the RM's own client makes them so. */
    for (size_t i = 0; i < a->tags.n; i++)
        for (char *p = a->tags.v[i]; *p; p++)
            *p = (char)tolower((unsigned char)*p);
    return 0;
}

static int apps_work(struct cluster *k, struct err *err)
{
    const struct args *a = cluster_args(k);
    AUTO_RPC Yarn__GetApplicationsResponse *answer = NULL;
    AUTO_JSON *list = json_array();
    Yarn__ApplicationState states[STATES];
    struct yarn_filter filter;
    size_t n;
    int r = make_filter(a, states, &filter, err);

    if (r < 0)
        return r;
    r = yarn_list(k->yarn, &filter, &answer, err);
    if (r < 0)
        return r;
    n = answer->n_applications;
    if (n == 0) {
        r = check_queues(k, a, err);
        if (r < 0)
            return r;
    }
    if (n)
        qsort(answer->applications, n, sizeof(*answer->applications), apps_newest_first);
    if (a->limit && n > a->limit) /* here: the RM would not take the newest */
        n = a->limit;
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, fact_app(answer->applications[i])) < 0)
            return err_oom(err);
    return k->json ? doc_print(err, "{s:O}", "applications", list)
                   : doc_table(list, columns, COUNT_OF(columns), err);
}

/* clang-format off */
const struct cli_verb verb_cluster_apps = {
    .name = "apps", .summary = "list applications", CLUSTER_VERB(apps_work),
    .text = "Lists applications that have not ended, newest first. Repeat an option to allow any "
            "of its values.",
    CLI_OPTS(struct args,
        { "state", 's', CLI_LIST, AT(states), NULL, "STATE",
          "list only this state: new, new_saving, submitted, accepted, running, finished, failed, "
          "killed" },
        { "all", 'a', CLI_FLAG, AT(all), NULL, NULL, "include ended applications" },
        { "user", 'u', CLI_LIST, AT(users), NULL, "USER", "list only applications of USER" },
        { "queue", 0, CLI_LIST, AT(queues), NULL, "QUEUE", "list only applications in QUEUE" },
        { "tag", 't', CLI_LIST, AT(tags), NULL, "TAG", "list only applications with TAG" },
        { "type", 0, CLI_LIST, AT(types), NULL, "TYPE", "list only applications of TYPE" },
        { "limit", 'n', CLI_COUNT, AT(limit), NULL, "N", "list only the N newest" }),
    CLI_EXAMPLES({ "ydl cluster apps --all --user $USER -n 5",
                   "list your five newest applications" },
                 { "ydl cluster apps --queue prod --state accepted",
                   "list what is waiting in the queue prod" }),
};
/* clang-format on */
