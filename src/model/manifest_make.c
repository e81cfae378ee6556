/* manifest_make.c - writes a manifest. See manifest.h. */
#include "base/str.h"
#include "model/manifest.h"

#include <string.h>

int manifest_tree(const struct manifest_file *files, size_t n, char ret[SHA256_TEXT],
                  struct err *err)
{
    AUTO_SHA256 *s = NULL;
    int r = sha256_new(&s, err);

    for (size_t i = 0; i < n && r == 0; i++) {
        r = sha256_add(s, files[i].sha256, SHA256_TEXT - 1, err);
        if (r == 0)
            r = sha256_add(s, "  ", 2, err);
        if (r == 0)
            r = sha256_add(s, files[i].path, strlen(files[i].path), err);
        if (r == 0)
            r = sha256_add(s, "\n", 1, err);
    }
    return r < 0 ? r : sha256_end(s, ret, err);
}

static json_t *manifest_make_file(const struct manifest_file *f)
{
    json_t *v = NULL;

    (void)json_make(&v, NULL, "{s:s, s:I, s:s}", "path", f->path, "size", (json_int_t)f->size,
                    "sha256", f->sha256);
    if (v && f->executable && json_object_set_new(v, "executable", json_true()) < 0)
        json_decref(take(v));
    return v;
}

static json_t *manifest_make_files(const struct manifest_facts *f, uint64_t *ret_bytes)
{
    AUTO_JSON *list = json_array();

    *ret_bytes = 0;
    for (size_t i = 0; list && i < f->n; i++) {
        *ret_bytes += f->files[i].size;
        if (json_array_append_new(list, manifest_make_file(&f->files[i])) < 0)
            return NULL;
    }
    return take(list);
}

static json_t *manifest_copy(const json_t *v, bool object)
{
    return v ? json_deep_copy(v) : object ? json_object() : json_null();
}

int manifest_text(const struct manifest_facts *f, char **ret, struct err *err)
{
    char tree[SHA256_TEXT];
    uint64_t bytes;
    json_t *files = manifest_make_files(f, &bytes);
    AUTO_JSON *doc = NULL;
    AUTO_FREE char *text = NULL;
    int r = manifest_tree(f->files, f->n, tree, err);

    if (r < 0) {
        json_decref(files);
        return r;
    }
    r = json_make(
        &doc, err,
        "{s:i, s:s, s:s, s:I, s:s, s:s, s:o, s:o, s:o, s:I, s:s, s:I, s:o, s:o, s:o, s:o}",
        "manifest", 1, "id", f->id, "name", f->name, "version", (json_int_t)f->version, "format",
        f->format, "entry", f->entry, "framework", manifest_copy(f->framework, true), "signatures",
        manifest_copy(f->signatures, false), "files", files, "bytes", (json_int_t)bytes,
        "tree_sha256", tree, "created_ms", (json_int_t)f->created_ms, "created_by",
        json_text(f->created_by), "job", json_text(f->job), "git", json_text(f->git), "tags",
        manifest_copy(f->tags, true));
    if (r == 0 && f->output && json_object_set_new(doc, "output", json_true()) < 0)
        r = err_oom(err);
    if (r < 0)
        return r;
    text = json_dumps(doc, JSON_INDENT(2));
    if (text && strlen(text) >= MANIFEST_MOST)
        return err_set(err, -E2BIG,
                       "its manifest would be larger than %d MB: it has too many files, or their "
                       "paths are too long",
                       (int)(MANIFEST_MOST / MIB));
    *ret = text ? str_printf("%s\n", text) : NULL;
    return *ret ? 0 : err_oom(err);
}
