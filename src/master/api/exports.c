/* exports.c - what tasks publish: the texts that `exports` of their roles says, with the values
 * that variables have for each of them.
 *
 * Entries are there while their task is: from when everybody's place is known until it ends. The
 * form is that of Slider, whose scripts read it. */
#include "base/json.h"
#include "master/master_private.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define VALUE_MAX (128 * KIB)

const char *exports_time(int64_t when, char out[EXPORTS_TIME])
{
    time_t seconds = (time_t)(when / 1000);
    struct tm tm;

    out[0] = '\0';
    if (gmtime_r(&seconds, &tm))
        (void)strftime(out, EXPORTS_TIME, "%a %b %d %H:%M:%S UTC %Y", &tm);
    return out;
}

char *exports_container(struct master *m, const struct task *t)
{
    const char *found = platform_container(m->platform, t->agent);

    if (*found)
        return strdup(found);
    return str_printf("%s-%s-%u", m->opt->dir->id, m->spec.roles[t->role].name, t->rank);
}

/* A task that is about to be prepared again has ports that are not its own any more; form_has() is
 * false for it until it is described. */
static bool is_published(const struct master *m, const struct task *t)
{
    return (t->state == TASK_READY || t->state == TASK_RUNNING) && form_has(m, t);
}

/* The group of "GROUP/NAME" as it is published; *ret_name is the rest. NULL: out of memory. */
static char *group_of(const char *export, const char **ret_name)
{
    const char *slash = strchr(export, '/');
    char *group = strndup(export, slash ? (size_t)(slash - export) : strlen(export));

    *ret_name = slash ? slash + 1 : "";
    for (char *p = group; p && *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return group;
}

static int exports_add_entry(struct master *m, const struct task *t, const char *text, json_t *list,
                             struct err *err)
{
    struct plan plan = form_plan(m, t->attempt);
    AUTO_BUF value = { .max = VALUE_MAX };
    AUTO_FREE char *container = exports_container(m, t);
    char when[EXPORTS_TIME];
    json_t *entry = NULL;
    const char *said;
    int r = container ? plan_expand(&plan, &m->spec.roles[t->role], t->rank, text, &value, err)
                      : err_oom(err);

    if (r < 0)
        return r;
    said = buf_text(&value);
    if (!said)
        return err_oom(err);
    r = json_make(&entry, err, "{s:o, s:o, s:o, s:s, s:s}", "value", json_text(said), "containerId",
                  json_text(container), "tag", json_sprintf("%u", t->rank + 1), "level",
                  "component", "updatedTime", exports_time(t->since, when));
    if (r == 0 && json_array_append_new(list, entry) < 0)
        r = err_oom(err);
    return r;
}

/* A list or an object in `parent`, which is made when it is not there; borrowed. NULL: no memory.
 */
static json_t *child(json_t *parent, const char *key, json_t *(*make)(void))
{
    json_t *v = json_object_get(parent, key);

    if (!v && json_object_set_new(parent, key, make()) == 0)
        v = json_object_get(parent, key);
    return v;
}

/* Adds what the tasks of a role publish of one export to the group's document. */
static int exports_add_export(struct master *m, uint32_t role, const struct spec_var *export,
                              const char *name, json_t *document, struct err *err)
{
    json_t *entries = json_object_get(document, "entries"), *list;
    int64_t updated = json_integer_value(json_object_get(document, "updated"));
    const struct task *t = NULL;
    char when[EXPORTS_TIME];
    int r = 0;

    while (r == 0 && (t = engine_next_in_gang(m->engine, t))) {
        if (t->role != role || !is_published(m, t))
            continue;
        list = child(entries, name, json_array);
        r = list ? exports_add_entry(m, t, export->value, list, err) : err_oom(err);
        updated = t->since > updated ? t->since : updated;
    }
    if (r == 0 && (json_object_set_new(document, "updated", json_integer(updated)) < 0 ||
                   json_object_set_new(document, "updatedTime",
                                       json_string(exports_time(updated, when))) < 0))
        r = err_oom(err);
    return r;
}

static int document_of(const struct master *m, json_t *groups, const char *group, json_t **ret,
                       struct err *err)
{
    char when[EXPORTS_TIME];
    json_t *made = NULL;
    int r = 0;

    *ret = json_object_get(groups, group);
    if (*ret)
        return 0;
    r = json_make(&made, err, "{s:s, s:I, s:s, s:{}}", "description", group, "updated",
                  (json_int_t)m->wall, "updatedTime", exports_time(m->wall, when), "entries");
    if (r == 0 && json_object_set_new(groups, group, made) < 0)
        r = err_oom(err);
    *ret = json_object_get(groups, group);
    return r;
}

/* All groups, or the one that is wanted, by name. */
static int make_groups(struct master *m, const char *wanted, json_t *groups, struct err *err)
{
    int r = 0;

    for (uint32_t role = 0; role < m->spec.n_roles; role++) {
        const struct spec_vars *exports = &m->spec.roles[role].exports;

        for (size_t i = 0; i < exports->n && r == 0; i++) {
            const char *name;
            AUTO_FREE char *group = group_of(exports->v[i].name, &name);
            json_t *document = NULL;

            if (!group)
                return err_oom(err);
            if (wanted && !str_eq(wanted, group))
                continue;
            r = document_of(m, groups, group, &document, err);
            if (r == 0)
                r = exports_add_export(m, role, &exports->v[i], name, document, err);
        }
    }
    return r;
}

int exports_json(struct master *m, const char *group, json_t **ret, struct err *err)
{
    AUTO_JSON *groups = json_object();
    int r = groups ? make_groups(m, group, groups, err) : err_oom(err);

    if (r < 0)
        return r;
    if (!group)
        return json_make(ret, err, "{s:O}", "exports", groups);
    if (!json_object_get(groups, group))
        return err_set(err, -ENOENT, "nothing is exported as '%s'", group);
    *ret = json_incref(json_object_get(groups, group));
    return 0;
}
