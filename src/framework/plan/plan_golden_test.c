/* plan_golden_test.c - the plans in test/job/plans: each NN-name.yaml has its NN-name.json, the
 * document that `ydl plan --json` prints with made-up addresses.
 *
 * After a change that is meant to change plans: YDL_GOLDEN=1
 * build/dev/unit/framework_plan_golden_test writes them again, and the difference is to be read
 * like code. */
#include "framework/framework_testing.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define DIR_NAME YDL_SOURCE_DIR "/test/job/plans"
#define PLANS 51

static int is_yaml(const struct dirent *e)
{
    return str_ends(e->d_name, ".yaml");
}

static char *slurp(const char *path)
{
    AUTO_BUF b = { .max = 4 * MIB };
    FILE *f = fopen(path, "r");
    char piece[4096];
    size_t n;

    if (!f)
        return strdup("");
    while ((n = fread(piece, 1, sizeof(piece), f)) > 0)
        assert_int_equal(buf_add(&b, piece, n), 0);
    (void)fclose(f);
    assert_non_null(buf_text(&b));
    return strdup(buf_text(&b));
}

static char *render(const char *yaml)
{
    AUTO_JOB j = { 0 };
    const struct plan_agent agent = { .cwd = "/work" };
    AUTO_JSON *plan = NULL;
    AUTO_FREE char *text = NULL;
    char *all;

    job_plan(&j, yaml);
    j.plan.agent = &agent;
    assert_int_equal(plan_json(&j.plan, &plan, NULL), 0);
    text = json_dumps(plan, JSON_INDENT(2));
    assert_non_null(text);
    all = str_printf("%s\n", text);
    assert_non_null(all);
    return all;
}

static void keep(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void check(const char *name)
{
    AUTO_FREE char *yaml_path = str_printf("%s/%s", DIR_NAME, name);
    AUTO_FREE char *json_path = str_printf("%s/%.*s.json", DIR_NAME, (int)strlen(name) - 5, name);
    AUTO_FREE char *yaml = NULL, *kept = NULL, *now = NULL;

    assert_non_null(yaml_path);
    assert_non_null(json_path);
    yaml = slurp(yaml_path);
    now = render(yaml);
    if (getenv("YDL_GOLDEN"))
        keep(json_path, now);
    kept = slurp(json_path);
    if (strcmp(kept, now) != 0)
        print_message("%s has changed\n", name);
    assert_string_equal(kept, now);
}

static void fifty_plans_are_what_they_were(void **state)
{
    struct dirent **names = NULL;
    int n = scandir(DIR_NAME, &names, is_yaml, alphasort);

    (void)state;
    assert_int_equal(n, PLANS);
    for (int i = 0; i < n; i++) {
        check(names[i]->d_name);
        free(names[i]);
    }
    free(names);
}

/* The document has no order of its own making: the same job gives the same bytes. */
static void a_plan_made_twice_is_the_same(void **state)
{
    static const char job[] = "framework: pytorch\ncommand: x\nenv: {B: b, A: a}\n#! workers 3\n";
    AUTO_FREE char *one = render(job), *two = render(job);

    (void)state;
    assert_string_equal(one, two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fifty_plans_are_what_they_were),
        cmocka_unit_test(a_plan_made_twice_is_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
