/* registry_entry.c - the job's own record in YARN's registry: see registry_entry.h */
#include "base/log.h"
#include "hadoop/yarn/ids.h"
#include "master/yarn/registry_entry_private.h"

#include <stdio.h>
#include <string.h>

#define CLASS "ydl"
#define OPEN_MS 5000 /* so long a job that would like names waits for the registry */
#define AGAIN_MS 30000
#define CALL_MS 10000
#define CLOSE_MS 3000 /* to take everything away */

void registry_entry_note(struct enrolled *x, const char *what, const struct err *why)
{
    AUTO_FREE char *text = str_printf("%s: %s", what, why->text);

    if (text)
        master_note(x->m, text);
}

int registry_entry_add_status(const struct master *m, json_t *status, struct err *err)
{
    const struct enrolled *x = yarn_of(m)->enrolled;

    if (x && x->path && json_object_set_new(status, "registry", json_text(x->path)) < 0)
        return err_oom(err);
    return 0;
}

static const struct conf *conf_of(const struct master *m)
{
    return session_conf(yarn_of(m)->container->session);
}

/* ---- which name ---- */

/* The job's name as a label, or with the application's number behind it: a second job of the same
 * name at the same time has to have another one. */
static const char *registry_entry_candidate(const struct master *m, bool numbered,
                                            char out[REGISTRY_LABEL])
{
    const char *number = strrchr(m->opt->dir->id, '_');
    char label[REGISTRY_LABEL];
    int64_t n = 0;

    (void)registry_label(m->facts.name ? m->facts.name : m->opt->dir->id, label);
    if (number)
        (void)str_to_i64(number + 1, 0, INT32_MAX, &n);
    if (numbered)
        (void)snprintf(out, REGISTRY_LABEL, "%.50s-%lld", label, (long long)n);
    else
        (void)snprintf(out, REGISTRY_LABEL, "%s", label);
    return out;
}

/* Whose record is at the path? "" when there is none; *ret is the caller's. */
static int owner_of(struct enrolled *x, const char *path, char **ret, struct err *err)
{
    AUTO_JSON *v = NULL;
    const char *id = NULL;
    int r = registry_get(x->registry, path, &v, loop_in(x->m->loop, CALL_MS), err);

    if (r == -ENOENT || r == -ENODATA || r == -EINVAL) {
        err_clear(err);
        r = 0;
    }
    if (r == 0) {
        id = v ? registry_record_text(v, "yarn:id") : NULL;
        *ret = strdup(id ? id : "");
        r = *ret ? 0 : err_oom(err);
    }
    return r;
}

/* A job that lives has a record of its master's container, which goes with it. */
static int is_alive(struct enrolled *x, const char *path, struct err *err)
{
    AUTO_FREE char *below = str_printf("%s/components", path);
    AUTO_STRS names = { 0 };
    int r = below ? registry_list(x->registry, below, &names, loop_in(x->m->loop, CALL_MS), err)
                  : err_oom(err);

    if (r == -ENOENT) {
        err_clear(err);
        return 0;
    }
    return r < 0 ? r : names.n > 0;
}

/* ---- the records ---- */

/* Claiming creates and fails where there is a record; only what is known to be ours is overwritten.
 */
static int registry_entry_put_job(struct enrolled *x, const char *path, bool ours, struct err *err)
{
    const struct master *m = x->m;
    const struct master_container *c = yarn_of(m)->container;
    const struct registry_endpoint external[] = {
        { .api = "http://ydl/api",
          .protocol = "REST",
          .host = c->host,
          .port = yarn_of(m)->api_port },
        { .api = "http://ydl/page", .protocol = "webui", .uri = yarn_of(m)->page_url },
    };
    const struct registry_attribute attributes[] = { { "ydl:framework", m->framework->name } };
    const struct registry_record record = { .description =
                                                m->facts.name ? m->facts.name : m->opt->dir->id,
                                            .persistence = REGISTRY_APPLICATION,
                                            .id = m->opt->dir->id,
                                            .external = external,
                                            .n_external = COUNT_OF(external),
                                            .attributes = attributes,
                                            .n_attributes = COUNT_OF(attributes) };
    int64_t deadline = loop_in(m->loop, CALL_MS);

    return ours ? registry_put(x->registry, path, &record, false, deadline, err)
                : registry_claim(x->registry, path, &record, deadline, err);
}

/* The record that says that we live. */
static int put_master(struct enrolled *x, struct err *err)
{
    const struct master_container *c = yarn_of(x->m)->container;
    const char *container = getenv("CONTAINER_ID");
    const struct registry_record record = { .description = "ydl-master",
                                            .persistence = REGISTRY_CONTAINER,
                                            .id = container,
                                            .ip = c->host,
                                            .hostname = c->node,
                                            .component = "ydl-master" };
    AUTO_FREE char *path = NULL;
    char label[REGISTRY_LABEL];
    int r = registry_component_path(x->path, registry_container(container ? container : "", label),
                                    &path, err);

    return r < 0
               ? r
               : registry_put(x->registry, path, &record, true, loop_in(x->m->loop, CALL_MS), err);
}

/* What is at the framework's server, by the names that its own clients know. */
#define ROWS_MAX 3
static int rows_of(const struct master *m, struct strs *uris, struct registry_endpoint *rows)
{
    static const struct {
        const char *api, *path;
    } known[ROWS_MAX] = {
        { "classpath:org.apache.slider.client.rest", "" },
        { "classpath:org.apache.slider.publisher", "/publisher" },
        { "classpath:org.apache.slider.publisher.exports", "/publisher/exports" },
    };
    int port;
    const char *host = form_server(m, &port);

    for (size_t i = 0; i < ROWS_MAX; i++) {
        if (strs_take(uris, str_printf("http://%s:%d/ws/v1/slider%s", host, port, known[i].path)))
            return -ENOMEM;
        rows[i] = (struct registry_endpoint){ .api = known[i].api,
                                              .protocol = "REST",
                                              .uri = uris->v[i] };
    }
    return 0;
}

/* A second record, in the framework's own class, for clients that look there. One of persistence
 * `attempt`, which RegistryDNS leaves alone: it could not read it. */
static int put_other(struct enrolled *x, struct err *err)
{
    const struct master *m = x->m;
    struct registry_endpoint rows[ROWS_MAX];
    const struct registry_record record = { .description =
                                                m->facts.name ? m->facts.name : m->opt->dir->id,
                                            .persistence = REGISTRY_ATTEMPT,
                                            .id = m->opt->dir->id,
                                            .external = rows,
                                            .n_external = ROWS_MAX };
    AUTO_STRS uris = { 0 };
    AUTO_FREE char *path = NULL, *owner = NULL;
    int r = registry_service_path(m->facts.user, m->framework->registry, x->name, &path, err);

    if (r == 0)
        r = owner_of(x, path, &owner, err);
    if (r == 0 && *owner && !str_eq(owner, m->opt->dir->id))
        r = is_alive(x, path, err);
    if (r > 0)
        return err_set(err, -EEXIST, "'%s' is another application's", path);
    if (r == 0 && rows_of(m, &uris, rows) < 0)
        r = err_oom(err);
    return r < 0 ? r
                 : registry_put(x->registry, path, &record, true, loop_in(m->loop, CALL_MS), err);
}

/* -EEXIST when another job has it.
 *
 *     create ──exists──► whose? ──ours──► overwrite
 *                          └─ another's ──alive──► -EEXIST: the numbered name is tried
 *                                         └─ dead ─► remove, create */
static int claim(struct enrolled *x, const char *path, struct err *err)
{
    AUTO_FREE char *owner = NULL;
    int r = registry_entry_put_job(x, path, false, err);

    if (r != -EEXIST)
        return r;
    err_clear(err);
    r = owner_of(x, path, &owner, err);
    if (r < 0)
        return r;
    if (str_eq(owner, x->m->opt->dir->id)) /* a master before us was here */
        return registry_entry_put_job(x, path, true, err);
    r = is_alive(x, path, err);
    if (r != 0)
        return r < 0 ? r : err_set(err, -EEXIST, "'%s' is another job's", path);
    r = registry_delete(x->registry, path, true, loop_in(x->m->loop, CALL_MS), err);
    return r < 0 ? r : registry_entry_put_job(x, path, false, err);
}

/* Where a master before us was, if there was one; *ret is the caller's, and NULL if not. */
static int registry_entry_find_own(struct enrolled *x, char **ret, struct err *err)
{
    int r = 0;

    for (int i = 0; i < 2 && r == 0 && yarn_of(x->m)->container->attempt > 1; i++) {
        AUTO_FREE char *owner = NULL;
        AUTO_FREE char *path = NULL;
        char name[REGISTRY_LABEL];

        r = registry_service_path(x->m->facts.user, CLASS,
                                  registry_entry_candidate(x->m, i > 0, name), &path, err);
        if (r == 0)
            r = owner_of(x, path, &owner, err);
        if (r == 0 && str_eq(owner, x->m->opt->dir->id)) {
            *ret = take(path);
            return 0;
        }
    }
    return r;
}

/* A master that takes over keeps the name that the one before had, whichever of the two it was:
 * clients and the names of tasks are made of it. */
static int enroll(struct enrolled *x, struct err *err)
{
    AUTO_FREE char *path = NULL;
    int r = registry_entry_find_own(x, &path, err);

    if (r == 0 && path) {
        r = registry_entry_put_job(x, path, true, err);
    } else if (r == 0) {
        r = -EEXIST;
        for (int i = 0; i < 2 && r == -EEXIST; i++) {
            char name[REGISTRY_LABEL];

            free(take(path));
            r = registry_service_path(x->m->facts.user, CLASS,
                                      registry_entry_candidate(x->m, i > 0, name), &path, err);
            if (r == 0)
                r = claim(x, path, err);
        }
    }
    if (r < 0)
        return r;
    x->path = take(path);
    x->name = strrchr(x->path, '/') + 1;
    r = put_master(x, err);
    if (r < 0 || !x->m->framework->registry)
        return r;
    r = put_other(x, err);
    if (r == 0 || r == -ECANCELED)
        return r;
    registry_entry_note(x, "clients of its framework cannot find the job in YARN's registry", err);
    err_clear(err);
    return 0;
}

/* ---- beginning and end ---- */

static int open_once(struct enrolled *x, struct err *err)
{
    struct loop *l = x->m->loop;
    int r = registry_open(l, conf_of(x->m), loop_in(l, OPEN_MS), &x->registry, err);

    if (r == 0)
        r = enroll(x, err);
    if (r < 0 && r != -ECANCELED) {
        x->registry = registry_close(x->registry);
        free(take(x->path));
    }
    return r;
}

/* It may come back, but nobody waits for that. One that wants Kerberos is none for us.
 * Tasks are told to do without names after the first failure, because a gang may be waiting for
 * them. The job's own record is tried again for as long as the job lives. */
static int open_registry(struct enrolled *x)
{
    struct err err = ERR_INIT;
    int r = open_once(x, &err);

    if (r == -EOPNOTSUPP)
        log_info(LOG_MASTER, "%s", err.text);
    else if (r < 0 && r != -ECANCELED)
        registry_entry_note(x, "the job cannot be found in YARN's registry", &err);
    if (r < 0)
        registry_tasks_give_up(x);
    while (r < 0 && r != -ECANCELED && r != -EOPNOTSUPP) {
        r = fiber_sleep(x->m->loop, AGAIN_MS);
        if (r == 0)
            r = open_once(x, &err);
    }
    return r;
}

/* With the record all below it goes; after us another master will need it. */
static void registry_entry_take_away(struct enrolled *x)
{
    struct loop *l = x->m->loop;
    struct err err = ERR_INIT;

    fiber_shield(l, true);
    if (x->registry && x->path && !x->m->left &&
        registry_delete(x->registry, x->path, true, loop_in(l, CLOSE_MS), &err) < 0)
        log_warn(LOG_MASTER, "the job's record in YARN's registry stays: %s", err.text);
    x->registry = registry_close(x->registry);
    fiber_shield(l, false);
}

static void registry_entry_run(void *arg)
{
    struct enrolled *x = arg;

    if (open_registry(x) == 0)
        registry_tasks_serve(x);
    registry_entry_take_away(x);
    x->fiber = NULL;
    cond_wake_all(&x->changed);
}

static int find_domain(struct enrolled *x, struct err *err)
{
    bool dns = false;
    int r = conf_bool(conf_of(x->m), "hadoop.registry.dns.enabled", &dns, err);

    return r < 0 || !dns
               ? r
               : conf_str(conf_of(x->m), "hadoop.registry.dns.domain-name", &x->domain, err);
}

int registry_entry_start(struct master *m, struct err *err)
{
    AUTO_STRS keys = { 0 };
    struct enrolled *x;
    int r = conf_keys(conf_of(m), "hadoop.registry.zk.quorum", &keys, err);

    if (r < 0 || keys.n == 0)
        return r;
    x = yarn_of(m)->enrolled = calloc(1, sizeof(*x));
    if (!x)
        return err_oom(err);
    x->m = m;
    if (find_domain(x, err) == -ENOMEM)
        return -ENOMEM;
    x->wanted = x->domain && registry_tasks_wanted(m);
    return fiber_start(m->loop, registry_entry_run, x, &x->fiber, err);
}

void registry_entry_end(struct master *m)
{
    if (yarn_of(m)->enrolled && yarn_of(m)->enrolled->fiber)
        fiber_cancel(yarn_of(m)->enrolled->fiber);
}

void registry_entry_stop(struct master *m)
{
    struct enrolled *x = yarn_of(m)->enrolled;

    if (!x)
        return;
    while (x->fiber)
        (void)cond_wait(m->loop, &x->changed, LOOP_NEVER);
    registry_tasks_free(x);
    free(x->path);
    free(x->domain);
    free(x);
    yarn_of(m)->enrolled = NULL;
}

const struct names_ops registry_ops = {
    .hold = registry_tasks_before_ready,
    .again = registry_tasks_prepare_again,
    .decide = registry_tasks_decide,
    .host = registry_tasks_host,
    .add_status = registry_entry_add_status,
};
