/* slider_job.c - an application as a job specification; see slider_job.h. */
#include "cmd/slider/slider_job.h"

#include <string.h>

#define MIB_TEXT "%lldm"

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
        return strs_take(m->notes,
                         str_printf("site.global.slider.allowed.ports: '%.60s' has no effect: it "
                                    "is not a single range such as 48000-49000",
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
            return cli_bad(err, "metainfo.json: duplicate component '%s'", m->v[i].name);
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
