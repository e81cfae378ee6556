/* leaving.c - containers that will be taken away, and nodes that will: who is told, and when it is
 * acted upon here.
 *
 *     platform: node leaves ──► list of nodes ──┐
 *     node_faults.c: node is avoided ───────────┼──► "leaving ROLE …" (kv.h): the job's own task
 *     platform: container is taken back ──► slot┘    moves them, each when it is replaced: "move"
 *                                            └──► nobody asks, or the time is nearly over:
 *                                                 engine_on_leaving()
 *
 * Of a node that leaves only those hear who ask: all others go on until the cluster takes it. The
 * list is in the events log, for the next master: the cluster tells each news once. */
#include "base/array.h"
#include "base/log.h"
#include "master/master_private.h"

#include <string.h>

#define ASKS_MS 10000  /* who has asked within that looks after its role itself */
#define TAKEN_MS 15000 /* where the platform does not know: YARN's default */
#define NODES_MAX 4096 /* that leave at a time */
#define NODE_NAME_MAX 255

/* ---- nodes ---- */

static struct leaving_node *find_node(const struct master *m, const char *node)
{
    for (size_t i = 0; i < m->leaving.n; i++)
        if (str_eq(m->leaving.v[i].name, node))
            return &m->leaving.v[i];
    return NULL;
}

/* Names come from the cluster, and go into a list that is parted by blanks and commas. */
static bool is_name(const char *node)
{
    size_t n = strlen(node);

    return n > 0 && n <= NODE_NAME_MAX && strspn(node, " ,") == 0 && !strpbrk(node, " ,\r\n\t");
}

/* Has the job something there? */
static bool is_used(const struct master *m, const char *node)
{
    for (uint32_t i = 0; i < m->slots.n; i++)
        if (m->slots.v[i].agent && str_eq(platform_node(m->platform, i, ""), node))
            return true;
    return false;
}

static void drop_node(struct master *m, struct leaving_node *node)
{
    free(node->name);
    *node = m->leaving.v[--m->leaving.n];
}

/* Of most that leave nothing is ever heard again. Before there is a platform nobody knows what is
 * used. */
static void make_room(struct master *m)
{
    for (size_t i = m->leaving.n; i > 0 && m->platform; i--)
        if (!is_used(m, m->leaving.v[i - 1].name))
            drop_node(m, &m->leaving.v[i - 1]);
}

static int add_node(struct master *m, const char *node, int64_t until, bool told)
{
    struct leaving_node *known = find_node(m, node);
    struct leaving_node one = { .until = until, .told = told };
    int r;

    if (known) {
        known->until = until;
        known->told = known->told || told;
        return 0;
    }
    if (!is_name(node))
        return 0;
    if (m->leaving.n >= NODES_MAX)
        make_room(m);
    if (m->leaving.n >= NODES_MAX)
        return 0;
    one.name = strdup(node);
    r = one.name ? ARRAY_ADD(m->leaving.v, m->leaving.n, one) : -ENOMEM;
    if (r < 0)
        free(one.name);
    return r;
}

/* For people and, by its keys, for the next master: leaving_restore(). */
static void leaving_tell(struct master *m, const char *node, bool leaves, int64_t ms)
{
    AUTO_FREE char *text = !leaves  ? str_printf("node '%s' stays in the cluster after all", node)
                           : ms < 0 ? str_printf("node '%s' is leaving the cluster", node)
                                    : str_printf("node '%s' is leaving the cluster, within %lld s",
                                                 node, (long long)(ms / 1000));
    struct event e;

    engine_event(m->engine, EVENT_NOTE, master_now(m), &e);
    event_str(&e, "level", "info");
    event_str(&e, "text", text);
    event_str(&e, leaves ? "leaves" : "stays", node);
    if (leaves && ms >= 0)
        event_int(&e, "until", master_now(m) + ms);
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
    master_wake(m);
}

void leaving_node_news(struct master *m, const char *node, bool leaves, int64_t ms)
{
    struct leaving_node *known = find_node(m, node);
    struct err err = ERR_INIT;
    bool told;

    if (m->ended || (!known && !leaves))
        return;
    /* A node that was to leave and stays is reported even if the job has left it meanwhile:
     * otherwise the next master would move everything away from there for ever. */
    told = leaves ? !known && is_used(m, node) : known->told || is_used(m, node);
    if (told)
        leaving_tell(m, node, leaves, ms);
    if (!leaves)
        drop_node(m, known);
    else if (add_node(m, node, ms < 0 ? 0 : master_now(m) + ms, told) < 0) {
        (void)err_oom(&err);
        master_fault(m, &err);
    }
}

int leaving_restore(struct master *m, const json_t *v)
{
    const char *leaves = json_string_value(json_object_get(v, "leaves"));
    const char *stays = json_string_value(json_object_get(v, "stays"));
    struct leaving_node *known = stays ? find_node(m, stays) : NULL;

    if (known)
        drop_node(m, known);
    return leaves ? add_node(m, leaves, json_int_or(v, "until", 0), true) : 0;
}

void leaving_each(const struct master *m, void (*fn)(void *arg, const char *node, int64_t until),
                  void *arg)
{
    for (size_t i = 0; i < m->leaving.n; i++)
        fn(arg, m->leaving.v[i].name, m->leaving.v[i].until);
}

void leaving_done(struct master *m)
{
    while (m->leaving.n > 0)
        drop_node(m, &m->leaving.v[0]);
    free(m->leaving.v);
    m->leaving.v = NULL;
}

/* ---- containers ---- */

static bool is_looked_after(const struct master *m, uint32_t slot)
{
    uint32_t role, first, n;

    engine_slot(m->engine, slot, &role, &first, &n);
    return role < SPEC_ROLES_MAX && m->leaving.asked[role] &&
           master_now(m) - m->leaving.asked[role] <= ASKS_MS;
}

static bool is_to_be_told(const struct slot_info *s)
{
    return s->leave_at != 0 && s->leave_at != INT64_MAX;
}

static void leave_now(struct master *m, uint32_t slot)
{
    struct slot_info *s = &m->slots.v[slot];
    struct err err = ERR_INIT;

    m->leaving.n_waiting -= is_to_be_told(s);
    s->leave_at = INT64_MAX;
    if (engine_on_leaving(m->engine, slot, master_now(m), &err) < 0)
        master_fault(m, &err);
    master_wake(m);
}

/* Two thirds of the time are for those who look after it; the rest is for its tasks to end. */
void leaving_slot(struct master *m, uint32_t slot, int64_t ms, const char *text)
{
    struct slot_info *s = slot < m->slots.n ? &m->slots.v[slot] : NULL;
    int64_t time = ms < 0 ? TAKEN_MS : ms;
    bool news = s && !s->taken_at;

    if (!s || is_to_be_told(s))
        return;
    if (news) {
        master_note(m, text);
        s->taken_at = master_now(m) + time;
    }
    if (!news || !is_looked_after(m, slot)) {
        leave_now(m, slot);
        return;
    }
    s->leave_at = master_now(m) + time * 2 / 3;
    m->leaving.n_waiting++;
    master_wake(m);
}

void leaving_forget(struct master *m, uint32_t slot)
{
    struct slot_info *s = &m->slots.v[slot];

    m->leaving.n_waiting -= is_to_be_told(s);
    s->taken_at = s->leave_at = 0;
}

int64_t leaving_deadline(const struct master *m)
{
    int64_t at = INT64_MAX;

    for (uint32_t i = 0; i < m->slots.n && m->leaving.n_waiting > 0; i++)
        if (is_to_be_told(&m->slots.v[i]) && m->slots.v[i].leave_at < at)
            at = m->slots.v[i].leave_at;
    return at;
}

void leaving_on_time(struct master *m)
{
    for (uint32_t i = 0; i < m->slots.n && m->leaving.n_waiting > 0; i++)
        if (is_to_be_told(&m->slots.v[i]) && m->slots.v[i].leave_at <= master_now(m))
            leave_now(m, i);
}

/* ---- who asks ---- */

struct leaving_look {
    struct master *m;
    bool roles[SPEC_ROLES_MAX];
};

static void ask_for(struct leaving_look *x, const struct kv_word *role)
{
    const struct spec *spec = &x->m->spec;

    for (size_t i = 0; i < spec->n_roles && i < SPEC_ROLES_MAX; i++)
        if (strlen(spec->roles[i].name) == role->n &&
            memcmp(spec->roles[i].name, role->p, role->n) == 0) {
            x->roles[i] = true;
            x->m->leaving.asked[i] = master_now(x->m);
        }
}

/* Why it is to leave, NULL: it is not; and for how long it may stay, -1: nobody knows. */
static const char *why_leaves(const struct master *m, uint32_t slot, const char *node, int64_t *ms)
{
    const struct slot_info *s = &m->slots.v[slot];
    const struct leaving_node *n = find_node(m, node);
    int64_t until = s->taken_at ? s->taken_at : n ? n->until : 0;

    *ms = until == 0 ? -1 : until > master_now(m) ? until - master_now(m) : 0;
    if (s->taken_at)
        return "container";
    if (n)
        return "node";
    return m->avoid && *node && blacklist_has(m->avoid, node) ? "avoided" : NULL;
}

static int leaving_put(struct leaving_look *x, const struct task *t, struct buf *out)
{
    const struct master *m = x->m;
    const char *node, *why;
    char name[ENGINE_NAME_MAX];
    int64_t ms = -1;

    if (t->role >= SPEC_ROLES_MAX || !x->roles[t->role] || t->slot >= m->slots.n ||
        !m->slots.v[t->slot].agent || t->state != TASK_RUNNING || t->stopping)
        return 0;
    node = platform_node(m->platform, t->slot, "");
    why = why_leaves(m, t->slot, node, &ms);
    if (!why)
        return 0;
    return buf_printf(out, "%s%s,%u,%s,%lld,%s", out->len ? " " : "",
                      engine_task_name(m->engine, t->id, name), t->attempt, why, (long long)ms,
                      is_name(node) ? node : "");
}

int leaving_list(struct master *m, const struct kv_word *roles, size_t n, struct buf *out)
{
    struct leaving_look x = { .m = m };
    const struct task *t = NULL;
    int r = 0;

    for (size_t i = 0; i < n; i++)
        ask_for(&x, &roles[i]);
    while (r == 0 && (t = engine_next_in_gang(m->engine, t)))
        r = leaving_put(&x, t, out);
    return r == -ENOMEM ? r : 0; /* more than there is room for: the others are told later */
}
