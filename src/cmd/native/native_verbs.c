/* native_verbs.c - the program `ydl-native`: its verbs, and what they share. */
#include "cmd/native/native_verbs.h"
#include "base/path.h"
#include "cli/globals.h"
#include "cmd/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const struct cli_verb *const verbs[] = {
    &verb_native_command_child,
    &verb_native_deployment,
    &verb_native_gateway,
    &verb_native_haproxy_child,
    &verb_help,
    &verb_native_mxnet,
    &verb_native_replica,
    &verb_native_serve,
    &verb_native_tensorflow,
    &verb_version,
    NULL,
};

/* clang-format off */
const struct cli_program program_ydl_native = {
    .name = "ydl-native", .summary = "run servers of deep-learning frameworks without Python",
    .version = YDL_VERSION, .date = "November 16, 2026", .globals = globals_node_opts,
    .globals_size = sizeof(struct globals), .verbs = verbs,
    .text = "ydl-native runs a server of a framework, a scheduler or a parameter server, or serves "
            "a model, with the framework's own C library and without Python. Jobs of ydl start it "
            "as --native says, deployments start it for each replica; it can also be started by "
            "hand.\n\n"
            "It searches the library in --lib, in the library's environment variable, in the "
            "Python environment of COMMAND or of the first python in PATH, in directories beside "
            "the task (archives), and in the loader's default path.",
};
/* clang-format on */

void native_note(const struct cli *c, const char *text)
{
    char clean[1024];

    if (globals_of(c)->quiet)
        return;
    (void)str_clean(clean, sizeof(clean), text);
    fprintf(stderr, "%s: %s\n", c->program->name, clean);
}

/* The directory of this program; NULL when it cannot be told. */
static char *native_own_directory(void)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n < 0)
        return NULL;
    self[n] = '\0';
    return path_dir(self);
}

int native_library(struct cli *c, const struct native_ask *ask, char **ret, struct err *err)
{
    AUTO_FREE char *cwd = getcwd(NULL, 0);
    AUTO_FREE char *self = native_own_directory();
    const struct find_places places = {
        .lib = ask->lib,
        .variable = ask->library->variable ? getenv(ask->library->variable) : NULL,
        .command = c->n_operands > 0 && !ask->alone ? c->operands : NULL,
        .path = getenv("PATH"),
        .cwd = cwd,
        .self = self,
        .only_command = ask->fallback,
    };
    int r;

    if (ask->fallback && c->n_operands == 0)
        return cli_bad(err, "--fallback needs a command after --");
    r = find_library(ask->library, &places, ret, err);
    if (r == 0 || !ask->fallback)
        return r;
    (void)execvp(c->operands[0], c->operands);
    err_clear(err);
    return err_sys(err, "start '%s'", c->operands[0]);
}

int native_task_variable(const char *name, const char **ret, struct err *err)
{
    *ret = getenv(name);
    return *ret ? 0 : err_set(err, -EINVAL, "%s is not set: 'ydl serve' starts this program", name);
}
