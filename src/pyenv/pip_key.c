/* pip_key.c - what makes one environment different from another. Contents count and not names: of
 * files of requirements what is in them and in those that they include, of wheels their bytes. What
 * the index has by then does not count, so a word without a version stays what it was when it was
 * made. See pip.h. */
#include "base/auto.h"
#include "base/buf.h"
#include "base/path.h"
#include "base/sha256.h"
#include "pyenv/pip_private.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define FILE_MAX_ (64 * MIB)
#define DEPTH 8 /* files of requirements that name each other */

const char *pip_requirements(const char *word)
{
    struct stat st;

    if (str_starts(word, "-r"))
        word += 2 + strspn(word + 2, " \t=");
    else if (str_starts(word, "--requirement"))
        word += 13 + strspn(word + 13, " \t=");
    else if (!str_ends(word, ".txt") && !str_ends(word, ".in"))
        return NULL;
    return stat(word, &st) == 0 && S_ISREG(st.st_mode) ? word : NULL;
}

static int pip_add(struct sha256 *sum, const void *p, size_t n, struct err *err)
{
    uint64_t length = n; /* so that no two lists look alike */
    int r = sha256_add(sum, &length, sizeof(length), err);

    return r < 0 ? r : sha256_add(sum, p, n, err);
}

static int pip_add_file(struct sha256 *sum, const char *path, int depth, struct err *err);

/* As pip reads a line: a comment begins at a # behind a blank, and blanks at its end do not count.
 */
static void pip_cut_line(char *line)
{
    size_t n;

    line[strcspn(line, "\r")] = '\0';
    for (char *at = line; (at = strchr(at, '#')); at++)
        if (at == line || strchr(" \t", at[-1])) {
            *at = '\0';
            break;
        }
    for (n = strlen(line); n > 0 && strchr(" \t", line[n - 1]); n--)
        line[n - 1] = '\0';
}

/* "-r other.txt" and "-c limits.txt" are relative to the file they stand in. What stands at a URL
 * cannot be known here: it counts by its name. */
static int pip_add_line(struct sha256 *sum, const char *dir, char *line, int depth, struct err *err)
{
    static const char *const options[] = { "-r", "--requirement", "-c", "--constraint" };

    line += strspn(line, " \t");
    pip_cut_line(line);
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        const char *name = line + strlen(options[i]);
        AUTO_FREE char *path = NULL;

        if (!str_starts(line, options[i]))
            continue;
        name += strspn(name, " \t=");
        if (strstr(name, "://"))
            return 0;
        path = path_join(dir, name);
        return path ? pip_add_file(sum, path, depth + 1, err) : err_oom(err);
    }
    return 0;
}

static int add_lines(struct sha256 *sum, const char *path, char *text, int depth, struct err *err)
{
    AUTO_FREE char *dir = path_dir(path);
    int r = dir ? 0 : err_oom(err);

    for (char *line = text, *next; line && r == 0; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        r = pip_add_line(sum, dir, line, depth, err);
    }
    return r;
}

static int pip_add_file(struct sha256 *sum, const char *path, int depth, struct err *err)
{
    AUTO_BUF text = { .max = FILE_MAX_ };
    int r;

    if (depth > DEPTH)
        return err_set(err, -ELOOP, "'%s': requirements files include each other", path);
    r = path_read(path, &text, err);
    if (r == 0)
        r = pip_add(sum, text.data ? text.data : (uint8_t *)"", text.len, err);
    if (r < 0 || str_ends(path, ".whl"))
        return r;
    return buf_text(&text) ? add_lines(sum, path, (char *)text.data, depth, err) : err_oom(err);
}

static int pip_add_word(struct sha256 *sum, const char *word, struct err *err)
{
    const char *file = pip_requirements(word);
    struct stat st;
    int r;

    if (file)
        return pip_add_file(sum, file, 0, err);
    if (strchr(word, '/') && stat(word, &st) == 0 && S_ISDIR(st.st_mode)) {
        err_set(err, -EINVAL, "'%s' is a directory: ydl cannot tell when its contents change",
                word);
        err_hint(err, "make a wheel of it with 'pip wheel %s' and name that", word);
        return -EINVAL;
    }
    r = pip_add(sum, word, strlen(word), err);
    return r < 0 || !str_ends(word, ".whl") ? r : pip_add_file(sum, word, 0, err);
}

int pip_key(const struct strs *words, const char *python, char ret[PIP_KEY_TEXT], struct err *err)
{
    AUTO_SHA256 *sum = NULL;
    char text[SHA256_TEXT];
    int r = sha256_new(&sum, err);

    if (r == 0)
        r = pip_add(sum, "ydl pip 1", 9, err);
    if (r == 0)
        r = pip_add(sum, python, strlen(python), err);
    for (size_t i = 0; i < words->n && r == 0; i++)
        r = pip_add_word(sum, words->v[i], err);
    if (r == 0)
        r = sha256_end(sum, text, err);
    if (r == 0)
        (void)snprintf(ret, PIP_KEY_TEXT, "%.*s", PIP_KEY_TEXT - 1, text); /* half is enough */
    return r;
}
