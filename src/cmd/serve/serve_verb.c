/* serve_verb.c - `ydl serve`: deployments of models. */
#include "cmd/serve/serve_call.h"
#include "cmd/verbs.h"

static const struct cli_verb *const subs[] = {
    &verb_serve_address,
    &verb_serve_deploy,
    &verb_serve_list,
    &verb_serve_logs,
    &verb_serve_plan,
    &verb_serve_rollback,
    &verb_serve_scale,
    &verb_serve_schema,
    &verb_serve_status,
    &verb_serve_stop,
    &verb_serve_targets,
    &verb_serve_update,
    NULL,
};

/* clang-format off */
const struct cli_verb verb_serve = {
    .name = "serve", .summary = "serve models behind one address", .subs = subs,
    .text = "Starts replicas of a model server and a gateway in front of them. A deployment is a "
            "job: it runs until it is stopped, a replica that dies is restarted, and 'ydl logs', "
            "'ydl events' and 'ydl top' work on it, too.",
    CLI_EXAMPLES({ "ydl serve deploy resnet --replicas 2", "serve the newest version of a model" },
                 { "ydl predict resnet --file cat.json", "ask it" },
                 { "ydl serve status resnet", "show its replicas" },
                 { "ydl serve update resnet --to 2 --canary 10%", "try another version, carefully" },
                 { "ydl serve stop resnet", "end it" }),
    CLI_SECTIONS(
      { "MODELS",
        "A model is named as in 'ydl model': NAME (its newest version), NAME:VERSION or NAME@ALIAS. "
        "All formats of the registry can be served; see ydl-model(1)." },
      { "JSON OUTPUT",
        "address\tname, job, url, urls (of all gateways). With --watch: one such object on each line.\n"
        "deploy\tname, job, url, model, version, replicas, library: path, sha256; and models: each "
        "with model, version, follows, library.\n"
        "plan\tname, host, tls, key_file, registry, and models: model, version, follows, format, bytes, "
        "path, replicas, groups, cpus, memory, batch, batch_delay, device, library.\n"
        "list\tdeployments: name, job, state, url, versions (as mlp:2), replicas, created.\n"
        "status\tname, job, state, url, models (model, version, previous, follows, replicas, update, "
        "last), groups (group, count), tasks, and gateway, what the gateway says of versions and "
        "replicas.\n"
        "update, rollback\tjob, model, from, to, result (done, returned or started), why.\n"
        "scale\tjob, done, model, replicas.\n"
        "logs, stop\tAs of 'ydl logs' and 'ydl stop'." }),
};
/* clang-format on */
