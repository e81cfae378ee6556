/* pyenv_text.c - texts that know where their environment is, made to find out. See pyenv.h. */
#include "pyenv/pyenv.h"

#include <string.h>

#define EXEC "'''exec' "
/* Python reads the two lines as a text that nobody uses, the shell as a command. */
#define BESIDE "\"$(dirname -- \"$(realpath -- \"$0\")\")/%.*s\""

/* A part of a text. */
struct piece {
    const char *p;
    size_t n;
};

static struct piece pyenv_line_of(const char *p, const char *end)
{
    const char *nl = memchr(p, '\n', (size_t)(end - p));

    return (struct piece){ p, (size_t)((nl ? nl : end) - p) };
}

static struct piece pyenv_after(struct piece line, const char *end)
{
    const char *p = line.p + line.n < end ? line.p + line.n + 1 : end;

    return (struct piece){ p, (size_t)(end - p) };
}

static bool pyenv_begins(struct piece x, const char *with)
{
    size_t n = strlen(with);

    return x.n >= n && memcmp(x.p, with, n) == 0;
}

static struct piece pyenv_skip(struct piece x, size_t n)
{
    return (struct piece){ x.p + n, x.n - n };
}

static struct piece skip_blanks(struct piece x)
{
    while (x.n > 0 && (*x.p == ' ' || *x.p == '\t'))
        x = pyenv_skip(x, 1);
    return x;
}

/* How many bytes "PREFIX/bin/" takes at the beginning; 0 when none of the prefixes is there. */
static size_t own_bin(const struct strs *prefixes, struct piece x)
{
    for (size_t i = 0; i < prefixes->n; i++) {
        size_t n = strlen(prefixes->v[i]);

        if (pyenv_begins(x, prefixes->v[i]) && pyenv_begins(pyenv_skip(x, n), "/bin/"))
            return n + strlen("/bin/");
    }
    return 0;
}

/* The name up to a blank or one of `ends`; empty when it is a path. */
static struct piece name_at(struct piece x, const char *ends)
{
    size_t n = 0;

    while (n < x.n && !strchr(ends, x.p[n]) && x.p[n] != '\r')
        n++;
    return memchr(x.p, '/', n) ? (struct piece){ x.p, 0 } : (struct piece){ x.p, n };
}

static int pyenv_add(struct buf *out, struct piece x)
{
    return buf_add(out, x.p, x.n);
}

/* "#!/PREFIX/bin/NAME ARGS". A script of python's becomes one that finds the interpreter beside
 * itself:
 *
 *     #!/bin/sh
 *     '''exec' "$(dirname -- "$(realpath -- "$0")")/python3" "$0" "$@"
 *     ' '''
 *
 * The shell reads the second line as '' followed by 'exec', which is exec, and never comes to the
 * third. Python reads both as one text between triple quotes, and goes on behind it. pip writes the
 * same two lines when a path is too long for the kernel. */
static int pyenv_first_line(struct piece name, struct piece args, struct buf *out)
{
    int n = (int)name.n, r;

    while (args.n > 0 && strchr(" \t\r", args.p[args.n - 1]))
        args.n--;
    if (!pyenv_begins(name, "python")) { /* found by PATH, which activation sets */
        r = buf_printf(out, "#!/usr/bin/env %s%.*s%s", args.n ? "-S " : "", n, name.p,
                       args.n ? " " : "");
        return r < 0 ? r : pyenv_add(out, args);
    }
    r = buf_printf(out, "#!/bin/sh\n" EXEC BESIDE, n, name.p);
    if (r == 0 && args.n)
        r = buf_add_u8(out, ' ');
    if (r == 0)
        r = pyenv_add(out, args);
    return r < 0 ? r : buf_add_str(out, " \"$0\" \"$@\"\n' '''");
}

/* What pip writes when a path is too long for the kernel, or has blanks in it: the same trick with
 * the path as it was. */
static int second_line(const struct strs *prefixes, struct piece line, struct buf *out)
{
    struct piece x = pyenv_skip(line, strlen(EXEC)), name;
    bool quoted = pyenv_begins(x, "\"");
    size_t n;
    int r;

    x = pyenv_skip(x, quoted);
    n = own_bin(prefixes, x);
    name = n ? name_at(pyenv_skip(x, n), quoted ? "\"" : " \t") : (struct piece){ 0 };
    if (name.n == 0)
        return 0;
    x = pyenv_skip(x, n + name.n);
    x = pyenv_skip(x, quoted && x.n > 0);
    r = buf_printf(out, "#!/bin/sh\n" EXEC BESIDE, (int)name.n, name.p);
    return r < 0 ? r : pyenv_add(out, x) < 0 ? -ENOMEM : 1;
}

int pyenv_script(const struct strs *prefixes, const char *text, size_t n, struct buf *out)
{
    const char *end = text + n;
    struct piece line = pyenv_line_of(text, end), rest = pyenv_after(line, end), x, name;
    int r;

    if (!pyenv_begins(line, "#!"))
        return 0;
    x = skip_blanks(pyenv_skip(line, 2));
    if (pyenv_begins(x, "/bin/sh") && pyenv_begins(rest, EXEC)) {
        line = pyenv_line_of(rest.p, end);
        r = second_line(prefixes, line, out);
    } else {
        size_t bin = own_bin(prefixes, x);

        name = bin ? name_at(pyenv_skip(x, bin), " \t") : (struct piece){ 0 };
        if (name.n == 0)
            return 0;
        r = pyenv_first_line(name, skip_blanks(pyenv_skip(x, bin + name.n)), out) < 0 ? -ENOMEM : 1;
    }
    if (r <= 0)
        return r;
    x = (struct piece){ line.p + line.n, (size_t)(end - line.p) - line.n };
    return pyenv_add(out, x) < 0 ? -ENOMEM : 1;
}

int pyenv_config(const char *text, size_t n, struct buf *out)
{
    const char *end = text + n;
    int changed = 0;

    for (struct piece line, at = { text, n }; at.n > 0; at = pyenv_after(line, end)) {
        struct piece key;

        line = pyenv_line_of(at.p, end);
        key = skip_blanks(line);
        if (pyenv_begins(key, "command") &&
            pyenv_begins(skip_blanks(pyenv_skip(key, strlen("command"))), "=")) {
            changed = 1;
            continue;
        }
        if (pyenv_add(out, line) < 0 || buf_add_u8(out, '\n') < 0)
            return -ENOMEM;
    }
    return changed;
}

/* A RECORD lists each file with a hash and a size. Scripts in bin were changed here, so those two
 * are left empty, which the format allows. */
int pyenv_record(const char *text, size_t n, struct buf *out)
{
    const char *end = text + n;
    int changed = 0;

    for (struct piece line, at = { text, n }; at.n > 0; at = pyenv_after(line, end)) {
        const char *comma;
        int r;

        line = pyenv_line_of(at.p, end);
        comma = memchr(line.p, ',', line.n);
        if (comma && pyenv_begins(line, "../../../bin/")) {
            r = pyenv_add(out, (struct piece){ line.p, (size_t)(comma - line.p) }) < 0
                    ? -ENOMEM
                    : buf_add_str(out, ",,\n");
            changed = 1;
        } else {
            r = pyenv_add(out, line) < 0 ? -ENOMEM : buf_add_u8(out, '\n');
        }
        if (r < 0)
            return -ENOMEM;
    }
    return changed;
}
