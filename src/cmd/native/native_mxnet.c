/* native_mxnet.c - `ydl-native mxnet`: a scheduler or a server of MXNet's key-value store. */
#include "cli/exit.h"
#include "cli/globals.h"
#include "cmd/native/native_verbs.h"
#include "native/mxnet_server.h"

#include <stdlib.h>

struct args {
    const char *lib;
    bool fallback;
};

#define AT(field) offsetof(struct args, field)

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

/* clang-format off */
const struct cli_verb verb_native_mxnet = {
    .name = "mxnet",
    .summary = "run a scheduler or a server of MXNet's distributed key-value store",
    .operands = "[-- COMMAND [ARGUMENT…]]", .most = CLI_ANY, .complete = CLI_COMMANDS,
    .command_follows = true, .run = native_mxnet_run,
    .text = "Runs in the role that DMLC_ROLE names until every node of the job has ended. The "
            "library is searched in the Python environment of COMMAND, which would run in its "
            "place.",
    CLI_OPTS(struct args,
        { "lib", 0, CLI_TEXT, AT(lib), NULL, "PATH", "libmxnet.so, or its directory" },
        { "fallback", 0, CLI_FLAG, AT(fallback), NULL, NULL,
          "run COMMAND if its Python has no libmxnet.so" }),
    CLI_EXAMPLES(
        { "ydl run -n 2 -s 2 --framework mxnet --native yes "
          "-- python train.py --kv-store dist_sync",
          "run scheduler and servers natively; the script does one of the two above" },
        { "ydl-native mxnet --lib /opt/mxnet/libmxnet.so",
          "start a server by hand; its role is in DMLC_ROLE" }),
    CLI_SECTIONS(
      { "OPTIMIZERS",
        "A server updates the weights itself if it is sent an optimizer as text:\n\n"
        "  kv._send_command_to_servers(0, \"sgd lr=0.1 momentum=0.9 rescale_grad=0.01\")\n\n"
        "sgd\tlr (0.01), momentum (0)\n"
        "adam\tlr (0.001), beta1 (0.9), beta2 (0.999), epsilon (1e-8)\n"
        "both\twd (0), rescale_grad (1), clip_gradient (none)\n\n"
        "One worker sends it before the first push; the others wait at a barrier. Sending it again "
        "changes the numbers. From other languages, call MXKVStoreSendCommmandToServers(store, 0, "
        "text).\n\n"
        "Python's set_optimizer() sends a pickle. That is refused: the server ends and says "
        "why.\n\n"
        "Without an optimizer, a server adds up what the workers push, and the workers update "
        "their weights themselves: update_on_kvstore=False, for dist_sync only. MXNet 1.9.1 has a "
        "bug there, also with Python servers: a worker that pushes its first gradient before the "
        "first weights have arrived may silently get the sum of the gradients instead of the "
        "weights. To avoid it, wait for the weights in every worker:\n\n"
        "  trainer = gluon.Trainer(…, kvstore=kv, update_on_kvstore=False)\n"
        "  net(first_batch)\n"
        "  trainer._init_kvstore(); trainer._init_params(); mx.nd.waitall()" },
      { "ENVIRONMENT",
        "DMLC_ROLE\tscheduler or server.\n"
        "DMLC_NUM_WORKER, DMLC_NUM_SERVER\tThe number of workers and servers.\n"
        "DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT\tThe numeric address of the scheduler.\n"
        "DMLC_NODE_HOST\tThe numeric address of this machine (default: that of its first "
        "interface).\n"
        "MXNET_LIBRARY_PATH\tlibmxnet.so, or its directory." }),
};
/* clang-format on */
