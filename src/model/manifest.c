/* manifest.c - reads a manifest that anybody may have written. See manifest.h. */
#include "model/manifest.h"
#include "base/str.h"
#include "model/name.h"

#include <string.h>

#define PATH_MOST 4096
#define VERSION_READ 1

static int manifest_bad(struct err *err, const char *what, const char *why)
{
    return err_set(err, -EBADMSG, "%s: %s", what, why);
}

/* ---- one file ---- */

static bool manifest_utf8(const char *s)
{
    while (*s) {
        size_t n = str_utf8_len(s);

        if (n == 0 || (unsigned char)*s < 0x20 || *s == 0x7f)
            return false;
        s += n;
    }
    return true;
}

bool manifest_path_ok(const char *path)
{
    const char *p = path;

    if ((!str_starts(path, "model/") && !str_starts(path, "warmup/")) || strlen(path) > PATH_MOST ||
        !manifest_utf8(path))
        return false;
    while (p) {
        size_t n = strcspn(p, "/");

        if (n == 0 || n > 255 || (n == 1 && *p == '.') || (n == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p = p[n] ? p + n + 1 : NULL;
    }
    return true;
}

static bool manifest_hex(const char *s, char ret[SHA256_TEXT])
{
    if (!s || strlen(s) != SHA256_TEXT - 1 || strspn(s, "0123456789abcdef") != SHA256_TEXT - 1)
        return false;
    memcpy(ret, s, SHA256_TEXT);
    return true;
}

static const char *manifest_text_of(const json_t *v, const char *key)
{
    const json_t *one = json_object_get(v, key);
    const char *s = json_string_value(one);

    return s && strlen(s) == json_string_length(one) ? s : NULL;
}

static const char *manifest_read_file(const json_t *v, struct manifest_file *ret)
{
    int64_t size = json_int_or(v, "size", -1);

    ret->path = manifest_text_of(v, "path");
    ret->executable = json_is_true(json_object_get(v, "executable"));
    ret->size = (uint64_t)size;
    if (!ret->path || !manifest_path_ok(ret->path))
        return "the path of a file is not allowed";
    if (size < 0)
        return "a file has no size";
    if (!manifest_hex(manifest_text_of(v, "sha256"), ret->sha256))
        return "a file has no SHA-256";
    return NULL;
}

/* ---- all files ---- */

/* A directory sorts right before what is in it if '/' is the smallest of all characters. */
static int manifest_compare_paths(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    if (*a == *b)
        return 0;
    if (!*a || !*b)
        return *a ? 1 : -1;
    if (*a == '/' || *b == '/')
        return *a == '/' ? -1 : 1;
    return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

static int manifest_by_tree(const void *a, const void *b)
{
    return manifest_compare_paths(((const struct manifest_file *)a)->path,
                                  ((const struct manifest_file *)b)->path);
}

static int manifest_by_path(const void *a, const void *b)
{
    return strcmp(((const struct manifest_file *)a)->path, ((const struct manifest_file *)b)->path);
}

/* In the order of the tree a file and what would be inside of it are neighbours.
 *
 * A manifest is anybody's text, and readers make files of it: a path that is a file and a directory
 * at once would make one writer overwrite or follow what another has made. */
static const char *manifest_check_names(struct manifest *m)
{
    const char *why = NULL;

    qsort(m->files, m->n, sizeof(m->files[0]), manifest_by_tree);
    for (size_t i = 1; i < m->n && !why; i++) {
        const char *a = m->files[i - 1].path, *b = m->files[i].path;
        size_t n = strlen(a);

        if (str_eq(a, b))
            why = "a path stands there twice";
        else if (strncmp(a, b, n) == 0 && b[n] == '/')
            why = "a path is both a file and a directory";
    }
    qsort(m->files, m->n, sizeof(m->files[0]), manifest_by_path);
    return why;
}

static const char *manifest_read_files(struct manifest *m)
{
    const json_t *list = json_object_get(m->doc, "files"), *v;
    const char *why = NULL;
    size_t n = json_array_size(list), i;

    if (n == 0)
        return "it names no files";
    if (n > MANIFEST_FILES)
        return "it names too many files";
    m->files = calloc(n, sizeof(*m->files));
    if (!m->files)
        return "out of memory";
    json_array_foreach(list, i, v)
    {
        if (!why)
            why = manifest_read_file(v, &m->files[m->n]);
        if (!why && __builtin_add_overflow(m->bytes, m->files[m->n].size, &m->bytes))
            why = "its files are too large";
        m->n += !why;
    }
    return why ? why : manifest_check_names(m);
}

/* What is loaded is a file of the model: nothing else may be named. */
static bool manifest_has_entry(const struct manifest *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_starts(m->files[i].path, "model/") &&
            str_eq(m->files[i].path + strlen("model/"), m->entry))
            return true;
    return !*m->entry;
}

/* ---- the document ---- */

static const char *manifest_read(struct manifest *m)
{
    const char *why;

    m->id = manifest_text_of(m->doc, "id");
    m->name = manifest_text_of(m->doc, "name");
    m->format = manifest_text_of(m->doc, "format");
    m->entry = manifest_text_of(m->doc, "entry");
    m->created_by = manifest_text_of(m->doc, "created_by");
    m->version = json_int_or(m->doc, "version", 0);
    m->created_ms = json_int_or(m->doc, "created_ms", 0);
    if (!m->name || !model_name_ok(m->name))
        return "it has no valid name";
    if (m->version < 1 || m->version > MODEL_VERSION_MOST)
        return "it has no valid version";
    if (!m->id || !m->format || !m->entry || !m->created_by)
        return "id, format, entry or created_by is missing";
    why = manifest_read_files(m);
    if (why)
        return why;
    if (!manifest_has_entry(m))
        return "its entry is not one of its files";
    if (*m->entry && !json_object_get(m->doc, "framework"))
        return "it does not say which framework the model is for";
    return manifest_hex(manifest_text_of(m->doc, "tree_sha256"), m->tree) ? NULL
                                                                          : "it has no tree_sha256";
}

static int manifest_check_tree(const struct manifest *m, const char *what, struct err *err)
{
    char tree[SHA256_TEXT];
    int r = manifest_tree(m->files, m->n, tree, err);

    if (r == 0 && !str_eq(tree, m->tree))
        r = manifest_bad(err, what, "its files do not match its tree_sha256");
    return r;
}

static int manifest_hash(const void *p, size_t n, char ret[SHA256_TEXT], struct err *err)
{
    AUTO_SHA256 *sha = NULL;
    int r = sha256_new(&sha, err);

    if (r == 0)
        r = sha256_add(sha, p, n, err);
    return r == 0 ? sha256_end(sha, ret, err) : r;
}

/* A manifest is believed in this order: it is JSON, of a kind that we read, its members and paths
 * are valid, and its tree_sha256 is that of the files it lists. Its own SHA-256 is then the name of
 * the version in the caches of nodes (node_cache.h). */
int manifest_parse(const char *what, const void *p, size_t n, struct manifest *ret, struct err *err)
{
    AUTO_MANIFEST m = { 0 };
    const char *why;
    int r = n > 0 ? json_parse(what, p, n, &m.doc, err) : -EINVAL;

    if (r == -EINVAL)
        return manifest_bad(err, what, "it is damaged: no valid JSON");
    if (r < 0)
        return r;
    if (json_int_or(m.doc, "manifest", 0) > VERSION_READ)
        return err_set(err, -EPROTONOSUPPORT, "%s was made by a newer version of ydl", what);
    if (json_int_or(m.doc, "manifest", 0) != VERSION_READ)
        return manifest_bad(err, what, "it is no manifest of a model");
    why = manifest_read(&m);
    if (why)
        return manifest_bad(err, what, why);
    r = manifest_check_tree(&m, what, err);
    if (r == 0)
        r = manifest_hash(p, n, m.sha256, err);
    if (r < 0)
        return r;
    *ret = m;
    m = (struct manifest){ 0 };
    return 0;
}

void manifest_done(struct manifest *m)
{
    json_decref(m->doc);
    free(m->files);
    *m = (struct manifest){ 0 };
}
