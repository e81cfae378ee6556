/* verbs.h - the verbs that start jobs, look at them and act on them; each is a row in a file of its
 * own. */
#pragma once
#include "cli/cli.h"

extern const struct cli_verb verb_events, verb_kill, verb_list, verb_logs, verb_plan, verb_restart,
    verb_run, verb_scale, verb_spec, verb_status, verb_stop, verb_submit, verb_tokens, verb_top,
    verb_wait;
