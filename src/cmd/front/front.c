/* front.c - which front end it is, and from its words to those of ydl; see front.h. */
#include "cli/exit.h"
#include "cli/globals.h"
#include "cmd/front/front_print.h"
#include "cmd/front/fronts.h"
#include "cmd/front/tee.h"

#include <stdio.h>
#include <string.h>

#define SECRET "AWS_" /* keys of a cloud are handed on like other variables, but not shown */

const struct front *const front_table[] = { &front_dmlc, &front_submit, &front_launch, &front_mx,
                                            &front_tf,   &front_slider, NULL };

static const char *front_base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

const struct front *front_find(const char *path)
{
    const char *name = path ? front_base_of(path) : "";

    for (const struct front *const *f = front_table; *f; f++) {
        if (str_eq((*f)->name, name))
            return *f;
        for (const char *const *a = (*f)->aliases; a && *a; a++)
            if (str_eq(*a, name))
                return *f;
    }
    return NULL;
}

/* ---- taking apart ---- */

/* A front end's command line, found and parsed. */
struct request {
    struct front_ask ask;
    struct legacy_args args;
};

static const char *nearest_verb(const struct front *f, const char *word)
{
    const char *names[32];
    size_t n = 0;

    for (const struct front_verb *const *v = f->verbs; *v && n < COUNT_OF(names); v++)
        if ((*v)->name)
            names[n++] = (*v)->name;
    return str_nearest(word, names, n);
}

static int front_no_verb(const struct front *f, const char *word, struct err *err)
{
    const char *near = word ? nearest_verb(f, word) : NULL;

    if (!word)
        cli_bad(err, "a verb is missing");
    else
        cli_bad(err, "unknown verb '%s'%s%s%s", word, near ? "; did you mean '" : "",
                near ? near : "", near ? "'?" : "");
    return CLI_USAGE;
}

/* The form of the line: told by its first word, else the one without a name. */
static const struct front_verb *front_find_verb(const struct front *f, const char *word)
{
    const struct front_verb *nameless = NULL;

    for (const struct front_verb *const *v = f->verbs; *v; v++) {
        if (word && str_eq((*v)->name, word))
            return *v;
        if (!(*v)->name)
            nameless = *v;
    }
    return nameless;
}

/* A word where no operand can stand, and nearly a verb. */
static bool is_slip(const struct front *f, const struct front_verb *v, const char *word)
{
    return v && !v->name && v->options_first && word && word[0] != '-' && nearest_verb(f, word);
}

/* "--help", or "help" as a whole line; where a verb is called so, it knows better. */
static bool asks_help(const struct front_verb *v, const char *first, size_t n)
{
    return str_eq(first, "-h") || str_eq(first, "--help") ||
           (n == 1 && str_eq(first, "help") && v && !v->name);
}

static int front_take_apart(const struct front *f, char *const *words, size_t n, struct request *q,
                            struct err *err)
{
    const char *first = n ? words[0] : NULL;
    int r;

    q->ask.front = f;
    q->ask.args = &q->args;
    q->ask.verb = front_find_verb(f, first);
    q->args.help = first && asks_help(q->ask.verb, first, n);
    q->args.version = first && str_eq(first, "--version");
    if (q->args.help || q->args.version)
        return 0;
    if (!q->ask.verb || is_slip(f, q->ask.verb, first))
        return front_no_verb(f, first, err);
    q->ask.syntax = print_syntax(q->ask.verb);
    r = legacy_parse(&q->ask.syntax, words + (q->ask.verb->name != NULL),
                     n - (q->ask.verb->name != NULL), &q->args, err);
    if (r == CLI_USAGE)
        err_hint(err, "see '%s --help'", f->name);
    return r;
}

/* ---- translating ---- */

/* What the rows of the tables say by themselves. */
static int apply_rows(const struct request *q, struct front_call *c)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < q->args.n; i++) {
        const struct legacy_hit *h = &q->args.hits[i];

        if (h->option->nothing)
            r = front_note(c, "%s has no effect: %s", h->name, h->option->nothing);
        if (r == 0 && h->late)
            r = front_note(c,
                           "%s stands behind the command and was taken as an option of %s; write "
                           "-- before the command to leave it to the job",
                           h->name, q->ask.front->name);
        if (r == 0 && h->option->word)
            r = front_add(c, h->option->word);
        if (r == 0 && h->option->word && h->value)
            r = front_add(c, h->value);
    }
    return r;
}

static int front_do_translate(const struct request *q, struct front_call *c, struct err *err)
{
    const struct front_verb *v = q->ask.verb;
    const char *verb = str_eq(v->verb, "run") && !front_attached(&q->ask) ? "submit" : v->verb;
    int r;

    if (front_add(c, verb) < 0 || apply_rows(q, c) < 0)
        return err_oom(err);
    r = v->translate(&q->ask, c, err);
    if (r == -ENOMEM)
        return err_oom(err);
    if (r == CLI_USAGE)
        err_hint(err, "see '%s --help'", q->ask.front->name);
    return r;
}

int front_translate(const struct front *f, char *const *words, size_t n, char *const *env,
                    struct front_call *ret, struct err *err)
{
    struct request q = { .ask = { .name = f->name, .env = env } };
    int r = front_take_apart(f, words, n, &q, err);

    *ret = (struct front_call){ 0 };
    if (r == 0 && (q.args.help || q.args.version || !q.ask.verb->translate))
        r = err_set(err, -EINVAL, "nothing to translate");
    if (r == 0)
        r = front_do_translate(&q, ret, err);
    legacy_done(&q.args);
    return r;
}

/* ---- saying ---- */

/* A word as a shell wants it. */
static void print_word(FILE *out, const char *w)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+./,:@%";

    fputc(' ', out);
    if (*w && strspn(w, plain) == strlen(w)) {
        fputs(w, out);
        return;
    }
    fputc('\'', out);
    for (; *w; w++) {
        if (*w == '\'')
            fputs("'\\''", out);
        else
            fputc(*w, out);
    }
    fputc('\'', out);
}

static void front_say_same(const struct request *q, const struct front_call *c)
{
    fprintf(stderr, "%s: the same as: ydl", q->ask.name);
    for (size_t i = 0; i < c->words.n; i++) {
        char clean[4096];

        str_clean(clean, sizeof(clean), c->words.v[i]);
        if (str_starts(clean, SECRET) && i > 0 && str_eq(c->words.v[i - 1], "--env"))
            clean[strcspn(clean, "=") + 1] = '\0';
        print_word(stderr, clean);
        if (i == 0 && c->job)
            fputs(" -f JOB", stderr);
    }
    if (c->job)
        fprintf(stderr, "\n%s: and JOB is: %s", q->ask.name, c->job);
    fputc('\n', stderr);
}

void front_say_notes(const struct front_ask *a, const struct front_call *c)
{
    for (size_t i = 0; i < c->notes.n && !front_given(a, "--quiet"); i++) {
        char clean[2048];

        str_clean(clean, sizeof(clean), c->notes.v[i]);
        fprintf(stderr, "%s: %s\n", a->name, clean);
    }
}

static void front_say(const struct request *q, const struct front_call *c)
{
    const char *always = front_env(&q->ask, "YDL_SAY");

    if (front_given(&q->ask, "--quiet"))
        return;
    front_say_notes(&q->ask, c);
    if (strs_has(&c->words, "--verbose") || (always && !str_eq(always, "0")))
        front_say_same(q, c);
}

/* ---- running ---- */

static int run_words(const struct request *q, struct front_call *c, struct err *err)
{
    struct cli_program program = *q->ask.program;
    AUTO_FREE char **argv = calloc(c->words.n + 2, sizeof(*argv));
    AUTO_TEE struct tee *tee = NULL;
    int code;

    if (!argv)
        return err_oom(err);
    if (c->log_file) {
        int r = tee_start(c->log_file, &tee, err);

        if (r < 0)
            return exit_named_file(r, err);
    }
    front_say(q, c);
    program.name = q->ask.name;
    argv[0] = (char *)q->ask.name;
    for (size_t i = 0; i < c->words.n; i++)
        argv[i + 1] = c->words.v[i];
    code = globals_main_job(&program, (int)c->words.n + 1, argv, c->job);
    return q->ask.front->exit_code ? q->ask.front->exit_code(code) : code;
}

static int front_show(const struct request *q, struct err *err)
{
    const struct front *f = q->ask.front;
    bool one = q->ask.verb && q->ask.verb->name;

    if (q->args.version)
        printf("%s %s\n", q->ask.name, q->ask.program->version);
    else if (print_help(stdout, f, one ? q->ask.verb : NULL, cli_width(stdout)) < 0)
        return err_oom(err);
    return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
}

static int front_serve(struct request *q, struct err *err)
{
    AUTO_FRONT_CALL call = { 0 };
    int r;

    if (q->args.help || q->args.version)
        return front_show(q, err);
    if (q->ask.verb->act)
        return q->ask.verb->act(&q->ask, err);
    r = front_do_translate(q, &call, err);
    return r < 0 ? r : run_words(q, &call, err);
}

int front_main(const struct front *f, const struct cli_program *ydl, int argc, char **argv)
{
    struct request q = { .ask = {
                             .name = front_base_of(argv[0]), .env = environ, .program = ydl } };
    struct err err = ERR_INIT;
    bool json = false;
    int r = front_take_apart(f, argv + 1, argc > 0 ? (size_t)argc - 1 : 0, &q, &err);

    if (r == 0)
        r = front_serve(&q, &err);
    if (r < 0) {
        json = legacy_given(&q.args, "--json");
        r = exit_report(q.ask.name, r, &err, json);
        r = f->exit_code ? f->exit_code(r) : r;
    }
    legacy_done(&q.args);
    return r;
}
