/* manifest.h - MANIFEST.json: what a version is, and every byte of it by hash.
 *
 *     {"manifest": 1, "id": "…", "name": "resnet", "version": 3,
 *      "format": "onnx", "entry": "resnet.onnx", "framework": {"name": "onnx", "opset": 17, …},
 *      "signatures": {"serving_default": {"inputs": […], "outputs": […]}},
 *      "files": [{"path": "model/resnet.onnx", "size": 97800, "sha256": "…"}],
 *      "bytes": 97800, "tree_sha256": "…",
 *      "created_ms": …, "created_by": "ada", "job": null, "git": "…" , "tags": {"team": "vision"}}
 *
 * The tree's hash is that of the lines that `sha256sum` prints for the files, sorted by path. What
 * is parsed may be anybody's: paths stay below the version, nothing is a file and a directory, and
 * `entry` is one of the files below model/, or "". */
#pragma once
#include "base/auto.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sha256.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MANIFEST_MOST (32 * MIB)
#define MANIFEST_FILES 100000

struct manifest_file {
    const char *path; /* "model/…" or "warmup/…"; in the document */
    uint64_t size;
    char sha256[SHA256_TEXT];
    bool executable;
};

struct manifest {
    json_t *doc; /* all of it; what follows is borrowed from it */
    const char *id, *name, *format, *entry, *created_by;
    int64_t version, created_ms;
    uint64_t bytes;
    struct manifest_file *files; /* sorted by path */
    size_t n;
    char tree[SHA256_TEXT];
    char sha256[SHA256_TEXT]; /* of the document's own bytes */
};

/* -EBADMSG with a sentence that begins with `what` when it is damaged, -EPROTONOSUPPORT when a
 * newer ydl made it. `ret` is the caller's: manifest_done(). */
int manifest_parse(const char *what, const void *p, size_t n, struct manifest *ret,
                   struct err *err);
void manifest_done(struct manifest *m);

/* Whether a path may stand in a manifest: below model/ or warmup/, no "." or "..", nothing empty,
 * UTF-8, at most 4096 bytes. */
bool manifest_path_ok(const char *path);

/* What is to be published; all borrowed. */
struct manifest_facts {
    const char *id, *name, *format, *entry, *created_by, *job, *git;
    const json_t *framework, *signatures, *tags; /* may be NULL */
    int64_t version, created_ms;
    const struct manifest_file *files; /* sorted by path */
    size_t n;
    bool output; /* of that job, published when it had succeeded */
};
/* The document as text, with a newline; *ret is the caller's. -E2BIG when nobody could read it. */
int manifest_text(const struct manifest_facts *f, char **ret, struct err *err);

/* The tree's hash. */
int manifest_tree(const struct manifest_file *files, size_t n, char ret[SHA256_TEXT],
                  struct err *err);

#define AUTO_MANIFEST AUTO_DONE(manifest_done) struct manifest
