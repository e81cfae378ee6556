/* mode.c - permissions as `ls -l` shows them and as chmod takes them, without the umask: files on a
 * cluster have nothing to do with that of this machine.
 *
 * A symbolic mode is kept as steps, each with the classes it touches, and applied to every file
 * anew: X and g=u depend on what the file has now. */
#include "cmd/fs/mode.h"

#include <errno.h>
#include <string.h>

#define ALL 07777U

const char *mode_text(const struct fs_entry *e, char out[MODE_TEXT])
{
    static const char kinds[] = {
        [FS_FILE] = '-', [FS_DIRECTORY] = 'd', [FS_SYMLINK] = 'l', [FS_OTHER] = '?'
    };
    static const char letters[] = "rwxrwxrwx";
    /* Which letter stands in place of x for setuid, setgid and sticky. */
    static const struct {
        uint32_t bit, execute;
        int at;
        char with, without;
    } specials[] = { { 04000, 0100, 3, 's', 'S' },
                     { 02000, 0010, 6, 's', 'S' },
                     { 01000, 0001, 9, 't', 'T' } };
    size_t n = 10;

    out[0] = kinds[e->type];
    for (int i = 0; i < 9; i++)
        out[1 + i] = e->mode & (0400U >> i) ? letters[i] : '-';
    for (size_t i = 0; i < COUNT_OF(specials); i++)
        if (e->mode & specials[i].bit)
            out[specials[i].at] =
                e->mode & specials[i].execute ? specials[i].with : specials[i].without;
    if (e->acl)
        out[n++] = '+';
    out[n] = '\0';
    return out;
}

/* ---- reading ---- */

static int bad_mode(const char *text, struct err *err)
{
    err_set(err, -EINVAL, "'%s' is not a mode", text);
    err_hint(err, "write it in octal (644, 1777) or like u+x,go-w or a=rX");
    return -EINVAL;
}

static int mode_parse_octal(const char *text, struct mode_change *ret, struct err *err)
{
    uint32_t v = 0;

    if (strlen(text) > 5 || text[strspn(text, "01234567")] != '\0')
        return bad_mode(text, err);
    for (const char *p = text; *p; p++)
        v = v << 3 | (uint32_t)(*p - '0');
    if (v > ALL)
        return bad_mode(text, err);
    ret->steps[0] = (struct mode_step){ .op = '=', .who = ALL, .bits = v };
    ret->n = 1;
    return 0;
}

/* The classes before the operator; all of them when none is named. */
static uint32_t parse_who(const char **at)
{
    uint32_t who = 0;

    for (;; (*at)++) {
        switch (**at) {
        case 'u':
            who |= 04700;
            break;
        case 'g':
            who |= 02070;
            break;
        case 'o':
            who |= 01007;
            break;
        case 'a':
            who |= ALL;
            break;
        default:
            return who ? who : ALL;
        }
    }
}

static uint32_t letter_bits(char letter)
{
    static const struct {
        char letter;
        uint32_t bits;
    } rows[] = { { 'r', 0444 }, { 'w', 0222 }, { 'x', 0111 }, { 's', 06000 }, { 't', 01000 } };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].letter == letter)
            return rows[i].bits;
    return 0;
}

/* What follows the operator: letters of rwxXst, or one class whose bits are taken. */
static void parse_what(const char **at, struct mode_step *s)
{
    if (**at && strchr("ugo", **at)) {
        s->copy = *(*at)++;
        return;
    }
    for (; **at == 'X' || (**at && letter_bits(**at)); (*at)++) {
        if (**at == 'X')
            s->conditional = true;
        else
            s->bits |= letter_bits(**at) & s->who;
    }
}

static int mode_parse_clause(const char **at, struct mode_change *ret)
{
    uint32_t who = parse_who(at);

    if (!**at || !strchr("+-=", **at))
        return -EINVAL;
    while (**at && strchr("+-=", **at)) {
        struct mode_step s = { .op = *(*at)++, .who = who };

        if (ret->n == MODE_STEPS)
            return -EINVAL;
        parse_what(at, &s);
        ret->steps[ret->n++] = s;
    }
    return 0;
}

int mode_parse(const char *text, struct mode_change *ret, struct err *err)
{
    const char *at = text;

    *ret = (struct mode_change){ 0 };
    if (*text >= '0' && *text <= '9')
        return mode_parse_octal(text, ret, err);
    do {
        if (mode_parse_clause(&at, ret) < 0)
            return bad_mode(text, err);
    } while (*at == ',' && *++at != '\0');
    return *at || at[-1] == ',' ? bad_mode(text, err) : 0;
}

/* ---- applying ---- */

/* The three bits of a class, given to every class. */
static uint32_t copied(uint32_t mode, char from)
{
    uint32_t three = (from == 'u' ? mode >> 6 : from == 'g' ? mode >> 3 : mode) & 7;

    return three << 6 | three << 3 | three;
}

uint32_t mode_apply(const struct mode_change *c, uint32_t mode, bool directory)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct mode_step *s = &c->steps[i];
        uint32_t bits = s->copy ? copied(mode, s->copy) & s->who & 0777 : s->bits;

        if (s->conditional && (directory || mode & 0111))
            bits |= 0111 & s->who;
        if (s->op == '+')
            mode |= bits;
        else if (s->op == '-')
            mode &= ~bits;
        else
            mode = (mode & ~s->who) | bits;
    }
    return mode & ALL;
}
