/* deployment_fetch.c - see deployment_fetch.h. Keys and values are hostile. */
#include "serve/deployment/deployment_fetch.h"
#include "base/str.h"
#include "serve/deployment/deployment_plan.h"

#include <string.h>

json_t *deployment_fetch_row(const json_t *plan, const char *key, const char *value)
{
    AUTO_STRS parts = { 0 };
    AUTO_STRS bytes = { 0 };
    json_t *model = NULL;
    const json_t *v;
    int64_t serial, index, done, total;

    if (!str_starts(key, DEPLOYMENT_FETCH) ||
        strs_split(&parts, key + strlen(DEPLOYMENT_FETCH), "/") < 0 || parts.n != 3 ||
        strs_split(&bytes, value, " ") < 0 || bytes.n != 2)
        return NULL;
    if (str_to_i64(parts.v[1], 1, INT64_MAX, &serial) < 0 ||
        str_to_i64(parts.v[2], 0, INT32_MAX, &index) < 0 ||
        str_to_i64(bytes.v[1], 0, INT64_MAX, &total) < 0 ||
        str_to_i64(bytes.v[0], 0, total, &done) < 0)
        return NULL;
    v = deployment_in_group(plan, parts.v[0], &model);
    if (!v || json_int_or(v, "serial", 0) != serial ||
        index >= deployment_group_size(model, parts.v[0]))
        return NULL;
    return json_pack("{s:o, s:s, s:I, s:I}", "replica",
                     json_sprintf("%s-%lld", parts.v[0], (long long)index), "group", parts.v[0],
                     "done", (json_int_t)done, "total", (json_int_t)total);
}

const json_t *deployment_fetch_find(const json_t *rows, const char *replica)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (replica && str_eq(json_string_value(json_object_get(row, "replica")), replica))
            return row;
    }
    return NULL;
}

int64_t deployment_fetch_done(const json_t *rows, const char *group)
{
    uint64_t sum = 0;
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (!group || str_eq(json_string_value(json_object_get(row, "group")), group))
            sum += (uint64_t)json_int_or(row, "done", 0);
    }
    return (int64_t)(sum & INT64_MAX);
}

char *deployment_fetch_text(const json_t *row)
{
    char done[STR_SIZE_MAX], total[STR_SIZE_MAX];

    return str_printf("fetching %s of %s", str_size((uint64_t)json_int_or(row, "done", 0), done),
                      str_size((uint64_t)json_int_or(row, "total", 0), total));
}
