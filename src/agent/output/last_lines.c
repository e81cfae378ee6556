/* last_lines.c - the last lines of a file, made fit for a terminal: only the last 16 KB are read,
 * however long the file is. Escape sequences are cut out, and of a line that was overwritten with
 * carriage returns only its last state is kept. */
#include "agent/output/last_lines.h"
#include "base/auto.h"
#include "base/str.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define TAIL (16 * KIB) /* bytes that are looked at */

/* The file's last bytes, NUL-terminated; fewer than asked for where it is short. */
static ssize_t read_tail(const char *path, char *out, size_t cap)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    off_t from;
    ssize_t n;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -1;
    from = st.st_size > (off_t)cap - 1 ? st.st_size - (off_t)cap + 1 : 0;
    n = pread(fd, out, cap - 1, from);
    if (n >= 0)
        out[n] = '\0';
    return n;
}

/* What a terminal would show of a line with carriage returns: the part after the last one that has
 * something behind it. */
static const char *drawn(const char *p, const char *end)
{
    const char *start = p;

    for (; p < end; p++)
        if (*p == '\r' && p + 1 < end && p[1] != '\r')
            start = p + 1;
    return start;
}

/* Past an escape sequence (colours, cursor moves) that begins at `p`. */
static const char *skip_escape(const char *p, const char *end)
{
    p++;
    if (p < end && *p == '[')
        for (p++; p < end && (*p < 0x40 || *p > 0x7e); p++)
            ;
    return p < end ? p + 1 : end;
}

static int last_lines_add_line(struct buf *out, const char *p, const char *end)
{
    int r = 0;

    p = drawn(p, end);
    while (p < end && r == 0) {
        size_t n = str_utf8_len(p);

        if (*p == '\033') {
            p = skip_escape(p, end);
            continue;
        }
        if (*p == '\t' || (n > 0 && (unsigned char)*p >= ' ' && *p != 0x7f))
            r = buf_add(out, p, n > 0 ? n : 1);
        else if ((unsigned char)*p >= 0x80)
            r = buf_add_str(out, "\xef\xbf\xbd"); /* U+FFFD */
        p += n > 0 ? n : 1;
    }
    return r == 0 ? buf_add_u8(out, '\n') : r;
}

/* The start of the line that ends before `end`. */
static const char *line_start(const char *text, const char *end)
{
    while (end > text && end[-1] != '\n')
        end--;
    return end;
}

int lines_last(const char *path, unsigned lines, struct buf *out)
{
    AUTO_FREE char *text = malloc(TAIL);
    ssize_t n = text ? read_tail(path, text, TAIL) : 0;
    size_t room = out->max - out->len;
    const char *end, *from;
    int r = 0;

    if (!text)
        return -ENOMEM;
    for (ssize_t i = 0; i < n; i++)
        if (!text[i])
            text[i] = 1; /* not the end; dropped like any control character */
    if (n <= 0 || !lines)
        return 0;
    end = text + n - (text[n - 1] == '\n');
    from = end + 1; /* behind the newline that is there, or should be */
    for (unsigned i = 0; i < lines && from > text; i++) {
        const char *before = line_start(text, from - 1);

        if ((size_t)(end - before) + 1 > room)
            break;
        from = before;
    }
    /* One line that is too long alone: its end. */
    if (from > end && room > 64)
        from = end - text > (ptrdiff_t)room / 4 ? end - room / 4 : text;
    while (from <= end && r == 0) {
        const char *stop = memchr(from, '\n', (size_t)(end - from));

        stop = stop ? stop : end;
        r = last_lines_add_line(out, from, stop);
        from = stop + 1;
    }
    return r == -E2BIG ? 0 : r; /* U+FFFD takes three bytes for one */
}
