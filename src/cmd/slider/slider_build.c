/* slider_build.c - `slider create`, `build`, `update` and `start`; see slider_verb.h. */
#include "cmd/slider/slider_job.h"
#include "cmd/slider/slider_start.h"
#include "cmd/slider/slider_verb.h"
#include "job/protocol.h"
#include "launch/launch_options.h"
#include "loop/fiber.h"
#include "loop/loop.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- the files ---- */

static json_t *empty_doc(void)
{
    return json_pack("{s:s, s:{}, s:{}, s:{}}", "schema", SLIDER_SCHEMA, "metadata", "global",
                     "components");
}

static int read_metainfo(struct slider *s, struct slider_package *p, json_t **ret, struct err *err)
{
    const char *file = slider_value(s, "--metainfo"), *text = slider_value(s, "--metainfojson");
    AUTO_BUF buf = { .max = SLIDER_FILE_MAX };
    int r;

    if (file)
        return slider_file(file, p, &s->excerpt, ret, err);
    if (text) {
        r = buf_add_str(&buf, text);
        return r < 0 ? err_oom(err) : slider_parse("--metainfojson", &buf, &s->excerpt, ret, err);
    }
    if (slider_package_has(p, "metainfo.json"))
        return slider_file("metainfo.json", p, &s->excerpt, ret, err);
    cli_bad(err, "there is no metainfo.json in '%s'", p->path);
    if (slider_package_has(p, "metainfo.xml"))
        err_hint(err, "metainfo.xml is not supported: write it as JSON, with schemaVersion 2.1");
    return CLI_USAGE;
}

/* The file that an option names, or one with nothing in it. */
static int read_other(struct slider *s, const char *option, struct slider_package *p, json_t **ret,
                      struct err *err)
{
    const char *file = slider_value(s, option);

    if (file)
        return slider_file(file, p, &s->excerpt, ret, err);
    if (*ret)
        return 0; /* the one that is stored stays */
    *ret = empty_doc();
    return *ret ? 0 : err_oom(err);
}

/* ---- options that change them ---- */

/* An object in an object, made when it is missing; NULL when out of memory. */
static json_t *slider_within(json_t *v, const char *key)
{
    json_t *found = json_object_get(v, key);

    if (json_is_object(found))
        return found;
    return json_object_set_new(v, key, json_object()) < 0 ? NULL : json_object_get(v, key);
}

/* Options with several words: where they go, and which of their words is what. */
static const struct change {
    const char *option;
    size_t doc;      /* in struct slider_docs */
    bool component;  /* the first word is a component, else it counts for all */
    const char *key; /* NULL: the next word */
} changes[] = {
    { "--option", offsetof(struct slider_docs, config), false, NULL },
    { "--compopt", offsetof(struct slider_docs, config), true, NULL },
    { "--resopt", offsetof(struct slider_docs, resources), false, NULL },
    { "--rescompopt", offsetof(struct slider_docs, resources), true, NULL },
    { "--component", offsetof(struct slider_docs, resources), true, "yarn.component.instances" },
};

static int slider_build_change(const struct change *c, const char *value, struct slider_docs *d,
                               struct err *err)
{
    const char between[] = { LEGACY_BETWEEN, '\0' };
    json_t *doc = *(json_t **)((char *)d + c->doc), *into;
    AUTO_STRS words = { 0 };
    size_t at = c->component ? 1 : 0;
    const char *key;
    int64_t n;

    if (strs_split(&words, value, between) < 0)
        return err_oom(err);
    if (words.n < at + (c->key ? 1 : 2))
        return cli_bad(err, "option '%s': one of its values is empty", c->option);
    if (c->key && str_to_i64(words.v[at], 1, INT32_MAX, &n) < 0)
        return cli_bad(err, "option '%s': '%s' is not a positive number of instances", c->option,
                       words.v[at]);
    into = c->component ? slider_within(doc, "components") : slider_within(doc, "global");
    if (into && c->component)
        into = slider_within(into, words.v[0]);
    key = c->key ? c->key : words.v[at++];
    return into && json_object_set_new(into, key, json_text(words.v[at])) == 0 ? 0 : err_oom(err);
}

static int apply_changes(struct slider *s, struct slider_docs *d, struct err *err)
{
    const struct legacy_args *args = s->ask->args;
    int r = 0;

    for (size_t i = 0; i < args->n; i++)
        for (size_t k = 0; r == 0 && k < COUNT_OF(changes); k++)
            if (legacy_is(args->hits[i].option, changes[k].option))
                r = slider_build_change(&changes[k], args->hits[i].value, d, err);
    return r;
}

/* ---- options that only a job can have ---- */

/* "FILE#NAME" as an entry of a list of files; the path is made absolute, as it is kept. */
static json_t *file_entry(const char *word)
{
    const char *hash = strchr(word, '#');
    AUTO_FREE char *from = hash ? strndup(word, (size_t)(hash - word)) : strdup(word);
    AUTO_FREE char *real = from && !strstr(from, "://") ? realpath(from, NULL) : NULL;

    if (!from)
        return NULL;
    if (hash && hash[1])
        return json_pack("{s:o}", real ? real : from, json_text(hash + 1));
    return json_text(real ? real : from);
}

static int add_to(json_t *v, const char *key, json_t *value)
{
    json_t *list = json_object_get(v, key);

    if (!list && json_object_set_new(v, key, list = json_array()) < 0)
        list = NULL;
    return json_array_append_new(list, value) < 0 ? -ENOMEM : 0;
}

static int slider_add_env(json_t *v, const char *word, struct err *err)
{
    const char *equals = strchr(word, '=');
    AUTO_FREE char *name = equals ? strndup(word, (size_t)(equals - word)) : NULL;
    json_t *env = slider_within(v, "env");

    if (!equals || equals == word)
        return cli_bad(err, "option '--env': '%.100s' is not NAME=VALUE", word);
    return name && env && json_object_set_new(env, name, json_text(equals + 1)) == 0 ? 0
                                                                                     : err_oom(err);
}

/* "[DIR=]TARGET" into {"DIR": "TARGET"}. */
static int slider_add_output(json_t *v, const char *word, struct err *err)
{
    const char *equals = strchr(word, '=');
    AUTO_FREE char *dir = strndup(word, equals ? (size_t)(equals - word) : 0);
    json_t *output;

    if (!equals)
        return json_object_set_new(v, "output", json_text(word)) < 0 ? err_oom(err) : 0;
    output = slider_within(v, "output");
    return dir && output && json_object_set_new(output, dir, json_text(equals + 1)) == 0
               ? 0
               : err_oom(err);
}

static int slider_add_text(json_t *v, const char *key, const char *value, struct err *err)
{
    return json_object_set_new(v, key, json_text(value)) < 0 ? err_oom(err) : 0;
}

static int slider_add_option(json_t *v, const struct legacy_hit *h, struct err *err)
{
    static const struct {
        const char *option, *key;
    } texts[] = { { "--queue", "queue" },        { "--node-label", "label" },
                  { "--docker-image", "image" }, { "--image", "image" },
                  { "--venv", "venv" },          { "--zkhosts", "zk_hosts" },
                  { "--zkpath", "zk_path" } };
    AUTO_FREE char *real = legacy_is(h->option, "--venv") ? realpath(h->value, NULL) : NULL;
    int64_t n;

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        if (legacy_is(h->option, texts[i].option))
            return slider_add_text(v, texts[i].key, real ? real : h->value, err);
    if (legacy_is(h->option, "--gpus") && str_to_i64(h->value, 0, INT32_MAX, &n) == 0)
        return json_object_set_new(v, "gpus", json_integer(n)) < 0 ? err_oom(err) : 0;
    if (legacy_is(h->option, "--files"))
        return add_to(v, "files", file_entry(h->value)) < 0 ? err_oom(err) : 0;
    if (legacy_is(h->option, "--archives"))
        return add_to(v, "archives", file_entry(h->value)) < 0 ? err_oom(err) : 0;
    if (legacy_is(h->option, "--env"))
        return slider_add_env(v, h->value, err);
    return legacy_is(h->option, "--output") ? slider_add_output(v, h->value, err) : 0;
}

/* internal.json: what was there, and what this command says. */
static int make_internal(struct slider *s, const struct slider_package *p, struct slider_docs *d,
                         struct err *err)
{
    const struct legacy_args *args = s->ask->args;
    json_t *options;
    int r = 0;

    if (!d->internal)
        r = json_make(&d->internal, err, "{s:i, s:s, s:I, s:s}", "version",
                      protocol_number(PROTOCOL_SLIDER), "name", s->name, "created",
                      (json_int_t)loop_wall(), "where", s->local ? "local" : "yarn");
    if (r < 0)
        return r;
    options = slider_within(d->internal, "options");
    if (!options || json_object_set_new(d->internal, "updated", json_integer(loop_wall())) < 0)
        return err_oom(err);
    if (p->path &&
        json_object_set_new(d->internal, "definition",
                            json_string(p->zip ? "definition.zip" : "definition.tar")) < 0)
        return err_oom(err);
    for (size_t i = 0; r == 0 && i < args->n; i++)
        r = slider_add_option(options, &args->hits[i], err);
    return r;
}

/* ---- what must be in the package ---- */

static bool slider_has(const struct slider_package *p, const char *name)
{
    AUTO_FREE char *below = str_printf("package/%s", name);

    return (below && slider_package_has(p, below)) || slider_package_has(p, name);
}

static int slider_missing(const struct slider_package *p, const char *what, const char *name,
                          struct err *err)
{
    cli_bad(err, "there is no %s '%.100s' in '%s'", what, name, p->path);
    err_hint(err, "it must be in the directory 'package'");
    return CLI_USAGE;
}

static int check_scripts(const struct slider_package *p, const json_t *app, struct err *err)
{
    const json_t *c, *one;
    size_t i;

    json_array_foreach(json_object_get(app, "components"), i, c)
    {
        const char *script =
            json_string_value(json_object_get(json_object_get(c, "commandScript"), "script"));

        if (script && (script[0] == '/' || strstr(script, "..") || !slider_has(p, script)))
            return slider_missing(p, "script", script, err);
    }
    json_array_foreach(json_object_get(app, "packages"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));

        if (name && (name[0] == '/' || strstr(name, "..") || !slider_has(p, name)))
            return slider_missing(p, "package", name, err);
    }
    return 0;
}

/* The user's own program, where the package's scripts will look for it. */
static int check_entry(const struct slider *s, const struct slider_package *p,
                       const struct slider_docs *d, struct err *err)
{
    const json_t *app = json_object_get(d->metainfo, "application"), *one;
    const char *entry = json_string_value(
        json_object_get(json_object_get(d->config, "global"), "site.global.user.scripts.entry"));
    bool any = false;
    size_t i;

    if (!entry || strchr(entry, '$') || entry[0] == '/' || slider_given(s, "--files") ||
        slider_given(s, "--archives"))
        return 0;
    json_array_foreach(json_object_get(app, "packages"), i, one)
    {
        const char *name = json_string_value(json_object_get(one, "name"));
        const char *type = json_string_value(json_object_get(one, "type"));
        AUTO_FREE char *path = name ? str_printf("%s/%s", name, entry) : NULL;

        if (!str_eq(type, "folder"))
            return 0; /* it may be in an archive */
        any = true;
        if (path && slider_has(p, path))
            return 0;
    }
    return any ? slider_missing(p, "file (site.global.user.scripts.entry)", entry, err) : 0;
}

/* ---- the whole ---- */

/* Reads everything that the command line names; `d` may hold what is stored. */
static int read_docs(struct slider *s, struct slider_package *p, struct slider_docs *d,
                     struct err *err)
{
    const char *appdef = slider_value(s, "--appdef");
    int r = 0;

    if (!appdef)
        appdef = slider_value(s, "--package");
    if (!appdef && !d->metainfo)
        return cli_bad(err, "--appdef is missing: the directory or zip archive of the application");
    if (!slider_given(s, "--resources") && !d->resources)
        return cli_bad(err,
                       "--resources is missing: the file with the number and size of instances");
    if (appdef)
        r = slider_package_open(p, appdef, err);
    if (r == 0 && (appdef || slider_given(s, "--metainfo") || slider_given(s, "--metainfojson"))) {
        json_decref(d->metainfo);
        d->metainfo = NULL;
        r = read_metainfo(s, p, &d->metainfo, err);
    }
    if (r == 0)
        r = read_other(s, "--template", appdef ? p : NULL, &d->config, err);
    if (r == 0)
        r = read_other(s, "--resources", appdef ? p : NULL, &d->resources, err);
    if (r == 0)
        r = apply_changes(s, d, err);
    if (r == 0)
        r = make_internal(s, p, d, err);
    return r;
}

/* Is it an application that can be started? The notes come when it is.
 *
 * The job is made of it as `start` will do: what is wrong shows now. */
static int check_docs(struct slider *s, const struct slider_package *p, const struct slider_docs *d,
                      struct err *err)
{
    const struct slider_facts facts = { 0 };
    const struct slider_job_options o = { .facts = &facts,
                                          .local = s->local,
                                          .definition = "d",
                                          .agent = "a",
                                          .extra = json_object_get(d->internal, "options") };
    AUTO_FREE char *text = NULL;
    AUTO_STRS notes = { 0 };
    struct slider_model m = { 0 };
    int r = slider_model(d, s->name, &notes, &m, err);

    if (r == 0)
        r = slider_job(&m, &o, &text, err);
    if (r == 0 && p->path)
        r = check_scripts(p, json_object_get(d->metainfo, "application"), err);
    if (r == 0 && p->path)
        r = check_entry(s, p, d, err);
    slider_model_done(&m);
    return r;
}

/* A new definition, read and checked; nothing is kept yet. */
static int make_new(struct slider *s, struct slider_package *p, struct slider_docs *d,
                    struct err *err)
{
    int r = read_docs(s, p, d, err);

    if (r == 0)
        r = check_docs(s, p, d, err);
    if (r == 0)
        r = slider_store_has(s, s->name, err);
    return r <= 0 ? r : slider_there_already(s, s->name, err);
}

static int wait_if_asked(struct slider *s, struct err *err)
{
    int64_t seconds = legacy_number(&s->ask->syntax, s->ask->args, "--wait", 0);

    return seconds > 0 ? slider_wait_running(s, seconds * 1000, err) : 0;
}

static int say_built(const struct slider *s, const char *done)
{
    if (s->json)
        printf("{\"name\": \"%s\", \"done\": \"%s\"}\n", s->name, done);
    else if (!slider_given(s, "--quiet"))
        fprintf(stderr, "%s: saved the definition of '%s'; start it with '%s start %s'\n",
                s->ask->name, s->name, s->ask->name, s->name);
    return 0;
}

/* The definition, and with `start` its first job; what fails leaves nothing.
 *
 * The lock is in the definition and can be taken only when that is there: if another `start` comes
 * first, it is theirs. s->x->client is set as soon as there is a job. */
static int slider_build_app(struct slider *s, bool start, struct slider_package *p,
                            struct slider_docs *d, struct err *err)
{
    int r;

    s->scratch = start && options_only_plan();
    r = make_new(s, p, d, err);
    if (r == 0)
        r = slider_store_put(s, s->name, d, p, err);
    if (r < 0)
        return r;
    if (!start) {
        slider_say_notes(s);
        return say_built(s, "build");
    }
    r = slider_store_lock(s, s->name, err);
    if (r == -EBUSY)
        return r; /* somebody was quick to start it */
    if (r == 0)
        r = slider_start(s, s->name, d, err);
    fiber_shield(s->x->loop, true);
    if (!s->x->client)
        (void)slider_store_remove(s, s->name, NULL);
    fiber_shield(s->x->loop, false);
    slider_store_unlock(s, s->name);
    return r != 0 || !s->x->client ? r : wait_if_asked(s, err);
}

static int build_and(struct slider *s, bool start, struct err *err)
{
    struct slider_package p = { 0 };
    struct slider_docs d = { 0 };
    int r = slider_build_app(s, start, &p, &d, err);

    slider_package_done(&p);
    slider_docs_done(&d);
    return r;
}

int slider_create(struct slider *s, struct err *err)
{
    return build_and(s, true, err);
}

int slider_build(struct slider *s, struct err *err)
{
    return build_and(s, false, err);
}

/* Reads a definition that nobody else changes meanwhile: slider_store_unlock() when that is 0. */
static int read_locked(struct slider *s, struct slider_docs *d, struct err *err)
{
    int r = slider_store_read(s, s->name, d, err);

    if (r == 0)
        r = slider_store_lock(s, s->name, err);
    if (r < 0)
        return r;
    slider_docs_done(d); /* it may have become another one */
    r = slider_store_read(s, s->name, d, err);
    if (r < 0)
        slider_store_unlock(s, s->name);
    return r;
}

static int update(struct slider *s, struct slider_package *p, struct slider_docs *d,
                  struct err *err)
{
    int r = read_docs(s, p, d, err);

    if (r == 0)
        r = check_docs(s, p, d, err);
    return r < 0 ? r : slider_store_replace(s, s->name, d, p->path ? p : NULL, err);
}

int slider_update(struct slider *s, struct err *err)
{
    struct slider_package p = { 0 };
    struct slider_docs d = { 0 };
    int r = read_locked(s, &d, err);

    if (r == 0) {
        r = update(s, &p, &d, err);
        slider_store_unlock(s, s->name);
    }
    slider_package_done(&p);
    slider_docs_done(&d);
    return r < 0 ? r : say_built(s, "update");
}

static int start_stopped(struct slider *s, struct slider_docs *d, struct err *err)
{
    int r = slider_find_job(s, d, err);

    if (r > 0)
        r = slider_fail(s, SLIDER_IN_USE, -EBUSY, err, "'%s' is already running, as %s", s->name,
                        client_id(s->x->client));
    return r < 0 ? r : slider_start(s, s->name, d, err);
}

int slider_start_verb(struct slider *s, struct err *err)
{
    struct slider_docs d = { 0 };
    int r = read_locked(s, &d, err);

    if (r == 0) {
        r = start_stopped(s, &d, err);
        slider_store_unlock(s, s->name);
    }
    slider_docs_done(&d);
    return r != 0 || !s->x->client ? r : wait_if_asked(s, err);
}
