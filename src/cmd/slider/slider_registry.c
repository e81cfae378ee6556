/* slider_registry.c - `slider registry` and `slider exports`; see slider_verb.h.
 *
 * What runs is asked for its exports; configurations are those of the definition. */
#include "cmd/slider/slider_start.h"
#include "cmd/slider/slider_verb.h"
#include "wire/http.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define SITE "site."
#define EXPORTS "/v1/exports"
#define TEXT_MAX (4 * MIB)

/* ---- exports ---- */

/* The answer of the application's master, which has to be there. */
static int slider_ask(struct slider *s, const char *name, const char *group, json_t **ret,
                      struct err *err)
{
    AUTO_BUF target = { .max = 4 * KIB };
    AUTO_BUF body = { .max = TEXT_MAX };
    AUTO_FREE char *lower = strdup(group ? group : "");
    struct slider_docs d = { 0 };
    int r = lower ? slider_store_read(s, name, &d, err) : err_oom(err);

    for (char *p = lower; p && *p; p++) /* as groups are kept */
        *p = (char)tolower((unsigned char)*p);
    if (r == 0)
        r = slider_find_job(s, &d, err);
    slider_docs_done(&d);
    if (r == 0) {
        slider_fail(s, SLIDER_BAD_STATE, -ENOTCONN, err, "'%s' is not running and exports nothing",
                    name);
        err_hint(err, "start it with '%s start %s'", s->ask->name, name);
        return -ENOTCONN;
    }
    if (r < 0)
        return r;
    if (buf_add_str(&target, EXPORTS) < 0 || (group && buf_add_str(&target, "/") < 0) ||
        (group && http_quote(&target, lower) < 0) || !buf_text(&target))
        return err_oom(err);
    r = client_get(s->x->client, buf_text(&target), &body, err);
    if (r == -ENOENT)
        return slider_fail(s, SLIDER_NOT_FOUND, r, err, "'%s' has no export group '%.60s'", name,
                           group ? group : "");
    return r < 0 ? r
                 : json_parse("the master's answer", body.data ? body.data : (uint8_t *)"",
                              body.len, ret, err);
}

int slider_exports(struct slider *s, struct err *err)
{
    const struct strs *words = &s->ask->args->command;
    AUTO_JSON *doc = NULL;
    int r = slider_ask(s, s->name, words->n > 1 ? words->v[1] : NULL, &doc, err);

    return r < 0 ? r : slider_put(s, doc, err);
}

/* ---- configurations ---- */

/* "site.DICT.KEY": is it of this dictionary? Its key, or NULL. */
static const char *slider_key_of(const char *setting, const char *dict)
{
    size_t n = strlen(dict);

    if (!str_starts(setting, SITE) || strncmp(setting + strlen(SITE), dict, n) != 0)
        return NULL;
    setting += strlen(SITE) + n;
    return *setting == '.' ? setting + 1 : NULL;
}

/* Text in XML. */
static int add_xml(struct buf *out, const char *text)
{
    static const char special[] = "&<>\"'";
    static const char *const names[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&apos;" };
    int r = 0;

    for (; r == 0 && *text; text++) {
        const char *at = strchr(special, *text);

        r = at ? buf_add_str(out, names[at - special]) : buf_add_u8(out, (uint8_t)*text);
    }
    return r;
}

/* A setting in a line of a properties file: '=', ':' and '\' have a meaning there. */
static int add_property(struct buf *out, const char *text, bool key)
{
    int r = 0;

    for (; r == 0 && *text; text++) {
        if (*text == '\n')
            r = buf_add_str(out, "\\n");
        else if (*text == '\\' || (key && strchr("=: #!", *text)))
            r = buf_printf(out, "\\%c", *text);
        else
            r = buf_add_u8(out, (uint8_t)*text);
    }
    return r;
}

static int write_xml(const json_t *dict, struct buf *out)
{
    const char *key;
    json_t *v;
    int r = buf_add_str(out, "<?xml version=\"1.0\"?>\n<configuration>\n");

    json_object_foreach((json_t *)dict, key, v)
    {
        if (buf_add_str(out, "  <property><name>") < 0 || add_xml(out, key) < 0 ||
            buf_add_str(out, "</name><value>") < 0 || add_xml(out, json_string_value(v)) < 0 ||
            buf_add_str(out, "</value></property>\n") < 0)
            r = -ENOMEM;
    }
    return r < 0 ? r : buf_add_str(out, "</configuration>\n");
}

static int write_properties(const json_t *dict, struct buf *out)
{
    const char *key;
    json_t *v;
    int r = 0;

    json_object_foreach((json_t *)dict, key, v)
    {
        if (add_property(out, key, true) < 0 || buf_add_str(out, "=") < 0 ||
            add_property(out, json_string_value(v), false) < 0 || buf_add_str(out, "\n") < 0)
            r = -ENOMEM;
    }
    return r;
}

static int write_json(const json_t *dict, struct buf *out)
{
    AUTO_FREE char *text = json_dumps(dict, JSON_INDENT(2));

    return text ? buf_printf(out, "%s\n", text) : -ENOMEM;
}

static const struct {
    const char *name;
    int (*write)(const json_t *dict, struct buf *out);
} formats[] = { { "xml", write_xml }, { "json", write_json }, { "properties", write_properties } };

/* All settings of one dictionary, as they are written in appConfig. */
static int find_dict(const struct slider_docs *d, const char *dict, json_t **ret, struct err *err)
{
    const char *name;
    json_t *v;

    *ret = json_object();
    if (!*ret)
        return err_oom(err);
    json_object_foreach(json_object_get(d->config, "global"), name, v)
    {
        const char *key = slider_key_of(name, dict);
        AUTO_FREE char *made = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY);

        if (key &&
            json_object_set_new(*ret, key, json_text(made ? made : json_string_value(v))) < 0)
            return err_oom(err);
    }
    return 0;
}

static int get_conf(struct slider *s, const struct slider_docs *d, const char *dict,
                    struct err *err)
{
    const char *format = slider_value(s, "--format");
    AUTO_BUF text = { .max = TEXT_MAX };
    AUTO_JSON *found = NULL;
    int r = find_dict(d, dict, &found, err);

    if (r == 0 && json_object_size(found) == 0)
        return slider_fail(s, SLIDER_NOT_FOUND, -ENOENT, err,
                           "there is no configuration '%.60s'; --listconf lists them", dict);
    for (size_t i = 0; r == 0 && i < COUNT_OF(formats); i++)
        if (str_eq(formats[i].name, format) && formats[i].write(found, &text) < 0)
            r = err_oom(err);
    if (r == 0 && !buf_text(&text))
        r = err_oom(err);
    return r < 0 ? r : slider_put_text(s, buf_text(&text), err);
}

/* The names of the dictionaries, each once. */
static int list_conf(struct slider *s, const struct slider_docs *d, struct err *err)
{
    AUTO_BUF text = { .max = TEXT_MAX };
    AUTO_STRS names = { 0 };
    const char *name;
    json_t *v;
    int r = 0;

    json_object_foreach(json_object_get(d->config, "global"), name, v)
    {
        const char *dict = str_starts(name, SITE) ? name + strlen(SITE) : "";
        AUTO_FREE char *one = strndup(dict, strcspn(dict, "."));

        if (r < 0 || !*dict)
            continue;
        if (!one)
            r = -ENOMEM;
        else if (!strs_has(&names, one))
            r = strs_add(&names, one) < 0 ? -ENOMEM : buf_printf(&text, "%s\n", one);
    }
    return r < 0 || !buf_text(&text) ? err_oom(err) : slider_put_text(s, buf_text(&text), err);
}

/* ---- the verb ---- */

static int list_exports(struct slider *s, const char *name, struct err *err)
{
    AUTO_BUF text = { .max = TEXT_MAX };
    AUTO_JSON *doc = NULL;
    const char *group;
    json_t *v;
    int r = slider_ask(s, name, NULL, &doc, err);

    if (r < 0)
        return r;
    json_object_foreach(json_object_get(doc, "exports"), group, v)
    {
        if (r == 0)
            r = buf_printf(&text, "%s\n", group);
    }
    return r < 0 || !buf_text(&text) ? err_oom(err) : slider_put_text(s, buf_text(&text), err);
}

/* The applications that run. */
static int list_apps(struct slider *s, struct err *err)
{
    AUTO_BUF text = { .max = TEXT_MAX };
    AUTO_STRS names = { 0 };
    int r = slider_store_list(s, &names, err);

    for (size_t i = 0; r == 0 && i < names.n; i++) {
        struct slider_docs d = { 0 };
        int live;

        r = slider_store_read(s, names.v[i], &d, err);
        live = r < 0 ? slider_store_skip(s, names.v[i], r, err) : slider_find_job(s, &d, err);
        slider_docs_done(&d);
        r = live < 0 ? live : 0;
        if (live > 0 && buf_printf(&text, "%s\n", names.v[i]) < 0)
            r = err_oom(err);
    }
    slider_say_notes(s);
    if (r < 0)
        return r;
    return buf_text(&text) ? slider_put_text(s, buf_text(&text), err) : err_oom(err);
}

static int of_config(struct slider *s, const char *name, struct err *err)
{
    const char *dict = slider_value(s, "--getconf");
    struct slider_docs d = { 0 };
    int r = slider_store_read(s, name, &d, err);

    if (r == 0)
        r = dict ? get_conf(s, &d, dict, err) : list_conf(s, &d, err);
    slider_docs_done(&d);
    return r;
}

/* Whose, and of which kind: what cannot be found here. */
static int check_whose(struct slider *s, struct err *err)
{
    const char *user = slider_value(s, "--user"), *type = slider_value(s, "--servicetype");

    if (type && !str_eq(type, SLIDER_SERVICE))
        return slider_fail(s, SLIDER_NOT_FOUND, -ENOENT, err,
                           "there are no services of type '%.60s', only " SLIDER_SERVICE, type);
    if (user && (!*user || strchr(user, '/') || user[0] == '.'))
        return cli_bad(err, "'%.60s' is not a user name", user);
    if (user && s->local)
        return slider_fail(s, SLIDER_NOT_FOUND, -ENOENT, err,
                           "--user: on this machine only your own applications are visible");
    return 0;
}

int slider_registry(struct slider *s, struct err *err)
{
    const char *name = slider_value(s, "--name"), *group = slider_value(s, "--getexp");
    AUTO_JSON *doc = NULL;
    int r;

    if (!name)
        name = s->name;
    r = check_whose(s, err);
    if (r < 0)
        return r;
    if (slider_given(s, "--list"))
        return list_apps(s, err);
    if (!group && !slider_given(s, "--listexp") && !slider_given(s, "--getconf") &&
        !slider_given(s, "--listconf"))
        return cli_bad(err, "one of --list, --listexp, --getexp, --listconf and --getconf is "
                            "missing");
    if (!name)
        return cli_bad(err, "--name is missing: which application?");
    r = slider_check_name(name, err);
    if (r < 0)
        return r;
    if (slider_given(s, "--listexp"))
        return list_exports(s, name, err);
    if (!group)
        return of_config(s, name, err);
    r = slider_ask(s, name, group, &doc, err);
    return r < 0 ? r : slider_put(s, doc, err);
}
