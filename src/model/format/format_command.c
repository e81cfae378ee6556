/* format_command.c - a program of its own that speaks HTTP: a directory with command.json.
 *
 *     { "command": ["llama-server", "-m", "weights.gguf", "--port", "{port}"],
 *       "health": "/health" }
 *
 * {port} stands for the port that the program must listen on, {dir} for the model's directory. */
#include "model/format/recognise.h"

#include <string.h>

#define FILE_NAME "command.json"
#define TEXT_MOST (64 * KIB)
#define WORDS_MOST 1000

static int command_bad(struct err *err, const char *what)
{
    err_set(err, -EINVAL, "'" FILE_NAME "': %s", what);
    err_hint(err, "for example: {\"command\": [\"./server\", \"--port\", \"{port}\"], \"health\": "
                  "\"/health\"}");
    return -EINVAL;
}

static int command_check_words(const json_t *words, struct err *err)
{
    bool port = false;
    size_t i;
    const json_t *w;

    if (!json_is_array(words) || json_array_size(words) == 0)
        return command_bad(err, "'command' must be a list of words");
    if (json_array_size(words) > WORDS_MOST)
        return command_bad(err, "'command' has more than 1000 words");
    json_array_foreach(words, i, w)
    {
        if (!json_is_string(w) || strlen(json_string_value(w)) != json_string_length(w))
            return command_bad(err, "'command' must be a list of words");
        port |= strstr(json_string_value(w), "{port}") != NULL;
    }
    if (!*json_string_value(json_array_get(words, 0)))
        return command_bad(err, "the program's name is empty");
    return port ? 0 : command_bad(err, "no word of 'command' contains {port}");
}

static int command_check(json_t *v, struct err *err)
{
    const json_t *health = json_object_get(v, "health"), *one;
    const char *key;

    if (!json_is_object(v))
        return command_bad(err, "it must be an object");
    json_object_foreach(v, key, one)
    {
        if (!str_eq(key, "command") && !str_eq(key, "health"))
            return err_set(err, -EINVAL, "'" FILE_NAME "': unknown key '%.60s'", key);
    }
    if (health && (!json_is_string(health) || *json_string_value(health) != '/'))
        return command_bad(err, "'health' must be a path, such as /health");
    return command_check_words(json_object_get(v, "command"), err);
}

int command_look(const struct format_tree *t, struct format_facts *ret, struct err *err)
{
    size_t file = format_file_at(t, FILE_NAME);
    AUTO_JSON *v = NULL;
    json_t *health;
    int r;

    if (file == t->n)
        return 0;
    r = format_json(t, file, TEXT_MOST, &v, err);
    if (r == 0)
        return command_bad(err, "it is not valid JSON");
    if (r > 0)
        r = command_check(v, err);
    if (r < 0)
        return r;
    health = json_object_get(v, "health");
    r = json_make(&ret->framework, err, "{s:s, s:O, s:o}", "name", "command", "command",
                  json_object_get(v, "command"), "health",
                  health ? json_incref(health) : json_null());
    if (r == 0 && !(ret->entry = strdup(FILE_NAME)))
        r = err_oom(err);
    return r < 0 ? r : 1;
}
