/* front.c - which front end it is, and from its words to those of ydl; see front.h. */
#include "cmd/front/front.h"
#include "cli/exit.h"
#include "cli/globals.h"
#include "cmd/front/before.h"
#include "cmd/front/tee.h"

#include <stdio.h>
#include <string.h>

#define SECRET "AWS_" /* keys of a cloud are handed on like other variables, but not shown */

static const char *front_base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- taking apart ---- */

/* A front end's command line, found and parsed. */
struct request {
    struct front_ask ask;
    struct legacy_args args;
};

static const struct cli_verb *const *verbs_of(const struct front *f)
{
    static const struct cli_verb *const none[1];

    return f->program.self->subs ? f->program.self->subs : none;
}

static const char *nearest_verb(const struct front *f, const char *word)
{
    const char *names[32];
    size_t n = 0;

    for (const struct cli_verb *const *v = verbs_of(f); *v && n < COUNT_OF(names); v++)
        names[n++] = (*v)->name;
    return str_nearest(word, names, n);
}

int front_no_verb(const struct front *f, const char *word, struct err *err)
{
    const char *near = word ? nearest_verb(f, word) : NULL;

    if (!word)
        return cli_bad(err, "a verb is missing");
    return cli_bad(err, "unknown verb '%.60s'%s%s%s", word, near ? "; did you mean '" : "",
                   near ? near : "", near ? "'?" : "");
}

const struct front_verb *front_verb(const struct front *f, const char *word)
{
    const struct cli_verb *const *v = verbs_of(f);

    while (*v && !str_eq((*v)->name, word))
        v++;
    return (const struct front_verb *)(*v ? *v : f->program.self); /* its first member */
}

/* Options and habits of a verb, those of every front end included. */
static struct legacy_syntax front_syntax(const struct front *f, const struct front_verb *v)
{
    return (struct legacy_syntax){ .own = v->cli.opts,
                                   .extra = f->program.globals,
                                   .lacks = v->cli.lacks,
                                   .habits = v->habits,
                                   .head = v->head };
}

/* A word where no operand can stand, and nearly a verb. */
static bool is_slip(const struct front *f, const struct front_verb *v, const char *word)
{
    return !v->cli.name && v->options_first && word && word[0] != '-' && nearest_verb(f, word);
}

/* "--help", or "help" as a whole line; where a verb is called so, it knows better. */
static bool asks_help(const struct front_verb *v, const char *first, size_t n)
{
    return str_eq(first, "-h") || str_eq(first, "--help") ||
           (n == 1 && str_eq(first, "help") && !v->cli.name);
}

static int front_take_apart(const struct front *f, char *const *words, size_t n, struct request *q,
                            struct err *err)
{
    const char *first = n ? words[0] : NULL;
    int r;

    q->ask.front = f;
    q->ask.args = &q->args;
    q->ask.verb = front_verb(f, first);
    q->args.help = first && asks_help(q->ask.verb, first, n);
    q->args.version = first && str_eq(first, "--version");
    if (q->args.help || q->args.version)
        return 0;
    if (is_slip(f, q->ask.verb, first))
        return front_no_verb(f, first, err);
    q->ask.syntax = front_syntax(f, q->ask.verb);
    r = legacy_parse(&q->ask.syntax, words + (q->ask.verb->cli.name != NULL),
                     n - (q->ask.verb->cli.name != NULL), &q->args, err);
    if (r == CLI_USAGE)
        err_hint(err, "see '%s --help'", f->program.name);
    return r;
}

/* ---- translating ---- */

/* What the rows of the tables say by themselves. */
static void apply_rows(const struct request *q, struct front_call *c)
{
    for (size_t i = 0; i < q->args.n; i++) {
        const struct legacy_hit *h = &q->args.hits[i];

        if (h->option->no_effect)
            front_note(c, "%s has no effect: %s", h->name, h->option->no_effect);
        if (h->late)
            front_note(c,
                       "%s after the command was taken as an option of %s; to pass it to the job, "
                       "put -- before the command",
                       h->name, q->ask.front->program.name);
        if (h->option->same_as)
            front_add(c, h->option->same_as);
        if (h->option->same_as && h->value)
            front_add(c, h->value);
    }
}

static int front_translate_request(const struct request *q, struct front_call *c, struct err *err)
{
    const struct front_verb *v = q->ask.verb;
    const char *verb = str_eq(v->verb, "run") && !front_attached(&q->ask) ? "submit" : v->verb;
    int r;

    if (strs_split(&c->words, verb, " ") < 0)
        return err_oom(err);
    apply_rows(q, c);
    r = v->translate(&q->ask, c, err);
    if (r == -ENOMEM || (r == 0 && c->failed))
        return err_oom(err);
    if (r == CLI_USAGE)
        err_hint(err, "see '%s --help'", q->ask.front->program.name);
    return r;
}

int front_translate(const struct front *f, char *const *words, size_t n, char *const *env,
                    struct front_call *ret, struct err *err)
{
    struct request q = { .ask = { .name = f->program.name, .env = env } };
    int r = front_take_apart(f, words, n, &q, err);

    *ret = (struct front_call){ 0 };
    if (r == 0 && (q.args.help || q.args.version || !q.ask.verb->translate))
        r = err_set(err, -EINVAL, "nothing to translate");
    if (r == 0)
        r = front_translate_request(&q, ret, err);
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
    if (c->before.n > 0) {
        fprintf(stderr, "%s: first: ydl", q->ask.name);
        for (size_t i = 0; i < c->before.n; i++) {
            char clean[4096];

            str_clean(clean, sizeof(clean), c->before.v[i]);
            print_word(stderr, clean);
        }
        fputc('\n', stderr);
    }
    fprintf(stderr, "%s: equivalent command: ydl", q->ask.name);
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
        fprintf(stderr,
                "\n"
                "%s: where JOB is: %s",
                q->ask.name, c->job);
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

static int run_before(const struct request *q, const struct cli_program *program,
                      struct front_call *c, struct err *err)
{
    AUTO_FREE char **argv = calloc(c->before.n + 2, sizeof(*argv));

    if (!argv)
        return err_oom(err);
    argv[0] = (char *)q->ask.name;
    for (size_t i = 0; i < c->before.n; i++)
        argv[i + 1] = c->before.v[i];
    return before_run(program, argv, c->before.n + 1, front_given(&q->ask, "--json"),
                      front_given(&q->ask, "--quiet"), err);
}

/* From here on it is ydl's own command line, run in this process under the older program's name.
 * `before` is one that has to succeed first; its failure is the exit status. */
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
    code = c->before.n > 0 ? run_before(q, &program, c, err) : 0;
    if (code != 0)
        return code;
    argv[0] = (char *)q->ask.name;
    for (size_t i = 0; i < c->words.n; i++)
        argv[i + 1] = c->words.v[i];
    code = globals_main_job(&program, (int)c->words.n + 1, argv, c->job);
    return q->ask.front->exit_code ? q->ask.front->exit_code(code) : code;
}

int front_help(const struct front *f, const struct front_verb *v, struct err *err)
{
    struct cli c = { .program = &f->program, .verb = &v->cli };

    if (v->cli.name)
        c.path[c.depth++] = c.verb;
    cli_help(stdout, &c, cli_width(stdout), CLI_HELP_PROSE | CLI_HELP_ALL);
    return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
}

static int front_version(const struct request *q, struct err *err)
{
    printf("%s %s\n", q->ask.name, q->ask.program->version);
    return fflush(stdout) == 0 ? 0 : err_sys(err, "write to standard output");
}

static int front_serve(struct request *q, struct err *err)
{
    AUTO_FRONT_CALL call = { 0 };
    int r;

    if (q->args.version)
        return front_version(q, err);
    if (q->args.help)
        return front_help(q->ask.front, q->ask.verb, err);
    if (q->ask.verb->act)
        return q->ask.verb->act(&q->ask, err);
    r = front_translate_request(q, &call, err);
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
