/* spec_check_test.c - what is found without the machine, line by line; see spec_check() in spec.h
 */
#include "job/spec/spec.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static char *lines_of(const struct spec_faults *f)
{
    AUTO_BUF b = { .max = 1 * MIB };

    for (size_t i = 0; i < f->lines.n; i++)
        if (buf_printf(&b, "%s%s", i ? "\n" : "", f->lines.v[i]) < 0)
            return NULL;
    return buf_text(&b) ? strdup(buf_text(&b)) : NULL;
}

struct row {
    const char *text, *lines;
};

/* Reads and checks; the lines of both, "" when all is well. */
static void expect(const struct row *row)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_FREE char *lines = NULL;
    int r;

    spec_init(&s);
    r = spec_parse("j", row->text, strlen(row->text), &s, &f);
    assert_true(r == 0 || r == -EINVAL);
    r = spec_check(&s, &f);
    lines = lines_of(&f);
    assert_non_null(lines);
    assert_string_equal(lines, row->lines);
    assert_int_equal(r, *row->lines ? -EINVAL : 0);
}

#define EXPECT(rows)                                                                               \
    for (size_t i_ = 0; i_ < COUNT_OF(rows); i_++)                                                 \
    expect(&(rows)[i_])

#define W "command: x\nroles: {w: 1}\n" /* what makes a job of the rest */

static void names_that_cannot_be_are_refused(void **state)
{
    static const struct row rows[] = {
        { W, "" },
        { W "name: a job of mine.2", "" },
        { W "name: a/b", "j:3: name: 'a/b' cannot be used: it has '/' or '..' in it" },
        { W "name: ../x", "j:3: name: '../x' cannot be used: it has '/' or '..' in it" },
        { W "name: ''", "j:3: name: '' cannot be used: it is empty" },
        { W "name: \"a\\nb\"", "j:3: name: 'a\\nb' cannot be used: it has a control character in "
                               "it" },
        { W "name: last", "j:3: name: 'last' cannot be used: 'last' means the job started last" },
        { W "name: -x", "j:3: name: '-x' cannot be used: it begins with '-'" },
        { W "name: 12345678901234567890123456789012345678901234567890123456789012345",
          "j:3: name: '12345678901234567890123456789012345678901234567890123456789012345' cannot "
          "be used: it is longer than 64 bytes" },
        { W "queue: a b", "j:3: queue: 'a b' cannot be used: it has a blank in it" },
        { W "tags: [ok, 'a,b']", "j:3: tags[1]: 'a,b' cannot be used: it has a comma in it" },
        { W "image: ''", "j:3: image: '' cannot be used: it is empty" },
        { W "tensorboard: {logdir: ''}",
          "j:3: tensorboard.logdir: '' cannot be used: it is empty" },
        { "command: x\nroles:\n  Worker: 1\n  -x: 1\n",
          "j:3: roles.Worker: a role name has at most 32 lowercase letters, digits, '-' and '_', "
          "and begins with a letter\n"
          "j:4: roles.-x: a role name has at most 32 lowercase letters, digits, '-' and '_', and "
          "begins with a letter" },
    };

    (void)state;
    EXPECT(rows);
}

static void what_yarn_needs_is_looked_at_like_the_rest(void **state)
{
    static const struct row rows[] = {
        { W "acl: alice,bob research", "" },
        { W "acl: {view: '*', modify: ' admins'}", "" },
        { W "acl: {view: 'a b c'}",
          "j:3: acl.view: 'a b c' cannot be used: expected USER,USER GROUP,GROUP: names separated "
          "by commas, with one blank before the groups" },
        { W "attempts: 0", "j:3: attempts: '0' is out of range (1 to 1000)" },
        { W "master: {label: a b}",
          "j:3: master.label: 'a b' cannot be used: it has a blank in it" },
        { W "master: {memory: 1}", "j:3: master.memory: '1' means 1 byte; did you mean 1g?" },
        { W "keytab: k", "j:3: keytab: principal and keytab must be given together" },
        { W "principal: a@B", "j:3: principal: principal and keytab must be given together" },
        { W "mounts: ['/a:/b', '/a:/b:ro', '/a:/b:rw']", "" },
        { W "mounts: ['/a:b']", "j:3: mounts[0]: '/a:b' cannot be used: expected /FROM:/TO, "
                                "optionally followed by :ro or :rw" },
        { W "mounts: ['/a:/b:x']", "j:3: mounts[0]: '/a:/b:x' cannot be used: expected /FROM:/TO, "
                                   "optionally followed by :ro or :rw" },
        { W "mounts: ['/a/../b:/b']",
          "j:3: mounts[0]: '/a/../b:/b' cannot be used: it has '..' in it" },
        { W "image-by: yran", "j:3: image-by: 'yran' is not one of auto, yarn, agent (did you mean "
                              "'yarn'?)" },
        { "command: x\nroles: {w: {hosts: ['a,b']}}",
          "j:2: roles.w.hosts[0]: 'a,b' cannot be used: it has a comma in it" },
        { "command: x\nroles: {w: {spread: nodes}}",
          "j:2: roles.w.spread: 'nodes' is not one of any, node, pack (did you mean 'node'?)" },
    };

    (void)state;
    EXPECT(rows);
}

#define BAD_EXPORT "expected GROUP/NAME with letters, digits, '_', '+' and '-'"

static void exports_are_texts_of_a_group(void **state)
{
    static const struct row rows[] = {
        { "command: x\nroles: {w: {ports: 1, exports: {ps/host_port: \"{host}:{port}\"}}}", "" },
        { "command: x\nroles: {w: {exports: {a-b_1+c/x.y: z, A/B: \"\"}}}", "" },
        { "command: x\nroles: {w: {exports: null}}", "" },
        { "command: x\nroles: {w: {exports: z}}",
          "j:2: roles.w.exports: expected a map of names and values, found 'z'" },
        { "command: x\nroles: {w: {exports: {plain: z, a/: z, /b: z, a/b/c: z, -a/b: z}}}",
          "j:2: roles.w.exports: 'plain' cannot be used: " BAD_EXPORT "\n"
          "j:2: roles.w.exports: 'a/' cannot be used: " BAD_EXPORT "\n"
          "j:2: roles.w.exports: '/b' cannot be used: " BAD_EXPORT "\n"
          "j:2: roles.w.exports: 'a/b/c' cannot be used: " BAD_EXPORT "\n"
          "j:2: roles.w.exports: '-a/b' cannot be used: " BAD_EXPORT },
        { "command: x\nroles: {w: {ports: 0, exports: {a/b: \"{port}\", a/c: \"{rnak}\"}}}",
          "j:2: roles.w.exports.a/b: {port}: tasks of role 'w' have no port; give it ports: 1\n"
          "j:2: roles.w.exports.a/c: {rnak}: unknown variable (did you mean {rank}? for literal "
          "braces, double them)" },
    };

    (void)state;
    EXPECT(rows);
}

static void amounts_of_resources_are_whole_and_have_names_of_their_own(void **state)
{
    static const struct row rows[] = {
        { "command: x\nroles: {w: {resources: {nec.com/ve: 2, a: 1}}}", "" },
        { "command: x\nroles: {w: {resources: null}}", "" },
        { "command: x\nroles: {w: {resources: 2}}",
          "j:2: roles.w.resources: expected a map of names and numbers, found '2'" },
        { "command: x\nroles: {w: {resources: {a: 0}}}",
          "j:2: roles.w.resources.a: '0' is out of range (1 to 1125899906842624)" },
        { "command: x\nroles: {w: {resources: {a: some}}}",
          "j:2: roles.w.resources.a: expected a whole number, found 'some'" },
        { "command: x\nroles: {w: {resources: {a: [1]}}}",
          "j:2: roles.w.resources.a: expected a whole number, found a list" },
        { "command: x\nroles: {w: {resources: {a b: 1}}}",
          "j:2: roles.w.resources: 'a b' cannot be used: it has a blank in it" },
        { "command: x\nroles: {w: {resources: {yarn.io/gpu: 1, vcores: 2, memory-mb: 3}}}",
          "j:2: roles.w.resources: 'yarn.io/gpu' is set by the key gpus\n"
          "j:2: roles.w.resources: 'vcores' is set by the key cpus\n"
          "j:2: roles.w.resources: 'memory-mb' is set by the key memory" },
    };

    (void)state;
    EXPECT(rows);
}

static void environments_that_cannot_be_are_refused(void **state)
{
    static const struct row rows[] = {
        { W "env: {A: 1, b.c: 2, 'D E': 3}", "" },
        { W "env: {'': 1}", "j:3: env: '' cannot be used: it is empty" },
        { W "env: {A=B: 1}", "j:3: env: 'A=B' cannot be used: a name has no '='" },
        { W "env:\n  A: 1\n  B: '{rnak}'\n", "j:5: env.B: {rnak}: unknown variable (did you mean "
                                             "{rank}? for literal braces, double them)" },
        { "command: x\nroles:\n  w:\n    env:\n      A: '{hosts:q}'\n",
          "j:5: roles.w.env.A: {hosts:q…}: there is no role 'q'" },
        { "command: x {port}\nroles: {w: {ports: 0}, v: {ports: 1}}",
          "j:1: command: {port}: tasks of role 'w' have no port; give it ports: 1" },
        { "command: x {port}\nroles: {w: {ports: 0, command: y}, v: {ports: 1}}", "" },
        { "env: {P: '{port}'}\ncommand: x\nroles: {w: {ports: 0, command: y}, v: {ports: 1}}",
          "j:1: env.P: {port}: tasks of role 'w' have no port; give it ports: 1" },
        { "command: ['', a]\nroles: {w: 1}", "j:1: command: the program's name is empty" },
    };

    (void)state;
    EXPECT(rows);
}

static void paths_out_of_the_directory_are_refused(void **state)
{
    static const struct row rows[] = {
        { W "files: [a, b: c/d, /abs/e, ../f, hdfs:///g: ..h, 'i': j..]", "" },
        { W "files:\n  - a: /etc/passwd\n",
          "j:4: files[0]: '/etc/passwd' cannot be used: it must be relative to the task's "
          "directory" },
        { W "files:\n  - ok\n  - a: ../b\n",
          "j:5: files[1]: '../b' cannot be used: it leaves the task's directory with '..'" },
        { W "archives: [a: b/../../c]", "j:3: archives[0]: 'b/../../c' cannot be used: it leaves "
                                        "the task's directory with '..'" },
        { W "files: [a: b/..]",
          "j:3: files[0]: 'b/..' cannot be used: it leaves the task's directory with '..'" },
        { W "files: [..]",
          "j:3: files[0]: '..' cannot be used: it has no name of its own; write FROM: NAME" },
        { W "files: [/]",
          "j:3: files[0]: '/' cannot be used: it has no name of its own; write FROM: NAME" },
        { W "files: ['']", "j:3: files[0]: '' cannot be used: it is empty" },
        { W "output: {../x: hdfs:///a}",
          "j:3: output: '../x' cannot be used: it leaves the task's directory with '..'" },
        { W "output: {/x: hdfs:///a}",
          "j:3: output: '/x' cannot be used: it must be relative to the task's directory" },
        { W "output: {x: }", "j:3: output: 'x' cannot be used: it has no target; write FROM: "
                             "TARGET" },
        { W "files: [a/x.py, b/x.py]",
          "j:3: files: 'a/x.py' and 'b/x.py' would have the same name in the task's directory" },
        { W "files: [a/x]\narchives: [b.zip: x/]",
          "j:3: files: 'a/x' and 'b.zip' would have the same name in the task's directory" },
        { "command: x\nfiles: [a]\nroles: {w: {files: [b: a]}}",
          "j:3: roles.w.files: 'a' and 'b' would have the same name in the task's directory" },
        { W "files: [a, a]", "" },
    };

    (void)state;
    EXPECT(rows);
}

static void roles_that_cannot_be_are_refused(void **state)
{
    static const struct row rows[] = {
        { "command: x\nroles: {w: {count: 20000, procs: 2}}",
          "j:2: roles: 40000 tasks in all; a job has at most 20000" },
        { "command: x\nroles: {w: {side: true, decides: true}}",
          "j:2: roles.w.side: a side role cannot decide the job's success" },
        { W "restart: {codes: [1, 256]}",
          "j:3: restart.codes: '256' is not an exit code from 1 to 255" },
        { W "restart: {policy: never, max: 2}", "j:3: restart: 'never' and a max of 2 contradict" },
        { "command: x\nroles: {w: {restart: {policy: never, max: 2}}}",
          "j:2: roles.w.restart: 'never' and a max of 2 contradict" },
        { "command: x\nport-range: 5000-5003\nroles: {w: {ports: 2, procs: 3}}",
          "j:3: roles.w.ports: a container needs 6 ports, the range 5000-5003 has 4" },
        { "command: x\nroles: {w: {ports: 0, ready: port}}",
          "j:2: roles.w.ready: its tasks have no port to probe; give the role ports: 1" },
        { "command: x\nroles: {w: {ready: {http: health}}}",
          "j:2: roles.w.ready: 'health' cannot be used: it must begin with '/'" },
        { "command: x\nroles: {w: {ready: {http: /a b}}}",
          "j:2: roles.w.ready: '/a b' cannot be used: it has a blank in it" },
        { "command: x\nroles: {w: {ready: {file: /tmp/x}}}",
          "j:2: roles.w.ready: '/tmp/x' cannot be used: it must be relative to the task's "
          "directory" },
        { "command: x\nroles: {w: {ready: {log: ''}}}",
          "j:2: roles.w.ready: '' cannot be used: it is empty" },
    };

    (void)state;
    EXPECT(rows);
}

static void cycles_of_dependencies_are_shown(void **state)
{
    static const struct row rows[] = {
        { "command: x\nroles:\n  worker: {after: ps}\n  ps: {after: [worker started]}\n",
          "j:4: roles.ps.after: roles wait for each other: worker → ps → worker" },
        { "command: x\nroles: {a: {after: a}}",
          "j:2: roles.a.after: roles wait for each other: a → a" },
        { "command: x\nroles: {a: {after: b}, b: {after: c}, c: {after: [d, b]}, d: 1}",
          "j:2: roles.c.after: roles wait for each other: b → c → b" },
        { "command: x\nroles: {a: {after: [b, c]}, b: {after: d}, c: {after: d}, d: 1}", "" },
        { "command: x\nroles: {worker: {after: [pss, nobody]}, ps: 1}",
          "j:2: roles.worker.after: there is no role 'pss' (did you mean 'ps'?)\n"
          "j:2: roles.worker.after: there is no role 'nobody'" },
        { "command: x\nroles: {a: {after: b}, b: {after: a}, c: {after: d}, d: {after: c}}",
          "j:2: roles.b.after: roles wait for each other: a → b → a\n"
          "j:2: roles.d.after: roles wait for each other: c → d → c" },
    };

    (void)state;
    EXPECT(rows);
}

static void what_is_missing_is_said_when_all_else_is_right(void **state)
{
    static const struct row rows[] = {
        { "command: x", "roles: the job has no tasks: give -n N, or a role's count" },
        { "command: x\nroles: {w: 0}",
          "j:2: roles: the job has no tasks: give -n N, or a role's count" },
        { "roles: {w: 1, v: 0}",
          "j:1: command: nothing to run; write, for example, command: python train.py" },
        { "roles: {w: 1, v: {command: x}}",
          "j:1: roles.w.command: the role has no command, and neither has the job" },
        { "roles: {w: {comand: x}}", "j:1: roles.w.comand: unknown key (did you mean 'command'?)" },
        { "command: x\nroles: {w: {side: true}}",
          "j:2: roles: no role decides the job's success: all are side roles" },
        { "command: x\nroles: {w: {count: 0}, ps: {side: true}}",
          "j:2: roles: no role that decides the job's success has a task" },
        { "a: [", "j:2: not YAML: did not find expected node content (column 1)" },
    };

    (void)state;
    EXPECT(rows);
}

static void mistakes_of_the_file_and_of_the_check_are_said_together(void **state)
{
    static const struct row rows[] = {
        { "command: x {rnak}\nnmae: y\nroles:\n  a: {count: -1}\n  b: {after: c}\n",
          "j:2: nmae: unknown key (did you mean 'name'?)\n"
          "j:4: roles.a.count: '-1' is out of range (0 to 20000)\n"
          "j:1: command: {rnak}: unknown variable (did you mean {rank}? for literal braces, double "
          "them)\n"
          "j:5: roles.b.after: there is no role 'c'" },
    };

    (void)state;
    EXPECT(rows);
}

/* ---- what no file can say ---- */

static void start(struct spec *s)
{
    spec_init(s);
    assert_int_equal(spec_add_role(s, "w", NULL), 0);
    assert_int_equal(strs_add(&s->command, "x"), 0);
}

static void values_set_by_hand_are_checked_too(void **state)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_FREE char *lines = NULL;

    (void)state;
    start(&s);
    s.grace = -5;
    s.port_low = 10;
    s.port_high = 20;
    s.roles[0].count = 20001;
    s.roles[0].memory = 3;
    s.roles[0].restart.max = -7;
    s.roles[0].ready.timeout = -1;
    assert_int_equal(spec_set_text(&s.queue, "a\xff"), 0);
    assert_int_equal(strs_add(&s.command, "\xff"), 0);
    assert_int_equal(spec_check(&s, &f), -EINVAL);
    lines = lines_of(&f);
    assert_non_null(lines);
    assert_string_equal(lines, "port-range: 10-20 is not a range of ports\n"
                               "roles: 20001 tasks in all; a job has at most 20000\n"
                               "command: '\\xff' cannot be used: it is not UTF-8\n"
                               "grace: '-5' is out of range (0 to 1d)\n"
                               "queue: 'a\\xff' cannot be used: it is not UTF-8\n"
                               "roles.w.count: '20001' is out of range (0 to 20000)\n"
                               "roles.w.memory: '3' means 3 bytes; did you mean 3g?\n"
                               "roles.w.ready.timeout: it cannot be negative\n"
                               "roles.w.restart.max: '-7' is out of range (0 to 1000000)");
}

/* A text of `n` bytes. */
static char *long_text(size_t n)
{
    char *text = malloc(n + 1);

    assert_non_null(text);
    memset(text, 'x', n);
    text[n] = '\0';
    return text;
}

static void environments_beyond_the_systems_limits_are_refused(void **state)
{
    static const struct {
        size_t each, n;
        const char *line;
    } rows[] = {
        { 128 * KIB - 4, 1, NULL },
        { 128 * KIB - 3, 1, "env.A0: longer than 128 KB, the system's limit for one argument" },
        { 100 * KIB, 15, NULL },
        { 100 * KIB, 16,
          "env: command and environment are 1638608 bytes; no program can be started "
          "with more than 1572864" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *text = long_text(rows[i].each);
        AUTO_SPEC_FAULTS f = { 0 };
        AUTO_SPEC s = { 0 };
        char name[24];

        start(&s);
        for (size_t j = 0; j < rows[i].n; j++) {
            snprintf(name, sizeof(name), "A%zu", j);
            assert_int_equal(spec_set_var(&s.env, name, text), 0);
        }
        assert_int_equal(spec_check(&s, &f), rows[i].line ? -EINVAL : 0);
        if (rows[i].line)
            assert_string_equal(f.lines.v[0], rows[i].line);
    }
}

static void a_list_of_hosts_that_cannot_fit_is_foreseen(void **state)
{
    static const struct row rows[] = {
        { "command: x {hosts:w}\nroles: {w: 5000}", "" },
        { "command: x {hosts:w}\nroles: {w: 6000}",
          "j:1: command: longer than 128 KB, the system's limit for one argument" },
    };

    (void)state;
    EXPECT(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_cannot_be_are_refused),
        cmocka_unit_test(what_yarn_needs_is_looked_at_like_the_rest),
        cmocka_unit_test(exports_are_texts_of_a_group),
        cmocka_unit_test(amounts_of_resources_are_whole_and_have_names_of_their_own),
        cmocka_unit_test(environments_that_cannot_be_are_refused),
        cmocka_unit_test(paths_out_of_the_directory_are_refused),
        cmocka_unit_test(roles_that_cannot_be_are_refused),
        cmocka_unit_test(cycles_of_dependencies_are_shown),
        cmocka_unit_test(what_is_missing_is_said_when_all_else_is_right),
        cmocka_unit_test(mistakes_of_the_file_and_of_the_check_are_said_together),
        cmocka_unit_test(values_set_by_hand_are_checked_too),
        cmocka_unit_test(environments_beyond_the_systems_limits_are_refused),
        cmocka_unit_test(a_list_of_hosts_that_cannot_fit_is_foreseen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
