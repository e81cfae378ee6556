/* record.h - the record at a path of the registry: a service, or a part of one, in Hadoop's JSON.
 * Pure.
 *
 * RegistryDNS makes names of records. Of a component (`persistence` REGISTRY_CONTAINER) it needs
 * description, component, ip and hostname, and serves
 *     DESCRIPTION.NAME.USER.DOMAIN, COMPONENT.NAME.USER.DOMAIN and the last part of the path itself
 * as addresses. (Without a hostname it serves them too, but stumbles then, and they stay for as
 * long as it runs, whatever becomes of the record.) Of a service it needs an external endpoint
 * whose `api` begins with "http://" (it breaks on others) and whose host is an IPv4 number, and
 * serves NAME.USER.DOMAIN. Records of other persistences are nothing to it. */
#pragma once
#include "base/json.h"

enum registry_persistence {
    REGISTRY_PERMANENT,   /* until somebody deletes it */
    REGISTRY_APPLICATION, /* goes with the application */
    REGISTRY_ATTEMPT,     /* goes with this attempt of it */
    REGISTRY_CONTAINER,   /* goes with the container */
};

struct registry_endpoint {
    const char *api;      /* what is spoken: "http://" and something */
    const char *protocol; /* "webui", "REST", "tcp", … */
    const char *uri;      /* where: this, */
    const char *host;     /* or a host and */
    int port;
};

struct registry_attribute {
    const char *name, *value;
};

/* Strings that are NULL are left out. */
struct registry_record {
    const char *description;
    enum registry_persistence persistence;
    const char *id;        /* "application_…", "container_…" */
    const char *ip;        /* numeric */
    const char *hostname;  /* with the ip it gives the name for a number, too */
    const char *component; /* "worker": several parts may share it */
    const struct registry_endpoint *external, *internal;
    size_t n_external, n_internal;
    const struct registry_attribute *attributes; /* more of them, not "yarn:…" */
    size_t n_attributes;
};

/* The record as JSON. -EINVAL when it breaks a rule above that makes RegistryDNS fail. *ret is the
 * caller's. */
int registry_record_make(const struct registry_record *r, json_t **ret, struct err *err);

/* Hostile bytes, called `what` in errors: an object of the type that records have. -ENODATA when
 * there are none (a path that is only a directory), -EINVAL when it is something else. *ret is the
 * caller's. */
int registry_record_parse(const char *what, const void *p, size_t n, json_t **ret, struct err *err);

/* A string of the object, or NULL; borrowed. */
const char *registry_record_text(const json_t *record, const char *name);
