/* model_verb.c - `ydl model`: the registry of models. */
#include "cmd/model/model_call.h"
#include "cmd/verbs.h"

static const struct cli_verb *const subs[] = {
    &verb_model_alias, &verb_model_export, &verb_model_import, &verb_model_list,
    &verb_model_prune, &verb_model_pull,   &verb_model_push,   &verb_model_rm,
    &verb_model_show,  &verb_model_tag,    &verb_model_verify, NULL,
};

/* clang-format off */
const struct cli_verb verb_model = {
    .name = "model", .summary = "manage the model registry",
    .text = "Publishes models as numbered versions that never change, in a directory on this "
            "machine or\n"
            "on HDFS.",
    .subs = subs,
    CLI_EXAMPLES({ "ydl model push resnet.onnx resnet", "publish a version" },
                 { "ydl model list resnet", "list its versions" },
                 { "ydl model pull resnet:2 /tmp/resnet", "copy a version out" }),
    CLI_SECTIONS(
      { "MODELS", "A model is named NAME (its newest version), NAME:VERSION or NAME@ALIAS.\n\n"
                  "The format of a model is recognised by content:\n\n"
                  "onnx\tAn ONNX file; with external weights, the directory that holds all files.\n"
                  "tensorflow\tA SavedModel directory.\n"
                  "mxnet\tA directory with NAME-symbol.json and NAME-0000.params.\n"
                  "xgboost\tA model saved as JSON or UBJSON.\n"
                  "lightgbm\tA model saved as text.\n"
                  "python\tA directory with model.py, which defines load(dir) and predict(inputs).\n"
                  "command\tA directory with command.json, which names a program that speaks HTTP." },
      { "FILES",
        "~/.config/ydl/config.yaml, /etc/ydl/config.yaml\tThe key model.registry: the registry's\n"
        "directory, or its hdfs:// name.\n"
        "~/.local/share/ydl/models\tThe default registry ($XDG_DATA_HOME/ydl/models)." },
      { "JSON OUTPUT",
        "push\tname, version, format, bytes, tree_sha256, unchanged, alias.\n"
        "list\tregistry, and models: name, version (the newest), format, bytes, created_ms,\n"
        "created_by, aliases of that version; denied, the models that you may not read; damaged,\n"
        "those whose newest manifest cannot be understood. With NAME: name, versions with the same\n"
        "keys, and damaged versions.\n"
        "show\tThe manifest, with the present aliases and tags.\n"
        "pull\tname, version, format, target, bytes, entry.\n"
        "alias\tname, alias, version, previous; null for none.\n"
        "tag\tname, version, tags.\n"
        "rm\tremoved: name, version.\n"
        "verify\tversions: name, version, ok, and problems: path, problem.\n"
        "prune\tversions: name, version, removed, reason, bytes; staging, what killed uploads left,\n"
        "with the same keys but version; dry_run.\n"
        "import\tname, and versions: version, format, unchanged.\n"
        "export\tname, target, and versions: version, written." }),
};
/* clang-format on */
