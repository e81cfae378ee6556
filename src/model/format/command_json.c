/* command_json.c - the sentences about a command.json, in one place for who pushes and who starts
 * it. */
#include "model/format/command_json.h"

#include <stdbool.h>
#include <string.h>

#define WORDS_MOST 1000

int command_json_bad(const char *file, struct err *err, const char *what)
{
    err_set(err, -EINVAL, "'%s': %s", file, what);
    err_hint(err, "for example: {\"command\": [\"./server\", \"--port\", \"{port}\"], \"health\": "
                  "\"/health\"}");
    return -EINVAL;
}

static const char *command_json_words(const json_t *list)
{
    bool port = false;
    const json_t *w;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) == 0)
        return "'command' must be a list of words";
    if (json_array_size(list) > WORDS_MOST)
        return "'command' has more than 1000 words";
    json_array_foreach(list, i, w)
    {
        const char *text = json_string_value(w);

        if (!text || strlen(text) != json_string_length(w))
            return "'command' must be a list of words";
        if (i == 0 && !*text)
            return "'command' must be a list of words, the first one the program";
        port |= strstr(text, "{port}") != NULL;
    }
    return port ? NULL : "no word of 'command' contains {port}";
}

/* It goes into a request line as it is. */
static const char *command_json_health(const json_t *v)
{
    const char *text = json_string_value(v);

    if (!v || json_is_null(v))
        return NULL;
    return text && *text == '/' && strlen(text) == json_string_length(v) &&
                   !strpbrk(text, " \r\n\t")
               ? NULL
               : "'health' must be a path, such as /health";
}

int command_json_check(const json_t *v, const char *file, struct err *err)
{
    const char *wrong = json_is_object(v) ? NULL : "it must be an object";

    if (!wrong)
        wrong = command_json_health(json_object_get(v, "health"));
    if (!wrong)
        wrong = command_json_words(json_object_get(v, "command"));
    return wrong ? command_json_bad(file, err, wrong) : 0;
}
