/* spec_flags_test.c - command-line options; see spec_flag() in spec.h */
#include "job/spec/spec_keys.h"
#include "test.h"

#include <string.h>

struct flag {
    const char *name, *value;
};

/* Options after a file (which may be NULL); then the specification as text, or the faults. */
static char *result(const char *file, const struct flag *flags)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_BUF b = { .max = 64 * KIB };
    struct err err = ERR_INIT;

    spec_init(&s);
    if (file && spec_parse("job.yaml", file, strlen(file), &s, &f) < 0)
        return NULL;
    for (; flags->name; flags++)
        if (spec_flag(&s, flags->name, flags->value, &f) == -ENOMEM)
            return NULL;
    for (size_t i = 0; i < f.lines.n; i++)
        if (buf_printf(&b, "%s\n", f.lines.v[i]) < 0)
            return NULL;
    if (f.n == 0 && spec_print(&s, &b, &err) < 0)
        return NULL;
    return buf_text(&b) ? strdup(buf_text(&b)) : NULL;
}

struct row {
    const char *file;
    struct flag flags[6];
    const char *result;
};

static void expect(const struct row *row)
{
    AUTO_FREE char *text = result(row->file, row->flags);

    assert_non_null(text);
    assert_string_equal(text, row->result);
}

#define EXPECT(rows)                                                                               \
    for (size_t i_ = 0; i_ < COUNT_OF(rows); i_++)                                                 \
    expect(&(rows)[i_])

/* clang-format off */

static void options_say_what_keys_say(void **state)
{
    static const struct row rows[] = {
        { NULL, { { "name", "x" }, { "framework", "mxnet" }, { "queue", "q" }, { "priority", "3" } },
          "{\"name\":\"x\",\"framework\":\"mxnet\",\"queue\":\"q\",\"priority\":3}" },
        { NULL, { { "restart", "gang" }, { "max-restarts", "5" }, { "gang-hold", "1m" },
                  { "gang-retry", "3" }, { "grace", "1" } },
          "{\"restart\":{\"policy\":\"gang\",\"max\":5},\"gang\":{\"hold\":\"1m\",\"retry\":\"3\"},"
          "\"grace\":\"1s\"}" },
        { NULL, { { "label", "gpu" }, { "image", "i:1" }, { "venv", "env" }, { "timeout", "1h" },
                  { "tensorboard", "tb" } },
          "{\"venv\":\"env\",\"image\":\"i:1\",\"timeout\":\"1h\",\"tensorboard\":"
          "{\"logdir\":\"tb\"},\"label\":\"gpu\"}" },
        { NULL, { { "tag", "a,b" }, { "tag", "c" }, { "tag", "a" }, { "nodes", "4" } },
          "{\"tags\":[\"a\",\"b\",\"c\"],\"nodes\":4}" },
        { NULL, { { "attempts", "4" }, { "staging", "/s" }, { "image-by", "yarn" },
                  { "mount", "/a:/b" }, { "mount", "/c:/d:ro" } },
          "{\"image-by\":\"yarn\",\"mounts\":[\"/a:/b\",\"/c:/d:ro\"],\"attempts\":4,"
          "\"staging\":\"/s\"}" },
        { NULL, { { "client-address", "10.1.2.3" } }, "{\"client-address\":\"10.1.2.3\"}" },
        { NULL, { { "avoid", "all" } }, "{\"avoid\":\"all\"}" },
        { NULL, { { "native", "no" } }, "{\"native\":\"no\"}" },
        { NULL, { { "hadoop", "yes" } }, "{\"hadoop\":\"yes\"}" },
        { NULL, { { "pip", "a[x,y]>=1,<2,!=1.5,b,-r c.txt" } },
          "{\"pip\":[\"a[x,y]>=1,<2,!=1.5\",\"b\",\"-r c.txt\"]}" },
        { NULL, { { "role", "w=2,spread=pack,hosts=n1" } },
          "{\"roles\":{\"w\":{\"count\":2,\"spread\":\"pack\",\"hosts\":[\"n1\"]}}}" },
        { NULL, { { "pip", "numpy" }, { "pip", "scipy" } },
          "{\"pip\":[\"numpy\",\"scipy\"]}" },
        { NULL, { { "env", "A=1" }, { "env", "B=x=y" }, { "env", "C=" } },
          "{\"env\":{\"A\":\"1\",\"B\":\"x=y\",\"C\":\"\"}}" },
        { NULL, { { "files", "a.py,dir/b.py#c.py" }, { "archives", "env.tgz#env" } },
          "{\"files\":[\"a.py\",{\"from\":\"dir/b.py\",\"to\":\"c.py\"}],"
          "\"archives\":[{\"from\":\"env.tgz\",\"to\":\"env\"}]}" },
        { NULL, { { "output", "hdfs:///out/day=7" } },
          "{\"output\":[{\"from\":\"\",\"to\":\"hdfs:///out/day=7\"}]}" },
        { NULL, { { "output", "out=/tmp/x" }, { "output", "/abs/a=b" } },
          "{\"output\":[{\"from\":\"out\",\"to\":\"/tmp/x\"},{\"from\":\"\",\"to\":\"/abs/a=b\"}]}" },
        { NULL, { { "publish", "m" }, { "publish-path", "a/b" }, { "registry", "/r" } },
          "{\"output\":[{\"publish\":{\"name\":\"m\",\"path\":\"a/b\",\"registry\":\"/r\"}}]}" },
        { NULL, { { "role", "ps=2" } }, "{\"roles\":{\"ps\":{\"count\":2}}}" },
        { NULL, { { "role", "ps=2,mem=1g,cpus=3,gpus=1,procs=4,after=db started,ready=port" } },
          "{\"roles\":{\"ps\":{\"count\":2,\"procs\":4,\"memory\":\"1g\",\"cpus\":3,\"gpus\":1,"
          "\"after\":[{\"db\":\"started\"}],\"ready\":{\"port\":true}}}}" },
        { NULL, { { "role", "ps=1,place=client,command=python -c 'a,b=1,2' --x=y" } },
          "{\"roles\":{\"ps\":{\"count\":1,\"command\":[\"python\",\"-c\",\"a,b=1,2\",\"--x=y\"],"
          "\"place\":\"client\"}}}" },
    };

    (void)state;
    EXPECT(rows);
}

static void options_win_over_the_file(void **state)
{
    static const struct row rows[] = {
        { "name: a\ngrace: 5s", { { "name", "b" } }, "{\"name\":\"b\",\"grace\":\"5s\"}" },
        { "env: {A: 1, B: 2}", { { "env", "A=3" } }, "{\"env\":{\"A\":\"3\",\"B\":\"2\"}}" },
        { "restart: {policy: task, window: 1h}", { { "max-restarts", "1" } },
          "{\"restart\":{\"policy\":\"task\",\"max\":1,\"window\":\"1h\"}}" },
        { "roles: {w: {count: 1, memory: 1g}}", { { "role", "w=5,cpus=2" } },
          "{\"roles\":{\"w\":{\"count\":5,\"memory\":\"1g\",\"cpus\":2}}}" },
        { "files: [a: x, b]", { { "files", "c#x" }, { "files", "b#y" } },
          "{\"files\":[{\"from\":\"c\",\"to\":\"x\"},{\"from\":\"b\",\"to\":\"y\"}]}" },
        { "output: {publish: a, publish/: b}", { { "publish", "c" }, { "output", "d" } },
          "{\"output\":[{\"from\":\"publish/\",\"to\":\"b\"},{\"from\":\"\",\"to\":\"d\"},"
          "{\"publish\":{\"name\":\"c\"}}]}" },
        { "output: hdfs:///a", { { "output", "hdfs:///b" } },
          "{\"output\":[{\"from\":\"\",\"to\":\"hdfs:///b\"}]}" },
    };

    (void)state;
    EXPECT(rows);
}

static void a_bad_option_is_named(void **state)
{
    static const struct row rows[] = {
        { NULL, { { "mem", "lots" } },
          "--mem: expected a size such as 512m or 1.5g, found 'lots'\n" },
        { NULL, { { "workers", "-1" } }, "--workers: '-1' is out of range (0 to 20000)\n" },
        { NULL, { { "procs", "0" } }, "--procs: '0' is out of range (1 to 20000)\n" },
        { NULL, { { "restart", "nver" } }, "--restart: 'nver' is not one of default, never, task, "
                                           "gang (did you mean 'never'?)\n" },
        { NULL, { { "env", "NAME" } }, "--env: expected NAME=VALUE, found 'NAME'\n" },
        { NULL, { { "role", "ps" } },
          "--role: expected NAME=COUNT[,KEY=VALUE…], found 'ps'\n" },
        { NULL, { { "role", "=1" } },
          "--role: expected NAME=COUNT[,KEY=VALUE…], found '=1'\n" },
        { NULL, { { "role", "ps=x,memroy=1g,cpus=a,gpus,env=A,queue=x" } },
          "--role: expected a number, found 'x'\n"
          "--role.memroy: unknown key (did you mean 'memory'?)\n"
          "--role.cpus: expected a number, found 'a'\n"
          "--role.gpus: expected KEY=VALUE\n"
          "--role.env: this key works only in a job file\n"
          "--role.queue: unknown key in a role: it belongs to the job\n" },
        { NULL, { { "no-such", "x" } }, "--no-such: there is no such option\n" },
        { "name: x", { { "grace", "x" } }, /* no line of the file */
          "--grace: expected a duration such as 30s, 5m or 1h30m, found 'x'\n" },
    };

    (void)state;
    EXPECT(rows);
}

/* clang-format on */

static void numbers_for_the_framework_wait_in_working(void **state)
{
    static const struct flag flags[] = { { "workers", "4" }, { "servers", "0" }, { "mem", "1.5g" },
                                         { "cpus", "3" },    { "gpus", "0" },    { "procs", "2" } };
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };

    (void)state;
    spec_init(&s);
    for (size_t i = 0; i < COUNT_OF(flags); i++)
        assert_int_equal(spec_flag(&s, flags[i].name, flags[i].value, &f), 0);
    assert_int_equal(s.working.workers, 4);
    assert_int_equal(s.working.servers, 0);
    assert_true(s.working.memory == 1536ll << 20);
    assert_int_equal(s.working.cpus, 3);
    assert_int_equal(s.working.gpus, 0);
    assert_int_equal(s.working.procs, 2);
    assert_int_equal(s.n_roles, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_say_what_keys_say),
        cmocka_unit_test(options_win_over_the_file),
        cmocka_unit_test(a_bad_option_is_named),
        cmocka_unit_test(numbers_for_the_framework_wait_in_working),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
