/* job_paths_test.c - see job_paths.h */
#include "base/path.h"
#include "launch/job_paths.h"
#include "test.h"

#include <string.h>
#include <unistd.h>

/* base/job.yaml with files of its own, and here/, where the person is. */
struct place {
    char *dir;
    struct spec spec;
};

static void make_file(const char *dir, const char *name)
{
    AUTO_FREE char *path = path_join(dir, name);

    assert_non_null(path);
    assert_int_equal(path_write(path, "", 0, 0644, NULL), 0);
}

static void make_place(struct place *p)
{
    char name[] = "/tmp/ydl-base-XXXXXX";

    assert_non_null(mkdtemp(name));
    p->dir = realpath(name, NULL);
    assert_non_null(p->dir);
    assert_int_equal(chdir(p->dir), 0);
    assert_int_equal(path_mkdirs("base/module", 0755, NULL), 0);
    assert_int_equal(path_mkdirs("here", 0755, NULL), 0);
    make_file("base", "train.py");
    make_file("base", "both");
    make_file("base", "needs.txt");
    make_file("here", "both");
    make_file("here", "old.py");
    make_file("here", "own.py");
    assert_int_equal(chdir("here"), 0);
    spec_init(&p->spec);
}

static void leave_place(struct place *p)
{
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(path_remove(p->dir, NULL), 0);
    spec_done(&p->spec);
    free(p->dir);
}

static void read_job(struct place *p, const char *text, const char *file, bool command)
{
    AUTO_SPEC_FAULTS f = { 0 };

    assert_int_equal(spec_parse("j", text, strlen(text), &p->spec, &f), 0);
    assert_int_equal(job_base(&p->spec, file, command, true), 0);
}

/* "base/x" for what lies below the place. */
static const char *below(const struct place *p, const char *path)
{
    size_t n = strlen(p->dir);

    return path && strncmp(path, p->dir, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static void what_a_job_file_names_lies_beside_it(void **state)
{
    static const char job[] = "command: python train.py\n"
                              "files: [both, old.py, none, /etc/passwd, 'hdfs:///x']\n"
                              "pip: [numpy, needs.txt, '-r needs.txt']\n"
                              "output: old.py\n" /* a new place, whatever is here */
                              "keytab: me.keytab\n"
                              "roles: {w: {files: [train.py]}}\n";
    static const char *const files[] = { "base/both",   "here/old.py", "base/none",
                                         "/etc/passwd", "hdfs:///x",   "here/both" };
    struct place p = { 0 };
    AUTO_SPEC_FAULTS f = { 0 };

    (void)state;
    make_place(&p);
    read_job(&p, job, "../base/job.yaml", false);
    assert_string_equal(below(&p, p.spec.directory), "base");
    assert_int_equal(spec_flag(&p.spec, "files", "both", &f), 0);
    assert_int_equal(spec_flag(&p.spec, "venv", "env", &f), 0);
    assert_int_equal(job_base_options(&p.spec, true), 0);
    assert_int_equal(p.spec.files.n, COUNT_OF(files));
    for (size_t i = 0; i < COUNT_OF(files); i++)
        assert_string_equal(below(&p, p.spec.files.v[i].from), files[i]);
    assert_string_equal(below(&p, p.spec.roles[0].files.v[0].from), "base/train.py");
    assert_string_equal(p.spec.pip.v[0], "numpy");
    assert_string_equal(below(&p, p.spec.pip.v[1]), "base/needs.txt");
    assert_string_equal(below(&p, p.spec.pip.v[2] + 3), "base/needs.txt");
    assert_string_equal(below(&p, p.spec.output.v[0].to), "base/old.py");
    assert_string_equal(below(&p, p.spec.keytab), "base/me.keytab");
    assert_string_equal(below(&p, p.spec.venv), "here/env");
    leave_place(&p);
}

static void a_command_runs_beside_its_job_file(void **state)
{
    static const struct {
        const char *job, *file;
        bool command;
        const char *directory; /* NULL: the current one */
    } rows[] = {
        { "command: python train.py", "../base/job.yaml", false, "base" },
        { "command: sh -c true", "../base/job.yaml", false, "base" },
        { "command: python both", "../base/job.yaml", false, "base" },
        { "command: python -m module.train", "../base/job.yaml", false, "base" },
        { "roles: {w: {command: ./train.py}}", "../base/job.yaml", false, "base" },
        { "command: python old.py", "../base/job.yaml", false, NULL },
        { "command: python -m own.sub", "../base/job.yaml", false, NULL },
        { "command: python train.py", "../base/job.yaml", true, NULL },
        { "command: python train.py", "job.yaml", false, NULL },
        { "command: python train.py", "../here/job.yaml", false, NULL },
        { "command: python train.py", "-", false, NULL },
        { "command: python train.py", "../gone/job.yaml", false, NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct place p = { 0 };

        make_place(&p);
        read_job(&p, rows[i].job, rows[i].file, rows[i].command);
        if (rows[i].directory)
            assert_string_equal(below(&p, p.spec.directory), rows[i].directory);
        else
            assert_null(p.spec.directory);
        leave_place(&p);
    }
}

/* There a target without a scheme is a path on the cluster. */
static void results_on_yarn_are_not_beside_the_file(void **state)
{
    static const char job[] = "command: python train.py\noutput: results\n";
    AUTO_SPEC_FAULTS f = { 0 };
    struct place p = { 0 };

    (void)state;
    make_place(&p);
    assert_int_equal(spec_parse("j", job, strlen(job), &p.spec, &f), 0);
    assert_int_equal(job_base(&p.spec, "../base/job.yaml", false, false), 0);
    assert_int_equal(job_base_options(&p.spec, false), 0);
    assert_string_equal(p.spec.output.v[0].to, "results");
    leave_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_job_file_names_lies_beside_it),
        cmocka_unit_test(a_command_runs_beside_its_job_file),
        cmocka_unit_test(results_on_yarn_are_not_beside_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
