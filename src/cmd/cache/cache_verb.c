/* cache_verb.c - `ydl cache`: what was sent to the cluster for jobs. */
#include "cmd/cache/cache_stores.h"
#include "cmd/verbs.h"

static const struct cli_verb *const subs[] = { &verb_cache_list, &verb_cache_prune, NULL };

/* clang-format off */
const struct cli_verb verb_cache = {
    .name = "cache", .summary = "manage the files uploaded for jobs", .subs = subs,
    .text = "Files and archives uploaded for jobs are kept on the cluster by content, so that "
            "they are uploaded only once.",
    CLI_SECTIONS(
      { "FILES",
        "~/.ydl/cache/HASH/NAME\tOn the cluster, in your home directory or in --staging: a file by "
        "the SHA-256 of its content. Its modification time never changes, because NodeManagers "
        "identify their copies by it; that of the directory HASH is the time of the last use.\n"
        "~/.ydl/jobs/APPLICATION/uses\tThe files that a running application needs.\n"
        "~/.cache/ydl/hashes\tOn this machine ($XDG_CACHE_HOME/ydl/hashes): hashes of files that "
        "were uploaded before, so that unchanged files are not read again. It may be deleted.\n"
        "~/.cache/ydl/models\tOn this machine: versions of models that deployments fetched from "
        "HDFS, by the SHA-256 of their manifests. Beyond model.cache-limit of the configuration "
        "(default: 50 GB), those that are not served are removed, least recently used first." },
      { "JSON OUTPUT",
        "list --models\tmodels: model, version, size, used_ms, in_use, hash, path.\n"
        "list\tentries: hash, name, size, used_ms, and users, the running applications that need "
        "it.\n"
        "prune\tremoved, with the same keys; bytes, their sum; jobs, the number of directories of "
        "ended applications that were removed; dry_run." }),
};
/* clang-format on */
