/* model_check.c - hashes the files that a manifest lists: sizes first, because they cost nothing.
 * See model_check.h. */
#include "serve/engine/model_check.h"
#include "base/json.h"
#include "base/path.h"
#include "base/sha256.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define MANIFEST_MAX (32 * MIB) /* as large as one may be in a registry */

/* Every part of it is a name: "model/variables/variables.index". */
static bool is_inside(const char *path)
{
    AUTO_STRS parts = { 0 };
    size_t n = 1;

    for (const char *p = path; *p; p++)
        n += *p == '/';
    if (strs_split(&parts, path, "/") < 0 || parts.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!path_is_name(parts.v[i], strlen(parts.v[i])))
            return false;
    return true;
}

static int check_bytes(const char *path, int64_t size, const char *sha256, struct err *err)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char text[SHA256_TEXT];
    struct stat st;
    int r;

    if (fd < 0 && errno == ENOENT)
        return err_set(err, -EBADMSG, "'%s' is missing", path);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "open '%s'", path);
    if (!S_ISREG(st.st_mode) || st.st_size != size)
        return err_set(err, -EBADMSG,
                       "'%s' is damaged: it has %lld bytes, and %lld in the manifest", path,
                       (long long)st.st_size, (long long)size);
    r = sha256_fd(fd, path, text, err);
    if (r == 0 && strcmp(text, sha256) != 0)
        r = err_set(err, -EBADMSG, "'%s' is damaged: its SHA-256 is not that of the manifest",
                    path);
    return r;
}

static int check_file(const char *dir, const json_t *v, struct err *err)
{
    const char *path = json_string_value(json_object_get(v, "path"));
    const char *sha256 = json_string_value(json_object_get(v, "sha256"));
    int64_t size = json_int_or(v, "size", -1);
    AUTO_FREE char *full = NULL;

    if (!path || !sha256 || size < 0 || !is_inside(path))
        return err_set(err, -EBADMSG, "the manifest in '%s' is damaged: its list of files", dir);
    full = path_join(dir, path);
    return full ? check_bytes(full, size, sha256, err) : err_oom(err);
}

static int check_files(const char *dir, const json_t *files, struct err *err)
{
    const json_t *one;
    size_t i;
    int r = 0;

    json_array_foreach(files, i, one)
    {
        if (r == 0)
            r = check_file(dir, one, err);
    }
    if (r == -EBADMSG)
        err_hint(err, "copy it again; 'ydl model verify NAME:VERSION' checks the registry's own");
    return r;
}

int model_check(const char *dir, struct err *err)
{
    AUTO_FREE char *file = path_join(dir, "MANIFEST.json");
    AUTO_JSON *v = NULL;
    int r;

    if (!file)
        return err_oom(err);
    if (access(file, F_OK) < 0)
        return 0;
    r = json_parse_file(file, MANIFEST_MAX, &v, err);
    return r < 0 ? r : check_files(dir, json_object_get(v, "files"), err);
}
