/* cli_testing.h - for tests of command tables. */
#pragma once
#include "cli/cli.h"

/* Looks for mistakes: two options of one name, a default that does not parse, a missing help text.
 */
int cli_check(const struct cli_program *p, struct err *err);
