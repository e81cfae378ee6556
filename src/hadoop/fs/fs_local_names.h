/* fs_local_names.h - names of users and groups of this machine, from its files. Private to this
 * directory. Blocks on the local disk. */
#pragma once
#include "hadoop/fs/fs_local.h"

/* Fills in both names; a number where there is no name. */
void local_names_of(struct local_names *n, uid_t uid, gid_t gid);
