/* framework_testing.c - see framework_testing.h. */
#include "framework/framework_testing.h"
#include "test.h"

#include <string.h>

/* "#! workers 2": so that a text can stand for a whole command line. */
static int apply_flags(struct spec *s, const char *text, struct spec_faults *f)
{
    AUTO_STRS lines = { 0 };
    int r = strs_split(&lines, text, "\n");

    for (size_t i = 0; i < lines.n && r == 0; i++) {
        char *word = lines.v[i] + 2, *space;

        if (!str_starts(lines.v[i], "#!"))
            continue;
        word += strspn(word, " ");
        space = strchr(word, ' ');
        if (!space)
            return -EPROTO;
        *space = '\0';
        r = spec_flag(s, word, space + 1, f);
    }
    return r;
}

int job_read(struct job *j, const char *file, const char *text)
{
    int r;

    spec_init(&j->spec);
    r = spec_parse(file, text, strlen(text), &j->spec, &j->faults);
    if (r == 0)
        r = apply_flags(&j->spec, text, &j->faults);
    if (r == 0)
        r = framework_find(j->spec.framework, &j->framework, NULL);
    if (r == 0)
        r = framework_complete(j->framework, &j->spec, &j->faults);
    return r == 0 ? spec_check(&j->spec, &j->faults) : r;
}

/* Fails the test unless all was well so far. */
static void make_plan(struct job *j, int r)
{
    if (r < 0 && r != -ENOMEM)
        print_message("%s\n", job_faults(j));
    assert_int_equal(r, 0);
    assert_int_equal(plan_places_new(&j->spec, &j->places), 0);
    assert_int_equal(plan_cache_new(&j->cache), 0);
    j->plan = (struct plan){
        .spec = &j->spec,
        .framework = j->framework,
        .job = "local-1",
        .out = "/out",
        .cluster = plan_places_cluster(j->places),
        .server_host = "127.0.0.1",
        .server_port = plan_places_next_port(j->places),
        .cache = j->cache,
    };
}

void job_plan(struct job *j, const char *text)
{
    make_plan(j, job_read(j, NULL, text));
}

void job_receive(struct job *j, const struct spec *sent)
{
    AUTO_BUF text = { .max = SPEC_FILE_MAX };
    int r;

    spec_init(&j->spec);
    assert_int_equal(spec_print(sent, &text, NULL), 0);
    r = spec_parse("spec.json", text.data, text.len, &j->spec, &j->faults);
    if (r == 0)
        r = framework_find(j->spec.framework, &j->framework, NULL);
    if (r == 0)
        r = spec_check(&j->spec, &j->faults);
    make_plan(j, r);
}

void job_done(struct job *j)
{
    spec_done(&j->spec);
    spec_faults_done(&j->faults);
    plan_places_free(j->places);
    plan_cache_free(j->cache);
    *j = (struct job){ 0 };
}

/* `own`: without what every task gets, whatever its framework. */
static char *joined(const struct strs *l, char between, bool own)
{
    AUTO_BUF b = { .max = 4 * MIB };
    char *all;

    for (size_t i = 0; i < l->n; i++) {
        if (own && (str_starts(l->v[i], "YDL_") || str_eq(l->v[i], "PYTHONUNBUFFERED=1")))
            continue;
        if (b.len > 0)
            assert_int_equal(buf_add_u8(&b, (uint8_t)between), 0);
        assert_int_equal(buf_add_str(&b, l->v[i]), 0);
    }
    assert_non_null(buf_text(&b));
    all = strdup(buf_text(&b));
    assert_non_null(all);
    return all;
}

const char *job_faults(const struct job *j)
{
    return j->faults.lines.n > 0 ? j->faults.lines.v[0] : "";
}

char *job_env(const struct job *j, const char *role, unsigned rank, bool all)
{
    AUTO_PLAN_TASK t = { 0 };

    assert_non_null(spec_role(&j->spec, role));
    assert_int_equal(plan_task(&j->plan, spec_role(&j->spec, role), rank, &t, NULL), 0);
    return joined(&t.env, '\n', !all);
}

char *job_command(const struct job *j, const char *role, unsigned rank)
{
    AUTO_PLAN_TASK t = { 0 };

    assert_non_null(spec_role(&j->spec, role));
    assert_int_equal(plan_task(&j->plan, spec_role(&j->spec, role), rank, &t, NULL), 0);
    return joined(&t.argv, ' ', false);
}
