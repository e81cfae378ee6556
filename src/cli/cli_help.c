/* cli_help.c - help for people at a terminal; see cli.h. */
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
static unsigned print_label(FILE *out, const struct cli_opt *o, char letter)
{
    AUTO_FREE char *label = NULL;
    char before[8] = "    ";

    if (letter)
        snprintf(before, sizeof(before), "-%c, ", letter);
    label = str_printf("  %s--%s%s%s%s", before, cli_on_flag(o) ? "[no-]" : "", o->name,
                       o->meta ? " " : "", o->meta ? o->meta : "");
    if (!label)
        return 0;
    if (out)
        fputs(label, out);
    return columns(label, strlen(label));
}

static void flow_text(struct page *p, const char *s)
{
    flow(p, s, strlen(s));
}

/* "(default: 3)" */
static void print_default(struct page *p, const struct cli_opt *o)
{
    const char *value = o->fallback ? o->fallback : o->type != CLI_FLAG ? o->preset : NULL;
    AUTO_FREE char *text = value ? str_printf("(default: %s)", value) : NULL;

    if (text)
        flow_text(p, text);
}

static void print_opt(struct page *p, const struct cli_opt *o, char letter, unsigned indent)
{
    AUTO_FREE char *first = str_printf("%s%s", o->help, o->choices ? ":" : "");

    p->indent = indent;
    p->column = print_label(p->out, o, letter);
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
    print_default(p, o);
    cli_end_line(p);
    p->indent = 0;
}

/* ---- options under their headings ---- */

static const struct cli_opt help_opt = { "help", 'h', .help = "show this help",
                                         .group = CLI_OTHER };

/* Calls fn(arg, o, letter) for each option of one group that is to be shown. Returns how many. */
static size_t each_opt(const struct cli *c, unsigned how, enum cli_group group,
                       void (*fn)(void *arg, const struct cli_opt *o, char letter), void *arg)
{
    const struct cli_verb *v = c->verb;
    const struct cli_opt *globals = cli_globals(c->program);
    size_t n = 0;

    for (const struct cli_opt *o = cli_opts(v); o->name; o++)
        if (o->group == group && cli_shown(v, o) && (!o->rare || (how & CLI_HELP_ALL))) {
            fn(arg, o, o->letter);
            n++;
        }
    if (!v && !(how & CLI_HELP_PROSE))
        return n;
    for (const struct cli_opt *o = globals; o->name; o++)
        if (o->group == group && cli_shown(v, o) && !cli_shadowed(v, o) &&
            (!o->rare || (how & CLI_HELP_ALL))) {
            fn(arg, o, cli_letter(v, o));
            n++;
        }
    if (group == CLI_OTHER) {
        fn(arg, &help_opt, cli_letter(v, &help_opt));
        n++;
    }
    return n;
}

static void widest(void *arg, const struct cli_opt *o, char letter)
{
    unsigned *indent = arg, w = print_label(NULL, o, letter);

    if (w <= LABEL_MOST && w > *indent)
        *indent = w;
}

struct group {
    struct page *p;
    const char *heading; /* NULL: has been printed */
    unsigned indent;
};

static void print_grouped(void *arg, const struct cli_opt *o, char letter)
{
    struct group *g = arg;

    if (g->heading)
        fprintf(g->p->out, "\n%s:\n", g->heading);
    g->heading = NULL;
    print_opt(g->p, o, letter, g->indent);
}

/* Two passes: the column where texts begin is one for all groups. */
static void print_opts(struct page *p, const struct cli *c, unsigned how)
{
    unsigned indent = 12;

    for (enum cli_group i = 0; i < CLI_GROUPS_; i++)
        (void)each_opt(c, how, i, widest, &indent);
    for (enum cli_group i = 0; i < CLI_GROUPS_; i++) {
        struct group g = { p, cli_group_names[i], indent + 2 };

        (void)each_opt(c, how, i, print_grouped, &g);
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
    const struct cli_verb *v = c->verb;

    fputs("usage: ", p->out);
    cli_print_path(p->out, c);
    fputs(*cli_next(c) ? " VERB [OPTION…] [OPERAND…]" : " [OPTION…]", p->out);
    if (v && v->operands)
        fprintf(p->out, " %s", v->operands);
    fputs("\n\n", p->out);
}

/* "See ydl-run(1) for all options: ydl run --help --all, man ydl-run" */
static void write_more(FILE *out, const struct cli *c, unsigned how)
{
    const struct cli_verb *v = c->verb;
    bool rare = (v || (how & CLI_HELP_PROSE)) && !(how & CLI_HELP_ALL) && has_rare(c);
    AUTO_FREE char *page =
        str_printf("%s%s%s", c->program->name, v ? "-" : "", v ? c->path[0]->name : "");

    if (!page)
        return;
    fprintf(out, "See %s(1)%s: ", page, rare ? " for all options" : "");
    if (*cli_next(c) || (!rare && !(how & CLI_HELP_PROSE))) {
        fprintf(out, "%s help", c->program->name);
        cli_print_words(out, c, ' ');
        fputs(*cli_next(c) ? " VERB, " : ", ", out);
    }
    if (rare && v) {
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
    const struct cli_verb *v = c->verb;
    const struct cli_section *s = v ? v->sections : c->program->sections;
    const char *summary = v ? v->summary : c->program->summary;
    const char *text = v ? v->text : c->program->text;
    struct page p = { .out = out, .width = width };

    cli_print_usage(&p, c);
    cli_prose(&p, text ? text : summary, 0);
    if (*cli_next(c))
        print_verbs(&p, c);
    if (v || (how & CLI_HELP_PROSE))
        print_opts(&p, c, how);
    print_examples(&p, v ? v->examples : c->program->examples);
    for (; (how & CLI_HELP_PROSE) && s && s->title; s++) {
        fprintf(out, "\n%s\n", s->title);
        cli_prose(&p, s->body, 2);
    }
    print_more(&p, c, how);
}

void cli_help_page(FILE *out, const struct cli_page *page, unsigned width)
{
    struct page p = { .out = out, .width = width };
    const char *line = page->usage;

    while (line && *line) {
        size_t n = strcspn(line, "\n");

        fprintf(out, "%s%.*s\n", line == page->usage ? "usage: " : "       ", (int)n, line);
        line += n + (line[n] == '\n');
    }
    fputs(page->usage ? "\n" : "", out);
    cli_prose(&p, page->text, 0);
    for (const struct cli_section *s = page->sections; s && s->title; s++) {
        fprintf(out, "\n%s\n", s->title);
        cli_prose(&p, s->body, 2);
    }
    print_examples(&p, page->examples);
    fprintf(out, "\nSee also: man %s\n", page->name);
}
