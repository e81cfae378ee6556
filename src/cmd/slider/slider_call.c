/* slider_call.c - what the verbs of `slider` run on, and how they end; see slider_verb.h. */
#include "base/log.h"
#include "base/path.h"
#include "cli/exit.h"
#include "cmd/slider/slider_verb.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 64

static const struct {
    const char *verb;
    slider_fn *fn;
    bool named; /* needs an application's name */
} verbs[] = {
    { "create", slider_create, true },      { "build", slider_build, true },
    { "update", slider_update, true },      { "start", slider_start_verb, true },
    { "stop", slider_stop, true },          { "status", slider_status, true },
    { "list", slider_list, false },         { "exists", slider_exists, true },
    { "destroy", slider_destroy, true },    { "flex", slider_flex, true },
    { "registry", slider_registry, false }, { "exports", slider_exports, true },
    { "lookup", slider_lookup, false },
};

/* ---- exit codes ---- */

int slider_exit(int code)
{
    static const struct {
        int ydl, slider;
    } rows[] = {
        { EXIT_OTHER, SLIDER_EXCEPTION },   { EXIT_UNREACHABLE, SLIDER_UNREACHABLE },
        { EXIT_INTERNAL, SLIDER_INTERNAL }, { EXIT_CREATE, SLIDER_EXCEPTION },
        { EXIT_AGAIN, SLIDER_BAD_STATE },   { EXIT_DENIED, SLIDER_FORBIDDEN },
        { EXIT_TIME, SLIDER_TIMED_OUT },    { EXIT_INTERRUPTED, SLIDER_INTERRUPTED },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].ydl == code)
            return rows[i].slider;
    return code;
}

int slider_fail(struct slider *s, enum slider_code code, int result, struct err *err,
                const char *fmt, ...)
{
    char text[sizeof(err->text)];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    s->code = code;
    return err_set(err, result, "%s", text);
}

static int report_json(int result, int code, const struct err *err)
{
    json_t *error = exit_json(result, err);
    AUTO_JSON *doc = NULL;

    if (!error || json_object_set_new(error, "exit", json_integer(code)) < 0) {
        json_decref(error);
        return -ENOMEM;
    }
    if (json_make(&doc, NULL, "{s:o}", "error", error) < 0)
        return -ENOMEM;
    return json_print(stdout, doc, NULL);
}

/* The sentence, the line of the file that it is about, and the hint. */
static int report(struct slider *s, int result, const struct err *err)
{
    int code = s->code ? (int)s->code : slider_exit(exit_code(result));
    char text[4 * sizeof(err->text)];

    if (result == EXIT_OUTPUT_GONE)
        return EXIT_PIPE;
    str_clean(text, sizeof(text), err->text[0] ? err->text : "failed without saying why");
    fprintf(stderr, "%s: %s\n", s->ask->name, text);
    if (s->excerpt.len > 0)
        (void)fwrite(s->excerpt.data, 1, s->excerpt.len, stderr);
    if (err->hint[0]) {
        str_clean(text, sizeof(text), err->hint);
        fprintf(stderr, "  hint: %s\n", text);
    }
    if (s->json)
        (void)report_json(result, code, err); /* standard error has it too */
    return code;
}

void slider_say_notes(struct slider *s)
{
    struct front_call c = { .notes = s->notes };

    front_say_notes(s->ask, &c);
    strs_done(&s->notes);
    s->notes = (struct strs){ 0 };
}

/* ---- what comes out ---- */

int slider_put_text(struct slider *s, const char *text, struct err *err)
{
    const char *out = slider_value(s, "--out");
    int r;

    if (!out) {
        if (fputs(text, stdout) == EOF || fflush(stdout) == EOF)
            return errno == EPIPE ? EXIT_OUTPUT_GONE : err_sys(err, "write to standard output");
        return 0;
    }
    r = path_write(out, text, strlen(text), 0600, err); /* settings can be secret */
    return exit_named_file(r, err);
}

int slider_put(struct slider *s, const json_t *doc, struct err *err)
{
    AUTO_FREE char *text = json_dumps(doc, JSON_INDENT(2));
    AUTO_FREE char *line = text ? str_printf("%s\n", text) : NULL;

    return line ? slider_put_text(s, line, err) : err_oom(err);
}

/* ---- running ---- */

int slider_check_name(const char *name, struct err *err)
{
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-");

    if (name[0] >= 'a' && name[0] <= 'z' && !name[n] && n <= NAME_BYTES)
        return 0;
    cli_bad(err, "'%.100s' is no application's name", name);
    err_hint(err, "it has small letters, digits, '_' and '-', at most %d, and a letter first",
             NAME_BYTES);
    return CLI_USAGE;
}

static int missing_name(const struct slider *s, struct err *err)
{
    cli_bad(err, "the application's name is missing");
    err_hint(err, "as in: %s %s tf1%s", s->ask->name, s->ask->verb->cli.name,
             str_eq(s->ask->verb->cli.name, "create")
                 ? " --appdef DIR --template appConfig.json --resources resources.json"
                 : "");
    return CLI_USAGE;
}

/* The operands: a name and, for `exports`, a group. */
static int take_operands(struct slider *s, bool named, struct err *err)
{
    const struct strs *words = &s->ask->args->command;
    size_t most = str_eq(s->ask->verb->cli.name, "exports") ? 2 : 1;

    if (words->n == 0)
        return named ? missing_name(s, err) : 0;
    if (words->n > most)
        return cli_bad(err, "unexpected '%.100s'", words->v[most]);
    s->name = words->v[0];
    return slider_check_name(s->name, err);
}

/* What is to be said of options that have no effect. */
static int take_options(struct slider *s, struct err *err)
{
    const struct legacy_args *args = s->ask->args;

    for (size_t i = 0; i < args->n; i++) {
        const struct cli_opt *o = args->hits[i].option;

        if (o->no_effect && strs_take(&s->notes, str_printf("%s has no effect: %s",
                                                            args->hits[i].name, o->no_effect)) < 0)
            return err_oom(err);
    }
    return 0;
}

/* The words of ydl that a job is started with; the rest is in the job itself. */
static int slider_make_words(const struct slider *s, struct strs *ret)
{
    static const char *const flags[] = { "--json", "--verbose", "--quiet" };
    const char *conf = slider_value(s, "--conf");
    int r = strs_add(ret, s->ask->name);

    if (r == 0)
        r = strs_add(ret, "submit");
    if (r == 0)
        r = strs_take(ret, str_printf("--on=%s", s->local ? "local" : "yarn"));
    if (r == 0 && conf)
        r = strs_take(ret, str_printf("--conf=%s", conf));
    for (size_t i = 0; r == 0 && i < COUNT_OF(flags); i++)
        if (slider_given(s, flags[i]))
            r = strs_add(ret, flags[i]);
    if (r == 0 && slider_given(s, "--debug"))
        r = strs_add(ret, "--verbose");
    return r;
}

static slider_fn *function_of(const char *verb, bool *ret_named)
{
    for (size_t i = 0; i < COUNT_OF(verbs); i++)
        if (str_eq(verbs[i].verb, verb)) {
            *ret_named = verbs[i].named;
            return verbs[i].fn;
        }
    return NULL;
}

static int slider_work(struct job_call *x, struct err *err)
{
    struct slider *s = (struct slider *)x->cli; /* its first member */
    bool named;
    int r;

    s->x = x;
    r = function_of(s->ask->verb->cli.name, &named)(s, err);
    slider_store_close(s);
    return r;
}

static int slider_run(struct slider *s, struct err *err)
{
    struct cli_program program = *s->ask->program;
    AUTO_STRS words = { 0 };
    bool named = false;
    const char *on = front_on(s->ask, "yarn");
    int r = function_of(s->ask->verb->cli.name, &named) ? 0 : err_set(err, -ENOSYS, "no such verb");

    if (r == 0 && !str_eq(on, "local") && !str_eq(on, "yarn"))
        r = cli_bad(err, "YDL_ON is '%.60s', which is neither local nor yarn", on);
    if (r == 0)
        r = take_operands(s, named, err);
    if (r == 0)
        r = take_options(s, err);
    if (r < 0)
        return r;
    if (slider_make_words(s, &words) < 0)
        return err_oom(err);
    program.name = s->ask->name;
    log_init(program.name);
    if (slider_given(s, "--quiet"))
        log_set_level(LOG_LEVEL_ERROR);
    else if (slider_given(s, "--verbose") || slider_given(s, "--debug"))
        log_set_level(LOG_LEVEL_INFO);
    r = cli_parse(&program, (int)words.n, words.v, &s->cli, err);
    if (r == 0)
        r = job_run(&s->cli, slider_work, err);
    cli_done(&s->cli);
    return r;
}

int slider_act(const struct front_ask *a, struct err *err)
{
    struct slider s = { .ask = a,
                        .local = str_eq(front_on(a, "yarn"), "local"),
                        .json = front_given(a, "--json"),
                        .excerpt = { .max = 16 * KIB } };
    int r = slider_run(&s, err);

    if (r == CLI_USAGE)
        err_hint(err, "see '%s %s --help'", a->name, a->verb->cli.name);
    slider_say_notes(&s); /* those that nobody has said yet */
    if (r < 0)
        r = report(&s, r, err);
    buf_done(&s.excerpt);
    strs_done(&s.notes);
    return r;
}
