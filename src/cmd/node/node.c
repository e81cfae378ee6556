/* node.c - the program `ydl-node`: its verbs. It is static, so nothing here may need dlopen or the
 * name service switch. */
#include "cli/globals.h"
#include "cmd/verbs.h"

static const struct cli_verb *const verbs[] = {
    &verb_node_agent, &verb_help, &verb_node_init, &verb_node_master, &verb_version, NULL,
};

/* clang-format off */
const struct cli_program program_ydl_node = {
    .name = "ydl-node", .summary = "run the part of ydl that runs on the nodes of a cluster",
    .version = YDL_VERSION, .date = "November 16, 2026", .globals = globals_node_opts,
    .globals_size = sizeof(struct globals), .verbs = verbs,
    .text = "ydl-node is started by ydl and by other ydl-nodes, not by users. It is a static "
            "program that runs on any Linux node, whatever is installed there.",
};
/* clang-format on */
