/* resolve.h - host names to addresses, by c-ares: the hosts file and DNS, the same in the static
 * program as in the dynamic one. Numbers need no look-up. Fibers only. */
#pragma once
#include "loop/loop.h"
#include <netinet/in.h>
#include <stdbool.h>

union resolve_addr {
    struct sockaddr sa;
    struct sockaddr_in in4;
    struct sockaddr_in6 in6;
};

#define RESOLVE_MAX 8

struct resolve_addrs {
    union resolve_addr v[RESOLVE_MAX]; /* with the port set, IPv4 first */
    int n;
};

/* Fills `ret` with at least one address, or fails. */
int resolve_host(struct loop *l, const char *host, int port, int64_t deadline,
                 struct resolve_addrs *ret, struct err *err);

socklen_t resolve_len(const union resolve_addr *a);
/* The number as text; `out` holds INET6_ADDRSTRLEN. */
const char *resolve_text(const union resolve_addr *a, char out[INET6_ADDRSTRLEN]);
int resolve_port(const union resolve_addr *a);
/* The other way round; false when it is not a number. Any thread; does not wait. */
bool resolve_number(const char *host, int port, union resolve_addr *ret);
