/* cli_help.c - help for people at a terminal; see cli.h. */
#include "base/buf.h"
#include "cli/cli_private.h"

#include <string.h>
#include <sys/ioctl.h>

#define LABEL_MOST 28 /* a longer label gets a line of its own */

unsigned cli_width(FILE *out)
{
    struct winsize w = { 0 };

    if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &w) < 0 || w.ws_col == 0)
        return 80;
    return w.ws_col < 60 ? 60 : w.ws_col > 100 ? 100 : w.ws_col;
}

/* Columns of `n` bytes of UTF-8: every character but a continuation byte takes one. */
static unsigned columns(const char *s, size_t n)
{
    unsigned c = 0;

    for (size_t i = 0; i < n; i++)
        c += (s[i] & 0xc0) != 0x80;
    return c;
}

/* Where text is being put. */
struct page {
    FILE *out;
    unsigned width, indent, column;
};

/* Fills lines with the words of `s`. The line is at p->column now. */
static void flow(struct page *p, const char *s, size_t n)
{
    const char *end = s + n;

    while (s < end) {
        size_t len;

        s += strspn(s, " \n");
        if (s >= end)
            break;
        len = strcspn(s, " \n");
        if (len > (size_t)(end - s))
            len = (size_t)(end - s);
        if (p->column > p->indent && p->column + 1 + columns(s, len) > p->width) {
            fputc('\n', p->out);
            p->column = 0;
        } else if (p->column > p->indent) {
            fputc(' ', p->out);
            p->column++;
        }
        if (p->column < p->indent) {
            fprintf(p->out, "%*s", (int)(p->indent - p->column), "");
            p->column = p->indent;
        }
        fprintf(p->out, "%.*s", (int)len, s);
        p->column += columns(s, len);
        s += len;
    }
}

static void cli_end_line(struct page *p)
{
    fputc('\n', p->out);
    p->column = 0;
}

static void cli_prose(struct page *p, const char *text, unsigned indent)
{
    struct cli_block b;
    int last = -1; /* kind of the piece before */

    while (cli_block(&text, &b)) {
        if (last >= 0 && !(last == (int)b.kind && b.kind != CLI_PARAGRAPH))
            cli_end_line(p);
        last = (int)b.kind;
        p->indent = indent;
        if (b.kind == CLI_LITERAL) {
            fprintf(p->out, "%*s%.*s", (int)indent + 4, "", (int)b.len, b.text);
        } else if (b.kind == CLI_ENTRY) {
            unsigned used = indent + columns(b.term, b.term_len);

            fprintf(p->out, "%*s%.*s", (int)indent, "", (int)b.term_len, b.term);
            p->column = used;
            p->indent = indent + 20;
            if (used + 2 > p->indent)
                cli_end_line(p);
            flow(p, b.text, b.len);
        } else {
            flow(p, b.text, b.len);
        }
        cli_end_line(p);
    }
    p->indent = 0;
}

/* "  -n, --workers N", and how many columns it takes. */
static unsigned print_label(FILE *out, const struct cli_verb *v, const struct cli_opt *o)
{
    AUTO_BUF label = { .max = KIB };
    struct cli_names names;
    const char *text;

    cli_names_at(v, o, &names);
    (void)buf_add_str(&label, str_starts(names.v[0], "--") ? "      " : "  ");
    for (size_t i = 0; i < names.n; i++) {
        if (!cli_on_flag(o) || names.v[i][1] != '-')
            (void)buf_printf(&label, "%s%s", i ? ", " : "", names.v[i]);
        else if (!str_starts(names.v[i], "--no-"))
            (void)buf_printf(&label, "%s--[no-]%s", i ? ", " : "", names.v[i] + 2);
    }
    if (o->meta)
        (void)buf_printf(&label, " %s", o->meta);
    text = buf_text(&label);
    if (out && text)
        fputs(text, out);
    return text ? columns(text, strlen(text)) : 0;
}

static void flow_text(struct page *p, const char *s)
{
    flow(p, s, strlen(s));
}

/* "(default: 3)", wrapped like the text before it. */
static void flow_note(struct page *p, const char *what, const char *text)
{
    AUTO_FREE char *note = text ? str_printf("(%s: %s)", what, text) : NULL;

    if (note)
        flow_text(p, note);
}

static void print_opt(struct page *p, const struct cli_verb *v, const struct cli_opt *o,
                      unsigned indent)
{
    AUTO_FREE char *first = str_printf("%s%s", o->help, o->choices ? ":" : "");

    p->indent = indent;
    p->column = print_label(p->out, v, o);
    if (p->column + 2 > indent)
        cli_end_line(p);
    if (first)
        flow_text(p, first);
    for (const char *const *c = o->choices; c && *c; c++) {
        AUTO_FREE char *word = str_printf("%s%s", *c, c[1] ? "," : "");

        if (word)
            flow_text(p, word);
    }
    if (o->type == CLI_LIST)
        flow_text(p, "(repeatable)");
    flow_note(p, "default", cli_default(o));
    flow_note(p, "has no effect", o->no_effect);
    flow_note(p, "not supported", o->not_supported);
    cli_end_line(p);
    p->indent = 0;
}

/* ---- options under their headings ---- */

static bool is_printed(const struct cli_verb *v, const struct cli_opt *o, unsigned how)
{
    return cli_shown(v, o) && (!o->rare || (how & CLI_HELP_ALL));
}

/* Calls fn(arg, v, o) for each option of one group that is to be shown. */
static void each_opt(const struct cli *c, unsigned how, enum cli_group group,
                     void (*fn)(void *arg, const struct cli_verb *v, const struct cli_opt *o),
                     void *arg)
{
    const struct cli_verb *v = c->verb;
    enum cli_group last = c->program->self ? CLI_ADDED : CLI_OTHER; /* where --help is */

    for (const struct cli_opt *o = cli_opts(v); o->name; o++)
        if (o->group == group && is_printed(v, o, how))
            fn(arg, v, o);
    if (c->depth == 0 && !(how & CLI_HELP_PROSE))
        return;
    for (const struct cli_opt *o = cli_globals(c->program); o->name; o++)
        if (o->group == group && is_printed(v, o, how) && !cli_shadowed(v, o))
            fn(arg, v, o);
    if (group == last)
        fn(arg, v, cli_help_opt);
}

static void widest(void *arg, const struct cli_verb *v, const struct cli_opt *o)
{
    unsigned *indent = arg, w = print_label(NULL, v, o);

    if (w <= LABEL_MOST && w > *indent)
        *indent = w;
}

struct group {
    struct page *p;
    const char *heading; /* NULL: has been printed */
    unsigned indent;
};

static void print_grouped(void *arg, const struct cli_verb *v, const struct cli_opt *o)
{
    struct group *g = arg;

    if (g->heading)
        fprintf(g->p->out, "\n%s:\n", g->heading);
    g->heading = NULL;
    print_opt(g->p, v, o, g->indent);
}

/* Two passes: the column where texts begin is one for all groups. */
static void print_opts(struct page *p, const struct cli *c, unsigned how)
{
    unsigned indent = 12;

    for (enum cli_group i = 0; i < CLI_GROUPS_; i++)
        each_opt(c, how, i, widest, &indent);
    for (enum cli_group i = 0; i < CLI_GROUPS_; i++) {
        struct group g = { p, cli_group_names[i], indent + 2 };

        each_opt(c, how, i, print_grouped, &g);
    }
}

static bool has_rare(const struct cli *c)
{
    for (const struct cli_opt *o = cli_opts(c->verb); o->name; o++)
        if (o->rare && cli_shown(c->verb, o))
            return true;
    for (const struct cli_opt *o = cli_globals(c->program); o->name; o++)
        if (o->rare && cli_shown(c->verb, o) && !cli_shadowed(c->verb, o))
            return true;
    return false;
}

static void print_verbs(struct page *p, const struct cli *c)
{
    unsigned most = 0;

    for (const struct cli_verb *const *v = cli_next(c); *v; v++)
        if (!(*v)->hidden && strlen((*v)->name) > most)
            most = (unsigned)strlen((*v)->name);
    fputs("\nVerbs:\n", p->out);
    for (const struct cli_verb *const *v = cli_next(c); *v; v++) {
        if ((*v)->hidden)
            continue;
        p->column = (unsigned)fprintf(p->out, "  %s", (*v)->name);
        p->indent = most + 4;
        flow(p, (*v)->summary, strlen((*v)->summary));
        cli_end_line(p);
    }
    p->indent = 0;
}

static void print_examples(struct page *p, const struct cli_example *e)
{
    if (!e)
        return;
    fputs("\nExamples:\n", p->out);
    for (; e->command; e++) {
        p->indent = 6;
        fprintf(p->out, "  %s\n", e->command);
        flow(p, e->what, strlen(e->what));
        cli_end_line(p);
    }
    p->indent = 0;
}

static void cli_print_usage(struct page *p, const struct cli *c)
{
    bool branch = *cli_next(c) != NULL;
    const char *operands = c->verb ? c->verb->operands : NULL;

    fputs("usage: ", p->out);
    cli_print_path(p->out, c);
    fputs(branch ? " VERB [OPTION…] [OPERAND…]" : " [OPTION…]", p->out);
    if (branch && operands)
        fprintf(p->out, "\n       %s [OPTION…]", c->program->name); /* without a verb */
    fprintf(p->out, "%s%s\n\n", operands ? " " : "", operands ? operands : "");
}

/* "See ydl-run(1) for all options: ydl run --help --all, man ydl-run" */
static void write_more(FILE *out, const struct cli *c, unsigned how)
{
    const struct cli_program *p = c->program;
    bool alone = p->self || c->depth == 0; /* no page of the verb */
    bool rare = (c->depth > 0 || (how & CLI_HELP_PROSE)) && !(how & CLI_HELP_ALL) && has_rare(c);
    AUTO_FREE char *page =
        str_printf("%s%s%s", p->name, alone ? "" : "-", alone ? "" : c->path[0]->name);

    if (!page)
        return;
    fprintf(out, "See %s(1)%s: ", page, rare ? " for all options" : "");
    if (p->self && (*cli_next(c) || c->depth > 0)) {
        fprintf(out, "%s %s--help, ", p->name, c->depth > 0 ? "" : "VERB ");
    } else if (!p->self && (*cli_next(c) || (!rare && !(how & CLI_HELP_PROSE)))) {
        fprintf(out, "%s help", p->name);
        cli_print_words(out, c, ' ');
        fputs(*cli_next(c) ? " VERB, " : ", ", out);
    }
    if (rare && c->depth > 0) {
        cli_print_path(out, c);
        fputs(" --help --all, ", out);
    }
    fprintf(out, "man %s", page);
}

static void print_more(struct page *p, const struct cli *c, unsigned how)
{
    AUTO_FREE char *text = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&text, &n);

    if (!f)
        return;
    write_more(f, c, how);
    if (fclose(f) != 0)
        return;
    fputc('\n', p->out);
    flow_text(p, text);
    cli_end_line(p);
}

void cli_help(FILE *out, const struct cli *c, unsigned width, unsigned how)
{
    const struct cli_verb *v = c->depth > 0 ? c->verb : NULL;
    const struct cli_section *s = v ? v->sections : c->program->sections;
    const char *summary = v ? v->summary : c->program->summary;
    const char *text = v ? v->text : c->program->text;
    struct page p = { .out = out, .width = width };

    cli_print_usage(&p, c);
    cli_prose(&p, text ? text : summary, 0);
    if (*cli_next(c))
        print_verbs(&p, c);
    print_opts(&p, c, how);
    print_examples(&p, v ? v->examples : c->program->examples);
    for (; (how & CLI_HELP_PROSE) && s && s->title; s++) {
        fprintf(out, "\n%s\n", s->title);
        cli_prose(&p, s->body, 2);
    }
    print_more(&p, c, how);
}
