/* plan_text.c - the plan for people; see plan.h.
 *
 * Tasks of a role differ in little, and that little is what one looks for: so the common part is
 * printed once, and each rank gets a line with the rest. */
#include "framework/plan/plan.h"
#include "framework/plan/plan_names.h"
#include "framework/task.h"
#include "job/engine/policy.h"

#include <string.h>

#define VALUE_SHOWN 100 /* bytes of a long value */
#define TAIL_SHOWN 48   /* bytes of the end of one that differs: its beginning is the same */

/* The tasks of one role: the first of them whole, and what differs among all. */
struct group {
    struct plan_task shown[PLAN_RANKS_SHOWN];
    size_t n;
    bool *env_differs;  /* for each variable of rank 0 */
    bool *word_differs; /* for each word of rank 0's command */
    bool same_length;   /* all commands have as many words */
};

static void group_done(struct group *g)
{
    for (size_t i = 0; i < g->n; i++)
        plan_task_done(&g->shown[i]);
    free(g->env_differs);
    free(g->word_differs);
}

/* ---- what differs ---- */

static size_t name_length(const char *entry)
{
    return strcspn(entry, "=");
}

/* The entry of that name, or NULL. Lists are short and sorted alike: the place is a good guess. */
static const char *plan_text_same_name(const struct strs *env, const char *entry, size_t guess)
{
    size_t n = name_length(entry) + 1;

    if (guess < env->n && strncmp(env->v[guess], entry, n) == 0)
        return env->v[guess];
    for (size_t i = 0; i < env->n; i++)
        if (strncmp(env->v[i], entry, n) == 0)
            return env->v[i];
    return NULL;
}

static void plan_text_compare(struct group *g, const struct plan_task *t)
{
    const struct plan_task *first = &g->shown[0];

    for (size_t i = 0; i < first->env.n; i++) {
        const char *other = plan_text_same_name(&t->env, first->env.v[i], i);

        if (!other || strcmp(other, first->env.v[i]) != 0)
            g->env_differs[i] = true;
    }
    if (t->argv.n != first->argv.n)
        g->same_length = false;
    for (size_t i = 0; g->same_length && i < first->argv.n; i++)
        if (strcmp(t->argv.v[i], first->argv.v[i]) != 0)
            g->word_differs[i] = true;
}

static int plan_text_begin(struct group *g)
{
    g->same_length = true;
    g->env_differs = calloc(g->shown[0].env.n + 1, sizeof(bool));
    g->word_differs = calloc(g->shown[0].argv.n + 1, sizeof(bool));
    return g->env_differs && g->word_differs ? 0 : -ENOMEM;
}

/* All tasks are made, to know what differs among all of them, but only the first ones are kept. */
static int plan_text_gather(const struct plan *p, const struct spec_role *role, size_t n,
                            struct group *g, struct err *err)
{
    for (unsigned rank = 0; rank < n; rank++) {
        AUTO_PLAN_TASK t = { 0 };
        int r = plan_task(p, role, rank, &t, err);

        if (r < 0)
            return r;
        if (rank > 0)
            plan_text_compare(g, &t);
        if (rank < PLAN_RANKS_SHOWN) {
            g->shown[g->n++] = t;
            t = (struct plan_task){ 0 };
        }
        if (rank == 0 && plan_text_begin(g) < 0)
            return err_oom(err);
    }
    return 0;
}

/* ---- text ---- */

/* Some of a text, made safe for a terminal. */
static int add_clean(struct buf *b, const char *text)
{
    AUTO_FREE char *out = malloc(4 * strlen(text) + 1);

    if (!out)
        return -ENOMEM;
    return buf_add(b, out, str_clean(out, 4 * strlen(text) + 1, text));
}

/* The beginning of a character at or after `at`. */
static const char *plan_text_whole(const char *at)
{
    while (((unsigned char)*at & 0xc0) == 0x80)
        at++;
    return at;
}

static int plan_text_add_head(struct buf *b, const char *text)
{
    AUTO_FREE char *cut = NULL;

    if (strlen(text) <= VALUE_SHOWN)
        return add_clean(b, text);
    cut = strndup(text, (size_t)(plan_text_whole(text + VALUE_SHOWN) - text));
    if (!cut || add_clean(b, cut) < 0)
        return -ENOMEM;
    return buf_printf(b, "… (%zu bytes)", strlen(text));
}

/* "NAME=…the end". Long values are mostly lists of addresses that begin alike. The end is shown,
 * because that is where such lists differ. */
static int add_tail(struct buf *b, const char *entry)
{
    size_t n = name_length(entry), all = strlen(entry);

    if (all <= VALUE_SHOWN)
        return add_clean(b, entry);
    if (buf_printf(b, "%.*s=…", (int)n, entry) < 0)
        return -ENOMEM;
    return add_clean(b, plan_text_whole(entry + all - TAIL_SHOWN));
}

/* A word as a shell would have to be given it. */
static int plan_text_add_word(struct buf *b, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./:=,+@%^";
    AUTO_BUF quoted = { .max = 4 * MIB };
    int r;

    if (*word && word[strspn(word, plain)] == '\0')
        return plan_text_add_head(b, word);
    r = buf_add_str(&quoted, "'");
    for (; *word && r == 0; word++)
        r = *word == '\'' ? buf_add_str(&quoted, "'\\''") : buf_add_u8(&quoted, (uint8_t)*word);
    if (r == 0)
        r = buf_add_str(&quoted, "'");
    return r < 0 || !buf_text(&quoted) ? -ENOMEM : plan_text_add_head(b, buf_text(&quoted));
}

/* The command with "…" where ranks differ; with `only` nothing but those words. */
static int plan_text_add_words(struct buf *b, const struct group *g, const struct strs *argv,
                               bool only)
{
    int r = 0;

    for (size_t i = 0; i < argv->n && r == 0; i++) {
        bool differs = g->same_length ? g->word_differs[i] : only;

        if (only && !differs)
            continue;
        r = buf_add_str(b, " ");
        if (r == 0)
            r = differs && !only ? buf_add_str(b, "…") : plan_text_add_word(b, argv->v[i]);
    }
    return r;
}

/* ---- one role ---- */

static int add_heading(const struct plan *p, const struct spec_role *role, struct buf *b)
{
    struct policy_restart restart = policy_of_role(p->spec, role, p->framework->restart);
    char size[STR_SIZE_MAX];
    int r = buf_printf(b, "\n%s: %u", role->name, role->count);

    if (r == 0 && role->procs > 1)
        r = buf_printf(b, " × %u processes", role->procs);
    if (r == 0 && role->memory > 0)
        r = buf_printf(b, ", %s", str_size(role->memory, size));
    if (r == 0 && role->cpus > 0)
        r = buf_printf(b, ", %u cpu%s", role->cpus, role->cpus > 1 ? "s" : "");
    if (r == 0 && role->gpus > 0)
        r = buf_printf(b, ", %u gpu%s", role->gpus, role->gpus > 1 ? "s" : "");
    if (r == 0 && role->place == SPEC_PLACE_CLIENT)
        r = buf_add_str(b, ", on the submitting machine");
    if (r == 0 && role->decides == 1)
        r = buf_add_str(b, ", decides");
    if (r == 0 && role->side == 1)
        r = buf_add_str(b, ", side");
    if (r == 0 && restart.policy != SPEC_RESTART_NEVER)
        r = buf_printf(b, ", restarts: %s, at most %lld", plan_policy_name(restart.policy),
                       (long long)restart.max);
    for (size_t i = 0; i < role->after.n && r == 0; i++)
        r = buf_printf(b, ", after %s is %s", role->after.v[i].role,
                       plan_when_name(role->after.v[i].when));
    return r == 0 ? buf_add_str(b, "\n") : r;
}

static int plan_text_add_files(const char *title, const struct spec_files *job,
                               const struct spec_files *own, struct buf *b)
{
    const struct spec_files *both[] = { job, own };
    const char *between = title;
    int r = 0;

    for (size_t k = 0; k < COUNT_OF(both); k++)
        for (size_t i = 0; i < both[k]->n && r == 0; i++) {
            const struct spec_file *f = &both[k]->v[i];

            r = buf_add_str(b, between);
            if (r == 0)
                r = add_clean(b, f->from);
            if (r == 0 && f->to)
                r = buf_add_str(b, " → ");
            if (r == 0 && f->to)
                r = add_clean(b, f->to);
            between = ", ";
        }
    return r == 0 && between != title ? buf_add_str(b, "\n") : r;
}

static int plan_text_add_common(const struct plan *p, const struct spec_role *role,
                                const struct group *g, struct buf *b)
{
    const struct plan_task *first = &g->shown[0];
    const char *title = "  env      ";
    int r = 0;

    if (g->same_length) {
        r = buf_add_str(b, "  command ");
        if (r == 0)
            r = plan_text_add_words(b, g, &first->argv, false);
        if (r == 0)
            r = buf_add_str(b, "\n");
    }
    if (r == 0)
        r = plan_text_add_files("  files    ", &p->spec->files, &role->files, b);
    if (r == 0)
        r = plan_text_add_files("  archives ", &p->spec->archives, &role->archives, b);
    for (size_t i = 0; i < first->env.n && r == 0; i++) {
        if (g->env_differs[i])
            continue;
        r = buf_add_str(b, title);
        if (r == 0)
            r = plan_text_add_head(b, first->env.v[i]);
        if (r == 0)
            r = buf_add_str(b, "\n");
        title = "           ";
    }
    return r;
}

static bool plan_text_differs(const struct group *g, const char *entry)
{
    const struct strs *first = &g->shown[0].env;

    for (size_t i = 0; i < first->n; i++)
        if (plan_text_same_name(&(struct strs){ &first->v[i], 1 }, entry, 0))
            return g->env_differs[i];
    return true;
}

static int plan_text_add_rank(const struct spec_role *role, const struct group *g, unsigned rank,
                              const struct cluster_task *c, struct buf *b)
{
    const struct strs *env = &g->shown[rank].env;
    char address[TASK_ADDRESS_MAX];
    int r = buf_printf(b, "  %s:%u %s on ", role->name, rank,
                       c->n_ports > 0 ? task_address(c, address) : c->host);

    if (r == 0)
        r = add_clean(b, c->node);
    for (size_t i = 0; i < env->n && r == 0; i++) {
        if (!plan_text_differs(g, env->v[i]))
            continue;
        r = buf_add_str(b, " ");
        if (r == 0)
            r = add_tail(b, env->v[i]);
    }
    if (r == 0)
        r = plan_text_add_words(b, g, &g->shown[rank].argv, true);
    return r == 0 ? buf_add_str(b, "\n") : r;
}

static int plan_text_add_role(const struct plan *p, const struct spec_role *role, struct buf *b,
                              struct err *err)
{
    const struct cluster_role *c = cluster_role(p->cluster, role->name);
    AUTO_DONE(group_done) struct group g = { 0 };
    size_t n = c ? c->n : 0;
    int r = add_heading(p, role, b);

    if (r < 0 || n == 0)
        return r < 0 ? err_code(err, r, "plan") : 0;
    r = plan_text_gather(p, role, n, &g, err);
    if (r < 0)
        return r;
    r = plan_text_add_common(p, role, &g, b);
    for (unsigned rank = 0; rank < g.n && r == 0; rank++)
        r = plan_text_add_rank(role, &g, rank, &c->tasks[rank], b);
    if (r == 0 && n > g.n)
        r = buf_printf(b, "  … and %zu more (--json has them all)\n", n - g.n);
    return r < 0 ? err_code(err, r, "plan") : 0;
}

/* ---- the job ---- */

static int plan_text_add_publish(const struct spec_publish *s, struct buf *b)
{
    AUTO_FREE char *text = NULL;
    int r;

    if (!s->name)
        return 0;
    text = str_printf("a job that succeeds publishes %s as the next version of '%s'%s%s%s%s%s",
                      s->path ? s->path : "its output", s->name, s->alias ? ", alias " : "",
                      s->alias ? s->alias : "", s->registry ? ", in '" : "",
                      s->registry ? s->registry : "", s->registry ? "'" : "");
    r = text ? add_clean(b, text) : -ENOMEM;
    return r < 0 ? r : buf_add_str(b, "\n");
}

static int plan_text_add_job(const struct plan *p, struct buf *b)
{
    const struct framework *fw = p->framework;
    int r = buf_add_str(b, "job ");

    if (r == 0)
        r = add_clean(b, p->spec->name ? p->spec->name : p->job);
    if (r == 0)
        r = buf_printf(b, ", framework %s%s, %zu task%s\n", fw->name,
                       fw->proven ? "" : " (experimental)", spec_tasks(p->spec),
                       spec_tasks(p->spec) == 1 ? "" : "s");
    for (unsigned bit = 1; bit <= FRAMEWORK_PMI && r == 0; bit <<= 1)
        if (fw->servers & bit)
            r = buf_printf(b, "the master runs a server for %s\n", plan_server_name(bit));
    return r < 0 ? r : plan_text_add_publish(&p->spec->publish, b);
}

int plan_text(const struct plan *p, struct buf *out, struct err *err)
{
    AUTO(plan_cache) struct plan_cache *cache = NULL;
    struct plan mine = *p;
    int r = plan_text_add_job(p, out);

    if (r == 0 && !mine.cache)
        r = plan_cache_new(&cache);
    if (r < 0)
        return err_code(err, r, "plan");
    mine.cache = mine.cache ? mine.cache : cache;
    for (size_t i = 0; i < p->spec->n_roles && r == 0; i++)
        r = plan_text_add_role(&mine, &p->spec->roles[i], out, err);
    return r;
}
