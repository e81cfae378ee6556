/* recover.c - a master that takes over: the log of those before it, read back.
 *
 *     BASE/logs/APP/events-1.jsonl, events-1.1.jsonl, events-2.jsonl … ──► journal, engine
 *     its agents' containers ──► platform, slots
 *
 * The agents come by themselves: they look for us. */
#include "base/log.h"
#include "master/master_private.h"

#include <stdio.h>
#include <string.h>

#define LOG_MAX ((size_t)256 * MIB)

/* An agent as the log tells of it. */
struct known_agent {
    char *container, *node, *host;
    bool lost;
};

struct recovery {
    struct known_agent *agents; /* by number */
    uint32_t n_agents;
    bool any;
};

/* ---- reading ---- */

/* "events-2.jsonl" and "events-2.1.jsonl", parts of attempts before ours, in their order. */
struct part {
    int64_t attempt, part;
    char *path;
};

static bool is_part(const char *name, int before, struct part *ret)
{
    static const char head[] = "events-", tail[] = ".jsonl";
    AUTO_FREE char *numbers = NULL;
    char *dot;

    if (!str_starts(name, head) || !str_ends(name, tail) ||
        strlen(name) <= strlen(head) + strlen(tail))
        return false;
    numbers = strndup(name + strlen(head), strlen(name) - strlen(head) - strlen(tail));
    if (!numbers)
        return false;
    ret->part = 0;
    dot = strchr(numbers, '.');
    if (dot)
        *dot++ = '\0';
    if (dot && str_to_i64(dot, 0, INT32_MAX, &ret->part) < 0)
        return false;
    return str_to_i64(numbers, 1, before - 1, &ret->attempt) == 0;
}

static int by_order(const void *a, const void *b)
{
    const struct part *x = a, *y = b;

    if (x->attempt != y->attempt)
        return x->attempt < y->attempt ? -1 : 1;
    return (x->part > y->part) - (x->part < y->part);
}

static int find_parts(struct master *m, struct part **ret, size_t *ret_n, struct err *err)
{
    struct container *c = m->opt->container;
    AUTO_FS_LIST *list = NULL;
    const struct fs_entry *e = NULL;
    int r = fs_list_open(c->fs, c->logs, &list, err);

    while (r == 0 && (r = fs_list_next(list, &e, err)) > 0) {
        struct part p, *v;

        r = 0;
        if (!is_part(e->name, c->attempt, &p))
            continue;
        v = realloc(*ret, (*ret_n + 1) * sizeof(*v));
        if (!v)
            return err_oom(err);
        *ret = v;
        p.path = strdup(e->path);
        if (!p.path)
            return err_oom(err);
        v[(*ret_n)++] = p;
    }
    if (r == 0 && *ret_n)
        qsort(*ret, *ret_n, sizeof(**ret), by_order);
    return r;
}

/* The file of a master that died is still open for the NameNode: its last bytes are known only
 * once it has been taken from that master. */
static int read_parts(struct master *m, struct buf *ret, struct err *err)
{
    struct container *c = m->opt->container;
    struct part *parts = NULL;
    size_t n = 0;
    int r = find_parts(m, &parts, &n, err);

    for (size_t i = 0; i < n; i++) {
        if (r == 0 && fs_recover_lease(c->fs, parts[i].path, loop_in(m->loop, 30000), err) < 0) {
            log_warn(LOG_MASTER, "%s: %s, read as far as it goes", parts[i].path, err->text);
            err_clear(err);
        }
        if (r == 0)
            r = container_load(c, parts[i].path, ret, err);
        if (r == 0 && ret->len > 0 && ret->data[ret->len - 1] != '\n')
            r = buf_add(ret, "\n", 1) < 0 ? err_oom(err) : 0; /* cut short by the crash */
        free(parts[i].path);
    }
    free(parts);
    return r;
}

/* ---- agents ---- */

static int keep_agent(struct recovery *x, const json_t *v)
{
    const char *state = NULL, *container = NULL, *node = NULL, *host = NULL;
    json_int_t number = 0;
    struct known_agent *k;

    if (json_unpack((json_t *)v, "{s:I, s:s, s?s, s?s, s?s}", "agent", &number, "state", &state,
                    "container", &container, "node", &node, "host", &host) < 0 ||
        number <= 0 || number > UINT16_MAX)
        return 0;
    if ((uint32_t)number >= x->n_agents) {
        uint32_t n = (uint32_t)number + 16;

        k = realloc(x->agents, n * sizeof(*k));
        if (!k)
            return -ENOMEM;
        memset(k + x->n_agents, 0, (n - x->n_agents) * sizeof(*k));
        x->agents = k;
        x->n_agents = n;
    }
    k = &x->agents[number];
    k->lost = str_eq(state, "lost");
    if (k->container || !container || !*container)
        return 0;
    k->container = strdup(container);
    k->node = strdup(node ? node : "");
    k->host = strdup(host ? host : "");
    return k->container && k->node && k->host ? 0 : -ENOMEM;
}

static void recovery_free(struct recovery *x)
{
    for (uint32_t i = 0; x && i < x->n_agents; i++) {
        free(x->agents[i].container);
        free(x->agents[i].node);
        free(x->agents[i].host);
    }
    if (x)
        free(x->agents);
    free(x);
}

static int restore_line(struct master *m, struct recovery *x, const char *line, size_t n,
                        struct err *err)
{
    AUTO_JSON *v = NULL;
    int r;

    if (n == 0)
        return 0;
    r = engine_restore(m->engine, line, n, err);
    if (r == -EINVAL) {
        log_warn(LOG_MASTER, "a record of the log is cut short, ignoring: %s", err->text);
        err_clear(err);
        return 0;
    }
    if (r < 0)
        return r;
    x->any = true;
    if (!memmem(line, n, "\"agent\"", 7) || json_parse("the events log", line, n, &v, NULL) < 0)
        return 0;
    if (str_eq(json_string_value(json_object_get(v, "event")), "agent") && keep_agent(x, v) < 0)
        return err_oom(err);
    return 0;
}

int recover_read(struct master *m, struct err *err)
{
    AUTO_BUF text = { .max = LOG_MAX };
    struct recovery *x;
    int r;

    if (!m->opt->container || m->opt->container->attempt <= 1)
        return 0;
    x = m->recovery = calloc(1, sizeof(*x));
    r = x ? read_parts(m, &text, err) : err_oom(err);
    for (size_t at = 0; r == 0 && at < text.len;) {
        const char *line = (const char *)text.data + at, *end;

        end = memchr(line, '\n', text.len - at);
        if (!end)
            break;
        r = restore_line(m, x, line, (size_t)(end - line), err);
        at += (size_t)(end - line) + 1;
    }
    if (r == 0 && x->any)
        journal_append(&m->journal, text.data, text.len);
    return r;
}

/* ---- taking over ---- */

static int adopt(struct master *m, uint32_t slot, uint32_t agent, const struct known_agent *k,
                 struct err *err)
{
    uint32_t role, first, n;
    struct agent_conn *a;
    int r = agents_expect(m, agent, err);

    engine_slot(m->engine, slot, &role, &first, &n);
    if (r == 0)
        r = drive_set_slot(m, slot, agent, err);
    if (r == 0)
        r = yarn_adopt(m->platform, slot, &m->spec.roles[role], agent, k->container, err);
    if (r < 0)
        return r;
    a = agents_get(m, agent);
    (void)snprintf(a->node, sizeof(a->node), "%s", k->node);
    (void)snprintf(a->host, sizeof(a->host), "%s", k->host);
    a->adopted = true;
    return 0;
}

static int adopt_all(struct master *m, struct recovery *x, struct err *err)
{
    int r = 0;

    for (uint32_t i = 0; i < engine_n_slots(m->engine) && r == 0; i++) {
        uint32_t agent = engine_slot_agent(m->engine, i);

        if (!engine_slot_is_away(m->engine, i))
            continue;
        if (agent < x->n_agents && x->agents[agent].container && !x->agents[agent].lost)
            r = adopt(m, i, agent, &x->agents[agent], err);
        else /* granted, but its agent never came: YARN knows it, we do not */
            r = engine_on_lost(m->engine, i, FAIL_NODE, "its master was lost before it had begun",
                               master_now(m), err);
    }
    return r;
}

int recover_job(struct master *m, struct err *err)
{
    struct recovery *x = take(m->recovery);
    bool any = x && x->any;
    int r = 0;

    if (any) {
        log_info(LOG_MASTER, "attempt %d takes the job over", m->opt->container->attempt);
        r = engine_resume(m->engine, master_now(m), err);
        if (r == 0)
            r = adopt_all(m, x, err);
        if (r == 0 && engine_generation(m->engine) > 0)
            r = form_generation(m, err);
    }
    recovery_free(x);
    return r < 0 ? r : any;
}
