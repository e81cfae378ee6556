/* command_spec.c - reading command.json. A registry has checked it before; a directory that was
 * never pushed has not been looked at by anybody. See command_spec.h. */
#include "serve/command/command_spec.h"
#include "base/json.h"
#include "base/path.h"
#include "model/format/command_json.h"

#include <string.h>
#include <sys/stat.h>

#define MANIFEST_MAX (32 * MIB)

void command_spec_done(struct command_spec *s)
{
    free(s->dir);
    free(s->name);
    free(s->health);
    strs_done(&s->words);
    *s = (struct command_spec){ 0 };
}

/* What command_json_check() has let through. */
static int spec_take(struct command_spec *s, const json_t *v, struct err *err)
{
    const char *health = json_string_value(json_object_get(v, "health"));
    const json_t *list = json_object_get(v, "command"), *w;
    size_t i;

    json_array_foreach(list, i, w)
    {
        if (strs_add(&s->words, json_string_value(w)) < 0)
            return err_oom(err);
    }
    if (health && !(s->health = strdup(health)))
        return err_oom(err);
    return 0;
}

/* A version of the registry has a name and a number. */
static int spec_manifest(struct command_spec *s, const char *path, struct err *err)
{
    AUTO_FREE char *file = path_join(path, "MANIFEST.json");
    AUTO_FREE char *full = realpath(path, NULL);
    AUTO_JSON *v = NULL;
    const char *name = NULL;
    int r = 0;

    if (!file)
        return err_oom(err);
    if (access(file, F_OK) == 0)
        r = json_parse_file(file, MANIFEST_MAX, &v, err);
    if (r < 0)
        return r;
    name = json_string_value(json_object_get(v, "name"));
    s->version = json_int_or(v, "version", 1);
    s->name = name && *name ? strdup(name) : path_base(full ? full : path);
    return s->name ? 0 : err_oom(err);
}

/* Its directory: DIR or DIR/model; 0: neither. */
static int spec_find(struct command_spec *s, const char *path, struct err *err)
{
    static const char *const rooms[] = { "", "model" };

    for (size_t i = 0; i < COUNT_OF(rooms); i++) {
        AUTO_FREE char *dir = path_join(path, rooms[i]);
        AUTO_FREE char *file = dir ? path_join(dir, COMMAND_JSON) : NULL;
        struct stat st;

        if (!file)
            return err_oom(err);
        if (stat(file, &st) < 0 || !S_ISREG(st.st_mode))
            continue;
        s->dir = realpath(dir, NULL);
        return s->dir ? 1 : err_sys(err, "open '%s'", dir);
    }
    return 0;
}

int command_spec_open(const char *path, struct command_spec *ret, struct err *err)
{
    AUTO_FREE char *file = NULL;
    AUTO_JSON *v = NULL;
    int r;

    *ret = (struct command_spec){ .version = 1 };
    r = spec_find(ret, path, err);
    if (r <= 0)
        return r;
    file = path_join(ret->dir, COMMAND_JSON);
    if (!file)
        return err_oom(err);
    r = json_parse_file(file, COMMAND_JSON_MAX, &v, err);
    if (r == 0)
        r = command_json_check(v, file, err);
    if (r == 0)
        r = spec_take(ret, v, err);
    if (r == 0)
        r = spec_manifest(ret, path, err);
    return r < 0 ? r : 1;
}

/* ---- the words ---- */

static int spec_expand(const struct command_spec *s, const char *port, const char *word,
                       struct strs *ret)
{
    AUTO_BUF out = { .max = MIB };
    int r = 0;

    for (const char *p = word; *p && r == 0;) {
        if (str_starts(p, "{port}")) {
            r = buf_add_str(&out, port);
            p += strlen("{port}");
        } else if (str_starts(p, "{dir}")) {
            r = buf_add_str(&out, s->dir);
            p += strlen("{dir}");
        } else {
            r = buf_add(&out, p++, 1);
        }
    }
    if (r < 0)
        return r;
    return buf_text(&out) ? strs_add(ret, buf_text(&out)) : -ENOMEM;
}

int command_spec_words(const struct command_spec *s, unsigned port, struct strs *ret)
{
    AUTO_FREE char *text = str_printf("%u", port);
    int r = text ? 0 : -ENOMEM;

    for (size_t i = 0; i < s->words.n && r == 0; i++)
        r = spec_expand(s, text, s->words.v[i], ret);
    return r;
}
