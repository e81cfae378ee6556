/* address.c - see address.h */
#include "hadoop/conf/address.h"
#include "base/str.h"

#include <string.h>

/* The end of the host at `s`, before the colon of its port. NULL when it is not a host. */
static const char *host_end(const char *s)
{
    const char *end;

    if (*s == '[') {
        end = strchr(s, ']');
        return end && end > s + 1 ? end : NULL;
    }
    end = s + strcspn(s, ":");
    return end > s ? end : NULL;
}

/* What a host name may not hold. '_' is wrong in DNS and common in clusters. */
static bool address_plain(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)s[i] <= ' ' || strchr("@,/\\[]?#'\"", s[i]))
            return false;
    return true;
}

int address_parse(const char *text, int default_port, char **ret_host, int *ret_port)
{
    const char *scheme = strstr(text, "://"), *end;
    const char *s = scheme ? scheme + 3 : text;
    AUTO_FREE char *address = strndup(s, strcspn(s, "/"));
    int64_t port = default_port;
    bool bracket;

    if (!address)
        return -ENOMEM;
    if (!scheme && strchr(text, '/'))
        return -EINVAL;
    end = host_end(address);
    bracket = *address == '[';
    if (!end || !address_plain(address + bracket, (size_t)(end - address - bracket)))
        return -EINVAL;
    if (end[bracket] == ':' && str_to_i64(end + bracket + 1, 1, 65535, &port) < 0)
        return -EINVAL;
    if (end[bracket] && end[bracket] != ':')
        return -EINVAL;
    *ret_host = strndup(address + bracket, (size_t)(end - address - bracket));
    *ret_port = (int)port;
    return *ret_host ? 0 : -ENOMEM;
}
