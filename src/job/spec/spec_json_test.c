/* spec_json_test.c - the way through JSON and back, over the sample files in test/job/files */
#include "job/spec/spec.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define FILES YDL_SOURCE_DIR "/test/job/files"

static void read_file(const char *name, struct buf *out)
{
    AUTO_FREE char *path = str_printf("%s/%s", FILES, name);
    char piece[4096];
    size_t n;
    FILE *in;

    assert_non_null(path);
    in = fopen(path, "re");
    assert_non_null(in);
    while ((n = fread(piece, 1, sizeof(piece), in)) > 0)
        if (buf_add(out, piece, n) < 0)
            break;
    fclose(in);
    assert_true(out->len > 0);
}

/* Shows what was said about a sample that should have been fine. */
static void show(const char *name, const struct spec_faults *f)
{
    for (size_t i = 0; i < f->lines.n; i++)
        fprintf(stderr, "%s: %s\n", name, f->lines.v[i]);
}

/* Text to specification to text. */
static int there_and_back(const char *name, const void *text, size_t n, struct buf *out)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    struct err err = ERR_INIT;
    int r;

    spec_init(&s);
    r = spec_parse(name, text, n, &s, &f);
    if (r == 0)
        r = spec_check(&s, &f);
    if (r == -EINVAL)
        show(name, &f);
    return r < 0 ? r : spec_print(&s, out, &err);
}

static void round_trip(const char *name, const void *text, size_t n)
{
    AUTO_BUF once = { .max = 4 * MIB }, twice = { .max = 4 * MIB };

    assert_int_equal(there_and_back(name, text, n, &once), 0);
    assert_int_equal(there_and_back(name, once.data, once.len, &twice), 0);
    assert_string_equal(buf_text(&once), buf_text(&twice));
}

static void every_sample_comes_back_the_same(void **state)
{
    DIR *dir = opendir(FILES);
    const struct dirent *e;
    AUTO_STRS names = { 0 };

    (void)state;
    assert_non_null(dir);
    while ((e = readdir(dir)))
        if (str_ends(e->d_name, ".yaml") && strs_add(&names, e->d_name) < 0)
            break;
    closedir(dir);
    assert_true(names.n >= 30);
    for (size_t i = 0; i < names.n; i++) {
        AUTO_BUF b = { .max = 1 * MIB };

        read_file(names.v[i], &b);
        round_trip(names.v[i], b.data, b.len);
    }
}

static void the_full_sample_is_this_json(void **state)
{
    AUTO_BUF b = { .max = 1 * MIB }, out = { .max = 1 * MIB };

    (void)state;
    read_file("full.yaml", &b);
    assert_int_equal(there_and_back("full.yaml", b.data, b.len, &out), 0);
    assert_string_equal(
        buf_text(&out),
        "{\"name\":\"mnist\",\"framework\":\"tensorflow\",\"native\":\"yes\","
        "\"command\":[\"python\",\"ps.py\"],"
        "\"roles\":{\"ps\":{\"count\":1,\"memory\":\"1g\",\"cpus\":1,\"ports\":1,"
        "\"ready\":{\"port\":true}},\"worker\":{\"count\":2,\"procs\":1,\"memory\":\"2g\","
        "\"cpus\":2,\"gpus\":1,\"resources\":{\"nec.com/"
        "ve\":2},\"command\":[\"python\",\"train.py\",\"--epochs\",\"3\"],"
        "\"spread\":\"node\",\"hosts\":[\"node1\",\"/rack2\"],\"ports\":1,"
        "\"exports\":{\"worker/host_port\":\"{host}:{port}\"},"
        "\"after\":[{\"ps\":\"ready\"}],\"restart\":{\"policy\":\"task\",\"max\":2,"
        "\"window\":\"30m\"}}},\"files\":[\"train.py\",{\"from\":\"conf/\",\"to\":\"conf\"},"
        "{\"from\":\"hdfs:///data/mnist\",\"to\":\"data\"}],"
        "\"archives\":[{\"from\":\"env.tar.gz\",\"to\":\"env\"}],"
        "\"env\":{\"OMP_NUM_THREADS\":\"2\",\"DEBUG\":\"true\",\"LR\":\"0.10\"},"
        "\"venv\":\"env\",\"pip\":[\"numpy==1.26\",\"scipy>=1.10\"],\"hadoop\":\"yes\","
        "\"image-by\":\"agent\",\"mounts\":[\"/data:/data:ro\"],"
        "\"restart\":{\"policy\":\"task\",\"max\":3,\"window\":\"1h\"},\"avoid\":\"all\","
        "\"timeout\":\"2d\","
        "\"output\":[{\"from\":\"out/\",\"to\":\"hdfs:///user/me/mnist/\"},"
        "{\"publish\":{\"name\":\"mnist\",\"path\":\"model/\",\"alias\":\"champion\","
        "\"tags\":{\"data\":\"2026-11\"},\"registry\":\"hdfs:///models\","
        "\"commit\":\"4b825dc642cb6eb9a060e54bf8d69288fbee4904\"}}],"
        "\"tensorboard\":{\"logdir\":\"out/tb\",\"tracking\":true},\"log-limit\":\"1g\","
        "\"log-rotate\":\"16m\",\"log-keep\":8,"
        "\"port-range\":\"10000-10999\",\"queue\":\"default\",\"priority\":5,"
        "\"tags\":[\"mnist\",\"nightly\"],\"label\":\"gpu\","
        "\"acl\":{\"view\":\"alice,bob research\",\"modify\":\"alice\"},\"attempts\":3,"
        "\"master\":{\"memory\":\"128m\",\"cpus\":2,\"label\":\"edge\",\"window\":\"30m\"},"
        "\"staging\":\"hdfs:///user/me/.jobs\",\"principal\":\"me@EXAMPLE.COM\","
        "\"keytab\":\"/etc/keys/me.keytab\",\"client-address\":\"10.0.0.9\","
        "\"nodes\":2}");
}

/* Values that JSON and YAML see differently, by hand because no file can hold them all. */
static void any_text_survives_the_way(void **state)
{
    static const char *const texts[] = {
        "plain",
        "",
        "null",
        "~",
        "true",
        "1",
        "- a",
        "a: b",
        "#x",
        "&a *b !c",
        "'\"\\/",
        "a\nb\r\tc",
        "\x01\x1f\x7f",
        "\xc2\x80\xc2\x85\xc2\x9f",
        "\xe2\x80\xa8\xe2\x80\xa9",
        "\xef\xbb\xbf",
        "\xef\xbf\xbe\xef\xbf\xbf",
        "\xf0\x9f\x8e\x89",
        " lead and trail ",
        "{{rank}}",
        "%YAML",
        "---",
        "...",
        "? x",
        "| x",
        "> x",
        "@x",
        "`x`",
    };
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 }, t = { 0 };
    AUTO_BUF out = { .max = 1 * MIB };
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&s);
    spec_init(&t);
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_int_equal(strs_add(&s.command, texts[i]), 0);
    assert_int_equal(spec_print(&s, &out, &err), 0);
    assert_int_equal(spec_parse("x", out.data, out.len, &t, &f), 0);
    assert_int_equal(t.command.n, COUNT_OF(texts));
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_string_equal(t.command.v[i], texts[i]);
}

static void long_names_survive_the_way(void **state)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 }, t = { 0 };
    AUTO_BUF out = { .max = 1 * MIB };
    struct err err = ERR_INIT;
    char from[4001], to[3001], name[257];

    (void)state;
    memset(from, 'a', sizeof(from) - 1);
    memset(to, 'b', sizeof(to) - 1);
    memset(name, 'c', sizeof(name) - 1);
    from[sizeof(from) - 1] = to[sizeof(to) - 1] = name[sizeof(name) - 1] = '\0';
    spec_init(&s);
    spec_init(&t);
    assert_int_equal(spec_add_file(&s.files, from, to), 0);
    assert_int_equal(spec_add_file(&s.output, from, to), 0);
    assert_int_equal(spec_set_var(&s.env, name, from), 0);
    assert_int_equal(spec_print(&s, &out, &err), 0);
    assert_int_equal(spec_parse("x", out.data, out.len, &t, &f), 0);
    assert_string_equal(t.files.v[0].from, from);
    assert_string_equal(t.output.v[0].to, to);
    assert_string_equal(t.env.v[0].name, name);
}

static void too_large_a_specification_is_an_error(void **state)
{
    AUTO_SPEC s = { 0 };
    AUTO_BUF out = { .max = 8 };
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&s);
    assert_int_equal(spec_set_text(&s.name, "a long name"), 0);
    assert_int_equal(spec_print(&s, &out, &err), -E2BIG);
    assert_string_equal(err.text, "the job's specification is too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_comes_back_the_same),
        cmocka_unit_test(the_full_sample_is_this_json),
        cmocka_unit_test(any_text_survives_the_way),
        cmocka_unit_test(long_names_survive_the_way),
        cmocka_unit_test(too_large_a_specification_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
