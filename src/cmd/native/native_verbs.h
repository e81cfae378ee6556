/* native_verbs.h - what the verbs of `ydl-native` share. Main thread. */
#pragma once
#include "cli/cli.h"
#include "native/library_find.h"

extern const struct cli_verb verb_native_command_child;
extern const struct cli_verb verb_native_deployment, verb_native_gateway, verb_native_haproxy_child,
    verb_native_mxnet, verb_native_replica, verb_native_serve, verb_native_tensorflow;
extern const struct cli_program program_ydl_native;

/* Finds a framework's library from what every verb is told: --lib, --fallback and the command that
 * we stand in for. When it is not there and --fallback was given, becomes that command and does
 * not return. *ret is the caller's. */
struct native_ask {
    const struct find_library *library;
    const char *lib;
    bool fallback;
    bool alone; /* the operands are not a command */
};
int native_library(struct cli *c, const struct native_ask *ask, char **ret, struct err *err);

/* "ydl-native: text" on standard error, unless -q was given. */
void native_note(const struct cli *c, const char *text);

/* Every task has this variable: if it is not set (-EINVAL), we do not run as a task. *ret is
 * borrowed from the environment. */
int native_task_variable(const char *name, const char **ret, struct err *err);
