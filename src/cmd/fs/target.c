/* target.c - where a copied or moved file ends up, by the rules of cp and mv, and the temporary
 * name that it has until it is complete.
 *
 * An existing directory takes the source's name below it; anything else is the target itself. "."
 * and ".." have no name to give, so their content is copied. A temporary name lies in the same
 * directory as the target, where a rename is one step, and is cut so that with its random digits it
 * is no longer than a file system takes. */
#include "cmd/fs/target.h"
#include "base/path.h"

#include <string.h>
#include <sys/random.h>

#define NAME_MOST 255 /* bytes of one part of a path, on HDFS and on most disks */
#define NOISE_DIGITS 16

static int target_look(struct fs *fs, const char *path, bool *ret_exists, bool *ret_directory,
                       struct err *err)
{
    AUTO_FS_ENTRY e = { 0 };
    int r = fs_exists(fs, path, &e, err);

    *ret_exists = r > 0;
    *ret_directory = r > 0 && e.type == FS_DIRECTORY;
    return r < 0 ? r : 0;
}

int target_find(struct files *f, const char *operand, enum fs_default where, bool several,
                struct target *ret, struct err *err)
{
    int r;

    *ret = (struct target){ .operand = operand };
    r = files_find(f, operand, where, &ret->fs, &ret->path, err);
    if (r == 0)
        r = target_look(ret->fs, ret->path, &ret->exists, &ret->directory, err);
    if (r < 0)
        return r;
    if (ret->directory || (!several && !str_ends(operand, "/")))
        return 0;
    if (ret->exists)
        return err_set(err, -ENOTDIR, "'%s' is not a directory", operand);
    err_set(err, -ENOENT, "the directory '%s' does not exist", operand);
    err_hint(err, "make it first: ydl fs mkdir -p");
    return -ENOENT;
}

void target_done(struct target *t)
{
    free(take(t->path));
}

int target_place(const struct target *t, const char *name, struct place *ret, struct err *err)
{
    *ret = (struct place){ .exists = t->exists, .directory = t->directory };
    ret->path = t->directory && *name ? path_join(t->path, name) : strdup(t->path);
    if (!ret->path)
        return err_oom(err);
    if (t->directory && *name)
        return target_look(t->fs, ret->path, &ret->exists, &ret->directory, err);
    return 0;
}

const char *target_name(const char *operand, const char *entry_name)
{
    size_t n = strlen(operand), at;

    while (n > 0 && operand[n - 1] == '/')
        n--;
    for (at = n; at > 0 && operand[at - 1] != '/' && operand[at - 1] != ':'; at--)
        ;
    if ((n - at == 1 && operand[at] == '.') || (n - at == 2 && strncmp(operand + at, "..", 2) == 0))
        return "";
    return entry_name;
}

/* How many of the first `most` bytes of `s` are whole characters. */
static size_t target_whole(const char *s, size_t most)
{
    size_t n = 0, step;

    while (s[n]) {
        step = str_utf8_len(s + n);
        step = step ? step : 1;
        if (n + step > most)
            break;
        n += step;
    }
    return n;
}

bool target_is_temporary(const char *name)
{
    static const char mark[] = ".ydl-", end[] = ".tmp";
    size_t n = strlen(name), ours = sizeof(mark) - 1 + NOISE_DIGITS + sizeof(end) - 1;
    const char *tail = name + (n > ours ? n - ours : 0);

    return name[0] == '.' && tail > name && str_starts(tail, mark) && str_ends(tail, end) &&
           strspn(tail + sizeof(mark) - 1, "0123456789abcdef") == NOISE_DIGITS;
}

int target_temporary(const char *path, char **ret, struct err *err)
{
    AUTO_FREE char *dir = path_dir(path);
    AUTO_FREE char *base = path_base(path);
    AUTO_FREE char *name = NULL;
    uint64_t noise = 0;

    if (getrandom(&noise, sizeof(noise), 0) != sizeof(noise))
        return err_sys(err, "random bytes");
    if (!dir || !base)
        return err_oom(err);
    /* 26 bytes are ours: two dots, "ydl-", 16 digits, ".tmp". */
    name = str_printf(".%.*s.ydl-%016llx.tmp", (int)target_whole(base, NAME_MOST - 26), base,
                      (unsigned long long)noise);
    *ret = name ? path_join(dir, name) : NULL;
    return *ret ? 0 : err_oom(err);
}
