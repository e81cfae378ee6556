/* deployment_move.c - what the job says of containers that go, and what that changes in the plan:
 * one look is a few passes over those who move, each of which can be made again. See
 * deployment_move.h. What the job says is hostile until it is parsed. */
#include "serve/deployment/deployment_move.h"
#include "serve/deployment/deployment_plan.h"
#include "serve/deployment/deployment_update.h"

#include <stdio.h>
#include <string.h>

#define DRAIN_MS 90000 /* the gateway cuts requests off before */
#define NAME_MAX_ 64   /* of a group and a number */

static const char *move_text_of(const json_t *v, const char *key)
{
    const char *s = json_string_value(json_object_get(v, key));

    return s ? s : "";
}

static bool is_in(const json_t *entry, const char *phase)
{
    return str_eq(move_text_of(entry, "phase"), phase);
}

/* The cluster wants it for somebody else: one more container is not to be had. */
static bool is_taken(const json_t *entry)
{
    return str_eq(move_text_of(entry, "why"), "container");
}

static json_t *entries_of(const json_t *model)
{
    return json_object_get(json_object_get(model, "moving"), "replicas");
}

static const json_t *move_version(const json_t *model)
{
    return deployment_version(model, json_int_or(model, "serve", 0));
}

static bool is_of(const json_t *model, const json_t *version)
{
    return version && json_int_or(json_object_get(model, "moving"), "serial", -1) ==
                          json_int_or(version, "serial", 0);
}

/* ---- questions ---- */

unsigned deployment_move_extra(const json_t *model, const json_t *version)
{
    int64_t extra = json_int_or(json_object_get(model, "moving"), "extra", 0);
    int64_t room = DEPLOYMENT_REPLICAS - json_int_or(model, "replicas", 0);

    if (!is_of(model, version) || extra <= 0 || room <= 0 || json_int_or(model, "replicas", 0) == 0)
        return 0;
    return (unsigned)(extra < room ? extra : room);
}

bool deployment_is_moving(const json_t *plan)
{
    const json_t *models = json_object_get(plan, "models"), *m;
    size_t i;

    json_array_foreach(models, i, m)
    {
        if (json_object_get(m, "moving"))
            return true;
    }
    return false;
}

static json_t *entry_at(const json_t *model, int64_t index)
{
    const json_t *list = entries_of(model);
    json_t *e;
    size_t i;

    json_array_foreach(list, i, e)
    {
        if (json_int_or(e, "index", -1) == index)
            return e;
    }
    return NULL;
}

/* Gets it no requests, or none for much longer? */
static bool is_away(const json_t *entry)
{
    return entry && !is_in(entry, "waiting");
}

bool deployment_move_leaves(const json_t *model, const json_t *version, int64_t index,
                            int64_t attempt)
{
    const json_t *e = is_of(model, version) ? entry_at(model, index) : NULL;

    return is_away(e) && attempt <= json_int_or(e, "attempt", -1);
}

int deployment_move_each(const json_t *model,
                         int (*fn)(void *arg, const char *group, int64_t index, int64_t attempt),
                         void *arg)
{
    const json_t *list = entries_of(model), *v = move_version(model), *e;
    const char *group = move_text_of(v, "group");
    size_t i;
    int r = 0;

    if (!is_of(model, v))
        return 0;
    json_array_foreach(list, i, e)
    {
        if (r == 0 && is_in(e, "stopping"))
            r = fn(arg, group, json_int_or(e, "index", 0), json_int_or(e, "attempt", 0));
    }
    return r;
}

const char *deployment_move_why(const json_t *replica, char out[MOVE_WHY])
{
    const char *node = move_text_of(replica, "node");

    if (is_taken(replica))
        (void)snprintf(out, MOVE_WHY, "the cluster takes its container back");
    else
        (void)snprintf(out, MOVE_WHY, "its node%s%s %s", *node ? " " : "", node,
                       str_eq(move_text_of(replica, "why"), "avoided") ? "is avoided"
                                                                       : "leaves the cluster");
    return out;
}

char *deployment_move_text(const json_t *model, const json_t *replica)
{
    const char *phase = is_in(replica, "stopping")   ? "is started elsewhere"
                        : is_in(replica, "draining") ? "answers what it has"
                        : is_taken(replica)          ? "goes on, as no other one is ready"
                                                     : "goes on until another one is ready";
    char why[MOVE_WHY];

    return str_printf("%s-%lld %s: %s", move_text_of(move_version(model), "group"),
                      (long long)json_int_or(replica, "index", 0), phase,
                      deployment_move_why(replica, why));
}

/* ---- what the job says ---- */

struct news {
    int64_t index, attempt, ms;
    char why[16], node[256];
};

/* "a:1,0,node,60000,nm3"
 *
 * TASK, ATTEMPT, WHY, MS until it is taken away (-1: not known), NODE: rendezvous/kv.h. */
static bool news_parse(const char *word, const char *group, struct news *ret)
{
    AUTO_STRS part = { 0 };
    const char *comma = strrchr(word, ',');
    size_t n = strlen(group);

    *ret = (struct news){ 0 };
    if (!comma || strncmp(word, group, n) != 0 || word[n] != ':' ||
        strs_split(&part, word + n + 1, ",") < 0 || part.n < 4 || part.n > 5 ||
        strlen(comma + 1) >= sizeof(ret->node))
        return false;
    (void)snprintf(ret->why, sizeof(ret->why), "%.15s", part.v[2]);
    (void)snprintf(ret->node, sizeof(ret->node), "%s", part.n == 5 ? part.v[4] : "");
    return str_to_i64(part.v[0], 0, DEPLOYMENT_REPLICAS - 1, &ret->index) == 0 &&
           str_to_i64(part.v[1], 0, UINT32_MAX, &ret->attempt) == 0 &&
           str_to_i64(part.v[3], -1, INT32_MAX * INT64_C(1000), &ret->ms) == 0 &&
           (str_eq(ret->why, "node") || str_eq(ret->why, "avoided") ||
            str_eq(ret->why, "container"));
}

static int news_add(json_t *model, const struct news *n, int64_t now)
{
    json_t *e = entry_at(model, n->index);

    if (e && json_int_or(e, "attempt", -1) == n->attempt)
        return str_eq(move_text_of(e, "why"), n->why)
                   ? 0
                   : json_object_set_new(e, "why", json_string(n->why));
    if (e)
        return 0; /* it is of a start that is over: forget_past() */
    e = json_pack("{s:I, s:I, s:s, s:o, s:s, s:I}", "index", (json_int_t)n->index, "attempt",
                  (json_int_t)n->attempt, "why", n->why, "node", json_text(n->node), "phase",
                  "waiting", "since", (json_int_t)now);
    if (e && n->ms >= 0 && json_object_set_new(e, "until", json_integer(now + n->ms)) < 0) {
        json_decref(e);
        return -ENOMEM;
    }
    return json_array_append_new(entries_of(model), e) < 0 ? -ENOMEM : 0;
}

/* Is this start of it still among those that are to go? */
static bool news_has(const struct strs *words, const char *group, const json_t *entry)
{
    struct news n;

    for (size_t i = 0; i < words->n; i++)
        if (news_parse(words->v[i], group, &n) && n.index == json_int_or(entry, "index", -1) &&
            n.attempt == json_int_or(entry, "attempt", -1))
            return true;
    return false;
}

/* ---- one look ---- */

struct move_look {
    json_t *model;
    const struct move_seen *seen;
    const char *group;
    const json_t *rows; /* of the version's replicas, as the gateway has them; NULL: not known */
    struct strs words;
    int64_t attempts[DEPLOYMENT_REPLICAS];
    int64_t replicas;
};

static int64_t move_size(const struct move_look *x)
{
    return x->replicas + (int64_t)deployment_move_extra(x->model, move_version(x->model));
}

static const json_t *move_row(const struct move_look *x, int64_t index)
{
    char name[NAME_MAX_];
    const json_t *row;
    size_t i;

    (void)snprintf(name, sizeof(name), "%s-%lld", x->group, (long long)index);
    json_array_foreach(x->rows, i, row)
    {
        if (str_eq(move_text_of(row, "name"), name))
            return row;
    }
    return NULL;
}

static bool is_ready(const struct move_look *x, int64_t index)
{
    return str_eq(move_text_of(move_row(x, index), "state"), "ready") &&
           !is_away(entry_at(x->model, index));
}

/* Those below `size` that take requests. */
static int64_t count_ready(const struct move_look *x, int64_t size)
{
    int64_t n = 0;

    for (int64_t i = 0; i < size && i < DEPLOYMENT_REPLICAS; i++)
        n += is_ready(x, i);
    return n;
}

/* While a version is updated nobody else begins to move: there are others soon. */
static int take_news(struct move_look *x)
{
    struct news n;
    int r = 0;

    if (deployment_update_phase(x->model) != UPDATE_NONE)
        return 0;
    for (size_t i = 0; i < x->words.n && r == 0; i++)
        if (news_parse(x->words.v[i], x->group, &n) && n.index < move_size(x))
            r = news_add(x->model, &n, x->seen->now);
    return r;
}

/* Who came back elsewhere, was scaled away, was taken away, or stays after all.
 *
 * The attempt tells whether it came back: the next start of a task has a higher one. What is
 * stopping stays here although the job does not name it any more: it has been told, and its new
 * start is not there yet. */
static void forget_past(struct move_look *x)
{
    json_t *list = entries_of(x->model);

    for (size_t i = json_array_size(list); i > 0; i--) {
        const json_t *e = json_array_get(list, i - 1);
        int64_t index = json_int_or(e, "index", -1);
        bool stays = x->seen->leaving && !is_in(e, "stopping") && !news_has(&x->words, x->group, e);

        if (index < 0 || index >= move_size(x) || stays ||
            x->attempts[index] > json_int_or(e, "attempt", -1))
            (void)json_array_remove(list, i - 1);
    }
}

/* More at once; fewer again only when as many as there should be are ready without them.
 *
 * A replica that was started for the others is itself one beyond the number, the last one: it goes
 * when those who moved are back. Its going is a matter of what is ready, so that there are never
 * fewer. */
static int set_extra(struct move_look *x)
{
    json_t *moving = json_object_get(x->model, "moving"), *e;
    int64_t extra = move_size(x) - x->replicas, want = 0;
    size_t i;

    json_array_foreach(entries_of(x->model), i, e)
    {
        /* Who is one too many needs nobody in its place. */
        want += !is_taken(e) && json_int_or(e, "index", 0) < x->replicas;
    }
    if (want > DEPLOYMENT_REPLICAS - x->replicas)
        want = DEPLOYMENT_REPLICAS - x->replicas;
    if (extra < want)
        extra = want;
    while (extra > want && x->rows && count_ready(x, x->replicas + extra - 1) >= x->replicas)
        extra--;
    return json_object_set_new(moving, "extra", json_integer(extra)) < 0 ? -ENOMEM : 0;
}

static int move_set_phase(struct move_look *x, json_t *e, const char *phase)
{
    return json_object_set_new(e, "phase", json_string(phase)) < 0 ||
                   json_object_set_new(e, "since", json_integer(x->seen->now)) < 0
               ? -ENOMEM
               : 0;
}

/* What has nobody in its place yet stays, and if it is the last one, until it is taken away.
 *
 * Of nodes that leave, as many others have to be ready as there should be replicas. A container
 * that the cluster takes back gets nobody in its place, and waits for one only.
 *
 * Its address is kept: its key in the store may be another start's by the time it has drained. */
static int begin_drain(struct move_look *x, json_t *e)
{
    int64_t index = json_int_or(e, "index", -1);
    int64_t others = count_ready(x, move_size(x)) - is_ready(x, index);
    const json_t *row = move_row(x, index);

    if (!is_in(e, "waiting") || others < (is_taken(e) ? 1 : x->replicas))
        return 0;
    if (row && json_object_set(e, "address", json_object_get(row, "address")) < 0)
        return -ENOMEM;
    return move_set_phase(x, e, "draining");
}

static bool has_drained(const struct move_look *x, const json_t *e)
{
    int64_t passed = x->seen->now - json_int_or(e, "since", 0);
    const json_t *row;
    size_t i;

    if (passed > DRAIN_MS)
        return true;
    if (!x->rows || x->seen->old > 0 || (x->seen->direct && passed < MOVE_LINGER_MS))
        return false;
    json_array_foreach(x->rows, i, row)
    {
        if (json_equal(json_object_get(row, "address"), json_object_get(e, "address")))
            return false;
    }
    return true;
}

/* Those that the cluster waits for come first. */
static int advance(struct move_look *x)
{
    const json_t *list = entries_of(x->model);
    json_t *e;
    size_t i;
    int r = 0;

    json_array_foreach(list, i, e)
    {
        if (r == 0 && is_in(e, "draining") && has_drained(x, e))
            r = move_set_phase(x, e, "stopping");
    }
    for (int turn = 0; turn < 2 && x->rows; turn++)
        json_array_foreach(list, i, e)
        {
            if (r == 0 && is_taken(e) == (turn == 0))
                r = begin_drain(x, e);
        }
    return r;
}

static int move_look(struct move_look *x)
{
    int r = x->seen->leaving ? take_news(x) : 0;

    if (r == 0)
        forget_past(x);
    if (r == 0)
        r = set_extra(x);
    return r == 0 ? advance(x) : r;
}

/* One that is of another version by now is over. */
static int move_begin(json_t *model, const json_t *version)
{
    if (is_of(model, version) && json_is_array(entries_of(model)))
        return 0;
    return json_object_set_new(model, "moving",
                               json_pack("{s:O, s:i, s:[]}", "serial",
                                         json_object_get(version, "serial"), "extra", 0,
                                         "replicas"));
}

static void move_end(json_t *model)
{
    if (json_array_size(entries_of(model)) == 0 &&
        json_int_or(json_object_get(model, "moving"), "extra", 0) == 0)
        (void)json_object_del(model, "moving");
}

int deployment_move_step(json_t *model, const struct move_seen *seen, struct err *err)
{
    AUTO_JSON *before = json_deep_copy(json_object_get(model, "moving"));
    const json_t *version = move_version(model);
    struct move_look x = { .model = model,
                           .seen = seen,
                           .group = move_text_of(version, "group"),
                           .replicas = json_int_or(model, "replicas", 0) };
    const json_t *known =
        seen->told ? deployment_version(seen->report, json_int_or(model, "serve", 0)) : NULL;
    int r = 0;

    if (!version || (!before && (!seen->leaving || !*seen->leaving)))
        return 0;
    x.rows = json_object_get(known, "replicas");
    deployment_attempts(version, seen->keys, x.attempts);
    if (seen->leaving && strs_split(&x.words, seen->leaving, " ") < 0)
        r = -ENOMEM;
    if (r == 0)
        r = move_begin(model, version);
    if (r == 0)
        r = move_look(&x);
    strs_done(&x.words);
    if (r < 0)
        return err_oom(err);
    move_end(model);
    return (before || json_object_get(model, "moving")) &&
           !json_equal(before, json_object_get(model, "moving"));
}
