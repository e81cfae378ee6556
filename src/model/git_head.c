/* git_head.c - see git_head.h
 *
 *     .git/HEAD ── "ref: refs/heads/main" ──► refs/heads/main, or its line in packed-refs
 *       └─ a commit's number                  (of a linked work tree: in its common directory)
 */
#include "model/git_head.h"
#include "base/path.h"
#include "base/str.h"

#include <ctype.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MOST (8 * MIB) /* packed-refs has a line for each branch and tag */

/* A file's text without the white space at its end; NULL: not there. */
static char *git_read(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);
    AUTO_BUF text = { .max = FILE_MOST };
    struct stat st;

    if (!path || stat(path, &st) < 0 || !S_ISREG(st.st_mode) || path_read(path, &text, NULL) < 0)
        return NULL;
    while (text.len > 0 && isspace(text.data[text.len - 1]))
        text.len--;
    return buf_text(&text) ? strdup((const char *)text.data) : NULL;
}

static bool git_is_commit(const char *s)
{
    size_t n = s ? strlen(s) : 0;

    return (n == 40 || n == 64) && strspn(s, "0123456789abcdef") == n;
}

/* "…/.git", or what a file of that name says; NULL: there is none. */
static char *git_dir_in(const char *dir)
{
    AUTO_FREE char *git = path_join(dir, ".git");
    AUTO_FREE char *says = NULL;
    struct stat st;

    if (!git || lstat(git, &st) < 0)
        return NULL;
    if (S_ISDIR(st.st_mode))
        return take(git);
    says = S_ISREG(st.st_mode) ? git_read(dir, ".git") : NULL;
    return says && str_starts(says, "gitdir: ") ? path_join(dir, says + 8) : NULL;
}

static char *git_dir_above(const char *path)
{
    AUTO_FREE char *at = realpath(path, NULL);

    while (at) {
        char *found = git_dir_in(at), *up;

        if (found || str_eq(at, "/"))
            return found;
        up = path_dir(at);
        free(at);
        at = up;
    }
    return NULL;
}

static char *git_packed(const char *dir, const char *ref)
{
    AUTO_FREE char *text = git_read(dir, "packed-refs");
    size_t n = strlen(ref);

    for (char *line = text; line && *line;) {
        char *end = strchrnul(line, '\n'), *space = memchr(line, ' ', (size_t)(end - line));

        if (space && (size_t)(end - space - 1) == n && memcmp(space + 1, ref, n) == 0)
            return strndup(line, (size_t)(space - line));
        line = *end ? end + 1 : end;
    }
    return NULL;
}

/* A reference is a path below the directory, and of its own making: no way out of it. */
static bool git_ref_ok(const char *ref)
{
    return str_starts(ref, "refs/") && !strstr(ref, "..") && strlen(ref) < 1024;
}

int git_head(const char *path, char **ret, struct err *err)
{
    AUTO_FREE char *dir = git_dir_above(path);
    AUTO_FREE char *head = dir ? git_read(dir, "HEAD") : NULL;
    AUTO_FREE char *common = dir ? git_read(dir, "commondir") : NULL;
    AUTO_FREE char *shared = NULL;

    *ret = NULL;
    if (!head)
        return 0;
    shared = common ? path_join(dir, common) : strdup(dir);
    if (!shared)
        return err_oom(err);
    if (str_starts(head, "ref: ") && git_ref_ok(head + 5)) {
        char *commit = git_read(shared, head + 5);

        if (!commit)
            commit = git_packed(shared, head + 5);
        free(head);
        head = commit;
    }
    *ret = git_is_commit(head) ? take(head) : NULL;
    return 0;
}
