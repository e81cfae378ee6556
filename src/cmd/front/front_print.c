/* front_print.c - pages of help and of the manual; see front_print.h. */
#include "cmd/front/front_print.h"
#include "base/buf.h"
#include "cmd/front/front_common.h"

#include <string.h>

#define SECTIONS_MAX 48
#define PAGE_MAX (256 * KIB)

/* A page while it is made: its sections' texts are its own. */
struct made {
    struct cli_page page;
    struct cli_section sections[SECTIONS_MAX + 1];
    size_t n;
    struct strs texts;
};

static const char exits[] =
    "0\tThe job succeeded.\n"
    "2\tThe command line, or a file that it names, is wrong; nothing was started.\n"
    "69\tThe cluster cannot be reached.\n"
    "75\tNot now: there was no room in time, or nodes were lost too often.\n"
    "130\tInterrupted.\n\n"
    "A job that failed gives the exit status of the task that failed first. ydl-run(1) has all.";

static const char variables[] =
    "HADOOP_CONF_DIR\tThe directory with the configuration of the cluster.\n"
    "YDL_ON\tWhere jobs run when the command does not say it: local or yarn.\n"
    "YDL_PLAN\tWhen it is 1 the plan is printed and nothing is started; see ydl-plan(1).\n"
    "YDL_SAY\tWhen it is 1 the same command is shown in ydl's own words, as with -v.";

struct legacy_syntax print_syntax(const struct front_verb *v)
{
    static const struct legacy_option *const extras[] = {
        [FRONT_NO_EXTRA] = NULL, [FRONT_PLAIN] = common_plain, [FRONT_JOB] = common_job
    };

    return (struct legacy_syntax){
        .own = v->options, .extra = extras[v->extra], .habits = v->habits, .head = v->head
    };
}

/* ---- options ---- */

/* "-hip, --host_ip ADDRESS". An extra one may have lost a letter to an own one. */
static void print_add_names(struct buf *b, const struct legacy_syntax *s,
                            const struct legacy_option *o)
{
    bool own = false, any = false;

    for (const struct legacy_option *x = s->own; x && x->names[0]; x++)
        own |= x == o;
    for (size_t i = 0; i < COUNT_OF(o->names) && o->names[i]; i++) {
        bool taken = false;

        for (const struct legacy_option *x = s->own; !own && x && x->names[0]; x++)
            taken |= legacy_is(x, o->names[i]);
        if (!taken)
            (void)buf_printf(b, "%s%s", any ? ", " : "", o->names[i]);
        any |= !taken;
    }
    if (o->meta)
        (void)buf_printf(b, " %s", o->meta);
}

/* An entry of a list: struct cli_section. A buffer that is full shows in the test of the pages. */
static void print_add_option(struct buf *b, const struct legacy_syntax *s,
                             const struct legacy_option *o)
{
    print_add_names(b, s, o);
    (void)buf_printf(b, "\t%s", o->help);
    for (const char *const *c = o->choices; c && *c; c++)
        (void)buf_printf(b, "%s%s%s", c == o->choices ? " (" : " ", *c, c[1] ? "," : ")");
    if (o->list)
        (void)buf_add_str(b, " (may be repeated)");
    if (o->preset)
        (void)buf_printf(b, " (default %s)", *o->preset ? o->preset : "''");
    if (o->nothing)
        (void)buf_printf(b, "; has no effect: %s", o->nothing);
    if (o->refused)
        (void)buf_printf(b, "; refused: %s", o->refused);
    (void)buf_add_str(b, "\n");
}

static void add_options(struct buf *b, const struct legacy_syntax *s,
                        const struct legacy_option *table)
{
    for (const struct legacy_option *o = table; o && o->names[0]; o++)
        if (table == s->own || !legacy_shadowed(s, o))
            print_add_option(b, s, o);
}

/* ---- pages ---- */

/* Adds a section whose text is made; drops what is empty. */
static int add_section(struct made *m, const char *title, struct buf *text)
{
    const char *body = buf_text(text);

    if (!body)
        return -ENOMEM;
    if (!*body || m->n == SECTIONS_MAX)
        return 0;
    if (strs_add(&m->texts, title) < 0 || strs_add(&m->texts, body) < 0)
        return -ENOMEM;
    m->sections[m->n].title = m->texts.v[m->texts.n - 2];
    m->sections[m->n++].body = m->texts.v[m->texts.n - 1];
    return 0;
}

static void add_usage(struct buf *b, const struct front *f, const struct front_verb *v)
{
    (void)buf_printf(b, "%s%s%s [OPTION…]%s%s\n", f->name, v->name ? " " : "",
                     v->name ? v->name : "", v->operands ? " " : "",
                     v->operands ? v->operands : "");
}

static int add_verb(struct made *m, const struct front_verb *v)
{
    struct legacy_syntax s = print_syntax(v);
    AUTO_BUF text = { .max = PAGE_MAX };
    AUTO_FREE char *title = v->name ? str_printf("VERB %s", v->name) : strdup("OPTIONS");

    if (!title)
        return -ENOMEM;
    if (v->summary || v->text)
        (void)buf_printf(&text, "%s\n\n", v->text ? v->text : v->summary);
    add_options(&text, &s, s.own);
    return add_section(m, title, &text);
}

/* The common options once, as the verb with most of them has them. */
static int print_add_common(struct made *m, const struct front_verb *const *verbs)
{
    const struct front_verb *most = NULL;
    AUTO_BUF text = { .max = PAGE_MAX };
    struct legacy_syntax s;

    for (; *verbs; verbs++)
        if (!most || (*verbs)->extra > most->extra)
            most = *verbs;
    if (!most)
        return 0;
    s = print_syntax(most);
    add_options(&text, &s, s.extra);
    (void)buf_add_str(&text, "-h, --help\tshow this text\n");
    return add_section(m, "OPTIONS OF EVERY FRONT END", &text);
}

static int add_fixed(struct made *m, const char *title, const char *body)
{
    AUTO_BUF text = { .max = PAGE_MAX };

    return buf_add_str(&text, body) < 0 ? -ENOMEM : add_section(m, title, &text);
}

static bool has_section(const struct front *f, const char *title)
{
    for (const struct cli_section *s = f->sections; s && s->title; s++)
        if (str_eq(s->title, title))
            return true;
    return false;
}

static int make_page(const struct front *f, const struct front_verb *const *verbs, struct made *m)
{
    AUTO_BUF usage = { .max = PAGE_MAX };
    int r = 0;

    for (const struct front_verb *const *v = verbs; r == 0 && *v; v++) {
        add_usage(&usage, f, *v);
        r = add_verb(m, *v);
    }
    if (r == 0)
        r = print_add_common(m, verbs);
    if (r == 0 && !has_section(f, "ENVIRONMENT"))
        r = add_fixed(m, "ENVIRONMENT", variables);
    for (const struct cli_section *s = f->sections; r == 0 && s && s->title; s++)
        r = add_fixed(m, s->title, s->body);
    if (r == 0 && !has_section(f, "EXIT STATUS"))
        r = add_fixed(m, "EXIT STATUS", exits);
    if (r == 0 && (!buf_text(&usage) || strs_add(&m->texts, buf_text(&usage)) < 0))
        r = -ENOMEM;
    if (r < 0)
        return r;
    m->page = (struct cli_page){ .name = f->name,
                                 .summary = f->summary,
                                 .section = 1,
                                 .usage = m->texts.v[m->texts.n - 1],
                                 .text = f->text,
                                 .sections = m->sections,
                                 .examples = f->examples };
    return 0;
}

int print_help(FILE *out, const struct front *f, const struct front_verb *verb, unsigned width)
{
    const struct front_verb *const one[] = { verb, NULL };
    struct made m = { 0 };
    int r = make_page(f, verb ? one : f->verbs, &m);

    if (r == 0)
        cli_help_page(out, &m.page, width);
    strs_done(&m.texts);
    return r;
}

static int man(FILE *out, const struct cli_program *p, size_t i, const char **ret_name)
{
    struct made m = { 0 };
    size_t n = 0;
    int r;

    while (front_table[n])
        n++;
    if (i >= n)
        return 0;
    *ret_name = front_table[i]->name;
    r = make_page(front_table[i], front_table[i]->verbs, &m);
    if (r == 0)
        r = cli_man_page(out, p, &m.page);
    strs_done(&m.texts);
    return r < 0 ? r : 1;
}

const struct cli_others front_others = { .man = man,
                                         .completion = print_completion,
                                         .names = print_names };
