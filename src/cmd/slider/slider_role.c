/* slider_role.c - a component as a role of a job; see slider_role.h. */
#include "cmd/slider/slider_role.h"
#include "cmd/slider/slider_export.h"

#include <string.h>

#define SITE "site."
#define TEXT_MAX (120 * KIB) /* of a variable: the kernel takes no more than 128 */
#define TIMEOUT "600"        /* seconds, for a command of a script */
#define UNLIMITED 1000000    /* restarts */
#define POLICY_STRICT 1
#define POLICY_SPREAD 4

static int slider_set(json_t *v, const char *key, json_t *value)
{
    return json_object_set_new(v, key, value) < 0 ? -ENOMEM : 0;
}

/* ---- configuration ---- */

/* "site.global.ps.port": "${…}" into {"global": {"ps.port": "…"}}. */
static int slider_add_setting(struct slider_making *k, const char *key, const json_t *v,
                              struct err *err)
{
    const char *dot = strchr(key + strlen(SITE), '.');
    AUTO_FREE char *dict =
        dot ? strndup(key + strlen(SITE), (size_t)(dot - key) - strlen(SITE)) : NULL;
    AUTO_FREE char *made = json_is_string(v) ? NULL : json_dumps(v, JSON_ENCODE_ANY);
    AUTO_BUF text = { .max = TEXT_MAX };
    json_t *into;
    int r;

    if (!dot)
        return 0;
    if (!dict || (!json_is_string(v) && !made))
        return err_oom(err);
    r = slider_resolve(&k->tokens, made ? made : json_string_value(v), &text, err);
    if (r < 0)
        return r;
    into = json_object_get(k->dicts, dict);
    if (!into && slider_set(k->dicts, dict, into = json_object()) < 0)
        return err_oom(err);
    return buf_text(&text) && slider_set(into, dot + 1, json_text(buf_text(&text))) == 0
               ? 0
               : err_oom(err);
}

static int make_dicts(struct slider_making *k, struct err *err)
{
    const char *key;
    json_t *v;
    int r = k->dicts && slider_set(k->dicts, "global", json_object()) == 0 ? 0 : err_oom(err);

    json_object_foreach(k->c->config, key, v)
    {
        if (r == 0 && str_starts(key, SITE))
            r = slider_add_setting(k, key, v, err);
    }
    return r;
}

static const char *setting(const struct slider_making *k, const char *key)
{
    return json_string_value(json_object_get(k->c->config, key));
}

/* ---- what it runs ---- */

/* The template of what Slider's agent hands to a script. */
static int slider_command_json(const struct slider_making *k, json_t **ret, struct err *err)
{
    const json_t *script = json_object_get(k->c->info, "commandScript");
    const json_t *packages = json_object_get(k->m->metainfo, "packages");
    const char *type = json_string_value(json_object_get(script, "scriptType"));
    const char *version = json_string_value(json_object_get(k->m->metainfo, "version"));
    AUTO_FREE char *made = NULL;
    const char *timeout = slider_text(script, "timeout", &made);

    return json_make(
        ret, err, "{s:s, s:s, s:s, s:s, s:o, s:O, s:{s:s, s:s, s:s}, s:o, s:o}", "componentName",
        k->c->name, "appName", k->m->name, "clusterName", k->m->name, "appType",
        k->m->app ? k->m->app : k->m->name, "appVersion",
        version ? json_string(version) : json_null(), "configurations", k->dicts, "commandParams",
        "script", json_string_value(json_object_get(script, "script")), "script_type",
        type ? type : "PYTHON", "command_timeout", timeout ? timeout : TIMEOUT, "hostLevelParams",
        setting(k, "java_home") ? json_pack("{s:s}", "java_home", setting(k, "java_home"))
                                : json_object(),
        "packages", packages ? json_incref((json_t *)packages) : json_array());
}

static int run_script(const struct slider_making *k, struct err *err)
{
    AUTO_BUF text = { .max = TEXT_MAX };
    AUTO_JSON *command = NULL;
    int r = slider_command_json(k, &command, err);

    if (r < 0)
        return r;
    r = slider_write_json(command, &text);
    if (r == -E2BIG)
        return cli_bad(err, "appConfig: the values for component '%s' exceed %zu KB", k->c->name,
                       TEXT_MAX / KIB);
    if (r < 0 || !buf_text(&text) ||
        slider_set(k->role, "command", json_pack("[s, s]", "python3", SLIDER_AGENT "/agent.py")) <
            0 ||
        slider_set(k->role, "env",
                   json_pack("{s:o}", "SLIDER_COMMAND", json_text(buf_text(&text)))) < 0)
        return err_oom(err);
    return 0;
}

/* "{$conf:@//site/global/key}" and the tokens of a command line.
 *
 * Tokens of the text in between are resolved here; values of settings were resolved when they were
 * read, and are not a second time. */
static int resolve_exec(struct slider_making *k, const char *exec, struct buf *out, struct err *err)
{
    static const char begin[] = "{$conf:@//site/";
    int r = 0;

    while (r == 0 && *exec) {
        const char *p = strstr(exec, begin), *end = p ? strchr(p, '}') : NULL;
        const char *dict = p ? p + sizeof(begin) - 1 : NULL,
                   *slash = dict ? strchr(dict, '/') : NULL;
        AUTO_FREE char *before = end ? strndup(exec, (size_t)(p - exec)) : strdup(exec);
        AUTO_FREE char *name = NULL, *key = NULL;
        const char *value;

        r = before ? slider_resolve(&k->tokens, before, out, err) : err_oom(err);
        if (r < 0 || !end)
            return r;
        exec = end + 1;
        if (!slash || slash > end)
            return cli_bad(err, "metainfo.json: '%.60s' is not {$conf:@//site/DICT/KEY}", p);
        name = strndup(dict, (size_t)(slash - dict));
        key = strndup(slash + 1, (size_t)(end - slash) - 1);
        if (!name || !key)
            return err_oom(err);
        value = json_string_value(json_object_get(json_object_get(k->dicts, name), key));
        if (!value)
            return cli_bad(err, "metainfo.json: appConfig has no site.%s.%s", name, key);
        r = buf_add_str(out, value) < 0 ? err_oom(err) : 0;
    }
    return r;
}

static int run_shell(struct slider_making *k, const char *exec, struct err *err)
{
    AUTO_BUF marked = { .max = TEXT_MAX };
    AUTO_BUF text = { .max = TEXT_MAX };
    int r = resolve_exec(k, exec, &marked, err);

    if (r < 0)
        return r;
    if (!buf_text(&marked) || slider_write_text(buf_text(&marked), &text) < 0 || !buf_text(&text))
        return err_oom(err);
    if (slider_set(k->role, "command",
                   json_pack("[s, s, o]", "sh", "-c", json_text(buf_text(&text)))) < 0 ||
        slider_set(k->role, "env",
                   json_pack("{s:s, s:s}", "AGENT_WORK_ROOT", ".", "AGENT_LOG_ROOT", ".")) < 0)
        return err_oom(err);
    return 0;
}

/* The START of a component without a script. */
static const char *start_exec(const struct slider_component *c)
{
    const json_t *commands = json_object_get(c->info, "commands"), *command;
    const json_t *image = json_array_get(json_object_get(c->info, "dockerContainers"), 0);
    size_t i;

    json_array_foreach(commands, i, command)
    {
        const char *name = json_string_value(json_object_get(command, "name"));

        if (!name || str_eq(name, "START"))
            return json_string_value(json_object_get(command, "exec"));
    }
    return json_string_value(json_object_get(image, "startCommand"));
}

static int slider_add_command(struct slider_making *k, struct err *err)
{
    const char *exec = start_exec(k->c);

    if (json_is_string(json_object_get(json_object_get(k->c->info, "commandScript"), "script")))
        return run_script(k, err);
    if (exec)
        return run_shell(k, exec, err);
    return cli_bad(err, "metainfo.json: component '%s' has no command to start it", k->c->name);
}

static int add_image(const struct slider_making *k)
{
    const json_t *docker = json_array_get(json_object_get(k->c->info, "dockerContainers"), 0);
    const char *own = json_string_value(json_object_get(docker, "image"));
    const char *said = json_string_value(json_object_get(k->o->extra, "image"));
    const char *mode = setting(k, "site.global.run.mode");
    const char *image = setting(k, "site.global.docker.image");

    if (said || own)
        return slider_set(k->role, "image", json_text(said ? said : own));
    if (!str_eq(mode, "docker"))
        return 0;
    if (image)
        return slider_set(k->role, "image", json_text(image));
    if (k->c != &k->m->v[0])
        return 0; /* once is enough */
    return strs_take(k->m->notes,
                     str_printf("site.global.run.mode is docker, but no image is named by "
                                "site.global.docker.image or --docker-image: running without one"));
}

/* ---- what it needs ---- */

/* Parameter servers and TensorBoard wait for the others. */
static bool waits(const struct slider_component *c)
{
    return strcasecmp(c->name, "ps") == 0 || strcasecmp(c->name, "tensorboard") == 0;
}

/* Does its end decide the job's? */
static bool slider_decides(const struct slider_model *m, const struct slider_component *c)
{
    for (size_t i = 0; i < m->n; i++)
        if (!waits(&m->v[i]))
            return !waits(c);
    return true; /* only such ones: then they do */
}

/* "yarn.io/gpu" and whatever else the cluster has a name for. */
static int add_amounts(const struct slider_making *k, struct err *err)
{
    AUTO_JSON *amounts = json_object();
    int64_t gpus =
        slider_decides(k->m, k->c) ? json_integer_value(json_object_get(k->o->extra, "gpus")) : 0;
    const char *key;
    json_t *v;
    int r = amounts ? 0 : err_oom(err);

    json_object_foreach(k->c->resources, key, v)
    {
        int64_t n = 0;

        if (r < 0 || !strchr(key, '/'))
            continue;
        r = slider_number(k->c->resources, key, 0, 0, &n, err);
        if (r == 0 && str_eq(key, "yarn.io/gpu"))
            gpus = n;
        else if (r == 0 && n > 0 && slider_set(amounts, key, json_integer(n)) < 0)
            r = err_oom(err);
    }
    if (r == 0 && gpus > 0 && slider_set(k->role, "gpus", json_integer(gpus)) < 0)
        r = err_oom(err);
    if (r == 0 && !k->o->local && json_object_size(amounts) > 0 &&
        json_object_set(k->role, "resources", amounts) < 0)
        r = err_oom(err);
    return r;
}

static int add_placement(const struct slider_making *k, struct err *err)
{
    const char *label =
        json_string_value(json_object_get(k->c->resources, "yarn.label.expression"));
    int64_t policy = 0;
    int r = slider_number(k->c->resources, "yarn.component.placement.policy", 0, 0, &policy, err);

    if (r < 0)
        return r;
    if (policy & POLICY_STRICT)
        r = strs_take(
            k->m->notes,
            str_printf("component '%s': yarn.component.placement.policy 1 (the same nodes as "
                       "last time) has no effect",
                       k->c->name));
    if (r == 0 && (policy & POLICY_SPREAD) && !k->o->local)
        r = slider_set(k->role, "spread", json_string("node"));
    if (r == 0 && label && *label && !k->o->local)
        r = slider_set(k->role, "label", json_text(label));
    return r < 0 ? err_oom(err) : 0;
}

/* On one machine there are no containers to be sized. */
static int add_sizes(const struct slider_making *k, struct err *err)
{
    int64_t memory = 256, cores = 1;
    int r = slider_number(k->c->resources, "yarn.memory", 1, 256, &memory, err);

    if (r == 0)
        r = slider_number(k->c->resources, "yarn.vcores", 1, 1, &cores, err);
    if (r == 0 && !k->o->local &&
        (slider_set(k->role, "memory", json_sprintf("%lldm", (long long)memory)) < 0 ||
         slider_set(k->role, "cpus", json_integer(cores)) < 0))
        r = err_oom(err);
    if (r == 0)
        r = add_amounts(k, err);
    return r < 0 ? r : add_placement(k, err);
}

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
        r = cli_bad(err, "'ydl.restart' is '%.60s'; it must be gang, task or never", policy);
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

/* What it says of restarts otherwise than all. */
static int add_restart(const struct slider_making *k, struct err *err)
{
    AUTO_JSON *all = NULL;
    AUTO_JSON *own = NULL;
    int r = slider_restart(k->m->global, &all, err);

    if (r == 0)
        r = slider_restart(k->c->resources, &own, err);
    if (r == 0 && !json_equal(all, own) && json_object_set(k->role, "restart", own) < 0)
        r = err_oom(err);
    return r;
}

/* ---- its end ---- */

static int add_end(const struct slider_making *k, struct err *err)
{
    bool decides = slider_decides(k->m, k->c);
    int r = slider_set(k->role, "decides", json_boolean(decides));

    if (r == 0 && !decides && strcasecmp(k->c->name, "tensorboard") == 0)
        r = slider_set(k->role, "side", json_true());
    return r < 0 ? err_oom(err) : 0;
}

/* ---- all of it ---- */

/* Ports are counted while settings, command and exports are made (tokens.ports): "ports" comes
 * behind them. */
static int make_role(struct slider_making *k, struct err *err)
{
    size_t at = (size_t)(k->c - k->m->v);
    int r = make_dicts(k, err);

    if (r == 0)
        r = slider_add_command(k, err);
    if (r == 0)
        r = slider_add_exports(k, err);
    if (r == 0 &&
        (slider_set(k->role, "count", json_integer(k->c->count)) < 0 ||
         slider_set(k->role, "ports", json_integer(k->tokens.ports[at])) < 0 || add_image(k) < 0))
        r = err_oom(err);
    if (r == 0)
        r = add_sizes(k, err);
    if (r == 0)
        r = add_restart(k, err);
    if (r == 0)
        r = slider_add_orders(k, err);
    if (r == 0)
        r = add_end(k, err);
    if (r == 0 && k->tokens.preferred && k->c == &k->m->v[0] &&
        strs_take(k->m->notes, str_printf("{DEFAULT_n} has no effect: any free port is used")) < 0)
        r = err_oom(err);
    return r;
}

int slider_role_json(const struct slider_model *m, const struct slider_job_options *o,
                     const struct slider_component *c, json_t **ret, struct err *err)
{
    AUTO_JSON *dicts = json_object();
    AUTO_JSON *role = json_object();
    struct slider_making k = { .m = m,
                               .o = o,
                               .c = c,
                               .tokens = { .model = m, .component = c, .facts = o->facts },
                               .dicts = dicts,
                               .role = role };
    int r = role && dicts ? make_role(&k, err) : err_oom(err);

    if (r == 0)
        *ret = take(role);
    /* What is wrong with a value begins with its key. */
    return r == CLI_USAGE && err->text[0] == '\''
               ? err_wrap(err, r, "resources.json: component '%s'", c->name)
               : r;
}
