/* native_mxnet.c - `ydl-native mxnet`: a scheduler or a server of MXNet's key-value store. */
#include "cli/exit.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"
#include "native/mxnet_server.h"

#include <stdlib.h>
#include <unistd.h>

struct args {
    const char *lib;
    bool fallback;
};

#define AT(field) offsetof(struct args, field)
/* clang-format off */
static const struct cli_opt opts[] = {
    { "lib",      0, CLI_TEXT, AT(lib),      NULL, "PATH",
      "libmxnet.so, or a directory that has it" },
    { "fallback", 0, CLI_FLAG, AT(fallback), NULL, NULL,
      "run COMMAND when its Python has no libmxnet.so" },
    { 0 },
};
/* clang-format on */

/* MXNet's threads are alive: whatever would be tidied up at an ordinary exit is theirs. */
static void native_mxnet_give_up(void *arg, const struct err *err)
{
    const struct cli *c = arg;

    _exit(exit_report(c->program->name, err->code, err, globals_of(c)->json));
}

static void note(void *arg, const char *text)
{
    native_note(arg, text);
}

static int native_mxnet_run(struct cli *c, struct err *err)
{
    const struct args *a = c->args;
    const struct native_ask ask = { &find_mxnet, a->lib, a->fallback };
    AUTO_FREE char *library = NULL;
    struct mxnet_place place;
    struct mxnet_api api;
    struct mxnet_options o = {
        .api = &api, .place = &place, .give_up = native_mxnet_give_up, .note = note, .arg = c
    };
    int r = native_library(c, &ask, &library, err);

    if (r == 0)
        r = mxnet_place_read(getenv, &place, err);
    if (r == -EINVAL)
        err->code = r = CLI_USAGE;
    if (r == 0)
        r = mxnet_api_load(library, &api, err);
    return r < 0 ? r : mxnet_serve(&o, err);
}

static const struct cli_section sections[] = {
    { "OPTIMIZERS",
      "A server learns itself when it is told how, by a text:\n"
      "\n"
      "  kv._send_command_to_servers(0, \"sgd lr=0.1 momentum=0.9 rescale_grad=0.01\")\n"
      "\n"
      "sgd\tlr (0.01), momentum (0)\n"
      "adam\tlr (0.001), beta1 (0.9), beta2 (0.999), epsilon (1e-8)\n"
      "both\twd (0), rescale_grad (1), clip_gradient (none)\n"
      "\n"
      "One worker sends it before the first push; the others wait at a barrier. Sent again it\n"
      "changes the numbers. From other languages it is\n"
      "MXKVStoreSendCommmandToServers(store, 0, text).\n"
      "\n"
      "What Python's set_optimizer() sends is a pickle, which is refused: the server ends with "
      "the\n"
      "reason.\n"
      "\n"
      "A server that is told nothing adds up what the workers push, and they update their weights\n"
      "themselves: update_on_kvstore=False, for dist_sync only. MXNet 1.9.1 has a fault there, "
      "with\n"
      "Python servers as well: a worker that pushes its first gradient before the first weights\n"
      "have come can get the sum of the gradients in their place, and says nothing. So wait for "
      "the\n"
      "weights, in every worker:\n"
      "\n"
      "  trainer = gluon.Trainer(…, kvstore=kv, update_on_kvstore=False)\n"
      "  net(first_batch)\n"
      "  trainer._init_kvstore(); trainer._init_params(); mx.nd.waitall()" },
    { "ENVIRONMENT", "DMLC_ROLE\tscheduler or server.\n"
                     "DMLC_NUM_WORKER, DMLC_NUM_SERVER\tHow many there are.\n"
                     "DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT\tThe scheduler's address, numeric.\n"
                     "DMLC_NODE_HOST\tOur own address, numeric; without it the first interface's.\n"
                     "MXNET_LIBRARY_PATH\tlibmxnet.so, or the directory that has it." },
    { 0 },
};

static const struct cli_example examples[] = {
    { "ydl run -n 2 -s 2 --framework mxnet --native yes -- python train.py --kv-store dist_sync",
      "scheduler and servers are native; the script does one of the two above" },
    { "ydl-native mxnet --lib /opt/mxnet/libmxnet.so", "by hand, the role from DMLC_ROLE" },
    { 0 },
};

const struct cli_verb verb_native_mxnet = {
    .name = "mxnet",
    .summary = "be a scheduler or a server of MXNet's distributed key-value store",
    .text =
        "Plays the role that DMLC_ROLE names until every node of the job has ended. COMMAND is\n"
        "what would run in its place: the library is looked for beside its Python.",
    .opts = opts,
    .args_size = sizeof(struct args),
    .operands = "[-- COMMAND [ARGUMENT…]]",
    .most = CLI_ANY,
    .complete = CLI_COMMANDS,
    .command_follows = true,
    .examples = examples,
    .sections = sections,
    .run = native_mxnet_run,
};
