/* legacy_opts.c - reads a command line as the older programs did: abbreviated names, values joined
 * to their option, Java-style single dashes. The rows are those of cli/cli.h, so help and
 * completion come from there; only the grammar is here. See legacy_opts.h. */
#include "cmd/front/legacy_opts.h"
#include "base/array.h"
#include "base/buf.h"

#include <ctype.h>
#include <string.h>

#define NEAR_NAMES 256
#define LEAVE_IT "if it is an option of the job, put -- before the command"

static const struct cli_opt help_rows[] = { { "-h", .also = { "--help" } }, { 0 } };
static const struct cli_opt nothing_rows[1];

/* ---- rows ---- */

static bool takes_value(const struct cli_opt *o)
{
    return o->meta != NULL;
}

static const char *legacy_spelt(const struct cli_opt *o, size_t i)
{
    return i == 0 ? o->name : i <= COUNT_OF(o->also) ? o->also[i - 1] : NULL;
}

static bool legacy_named(const struct cli_opt *o, const char *name, size_t n)
{
    for (size_t i = 0; legacy_spelt(o, i); i++)
        if (strlen(legacy_spelt(o, i)) == n && memcmp(legacy_spelt(o, i), name, n) == 0)
            return true;
    return false;
}

bool legacy_is(const struct cli_opt *o, const char *name)
{
    return legacy_named(o, name, strlen(name));
}

const char *legacy_name(const struct cli_opt *o)
{
    const char *best = "";

    for (size_t i = 0; legacy_spelt(o, i); i++)
        if (strlen(legacy_spelt(o, i)) > strlen(best))
            best = legacy_spelt(o, i);
    return best;
}

static const struct cli_opt *legacy_find(const struct cli_opt *table, const char *name, size_t n)
{
    for (const struct cli_opt *o = table ? table : nothing_rows; o->name; o++)
        if (legacy_named(o, name, n))
            return o;
    return NULL;
}

static const struct cli_opt *legacy_extra(const struct legacy_syntax *s, const char *name, size_t n)
{
    const struct cli_opt *o = legacy_find(s->extra, name, n);

    return o && !(o->feature & s->lacks) ? o : NULL;
}

/* ---- what a word is ---- */

enum kind { OPERAND, OPTION, UNKNOWN, AMBIGUOUS };

struct parser {
    const struct legacy_syntax *s;
    struct legacy_args *a;
    char *const *words;
    size_t n, at;
    bool begun;       /* the first operand was there */
    bool closed;      /* an option followed it: what comes now belongs behind the command */
    bool ended;       /* after "--" */
    struct strs rest; /* unknown options, and operands behind the first run of them */
    struct err *err;
};

struct word {
    enum kind kind;
    const struct cli_opt *option;
    const char *value; /* that came with it, or NULL */
    const char *name;  /* legacy_hit.name */
};

/* The row whose spelling this is to the letter. Ours count before the command only: a job's words
 * may look the same, and those the older program let pass. */
static const struct cli_opt *legacy_exact(const struct parser *p, const char *name, size_t n)
{
    const struct cli_opt *o = legacy_find(p->s->own, name, n);

    if (!o)
        o = legacy_find(help_rows, name, n);
    if (!o && (!p->begun || (p->s->habits & LEGACY_NAMES)))
        o = legacy_extra(p->s, name, n);
    return o;
}

/* Adds the rows of a table that a word may be short for, or have a value joined to. */
static size_t count_short(const struct parser *p, const struct cli_opt *table, const char *word,
                          struct word *ret)
{
    bool two = str_starts(word, "--");
    size_t len = two ? strcspn(word, "=") : strlen(word), n = 0;

    for (const struct cli_opt *o = table ? table : nothing_rows; o->name; o++)
        for (size_t i = 0; legacy_spelt(o, i); i++) {
            const char *name = legacy_spelt(o, i);
            bool joined = !two && strlen(name) == 2 && name[1] == word[1];
            bool begins = strncmp(name, word, len) == 0 && str_starts(name, "--") == two;

            if (joined && (p->s->habits & LEGACY_JOINED))
                *ret = (struct word){ OPTION, o, word + 2 };
            else if (begins && (p->s->habits & LEGACY_ABBREVIATED))
                *ret = (struct word){ OPTION, o, word[len] ? word + len + 1 : NULL };
            else
                continue;
            n++;
        }
    return n;
}

static bool like_number(const char *s)
{
    size_t n = strspn(s + 1, "0123456789");

    if (s[1 + n] == '.')
        n += 1 + strspn(s + 2 + n, "0123456789");
    return s[1 + n] == '\0' && isdigit((unsigned char)s[n]);
}

/* In the order in which the older parsers looked: a spelling to the letter, the same before a '=',
 * a short form or a joined value, and only then what an unknown word means to that parser. */
static struct word classify(const struct parser *p, const char *word)
{
    struct word ret = { .kind = OPERAND };
    const char *equals = strchr(word, '=');
    size_t n;

    if (p->ended || word[0] != '-' || !word[1] ||
        (p->begun && !(p->s->habits & (LEGACY_AMONG | LEGACY_NAMES))))
        return ret;
    ret.option = legacy_exact(p, word, strlen(word));
    if (!ret.option && equals) {
        ret.option = legacy_exact(p, word, (size_t)(equals - word));
        ret.value = equals + 1;
    }
    if (ret.option) {
        ret.kind = OPTION;
        return ret;
    }
    n = count_short(p, p->s->own, word, &ret) + count_short(p, help_rows, word, &ret);
    if (n == 1)
        return ret;
    /* Python's parser takes numbers, and words with a blank in them, for values. */
    if (n == 0 && (p->s->habits & LEGACY_UNKNOWN) && (like_number(word) || strchr(word, ' ')))
        return (struct word){ .kind = OPERAND };
    return (struct word){ .kind = n ? AMBIGUOUS : UNKNOWN };
}

/* ---- mistakes ---- */

static const char *legacy_nearest(const struct parser *p, const char *word)
{
    const struct cli_opt *tables[] = { p->s->own, p->s->extra, help_rows };
    const char *names[NEAR_NAMES];
    size_t n = 0;

    for (size_t t = 0; t < COUNT_OF(tables); t++)
        for (const struct cli_opt *o = tables[t]; o && o->name; o++)
            for (size_t i = 0; legacy_spelt(o, i) && n < NEAR_NAMES; i++)
                if (!(o->feature & p->s->lacks) && strlen(legacy_spelt(o, i)) > 2)
                    names[n++] = legacy_spelt(o, i);
    return str_nearest(word, names, n);
}

static int legacy_unknown(struct parser *p, const char *word)
{
    AUTO_FREE char *name = strndup(word, strcspn(word, "="));
    const char *near = name ? legacy_nearest(p, name) : NULL;

    if (!name)
        return err_oom(p->err);
    return cli_bad(p->err, "unknown option '%s'%s%s%s", name, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

static int ambiguous(struct parser *p, const char *word)
{
    AUTO_BUF all = { .max = sizeof(p->err->text) };
    size_t len = strcspn(word, "=");

    for (const struct cli_opt *o = p->s->own; o && o->name; o++)
        for (size_t i = 0; legacy_spelt(o, i); i++)
            if (strncmp(legacy_spelt(o, i), word, len) == 0)
                (void)buf_printf(&all, "%s%s", all.len ? ", " : "", legacy_spelt(o, i));
    cli_bad(p->err, "option '%.*s' is ambiguous: %s", (int)len, word,
            buf_text(&all) ? buf_text(&all) : "several");
    err_hint(p->err, LEAVE_IT);
    return CLI_USAGE;
}

static int legacy_no_value(struct parser *p, const struct cli_opt *o)
{
    cli_bad(p->err, "option '%s' takes no value", legacy_name(o));
    if (p->begun)
        err_hint(p->err, LEAVE_IT);
    return CLI_USAGE;
}

static int legacy_refuse(struct parser *p, const struct cli_opt *o, const char *name)
{
    cli_bad(p->err, "%s: %s", name, o->not_supported);
    if (p->begun && !(p->s->habits & LEGACY_NAMES))
        err_hint(p->err, LEAVE_IT);
    return CLI_USAGE;
}

static int check_choice(const struct cli_opt *o, const char *v, struct err *err)
{
    AUTO_BUF all = { .max = sizeof(err->text) };

    for (const char *const *c = o->choices; *c; c++) {
        if (str_eq(*c, v))
            return 0;
        (void)buf_printf(&all, "%s%s", all.len ? ", " : "", *c); /* a cut list will do */
    }
    return cli_bad(err, "option '%s': '%s' is not one of %s", legacy_name(o), v,
                   buf_text(&all) ? buf_text(&all) : "…");
}

static int legacy_check_value(const struct cli_opt *o, const char *v, struct err *err)
{
    int64_t n;
    int r;

    if (o->choices)
        return check_choice(o, v, err);
    if (o->type != CLI_I64)
        return 0;
    r = str_to_i64(v, INT32_MIN, INT32_MAX, &n);
    if (r < 0)
        return cli_bad(err, "option '%s': '%s' is %s", legacy_name(o), v,
                       r == -ERANGE ? "out of range" : "not a whole number");
    if (n < o->least)
        return cli_bad(err, "option '%s': %s is less than the minimum, %lld", legacy_name(o), v,
                       (long long)o->least);
    return 0;
}

/* ---- parsing ---- */

/* The spelling that a word has of an option; when it is a short form of one, the longest. */
static const char *legacy_spelling(const struct cli_opt *o, const char *word)
{
    size_t n = strcspn(word, "=");

    for (size_t i = 0; legacy_spelt(o, i); i++)
        if (strlen(legacy_spelt(o, i)) == n && memcmp(legacy_spelt(o, i), word, n) == 0)
            return legacy_spelt(o, i);
    return legacy_name(o);
}

static int add_hit(struct parser *p, const struct word *w, const char *value)
{
    struct legacy_hit hit = { .option = w->option,
                              .name = w->name,
                              .late = p->begun && !(p->s->habits & LEGACY_NAMES) };

    if (value) {
        hit.value = strdup(value);
        if (!hit.value)
            return err_oom(p->err);
    }
    if (ARRAY_ADD(p->a->hits, p->a->n, hit) < 0) {
        free(hit.value);
        return err_oom(p->err);
    }
    return 0;
}

/* The further words of a value that has several; what is there is in `value`. */
static int take_more(struct parser *p, const struct cli_opt *o, const char *value, char **ret)
{
    AUTO_BUF all = { .max = MIB };
    int r = buf_add_str(&all, value);

    for (unsigned i = 0; r == 0 && i < o->more; i++) {
        if (p->at + 1 >= p->n)
            return cli_bad(p->err, "option '%s' needs %u values (%s)", legacy_name(o), o->more + 1,
                           o->meta);
        r = buf_printf(&all, "%c%s", LEGACY_BETWEEN, p->words[++p->at]);
    }
    *ret = r == 0 && buf_text(&all) ? strdup(buf_text(&all)) : NULL;
    return *ret ? 0 : err_oom(p->err);
}

static int legacy_take_value(struct parser *p, const struct word *w, const char *value)
{
    AUTO_FREE char *all = NULL;
    int r = legacy_check_value(w->option, value, p->err);

    if (r == 0 && w->option->more)
        r = take_more(p, w->option, value, &all);
    return r < 0 ? r : add_hit(p, w, all ? all : value);
}

static int take_option(struct parser *p, const struct word *w)
{
    const struct cli_opt *o = w->option;
    const char *value = w->value;

    if (o->not_supported)
        return legacy_refuse(p, o, w->name);
    if (!takes_value(o) && value)
        return legacy_no_value(p, o);
    if (o == help_rows) {
        p->a->help = true;
        return 0;
    }
    if (!takes_value(o)) {
        p->a->version |= legacy_is(o, "--version");
        return add_hit(p, w, NULL);
    }
    if (!value && p->at + 1 < p->n) {
        value = p->words[p->at + 1];
        /* Python's parser never takes an option for a value. */
        if ((p->s->habits & LEGACY_UNKNOWN) && classify(p, value).kind != OPERAND)
            value = NULL;
        else
            p->at++;
    }
    if (!value)
        return cli_bad(p->err, "option '%s' needs a value (%s)", legacy_name(o), o->meta);
    return legacy_take_value(p, w, value);
}

static int take_operand(struct parser *p, const char *word)
{
    if (!p->begun && !p->ended && !p->a->head && p->s->head && p->s->head(word)) {
        p->a->head = strdup(word);
        return p->a->head ? 0 : err_oom(p->err);
    }
    p->begun = true;
    return strs_add(p->closed ? &p->rest : &p->a->command, word) < 0 ? err_oom(p->err) : 0;
}

/* What stands behind the first operand is the job's own, but for the options that the older program
 * took from among it (LEGACY_AMONG). Words that it did not know went to the end of the command
 * there, and do so here: `rest`. */
static int take_word(struct parser *p, const char *word)
{
    struct word w;

    if (str_eq(word, "--") && !p->ended &&
        (!p->begun || (p->s->habits & (LEGACY_AMONG | LEGACY_NAMES)))) {
        p->ended = true;
        return p->closed && strs_add(&p->rest, word) < 0 ? err_oom(p->err) : 0;
    }
    w = classify(p, word);
    if (w.kind == OPERAND)
        return take_operand(p, word);
    p->closed |= p->begun && !(p->s->habits & LEGACY_NAMES);
    if (w.kind == OPTION) {
        w.name = legacy_spelling(w.option, word);
        return take_option(p, &w);
    }
    if (w.kind == AMBIGUOUS)
        return ambiguous(p, word);
    if (!(p->s->habits & LEGACY_UNKNOWN))
        return legacy_unknown(p, word);
    return strs_add(&p->rest, word) < 0 ? err_oom(p->err) : 0;
}

int legacy_parse(const struct legacy_syntax *s, char *const *words, size_t n,
                 struct legacy_args *ret, struct err *err)
{
    struct parser p = { .s = s, .a = ret, .words = words, .n = n, .err = err };
    int r = 0;

    *ret = (struct legacy_args){ 0 };
    for (; r == 0 && p.at < n && !ret->help; p.at++)
        r = take_word(&p, words[p.at]);
    if (r == 0 && p.rest.n > 0 && !p.begun && !ret->help)
        r = legacy_unknown(&p, p.rest.v[0]); /* there is no command that it could belong to */
    for (size_t i = 0; r == 0 && i < p.rest.n; i++)
        r = strs_add(&ret->command, p.rest.v[i]) < 0 ? err_oom(err) : 0;
    strs_done(&p.rest);
    return r;
}

void legacy_done(struct legacy_args *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->hits[i].value);
    free(a->hits);
    free(a->head);
    strs_done(&a->command);
    *a = (struct legacy_args){ 0 };
}

/* ---- what was said ---- */

const char *legacy_value(const struct legacy_syntax *s, const struct legacy_args *a,
                         const char *name)
{
    const struct cli_opt *o;

    for (size_t i = a->n; i-- > 0;)
        if (legacy_is(a->hits[i].option, name))
            return a->hits[i].value ? a->hits[i].value : "";
    o = legacy_find(s->own, name, strlen(name));
    if (!o)
        o = legacy_extra(s, name, strlen(name));
    return o ? o->preset : NULL;
}

int64_t legacy_number(const struct legacy_syntax *s, const struct legacy_args *a, const char *name,
                      int64_t otherwise)
{
    const char *v = legacy_value(s, a, name);
    int64_t n;

    return v && str_to_i64(v, INT32_MIN, INT32_MAX, &n) == 0 ? n : otherwise;
}

bool legacy_given(const struct legacy_args *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++)
        if (legacy_is(a->hits[i].option, name))
            return true;
    return false;
}
