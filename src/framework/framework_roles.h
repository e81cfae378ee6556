/* framework_roles.h - for frameworks that bring programs of their own. Private to framework/. Pure.
 */
#pragma once
#include "framework/framework.h"

/* Puts the row's command into a role that has none; *ret says whether it did, so that the caller
 * adds what it knows of the role's resources once. 0 or -ENOMEM. */
int complete_command(struct spec_role *role, const struct framework_role *row, bool *ret);
