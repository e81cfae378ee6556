/* serve_history.c - see serve_history.h. Two hours are shown in minutes, more in quarters of an
 * hour. */
#include "cmd/serve/monitor/serve_history.h"
#include "cli/doc.h"
#include "cmd/serve/serve_direct.h"
#include "cmd/serve/serve_request.h"
#include "serve/deployment/traffic_history.h"
#include "terminal/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_MS 60000

/* clang-format off */
static const struct table_column columns[] = {
    { "TIME",     false, "{time|when}" },
    { "MODEL",    false, "{model}" },
    { "VERSION",  true,  "{version}" },
    { "REQUESTS", true,  "{requests}" },
    { "ERRORS",   true,  "{errors}" },
    { "P50 MS",   true,  "{p50_ms}" },
    { "P99 MS",   true,  "{p99_ms}" },
};
/* clang-format on */

/* A document of the store; *ret stays NULL when it is not there yet, or damaged. */
static int history_fetch(struct client *c, const char *key, json_t **ret, struct err *err)
{
    AUTO_FREE char *target = str_printf("/v1/kv/%s", key);
    AUTO_BUF text = { .max = CLIENT_BODY_MAX };
    struct err why = ERR_INIT;
    int r = target ? client_get(c, target, &text, &why) : err_oom(&why);

    if (r == 0)
        (void)json_parse(key, text.data, text.len, ret, NULL);
    if (r == 0 || r == -ENOENT)
        return 0;
    *err = why;
    return r;
}

static int history_rows(struct job_call *x, const char *key, int64_t from, json_t *list,
                        struct err *err)
{
    AUTO_JSON *rows = NULL;
    int r = history_fetch(x->client, key, &rows, err);

    return r < 0 ? r : traffic_history_show(rows, from, list, err);
}

static int history_days(struct job_call *x, int64_t from, int64_t to, json_t *list, struct err *err)
{
    int r = 0;

    for (int64_t day = from / HISTORY_DAY_MINUTES; r == 0 && day <= to / HISTORY_DAY_MINUTES;
         day++) {
        AUTO_FREE char *key = str_printf(HISTORY_DAY "%lld", (long long)day);

        r = key ? history_rows(x, key, from, list, err) : err_oom(err);
    }
    return r;
}

/* What is open is asked for first: what is closed in between is then in the rows. */
static int history_collect(struct job_call *x, int64_t from, bool quarters, json_t *list,
                           struct err *err)
{
    AUTO_JSON *open = NULL;
    int r = history_fetch(x->client, HISTORY_OPEN, &open, err);

    if (r == 0)
        r = quarters ? history_days(x, from, loop_wall() / MINUTE_MS, list, err)
                     : history_rows(x, HISTORY_MINUTES, from, list, err);
    return r < 0 ? r : traffic_history_show_open(open, quarters, from, list, err);
}

static int check_gateway(struct job_call *x, struct err *err)
{
    AUTO_JSON *plan = NULL;
    int r = serve_plan(x, &plan, err);

    if (r < 0 || !serve_is_direct(plan))
        return r;
    err_set(err, -EOPNOTSUPP, "'%s' has no gateway: its requests are not counted over time",
            x->cli->operands[0]);
    err_hint(err, "'ydl serve targets' prints where Prometheus finds the replicas' own counts");
    return -EOPNOTSUPP;
}

int serve_history_print(struct job_call *x, int64_t since, struct err *err)
{
    int64_t from = (loop_wall() - since) / MINUTE_MS;
    bool quarters = since > (int64_t)HISTORY_RECENT * MINUTE_MS;
    char when[FORMAT_WHEN];
    AUTO_JSON *list = json_array();
    int r = list ? check_gateway(x, err) : err_oom(err);

    if (quarters)
        from -= from % HISTORY_QUARTER;
    if (r == 0)
        r = history_collect(x, from, quarters, list, err);
    if (r < 0)
        return r;
    if (x->globals->json)
        return doc_print(err, "{s:s, s:s, s:I, s:i, s:O}", "name", x->cli->operands[0], "job",
                         client_id(x->client), "since", (json_int_t)from * MINUTE_MS, "row_minutes",
                         quarters ? HISTORY_QUARTER : 1, "rows", list);
    if (json_array_size(list))
        return doc_table(list, columns, COUNT_OF(columns), err);
    printf("no requests since %s\n", format_when(from * MINUTE_MS, when));
    return 0;
}
