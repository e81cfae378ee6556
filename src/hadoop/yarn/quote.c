/* quote.c - a word is put in single quotes for the inner shell, then escaped for the outer one's
 * double quotes; where two characters would form a NodeManager's marker, an empty pair of quotes
 * breaks it. See quote.h. */
#include "hadoop/yarn/quote.h"

#include <string.h>

/* What a shell reads inside double quotes, except for the quotes themselves. */
static bool is_live(char c)
{
    return c == '\\' || c == '$' || c == '`' || c == '"';
}

/* Nothing any shell or marker cares about: such words stay readable. */
static bool quote_is_plain(const char *word)
{
    return *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "0123456789_./:=@%+,-")];
}

/* A marker begins at `p`, or could: it is broken by an empty pair of quotes after this character.
 */
static bool opens_marker(const char *p)
{
    return *p == '<' || (*p == '{' && p[1] == '{') || (*p == '}' && p[1] == '}');
}

static int add_char(struct buf *out, char c)
{
    int r = is_live(c) ? buf_add_u8(out, '\\') : 0;

    return r < 0 ? r : buf_add_u8(out, (uint8_t)c);
}

/* Between single quotes for the inner shell; what the outer one would read is escaped as well. */
int quote_word(struct buf *out, const char *word)
{
    int r;

    if (quote_is_plain(word))
        return buf_add_str(out, word);
    r = buf_add_u8(out, '\'');
    for (const char *p = word; *p && r >= 0; p++) {
        if (*p == '\'')
            r = buf_add_str(out, "'\\\\''"); /* '\'' once the outer shell is done with it */
        else
            r = add_char(out, *p);
        if (r >= 0 && opens_marker(p))
            r = buf_add_str(out, "''");
    }
    return r < 0 ? r : buf_add_u8(out, '\'');
}

int quote_script(struct buf *out, const char *script)
{
    int r = 0;

    for (const char *p = script; *p && r >= 0; p++)
        r = add_char(out, *p);
    return r;
}

int quote_value(struct buf *out, const char *value)
{
    int r = 0;

    for (const char *p = value; *p && r >= 0; p++) {
        r = add_char(out, *p);
        if (r >= 0 && opens_marker(p))
            r = buf_add_str(out, "\"\"");
    }
    return r;
}

/* Only what would end the quotes: $ and ` are the caller's wish here, and so is a backslash. */
int quote_live_value(struct buf *out, const char *value)
{
    int r = 0;

    for (const char *p = value; *p && r >= 0; p++) {
        if (*p == '"')
            r = buf_add_u8(out, '\\');
        if (r >= 0)
            r = buf_add_u8(out, (uint8_t)*p);
    }
    return r;
}
