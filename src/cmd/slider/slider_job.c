/* slider_job.c - an application as a job specification; see slider_verb.h. */
#include "cmd/slider/slider_verb.h"
#include "job/spec/vars.h"

#include <string.h>

#define JOB_MAX (4 * MIB)
#define UNLIMITED 1000000
#define MIB_TEXT "%lldm"

/* ---- variables in texts ---- */

/* Would ydl take this word in braces for a variable, or for a slip in writing one? */
static bool like_variable(const char *word, size_t n)
{
    char text[80];

    for (size_t i = 0; vars_names[i]; i++) {
        size_t len = strcspn(vars_names[i], ":");

        if (strncmp(vars_names[i], word, len) == 0 && (n == len || (n > len && word[len] == ':')))
            return true;
    }
    if (n + 3 > sizeof(text))
        return false;
    (void)snprintf(text, sizeof(text), "{%.*s}", (int)n, word);
    return vars_check(text, NULL, 0, NULL, NULL) < 0;
}

int slider_write_text(const char *marked, struct buf *out)
{
    int r = 0;

    for (const char *p = marked; r == 0 && *p; p++) {
        size_t n = *p == '{' ? strcspn(p + 1, "{}") : 0;

        if (*p == SLIDER_VAR_BEGIN || *p == SLIDER_VAR_END)
            r = buf_add_u8(out, *p == SLIDER_VAR_BEGIN ? '{' : '}');
        else if (n > 0 && p[1 + n] == '}' && like_variable(p + 1, n)) {
            r = buf_printf(out, "{{%.*s}}", (int)n, p + 1);
            p += n + 1;
        } else
            r = buf_add_u8(out, (uint8_t)*p);
    }
    return r;
}

/* One character of a text in JSON, which may be written as several; how many were used. */
static int write_char(const char *p, struct buf *out, size_t *used)
{
    *used = 1;
    if (*p == '{')
        return buf_add_str(out, "\\u007b");
    if (*p != '\\')
        return buf_add_u8(out, (uint8_t)*p);
    *used = p[1] == 'u' ? 6 : 2;
    if (strncmp(p, "\\u0001", 6) == 0)
        return buf_add_u8(out, '{');
    if (strncmp(p, "\\u0002", 6) == 0)
        return buf_add_u8(out, '}');
    return buf_add(out, p, *used);
}

int slider_write_json(const json_t *marked, struct buf *out)
{
    AUTO_FREE char *text = json_dumps(marked, JSON_COMPACT);
    bool quoted = false;
    size_t used = 1;
    int r = text ? 0 : -ENOMEM;

    for (const char *p = text; r == 0 && *p; p += used) {
        used = 1;
        if (*p == '"') {
            quoted = !quoted;
            r = buf_add_u8(out, '"');
        } else if (quoted)
            r = write_char(p, out, &used);
        else
            r = buf_add_u8(out, (uint8_t)*p);
    }
    return r;
}

/* ---- restarts ---- */

/* Their hours were minutes by mistake; here they are hours. */
static int window(const json_t *v, int64_t *ret, struct err *err)
{
    static const struct {
        const char *key;
        int64_t seconds, otherwise;
    } parts[] = {
        { "yarn.container.failure.window.days", 86400, 0 },
        { "yarn.container.failure.window.hours", 3600, 6 },
        { "yarn.container.failure.window.minutes", 60, 0 },
        { "yarn.container.failure.window.seconds", 1, 0 },
    };
    bool said = false;
    int r = 0;

    *ret = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        said |= json_object_get(v, parts[i].key) != NULL;
    for (size_t i = 0; r == 0 && i < COUNT_OF(parts); i++) {
        int64_t n = 0;

        r = slider_number(v, parts[i].key, 0, said ? 0 : parts[i].otherwise, &n, err);
        *ret += n * parts[i].seconds;
    }
    return r;
}

int slider_restart(const json_t *resources, json_t **ret, struct err *err)
{
    static const char *const policies[] = { "gang", "task", "never" };
    const char *policy = json_string_value(json_object_get(resources, "ydl.restart"));
    int64_t max = 0, seconds = 0;
    bool known = !policy;
    int r = slider_number(resources, "yarn.container.failure.threshold", 0, 5, &max, err);

    for (size_t i = 0; i < COUNT_OF(policies); i++)
        known |= str_eq(policy, policies[i]);
    if (r == 0 && !known)
        r = cli_bad(err, "'ydl.restart' is '%.60s', and can be gang, task or never", policy);
    if (r == 0)
        r = window(resources, &seconds, err);
    if (r == 0 && str_eq(policy, "never"))
        return json_make(ret, err, "{s:s, s:i}", "policy", policy, "max", 0);
    if (r == 0)
        r = json_make(ret, err, "{s:s, s:I}", "policy", policy ? policy : "gang", "max",
                      (json_int_t)(max ? max : UNLIMITED));
    if (r == 0 && seconds > 0 &&
        json_object_set_new(*ret, "window", json_sprintf("%llds", (long long)seconds)) < 0)
        r = err_oom(err);
    return r;
}

/* ---- what the whole job has ---- */

static int add_master(const struct slider_model *m, json_t *job, struct err *err)
{
    AUTO_JSON *master = json_object();
    const char *label = json_string_value(json_object_get(m->master, "yarn.label.expression"));
    int64_t memory = 0, cores = 0;
    int r = slider_number(m->master, "yarn.memory", 0, 0, &memory, err);

    if (r == 0)
        r = slider_number(m->master, "yarn.vcores", 0, 0, &cores, err);
    if (r < 0)
        return err_wrap(err, r, "resources.json: " SLIDER_MASTER);
    if (!master ||
        (memory > 0 &&
         json_object_set_new(master, "memory", json_sprintf(MIB_TEXT, (long long)memory)) < 0) ||
        (cores > 0 && json_object_set_new(master, "cpus", json_integer(cores)) < 0) ||
        (label && *label && json_object_set_new(master, "label", json_string(label)) < 0))
        return err_oom(err);
    if (json_object_size(master) > 0 && json_object_set(job, "master", master) < 0)
        return err_oom(err);
    return 0;
}

/* "48000-49000" of site.global.slider.allowed.ports; more than one range has no place to go. */
static int add_port_range(const struct slider_model *m, json_t *job)
{
    const char *text =
        json_string_value(json_object_get(m->v[0].config, "site.global.slider.allowed.ports"));
    size_t low = text ? strspn(text, "0123456789") : 0, high;

    if (!text || !*text)
        return 0;
    high = text[low] == '-' ? strspn(text + low + 1, "0123456789") : 0;
    if (low == 0 || high == 0 || text[low + 1 + high])
        return strs_take(
            m->notes,
            str_printf("site.global.slider.allowed.ports: '%.60s' is not one range, such as "
                       "48000-49000, and has no effect",
                       text));
    return json_object_set_new(job, "port-range", json_string(text)) < 0 ? -ENOMEM : 0;
}

/* What options said: keys of a job file, kept in internal.json. */
static int add_extra(const struct slider_job_options *o, json_t *job)
{
    static const char *const everywhere[] = { "env", "files", "venv", "output" };
    static const char *const on_yarn[] = { "queue", "label" };
    json_t *archives = json_object_get(job, "archives");
    const json_t *more = json_object_get(o->extra, "archives");
    int r = 0;

    for (size_t i = 0; r == 0 && i < COUNT_OF(everywhere); i++)
        if (json_object_get(o->extra, everywhere[i]))
            r = json_object_set(job, everywhere[i], json_object_get(o->extra, everywhere[i]));
    for (size_t i = 0; r == 0 && !o->local && i < COUNT_OF(on_yarn); i++)
        if (json_object_get(o->extra, on_yarn[i]))
            r = json_object_set(job, on_yarn[i], json_object_get(o->extra, on_yarn[i]));
    if (r == 0 && more)
        r = json_array_extend(archives, (json_t *)more);
    return r < 0 ? -ENOMEM : 0;
}

static int slider_add_roles(const struct slider_model *m, const struct slider_job_options *o,
                            json_t *job, struct err *err)
{
    json_t *roles = json_object();

    if (!roles || json_object_set_new(job, "roles", roles) < 0)
        return err_oom(err);
    for (size_t i = 0; i < m->n; i++) {
        AUTO_BUF name = { .max = KIB };
        AUTO_JSON *role = NULL;
        int r = slider_role_json(m, o, &m->v[i], &role, err);

        if (r < 0)
            return r;
        if (slider_role(&m->v[i], &name) < 0 || !buf_text(&name))
            return err_oom(err);
        if (json_object_get(roles, buf_text(&name)))
            return cli_bad(err, "metainfo.json: component '%s' is there twice", m->v[i].name);
        if (json_object_set(roles, buf_text(&name), role) < 0)
            return err_oom(err);
    }
    return 0;
}

int slider_job(const struct slider_model *m, const struct slider_job_options *o, char **ret,
               struct err *err)
{
    AUTO_JSON *job = NULL;
    json_t *restart = NULL;
    int r = slider_restart(m->global, &restart, err);

    if (r < 0) {
        json_decref(restart);
        return err_wrap(err, r, "resources.json");
    }
    r = json_make(&job, err, "{s:s, s:s, s:[{s:s}, {s:s}], s:o}", "name", m->name, "framework",
                  "slider", "archives", o->definition, SLIDER_DEFINITION, o->agent, SLIDER_AGENT,
                  "restart", restart);
    if (r == 0 && !o->local && json_object_set_new(job, "tags", json_pack("[s]", "slider")) < 0)
        r = err_oom(err);
    if (r == 0 && !o->local)
        r = add_master(m, job, err);
    if (r == 0 && (add_port_range(m, job) < 0 || add_extra(o, job) < 0))
        r = err_oom(err);
    if (r == 0)
        r = slider_add_roles(m, o, job, err);
    if (r < 0)
        return r;
    *ret = json_dumps(job, JSON_COMPACT);
    return *ret ? 0 : err_oom(err);
}
