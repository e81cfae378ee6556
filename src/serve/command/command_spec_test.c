/* command_spec_test.c - what is taken from command.json, and what is refused. */
#include "base/path.h"
#include "serve/command/command_spec.h"
#include "test.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char *dir_with(const char *inner, const char *text)
{
    AUTO_FREE char *dir = strdup("/tmp/ydl-command-XXXXXX"), *room = NULL, *file = NULL;

    assert_non_null(dir);
    assert_non_null(mkdtemp(dir));
    room = path_join(dir, inner);
    assert_int_equal(path_mkdirs(room, 0755, NULL), 0);
    file = path_join(room, "command.json");
    if (text)
        assert_int_equal(path_write(file, text, strlen(text), 0644, NULL), 0);
    return take(dir);
}

static void ports_and_directories_stand_where_they_are_named(void **state)
{
    AUTO_FREE char *dir =
        dir_with("model", "{\"command\": [\"./s\", \"--port={port}\", \"{dir}/w{port}\", \"{x}\"],"
                          " \"health\": \"/health\"}");
    AUTO_COMMAND_SPEC s = { 0 };
    AUTO_STRS words = { 0 };
    AUTO_FREE char *weights = str_printf("%s/model/w81", dir);

    (void)state;
    assert_int_equal(command_spec_open(dir, &s, NULL), 1);
    assert_string_equal(s.health, "/health");
    assert_int_equal(s.version, 1);
    assert_int_equal(command_spec_words(&s, 81, &words), 0);
    assert_int_equal(words.n, 4);
    assert_string_equal(words.v[1], "--port=81");
    assert_string_equal(words.v[2], weights);
    assert_string_equal(words.v[3], "{x}");
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void other_models_are_left_to_others(void **state)
{
    AUTO_FREE char *dir = dir_with("", NULL);
    AUTO_COMMAND_SPEC s = { 0 };

    (void)state;
    assert_int_equal(command_spec_open(dir, &s, NULL), 0);
    assert_int_equal(command_spec_open("/nowhere", &s, NULL), 0);
    assert_int_equal(path_remove(dir, NULL), 0);
}

static void what_is_wrong_is_told(void **state)
{
    static const struct {
        const char *text, *says;
    } rows[] = {
        { "{", "command.json" },
        { "{}", "'command' must be a list of words" },
        { "{\"command\": []}", "'command' must be a list of words" },
        { "{\"command\": [\"\", \"{port}\"]}", "'command' must be a list of words" },
        { "{\"command\": [1, \"{port}\"]}", "'command' must be a list of words" },
        { "[]", "command.json': it must be an object" },
        { "{\"command\": [\"s\"]}", "no word of 'command' contains {port}" },
        { "{\"command\": [\"s\", \"{port}\"], \"health\": \"x\"}", "'health' must be a path" },
        { "{\"command\": [\"s\", \"{port}\"], \"health\": \"/x y\"}", "'health' must be a path" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_FREE char *dir = dir_with("", rows[i].text);
        AUTO_COMMAND_SPEC s = { 0 };
        struct err err = ERR_INIT;

        assert_true(command_spec_open(dir, &s, &err) < 0);
        if (!strstr(err.text, rows[i].says))
            fail_msg("'%s': '%s'", rows[i].text, err.text);
        assert_int_equal(path_remove(dir, NULL), 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ports_and_directories_stand_where_they_are_named),
        cmocka_unit_test(other_models_are_left_to_others),
        cmocka_unit_test(what_is_wrong_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
