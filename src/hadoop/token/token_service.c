/* token_service.c - builds the same text that Java builds for the same server. See
 * token_service.h. */
#include "hadoop/token/token_service.h"
#include "base/str.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>

/* IPv6 is written out as Java's getHostAddress() does, not as inet_ntop() would. */
int token_service_ip(const char *ip, int port, char **ret)
{
    struct in6_addr a6;
    struct in_addr a4;
    char text[INET6_ADDRSTRLEN] = "";
    size_t n = 0;

    if (inet_pton(AF_INET, ip, &a4) == 1) {
        inet_ntop(AF_INET, &a4, text, sizeof(text));
    } else if (inet_pton(AF_INET6, ip, &a6) == 1) {
        /* Eight groups with no zeroes left out but leading ones: "0:0:0:0:0:0:0:1". */
        for (int i = 0; i < 16; i += 2)
            n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%x", i ? ":" : "",
                                  a6.s6_addr[i] << 8 | a6.s6_addr[i + 1]);
    } else {
        return -EINVAL;
    }
    *ret = str_printf("%s:%d", text, port);
    return *ret ? 0 : -ENOMEM;
}

int token_service_name(const char *host, int port, char **ret)
{
    *ret = str_printf("%s:%d", host, port);
    if (!*ret)
        return -ENOMEM;
    for (char *s = *ret; *s; s++)
        *s = (char)tolower((unsigned char)*s);
    return 0;
}

int token_service_ha(const char *name_service, char **ret)
{
    *ret = str_printf("ha-hdfs:%s", name_service);
    return *ret ? 0 : -ENOMEM;
}
