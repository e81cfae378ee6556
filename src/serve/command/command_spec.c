/* command_spec.c - reading command.json. A registry has checked it before; a directory that was
 * never pushed has not been looked at by anybody. See command_spec.h. */
#include "serve/command/command_spec.h"
#include "base/json.h"
#include "base/path.h"

#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "command.json"
#define SPEC_MAX (64 * KIB)
#define MANIFEST_MAX (32 * MIB)

void command_spec_done(struct command_spec *s)
{
    free(s->dir);
    free(s->name);
    free(s->health);
    strs_done(&s->words);
    *s = (struct command_spec){ 0 };
}

static int spec_bad(const struct command_spec *s, struct err *err, const char *what)
{
    err_set(err, -EINVAL, "'%s/" FILE_NAME "': %s", s->dir, what);
    err_hint(err, "for example: {\"command\": [\"./server\", \"--port\", \"{port}\"], \"health\": "
                  "\"/health\"}");
    return -EINVAL;
}

static int spec_words(struct command_spec *s, const json_t *list, struct err *err)
{
    bool port = false;
    const json_t *w;
    size_t i;

    if (!json_is_array(list) || json_array_size(list) == 0)
        return spec_bad(s, err, "'command' must be a list of words");
    json_array_foreach(list, i, w)
    {
        const char *text = json_string_value(w);

        if (!text || strlen(text) != json_string_length(w) || (i == 0 && !*text))
            return spec_bad(s, err, "'command' must be a list of words");
        port |= strstr(text, "{port}") != NULL;
        if (strs_add(&s->words, text) < 0)
            return err_oom(err);
    }
    return port ? 0 : spec_bad(s, err, "no word of 'command' contains {port}");
}

static int spec_health(struct command_spec *s, const json_t *v, struct err *err)
{
    const char *text = json_string_value(v);

    if (!v || json_is_null(v))
        return 0;
    if (!text || *text != '/' || strpbrk(text, " \r\n\t"))
        return spec_bad(s, err, "'health' must be a path, such as /health");
    s->health = strdup(text);
    return s->health ? 0 : err_oom(err);
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
        AUTO_FREE char *file = dir ? path_join(dir, FILE_NAME) : NULL;
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
    file = path_join(ret->dir, FILE_NAME);
    if (!file)
        return err_oom(err);
    r = json_parse_file(file, SPEC_MAX, &v, err);
    if (r == 0)
        r = spec_words(ret, json_object_get(v, "command"), err);
    if (r == 0)
        r = spec_health(ret, json_object_get(v, "health"), err);
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
