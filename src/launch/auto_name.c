/* auto_name.c - named after the script where there is one (train.py gives train), else after the
 * program; shells and interpreters in front are skipped. See auto_name.h. */
#include "launch/auto_name.h"

#include <string.h>

#define NAME_MAX_ 64   /* what spec_check() accepts */
#define SCRIPT_WORDS 4 /* words after these are arguments of the script, not the script */
#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."
#define SHELL_BREAKS " \t\r\n;&|()<>'\"`" /* between the words of `sh -c` */

/* A piece of a word of the command. */
struct name_piece {
    const char *at;
    size_t len;
};

static bool piece_ends(struct name_piece p, const char *suffix)
{
    size_t n = strlen(suffix);

    return p.len > n && memcmp(p.at + p.len - n, suffix, n) == 0;
}

/* The first piece of a word, as a shell would split it, with this ending. */
static bool find_piece(const char *word, const char *suffix, struct name_piece *ret)
{
    while (*word) {
        struct name_piece p = { word, strcspn(word, SHELL_BREAKS) };

        if (piece_ends(p, suffix)) {
            *ret = p;
            return true;
        }
        word += p.len;
        word += strspn(word, SHELL_BREAKS);
    }
    return false;
}

static struct name_piece script_or_program(const struct strs *command)
{
    struct name_piece p = { "job", 3 };

    for (size_t i = 1; i < command->n && i < SCRIPT_WORDS; i++)
        if (find_piece(command->v[i], ".py", &p) || find_piece(command->v[i], ".sh", &p))
            return p;
    if (command->n > 0)
        p = (struct name_piece){ command->v[0], strlen(command->v[0]) };
    return p;
}

/* "train" of "src/train.py". */
static struct name_piece stem(struct name_piece p)
{
    const char *slash = memrchr(p.at, '/', p.len), *dot;

    if (slash && slash + 1 < p.at + p.len)
        p = (struct name_piece){ slash + 1, p.len - (size_t)(slash + 1 - p.at) };
    dot = memrchr(p.at, '.', p.len);
    if (dot > p.at)
        p.len = (size_t)(dot - p.at);
    return p;
}

void auto_name_clean(const char *s, size_t len, char *out, size_t cap)
{
    size_t n = 0;

    for (size_t i = 0; i < len && n + 1 < cap; i++) {
        char c = s[i] && strchr(NAME_CHARS, s[i]) ? s[i] : '-';
        bool mark = c == '-' || c == '.';

        if (mark && (n == 0 || out[n - 1] == '-' || out[n - 1] == '.'))
            continue; /* not first, because options begin with '-'; and '..' is a directory */
        out[n++] = c;
    }
    while (n > 0 && (out[n - 1] == '-' || out[n - 1] == '.'))
        n--;
    out[n] = '\0';
}

char *auto_name(const struct strs *command)
{
    struct name_piece p = stem(script_or_program(command));
    char name[NAME_MAX_ + 1];

    auto_name_clean(p.at, p.len, name, sizeof(name));
    return strdup(*name == '\0' || strcmp(name, "last") == 0 ? "job" : name);
}
