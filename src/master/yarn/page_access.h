/* page_access.h - who may look at a job's page.
 *
 * As in Hadoop's AmIpFilter only YARN's proxy is listened to, and it says in a cookie who asks. In
 * a cluster with Kerberos it has made sure of that: the job's owner may look and those whom the
 * job's view list names, and a request that names nobody is nobody's. In a cluster without Kerberos
 * a name is no more than a claim: whoever comes through the proxy may look, and so may this
 * machine. Whoever has a shell on the proxy's machine can call himself what he likes: there is no
 * other proof of where a request came from than its address. */
#pragma once
#include "base/str.h"
#include "hadoop/conf/conf.h"
#include "loop/loop.h"

#include <arpa/inet.h>
#include <stdbool.h>

#define PAGE_PROXIES_MAX 16

struct page_access {
    const char *owner, *view; /* borrowed; view: as struct spec_acl, NULL: nobody else */
    const char *host;         /* borrowed: our own address */
    bool secure;
    /* Adds the groups of a user; asked only when they decide. */
    int (*groups)(void *arg, const char *user, struct strs *ret, struct err *err);
    void *arg;
    char proxies[PAGE_PROXIES_MAX][INET6_ADDRSTRLEN];
    size_t n_proxies;
};

/* Looks up where the proxy is: a daemon of its own where one is configured, else part of the
 * ResourceManagers. Fibers only. */
void page_access_find(struct page_access *a, struct loop *l, const struct conf *conf);
/* May what comes from this address ask at all? */
bool page_access_from(const struct page_access *a, const char *address);
/* May the user whom the proxy names in this Cookie header (NULL: none) look? 0, or -EACCES with a
 * sentence. Waits for `groups` if that does. */
int page_access_check(const struct page_access *a, const char *cookie, struct err *err);
