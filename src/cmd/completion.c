/* completion.c - `ydl completion`: the script that teaches a shell our words. */
#include "cli/globals.h"
#include "cmd/verbs.h"

static const char *const shells[] = { "bash", "zsh", "fish", NULL };

static int completion_run(struct cli *c, struct err *err)
{
    return cli_completion(stdout, c->program, c->operands[0], err);
}

/* clang-format off */
const struct cli_verb verb_completion = {
    .name = "completion", .summary = "print the completion script for a shell",
    .operands = "bash|zsh|fish", .least = 1, .most = 1, .words = shells, .ask = "Which shell?",
    .lacks = GLOBALS_CLUSTER, .run = completion_run,
    .text = "Prints a script with which a shell completes the verbs, options and values of ydl.",
    CLI_EXAMPLES({ "source <(ydl completion bash)",
                   "complete in this shell; put the line into ~/.bashrc to keep it" },
                 { "ydl completion zsh > ~/.zfunc/_ydl",
                   "complete in zsh, with ~/.zfunc in fpath" },
                 { "ydl completion fish > ~/.config/fish/completions/ydl.fish",
                   "complete in fish" }),
};
/* clang-format on */
