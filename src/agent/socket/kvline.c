/* kvline.c - the commands of the key-value protocol as a table: how many words each takes and how
 * its use is explained. One row serves the parser and the error text. */
#include "agent/socket/kvline.h"
#include "base/str.h"

#include <string.h>

/* How many words each has, itself included; `rest`: the last one goes on to the end of the line. */
static const struct {
    const char *name;
    size_t least, most;
    bool rest;
    const char *use;
} commands[] = {
    /* clang-format off */
    { "put",      3, 3,            true,  "put KEY VALUE" },
    { "putnew",   3, 3,            true,  "putnew KEY VALUE" },
    { "get",      2, 2,            false, "get KEY" },
    { "wait",     2, 3,            false, "wait KEY [MS]" },
    { "del",      2, 2,            false, "del KEY" },
    { "list",     1, 2,            false, "list [PREFIX]" },
    { "add",      3, 3,            false, "add KEY NUMBER" },
    { "barrier",  2, 4,            false, "barrier NAME [COUNT [MS]]" },
    { "progress", 2, KVLINE_WORDS, false, "progress STEP [TOTAL] [NAME=NUMBER …]" },
    { "scale",    3, 3,            false, "scale ROLE COUNT" },
    { "note",     2, 2,            true,  "note TEXT" },
    { "leaving",  2, KVLINE_WORDS, false, "leaving ROLE …" },
    { "move",     3, 3,            false, "move TASK ATTEMPT" },
    /* clang-format on */
};

const char kvline_help[] = "put KEY VALUE\nputnew KEY VALUE\nget KEY\nwait KEY [MS]\ndel KEY\n"
                           "list [PREFIX]\nadd KEY NUMBER\nbarrier NAME [COUNT [MS]]\n"
                           "progress STEP [TOTAL] [NAME=NUMBER …]\nscale ROLE COUNT\nnote TEXT\n"
                           "leaving ROLE …\nmove TASK ATTEMPT\nversion\n\n";

/* The next word of at most `most`; the last one allowed may be the rest of the line. */
static bool next_word(const char **at, const char *end, bool rest, struct kvline_word *ret)
{
    const char *stop;

    if (*at > end)
        return false;
    stop = rest ? NULL : memchr(*at, ' ', (size_t)(end - *at));
    stop = stop ? stop : end;
    *ret = (struct kvline_word){ .p = *at, .n = (size_t)(stop - *at) };
    *at = stop + 1;
    return true;
}

int kvline_parse(const char *line, size_t n, struct kvline_word words[KVLINE_WORDS], size_t *ret_n,
                 struct err *err)
{
    const char *at = line, *end = line + n;
    size_t row = 0, count = 0;

    if (!next_word(&at, end, false, &words[count++]) || words[0].n == 0)
        return err_set(err, -EINVAL, "empty request (try: help)");
    while (row < COUNT_OF(commands) && (strlen(commands[row].name) != words[0].n ||
                                        memcmp(commands[row].name, words[0].p, words[0].n) != 0))
        row++;
    if (row == COUNT_OF(commands))
        return err_set(err, -EINVAL, "unknown request (try: help)");
    while (
        count < commands[row].most &&
        next_word(&at, end, commands[row].rest && count + 1 == commands[row].most, &words[count]))
        if (words[count++].n == 0 && !commands[row].rest)
            return err_set(err, -EINVAL, "two spaces in a row, or one at the end: %s",
                           commands[row].use);
    if (count < commands[row].least || at <= end || (count > 1 && words[1].n == 0))
        return err_set(err, -EINVAL, "usage: %s", commands[row].use);
    *ret_n = count;
    return 0;
}

static bool one_line(const struct kvline_word *w)
{
    return !w->n || (!memchr(w->p, '\n', w->n) && !memchr(w->p, '\0', w->n));
}

int kvline_answer(const struct kvline_word *words, size_t n, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < n; i++)
        if (!one_line(&words[i]))
            return buf_add_str(out, "error the value is not one line of text: get it by HTTP\n");
    for (size_t i = 0; i < n && r == 0; i++) {
        if (i > 0)
            r = buf_add_u8(out, ' ');
        if (r == 0 && words[i].n)
            r = buf_add(out, words[i].p, words[i].n);
    }
    return r == 0 ? buf_add_u8(out, '\n') : r;
}
