/* interfaces.c - gives a process an interface that has its node's address.
 *
 * LightGBM looks for itself in its list of machines by the addresses of the interfaces here. Nodes
 * of the test cluster are addresses of loopback that no interface has; preloaded, this lets the
 * first address that is asked for be $NODE_ADDRESS, as it is on a machine of its own. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>

int getifaddrs(struct ifaddrs **ret)
{
    int (*real)(struct ifaddrs **);
    const char *text = getenv("NODE_ADDRESS");
    int r;

    *(void **)&real = dlsym(RTLD_NEXT, "getifaddrs");
    r = real(ret);
    for (struct ifaddrs *i = r == 0 ? *ret : NULL; i; i = i->ifa_next) {
        struct sockaddr_in *in = (struct sockaddr_in *)i->ifa_addr;

        if (text && in && in->sin_family == AF_INET) {
            (void)inet_pton(AF_INET, text, &in->sin_addr);
            break;
        }
    }
    return r;
}
