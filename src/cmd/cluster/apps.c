/* apps.c - `ydl cluster apps`: applications, newest first. */
#include "cli/table.h"
#include "cmd/cluster/cluster.h"
#include "cmd/cluster/cluster_report.h"
#include "cmd/cluster/verbs.h"
#include "loop/loop.h"

#include <ctype.h>

#define STATES 16

struct args {
    struct strs states, users, queues, tags, types;
    unsigned limit;
    bool all;
};

#define AT(field) offsetof(struct args, field)

/* clang-format off */
static const struct table_column columns[] = {
    { "ID",     false }, { "STATE", false }, { "RESULT",  false }, { "USER",    false },
    { "QUEUE",  false }, { "TYPE",  false }, { "STARTED", false }, { "TIME",    true  },
    { "MEMORY", true  }, { "NAME",  false },
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

static void apps_add_row(struct table *t, const Yarn__ApplicationReport *a, int64_t now)
{
    const Yarn__ApplicationResourceUsageReport *usage = a->resource_usage;
    char id[YARN_APP_ID_TEXT], when[FACT_TIME], span[FACT_SPAN], memory[FACT_SIZE];
    bool ended = yarn_app_state_final(a->state);

    table_cell(t, "%s", yarn_app_id_text(yarn_app_id_of(a->application_id), id));
    table_cell(t, "%s", yarn_app_state_name(a->state));
    table_cell(t, "%s", ended ? yarn_final_status_name(a->final_status) : "-");
    table_cell(t, "%s", a->user);
    table_cell(t, "%s", a->queue);
    table_cell(t, "%s", a->application_type);
    table_cell(t, "%s", fact_when(a->start_time, when));
    table_cell(t, "%s", fact_span(a->start_time, a->finish_time, now, span));
    if (!ended && usage && yarn_memory(usage->used_resources) > 0)
        table_cell(t, "%s", fact_memory(yarn_memory(usage->used_resources), memory));
    else
        table_cell(t, "-");
    table_cell(t, "%s", a->name);
}

static int apps_print_json(const Yarn__GetApplicationsResponse *answer, size_t n, struct err *err)
{
    AUTO_JSON *list = json_array();
    AUTO_JSON *v = NULL;
    int r;

    for (size_t i = 0; list && i < n; i++)
        if (json_array_append_new(list, fact_app(answer->applications[i])) < 0)
            return err_oom(err);
    r = json_make(&v, err, "{s:o}", "applications", take(list));
    return r < 0 ? r : json_print(stdout, v, err);
}

static int apps_print_text(const Yarn__GetApplicationsResponse *answer, size_t n, struct err *err)
{
    int64_t now = loop_wall();
    AUTO_TABLE t = { 0 };

    table_begin(&t, stdout, columns, COUNT_OF(columns));
    for (size_t i = 0; i < n; i++)
        apps_add_row(&t, answer->applications[i], now);
    return table_end(&t, err);
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
    return k->json ? apps_print_json(answer, n, err) : apps_print_text(answer, n, err);
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
