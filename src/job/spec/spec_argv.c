/* spec_argv.c - a command line into words, as a shell does it; see spec_words() in spec.h.
 *
 * Quotes and backslashes mean what they mean to a POSIX shell. Nothing is expanded: a dollar sign
 * is a dollar sign. Operators that only a shell can carry out are refused rather than handed to
 * the program as arguments, which is never what was meant. */
#include "job/spec/spec.h"

#include <string.h>

#define BLANKS " \t\n\r"
#define OPERATORS "|&;<>"

struct splitter {
    const char *p;
    struct buf word;
    bool some; /* there is a word, perhaps an empty one in quotes */
    struct err *err;
};

static int open_quote(struct splitter *s, char quote)
{
    return err_set(s->err, -EINVAL, "a %s quote is not closed", quote == '"' ? "double" : "single");
}

/* After the opening quote; leaves `p` after the closing one. */
static int spec_argv_quoted(struct splitter *s, char quote)
{
    for (; *s->p != quote; s->p++) {
        if (*s->p == '\0')
            return open_quote(s, quote);
        if (quote == '"' && *s->p == '\\') {
            if (s->p[1] == '\n') { /* a line that goes on */
                s->p++;
                continue;
            }
            s->p += s->p[1] && strchr("\"\\$`", s->p[1]);
        }
        if (buf_add(&s->word, s->p, 1) < 0)
            return err_oom(s->err);
    }
    s->p++;
    return 0;
}

/* One word into s->word; `p` is at its first character. */
static int one_word(struct splitter *s)
{
    char c;
    int r = 0;

    while (r == 0 && (c = *s->p) && !strchr(BLANKS, c)) {
        if (strchr(OPERATORS, c))
            return err_set(s->err, -EINVAL, "'%c' needs a shell: quote it, or write sh -c '…'", c);
        s->p++;
        if (c == '\'' || c == '"') {
            s->some = true;
            r = spec_argv_quoted(s, c);
            continue;
        }
        if (c == '\\') {
            c = *s->p;
            if (c == '\0')
                return err_set(s->err, -EINVAL, "nothing follows the last backslash");
            s->p++;
            if (c == '\n')
                continue;
        }
        s->some = true;
        if (buf_add(&s->word, &c, 1) < 0)
            return err_oom(s->err);
    }
    return r;
}

static int all_words(struct splitter *s, struct strs *ret)
{
    int r;

    while (*(s->p += strspn(s->p, BLANKS))) {
        buf_reset(&s->word);
        s->some = false;
        r = one_word(s);
        if (r < 0)
            return r;
        if (s->some &&
            strs_addn(ret, s->word.len ? (const char *)s->word.data : "", s->word.len) < 0)
            return err_oom(s->err);
    }
    return 0;
}

int spec_words(const char *text, struct strs *ret, struct err *err)
{
    struct splitter s = { .p = text, .word = { .max = SPEC_FILE_MAX }, .err = err };
    int r = all_words(&s, ret);

    buf_done(&s.word);
    return r;
}
