/* token_service.h - the service of a token: which server it is for. Pure.
 *
 * Java finds a token by comparing these texts, so they must be exactly what it builds:
 * "10.0.0.1:8020", "nn.example.com:8020" (hadoop.security.token.service.use_ip = false),
 * "ha-hdfs:NAMESERVICE", or a list with commas for ResourceManagers in HA. */
#pragma once
#include "base/err.h"
#include "hadoop/token/credentials.h"
#include <stdbool.h>

/* For a server at a numeric address. IPv6 is written in full and without brackets, as Java does.
 * *ret is the caller's. -EINVAL when `ip` is no address, -ENOMEM. */
int token_service_ip(const char *ip, int port, char **ret);
/* For a server by name, in lower case. */
int token_service_name(const char *host, int port, char **ret);
/* For all NameNodes of a name service. */
int token_service_ha(const char *name_service, char **ret);
/* For several ResourceManagers: the services of all of them, with commas between. */
int token_service_list(const char *const *services, size_t n, char **ret);

/* Whether `service` is one of those that a token's own, possibly a list, names. */
bool token_service_has(const char *list, const char *service);

/* The token of `kind` for one of `services` (n of them), tried in order; NULL when there is none.
 * Borrowed from `c`. */
const struct token *token_select(const struct credentials *c, const char *kind,
                                 const char *const *services, size_t n);
