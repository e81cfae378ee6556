/* controller_fetch.c - replicas that fetch their models: what they say of that becomes part of the
 * deployment's report, and the time for a new version to become ready begins when no byte moves any
 * more. */
#include "serve/deployment/controller_private.h"
#include "serve/deployment/deployment_fetch.h"

static int fetch_look(struct controller *x, const char *key, json_t *rows, struct err *err)
{
    AUTO_FREE char *value = NULL;
    json_t *row;
    int r = task_store_get(&x->store, key, &value, err);

    if (r <= 0)
        return r;
    row = deployment_fetch_row(x->plan, key, value);
    if (!row)
        return task_store_delete(&x->store, key, err);
    return json_array_append_new(rows, row) < 0 ? err_oom(err) : 0;
}

static void fetch_moved(struct controller *x)
{
    const json_t *models = json_object_get(x->plan, "models"), *m;
    size_t i;

    json_array_foreach(models, i, m)
    {
        const json_t *update = json_object_get(m, "update");
        const json_t *v = deployment_version(m, json_int_or(update, "to", 0));
        int64_t done =
            v ? deployment_fetch_done(x->fetching, json_string_value(json_object_get(v, "group")))
              : 0;

        if (done != x->starts[i].fetched)
            x->starts[i].moved = loop_wall();
        x->starts[i].fetched = done;
    }
}

int controller_fetching(struct controller *x, struct err *err)
{
    AUTO_STRS keys = { 0 };
    AUTO_JSON *rows = json_array();
    int r = rows ? task_store_list(&x->store, DEPLOYMENT_FETCH, &keys, err) : err_oom(err);

    for (size_t i = 0; i < keys.n && r == 0; i++)
        r = fetch_look(x, keys.v[i], rows, err);
    if (r < 0)
        return r;
    json_decref(x->fetching);
    x->fetching = take(rows);
    fetch_moved(x);
    return 0;
}
