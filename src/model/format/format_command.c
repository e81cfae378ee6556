/* format_command.c - a program of its own that speaks HTTP: a directory with command.json. See
 * command_json.h. */
#include "model/format/command_json.h"
#include "model/format/recognise.h"

#include <string.h>

/* A mistyped key is found at the push, and not when nothing asks for /health. */
static int command_check(json_t *v, struct err *err)
{
    const json_t *one;
    const char *key;
    int r = command_json_check(v, COMMAND_JSON, err);

    if (r < 0)
        return r;
    json_object_foreach(v, key, one)
    {
        if (!str_eq(key, "command") && !str_eq(key, "health"))
            return err_set(err, -EINVAL, "'" COMMAND_JSON "': unknown key '%.60s'", key);
    }
    return 0;
}

int command_look(const struct format_tree *t, struct format_facts *ret, struct err *err)
{
    size_t file = format_file_at(t, COMMAND_JSON);
    AUTO_JSON *v = NULL;
    json_t *health;
    int r;

    if (file == t->n)
        return 0;
    r = format_json(t, file, COMMAND_JSON_MAX, &v, err);
    if (r == 0)
        return command_json_bad(COMMAND_JSON, err, "it is not valid JSON");
    if (r > 0)
        r = command_check(v, err);
    if (r < 0)
        return r;
    health = json_object_get(v, "health");
    r = json_make(&ret->framework, err, "{s:s, s:O, s:o}", "name", "command", "command",
                  json_object_get(v, "command"), "health",
                  health ? json_incref(health) : json_null());
    if (r == 0 && !(ret->entry = strdup(COMMAND_JSON)))
        r = err_oom(err);
    return r < 0 ? r : 1;
}
