/* sanitize.c - walks the bytes: UTF-8 and colours pass, any other control sequence is dropped,
 * and text before a carriage return is what the terminal would have overwritten. See sanitize.h. */
#include "terminal/sanitize.h"
#include "base/str.h"

#include <string.h>

#define ESC '\033'
#define SEQUENCE_MAX 64 /* bytes of a control sequence; a longer one is not treated as one */
#define RESET "\033[0m"

const char *sanitize_segment(const char *p, size_t *n)
{
    const char *cr;

    while (*n > 0 && p[*n - 1] == '\r')
        (*n)--;
    cr = *n > 0 ? memrchr(p, '\r', *n) : NULL;
    if (!cr)
        return p;
    *n -= (size_t)(cr + 1 - p);
    return cr + 1;
}

/* Bytes of the control sequence ESC [ parameters final at `p`; 0 when it is not one. */
static size_t sequence_len(const char *p, size_t n)
{
    size_t most = n < SEQUENCE_MAX ? n : SEQUENCE_MAX;

    if (n < 3 || p[0] != ESC || p[1] != '[')
        return 0;
    for (size_t i = 2; i < most; i++) {
        unsigned char c = (unsigned char)p[i];

        if (c >= 0x40 && c <= 0x7e)
            return i + 1;
        if (c < 0x20 || c > 0x3f)
            return 0;
    }
    return 0;
}

/* Only numbers: a private parameter (ESC [ > … m) is no colour. */
static bool is_colour(const char *p, size_t n)
{
    if (p[n - 1] != 'm')
        return false;
    for (size_t i = 2; i < n - 1; i++)
        if (!strchr("0123456789;:", p[i]))
            return false;
    return true;
}

/* Bytes of the character at `p` that a terminal may see as it is; 0: none. */
static size_t plain_len(const char *p, size_t n)
{
    char one[5] = { 0 }; /* str_utf8_len() needs an end that it cannot run over */
    unsigned char c = (unsigned char)*p;

    if (c == '\t' || (c >= 0x20 && c < 0x7f))
        return 1;
    if (c < 0x80)
        return 0;
    memcpy(one, p, n < 4 ? n : 4);
    return str_utf8_len(one);
}

/* Whatever a task prints must not move the cursor, change the title or answer for the user. Colours
 * may stay; a line that set one is closed by a reset, so that it does not colour the next task's
 * line. */
int sanitize_line(struct buf *out, const char *p, size_t n)
{
    bool coloured = false;
    int r = 0;

    while (r == 0 && n > 0) {
        size_t len = 0, k;

        while (len < n && (k = plain_len(p + len, n - len)) > 0)
            len += k;
        if (len > 0) {
            r = buf_add(out, p, len);
        } else if (*p == '\b') {
            len = 1;
        } else if ((len = sequence_len(p, n)) > 0) {
            bool colour = is_colour(p, len);

            coloured = coloured || colour;
            r = colour ? buf_add(out, p, len) : 0;
        } else {
            len = 1;
            r = buf_printf(out, "\\x%02x", (unsigned char)*p);
        }
        p += len;
        n -= len;
    }
    return r == 0 && coloured ? buf_add_str(out, RESET) : r;
}

/* How many bytes at the end are the beginning of a character that goes on in the next piece:
 *
 *     0xxxxxxx    ASCII: nothing is open
 *     10xxxxxx    inside a character: look further back, at most 3 bytes
 *     110xxxxx, 1110xxxx, 11110xxx    begin one of 2, 3 or 4 bytes */
size_t sanitize_tail(const char *p, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char c = (unsigned char)p[n - back];
        size_t whole = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;

        if (c < 0x80 || c >= 0xf8)
            return 0;
        if (c >= 0xc0)
            return whole > back ? back : 0;
    }
    return 0;
}
