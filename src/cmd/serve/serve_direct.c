/* serve_direct.c - see serve_direct.h. The report is of the deployment's own task, which looks at
 * the replicas: src/serve/deployment/controller_direct.c. */
#include "cmd/serve/serve_direct.h"
#include "base/str.h"
#include "terminal/format.h"

#include <stdio.h>

bool serve_is_direct(const json_t *doc)
{
    return json_is_true(json_object_get(doc, "direct"));
}

static int add_urls(const json_t *version, json_t *list)
{
    const json_t *replicas = json_object_get(version, "replicas"), *one;
    size_t i;

    json_array_foreach(replicas, i, one)
    {
        if (str_eq(format_text(one, "state"), "ready") &&
            json_array_append_new(list, json_sprintf("http://%s", format_text(one, "address"))) < 0)
            return -1;
    }
    return 0;
}

json_t *serve_direct_urls(const json_t *report)
{
    const json_t *model = json_array_get(json_object_get(report, "models"), 0), *version;
    AUTO_JSON *list = json_array();
    size_t i;

    json_array_foreach(json_object_get(model, "versions"), i, version)
    {
        if (json_equal(json_object_get(version, "version"), json_object_get(model, "serves")) &&
            add_urls(version, list) < 0)
            return NULL;
    }
    return take(list);
}

bool serve_direct_all(const json_t *report, unsigned replicas, json_t **ret)
{
    AUTO_JSON *urls = serve_direct_urls(report);

    if (!urls || json_array_size(urls) < replicas)
        return false;
    *ret = take(urls);
    return true;
}

void serve_direct_first(const json_t *report, char *url, size_t size)
{
    AUTO_JSON *urls = serve_is_direct(report) ? serve_direct_urls(report) : NULL;

    if (json_array_size(urls) > 0)
        (void)snprintf(url, size, "%s", json_string_value(json_array_get(urls, 0)));
}

const char *serve_direct_next(const json_t *urls, const char *url)
{
    size_t n = json_array_size(urls), i = 0;

    while (i < n && !str_eq(json_string_value(json_array_get(urls, i)), url))
        i++;
    return n ? json_string_value(json_array_get(urls, i + 1 < n ? i + 1 : 0)) : NULL;
}
