/* address.h - "host:port" in all the ways Hadoop accepts. Private to this directory. */
#pragma once

/* "host", "host:port", "[::1]:port", and "scheme://host:port/" as some write it. *ret_host is the
 * caller's, without brackets. -EINVAL when it is not one of them, -ENOMEM. */
int address_parse(const char *text, int default_port, char **ret_host, int *ret_port);
