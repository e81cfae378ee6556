/* uploads_words.c - which words of a command may name files.
 *
 *     python train.py --data=in/x        train.py, --data=in/x and in/x may be files
 *     sh -c "cd a && ./run.sh <b"        the text is cut into words: cd, a, ./run.sh, b
 *
 * What is none is found out later, by looking (uploads_found.c). See uploads_private.h. */
#include "base/path.h"
#include "base/str.h"
#include "uploads/uploads_private.h"

#include <string.h>

static bool is_shell(const char *word)
{
    static const char *const shells[] = { "sh", "bash", "dash", "zsh", "ksh" };

    for (size_t i = 0; i < COUNT_OF(shells); i++)
        if (str_eq(str_behind(word, '/'), shells[i]))
            return true;
    return false;
}

/* "-c", "-ec", "-lc": the next word is shell text. */
static bool is_text_option(const char *word)
{
    size_t n = strlen(word);

    return n >= 2 && word[0] == '-' && word[1] != '-' && word[n - 1] == 'c';
}

static int uploads_add_word(struct strs *ret, const char *word)
{
    const char *value = strchr(word, '=');
    int r = *word ? strs_add(ret, word) : 0;

    return r < 0 || !value || !value[1] ? r : strs_add(ret, value + 1);
}

/* The words between blanks, quotes and operators of shell text. */
static int uploads_add_text(struct strs *ret, const char *text)
{
    AUTO_STRS words = { 0 };
    int r = strs_split(&words, text, " \t\n;&|()<>{}\"'`$");

    for (size_t i = 0; r == 0 && i < words.n; i++)
        r = uploads_add_word(ret, words.v[i]);
    return r;
}

int uploads_words(const struct strs *command, struct strs *ret)
{
    bool shell = command->n > 0 && is_shell(command->v[0]);
    int r = 0;

    for (size_t i = 0; r == 0 && i < command->n; i++) {
        bool text = shell && i > 0 && is_text_option(command->v[i - 1]);

        r = text ? uploads_add_text(ret, command->v[i]) : uploads_add_word(ret, command->v[i]);
    }
    return r;
}

bool uploads_runs_module(const struct strs *command)
{
    for (size_t i = 1; i + 1 < command->n; i++) {
        const char *word = command->v[i];

        if (str_eq(word, "-m") || str_eq(word, "--module"))
            return true;
        if (*word != '-' && !str_starts(str_behind(word, '/'), "python"))
            return false; /* what follows is the program's own */
    }
    return false;
}

int uploads_tidy(const char *word, char **ret)
{
    AUTO_BUF out = { .max = 64 * KIB };
    const char *text;

    *ret = NULL;
    if (*word == '/' || *word == '~' || strstr(word, "://") || strlen(word) > 4096)
        return 0;
    for (const char *p = word; *p;) {
        size_t n = strcspn(p, "/");

        if (n == 2 && strncmp(p, "..", 2) == 0) {
            if (out.len == 0)
                return 0; /* it leaves the directory */
            while (out.len > 0 && out.data[out.len - 1] != '/')
                out.len--;
            out.len -= out.len > 0;
        } else if (n > 0 && !(n == 1 && *p == '.')) {
            if ((out.len && buf_add_u8(&out, '/') < 0) || buf_add(&out, p, n) < 0)
                return -ENOMEM;
        }
        p += n + (p[n] == '/');
    }
    if (out.len == 0)
        return 0;
    text = buf_text(&out);
    *ret = text ? strdup(text) : NULL;
    return *ret ? 0 : -ENOMEM;
}
