/* layout.h - where everything is in a registry. Pure.
 *
 *     ROOT/NAME/versions/N/MANIFEST.json   a version is published when this file is there
 *                          model/…         the files as they were pushed
 *                          warmup/…        requests to be made before it is called ready
 *                          REMOVED.json    instead of all these: what it was
 *          NAME/aliases/ALIAS/G.json       the alias, by generation: the highest counts
 *          NAME/tags/N/G.json              tags changed after the version was published
 *          NAME/deployments/ID.json        {"versions": [N, …]}: in use, not to be removed
 *          .staging/WRITER                 what is being written, and by whom
 *
 * Directories of a version have mode 0555 and its files 0444; those above have the mode of the
 * directory that they are in, so that ROOT, or one NAME, decides who reads and who publishes. */
#pragma once

#define LAYOUT_STAGING ".staging"
#define LAYOUT_VERSIONS "versions"
#define LAYOUT_ALIASES "aliases"
#define LAYOUT_TAGS "tags"
#define LAYOUT_DEPLOYMENTS "deployments"
#define LAYOUT_MANIFEST "MANIFEST.json"
#define LAYOUT_REMOVED "REMOVED.json"
#define LAYOUT_MODEL "model"
#define LAYOUT_WARMUP "warmup"
