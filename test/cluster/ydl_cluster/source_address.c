/* source_address.c - gives the connections of one process an address of its own.
 *
 * A NameNode knows a DataNode by the address from which it connects, whatever the DataNode says of
 * itself. All processes of this machine connect from 127.0.0.1; preloaded into a DataNode, this
 * makes it connect from $YDL_SOURCE_ADDRESS instead. Hadoop has no setting for it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

static struct sockaddr_in source;
static int (*real_connect)(int, const struct sockaddr *, socklen_t);

__attribute__((constructor)) static void look_up(void)
{
    const char *text = getenv("YDL_SOURCE_ADDRESS");

    source.sin_family = AF_INET;
    if (!text || inet_pton(AF_INET, text, &source.sin_addr) != 1)
        source.sin_addr.s_addr = htonl(INADDR_ANY);
    *(void **)&real_connect = dlsym(RTLD_NEXT, "connect");
}

static int is_near(const struct sockaddr *to)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)to;

    return to->sa_family == AF_INET &&
           ntohl(in->sin_addr.s_addr) >> 24 == ntohl(source.sin_addr.s_addr) >> 24;
}

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    struct sockaddr_in now;
    socklen_t size = sizeof(now);

    if (is_near(addr) && getsockname(fd, (struct sockaddr *)&now, &size) == 0 &&
        now.sin_family == AF_INET && now.sin_port == 0)
        (void)bind(fd, (const struct sockaddr *)&source, sizeof(source));
    return real_connect(fd, addr, len);
}
