/* histogram_json.c - see histogram_json.h. */
#include "serve/gateway/histogram_json.h"

#include <errno.h>

json_t *histogram_json(const struct histogram *h)
{
    AUTO_JSON *list = json_array();

    for (unsigned i = 0; list && i < HISTOGRAM_BUCKETS; i++)
        if (h->counts[i] && (json_array_append_new(list, json_integer(i)) < 0 ||
                             json_array_append_new(list, json_integer(h->counts[i])) < 0))
            return NULL;
    return take(list);
}

int histogram_from_json(const json_t *v, struct histogram *ret)
{
    size_t n = json_array_size(v);

    *ret = (struct histogram){ 0 };
    if (!json_is_array(v) || n % 2 != 0)
        return -EINVAL;
    for (size_t i = 0; i < n; i += 2) {
        const json_t *bucket = json_array_get(v, i), *count = json_array_get(v, i + 1);
        json_int_t at = json_integer_value(bucket), c = json_integer_value(count);

        if (!json_is_integer(bucket) || at < 0 || at >= HISTOGRAM_BUCKETS || c <= 0 ||
            c > UINT32_MAX || ret->counts[at])
            return -EINVAL;
        ret->counts[at] = (uint32_t)c;
        ret->total += (uint64_t)c;
    }
    return 0;
}
