/* spec_bad_test.c - job files with mistakes, and the exact lines that are said about them */
#include "job/spec/spec.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* All lines with "\n" between, as the user sees them. */
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

static void expect(const struct row *row)
{
    AUTO_SPEC_FAULTS f = { 0 };
    AUTO_SPEC s = { 0 };
    AUTO_FREE char *lines = NULL;

    spec_init(&s);
    assert_int_equal(spec_parse("job.yaml", row->text, strlen(row->text), &s, &f), -EINVAL);
    lines = lines_of(&f);
    assert_non_null(lines);
    assert_string_equal(lines, row->lines);
}

#define EXPECT(rows)                                                                               \
    for (size_t i_ = 0; i_ < COUNT_OF(rows); i_++)                                                 \
    expect(&(rows)[i_])

static void an_unknown_key_is_named_with_the_nearest_one(void **state)
{
    static const struct row rows[] = {
        { "roles:\n  worker:\n    count: 1\n    memroy: 1g\n",
          "job.yaml:4: roles.worker.memroy: unknown key (did you mean 'memory'?)" },
        { "nmae: x\n", "job.yaml:1: nmae: unknown key (did you mean 'name'?)" },
        { "log_limit: 1g\n", "job.yaml:1: log_limit: unknown key (did you mean 'log-limit'?)" },
        { "memory: 1g\n", "job.yaml:1: memory: unknown key here: it belongs to a role" },
        { "roles: {w: {queue: x}}",
          "job.yaml:1: roles.w.queue: unknown key in a role: it belongs to the job" },
        { "restart: {policy: task, maximum: 3}",
          "job.yaml:1: restart.maximum: unknown key (known are policy, max, window, "
          "delay, codes)" },
        { "gang: {x: 1}", "job.yaml:1: gang.x: unknown key (known are hold, retry)" },
        { "roles: {w: {ready: {htpp: /}}}",
          "job.yaml:1: roles.w.ready.htpp: unknown key (did you mean 'http'?)" },
        { "tensorboard:\n  log_dir: x",
          "job.yaml:2: tensorboard.log_dir: unknown key (did you mean 'logdir'?)" },
        { "<<: {a: 1}",
          "job.yaml:1: <<: unknown key (known are name, framework, native, command, "
          "roles, files, archives, env, venv, pip, hadoop, image, image-by, mounts, "
          "restart, avoid, gang, "
          "grace, save-time, timeout, output, tensorboard, log-limit, log-rotate, log-keep, "
          "port-range, queue, "
          "priority, tags, label, acl, attempts, master, staging, principal, "
          "keytab, client-address, nodes)" },
    };

    (void)state;
    EXPECT(rows);
}

static const struct row wrong_types[] = {
    { "roles: {w: {count: [1]}}", "job.yaml:1: roles.w.count: expected a number, found a list" },
    { "roles: {w: {count: {a: 1}}}", "job.yaml:1: roles.w.count: expected a number, found a map" },
    { "roles: {w: {count: two}}", "job.yaml:1: roles.w.count: expected a number, found 'two'" },
    { "roles: {w: 1.5}", "job.yaml:1: roles.w: expected a number, found '1.5'" },
    { "roles: {w: {memory: lots}}",
      "job.yaml:1: roles.w.memory: expected a size such as 512m or 1.5g, found 'lots'" },
    { "grace: soon", "job.yaml:1: grace: expected a duration such as 30s, 5m or 1h30m, "
                     "found 'soon'" },
    { "gang: {retry: always}",
      "job.yaml:1: gang.retry: expected a number or 'forever', found 'always'" },
    { "roles: {w: {side: maybe}}",
      "job.yaml:1: roles.w.side: expected true or false, found 'maybe'" },
    { "name: [a]", "job.yaml:1: name: expected text, found a list" },
    { "roles: [w]", "job.yaml:1: roles: expected a map of roles, found a list" },
    { "roles: 3", "job.yaml:1: roles: expected a map of roles, found '3'" },
    { "roles: {w: [1]}", "job.yaml:1: roles.w: expected a map, found a list" },
    { "env: [A=1]", "job.yaml:1: env: expected a map of names and values, found a list" },
    { "env:\n  A: 1\n  B: [1]", "job.yaml:3: env.B: expected text, found a list" },
    { "env: {A: }", "job.yaml:1: env.A: expected text, found nothing; write \"\" for empty "
                    "text" },
    { "tags: {a: b}", "job.yaml:1: tags: expected a list of texts, found a map" },
    { "tags: [a, [b]]", "job.yaml:1: tags[1]: expected text, found a list" },
    { "command: {a: b}", "job.yaml:1: command: expected a command, found a map" },
    { "command: [a, ~]", "job.yaml:1: command[1]: expected text, found nothing" },
    { "command: a 'b", "job.yaml:1: command: a single quote is not closed" },
    { "files: [a, [b]]", "job.yaml:1: files[1]: expected a file, found a list" },
    { "files: [{a: b, c: d}]",
      "job.yaml:1: files[0]: expected one FROM: TO, or the keys from and to" },
    { "files: [{a: b, c: d, e: f}]", "job.yaml:1: files[0]: expected one FROM: TO, found 3" },
    { "files: [{a: [b]}]", "job.yaml:1: files[0]: expected a name, found a list" },
    { "files: [{from: [b], to: a}]", "job.yaml:1: files[0]: from and to must be text" },
    { "gang: 5m", "job.yaml:1: gang: expected a map, found '5m'" },
    { "port-range: 10000",
      "job.yaml:1: port-range: expected a range of ports such as 10000-10999, found "
      "'10000'" },
    { "roles: {w: {after: [[x]]}}", "job.yaml:1: roles.w.after[0]: expected a role, found a list" },
    { "roles: {w: {after: a b c}}",
      "job.yaml:1: roles.w.after: expected a role, or a role and one of started, ready, "
      "finished, found 'a b c'" },
    { "roles: {w: {ready: [x]}}",
      "job.yaml:1: roles.w.ready: expected port, or a map with port, http, "
      "file or log, found a list" },
    { "roles: {w: {ready: {port: false}}}",
      "job.yaml:1: roles.w.ready.port: expected true, found 'false'" },
    { "roles: {w: {ready: {http: /, log: x}}}",
      "job.yaml:1: roles.w.ready.log: give only one of port, http, file and log" },
    { "name: [\"a long text that goes on and on and on and on and on\"]\n"
      "priority: a long text that goes on and on and on and on and on",
      "job.yaml:1: name: expected text, found a list\n"
      "job.yaml:2: priority: expected a number, found 'a long text that goes on and on and "
      "on and on a…'" },
};

static void a_value_of_the_wrong_type_is_named(void **state)
{
    (void)state;
    EXPECT(wrong_types);
}

static void a_value_out_of_range_or_choice_is_named(void **state)
{
    static const struct row rows[] = {
        { "roles: {w: {count: -1}}",
          "job.yaml:1: roles.w.count: '-1' is out of range (0 to 20000)" },
        { "roles: {w: {procs: 0}}", "job.yaml:1: roles.w.procs: '0' is out of range (1 to 20000)" },
        { "roles: {w: {memory: 4}}",
          "job.yaml:1: roles.w.memory: '4' means 4 bytes; did you mean 4g?" },
        { "roles: {w: {memory: 512}}",
          "job.yaml:1: roles.w.memory: '512' means 512 bytes; did you mean 512m?" },
        { "roles: {w: {memory: 99e}}",
          "job.yaml:1: roles.w.memory: '99e' is out of range (1m to 1024t)" },
        { "grace: 2d", "job.yaml:1: grace: '2d' is out of range (0 to 1d)" },
        { "roles: {w: {ports: 5}}", "job.yaml:1: roles.w.ports: '5' is out of range (0 to 4)" },
        { "gang: {retry: -2}", "job.yaml:1: gang.retry: '-2' is out of range (0 to 1000000)" },
        { "priority: 99999999999999999999",
          "job.yaml:1: priority: '99999999999999999999' is out of range (0 to 2147483647)" },
        { "port-range: 80-90", "job.yaml:1: port-range: '80-90' is out of range: from 1024 to "
                               "65535, the lower one first" },
        { "port-range: 3000-2000", "job.yaml:1: port-range: '3000-2000' is out of range: from 1024 "
                                   "to 65535, the lower one first" },
        { "restart: tsak", "job.yaml:1: restart: 'tsak' is not one of default, never, task, gang "
                           "(did you mean 'task'?)" },
        { "restart: {policy: x}",
          "job.yaml:1: restart.policy: 'x' is not one of default, never, task, gang" },
        { "roles: {w: {place: clinet}}", "job.yaml:1: roles.w.place: 'clinet' is not one of "
                                         "cluster, client (did you mean 'client'?)" },
        { "roles: {w: {after: {x: raedy}}}",
          "job.yaml:1: roles.w.after.x: 'raedy' is not one of started, ready, finished (did you "
          "mean 'ready'?)" },
    };

    (void)state;
    EXPECT(rows);
}

static void what_is_not_plain_data_is_refused(void **state)
{
    static const struct row rows[] = {
        { "", "job.yaml:1: the file is empty" },
        { "# nothing\n", "job.yaml:1: the file is empty" },
        { "null", "job.yaml:1: the file is empty" },
        { "- a\n- b\n", "job.yaml:1: a job is a map of keys, this is a list" },
        { "python train.py", "job.yaml:1: a job is a map of keys, this is text" },
        { "name: a\nqueue: b\nname: c\n", "job.yaml:3: 'name' is given twice, first on line 1" },
        { "roles:\n  w:\n    env: {A: 1,\n      A: 2}\n",
          "job.yaml:4: roles.w.env: 'A' is given twice, first on line 3" },
        { "a: &x 1", "job.yaml:1: anchors (&name) are not supported: write the value out" },
        { "a: &x [1]", "job.yaml:1: anchors (&name) are not supported: write the value out" },
        { "a: &x {b: 1}", "job.yaml:1: anchors (&name) are not supported: write the value out" },
        { "a: 1\nb: *x", "job.yaml:2: aliases (*name) are not supported: write the value out" },
        { "a: !!python/object x", "job.yaml:1: tags (!name) are not supported: put the text into "
                                  "quotes" },
        { "a: !x [1]", "job.yaml:1: tags (!name) are not supported: put the text into quotes" },
        { "a: 1\n---\nb: 2\n", "job.yaml:2: a second document begins here" },
        { "? [a, b]\n: c", "job.yaml:1: a key must be text, not a list or a map" },
        { "name: \"a\\0b\"", "job.yaml:1: a text contains a NUL byte" },
        { "roles:\n\tworker: 1\n", "job.yaml:2: tabs cannot be used for indentation: use spaces" },
        { "roles: {w: 1", "job.yaml:2: not YAML: did not find expected ',' or '}' (column 1), "
                          "while parsing a flow mapping from line 1" },
        { "name: 'x", "job.yaml:1: not YAML: found unexpected end of stream (column 9)" },
        { "name: a: b", "job.yaml:1: not YAML: mapping values are not allowed in this context "
                        "(column 8)" },
        { "name: \xff\xfe", "job.yaml:1: not UTF-8 text: invalid leading UTF-8 octet (byte 6)" },
    };

    (void)state;
    EXPECT(rows);
}

static void all_mistakes_are_said_at_once(void **state)
{
    static const struct row rows[] = {
        { "name: [x]\n"
          "frame: mxnet\n"
          "roles:\n"
          "  worker:\n"
          "    count: many\n"
          "    memory: 4\n"
          "    comand: python x.py\n"
          "  ps: {restart: sometimes}\n"
          "grace: -1\n",
          "job.yaml:1: name: expected text, found a list\n"
          "job.yaml:2: frame: unknown key (did you mean 'framework'?)\n"
          "job.yaml:5: roles.worker.count: expected a number, found 'many'\n"
          "job.yaml:6: roles.worker.memory: '4' means 4 bytes; did you mean 4g?\n"
          "job.yaml:7: roles.worker.comand: unknown key (did you mean 'command'?)\n"
          "job.yaml:8: roles.ps.restart: 'sometimes' is not one of default, never, task, gang\n"
          "job.yaml:9: grace: expected a duration such as 30s, 5m or 1h30m, found '-1'" },
    };

    (void)state;
    EXPECT(rows);
}

static void hostile_text_is_shown_harmlessly(void **state)
{
    static const struct row rows[] = {
        { "\"a\\e[31m\\nb\": 1",
          "job.yaml:1: a\\x1b[31m\\nb: unknown key (known are name, framework, native, command, "
          "roles, files, archives, env, venv, pip, hadoop, image, image-by, mounts, restart, "
          "avoid, gang, grace, save-time, "
          "timeout, "
          "output, tensorboard, log-limit, log-rotate, log-keep, port-range, queue, priority, "
          "tags, "
          "label, acl, "
          "attempts, master, staging, principal, keytab, client-address, nodes)" },
        { "priority: \"\\e[31m\"", "job.yaml:1: priority: expected a number, found '\\x1b[31m'" },
    };

    (void)state;
    EXPECT(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_unknown_key_is_named_with_the_nearest_one),
        cmocka_unit_test(a_value_of_the_wrong_type_is_named),
        cmocka_unit_test(a_value_out_of_range_or_choice_is_named),
        cmocka_unit_test(what_is_not_plain_data_is_refused),
        cmocka_unit_test(all_mistakes_are_said_at_once),
        cmocka_unit_test(hostile_text_is_shown_harmlessly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
