/* verbs.h - the verbs below `ydl fs`, one file each. */
#pragma once
#include "cli/cli.h"

extern const struct cli_verb verb_fs_cat, verb_fs_chmod, verb_fs_du, verb_fs_get, verb_fs_ls,
    verb_fs_mkdir, verb_fs_mv, verb_fs_put, verb_fs_rm, verb_fs_stat;
