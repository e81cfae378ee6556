/* cli_text.c - what the printers of the command tables share: prose in pieces, a walk over all
 * verbs. See cli_private.h. */
#include "cli/cli_private.h"

#include <string.h>

/* Does a line at `p` of `n` bytes go on with the piece that began before it? */
static bool goes_on(const char *p, size_t n)
{
    return n > 0 && !str_starts(p, "  ") && !memchr(p, '\t', n);
}

static size_t line_len(const char *p)
{
    return strcspn(p, "\n");
}

bool cli_block(const char **at, struct cli_block *ret)
{
    const char *p = *at + strspn(*at, "\n"), *tab;
    size_t n = line_len(p);

    if (*p == '\0')
        return false;
    *ret = (struct cli_block){ .kind = CLI_PARAGRAPH, .text = p };
    if (str_starts(p, "  ")) {
        ret->kind = CLI_LITERAL;
        ret->text = p + 2;
        ret->len = n - 2;
        *at = p + n;
        return true;
    }
    tab = memchr(p, '\t', n);
    if (tab) {
        ret->kind = CLI_ENTRY;
        ret->term = p;
        ret->term_len = (size_t)(tab - p);
        ret->text = tab + 1;
    }
    for (p += n; *p == '\n' && goes_on(p + 1, line_len(p + 1)); p += 1 + n)
        n = line_len(p + 1);
    ret->len = (size_t)(p - ret->text);
    *at = p;
    return true;
}

static void cli_text_walk(struct cli *c, void (*fn)(FILE *out, const struct cli *c), FILE *out)
{
    const struct cli_verb *parent = c->verb;

    for (const struct cli_verb *const *v = cli_next(c); *v && c->depth < CLI_DEPTH; v++) {
        if ((*v)->hidden)
            continue;
        c->path[c->depth++] = c->verb = *v;
        fn(out, c);
        cli_text_walk(c, fn, out);
        c->depth--;
        c->verb = parent;
    }
}

void cli_walk(const struct cli_program *p, void (*fn)(FILE *out, const struct cli *c), FILE *out)
{
    struct cli c = { .program = p, .verb = p->self };

    fn(out, &c);
    cli_text_walk(&c, fn, out);
}
