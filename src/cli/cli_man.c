/* cli_man.c - manual pages in mdoc from the command tables; see cli.h.
 *
 * Text lands in three places with rules of their own: running text, literal displays, and
 * arguments of macros, where a word may be taken for a macro's name. */
#include "base/buf.h"
#include "cli/cli_private.h"

#include <ctype.h>
#include <string.h>

static uint32_t code_point(const char *s, size_t n)
{
    uint32_t c = (unsigned char)*s & (0xffU >> (n + 1));

    for (size_t i = 1; i < n; i++)
        c = c << 6 | ((unsigned char)s[i] & 0x3f);
    return c;
}

/* One character as roff wants it; `hard` for a dash that is typed, not read. Returns its bytes.
 * roff would read a backslash as a command and print a dash as a hyphen, which cannot be copied
 * into a shell. */
static size_t put_char(FILE *out, const char *s, bool hard)
{
    size_t n = str_utf8_len(s);

    if (n > 1)
        fprintf(out, "\\[u%04X]", (unsigned)code_point(s, n));
    else if (*s == '\\')
        fputs("\\e", out);
    else if (*s == '-' && hard)
        fputs("\\-", out);
    else if (*s == '"' && hard)
        fputs("\\(dq", out);
    else
        fputc(*s, out);
    return n ? n : 1;
}

/* Does a sentence end at `s`, which is before a blank? Each one starts on a line of its own. */
static bool ends_sentence(const char *begin, const char *s)
{
    while (s > begin && strchr(")'\"", s[-1]))
        s--;
    return s > begin && strchr(".!?", s[-1]);
}

/* Running text. With `as_sentence` a phrase gets a capital and a full stop. */
static void text(FILE *out, const char *s, size_t n, bool as_sentence)
{
    const char *begin = s, *end = s + n;
    char before = '\n';

    while (s < end) {
        bool first = before == '\n', hard;

        if (*s == ' ' && (first || ends_sentence(begin, s))) {
            fputs(first ? "" : "\n", out);
            before = '\n';
            s++;
            continue;
        }
        if (first && (*s == '.' || *s == '\''))
            fputs("\\&", out);
        /* A dash that begins a word is an option's; inside a word it is a hyphen. */
        hard = *s == '-' && !isalnum((unsigned char)before);
        before = *s;
        if (as_sentence && s == begin && islower((unsigned char)*s))
            fputc(toupper((unsigned char)*s++), out);
        else
            s += put_char(out, s, hard);
    }
    fputs(as_sentence ? ".\n" : "\n", out);
}

static void literal(FILE *out, const char *s, size_t n)
{
    const char *end = s + n;

    if (*s == '.' || *s == '\'')
        fputs("\\&", out);
    while (s < end)
        s += put_char(out, s, *s == '-');
    fputc('\n', out);
}

/* Could roff take this word for a macro? All that can be called are like "Ar" or "Brq". */
static bool like_macro(const char *s)
{
    return isupper((unsigned char)s[0]) && islower((unsigned char)s[1]) && strcspn(s, " ") <= 3;
}

/* An argument of a macro, in quotes when it has blanks. */
static void arg(FILE *out, const char *s, size_t n)
{
    const char *end = s + n;
    bool quoted = memchr(s, ' ', n) != NULL;

    fputs(quoted ? " \"" : " ", out);
    if (like_macro(s) || (n == 1 && ispunct((unsigned char)*s)))
        fputs("\\&", out);
    while (s < end)
        s += put_char(out, s, true);
    if (quoted)
        fputc('"', out);
}

static void cli_man_prose(FILE *out, const char *at)
{
    static const char *const begin[] = { "", ".Bd -literal -offset indent\n",
                                         ".Bl -tag -width Ds\n" };
    static const char *const end[] = { "", ".Ed\n", ".El\n" };
    struct cli_block b;
    int last = -1;

    while (cli_block(&at, &b)) {
        if (last != (int)b.kind) {
            fputs(last >= 0 ? end[last] : "", out);
            fputs(begin[b.kind], out);
        }
        if (b.kind == CLI_PARAGRAPH && last >= 0)
            fputs(".Pp\n", out);
        if (b.kind == CLI_ENTRY) {
            fputs(".It Sy", out);
            arg(out, b.term, b.term_len);
            fputc('\n', out);
        }
        if (b.kind == CLI_LITERAL)
            literal(out, b.text, b.len);
        else
            text(out, b.text, b.len, false);
        last = (int)b.kind;
    }
    fputs(last >= 0 ? end[last] : "", out);
}

/* The names of an option: ".It Fl n , Fl \-workers Ar N". */
static void opt_names(FILE *out, const struct cli_verb *v, const struct cli_opt *o)
{
    struct cli_names names;

    cli_names_at(v, o, &names);
    fputs(".It", out);
    for (size_t i = 0; i < names.n; i++) {
        fputs(i ? " , Fl " : " Fl ", out);
        for (const char *s = names.v[i] + 1; *s;)
            s += put_char(out, s, true);
    }
    if (o->meta) {
        fputs(" Ar", out);
        arg(out, o->meta, strlen(o->meta));
    }
    fputc('\n', out);
}

/* A sentence; nothing without `why`. */
static void cli_man_note(FILE *out, const char *what, const char *why)
{
    AUTO_FREE char *sentence = why ? str_printf("%s%s", what, why) : NULL;

    if (sentence)
        text(out, sentence, strlen(sentence), true);
}

static void man_default(FILE *out, const struct cli_opt *o)
{
    const char *value = cli_default(o);

    if (!value)
        return;
    if (o->fallback) {
        cli_man_note(out, "default: ", value);
        return;
    }
    fputs("The default is\n.Cm", out);
    arg(out, value, strlen(value));
    fputs(" .\n", out);
}

static void man_opt(FILE *out, const struct cli_verb *v, const struct cli_opt *o)
{
    opt_names(out, v, o);
    text(out, o->help, strlen(o->help), true);
    for (const char *const *c = o->choices; c && *c; c++) {
        fprintf(out, "%s.Cm", c == o->choices ? "One of\n" : "");
        arg(out, *c, strlen(*c));
        fputs(c[1] ? " ,\n" : " .\n", out);
    }
    if (o->type == CLI_LIST)
        fputs("May be repeated.\n", out);
    man_default(out, o);
    cli_man_note(out, "It has no effect: ", o->no_effect);
    cli_man_note(out, "It is not supported: ", o->not_supported);
}

/* The options that `v` shows, its own or those of its program that it has not itself, with a
 * heading for each group where there are several; `v` is NULL for those of the program. */
static void opts(FILE *out, const struct cli_verb *v, const struct cli_opt *table)
{
    bool first = !v; /* nothing but a heading is before it */

    for (int g = 0; g < CLI_GROUPS_; g++) {
        bool any = false;

        for (const struct cli_opt *o = table; o->name; o++) {
            if ((int)o->group != g || !cli_shown(v, o) || cli_shadowed(v, o))
                continue;
            if (!any && g != CLI_OPTIONS && g != CLI_ADDED)
                fprintf(out, "%s%s:\n", first ? "" : ".Pp\n", cli_group_names[g]);
            fputs(any ? "" : ".Bl -tag -width Ds\n", out);
            any = true;
            first = false;
            man_opt(out, v, o);
        }
        fputs(any ? ".El\n" : "", out);
    }
}

/* One word of a usage line: "[PATH…]" is optional, capitals are a place-holder. */
static void operand(FILE *out, const char *s, size_t n)
{
    bool optional = n > 2 && s[0] == '[' && s[n - 1] == ']';

    if (optional) {
        s++;
        n -= 2;
    }
    fputs(optional ? ".Op" : "", out);
    fputs(optional ? " " : ".", out);
    fputs(islower((unsigned char)*s) ? "Cm" : "Ar", out);
    arg(out, s, n);
    fputc('\n', out);
}

static void usage(FILE *out, const struct cli *c)
{
    const char *s = c->verb && c->verb->operands ? c->verb->operands : "";

    fputs(".Nm \"", out);
    cli_print_path(out, c);
    fputs("\"\n", out);
    if (!c->verb)
        fputs(".Ar VERB\n", out);
    fputs(".Op Ar OPTION\\[u2026]\n", out);
    if (!c->verb)
        fputs(".Op Ar OPERAND\\[u2026]\n", out);
    while (*s) {
        size_t n = strcspn(s, " ");

        operand(out, s, n);
        s += n + strspn(s + n, " ");
    }
}

/* Every form of the command below a verb, for the synopsis; with `pages`, the description and
 * options of each. `top` is the depth of the verb that the page is of. */
static void leaves(FILE *out, struct cli *c, size_t top, bool pages)
{
    const struct cli_verb *v = c->verb;

    if (!pages && (!v->subs || v->operands))
        usage(out, c);
    if (pages && c->depth > top) {
        fputs(".Ss", out);
        for (size_t i = top; i < c->depth; i++)
            arg(out, c->path[i]->name, strlen(c->path[i]->name));
        fputc('\n', out);
        cli_man_prose(out, v->text ? v->text : v->summary);
        opts(out, v, cli_opts(v));
    }
    for (const struct cli_verb *const *sub = cli_next(c); *sub && c->depth < CLI_DEPTH; sub++) {
        if ((*sub)->hidden)
            continue;
        c->path[c->depth++] = c->verb = *sub;
        leaves(out, c, top, pages);
        c->depth--;
        c->verb = v;
    }
}

static void head(FILE *out, const struct cli_program *p, const char *name, int section,
                 const char *summary)
{
    fprintf(out, ".\\\" Made from the program's own tables.\n.Dd %s\n.Dt ", p->date);
    for (const char *s = name; *s; s++)
        fputc(toupper((unsigned char)*s), out);
    fprintf(out, " %d\n.Os %s %s\n.Sh NAME\n.Nm", section, p->name, p->version);
    arg(out, name, strlen(name));
    fputs("\n.Nd", out);
    arg(out, summary, strlen(summary));
    fputc('\n', out);
}

static void sections(FILE *out, const struct cli_section *s)
{
    for (; s && s->title; s++) {
        fprintf(out, ".Sh %s\n", s->title);
        cli_man_prose(out, s->body);
    }
}

static void examples(FILE *out, const struct cli_example *e)
{
    if (!e || !e->command)
        return;
    fputs(".Sh EXAMPLES\n", out);
    for (const struct cli_example *first = e; e->command; e++) {
        if (e != first)
            fputs(".Pp\n", out);
        text(out, e->what, strlen(e->what), true);
        fputs(".Bd -literal -offset indent\n", out);
        literal(out, e->command, strlen(e->command));
        fputs(".Ed\n", out);
    }
}

/* ".Xr ydl-fs 1" for every verb but `v`, with commas; the program's own page first. */
static void see_also(FILE *out, const struct cli_program *p, const struct cli_verb *v)
{
    bool any = v != NULL;

    fputs(".Sh SEE ALSO\n", out);
    if (v)
        fprintf(out, ".Xr %s 1", p->name);
    for (const struct cli_verb *const *o = p->verbs; *o; o++) {
        if (*o == v || (*o)->hidden)
            continue;
        fprintf(out, "%s.Xr %s-%s 1", any ? " ,\n" : "", p->name, (*o)->name);
        any = true;
    }
    for (const struct cli_page *g = p->pages; g && g->name; g++)
        fprintf(out, "%s.Xr %s %d", any ? " ,\n" : "", g->name, g->section);
    fputc('\n', out);
}

static void verb_list(FILE *out, const struct cli_program *p)
{
    fputs(".Ss Verbs\n.Bl -tag -width Ds\n", out);
    for (const struct cli_verb *const *v = p->verbs; *v; v++) {
        if ((*v)->hidden)
            continue;
        fprintf(out, ".It Xr %s-%s 1\n", p->name, (*v)->name);
        text(out, (*v)->summary, strlen((*v)->summary), true);
    }
    fputs(".El\n", out);
}

void cli_man(FILE *out, const struct cli_program *p, const struct cli_verb *v)
{
    struct cli c = { .program = p, .path = { v }, .depth = v ? 1 : 0, .verb = v };
    AUTO_FREE char *name = str_printf("%s%s%s", p->name, v ? "-" : "", v ? v->name : "");

    if (!name)
        return;
    head(out, p, name, 1, v ? v->summary : p->summary);
    fputs(".Sh SYNOPSIS\n", out);
    if (v)
        leaves(out, &c, 1, false);
    else
        usage(out, &c);
    fputs(".Sh DESCRIPTION\n", out);
    if (v) {
        cli_man_prose(out, v->text ? v->text : v->summary);
        if (!v->subs)
            opts(out, v, cli_opts(v));
        leaves(out, &c, 1, true);
        fprintf(out, ".Ss Options of every verb\nSee\n.Xr %s 1 .\n", p->name);
    } else {
        cli_man_prose(out, p->text ? p->text : p->summary);
        verb_list(out, p);
        fputs(".Ss Options of every verb\n", out);
        opts(out, NULL, cli_globals(p));
        fputs("With\n.Fl \\-help\na verb prints what it does and takes, and does nothing.\n", out);
    }
    sections(out, v ? v->sections : p->sections);
    examples(out, v ? v->examples : p->examples);
    see_also(out, p, v);
}

void cli_man_other(FILE *out, const struct cli_program *p, const struct cli_program *other)
{
    struct cli c = { .program = other, .verb = other->self };

    head(out, p, other->name, 1, other->summary);
    fputs(".Sh SYNOPSIS\n", out);
    leaves(out, &c, 0, false);
    fputs(".Sh DESCRIPTION\n", out);
    cli_man_prose(out, other->text);
    opts(out, other->self, cli_opts(other->self));
    leaves(out, &c, 0, true);
    fprintf(out, ".Ss Options added by %s\n", p->name);
    opts(out, other->self, cli_globals(other));
    opts(out, other->self, cli_help_opt);
    sections(out, other->sections);
    examples(out, other->examples);
    fprintf(out, ".Sh SEE ALSO\n.Xr %s 1\n", p->name);
}

int cli_man_page(FILE *out, const struct cli_program *p, const struct cli_page *page)
{
    AUTO_BUF made = { .max = MIB };

    head(out, p, page->name, page->section, page->summary);
    fputs(".Sh DESCRIPTION\n", out);
    cli_man_prose(out, page->text);
    if (page->make) {
        if (page->make(&made) < 0 || !buf_text(&made))
            return -ENOMEM;
        fprintf(out, ".Sh %s\n", page->made_title);
        cli_man_prose(out, buf_text(&made));
    }
    sections(out, page->sections);
    examples(out, page->examples);
    fprintf(out, ".Sh SEE ALSO\n.Xr %s 1\n", p->name);
    return 0;
}
