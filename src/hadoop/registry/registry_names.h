/* registry_names.h - the names of the registry: labels that DNS takes, and paths made of them.
 * Pure.
 *
 *     /users/USER/services/CLASS/NAME                        a service
 *     /users/USER/services/CLASS/NAME/components/COMPONENT   a part of it
 *
 * Paths are below hadoop.registry.zk.root. RegistryDNS answers for NAME.USER.DOMAIN and
 * DESCRIPTION.NAME.USER.DOMAIN, so everything in a path has to be a label: a to z, digits and
 * dashes, 63 of them at most, no dash at the ends. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

#define REGISTRY_LABEL 64 /* bytes with the NUL */

bool registry_is_label(const char *s);

/* The label nearest to a text: lower case, dashes for what no label has, cut at 63. "x" when
 * nothing is left. Two texts may get the same label. */
const char *registry_label(const char *text, char out[REGISTRY_LABEL]);

/* A user's name as the registry writes it: what is before an '@' or a '/', as a label. */
const char *registry_user(const char *user, char out[REGISTRY_LABEL]);

/* "container_1_2_3" is "ctr-1-2-3" there, as Hadoop's own programs write it. */
const char *registry_container(const char *container, char out[REGISTRY_LABEL]);

/* *ret is the caller's. -EINVAL when a part is not a label (`user` is turned into one). */
int registry_service_path(const char *user, const char *class_, const char *name, char **ret,
                          struct err *err);
int registry_component_path(const char *service_path, const char *component, char **ret,
                            struct err *err);

/* -EINVAL unless it is "/" and labels with slashes between. */
int registry_check_path(const char *path, struct err *err);
