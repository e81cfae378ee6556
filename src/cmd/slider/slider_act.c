/* slider_act.c - a verb from its words to its exit code; see slider_verb.h. */
#include "base/log.h"
#include "cli/doc.h"
#include "cli/exit.h"
#include "cmd/slider/slider_store.h"
#include "cmd/slider/slider_verb.h"

#include <stdio.h>

/* ---- how it ends ---- */

static int report_json(int result, int code, const struct err *err)
{
    json_t *error = exit_json(result, err);

    if (!error || json_object_set_new(error, "exit", json_integer(code)) < 0) {
        json_decref(error);
        return -ENOMEM;
    }
    return doc_print(NULL, "{s:o}", "error", error);
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

/* ---- running ---- */

static int missing_name(const struct slider *s, struct err *err)
{
    cli_bad(err, "the application's name is missing");
    err_hint(err, "try: %s %s tf1%s", s->ask->name, s->ask->verb->cli.name,
             str_eq(s->ask->verb->cli.name, "create")
                 ? " --appdef DIR --template appConfig.json --resources resources.json"
                 : "");
    return CLI_USAGE;
}

/* The operands: a name and, for `exports`, a group. */
static int take_operands(struct slider *s, struct err *err)
{
    const struct strs *words = &s->ask->args->command;
    const struct cli_verb *v = &s->ask->verb->cli;

    if (words->n == 0)
        return v->least > 0 ? missing_name(s, err) : 0;
    if (words->n > v->most)
        return cli_bad(err, "unexpected '%.100s'", words->v[v->most]);
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
static void slider_make_words(const struct slider *s, struct front_call *c)
{
    static const char *const flags[] = { "--json", "--verbose", "--quiet" };
    const char *conf = slider_value(s, "--conf");

    front_add(c, s->ask->name);
    front_add(c, "submit");
    front_option(c, "--on", "%s", s->local ? "local" : "yarn");
    if (conf)
        front_option(c, "--conf", "%s", conf);
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        if (slider_given(s, flags[i]))
            front_add(c, flags[i]);
    if (slider_given(s, "--debug"))
        front_add(c, "--verbose");
}

static int slider_work(struct job_call *x, struct err *err)
{
    struct slider *s = (struct slider *)x->cli; /* its first member */
    int r;

    s->x = x;
    r = s->fn(s, err);
    slider_store_close(s);
    return r;
}

static int slider_run(struct slider *s, struct err *err)
{
    struct cli_program program = *s->ask->program;
    AUTO_FRONT_CALL call = { 0 };
    const char *on = front_on(s->ask, "yarn");
    int r = 0;

    if (!str_eq(on, "local") && !str_eq(on, "yarn"))
        r = cli_bad(err, "YDL_ON is '%.60s', which is neither local nor yarn", on);
    if (r == 0)
        r = take_operands(s, err);
    if (r == 0)
        r = take_options(s, err);
    if (r < 0)
        return r;
    slider_make_words(s, &call);
    if (call.failed)
        return err_oom(err);
    program.name = s->ask->name;
    log_init(program.name);
    if (slider_given(s, "--quiet"))
        log_set_level(LOG_LEVEL_ERROR);
    else if (slider_given(s, "--verbose") || slider_given(s, "--debug"))
        log_set_level(LOG_LEVEL_INFO);
    r = cli_parse(&program, (int)call.words.n, call.words.v, &s->cli, err);
    if (r == 0)
        r = job_run(&s->cli, slider_work, err);
    cli_done(&s->cli);
    return r;
}

int slider_act(const struct front_ask *a, slider_fn *fn, struct err *err)
{
    struct slider s = { .ask = a,
                        .fn = fn,
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
