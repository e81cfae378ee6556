/* record.c - writes records as Hadoop's Java library reads them, and refuses what RegistryDNS would
 * stumble over.
 *
 *     {"type": "JSONServiceRecord", "description": …,
 *      "external": [{"api": …, "addressType": …, "protocolType": …, "addresses": […]}, …],
 *      "internal": …, "yarn:id": …, "yarn:persistence": …, and other texts at the top level}
 *
 * See record.h. */
#include "hadoop/registry/record.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <string.h>

#define TYPE "JSONServiceRecord"
#define RECORD_MAX MIB /* ZooKeeper's own limit for one node */

static const char *const persistences[] = {
    [REGISTRY_PERMANENT] = "permanent",
    [REGISTRY_APPLICATION] = "application",
    [REGISTRY_ATTEMPT] = "application-attempt",
    [REGISTRY_CONTAINER] = "container",
};

static int registry_record_set(json_t *to, const char *name, json_t *value, struct err *err)
{
    return json_object_set_new(to, name, value) < 0 ? err_oom(err) : 0;
}

static int registry_record_set_text(json_t *to, const char *name, const char *text, struct err *err)
{
    return text ? registry_record_set(to, name, json_text(text), err) : 0;
}

static int endpoint(const struct registry_endpoint *e, json_t **ret, struct err *err)
{
    AUTO_JSON *address = NULL;
    int r;

    if (e->uri)
        r = json_make(&address, err, "{s:o}", "uri", json_text(e->uri));
    else
        r = json_make(&address, err, "{s:o, s:o}", "host", json_text(e->host), "port",
                      json_sprintf("%d", e->port));
    if (r < 0)
        return r;
    return json_make(ret, err, "{s:o, s:s, s:o, s:[o]}", "api", json_text(e->api), "addressType",
                     e->uri ? "uri" : "host/port", "protocolType", json_text(e->protocol),
                     "addresses", take(address));
}

static int set_endpoints(json_t *to, const char *name, const struct registry_endpoint *v, size_t n,
                         struct err *err)
{
    json_t *list = json_array();
    int r = registry_record_set(to, name, list, err);

    for (size_t i = 0; i < n && r == 0; i++) {
        json_t *one = NULL;

        r = endpoint(&v[i], &one, err);
        if (r == 0 && json_array_append_new(list, one) < 0)
            r = err_oom(err);
    }
    return r;
}

/* What RegistryDNS would stumble over. */
static int registry_record_check(const struct registry_record *r, struct err *err)
{
    struct in_addr ip;

    if (r->persistence == REGISTRY_CONTAINER &&
        !(r->description && r->component && r->ip && r->hostname))
        return err_set(err, -EINVAL,
                       "a container's record needs a description, a component, an address and "
                       "a host");
    if (r->ip && inet_pton(AF_INET, r->ip, &ip) != 1)
        return err_set(err, -EINVAL, "'%s' is not an IPv4 address, which the registry needs",
                       r->ip);
    for (size_t i = 0; i < r->n_external && r->persistence != REGISTRY_ATTEMPT; i++)
        if (!str_starts(r->external[i].api, "http://"))
            return err_set(err, -EINVAL, "the api '%s' does not begin with 'http://'",
                           r->external[i].api);
    return 0;
}

int registry_record_make(const struct registry_record *record, json_t **ret, struct err *err)
{
    const struct registry_record *rec = record;
    const struct registry_attribute yarn[] = {
        { "yarn:id", rec->id },
        { "yarn:persistence", persistences[rec->persistence] },
        { "yarn:ip", rec->ip },
        { "yarn:hostname", rec->hostname },
        { "yarn:component", rec->component },
    };
    AUTO_JSON *v = NULL;
    int r = registry_record_check(rec, err);

    if (r == 0)
        r = json_make(&v, err, "{s:s}", "type", TYPE);
    if (r == 0)
        r = registry_record_set_text(v, "description", rec->description, err);
    if (r == 0)
        r = set_endpoints(v, "external", rec->external, rec->n_external, err);
    if (r == 0)
        r = set_endpoints(v, "internal", rec->internal, rec->n_internal, err);
    for (size_t i = 0; i < COUNT_OF(yarn) && r == 0; i++)
        r = registry_record_set_text(v, yarn[i].name, yarn[i].value, err);
    for (size_t i = 0; i < rec->n_attributes && r == 0; i++)
        r = registry_record_set_text(v, rec->attributes[i].name, rec->attributes[i].value, err);
    if (r == 0)
        *ret = take(v);
    return r;
}

int registry_record_parse(const char *what, const void *p, size_t n, json_t **ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    int r;

    if (n == 0)
        return err_set(err, -ENODATA, "there is no record in %s", what);
    if (n > RECORD_MAX)
        return err_set(err, -EINVAL, "%s is larger than a record can be", what);
    r = json_parse(what, p, n, &v, err);
    if (r < 0)
        return r;
    if (!str_eq(registry_record_text(v, "type"), TYPE))
        return err_set(err, -EINVAL, "%s is not a record of a service", what);
    *ret = take(v);
    return 0;
}

const char *registry_record_text(const json_t *record, const char *name)
{
    return json_string_value(json_object_get(record, name));
}
