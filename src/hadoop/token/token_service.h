/* token_service.h - the service of a token: which server it is for. Pure.
 *
 * Java finds a token by comparing these texts, so they must be exactly what it builds:
 * "10.0.0.1:8020", "nn.example.com:8020" (hadoop.security.token.service.use_ip = false),
 * "ha-hdfs:NAMESERVICE", or a list with commas for ResourceManagers in HA. */
#pragma once
#include "base/err.h"

/* For a server at a numeric address. IPv6 is written in full and without brackets, as Java does.
 * *ret is the caller's. -EINVAL when `ip` is no address, -ENOMEM. */
int token_service_ip(const char *ip, int port, char **ret);
/* For a server by name, in lower case. */
int token_service_name(const char *host, int port, char **ret);
/* For all NameNodes of a name service. */
int token_service_ha(const char *name_service, char **ret);
