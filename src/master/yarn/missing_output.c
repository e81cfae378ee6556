/* missing_output.c - whose output is not known to be in HDFS.
 *
 *     task starts on an agent ──► owed ──► the agent says that output is saved ──► forgotten
 *                                   └────► agent or container is lost, or could not ──► why
 *
 * What is left when the job ends is told, each task attempt by its name: whoever misses lines in
 * `ydl logs` finds there which, and why. The records of agents that are lost or leave carry what
 * they owe, so that a master after us knows it too. */
#include "master/yarn/missing_output.h"
#include "base/log.h"

#include <string.h>

#define BUCKETS 1024
#define OWED_MAX 65536 /* beyond it they are counted only */
#define IN_ONE_NOTE 20 /* tasks that one sentence names */
#define NODE_TEXT_MAX 128
#define WHY_TEXT_MAX 240
#define TEXTS_MAX 3000 /* different names of nodes and reasons; with all records below 4 MiB */
#define OTHER_WHY "for one of more reasons than are kept"

/* A node's name or a reason: most are said of many, and kept once. */
struct text {
    struct text *next;
    uint32_t refs;
    char s[];
};

/* Attempts of a task on one agent: their output is in one file. */
struct output {
    struct output *next;
    uint32_t agent, task, first, last;
    struct text *node, *why;
};

struct outputs {
    struct output *heads[BUCKETS]; /* by agent */
    struct text *texts[BUCKETS];   /* by what they say */
    size_t n, n_texts;
    uint64_t uncounted; /* that there was no room for */
    char *told;         /* the first sentence that was said of them */
};

static struct output **outputs_bucket(struct outputs *o, uint32_t agent)
{
    return &o->heads[agent % BUCKETS];
}

static struct outputs *outputs_of(struct master *m)
{
    if (!yarn_of(m)->outputs)
        yarn_of(m)->outputs = calloc(1, sizeof(*yarn_of(m)->outputs));
    return yarn_of(m)->outputs;
}

/* ---- texts ---- */

static struct text **text_bucket(struct outputs *o, const char *s, size_t n)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return &o->texts[h % BUCKETS];
}

static struct text *text_add(struct outputs *o, const char *s, size_t n)
{
    struct text **head = text_bucket(o, s, n), *t = malloc(sizeof(*t) + n + 1);

    if (!t)
        return NULL;
    *t = (struct text){ .next = *head };
    memcpy(t->s, s, n);
    t->s[n] = '\0';
    *head = t;
    o->n_texts++;
    return t;
}

/* `s`, or as much of it as is kept; NULL when there is no room for more.
 * A thousand tasks lost with one cluster switch have one reason: each text is kept once and
 * counted. */
static struct text *text_ref(struct outputs *o, const char *s, size_t most)
{
    size_t n = strnlen(s, most);
    struct text *t = *text_bucket(o, s, n);

    while (t && (strlen(t->s) != n || memcmp(t->s, s, n) != 0))
        t = t->next;
    if (!t && (o->n_texts < TEXTS_MAX || str_eq(s, OTHER_WHY)))
        t = text_add(o, s, n);
    if (t)
        t->refs++;
    return t;
}

static void text_unref(struct outputs *o, struct text *t)
{
    struct text **at = t ? text_bucket(o, t->s, strlen(t->s)) : NULL;

    if (!t || --t->refs > 0)
        return;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    o->n_texts--;
    free(t);
}

static const char *outputs_node_of(const struct output *x)
{
    return x->node ? x->node->s : "";
}

static void output_free(struct outputs *o, struct output *x)
{
    text_unref(o, x->node);
    text_unref(o, x->why);
    free(x);
}

/* ---- records ---- */

static struct output *find_output(struct outputs *o, uint32_t agent, uint32_t task)
{
    for (struct output *x = *outputs_bucket(o, agent); x; x = x->next)
        if (x->agent == agent && x->task == task)
            return x;
    return NULL;
}

static struct output *outputs_add_output(struct outputs *o, const struct output *like,
                                         const char *node)
{
    struct output *x = o->n < OWED_MAX ? malloc(sizeof(*x)) : NULL;

    if (!x) {
        o->uncounted++;
        return NULL;
    }
    *x = *like;
    x->node = text_ref(o, node, NODE_TEXT_MAX);
    x->why = NULL;
    x->next = *outputs_bucket(o, x->agent);
    *outputs_bucket(o, x->agent) = x;
    o->n++;
    return x;
}

void outputs_started(struct master *m, const struct agent_conn *a, uint32_t task, uint32_t attempt)
{
    const struct output like = {
        .agent = a->number, .task = task, .first = attempt, .last = attempt
    };
    struct outputs *o = outputs_of(m);
    struct output *x = o ? find_output(o, a->number, task) : NULL;

    if (a->output_saved)
        return; /* told late, or twice */
    if (x && attempt > x->last)
        x->last = attempt;
    else if (o && !x)
        (void)outputs_add_output(o, &like, a->node);
}

static void drop_outputs(struct outputs *o, uint32_t agent, bool all)
{
    for (struct output **at = o ? outputs_bucket(o, agent) : NULL; at && *at;) {
        struct output *x = *at;

        if (x->agent != agent || (x->why && !all)) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        output_free(o, x);
        o->n--;
    }
}

void outputs_saved(struct master *m, uint32_t agent)
{
    struct agent_conn *a = agents_get(m, agent);

    if (a)
        a->output_saved = true;
    drop_outputs(yarn_of(m)->outputs, agent, true);
}

/* Is the task's output one of those that are called "worker-3"? Of a task that was scaled away,
 * too: what it wrote is saved when it goes. */
static bool outputs_is_named(const struct master *m, const struct output *x, char *const *labels,
                             size_t n)
{
    char name[ENGINE_NAME_MAX] = "";
    char *colon;

    (void)engine_task_name(m->engine, x->task, name);
    colon = strrchr(name, ':');
    if (colon)
        *colon = '-';
    for (size_t i = 0; i < n; i++)
        if (str_eq(labels[i], name))
            return true;
    return false;
}

void outputs_saved_labels(struct master *m, uint32_t agent, char *const *labels, size_t n)
{
    struct output **at = yarn_of(m)->outputs ? outputs_bucket(yarn_of(m)->outputs, agent) : NULL;
    struct agent_conn *a = agents_get(m, agent);

    if (a)
        a->output_saved = true;
    while (at && *at) {
        struct output *x = *at;

        if (x->agent != agent || !outputs_is_named(m, x, labels, n)) {
            at = &x->next;
            continue;
        }
        *at = x->next;
        output_free(yarn_of(m)->outputs, x);
        yarn_of(m)->outputs->n--;
    }
}

/* A Saved with labels names the tasks whose output is there, and all others of that agent are
 * unsaved; one without labels, of an older agent, is about all of them. */
bool outputs_hear(struct agent_conn *a, const Agent__Saved *s)
{
    struct master *m = a->master;
    bool output = !s->last && str_eq(s->to, yarn_of(m)->container->logs_uri);

    if (output && s->has_labels) {
        outputs_saved_labels(m, a->number, s->labels, s->n_labels);
        outputs_unsaved(m, a->number, *s->fail ? s->fail : "it was not there any more");
    } else if (*s->fail && (output || s->last)) {
        outputs_unsaved(m, a->number, s->fail);
    } else if (output) {
        outputs_saved(m, a->number);
    }
    return output;
}

void outputs_left(struct master *m, uint32_t agent)
{
    drop_outputs(yarn_of(m)->outputs, agent, false);
}

bool outputs_owed(const struct master *m, uint32_t agent)
{
    for (struct output *x = yarn_of(m)->outputs ? *outputs_bucket(yarn_of(m)->outputs, agent)
                                                : NULL;
         x; x = x->next)
        if (x->agent == agent)
            return true;
    return false;
}

void outputs_unsaved(struct master *m, uint32_t agent, const char *why)
{
    struct outputs *o = yarn_of(m)->outputs;

    for (struct output *x = o ? *outputs_bucket(o, agent) : NULL; x; x = x->next) {
        if (x->agent != agent || x->why)
            continue;
        x->why = text_ref(o, why, WHY_TEXT_MAX);
        if (!x->why)
            x->why = text_ref(o, OTHER_WHY, WHY_TEXT_MAX);
    }
}

/* ---- the log ---- */

void outputs_put(struct master *m, uint32_t agent, struct event *e)
{
    struct outputs *o = yarn_of(m)->outputs;
    AUTO_JSON *list = json_array();
    const char *why = NULL;

    for (const struct output *x = o ? *outputs_bucket(o, agent) : NULL; x; x = x->next) {
        char name[ENGINE_NAME_MAX] = "";

        if (x->agent != agent)
            continue;
        (void)engine_task_name(m->engine, x->task, name);
        why = x->why ? x->why->s : why;
        if (json_array_append_new(list,
                                  json_pack("{s:s, s:I, s:I}", "task", name, "first",
                                            (json_int_t)x->first, "last", (json_int_t)x->last)) < 0)
            log_error(LOG_MASTER, "out of memory for the events log");
    }
    if (json_array_size(list) == 0)
        return;
    event_json(e, "output", list);
    event_str(e, "why", why);
}

/* Is it the first of its agent's? */
static bool outputs_is_first(const struct outputs *o, const struct output *x)
{
    const struct output *y = o->heads[x->agent % BUCKETS];

    while (y != x && y->agent != x->agent)
        y = y->next;
    return y == x;
}

void outputs_each(const struct master *m, void (*fn)(void *arg, uint32_t agent, const char *node),
                  void *arg)
{
    for (size_t i = 0; yarn_of(m)->outputs && i < BUCKETS; i++)
        for (const struct output *x = yarn_of(m)->outputs->heads[i]; x; x = x->next)
            if (outputs_is_first(yarn_of(m)->outputs, x))
                fn(arg, x->agent, outputs_node_of(x));
}

int outputs_restore(struct master *m, const json_t *record, const char *node)
{
    const json_t *list = json_object_get(record, "output"), *one;
    json_int_t agent = json_integer_value(json_object_get(record, "agent"));
    const char *why = json_string_value(json_object_get(record, "why"));
    struct outputs *o = outputs_of(m);
    size_t i;

    if (!o)
        return -ENOMEM;
    drop_outputs(o, (uint32_t)agent, true); /* the newest record counts */
    json_array_foreach(list, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "task"));
        struct output like = {
            .agent = (uint32_t)agent,
            .first = (uint32_t)json_integer_value(json_object_get(one, "first")),
            .last = (uint32_t)json_integer_value(json_object_get(one, "last")),
        };

        if (name && engine_find_task(m->engine, name, &like.task, NULL) == 0 &&
            !find_output(o, like.agent, like.task))
            (void)outputs_add_output(o, &like, node ? node : "");
    }
    if (why)
        outputs_unsaved(m, (uint32_t)agent, why);
    return 0;
}

/* ---- the end ---- */

static const char *why_of(const struct output *x)
{
    return x->why ? x->why->s : "its agent did not say so";
}

/* Those with the same reason stand together, and in the order of their tasks. */
static int by_reason(const void *a, const void *b)
{
    const struct output *x = *(const struct output *const *)a;
    const struct output *y = *(const struct output *const *)b;
    int r = strcmp(why_of(x), why_of(y));

    if (r == 0)
        r = x->task < y->task ? -1 : x->task > y->task;
    return r ? r : x->agent < y->agent ? -1 : x->agent > y->agent;
}

static int put_output(const struct master *m, const struct output *x, struct buf *out)
{
    char name[ENGINE_NAME_MAX] = "";
    int r;

    (void)engine_task_name(m->engine, x->task, name);
    r = buf_printf(out, "%s%s (attempt%s %u", out->len ? ", " : "", name,
                   x->first == x->last ? "" : "s", x->first);
    if (r == 0 && x->first != x->last)
        r = buf_printf(out, " to %u", x->last);
    return r < 0 ? r : buf_printf(out, " on '%s')", outputs_node_of(x));
}

static void note_outputs(struct master *m, struct output *const *v, size_t n)
{
    AUTO_BUF names = { .max = 16 * KIB };
    AUTO_FREE char *text = NULL;
    struct event e;
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = put_output(m, v[i], &names);
    text = r == 0 && buf_text(&names) ? str_printf("output of %s is not known to be saved: %s",
                                                   buf_text(&names), why_of(v[0]))
                                      : NULL;
    engine_event(m->engine, EVENT_NOTE, master_now(m), &e);
    event_str(&e, "level", "warning");
    event_str(&e, "text", text ? text : "output of tasks is not known to be saved");
    event_int(&e, "missing", (int64_t)n);
    if (event_end(&e) < 0)
        log_error(LOG_MASTER, "out of memory for the events log");
    if (!yarn_of(m)->outputs->told)
        yarn_of(m)->outputs->told = take(text);
}

const char *outputs_told(const struct master *m)
{
    return yarn_of(m)->outputs && yarn_of(m)->outputs->told ? yarn_of(m)->outputs->told : "";
}

/* Sorted by reason, so that one note can name many tasks. With no memory for the list a note says
 * at least that there were some. */
void outputs_tell(struct master *m)
{
    struct outputs *o = yarn_of(m)->outputs;
    AUTO_FREE struct output **v = o ? calloc(o->n + 1, sizeof(struct output *)) : NULL;
    size_t n = 0;

    for (size_t i = 0; v && i < BUCKETS; i++)
        for (struct output *x = o->heads[i]; x && n < o->n; x = x->next)
            v[n++] = x;
    if (n > 0)
        qsort(v, n, sizeof(*v), by_reason);
    for (size_t i = 0, k; i < n; i += k) {
        for (k = 1; i + k < n && k < IN_ONE_NOTE && str_eq(why_of(v[i + k]), why_of(v[i])); k++)
            ;
        note_outputs(m, &v[i], k);
    }
    if (o && (o->uncounted || (o->n && !v)))
        master_note(m, "output of more tasks than can be named is not known to be saved");
}

void outputs_done(struct master *m)
{
    for (size_t i = 0; yarn_of(m)->outputs && i < BUCKETS; i++)
        while (yarn_of(m)->outputs->heads[i]) {
            struct output *x = yarn_of(m)->outputs->heads[i];

            yarn_of(m)->outputs->heads[i] = x->next;
            output_free(yarn_of(m)->outputs, x);
        }
    if (yarn_of(m)->outputs)
        free(yarn_of(m)->outputs->told);
    free(take(yarn_of(m)->outputs));
}

const struct owed_ops outputs_ops = {
    .started = outputs_started,
    .saved = outputs_hear,
    .left = outputs_left,
    .lost = outputs_unsaved,
    .owes = outputs_owed,
    .put = outputs_put,
    .tell = outputs_tell,
};
