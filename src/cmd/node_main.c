/* node_main.c - ydl-node: what runs on the nodes of a cluster. */
#include "cli/globals.h"
#include "cmd/verbs.h"

int main(int argc, char **argv)
{
    return globals_main(&program_ydl_node, argc, argv);
}
