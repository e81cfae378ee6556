/* cache_verb.c - `ydl cache`: what was sent to the cluster for jobs. */
#include "cmd/cache/cache_stores.h"
#include "cmd/verbs.h"

static const struct cli_verb *const subs[] = { &verb_cache_list, &verb_cache_prune, NULL };

static const struct cli_section sections[] = {
    { "FILES",
      "~/.ydl/cache/HASH/NAME\tOn the cluster, in the user's home directory or where --staging\n"
      "says: a file by the SHA-256 of its content. Its own time never changes, as NodeManagers\n"
      "know their copies by it; the time of the directory HASH is when it was last used.\n"
      "~/.ydl/jobs/APPLICATION/uses\tWhat a living application needs.\n"
      "~/.cache/ydl/hashes\tOn this machine ($XDG_CACHE_HOME/ydl/hashes): hashes of files that\n"
      "were sent before, so that they need not be read again while they have not changed. It can\n"
      "be removed at any time." },
    { "JSON OUTPUT",
      "list\tentries: hash, name, size, used_ms, and users, the applications that live and need\n"
      "it.\n"
      "prune\tremoved, with the same keys; bytes, their sum; jobs, how many directories of ended\n"
      "applications were removed; dry_run." },
    { 0 },
};

const struct cli_verb verb_cache = {
    .name = "cache",
    .summary = "what was sent to the cluster for jobs",
    .text = "Files and archives that jobs need are kept on the cluster by their content, so that\n"
            "the next job that needs them sends nothing.",
    .subs = subs,
    .sections = sections,
};
